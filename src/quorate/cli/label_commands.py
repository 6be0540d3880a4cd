"""The commands on labels and results: consensus, score, place, compare and report; methods and demo."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from quorate.cli.options import (
    add_ambiguous_option,
    add_command,
    add_device_option,
    add_encoding_option,
    add_force_option,
    add_ids_as_option,
    add_labelling_options,
    add_labels_output,
    add_measured_options,
    add_memory_option,
    add_method_options,
    add_null_option,
    add_orientation_option,
    add_rows_options,
    add_safe_cells_option,
    add_seed_option,
    add_style_options,
    add_table_options,
    add_talk_options,
    ambiguity_threshold,
    formulas_of,
    integer,
    names,
    null_test,
    number,
    number_of_clusters,
    python_value,
    refuse_without_features,
    solving_of,
    steps_of,
    works_in_blocks,
)
from quorate.cli.output import (
    aligned,
    former_lines,
    outside_facts,
    place_of,
    refuse_clashes,
    stability_facts,
    table_facts,
    table_summary,
    tell,
    verdict_summary,
    write_json,
)

if TYPE_CHECKING:
    from quorate import Ensemble, Placement

OF_MEMBERS = (
    "(of halves of the clusterings, because the file does not say how the labels were made; quorate consensus takes "
    "halves of the objects, too)"
)


def add_consensus(commands: Any) -> None:
    """Add `quorate consensus`."""
    parser = add_command(commands, "consensus", run_consensus, "combine the clusterings of a table of labels into one")
    add_table_options(parser)
    add_orientation_option(parser)
    parser.add_argument(
        "-k", metavar="K", help="number of clusters, auto, or a range such as 2:20 (default: auto, which may find one)"
    )
    add_method_options(parser)
    add_seed_option(parser)
    add_rows_options(parser)
    add_device_option(parser)
    parser.add_argument(
        "--features",
        metavar="FILE",
        help="table of measurements of the same objects, which judge the clusterings: those that do not fit them count "
        "less, and the answer is the best of the consensus, that of a camp and a single clustering; the clusters are "
        "compared with those of measurements without clusters",
    )
    add_measured_options(parser)
    parser.add_argument(
        "--max-bytes",
        metavar="BYTES",
        help="refuse larger tables, and methods that need more memory than this beyond the rows, for example 8GB",
    )
    add_memory_option(parser)
    add_null_option(parser)
    add_ambiguous_option(parser)
    add_labels_output(parser)
    add_force_option(parser)
    add_talk_options(parser)


def run_consensus(arguments: argparse.Namespace) -> None:
    """Check the options, read the table, find the consensus, write the files and the summary."""
    refuse_clashes(arguments)
    refuse_without_features(arguments)
    n_clusters, solving = number_of_clusters(arguments.k), solving_of(arguments)
    step = steps_of(arguments)
    with step("loading"):
        from quorate._io.paths import refuse_large_tables
        from quorate.cli.work import (
            find_consensus,
            read_features_beside,
            read_labels,
            refuse_outputs,
            tell_outcome,
            write_results,
        )
    if works_in_blocks(arguments, *arguments.labels):
        if arguments.features is not None:
            raise ValueError("--features needs a table of labels in memory; leave it out, or --memory")
        from quorate.cli.block_commands import consensus_in_blocks

        consensus_in_blocks(arguments, n_clusters, solving, step)
        return
    refuse_outputs(arguments)
    if arguments.max_bytes is not None:
        refuse_large_tables(arguments.labels, solving.max_bytes)
    ensemble = read_labels(arguments, step)
    judges = None if arguments.features is None else read_features_beside(arguments, ensemble, step)
    outcome = find_consensus(arguments, ensemble, n_clusters, solving, step, features=judges, judges=judges)
    write_results(arguments, outcome, step)
    tell_outcome(arguments, outcome)


def add_score(commands: Any) -> None:
    """Add `quorate score`."""
    parser = add_command(commands, "score", run_score, "score a labelling against the table of labels it was made from")
    add_table_options(parser)
    add_labelling_options(parser)
    parser.add_argument(
        "--members", action="store_true", help="also show how well each clustering agrees with the labelling"
    )
    parser.add_argument(
        "--profiles",
        action="store_true",
        help="also show which labels of the clusterings the objects of each cluster have",
    )
    parser.add_argument(
        "--features",
        metavar="FILE",
        help="table of the measurements that the clusterings were made from: the clusters are compared with those of "
        "measurements without clusters",
    )
    add_measured_options(parser)
    add_null_option(parser)
    add_memory_option(parser)
    add_talk_options(parser)


def run_score(arguments: argparse.Namespace) -> None:
    """Read the table and the labelling, score it and write the scores."""
    step = steps_of(arguments)
    with step("loading"):
        from quorate import members, profiles
        from quorate._trust.agreement import AFFORDABLE_SECONDS, checked_permutations, evaluate_within
        from quorate.cli.work import read_features_beside, read_labels_and_labelling, reference_test
    refuse_without_features(arguments)
    test = null_test(arguments, AFFORDABLE_SECONDS)
    checked_permutations(test.null)
    if works_in_blocks(arguments, *arguments.labels, arguments.labelling):
        if arguments.features is not None:
            raise ValueError("--features needs a table of labels in memory; leave it out, or --memory")
        from quorate.cli.block_commands import score_in_blocks

        scores, read = score_in_blocks(arguments, test, step)
        ensemble, named, outside = read.ensemble, read.labels, {}
    else:
        ensemble, labelling, truth = read_labels_and_labelling(arguments, step)
        # tables show clusters by their names in the file, not by their codes
        named, reference, outside = labelling.named(), None, outside_facts(labelling.n_outside)
        if arguments.features is not None:
            measured = read_features_beside(arguments, ensemble, step)
            reference = reference_test(arguments, named, ensemble, measured, step)
        with step("scoring"):
            scores = evaluate_within(named, ensemble, test.seconds, truth=truth, null=test.null, reference=reference)
    with step("scoring"):
        tables = [verb(named, ensemble) for verb in (members, profiles) if getattr(arguments, verb.__name__)]
    facts: dict[str, Any] = {
        **scores.as_dict(),
        "verdict": scores.verdict._asdict(),
        **table_facts(ensemble),
        **outside,
    }
    facts |= stability_facts(scores)
    parts = [f"{scores}\n{table_summary(facts)}{verdict_summary(scores)}".rstrip("\n")]
    if scores.stability is not None:
        parts.append(f"{scores.stability}\n{OF_MEMBERS}")
    for table in tables:
        facts |= table.as_dict()
        parts.append(str(table))
    tell(arguments, facts, "\n\n".join(parts) + "\n")


def add_place(commands: Any) -> None:
    """Add `quorate place`."""
    parser = add_command(commands, "place", run_place, "put new objects into the clusters of a labelling")
    add_table_options(parser)
    add_labelling_options(parser)
    parser.add_argument("new", help="table of labels of the new objects, with columns named as in the first table")
    parser.add_argument(
        "--new",
        metavar="FILE",
        dest="more_new",
        action="append",
        help="another table of the new objects, such as one for each department; may be given several times",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="file to write the labels to; - is standard output"
    )
    add_style_options(parser)
    add_memory_option(parser)
    add_force_option(parser)
    add_talk_options(parser)


def run_place(arguments: argparse.Namespace) -> None:
    """Read the table, its labelling and the new table, place the new objects, write their labels and a summary."""
    refuse_clashes(arguments)
    step = steps_of(arguments)
    with step("loading"):
        from quorate import place, save_labels
        from quorate._io import refuse_output
        from quorate.cli.work import read_labels_and_labelling, read_new_labels
    if works_in_blocks(arguments, *arguments.labels, arguments.labelling, arguments.new):
        from quorate.cli.block_commands import place_in_blocks

        blocks, read = place_in_blocks(arguments, step)
        _tell_placed(arguments, read.ensemble, blocks, blocks.placed, blocks.n_known)
        return
    refuse_output(arguments.output, arguments.force)
    ensemble, labelling, _ = read_labels_and_labelling(arguments, step)
    new = read_new_labels(arguments, ensemble, step)
    with step(f"placing {new.n_rows:,} objects"):
        placed = place(labelling.named(), ensemble, new)
    with step(f"writing {arguments.output}"):
        formulas = formulas_of(arguments, arguments.output)
        save_labels(
            arguments.output,
            placed,
            name=arguments.label,
            overwrite=arguments.force,
            formulas=formulas,
            sep=arguments.out_sep,
            decimal=arguments.decimal,
        )
    _tell_placed(arguments, ensemble, placed, placed, int(placed.known.sum()), new)


def _tell_placed(
    arguments: argparse.Namespace,
    ensemble: Ensemble,
    objects: Any,
    rows: Placement,
    n_known: int,
    new: Ensemble | None = None,
) -> None:
    """Write how many objects were placed, and what could not be matched; in blocks, `rows` are the distinct rows.

    `new` are the tables of the new objects, whose unknown labels are named; None in blocks.
    """
    sizes = objects.sizes.tolist()
    facts = {
        "n_objects": sum(sizes) + objects.n_unplaced,
        "n_known_rows": n_known,
        "n_unplaced": objects.n_unplaced,
        "unknown_labels": dict(rows.unknown_labels),
        "absent_members": list(rows.absent_members),
        "clusters": dict(zip(rows.shown_names, sizes, strict=True)),
        "output": arguments.output,
    }
    table = table_facts(ensemble)
    strange = {} if new is None else {name: _strange(ensemble, new, name) for name in rows.unknown_labels}
    tell(arguments, {**table, **facts}, _place_summary(facts, strange) + table_summary(table))


def _strange(ensemble: Ensemble, new: Ensemble, name: str) -> str:
    """The first labels of a member that new objects have and the table does not, in brackets."""
    if name not in new.member_names:
        return ""
    known, own = (
        list(map(str, table.categories[table.member_names.index(name)].tolist())) for table in (ensemble, new)
    )
    lost = [repr(label) for label in own if label not in known]
    return f" ({', '.join(lost[:3])}{', ...' if len(lost) > 3 else ''})" if lost else ""


def _place_summary(facts: dict[str, Any], strange: dict[str, str]) -> str:
    counts = facts["unknown_labels"].items()
    unknown = ", ".join(f"{name} {count:,}{strange.get(name, '')}" for name, count in counts)
    lines = {
        "objects": f"{facts['n_objects']:,} ({facts['n_known_rows']:,} with the same labels as an object of the table)",
        "not placed": f"{facts['n_unplaced']:,}",
        "unknown": f"{unknown}; labels that the table does not have count as missing" if unknown else "no labels",
        "labels": place_of(facts["output"]),
    }
    if facts["absent_members"]:
        lines["absent"] = ", ".join(facts["absent_members"])
    return aligned(lines)


def add_update(commands: Any) -> None:
    """Add `quorate update`."""
    parser = add_command(commands, "update", run_update, "give new clusters the ids that they had before")
    parser.add_argument("before", help="file with the labelling before, for example an earlier output of this command")
    parser.add_argument("after", help="file with the new labelling; its column confidence is used if it has one")
    parser.add_argument("--id", metavar="COLUMN", help="column with the names of the objects, in both files")
    parser.add_argument(
        "--label", metavar="COLUMN", default="label", help="column of both files with the labels (default: %(default)s)"
    )
    add_ids_as_option(parser)
    parser.add_argument("--sep", metavar="CHAR", help="what separates columns of text files (default: recognised)")
    add_encoding_option(parser)
    parser.add_argument(
        "--unsure",
        metavar="SHARE",
        help="objects of less confidence stay in their cluster if it remains (default: 0.6)",
    )
    parser.add_argument("--used", metavar="A,B,C", help="ids of former clusters, which no new cluster gets")
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="file to write the labels to; - is standard output"
    )
    add_safe_cells_option(parser)
    add_force_option(parser)
    add_talk_options(parser)


def run_update(arguments: argparse.Namespace) -> None:
    """Read both labellings, carry the ids over, write the labels and what changed."""
    refuse_clashes(arguments)
    unsure = None if arguments.unsure is None else number(arguments.unsure, "--unsure", wanted="a number from 0 to 1")
    step = steps_of(arguments)
    with step("loading"):
        from quorate import update
        from quorate._io import refuse_output
        from quorate.cli.work import read_lone_labelling, write_updated
    refuse_output(arguments.output, arguments.force)
    used = [] if arguments.used is None else [python_value(name) for name in names(arguments.used)]
    before, _ = read_lone_labelling(arguments, arguments.before, step)
    after, confidence = read_lone_labelling(arguments, arguments.after, step)
    options = {} if unsure is None else {"unsure": unsure}
    found = update(before, after, confidence=confidence, used=used, ids_as=arguments.ids_as, **options)
    write_updated(arguments, found)
    facts = {**found.as_dict(), "output": arguments.output}
    lines = {"labels": place_of(arguments.output), **former_lines(found.former)}
    tell(arguments, facts, f"{found}\n{aligned(lines)}")


def add_compare(commands: Any) -> None:
    """Add `quorate compare`."""
    parser = add_command(commands, "compare", run_compare, "score several methods for several numbers of clusters")
    add_table_options(parser)
    add_orientation_option(parser)
    parser.add_argument(
        "-m", "--methods", metavar="A,B,C", help="consensus functions (default: kmeans,transfer,lwgp,mcla)"
    )
    parser.add_argument(
        "-k", metavar="K", default="2:9", help="number of clusters, or a range such as 2:20 (default: %(default)s)"
    )
    parser.add_argument(
        "--repeats",
        metavar="INT",
        default="5",
        help="runs on other draws of the clusterings, for the stability (default: %(default)s)",
    )
    parser.add_argument("--truth", metavar="COLUMN", help="column with the known true classes")
    add_seed_option(parser)
    add_talk_options(parser)


def run_compare(arguments: argparse.Namespace) -> None:
    """Read the table, run every method for every number of clusters and write the scores."""
    n_clusters, seed = number_of_clusters(arguments.k), integer(arguments.seed, "--seed")
    n_repeats = integer(arguments.repeats, "--repeats")
    methods: dict[str, Any] = {} if arguments.methods is None else {"methods": names(arguments.methods)}
    step = steps_of(arguments)
    with step("loading"):
        from quorate import compare
        from quorate.cli.work import read_labels, read_labels_and_truth
    if arguments.truth is None:
        ensemble, truth = read_labels(arguments, step), None
    else:
        ensemble, truth = read_labels_and_truth(arguments, step)
    with step(f"comparing methods on {ensemble.n_members} clusterings of {ensemble.n_objects:,} objects"):
        table = compare(ensemble, n_clusters=n_clusters, n_repeats=n_repeats, random_state=seed, truth=truth, **methods)
    facts = {**table.as_dict(), **table_facts(ensemble)}
    tell(arguments, facts, f"{table}\n{table_summary(facts)}")


def add_report(commands: Any) -> None:
    """Add `quorate report`."""
    parser = add_command(
        commands, "report", run_report, "write an HTML page that shows how well a labelling fits the table of labels"
    )
    add_table_options(parser)
    add_labelling_options(parser)
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the .html file to write")
    parser.add_argument("--title", metavar="TEXT", help="title of the page")
    parser.add_argument(
        "--features",
        metavar="FILE",
        help="table of the same objects, whose columns explain the clusters on a first page",
    )
    parser.add_argument("--language", choices=("en", "de"), help="language of the first page, in everyday words")
    parser.add_argument("--logo", metavar="FILE", help="picture for the first page: .png, .jpg or .svg")
    parser.add_argument(
        "--resolutions",
        metavar="GROUPS",
        help="also draw which cluster splits into which over the resolutions of the table: as --groups of quorate "
        "resolutions, or columns for one resolution per column",
    )
    parser.add_argument(
        "--splits",
        action="store_true",
        help="also test which splits of the tree are real: compared with measurements without clusters if --features "
        "has the measurements, otherwise with permuted labels",
    )
    add_ambiguous_option(parser)
    add_force_option(parser)
    add_talk_options(parser)


def run_report(arguments: argparse.Namespace) -> None:
    """Read the table and the labelling, write the page and a summary."""
    refuse_clashes(arguments)
    step = steps_of(arguments)
    with step("loading"):
        from quorate import report, resolutions
        from quorate.cli.work import read_columns_beside, read_labels_and_labelling, tested_splits
        from quorate.reporting.writing import refuse_page
    refuse_page(arguments.output, arguments.force)
    ambiguous = ambiguity_threshold(arguments)
    ensemble, labelling, truth = read_labels_and_labelling(arguments, step)
    title = {} if arguments.title is None else {"title": arguments.title}
    features = None if arguments.features is None else read_columns_beside(arguments, ensemble, step)
    groups = None if arguments.resolutions == "columns" else arguments.resolutions
    trees = [] if arguments.resolutions is None else [resolutions(ensemble, groups)]
    trees += [tested_splits(arguments, ensemble, step)] if arguments.splits else []
    with step(f"writing {arguments.output}"):
        path = report(
            labelling.named(),
            ensemble,
            arguments.output,
            truth=truth,
            ambiguous=ambiguous,
            command=shlex.join(arguments.command_line),
            overwrite=arguments.force,
            features=features,
            language=arguments.language,
            logo=arguments.logo,
            trees=trees,
            **title,
        )
    outside = outside_facts(labelling.n_outside)
    facts = {"report": arguments.output, "bytes": path.stat().st_size, **table_facts(ensemble), **outside}
    line = aligned({"report": f"in {arguments.output} ({facts['bytes']:,} bytes)"})
    tell(arguments, facts, line + table_summary(facts))


def add_methods(commands: Any) -> None:
    """Add `quorate methods`."""
    parser = add_command(commands, "methods", run_methods, "list the consensus functions")
    parser.add_argument("--json", action="store_true", help="write one JSON object instead of a table")


def run_methods(arguments: argparse.Namespace) -> None:
    """Write the register of methods, as a table or as JSON."""
    from quorate import METHODS

    if arguments.json:
        keys = ("title", "time", "memory", "finds_k", "stochastic", "reference")
        write_json({name: {key: getattr(method, key) for key in keys} for name, method in METHODS.items()})
        return
    rows: list[tuple[str, ...]] = [("name", "title", "time", "memory", "finds k", "random", "reference")]
    for name, method in METHODS.items():
        flags = ("yes" if flag else "no" for flag in (method.finds_k, method.stochastic))
        rows.append((name, method.title, method.time, method.memory, *flags, method.reference))
    sys.stdout.write(_in_columns(rows))


def _in_columns(rows: Sequence[tuple[str, ...]]) -> str:
    """Return the rows as text, with every column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def add_demo(commands: Any) -> None:
    """Add `quorate demo`."""
    parser = add_command(
        commands, "demo", run_demo, "combine four incomplete segmentations of a retailer's customers into one"
    )
    parser.add_argument(
        "--output", metavar="DIR", default="quorate-demo", help="folder to write to (default: %(default)s)"
    )
    parser.add_argument("--force", action="store_true", help="replace the files of an earlier demo")


def run_demo(arguments: argparse.Namespace) -> None:
    """Run the demo and write its text."""
    if not arguments.output:
        raise ValueError("--output must name a folder, got an empty name")
    from quorate.cli.demo import demo

    sys.stdout.write(demo(arguments.output, overwrite=arguments.force))

"""The commands that take a table of measurements: `quorate generate`, `quorate cluster` and `quorate explain`."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import Any

from quorate.cli.options import (
    add_ambiguous_option,
    add_column_options,
    add_command,
    add_device_option,
    add_encoding_option,
    add_force_option,
    add_ids_as_option,
    add_labelling_column,
    add_labels_output,
    add_memory_option,
    add_method_options,
    add_null_option,
    add_reference_option,
    add_safe_cells_option,
    add_seed_option,
    add_style_options,
    add_talk_options,
    formulas_of,
    generating_of,
    integer,
    names,
    number_of_clusters,
    refuse_two_inputs,
    solving_of,
    steps_of,
    works_in_blocks,
)
from quorate.cli.output import (
    aligned,
    ensemble_facts,
    ensemble_summary,
    outside_facts,
    outside_text,
    place_of,
    refuse_clashes,
    tell,
)

EFFECTS = "The number before a trait is its effect size: about 0.2 is small, 0.5 medium, 0.8 large."


def add_generate(commands: Any) -> None:
    """Add `quorate generate`."""
    parser = add_command(commands, "generate", run_generate, "make many clusterings of a table of measurements")
    _add_measurement_options(parser)
    _add_member_options(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="file to write the clusterings to, or a folder for measurements in blocks; - writes to standard output",
    )
    add_memory_option(parser)
    add_force_option(parser)
    add_talk_options(parser)


def add_cluster(commands: Any) -> None:
    """Add `quorate cluster`."""
    parser = add_command(commands, "cluster", run_cluster, "cluster a table of measurements: generate, then consensus")
    _add_measurement_options(parser)
    _add_member_options(parser)
    parser.add_argument(
        "-k", metavar="K", help="number of clusters, auto, or a range such as 2:20 (default: auto, which may find one)"
    )
    add_method_options(parser)
    add_memory_option(parser)
    add_null_option(parser)
    add_reference_option(parser)
    add_ambiguous_option(parser)
    add_labels_output(parser)
    parser.add_argument("--ensemble", metavar="FILE", help="also write the generated clusterings to this file")
    parser.add_argument(
        "--model", metavar="FILE", dest="model_out", help="also save the model to this .npz file, for `quorate predict`"
    )
    add_force_option(parser)
    add_talk_options(parser)


def _add_measurement_options(parser: argparse.ArgumentParser) -> None:
    """Add the table of measurements, and the options that say how to read it."""
    parser.add_argument(
        "features",
        help="table of numbers: one row per object, one column per measurement; formats as for tables of labels",
    )
    add_column_options(parser, "measurements")
    add_safe_cells_option(parser)
    parser.add_argument(
        "--mixed", action="store_true", help="columns may hold texts, dates, yes or no, and gaps, and are scaled alike"
    )
    parser.add_argument("--scale", choices=("z",), help="z: scale every column to mean 0 and standard deviation 1")


def _add_member_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how the clusterings are made."""
    parser.add_argument("--members", metavar="N", default="20", help="number of clusterings (default: %(default)s)")
    parser.add_argument(
        "--k",
        dest="members_k",
        metavar="RULE",
        help="number of clusters of each clustering: 25, 10:40, sqrt, linear, linear:50:20, candel, candel:7, "
        "mixture, gaussian",
    )
    parser.add_argument(
        "--base",
        metavar="NAME",
        default="auto",
        help="algorithm of the clusterings: kmeans, spectral, gaussian or another; auto tries these "
        "three (default: %(default)s)",
    )
    parser.add_argument(
        "--row-share",
        metavar="SHARE",
        default="1",
        help="share of the objects that each clustering is made from (default: %(default)s)",
    )
    parser.add_argument(
        "--column-share",
        metavar="SHARE",
        default="1",
        help="share of the columns that each clustering is made from (default: %(default)s)",
    )
    add_seed_option(parser)
    add_device_option(parser)
    parser.add_argument("--jobs", metavar="N", help="number of parallel workers (default: all threads with kmeans)")
    parser.add_argument(
        "--checkpoint", metavar="DIR", help="folder for finished clusterings, from which a stopped run continues"
    )


def run_generate(arguments: argparse.Namespace) -> None:
    """Check the options, make the clusterings, write them and the summary."""
    refuse_clashes(arguments)
    generating = generating_of(arguments)
    step = steps_of(arguments)
    with step("loading"):
        from quorate.cli.work import (
            generating_for,
            make_ensemble,
            read_measurements,
            refuse_ensemble_output,
            write_ensemble,
        )
    if works_in_blocks(arguments, arguments.features):
        from quorate.cli.block_commands import generate_in_blocks

        generate_in_blocks(arguments, generating, step)
        return
    refuse_ensemble_output(arguments, arguments.output)
    start = time.perf_counter()
    table = read_measurements(arguments, step)
    ensemble = make_ensemble(arguments, table, generating_for(table, generating), step)
    seconds = time.perf_counter() - start
    write_ensemble(arguments, arguments.output, ensemble, step)
    facts = {**ensemble_facts(ensemble, seconds), "output": arguments.output}
    tell(arguments, facts, ensemble_summary(facts))


def _number_given(arguments: argparse.Namespace) -> Any:
    given = number_of_clusters(arguments.k)
    if isinstance(given, int) and given < 1:
        raise ValueError(f"-k must be at least 1, got {arguments.k}")
    return given


def run_cluster(arguments: argparse.Namespace) -> None:
    """Check the options, make the clusterings, find their consensus, write the files and the summary."""
    refuse_clashes(arguments)
    given, generating, solving = _number_given(arguments), generating_of(arguments), solving_of(arguments)
    step = steps_of(arguments)
    with step("loading"):
        from quorate.cli.work import (
            choose_number,
            find_consensus,
            generating_towards,
            make_members,
            read_measurements,
            refuse_made,
            tell_outcome,
            write_made,
        )
        from quorate.generation.trial import method_towards
    if works_in_blocks(arguments, arguments.features):
        from quorate.cli.block_commands import cluster_in_blocks

        cluster_in_blocks(arguments, given, generating, solving, step)
        return
    refuse_made(arguments)
    start = time.perf_counter()
    table = read_measurements(arguments, step)
    n_clusters, info = choose_number(arguments, table, given, generating, solving, step)
    generating = generating_towards(table, generating, n_clusters)
    ensemble, fitted = make_members(arguments, table, generating, step)
    if not arguments.option:
        solving = replace(solving, method=method_towards(solving.method, ensemble, n_clusters))
    outcome = find_consensus(
        arguments, ensemble, n_clusters, solving, step, start=start, info=info, features=table.values
    )
    write_made(arguments, outcome, fitted, table, step)
    tell_outcome(arguments, outcome, "base", "k")


def add_explain(commands: Any) -> None:
    """Add `quorate explain`."""
    parser = add_command(commands, "explain", run_explain, "say in which columns of a table each cluster differs most")
    add_labelling_column(parser)
    parser.add_argument(
        "table", help="table of the same objects, whose columns may be numbers, dates, yes or no, or categories"
    )
    add_column_options(parser, "compared")
    add_ids_as_option(parser)
    add_safe_cells_option(parser)
    parser.add_argument(
        "--most", metavar="INT", default="5", help="traits that are shown of each cluster (default: %(default)s)"
    )
    parser.add_argument("--rules", action="store_true", help="also find a short rule for each cluster")
    add_seed_option(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help=".csv file to write all traits to; - is standard output")
    add_force_option(parser)
    add_talk_options(parser)


def run_explain(arguments: argparse.Namespace) -> None:
    """Read the labelling and the table, find the traits of each cluster, write them and a summary."""
    refuse_clashes(arguments)
    refuse_two_inputs([arguments.labelling, arguments.table])
    most, seed = integer(arguments.most, "--most"), integer(arguments.seed, "--seed")
    step = steps_of(arguments)
    with step("loading"):
        from quorate import explain, rules
        from quorate._evaluation.explanation import NO_TEST
        from quorate._io import refuse_output
        from quorate._io.load import load_labelling, load_typed
        from quorate._io.save import save_rows
    if arguments.output is not None:
        refuse_output(arguments.output, arguments.force)
    formulas = formulas_of(arguments)
    columns = None if arguments.columns is None else names(arguments.columns)
    drop = [] if arguments.drop is None else names(arguments.drop)
    with step(f"reading {arguments.table}"):
        options = {"ids": arguments.id, "sep": arguments.sep, "formulas": formulas, "encoding": arguments.encoding}
        table = load_typed(arguments.table, columns=columns, drop=drop, **options)
    with step(f"reading {arguments.labelling}"):
        own = {"column": arguments.label, "ids_as": arguments.ids_as}
        labelling = load_labelling(arguments.labelling, table, **own, **options)
    with step("comparing clusters"):
        found = explain(labelling.named(), table)
        ruled = rules(labelling.named(), table, random_state=seed) if arguments.rules else None
    if arguments.output is not None:
        formulas = formulas_of(arguments, arguments.output)
        save_rows(arguments.output, found.traits, overwrite=arguments.force, formulas=formulas)
    facts = found.as_dict() | ({} if ruled is None else ruled.as_dict()) | outside_facts(labelling.n_outside)
    total = sum(found.sizes.tolist())
    lines = []
    for name, size in zip(found.cluster_names, found.sizes.tolist(), strict=True):
        lines.append(f"cluster {name}: {size:,} objects ({size / total:.0%})")
        lines += [f"  {trait.effect:+6.2f}  {trait.text}" for trait in found.of(name, most=most)]
    lines += ["", EFFECTS]
    lines += [] if ruled is None else ["", "rules, with precision and recall on objects they were not made from:"]
    lines += [] if ruled is None else str(ruled).splitlines()
    lines += ["", *([outside_text(labelling.n_outside)] if labelling.n_outside else [])]
    lines += [*(f"left out: {name} {reason}" for name, reason in found.left_out.items())]
    lines += [NO_TEST, *([] if arguments.output is None else [f"all traits {place_of(arguments.output)}"])]
    tell(arguments, facts, "\n".join(lines) + "\n")


def add_predict(commands: Any) -> None:
    """Add `quorate predict`."""
    parser = add_command(commands, "predict", run_predict, "label new objects by a model that save_model wrote")
    parser.add_argument("model", help="model of quorate.save_model, an .npz file")
    parser.add_argument("features", help="table of the new objects, with the columns that the model was made from")
    parser.add_argument("--id", metavar="COLUMN", help="column with the names of the objects")
    parser.add_argument("--sep", metavar="CHAR", help="what separates columns of a text table (default: recognised)")
    add_encoding_option(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="file to write the labels to; - is standard output"
    )
    add_style_options(parser)
    add_safe_cells_option(parser)
    add_force_option(parser)
    add_talk_options(parser)


def run_predict(arguments: argparse.Namespace) -> None:
    """Read the model and the table, label its objects, write the labels and how many each cluster has."""
    refuse_clashes(arguments)
    step = steps_of(arguments)
    with step("loading"):
        import numpy as np

        from quorate import load_model, save_labels
        from quorate._io import refuse_output
        from quorate.cli.work import read_for_model
    refuse_output(arguments.output, arguments.force)
    model = load_model(arguments.model)
    table, ids = read_for_model(arguments, model, step)
    with step("labelling the objects"):
        try:
            labels = model.predict(table)
        except ValueError as error:
            named = str(error).startswith(arguments.features)
            raise ValueError(str(error) if named else f"{arguments.features}: {error}") from error
    formulas = formulas_of(arguments, arguments.output)
    style = {"sep": arguments.out_sep, "decimal": arguments.decimal, "formulas": formulas}
    save_labels(arguments.output, labels, ids=ids, overwrite=arguments.force, id_name=arguments.id, **style)
    sizes = np.bincount(labels, minlength=model.n_clusters_).tolist()
    facts = {"n_objects": len(labels), "n_clusters": model.n_clusters_, "sizes": sizes, "output": arguments.output}
    shown = ", ".join(f"{cluster}: {size:,}" for cluster, size in enumerate(sizes))
    tell(
        arguments, facts, aligned({"objects": f"{len(labels):,}", "sizes": shown, "labels": place_of(arguments.output)})
    )

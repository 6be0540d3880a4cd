"""The commands about results: `quorate place` for new objects, `quorate compare` for several methods."""

from __future__ import annotations

import argparse
from typing import Any

from quorate.cli.options import (
    add_command,
    add_force_option,
    add_labelling_options,
    add_memory_option,
    add_orientation_option,
    add_seed_option,
    add_table_options,
    add_talk_options,
    formulas_of,
)
from quorate.cli.output import aligned, place_of, refuse_clashes, table_facts, table_summary, tell
from quorate.cli.progress import steps
from quorate.cli.values import integer, names, number_of_clusters


def add_place(commands: Any) -> None:
    """Add `quorate place`."""
    parser = add_command(commands, "place", run_place, "put new objects into the clusters of a labelling")
    add_table_options(parser)
    add_labelling_options(parser)
    parser.add_argument("new", help="table of labels of the new objects, with columns named as in the first table")
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="file to write the labels to; - is standard output"
    )
    add_memory_option(parser)
    add_force_option(parser)
    add_talk_options(parser)


def run_place(arguments: argparse.Namespace) -> None:
    """Read the table, its labelling and the new table, place the new objects, write their labels and a summary."""
    refuse_clashes(arguments)
    step = steps(arguments)
    with step("loading"):
        from quorate import place, save_labels
        from quorate._io import refuse_output
        from quorate.cli.blocks_run import place_in_blocks, works_in_blocks
        from quorate.cli.reading import read_labels_and_labelling, read_new_labels
    if works_in_blocks(arguments, *arguments.labels, arguments.labelling, arguments.new):
        _tell_placed(arguments, *place_in_blocks(arguments, step))
        return
    refuse_output(arguments.output, arguments.force)
    ensemble, labelling, _ = read_labels_and_labelling(arguments, step)
    new = read_new_labels(arguments, ensemble, step)
    with step(f"placing {new.n_rows:,} objects"):
        placed = place(labelling.named(), ensemble, new)
    with step(f"writing {arguments.output}"):
        formulas = formulas_of(arguments, arguments.output)
        save_labels(arguments.output, placed, name=arguments.label, overwrite=arguments.force, formulas=formulas)
    facts = {
        "n_objects": len(placed.labels),
        "n_known_rows": int(placed.known.sum()),
        "n_unplaced": placed.n_unplaced,
        "unknown_labels": dict(placed.unknown_labels),
        "absent_members": list(placed.absent_members),
        "clusters": dict(zip(placed.shown_names, placed.sizes.tolist(), strict=True)),
        "output": arguments.output,
    }
    tell(arguments, {**table_facts(ensemble), **facts}, _place_summary(facts) + table_summary(table_facts(ensemble)))


def _tell_placed(arguments: argparse.Namespace, found: Any, read: Any) -> None:
    """Write what was placed in blocks."""
    facts = {
        "n_objects": found.n_objects,
        "n_known_rows": found.n_known,
        "n_unplaced": found.n_unplaced,
        "unknown_labels": dict(found.placed.unknown_labels),
        "absent_members": list(found.placed.absent_members),
        "clusters": dict(zip(found.placed.shown_names, found.sizes.tolist(), strict=True)),
        "output": arguments.output,
    }
    table = table_facts(read.ensemble)
    tell(arguments, {**table, **facts}, _place_summary(facts) + table_summary(table))


def _place_summary(facts: dict[str, Any]) -> str:
    unknown = ", ".join(f"{name} {count:,}" for name, count in facts["unknown_labels"].items())
    lines = {
        "objects": f"{facts['n_objects']:,} ({facts['n_known_rows']:,} with labels that objects of the table have)",
        "not placed": f"{facts['n_unplaced']:,}",
        "unknown": f"{unknown} (labels that the table does not have count as missing)" if unknown else "no labels",
        "labels": place_of(facts["output"]),
    }
    if facts["absent_members"]:
        lines["absent"] = ", ".join(facts["absent_members"])
    return aligned(lines)


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
    add_seed_option(parser)
    add_talk_options(parser)


def run_compare(arguments: argparse.Namespace) -> None:
    """Read the table, run every method for every number of clusters and write the scores."""
    settings: dict[str, Any] = {
        "n_clusters": number_of_clusters(arguments.k),
        "n_repeats": integer(arguments.repeats, "--repeats"),
        "random_state": integer(arguments.seed, "--seed"),
    }
    if arguments.methods is not None:
        settings["methods"] = names(arguments.methods)
    step = steps(arguments)
    with step("loading"):
        from quorate import compare
        from quorate.cli.reading import read_labels
    ensemble = read_labels(arguments, step)
    with step(f"comparing methods on {ensemble.n_members} clusterings of {ensemble.n_objects:,} objects"):
        table = compare(ensemble, **settings)
    facts = {**table.as_dict(), **table_facts(ensemble)}
    tell(arguments, facts, f"{table}\n{table_summary(facts)}")

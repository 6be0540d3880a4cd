"""The commands that start from a table of labels: `quorate consensus` and `quorate score`."""

from __future__ import annotations

import argparse
from typing import Any

from quorate.cli.options import (
    add_ambiguous_option,
    add_command,
    add_device_option,
    add_force_option,
    add_labelling_options,
    add_labels_output,
    add_memory_option,
    add_method_options,
    add_null_option,
    add_orientation_option,
    add_rows_options,
    add_seed_option,
    add_table_options,
    add_talk_options,
    consensus_settings,
    null_settings,
    rows_settings,
)
from quorate.cli.output import refuse_clashes, table_facts, table_summary, tell, verdict_summary
from quorate.cli.progress import steps
from quorate.cli.values import n_bytes, number_of_clusters


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
        "--max-bytes",
        metavar="BYTES",
        help="refuse larger tables, and methods that need more memory than this beside the rows, for example 8GB",
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
    settings = _consensus_settings(arguments)
    step = steps(arguments)
    with step("loading"):
        from quorate._io.table_size import refuse_large_tables
        from quorate.cli.blocks_run import consensus_in_blocks, works_in_blocks
        from quorate.cli.consensus_run import find_consensus, refuse_outputs, tell_outcome, write_results
        from quorate.cli.reading import read_labels
    if works_in_blocks(arguments, *arguments.labels):
        consensus_in_blocks(arguments, settings, step)
        return
    refuse_outputs(arguments)
    if "max_bytes" in settings:
        refuse_large_tables(arguments.labels, settings["max_bytes"])
    ensemble = read_labels(arguments, step)
    outcome = find_consensus(arguments, ensemble, settings, step)
    write_results(arguments, outcome, step)
    tell_outcome(arguments, outcome)


def _consensus_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    others = rows_settings(arguments)
    if arguments.max_bytes is not None:
        others["max_bytes"] = n_bytes(arguments.max_bytes, "--max-bytes")
    return consensus_settings(arguments, number_of_clusters(arguments.k), **others)


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
    add_null_option(parser)
    add_memory_option(parser)
    add_talk_options(parser)


def run_score(arguments: argparse.Namespace) -> None:
    """Read the table and the labelling, score it and write the scores."""
    step = steps(arguments)
    with step("loading"):
        from quorate import members, profiles
        from quorate._evaluation.repetition import AFFORDABLE_SECONDS, checked_permutations
        from quorate._evaluation.within import evaluate_within
        from quorate.cli.blocks_run import score_in_blocks, works_in_blocks
        from quorate.cli.reading import read_labels_and_labelling
    how = null_settings(arguments, AFFORDABLE_SECONDS)
    checked_permutations(how["null"])
    if works_in_blocks(arguments, *arguments.labels, arguments.labelling):
        scores, read = score_in_blocks(arguments, how, step)
        ensemble, named = read.ensemble, read.labels
    else:
        ensemble, labelling, truth = read_labels_and_labelling(arguments, step)
        with step("scoring"):
            scores = evaluate_within(labelling.labels, ensemble, how["seconds"], truth=truth, null=how["null"])
        named = labelling.named()
    with step("scoring"):
        # the tables show clusters by their names in the file, not by their codes
        tables = [verb(named, ensemble) for verb in (members, profiles) if getattr(arguments, verb.__name__)]
    facts: dict[str, Any] = {**scores.as_dict(), "verdict": scores.verdict._asdict(), **table_facts(ensemble)}
    parts = [f"{scores}\n{table_summary(facts)}{verdict_summary(scores)}".rstrip("\n")]
    for table in tables:
        facts |= table.as_dict()
        parts.append(str(table))
    tell(arguments, facts, "\n\n".join(parts) + "\n")

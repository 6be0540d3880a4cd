"""The options that several commands have, and what they mean for `quorate.consensus`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from quorate.cli.values import integer, named_values, number


def add_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], None], title: str
) -> argparse.ArgumentParser:
    """Add a command that calls `run` with its arguments; `title` is its line in `quorate --help`."""
    sentence = f"{title[0].upper()}{title[1:]}."
    parser: argparse.ArgumentParser = commands.add_parser(name, help=title, description=sentence, allow_abbrev=False)
    parser.set_defaults(run=run)
    return parser


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """Add the table of labels, and the options that say how to read it."""
    parser.add_argument(
        "labels",
        nargs="+",
        help="table of labels: one row per object, one column per clustering; several tables are joined by --id; a "
        "folder or a quoted pattern such as 'labels/*.parquet' is one table in blocks",
    )
    add_column_options(parser, "clusterings")
    parser.add_argument(
        "--missing",
        metavar="VALUE",
        action="append",
        help="value that stands for a missing label, beside -1 and empty cells; may be given several times",
    )
    parser.add_argument(
        "--weights", metavar="W,W,W", help="weights of the clusterings, or A=2,B=0.5 by name (default: 1 each)"
    )
    parser.add_argument(
        "--skip-empty", action="store_true", help="leave out objects that have no label in any clustering"
    )
    parser.add_argument(
        "--no-check", action="store_true", help="take columns as clusterings that look like ids or measurements"
    )
    add_safe_cells_option(parser)


def add_safe_cells_option(parser: argparse.ArgumentParser) -> None:
    """Add --safe-cells."""
    parser.add_argument(
        "--safe-cells",
        action="store_true",
        help="in text files, put an apostrophe before cells that a spreadsheet would take for a formula, "
        "and take it away again when such files are read",
    )


def formulas_of(arguments: argparse.Namespace, output: str | None = None) -> str:
    """Return the option `formulas` for reading text files, or for writing `output`."""
    if not arguments.safe_cells:
        return "keep"
    if output is not None:
        from quorate._io.dialect import DELIMITERS
        from quorate._io.paths import format_of

        return "quote" if format_of(output) in DELIMITERS else "keep"
    return "quote"


def add_memory_option(parser: argparse.ArgumentParser) -> None:
    """Add --memory."""
    parser.add_argument(
        "--memory",
        metavar="BYTES",
        help="read tables in blocks and use about this much memory, for example 2GB; folders and patterns of files "
        "are always read in this way (default: half of the machine's memory, at most 8GB)",
    )


def add_column_options(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the options that choose columns of a table; `what` names the things that its columns hold."""
    parser.add_argument("--id", metavar="COLUMN", help="column with the names of the objects")
    parser.add_argument(
        "--columns", metavar="A,B,C", help=f"columns that are {what} (default: all except the id column)"
    )
    parser.add_argument("--drop", metavar="A,B,C", help="columns to leave out")
    parser.add_argument(
        "--sep",
        metavar="CHAR",
        help="what separates columns of text: comma, semicolon, tab, pipe (default: recognised)",
    )


def add_orientation_option(parser: argparse.ArgumentParser) -> None:
    """Add --orientation."""
    parser.add_argument(
        "--orientation", choices=("objects", "members"), help="what one row of the table stands for (default: objects)"
    )


def add_labelling_options(parser: argparse.ArgumentParser) -> None:
    """Add the file with a labelling of the objects of the table, and --truth."""
    parser.add_argument("labelling", help="file with the labelling, for example written by quorate consensus -o")
    parser.add_argument(
        "--label", metavar="COLUMN", default="label", help="column of that file with the labels (default: %(default)s)"
    )
    parser.add_argument("--truth", metavar="COLUMN", help="column of either file with the known true classes")


def add_method_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the consensus function and its own options."""
    parser.add_argument(
        "-m", "--method", default="auto", help="consensus function; quorate methods lists them (default: %(default)s)"
    )
    parser.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="option of the consensus function; may be given several times",
    )


def add_seed_option(parser: argparse.ArgumentParser) -> None:
    """Add --seed."""
    parser.add_argument(
        "--seed", metavar="INT", default="0", help="the same seed gives the same result (default: %(default)s)"
    )


def add_device_option(parser: argparse.ArgumentParser) -> None:
    """Add --device."""
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        help="where to work: cuda on a CUDA card, auto there if one works (default: cpu)",
    )


def add_rows_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that change rows before the method runs (--coarsen, --keep) and labels after it (--refine)."""
    parser.add_argument(
        "--coarsen",
        metavar="THETA",
        help="first merge rows that differ in at most this share of the clusterings; auto chooses the share",
    )
    parser.add_argument(
        "--keep",
        metavar="SHARE",
        help="with --coarsen THETA: keep the largest merged rows, which together hold this share of the objects",
    )
    parser.add_argument(
        "--refine", action="store_true", help="afterwards move objects to other clusters as long as the ANMI rises"
    )
    parser.add_argument(
        "--no-confidence",
        action="store_true",
        help="do not estimate the confidence of each object, which takes about two more runs of the method: the "
        "probability that the same procedure would place it in the same cluster on a fresh ensemble",
    )


def add_labels_output(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the files to which `consensus` and `cluster` write their results."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="file to write the labels to, or a folder for a table in blocks; - writes to standard output",
    )
    parser.add_argument("--report", metavar="FILE", help="also write a report to this .html file")


def add_null_option(parser: argparse.ArgumentParser) -> None:
    """--null and --no-null: whether to compare the agreement with that of permuted labels."""
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--null",
        metavar="N",
        help="compare the agreement with N permutations of the labels, or auto for 19 to 99 "
        "(default: auto, unless that takes longer than five seconds and five times the consensus)",
    )
    choice.add_argument("--no-null", action="store_true", help="do not compare the agreement with permuted labels")


def add_reference_option(parser: argparse.ArgumentParser) -> None:
    """--reference and --no-reference: whether to compare the clusters with those of measurements without clusters."""
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--reference",
        metavar="N",
        default="auto",
        help="compare with N draws of measurements without clusters, or auto for 5 to 19 (default: %(default)s)",
    )
    choice.add_argument("--no-reference", action="store_true", help="do not compare with measurements without clusters")


def reference_setting(arguments: argparse.Namespace) -> int | str | None:
    """The option `reference` of `evaluate` that is asked for."""
    if arguments.no_reference:
        return None
    return "auto" if arguments.reference == "auto" else integer(arguments.reference, "--reference")


def add_ambiguous_option(parser: argparse.ArgumentParser) -> None:
    """--ambiguous."""
    parser.add_argument(
        "--ambiguous", metavar="SHARE", help="count the objects whose confidence is below this (default: 0.6)"
    )


def ambiguity_threshold(arguments: argparse.Namespace) -> float:
    """The confidence below which an object is called ambiguous."""
    from quorate._result_table import AMBIGUOUS

    if arguments.ambiguous is None:
        return AMBIGUOUS
    wanted = "a number from 0 to 1"
    share = number(arguments.ambiguous, "--ambiguous", wanted=wanted)
    if not 0 <= share <= 1:
        raise ValueError(f"--ambiguous must be {wanted}, got {arguments.ambiguous!r}")
    return share


def null_settings(arguments: argparse.Namespace, seconds: float) -> dict[str, Any]:
    """What `evaluate_within` is given; `seconds` is what the comparison with chance may take if it is not asked for."""
    if arguments.no_null:
        return {"null": None, "seconds": None}
    if arguments.null is None:
        return {"null": "auto", "seconds": seconds}
    return {"null": "auto" if arguments.null == "auto" else integer(arguments.null, "--null"), "seconds": None}


def add_force_option(parser: argparse.ArgumentParser) -> None:
    """Add --force."""
    parser.add_argument("--force", action="store_true", help="replace output files that exist")


def add_talk_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what is written to the terminal."""
    parser.add_argument("--json", action="store_true", help="write one JSON object instead of a table")
    parser.add_argument(
        "--quiet", action="store_true", help="write neither table nor progress, only errors and warnings"
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument(
        "--progress", action="store_true", help="show progress also when standard error is not a terminal"
    )
    shown.add_argument("--no-progress", action="store_true", help="show no progress")


# options of quorate.consensus that have an option of their own in the shell
_OWN_OPTIONS = {
    "n_clusters": "-k",
    "method": "--method",
    "random_state": "--seed",
    "coarsen": "--coarsen",
    "refine": "--refine",
    "max_bytes": "--max-bytes",
    "device": "--device",
}


def consensus_settings(arguments: argparse.Namespace, n_clusters: Any, **others: Any) -> dict[str, Any]:
    """Return the keyword arguments of `quorate.consensus`: from -k, --method, --seed, `others` and each --option."""
    settings = {
        "n_clusters": n_clusters,
        "method": arguments.method,
        "random_state": integer(arguments.seed, "--seed"),
        **others,
    }
    if arguments.device is not None:
        settings["device"] = arguments.device
    options = named_values(arguments.option, "--option")
    for name in options:
        if name in settings:
            raise ValueError(f"--option {name} is the same as {_OWN_OPTIONS[name]}; give {_OWN_OPTIONS[name]} alone")
    return {**settings, **options}


def rows_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return `coarsen` and `refine` in the form in which `quorate.consensus` takes them, if they are given."""
    settings: dict[str, Any] = {"refine": True} if arguments.refine else {}
    if arguments.no_confidence:
        settings["confidence"] = False
    if arguments.keep is not None and arguments.coarsen in (None, "auto"):
        raise ValueError(
            "--keep needs --coarsen with a number, because it chooses among the rows merged by that number"
        )
    if arguments.coarsen == "auto":
        settings["coarsen"] = "auto"
    elif arguments.coarsen is not None:
        share = "a number from 0 to 1"
        settings["coarsen"] = {"theta": number(arguments.coarsen, "--coarsen", wanted=f"auto or {share}")}
        if arguments.keep is not None:
            settings["coarsen"]["keep"] = number(arguments.keep, "--keep", wanted=share)
    return settings

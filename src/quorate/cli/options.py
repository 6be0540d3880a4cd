"""The options that several commands have: texts from the command line as Python values, and what they mean."""

from __future__ import annotations

import argparse
import logging
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from quorate._progress import Step, steps

if TYPE_CHECKING:
    from quorate._types import Solving


def integer(text: str, option: str) -> int:
    """Return `text` as an integer; the error message names `option`."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{option} must be an integer, got {text!r}") from None


def number(text: str, option: str, *, wanted: str = "a number") -> float:
    """Return `text` as a finite number; the error message says that `option` must be what is `wanted`."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{option} must be {wanted}, got {text!r}")
    return value


def numbers(text: str, option: str) -> list[float]:
    """Return numbers that are separated by commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{option} must be numbers separated by commas, got {text!r}") from None


def weights(text: str, option: str) -> str | list[float] | dict[str, float]:
    """Return numbers that are separated by commas, a dictionary if they have the form NAME=NUMBER, or "auto"."""
    if text == "auto":
        return text
    if "=" not in text:
        return numbers(text, option)
    by_name: dict[str, float] = {}
    for pair in names(text):
        name, _, value = pair.rpartition("=")
        if not name or name in by_name:
            raise ValueError(f"{option} must be numbers, or NAME=NUMBER for each name once, got {pair!r}")
        by_name[name] = number(value, f"{option} {name}")
    return by_name


def n_bytes(text: str, option: str) -> int:
    """Return a number of bytes from texts such as 8e9, 8GB, 1.5 GB or 512MiB."""
    import re

    wanted = "a number of bytes such as 8e9 or 8GB"
    parts = re.fullmatch(r"\s*([^a-zA-Z\s].*?)\s*([kKmMgGtT]i?[bB]|[bB])?\s*", text)
    amount, unit = (parts.group(1), parts.group(2) or "") if parts else (text, "")
    base = 1024 if "i" in unit else 1000
    power = "bkmgt".index(unit[0].lower()) if unit else 0
    return int(number(amount, option, wanted=wanted) * base**power)


def names(text: str) -> list[str]:
    """Return names that are separated by commas; a name with a comma is put in double quotes, as in a CSV file."""
    import csv

    try:
        return next(csv.reader([text], strict=True))
    except csv.Error as error:
        raise ValueError(f"column names must be separated by commas, got {text!r}: {error}") from None


def number_of_clusters(text: str | None) -> int | str | tuple[int, int] | None:
    """Return `n_clusters` of `quorate.consensus`: a number, "auto", or the two ends of a range such as 2:20."""
    if text is None or text == "auto":
        return text
    low, colon, high = text.partition(":")
    try:
        return (int(low), int(high)) if colon else int(low)
    except ValueError:
        raise ValueError(f"-k must be an integer, auto, or a range such as 2:20, got {text!r}") from None


def member_k(text: str | None) -> Any:
    """Return `k` of `quorate.generate`: a number, a range such as 10:40, or a rule with or without numbers."""
    if text is None:
        return None
    parts = [python_value(part) for part in text.split(":")]
    return parts[0] if len(parts) == 1 else tuple(parts)


def named_values(pairs: Sequence[str], option: str) -> dict[str, Any]:
    """Return a dictionary from texts of the form NAME=VALUE."""
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not (name and equals):
            raise ValueError(f"{option} must be NAME=VALUE, got {pair!r}")
        values[name] = python_value(text)
    return values


def python_value(text: str) -> Any:
    """Return an integer, a float, True, False or None if `text` is one, in upper or lower case; otherwise the text."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


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
        help="value that stands for a missing label, in addition to -1 and empty cells; may be given several times",
    )
    parser.add_argument(
        "--weights", metavar="W,W,W", help="weights of the clusterings, A=2,B=0.5 by name, or auto (default: 1 each)"
    )
    _add_object_options(parser)
    parser.add_argument(
        "--no-check", action="store_true", help="take columns as clusterings that look like ids or measurements"
    )
    add_safe_cells_option(parser)


def add_ids_as_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that says how ids of two tables are compared."""
    parser.add_argument(
        "--ids-as",
        choices=("text", "loose"),
        default="text",
        help="how ids of several tables are compared; loose ignores leading zeros, .0, spaces, case and Unicode forms "
        "(default: %(default)s)",
    )


def _add_object_options(parser: argparse.ArgumentParser) -> None:
    """Add the options about objects: how their ids match, noise, and objects without labels."""
    add_ids_as_option(parser)
    parser.add_argument(
        "--duplicates",
        choices=("refuse", "first", "last", "vote"),
        default="refuse",
        help="what to do with several rows of one id: vote takes the label that most have (default: %(default)s)",
    )
    parser.add_argument(
        "--noise",
        metavar="VALUE",
        action="append",
        help="value that says that an object belongs to no cluster, such as -1 of HDBSCAN; objects stay outside if "
        "clusterings of at least half of the weight say so",
    )
    empty = parser.add_mutually_exclusive_group()
    empty.add_argument(
        "--skip-empty", action="store_true", help="leave out objects that have no label in any clustering"
    )
    empty.add_argument(
        "--keep-empty", action="store_true", help="keep objects that have no label in any clustering, without a cluster"
    )


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
        from quorate._io.paths import format_of
        from quorate._io.text import DELIMITERS

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
    parser.add_argument(
        "--id",
        metavar="COLUMN",
        action=_IdColumn,
        help="column with the names of the objects; FILE=COLUMN for one file, and may be given several times",
    )
    parser.add_argument(
        "--columns", metavar="A,B,C", help=f"columns that are {what} (default: all except the id column)"
    )
    parser.add_argument("--drop", metavar="A,B,C", help="columns to leave out")
    parser.add_argument(
        "--sep",
        metavar="CHAR",
        help="what separates columns of a text table: comma, semicolon, tab, pipe (default: recognised)",
    )
    add_encoding_option(parser)


class _IdColumn(argparse.Action):
    """--id COLUMN, or --id FILE=COLUMN for one of several files, which goes into the mapping `id_of`."""

    def __call__(self, _: Any, namespace: argparse.Namespace, value: Any, option: Any = None) -> None:
        from quorate.cli.output import SUFFIXES

        file, equals, column = value.partition("=")
        if equals and file.lower().endswith(SUFFIXES):
            namespace.id_of = {**(getattr(namespace, "id_of", None) or {}), file: column}
        else:
            namespace.id = value


def id_of_file(arguments: argparse.Namespace, path: str) -> str | None:
    """Return the column of ids of one file: the one that was named for it, or the one for all."""
    own: dict[str, str] = getattr(arguments, "id_of", None) or {}
    column: str | None = next((own[name] for name in (path, Path(path).name) if name in own), arguments.id)
    return column


def settle_ids(arguments: argparse.Namespace) -> None:
    """Raise if --id FILE=COLUMN names no file of the command; a command that reads one table has one column of ids."""
    own: dict[str, str] = getattr(arguments, "id_of", None) or {}
    if not own:
        return
    singles = [getattr(arguments, name, None) for name in ("features", "labelling", "table", "new")]
    files = [*getattr(arguments, "labels", []), *singles, *(getattr(arguments, "more_new", None) or [])]
    known = {name for file in files if file is not None for name in (file, Path(file).name)}
    strange = [file for file in own if file not in known]
    if strange:
        raise ValueError(f"--id names the file {strange[0]!r}, which the command does not read")
    if not hasattr(arguments, "labels"):
        if len(set(own.values())) > 1 or arguments.id is not None:
            raise ValueError("--id names several columns, and this command takes one; rename one of them")
        arguments.id = next(iter(own.values()))


def add_encoding_option(parser: argparse.ArgumentParser) -> None:
    """Add --encoding."""
    parser.add_argument(
        "--encoding",
        metavar="NAME",
        help="how text tables are encoded, such as cp1252 or latin2 (default: UTF-8, UTF-16 and cp1252 are recognised)",
    )


def add_orientation_option(parser: argparse.ArgumentParser) -> None:
    """Add --orientation."""
    parser.add_argument(
        "--orientation", choices=("objects", "members"), help="what one row of the table stands for (default: objects)"
    )


def add_labelling_options(parser: argparse.ArgumentParser) -> None:
    """Add the file with a labelling of the objects of the table, and --truth."""
    add_labelling_column(parser)
    parser.add_argument("--truth", metavar="COLUMN", help="column of either file with the known true classes")


def add_labelling_column(parser: argparse.ArgumentParser) -> None:
    """Add the file with a labelling, and --label."""
    parser.add_argument("labelling", help="file with the labelling, for example written by quorate consensus -o")
    parser.add_argument(
        "--label", metavar="COLUMN", default="label", help="column of that file with the labels (default: %(default)s)"
    )


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
        help="do not estimate the confidence of each object, which takes as long as two to six more runs "
        "of the method on small tables and less on large ones: the probability "
        "that the same procedure would place it in the same cluster on a fresh ensemble",
    )
    parser.add_argument(
        "--min-size", metavar="INT", help="join clusters of fewer objects than this to their most similar cluster"
    )
    parser.add_argument("--max-clusters", metavar="INT", help="find at most this many clusters")


def add_labels_output(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the files to which `consensus` and `cluster` write their results."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="file to write the labels to, or a folder for a table in blocks; - writes to standard output",
    )
    parser.add_argument(
        "--memberships",
        action="store_true",
        help="also write how probably each object belongs to each cluster: columns p 0, p 1, ...",
    )
    parser.add_argument("--report", metavar="FILE", help="also write a report to this .html file")
    parser.add_argument(
        "--method-confidence",
        action="store_true",
        help="also write a column of the method's own confidence, which mcla, ecpcs and mixture have",
    )
    parser.add_argument(
        "--save", metavar="FILE", help="also save the whole result to this .npz file, for `quorate cut` and Python"
    )
    add_style_options(parser)


def add_style_options(parser: argparse.ArgumentParser) -> None:
    """Add --out-sep and --decimal."""
    parser.add_argument(
        "--out-sep", metavar="CHAR", help="what separates columns of the output: comma, semicolon, tab, pipe"
    )
    parser.add_argument(
        "--decimal", choices=("point", "comma"), help="decimal mark of the output; comma also sets --out-sep semicolon"
    )


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
        help="compare with N draws of measurements without clusters, or auto for 1 to 19 (default: %(default)s)",
    )
    choice.add_argument("--no-reference", action="store_true", help="do not compare with measurements without clusters")


def add_measured_options(parser: argparse.ArgumentParser) -> None:
    """--scale, --reference and --no-reference, beside --features."""
    parser.add_argument("--scale", choices=["z"], help="with --features: standardise each of its columns")
    add_reference_option(parser)


def refuse_without_features(arguments: argparse.Namespace) -> None:
    """Raise if an option about measurements is given, but no table of them."""
    given = {"--scale": arguments.scale is not None, "--reference": arguments.reference != "auto"}
    given["--no-reference"] = arguments.no_reference
    wrong = next((option for option, is_given in given.items() if is_given), None)
    if wrong is not None and arguments.features is None:
        raise ValueError(f"{wrong} is about measurements; name their table with --features")


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
    from quorate._summaries import AMBIGUOUS

    if arguments.ambiguous is None:
        return AMBIGUOUS
    wanted = "a number from 0 to 1"
    share = number(arguments.ambiguous, "--ambiguous", wanted=wanted)
    if not 0 <= share <= 1:
        raise ValueError(f"--ambiguous must be {wanted}, got {arguments.ambiguous!r}")
    return share


class NullTest(NamedTuple):
    """Whether to compare the agreement with permuted labels, and the seconds that this may take if nobody asked."""

    null: int | str | None
    seconds: float | None = None


def null_test(arguments: argparse.Namespace, seconds: float) -> NullTest:
    """Return what --null and --no-null ask for; `seconds` is the limit if neither is given."""
    if arguments.no_null:
        return NullTest(None)
    if arguments.null is None:
        return NullTest("auto", seconds)
    return NullTest("auto" if arguments.null == "auto" else integer(arguments.null, "--null"))


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


def steps_of(arguments: argparse.Namespace) -> Step:
    """Return what shows progress: by option, or because standard error is a terminal."""
    wanted = arguments.progress or sys.stderr.isatty()
    is_shown = bool(wanted and not arguments.quiet and not arguments.no_progress)
    return steps(is_shown=is_shown, told_from=logging.WARNING if arguments.quiet else logging.INFO)


# options of quorate.consensus that have an option of their own in the shell
_OWN_OPTIONS = {
    "n_clusters": "-k",
    "method": "--method",
    "random_state": "--seed",
    "device": "--device",
    "coarsen": "--coarsen",
    "refine": "--refine",
    "max_bytes": "--max-bytes",
    "confidence": "--no-confidence",
    "min_size": "--min-size",
    "max_clusters": "--max-clusters",
}
_ALWAYS_SET = ("n_clusters", "method", "random_state", "device")


def solving_of(arguments: argparse.Namespace) -> Solving:
    """Return how to find the consensus: --method, --seed, --device, each --option, and what changes rows and labels."""
    from quorate._types import Solving

    seed, rows = integer(arguments.seed, "--seed"), _rows_options(arguments)
    options = named_values(arguments.option, "--option")
    for name in options:
        if name in (*_ALWAYS_SET, *rows):
            raise ValueError(f"--option {name} is the same as {_OWN_OPTIONS[name]}; give {_OWN_OPTIONS[name]} alone")
    return Solving(arguments.method, random_state=seed, device=arguments.device).with_options({**rows, **options})


def _rows_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return `coarsen`, `refine`, `confidence` and `max_bytes` if they are given to a command that has them."""
    given = vars(arguments)
    options: dict[str, Any] = {"refine": True} if given.get("refine") else {}
    if given.get("no_confidence"):
        options["confidence"] = False
    for name in ("min_size", "max_clusters"):
        if given.get(name) is not None:
            options[name] = integer(given[name], _OWN_OPTIONS[name])
    if given.get("max_bytes") is not None:
        options["max_bytes"] = n_bytes(arguments.max_bytes, "--max-bytes")
    if given.get("keep") is not None and given["coarsen"] in (None, "auto"):
        raise ValueError(
            "--keep needs --coarsen with a number, because it chooses among the rows merged by that number"
        )
    if given.get("coarsen") == "auto":
        options["coarsen"] = "auto"
    elif given.get("coarsen") is not None:
        share = "a number from 0 to 1"
        options["coarsen"] = {"theta": number(arguments.coarsen, "--coarsen", wanted=f"auto or {share}")}
        if arguments.keep is not None:
            options["coarsen"]["keep"] = number(arguments.keep, "--keep", wanted=share)
    return options


class Generating(NamedTuple):
    """How clusterings are made: the keyword arguments of `quorate.generate`."""

    n_members: int
    k: Any
    base: str
    rows: float
    columns: float
    random_state: int
    n_jobs: int | None
    checkpoint: str | None
    device: str | None


def generating_of(arguments: argparse.Namespace) -> Generating:
    """Return how to make clusterings."""
    return Generating(
        n_members=integer(arguments.members, "--members"),
        k=member_k(arguments.members_k),
        base=arguments.base,
        rows=number(arguments.row_share, "--row-share"),
        columns=number(arguments.column_share, "--column-share"),
        random_state=integer(arguments.seed, "--seed"),
        n_jobs=None if arguments.jobs is None else integer(arguments.jobs, "--jobs"),
        checkpoint=arguments.checkpoint,
        device=arguments.device,
    )


def works_in_blocks(arguments: argparse.Namespace, *paths: str) -> bool:
    """Whether a command is asked to work in blocks; raise if another option does not go together with it."""
    from quorate._io.opening import is_many

    output = getattr(arguments, "output", None)
    into_folder = output not in (None, "-") and is_folder(str(output))
    if not (any(map(is_many, paths)) or arguments.memory is not None or into_folder):
        return False
    if getattr(arguments, "orientation", None) == "members":
        raise ValueError("--orientation members does not go together with tables in blocks, whose rows are objects")
    if getattr(arguments, "report", None) is not None:
        raise ValueError("--report needs a table in memory; leave it out, or make a report of a part of the table")
    if getattr(arguments, "method_confidence", False):
        raise ValueError("--method-confidence needs a table in memory; leave it out for tables in blocks")
    if getattr(arguments, "save", None) is not None:
        raise ValueError("--save needs a table in memory; leave it out, -o writes the labels of a table in blocks")
    if getattr(arguments, "model_out", None) is not None:
        raise ValueError(
            "--model needs measurements in memory; make it from one of the files, without --memory and with -o FILE, "
            "and label the others by quorate predict"
        )
    if getattr(arguments, "memberships", False):
        raise ValueError("--memberships needs a table in memory; leave it out for tables in blocks")
    for option, usual in (
        ("ids_as", "text"),
        ("duplicates", "refuse"),
        ("id_of", None),
        ("more_new", None),
    ):
        if (getattr(arguments, option, None) or usual) != usual:
            name = {"id_of": "id FILE=COLUMN", "more_new": "new"}.get(option, option.replace("_", "-"))
            raise ValueError(f"--{name} needs a table in memory; leave it out for tables in blocks")
    if getattr(arguments, "safe_cells", False):
        raise ValueError("--safe-cells is for text files in memory; leave it out for tables in blocks")
    if output == "-":
        raise ValueError("labels of a table in blocks cannot go to standard output; name a folder or a file")
    return True


def refuse_two_inputs(paths: Sequence[str]) -> None:
    """Raise if several files are to be read from standard input, of which there is one."""
    if sum(path == "-" for path in paths) > 1:
        raise ValueError("only one of the files can come from standard input")


def is_folder(output: str) -> bool:
    """Whether labels are to be written to a folder: a name that ends in a slash, or has no suffix."""
    return output.endswith(("/", os.sep)) or (output != "" and not Path(output).suffix)

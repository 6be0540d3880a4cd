"""The shell tool: each subcommand is one call of one verb.

Nothing heavy is imported above the functions: `quorate --help` must not wait for numpy and numba.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from quorate.cli.options import add_run_options, choice_facts, method_line, number_of_clusters, run_options
from quorate.cli.progress import steps

if TYPE_CHECKING:
    from quorate import Consensus, Ensemble, Scores
    from quorate._io.load_labelling import Labelling

EPILOG = """examples:
  quorate consensus labels.csv --id customer -k 5 -o consensus.csv
  quorate score labels.csv consensus.csv --id customer
  quorate report labels.csv consensus.csv --id customer -o report.html
  quorate generate features.csv --members 20 --k 10:40 -o ensemble.zarr
  quorate cluster features.csv -k 10 -o labels.csv
  quorate methods
  quorate demo

A table of labels has a header, one row an object and one column a clustering; empty cells are missing labels.
Files: .csv (.csv.gz, .tsv, .txt), .parquet, .npy, .npz, .zarr; '-' is CSV through standard input and output."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the shell tool; returns the exit status: 0, or 2 after one line about bad input on standard error."""
    with warnings.catch_warnings():
        _show_warnings_in_one_line()
        try:
            arguments = _parser().parse_args(argv)
            arguments.command_line = ["quorate", *(sys.argv[1:] if argv is None else argv)]
            arguments.run(arguments)
            sys.stdout.flush()
        except BrokenPipeError:
            # whoever read our output has seen enough; nothing may be written at exit either
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 141
        except KeyboardInterrupt:
            return _complain("interrupted", 130)
        except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
            return _complain(str(error) or "not enough memory", 2)
    return 0


def _complain(message: str, status: int) -> int:
    sys.stderr.write(f"quorate: error: {_one_line(message)}\n")
    return status


def _show_warnings_in_one_line() -> None:
    """Ours and the numerical ones; those about other people's code help nobody in a shell."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        sys.stderr.write(f"quorate: warning: {_one_line(str(message))}\n")

    warnings.simplefilter("ignore")
    warnings.simplefilter("always", UserWarning)
    warnings.simplefilter("always", RuntimeWarning)
    warnings.showwarning = show


def _one_line(text: str) -> str:
    return " ".join(text.split())


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, as every other error is said."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message}; see {self.prog} --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="quorate",
        description="Consensus clustering: many labellings of the same objects in, one you can trust out.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and leave")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    _add_consensus(commands)
    _add_score(commands)
    methods = _add(commands, "methods", _methods, "list the consensus functions")
    methods.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    from quorate.cli.generate import add_generate
    from quorate.cli.report import add_report

    add_report(commands)
    add_generate(commands)
    demo = _add(commands, "demo", _demo, "a retailer's customers, segmented four ways with gaps, made one")
    demo.add_argument("--output", metavar="DIR", default="quorate-demo", help="folder to write to (%(default)s)")
    demo.add_argument("--force", action="store_true", help="replace the files of an earlier demo")
    return parser


class _Version(argparse.Action):
    def __call__(self, *_: Any) -> NoReturn:
        from quorate import __version__

        sys.stdout.write(f"quorate {__version__}\n")
        raise SystemExit(0)


def _add(commands: Any, name: str, run: Callable[[argparse.Namespace], None], title: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=title, description=title, allow_abbrev=False)
    parser.set_defaults(run=run)
    return parser


def _add_consensus(commands: Any) -> None:
    parser = _add(commands, "consensus", _consensus, "one labelling out of a table of labels")
    from quorate.cli.report import add_report_option

    _add_table(parser)
    parser.add_argument(
        "--orientation", choices=("objects", "members"), help="what one row of the table stands for (objects)"
    )
    parser.add_argument("-k", metavar="K", help="number of clusters, auto, or a range as 2:20; some methods find it")
    parser.add_argument("-m", "--method", default="auto", help="see quorate methods (%(default)s)")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write the labels; - for standard output")
    parser.add_argument("--seed", metavar="INT", default="0", help="one seed, one answer (%(default)s)")
    parser.add_argument(
        "--option", metavar="NAME=VALUE", action="append", default=[], help="an option of the method; repeatable"
    )
    add_run_options(parser)
    add_report_option(parser)
    parser.add_argument("--max-bytes", metavar="BYTES", help="refuse to use more memory than this, e.g. 8e9")
    parser.add_argument("--force", action="store_true", help="replace an existing output file")
    _add_talk(parser)


def _add_score(commands: Any) -> None:
    parser = _add(commands, "score", _score, "score a labelling against the table it was made from")
    _add_table(parser)
    _add_labelling(parser)
    _add_talk(parser)


def _add_labelling(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("labelling", help="file with the labelling, as written by quorate consensus -o")
    parser.add_argument("--label", metavar="COLUMN", default="label", help="its column of labels (%(default)s)")
    parser.add_argument("--truth", metavar="COLUMN", help="column of either file with the classes known to be true")


def _add_table(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("labels", help="table of labels: one row an object, one column a clustering")
    parser.add_argument("--id", metavar="COLUMN", help="column that names the objects")
    parser.add_argument("--columns", metavar="A,B,C", help="columns that are clusterings (all others by default)")
    parser.add_argument(
        "--missing", metavar="VALUE", action="append", help="what stands for a missing label (-1); repeatable"
    )
    parser.add_argument("--weights", metavar="W,W,W", help="weights of the clusterings (1 each)")


def _add_talk(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--quiet", action="store_true", help="no table and no progress, only errors and warnings")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--progress", action="store_true", help="tell what goes on even where nobody seems to look")
    shown.add_argument("--no-progress", action="store_true", help="tell nothing while working")


def _consensus(arguments: argparse.Namespace) -> None:
    k, seed = number_of_clusters(arguments.k), _integer(arguments.seed, "--seed")
    options = {**_options(arguments.option), **run_options(arguments)}
    if arguments.json and arguments.output == "-":
        raise ValueError("--json and -o - both write to standard output; write the labels to a file")
    if arguments.max_bytes is not None:
        options["max_bytes"] = int(_numbers(arguments.max_bytes, "--max-bytes")[0])
    step = steps(arguments)
    with step("loading"):
        from quorate import consensus, evaluate, load_labels, save_labels
        from quorate._io import refuse_output
        from quorate.cli.report import refuse_report, write_report
    if arguments.output is not None:
        refuse_output(arguments.output, arguments.force)
    refuse_report(arguments)
    with step(f"reading {arguments.labels}"):
        ensemble = load_labels(arguments.labels, orientation=arguments.orientation, **_table_options(arguments))
    start = time.perf_counter()
    with step(f"finding the consensus of {ensemble.n_members} clusterings of {ensemble.n_objects:,} objects"):
        result = consensus(ensemble, k, method=arguments.method, random_state=seed, **options)
    seconds = time.perf_counter() - start
    with step("scoring"):
        scores = evaluate(result, ensemble)
    if arguments.output is not None:
        with step(f"writing {arguments.output}"):
            save_labels(arguments.output, result, overwrite=arguments.force)
    told = write_report(arguments, result, ensemble, seed, step)
    summary = {**_facts(result, ensemble, seconds), "seed": seed, "output": arguments.output, **told}
    _tell_consensus(arguments, summary, scores)


def _facts(result: Consensus, ensemble: Ensemble, seconds: float) -> dict[str, Any]:
    import numpy as np

    return {
        "method": result.method,
        "n_objects": len(result.labels),
        "n_rows": result.info["n_rows"],
        "n_members": ensemble.n_members,
        "n_clusters": result.n_clusters,
        "sizes": np.bincount(result.labels).tolist(),
        "objective": result.objective,
        "n_iter": result.n_iter,
        "converged": result.converged,
        "seconds": round(seconds, 3),
        **choice_facts(result),
    }


def _tell_consensus(arguments: argparse.Namespace, summary: dict[str, Any], scores: Scores) -> None:
    if arguments.json:
        _write_json({**summary, "scores": scores.as_dict()})
        return
    if arguments.quiet:
        return
    sizes = sorted(summary["sizes"], reverse=True)
    shown = ", ".join(f"{size:,}" for size in sizes[:12]) + (", ..." if len(sizes) > 12 else "")
    lines = {
        "method": method_line(summary),
        "objects": f"{summary['n_objects']:,} ({summary['n_rows']:,} distinct rows)",
        "clusterings": f"{summary['n_members']:,}",
        "clusters": f"{summary['n_clusters']:,}",
        "sizes": shown,
        "ANMI": f"{scores.anmi:.4f}{_beside(scores)}",
        "density": f"{scores.density:.4f}",
        "seconds": f"{summary['seconds']:.2f}",
        "labels": "not saved; add -o FILE" if arguments.output is None else f"in {arguments.output}",
    }
    stream = sys.stdout
    if arguments.output == "-":
        stream, lines["labels"] = sys.stderr, "on standard output"
    if "report" in summary:
        lines["report"] = f"in {summary['report']}"
    if "choice" in summary:
        lines["chosen"] = summary["choice"]["reason"]
    stream.write("".join(f"{name:<12} {value}\n" for name, value in lines.items()))


def _beside(scores: Scores) -> str:
    if scores.mean_member is None or scores.best_member is None:
        return ""
    return f" (best clustering {scores.best_member:.4f}, mean clustering {scores.mean_member:.4f})"


def _score(arguments: argparse.Namespace) -> None:
    step = steps(arguments)
    with step("loading"):
        from quorate import evaluate
    ensemble, found, truth = _load_both(arguments, step)
    with step("scoring"):
        scores = evaluate(found.labels, ensemble, truth=truth)
    if arguments.json:
        _write_json(scores.as_dict())
    elif not arguments.quiet:
        sys.stdout.write(f"{scores}\n")


def _load_both(arguments: argparse.Namespace, step: Any) -> tuple[Ensemble, Labelling, Any]:
    """The table, the labelling in the order of its objects, and the truth of either file."""
    from quorate._io.load_labelling import load_labelling, load_with_truth

    if arguments.labels == arguments.labelling == "-":
        raise ValueError("only one of the two files can come from standard input")
    with step(f"reading {arguments.labels}"):
        options = _table_options(arguments)
        ensemble, truth = load_with_truth(arguments.labels, arguments.truth, **options)
    with step(f"reading {arguments.labelling}"):
        found = load_labelling(
            arguments.labelling, ensemble, column=arguments.label, ids=arguments.id, truth=arguments.truth
        )
    truth = found.truth if truth is None else truth
    if arguments.truth is not None and truth is None:
        raise ValueError(f"neither {arguments.labels} nor {arguments.labelling} has a column {arguments.truth!r}")
    return ensemble, found, truth


def _methods(arguments: argparse.Namespace) -> None:
    from quorate import METHODS

    names = ("title", "memory", "finds_k", "stochastic", "reference")
    if arguments.json:
        _write_json({name: {key: getattr(method, key) for key in names} for name, method in METHODS.items()})
        return
    rows = [("name", "title", "memory", "finds k", "random", "reference")]
    for name, entry in METHODS.items():
        flags = ("yes" if entry.finds_k else "no", "yes" if entry.stochastic else "no")
        rows.append((name, entry.title, entry.memory, *flags, entry.reference))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def _demo(arguments: argparse.Namespace) -> None:
    from quorate.cli.demo_story import demo

    sys.stdout.write(demo(arguments.output, overwrite=arguments.force))


def _table_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the options about the table mean to `load_labels`; options not given are left to it."""
    from quorate._data.missing import as_number

    options: dict[str, Any] = {"ids": arguments.id}
    if arguments.columns is not None:
        import csv

        options["columns"] = next(csv.reader([arguments.columns]))
    if arguments.missing is not None:
        numbers = [as_number(text) for text in arguments.missing]
        options["missing"] = [t if n is None else n for t, n in zip(arguments.missing, numbers, strict=True)]
    if arguments.weights is not None:
        options["weights"] = _numbers(arguments.weights, "--weights")
    return options


def _integer(text: str | None, name: str) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        raise ValueError(f"{name} must be an integer, got {text!r}") from None


def _numbers(text: str, name: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{name} must be numbers separated by commas, got {text!r}") from None


def _options(pairs: list[str]) -> dict[str, Any]:
    """NAME=VALUE as Python values: 3, 0.5, true, none, and text for everything else."""
    options: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not (name and equals):
            raise ValueError(f"--option must be NAME=VALUE, got {pair!r}")
        options[name] = _value(text)
    return options


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _write_json(facts: dict[str, Any]) -> None:
    import json

    sys.stdout.write(json.dumps(_strict(facts), allow_nan=False, indent=2) + "\n")


def _strict(value: Any) -> Any:
    """Plain values only; NaN and infinity, which JSON does not know, become null."""
    if isinstance(value, dict):
        return {str(key): _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return value

"""What the shell tool's -k, --coarsen and --refine mean, and what it tells about choices that were made."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorate import Consensus


def number_of_clusters(text: str | None) -> int | str | tuple[int, int] | None:
    """A number, "auto", or both ends of a range such as 2:20, as `quorate.consensus` takes them."""
    if text is None or text == "auto":
        return text
    low, colon, high = text.partition(":")
    try:
        return (int(low), int(high)) if colon else int(low)
    except ValueError:
        raise ValueError(f"-k must be an integer, auto, or a range such as 2:20, got {text!r}") from None


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """What may be done before the method (coarsen) and after it (refine)."""
    parser.add_argument(
        "--coarsen", metavar="THETA", help="first merge rows that differ in up to this share of clusterings, or auto"
    )
    parser.add_argument("--keep", metavar="SHARE", help="with --coarsen THETA: keep the nodes of this share of objects")
    parser.add_argument("--refine", action="store_true", help="then move objects to raise the ANMI")


def run_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The same as `quorate.consensus` takes it."""
    options: dict[str, Any] = {"refine": arguments.refine}
    if arguments.keep is not None and arguments.coarsen in (None, "auto"):
        raise ValueError("--keep needs --coarsen with a number: which nodes to keep follows from what was merged")
    if arguments.coarsen == "auto":
        options["coarsen"] = "auto"
    elif arguments.coarsen is not None:
        asked = {"theta": arguments.coarsen, "keep": arguments.keep}
        options["coarsen"] = {name: _share(text, name) for name, text in asked.items() if text is not None}
    return options


def _share(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        option = {"theta": "--coarsen must be auto or", "keep": "--keep must be"}[name]
        raise ValueError(f"{option} a number from 0 to 1, got {text!r}") from None


def choice_facts(result: Consensus) -> dict[str, Any]:
    """The reason for the method, the table behind a chosen number and what was merged, where there are such."""
    facts = {"choice": result.info["choice"].as_dict()} if "choice" in result.info else {}
    return {**{name: result.info[name] for name in ("auto", "coarsen") if name in result.info}, **facts}


def method_line(summary: dict[str, Any]) -> str:
    """The method, why it was taken where that was left to us, and whether it came to an end."""
    notes = [f"auto: {summary['auto']}"] if "auto" in summary else []
    notes += [] if summary["converged"] else ["stopped before it converged"]
    return str(summary["method"]) + (f" ({'; '.join(notes)})" if notes else "")

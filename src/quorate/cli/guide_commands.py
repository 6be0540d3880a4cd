"""The commands that introduce the tool: `quorate methods` and `quorate demo`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from quorate.cli.options import add_command
from quorate.cli.output import write_json


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
    from quorate.cli.demo_story import demo

    sys.stdout.write(demo(arguments.output, overwrite=arguments.force))

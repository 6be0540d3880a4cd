"""`quorate report`, and --report of the commands that make a labelling."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import TYPE_CHECKING, Any

from quorate.cli import entry as cli
from quorate.cli.progress import steps

if TYPE_CHECKING:
    from quorate import Consensus, Ensemble


def add_report(commands: Any) -> None:
    """The subcommand."""
    parser = cli._add(commands, "report", _report, "a page to look at: what a labelling is worth, in words and figures")
    cli._add_table(parser)
    cli._add_labelling(parser)
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the page to write, an .html file")
    parser.add_argument("--title", metavar="TEXT", help="what stands on top of the page")
    parser.add_argument("--force", action="store_true", help="replace an existing page")
    cli._add_talk(parser)


def add_report_option(parser: argparse.ArgumentParser) -> None:
    """--report FILE."""
    parser.add_argument("--report", metavar="FILE", help="write a page to look at, too: an .html file")


def refuse_report(arguments: argparse.Namespace) -> None:
    """Raise where the page cannot be written, before any work is done for it."""
    from quorate.reporting.writing import refuse_page

    if arguments.report is not None:
        refuse_page(arguments.report, arguments.force)


def write_report(
    arguments: argparse.Namespace, result: Consensus, ensemble: Ensemble, seed: int | None, step: Any
) -> dict[str, str]:
    """The page that --report asks for, and what to tell about it."""
    if arguments.report is None:
        return {}
    from quorate import report

    with step(f"writing {arguments.report}"):
        command = shlex.join(arguments.command_line)
        report(result, ensemble, arguments.report, random_state=seed, command=command, overwrite=arguments.force)
    return {"report": arguments.report}


def _report(arguments: argparse.Namespace) -> None:
    step = steps(arguments)
    with step("loading"):
        from quorate import report
        from quorate.reporting.writing import refuse_page
    refuse_page(arguments.output, arguments.force)
    ensemble, found, truth = cli._load_both(arguments, step)
    title = {} if arguments.title is None else {"title": arguments.title}
    with step(f"writing {arguments.output}"):
        path = report(
            found.named(),
            ensemble,
            arguments.output,
            truth=truth,
            command=shlex.join(arguments.command_line),
            overwrite=arguments.force,
            **title,
        )
    facts = {"report": arguments.output, "bytes": path.stat().st_size}
    if arguments.json:
        cli._write_json(facts)
    elif not arguments.quiet:
        sys.stdout.write(f"{'report':<12} in {arguments.output} ({facts['bytes']:,} bytes)\n")

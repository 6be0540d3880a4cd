"""`quorate report`: a page about a table of labels and a labelling, both read from files."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from quorate.cli.options import (
    add_ambiguous_option,
    add_command,
    add_force_option,
    add_labelling_options,
    add_table_options,
    add_talk_options,
    ambiguity_threshold,
)
from quorate.cli.output import aligned, refuse_clashes, table_facts, table_summary, tell
from quorate.cli.progress import steps


def add_report(commands: Any) -> None:
    """Add `quorate report`."""
    parser = add_command(
        commands, "report", run_report, "write an HTML page that shows how well a labelling fits the table of labels"
    )
    add_table_options(parser)
    add_labelling_options(parser)
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the .html file to write")
    parser.add_argument("--title", metavar="TEXT", help="title of the page")
    add_ambiguous_option(parser)
    add_force_option(parser)
    add_talk_options(parser)


def run_report(arguments: argparse.Namespace) -> None:
    """Read the table and the labelling, write the page and a summary."""
    refuse_clashes(arguments)
    step = steps(arguments)
    with step("loading"):
        from quorate import report
        from quorate.cli.reading import read_labels_and_labelling
        from quorate.reporting.writing import refuse_page
    refuse_page(arguments.output, arguments.force)
    ambiguous = ambiguity_threshold(arguments)
    ensemble, labelling, truth = read_labels_and_labelling(arguments, step)
    title = {} if arguments.title is None else {"title": arguments.title}
    with step(f"writing {arguments.output}"):
        path = report(
            labelling.named(),
            ensemble,
            arguments.output,
            truth=truth,
            ambiguous=ambiguous,
            command=shlex.join(arguments.command_line),
            overwrite=arguments.force,
            **title,
        )
    facts = {"report": arguments.output, "bytes": path.stat().st_size, **table_facts(ensemble)}
    line = aligned({"report": f"in {arguments.output} ({facts['bytes']:,} bytes)"})
    tell(arguments, facts, line + table_summary(facts))

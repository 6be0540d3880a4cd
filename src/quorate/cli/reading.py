"""Tables of labels and labellings, read as the options say. Importing this module imports the library."""

from __future__ import annotations

import argparse
from typing import Any

from quorate import Ensemble, load_labels
from quorate._data.missing import as_number
from quorate._io.load_labelling import Labelling, load_labelling, load_with_truth
from quorate.cli.progress import Step
from quorate.cli.values import names, numbers


def read_labels(arguments: argparse.Namespace, step: Step) -> Ensemble:
    """The table of labels."""
    with step(f"reading {arguments.labels}"):
        return load_labels(arguments.labels, orientation=arguments.orientation, **_table_options(arguments))


def read_labels_and_labelling(arguments: argparse.Namespace, step: Step) -> tuple[Ensemble, Labelling, Any]:
    """The table, the labelling in the order of its objects, and the truth from whichever file has it, or None."""
    if arguments.labels == arguments.labelling == "-":
        raise ValueError("only one of the two files can come from standard input")
    with step(f"reading {arguments.labels}"):
        ensemble, truth = load_with_truth(arguments.labels, arguments.truth, **_table_options(arguments))
    with step(f"reading {arguments.labelling}"):
        labelling = load_labelling(
            arguments.labelling, ensemble, column=arguments.label, ids=arguments.id, truth=arguments.truth
        )
    truth = labelling.truth if truth is None else truth
    if arguments.truth is not None and truth is None:
        raise ValueError(f"neither {arguments.labels} nor {arguments.labelling} has a column {arguments.truth!r}")
    return ensemble, labelling, truth


def _table_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of the table in the form in which `load_labels` takes them; those not given keep its defaults."""
    options: dict[str, Any] = {"ids": arguments.id}
    if arguments.columns is not None:
        options["columns"] = names(arguments.columns)
    if arguments.missing is not None:
        options["missing"] = [_label(text) for text in arguments.missing]
    if arguments.weights is not None:
        options["weights"] = numbers(arguments.weights, "--weights")
    return options


def _label(text: str) -> Any:
    """A number if the text spells one, because columns of numbers are compared as numbers."""
    number = as_number(text)
    return text if number is None else number

"""Tables of labels and labellings, read as the options say. Importing this module imports the library."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from quorate import Ensemble, load_labels
from quorate._data.building import EmptyMemberError
from quorate._data.missing import as_number
from quorate._io import load_chosen
from quorate._io.load_labelling import Labelling, load_labelling, load_with_truth
from quorate._io.text import Choice
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


def read_new_labels(arguments: argparse.Namespace, ensemble: Ensemble, step: Step) -> Ensemble:
    """The table of new objects: those of its columns that are clusterings of the first table, and the ids."""
    if arguments.new in (arguments.labels, arguments.labelling) and arguments.new == "-":
        raise ValueError("only one of the three files can come from standard input")
    with step(f"reading {arguments.new}"):
        try:
            return _load_new(arguments, ensemble.member_names)
        except EmptyMemberError as error:
            if arguments.new == "-":
                raise
            # in a few new objects a clustering may well have no label, which is nothing unusual here
            return _load_new(arguments, [name for name in ensemble.member_names if name not in error.members])


def _load_new(arguments: argparse.Namespace, members: Sequence[str]) -> Ensemble:
    options = _table_options(arguments)

    def choose(columns: tuple[str, ...]) -> Choice:
        known = tuple(name for name in columns if name in members)
        if columns and not known:
            raise ValueError(
                f"{arguments.new} has none of the columns of {arguments.labels} that are clusterings, or no label in "
                f"them ({', '.join(map(repr, members[:5]))}); columns are matched by their names"
            )
        if columns and options["ids"] not in (None, *columns):
            raise ValueError(f"{arguments.new} has no column {options['ids']!r} with the names of the objects")
        return Choice(options["ids"] if columns else None, known)

    missing = {"missing": options["missing"]} if "missing" in options else {}
    return load_chosen(arguments.new, choose, orientation="objects", **missing)


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

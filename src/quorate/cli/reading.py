"""Reading tables of labels and labellings as the options say. Importing this module imports the library."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from quorate import Ensemble, load_labels
from quorate._data.building import EmptyMemberError
from quorate._data.missing import DEFAULT, as_number
from quorate._io.dialect import DELIMITERS
from quorate._io.load import Reading, load_chosen
from quorate._io.load_labelling import Labelling, load_labelling, load_with_truth
from quorate._io.paths import format_of, share_read
from quorate._io.text import Choice
from quorate.cli.options import formulas_of
from quorate.cli.progress import Step
from quorate.cli.values import names, weights


def read_labels(arguments: argparse.Namespace, step: Step) -> Ensemble:
    """Return the table of labels, or several tables joined."""
    with step(f"reading {', '.join(arguments.labels)}", share_read):
        return load_labels(arguments.labels, orientation=arguments.orientation, **table_options(arguments))


def read_labels_and_labelling(arguments: argparse.Namespace, step: Step) -> tuple[Ensemble, Labelling, Any]:
    """Return the table, the labelling in the order of its objects, and the truth from either file, or None."""
    if "-" in arguments.labels and arguments.labelling == "-":
        raise ValueError("only one of the two files can come from standard input")
    with step(f"reading {', '.join(arguments.labels)}", share_read):
        ensemble, truth = load_with_truth(arguments.labels, arguments.truth, **table_options(arguments))
    with step(f"reading {arguments.labelling}"):
        labelling = load_labelling(
            arguments.labelling,
            ensemble,
            column=arguments.label,
            ids=arguments.id,
            truth=arguments.truth,
            sep=arguments.sep if format_of(arguments.labelling) in DELIMITERS else None,
            formulas=formulas_of(arguments),
        )
    truth = labelling.truth if truth is None else truth
    if arguments.truth is not None and truth is None:
        tables = ", ".join(arguments.labels)
        raise ValueError(f"neither {tables} nor {arguments.labelling} has a column {arguments.truth!r}")
    return ensemble, labelling, truth


def read_new_labels(arguments: argparse.Namespace, ensemble: Ensemble, step: Step) -> Ensemble:
    """Return the table of new objects: the columns that are clusterings of the first table, and the ids."""
    if arguments.new in (arguments.labels, arguments.labelling) and arguments.new == "-":
        raise ValueError("only one of the three files can come from standard input")
    with step(f"reading {arguments.new}"):
        try:
            return _load_new(arguments, ensemble.member_names)
        except EmptyMemberError as error:
            if arguments.new == "-":
                raise
            # a clustering may well have no label for any of a few new objects, so that this is no error here
            return _load_new(arguments, [name for name in ensemble.member_names if name not in error.members])


def _load_new(arguments: argparse.Namespace, members: Sequence[str]) -> Ensemble:
    options = table_options(arguments)

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

    # all labels of a few new objects may well differ, so that they are not checked for columns of ids
    how = Reading(options.get("missing", DEFAULT), "objects", options["sep"], check=False, formulas=options["formulas"])
    return load_chosen(arguments.new, choose, how)


def table_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the table in the form in which `load_labels` takes them; others keep their defaults."""
    options: dict[str, Any] = {
        "ids": arguments.id,
        "sep": arguments.sep,
        "skip_empty": arguments.skip_empty,
        "check": not arguments.no_check,
        "formulas": formulas_of(arguments),
    }
    if arguments.drop is not None:
        options["drop"] = names(arguments.drop)
    if arguments.columns is not None:
        options["columns"] = names(arguments.columns)
    if arguments.missing is not None:
        options["missing"] = [DEFAULT, *(_label(text) for text in arguments.missing)]
    if arguments.weights is not None:
        options["weights"] = weights(arguments.weights, "--weights")
    return options


def _label(text: str) -> Any:
    """Return a number if the text is one, because columns of numbers are compared as numbers."""
    number = as_number(text)
    return text if number is None else number

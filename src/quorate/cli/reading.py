"""The input files of the commands, read as the options say. Importing this module imports the library."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from quorate import Ensemble, load_labels
from quorate._data.missing import as_number
from quorate._io.load_features import Measurements, load_features
from quorate._io.load_labelling import Labelling, load_labelling, load_with_truth
from quorate.cli.progress import Step
from quorate.cli.values import names, numbers
from quorate.generation.features import as_features


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


def read_measurements(arguments: argparse.Namespace, step: Step) -> Measurements:
    """The table of measurements, scaled if that is asked for."""
    with step(f"reading {arguments.features}"):
        table = load_features(
            arguments.features,
            ids=arguments.id,
            columns=None if arguments.columns is None else names(arguments.columns),
            drop=[] if arguments.drop is None else names(arguments.drop),
        )
        return table if arguments.scale is None else table._replace(values=_standardised(table.values))


def _standardised(values: Any) -> Any:
    """Columns with mean 0 and standard deviation 1; a constant column becomes 0."""
    features = as_features(values)
    if features.is_sparse:
        raise ValueError("--scale z would make the sparse table dense; scale it before, or leave it as it is")
    dense = np.asarray(features.data)
    spread = dense.std(axis=0, dtype=np.float64)
    scaled = (dense - features.shift) / np.where(spread > 0, spread, 1.0)
    return scaled.astype(np.float32 if dense.dtype == np.float32 else np.float64, copy=False)

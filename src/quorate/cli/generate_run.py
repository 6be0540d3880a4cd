"""What `quorate generate` and `quorate cluster` have in common: reading measurements, making and writing an ensemble.

Importing this module imports the library.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from quorate import Ensemble, as_ensemble, generate, save_ensemble
from quorate._data.proof import vary
from quorate._io import refuse_output
from quorate._io.load_features import Measurements, load_features
from quorate._io.paths import share_read
from quorate._structure.number import chooses_number, explore
from quorate._structure.reference import checked_draws
from quorate.cli.options import formulas_of, reference_setting
from quorate.cli.progress import Step
from quorate.cli.values import names
from quorate.generation.features import as_features
from quorate.generation.plans import Request, entropy_of, k_towards


def refuse_ensemble_output(arguments: argparse.Namespace, path: str | None) -> None:
    """Raise if the ensemble cannot be written to `path`, before any work is done for it; None is no file."""
    if path is not None:
        refuse_output(path, arguments.force)


def make_ensemble(
    arguments: argparse.Namespace, table: Measurements, settings: dict[str, Any], *, n_clusters: int | None = None
) -> Ensemble:
    """Make the ensemble, which keeps the names of the objects.

    Parameters
    ----------
    arguments : Namespace
        The options that say how the measurements were read.
    table : Measurements
    settings : dict
        The keyword arguments of `quorate.generate`.
    n_clusters : int, optional
        Number of clusters of the consensus that will be made from the ensemble. Without --k it decides how many
        clusters the members have.
    """
    k = k_towards(settings["k"], settings["base"], n_clusters)
    ensemble = generate(table.values, **{**settings, "k": k})
    named = as_ensemble(ensemble, ids=table.ids)
    return named if table.ids is None else vary(named, id_name=arguments.id)


def choose_number(
    arguments: argparse.Namespace, values: Any, settings: dict[str, Any], how: dict[str, Any], step: Step
) -> tuple[int | None, dict[str, Any]]:
    """Return the number of clusters, chosen unless it is given, and what the info of the result says about the choice.

    `values` are the measurements, or a function that reads those of a sample of the objects. `settings` are the keyword
    arguments of `quorate.generate`, and `how` are those of `quorate.consensus`.
    """
    if not chooses_number(how["n_clusters"], how["method"]):
        return how["n_clusters"], {}
    others = ("n_clusters", "method", "random_state")
    with step("choosing the number of clusters"):
        explored = explore(
            as_features(values() if callable(values) else values),
            Request(*(settings[name] for name in Request._fields)),
            how["n_clusters"],
            entropy=entropy_of(settings["random_state"]),
            method=how["method"],
            method_options={name: value for name, value in how.items() if name not in others},
            n_jobs=settings["n_jobs"],
            draws=checked_draws(reference_setting(arguments)),
        )
    return explored.choice.n_clusters, explored.told()


def read_measurements(arguments: argparse.Namespace, step: Step) -> Measurements:
    """Return the table of measurements, scaled if --scale is given."""
    with step(f"reading {arguments.features}", share_read):
        table = load_features(
            arguments.features,
            ids=arguments.id,
            columns=None if arguments.columns is None else names(arguments.columns),
            drop=[] if arguments.drop is None else names(arguments.drop),
            sep=arguments.sep,
        )
        return table if arguments.scale is None else table._replace(values=_standardised(table.values))


def _standardised(values: Any) -> Any:
    """Scale columns to mean 0 and standard deviation 1; a constant column becomes 0."""
    features = as_features(values)
    if features.is_sparse:
        raise ValueError("--scale z would make the sparse table dense; scale it before, or leave it as it is")
    dense = np.asarray(features.data)
    spread = dense.std(axis=0, dtype=np.float64)
    scaled = (dense - features.shift) / np.where(spread > 0, spread, 1.0)
    return scaled.astype(np.float32 if dense.dtype == np.float32 else np.float64, copy=False)


def write_ensemble(arguments: argparse.Namespace, path: str | None, ensemble: Ensemble, step: Step) -> None:
    """Write the ensemble if a file is asked for."""
    if path is not None:
        with step(f"writing {path}"):
            save_ensemble(path, ensemble, overwrite=arguments.force, formulas=formulas_of(arguments, path))

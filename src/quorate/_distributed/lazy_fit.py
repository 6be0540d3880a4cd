"""`EnsembleClustering.fit` for measurements that are not in memory: in blocks on a disk, or in a Dask collection."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate._consensus.consensus import expand, solve_objects
from quorate._consensus.placement import cluster_profiles
from quorate._structure.number import chooses_number
from quorate.generation.block_members import TrainedMembers
from quorate.generation.in_blocks import fit_blocks, is_dask
from quorate.generation.plans import Request, base_towards, k_towards
from quorate.generation.trial import method_towards


def fit_lazily(model: Any, X: Any, entropy: int) -> Any:
    """Fit an EnsembleClustering; labels of a Dask collection are lazy, and those of blocks are in memory."""
    n_clusters = _refused(model)
    # towards one cluster members are made as towards two, because members of one cluster say nothing
    towards = None if n_clusters is None else max(n_clusters, 2)
    k = k_towards(model.k, model.base, towards)
    request = Request(model.n_members, k, base_towards(model.base, towards), model.rows, model.columns)
    if not is_dask(X):
        fitted = fit_blocks(X, request, entropy)
        solution = _solved(model, fitted.ensemble, fitted.members, n_clusters, entropy)
        model.consensus_ = expand(solution, fitted.rows)
        model.labels_, model.confidence_ = model.consensus_.labels, model.consensus_.confidence
        return model
    from quorate.dask import fit_members

    made, members = fit_members(X, request, entropy)
    model.consensus_ = solution = _solved(model, made.ensemble, members, n_clusters, entropy)
    model.labels_ = made.spread.array(solution.labels)
    sure = solution.confidence
    model.confidence_ = None if sure is None else made.spread.array(sure)
    return model


def _refused(model: Any) -> int | None:
    """Return the number of clusters; raise if an option needs all measurements in memory."""
    if chooses_number(model.n_clusters, model.method):
        raise ValueError(
            "n_clusters must be a number for measurements that are larger than memory; choose it on a sample of the "
            "objects first, with EnsembleClustering('auto').fit(sample).n_clusters_."
        )
    if model.reference not in (None, False, "auto"):
        raise ValueError("reference compares measurements in memory; leave it out, or fit a part of the objects.")
    if model.device not in (None, "auto", "cpu"):
        raise ValueError(f"device must be None or 'auto' where measurements are not in memory, got {model.device!r}.")
    return None if model.n_clusters is None else int(model.n_clusters)


def _solved(model: Any, ensemble: Any, members: TrainedMembers, n_clusters: int | None, entropy: int) -> Any:
    """Find the consensus of distinct rows, and keep what `predict` and `transform` need; return it."""
    seed = np.random.SeedSequence(entropy, spawn_key=(2**32 - 2,))
    chosen = model.method_options or {}
    method = model.method if chosen else method_towards(model.method, ensemble, n_clusters)
    solved = solve_objects(ensemble, n_clusters, method=method, random_state=seed, **chosen)
    model.ensemble_, model._models = ensemble, members.models
    model._units, model.n_features_in_ = (members.features.shift, members.features.scale), members.features.n_columns
    model.n_clusters_ = solved.objects.n_clusters
    model._rows, model._row_labels = solved.ensemble, solved.rows.labels
    model._profiles = cluster_profiles(model._rows, model._row_labels)
    model._n_features_out = solved.rows.n_clusters
    return solved.objects

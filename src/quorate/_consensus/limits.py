"""`min_size` and `max_clusters`: limits that no answer violates."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._choose_k.choose_k import Numbers, within_limit
from quorate._data.soft_members import harden
from quorate._solve.run_method import run_method
from quorate._types import AnyEnsemble, Consensus, Ensemble, FloatArray, SoftEnsemble, Solving
from quorate.ops.coding import canonical
from quorate.solvers.cluster_means import with_standing
from quorate.solvers.label_rows import tally_and_sizes


def limited(ensemble: AnyEnsemble, result: Consensus, solving: Solving) -> Consensus:
    """Keep to `max_clusters` and `min_size`: run again with fewer clusters, and join those that are too small."""
    info: dict[str, Any] = {}
    most = solving.max_clusters
    if most is not None and result.n_clusters > most:
        info["max_clusters"] = {"max_clusters": most, "n_clusters_before": result.n_clusters}
        # only a method that finds the number itself comes here; `best` may have no member of so many clusters
        with contextlib.suppress(ValueError):
            result = run_method(ensemble, most, solving)
    result = replace(result, info={**result.info, **info})
    labelled = harden(ensemble) if isinstance(ensemble, SoftEnsemble) else ensemble
    whole = without_small_clusters(labelled, result, solving)
    return result if whole is result else with_standing(ensemble, whole)


def refuse_limits(ensemble: AnyEnsemble, n_clusters: Numbers, solving: Solving) -> None:
    """Refuse limits that no answer can keep to."""
    within_limit(n_clusters, solving.max_clusters)
    n_objects = int(ensemble.counts.sum())
    if solving.min_size > n_objects:
        raise ValueError(
            f"min_size must be at most the number of objects, {n_objects:,}, got {solving.min_size:,}; no cluster can "
            f"be that large."
        )


def without_small_clusters(ensemble: Ensemble, result: Consensus, solving: Solving) -> Consensus:
    """Join clusters of fewer than `min_size` objects, and those beyond `max_clusters`, to their most similar cluster.

    The smallest cluster is joined first, the lowest of several: to the cluster with which it has the highest mean
    co-association, or to the largest of these.
    """
    table, sizes = tally_and_sizes(ensemble, result.labels, result.n_clusters)
    most = result.n_clusters if solving.max_clusters is None else solving.max_clusters
    if sizes.min() >= solving.min_size and result.n_clusters <= most:
        return result
    n_too_small = int((sizes < solving.min_size).sum())
    shares = np.repeat(ensemble.weights / ensemble.weights.sum(), ensemble.n_clusters)
    name = _joins(table.astype(np.float64), sizes.astype(np.float64), shares, solving.min_size, most)
    labels = canonical(name[result.labels], result.n_clusters)
    if n_too_small == 0:
        return replace(result, labels=labels, confidence=None)
    info = {"min_size": solving.min_size, "n_clusters_before": result.n_clusters, "n_too_small": n_too_small}
    return replace(result, labels=labels, confidence=None, info={**result.info, "min_size": info})


def _joins(table: FloatArray, sizes: FloatArray, shares: FloatArray, min_size: int, most: int) -> NDArray[np.int32]:
    """Return the cluster that each cluster ends up in; `table` (d, K) and `sizes` (K,) are changed."""
    name = np.arange(len(sizes), dtype=np.int32)
    left = np.ones(len(sizes), dtype=bool)
    while left.sum() > 1 and (sizes[left].min() < min_size or left.sum() > most):
        small = int(np.where(left, sizes, np.inf).argmin())
        held = np.flatnonzero(table[:, small])
        together = (shares[held] * table[held, small]) @ table[held] / np.maximum(sizes, 1)
        others = np.flatnonzero(left & (np.arange(len(sizes)) != small))
        nearest = others[np.lexsort((others, -sizes[others], -together[others]))[0]]
        table[:, nearest] += table[:, small]
        sizes[nearest] += sizes[small]
        sizes[small], left[small] = 0, False
        name[name == small] = nearest
    return name

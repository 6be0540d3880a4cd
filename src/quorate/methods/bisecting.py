"""Bisecting k-means on label rows: one cluster split in two at a time, with the density each split gains."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._types import Consensus, Ensemble, Method
from quorate.ops.coding import canonical
from quorate.solvers.confidence import row_confidence
from quorate.solvers.label_space.density import whole_density
from quorate.solvers.label_space.lookup import best_of_restarts
from quorate.solvers.label_space.models import euclidean

SAMPLE_ROWS = 8_192
"""Above this many rows the restarts of a split run on a sample of so many objects: two clusters need no more."""


class Split(NamedTuple):
    """One split of the tree. Node 0 holds all objects; split t makes nodes 2 t + 1 and 2 t + 2."""

    node: int
    left: int
    right: int
    left_size: int
    right_size: int
    gain: float


class _Leaf(NamedTuple):
    """A cluster of the current partition and the best way found to split it; no gain where it cannot be split."""

    node: int
    rows: NDArray[np.intp]
    weight: float
    gain: float
    left: tuple[NDArray[np.intp], float]
    right: tuple[NDArray[np.intp], float]


def bisecting(
    ensemble: Ensemble,
    n_clusters: int | None,
    *,
    rng: np.random.Generator,
    n_init: int = 5,
    max_iter: int = 300,
    min_gain: float | None = None,
) -> Consensus:
    """Split clusters in two by k-means, always the one whose split raises the density most.

    Parameters
    ----------
    ensemble : Ensemble
    n_clusters : int or None
        None lets the gains decide, see Notes.
    rng : numpy.random.Generator
    n_init, max_iter : int
        Restarts and sweeps of each split.
    min_gain : float, optional
        With ``n_clusters=None``: stop before the first split that gains less density than this.

    Returns
    -------
    Consensus
        `objective` is the density S of the partition, to be maximised. ``info["splits"]`` is the tree: a list of
        `Split` in the order they were made, with the density each gained, also those beyond the clusters returned.

    Notes
    -----
    A split changes S by terms of the split cluster alone [1]_, so each cluster is tried once. With
    ``n_clusters=None`` the tree grows to sqrt(n) clusters (rounded up); k >= 2 is where the gain falls most from
    one split to the next (the first such k in a tie). A cluster of one row is never split.
    O(m H) for each level of the tree. Where a cluster has more than 8,192 rows, the restarts of its split run on a
    sample of so many objects, and the best one is finished on all.

    References
    ----------
    .. [1] G. Candel, "Linear time Evidence Accumulation Clustering with KMeans", 2023, arXiv:2311.09272.

    Examples
    --------
    >>> from quorate import consensus
    >>> result = consensus([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 2]], method="bisecting", random_state=0)
    >>> result.labels.tolist(), [split.node for split in result.info["splits"]]
    ([0, 0, 1, 1, 2, 2], [0, 2])
    """
    n_init = _check.integer(n_init, "n_init", low=1)
    max_iter = _check.integer(max_iter, "max_iter", low=1)
    if min_gain is not None:
        min_gain = _check.fraction(min_gain, "min_gain", advice="a gain of density is a share of 1.")
        if n_clusters is not None:
            raise ValueError(f"min_gain chooses the number of clusters, but n_clusters={n_clusters} was given too.")
    limit = n_clusters or max(2, int(np.ceil(np.sqrt(ensemble.n_objects))))
    # one split more than may be taken shows how far the gain falls after the last
    splits, history = _grow(ensemble, limit if n_clusters else limit + 1, rng, n_init, max_iter)
    k = n_clusters or _chosen(splits, limit, min_gain)
    labels = canonical(_cut(ensemble.n_rows, history[: k - 1]), 2 * k)
    start = whole_density(ensemble)
    return Consensus(
        labels=labels,
        objective=start + sum(split.gain for split in splits[: k - 1]),
        n_iter=k - 1,
        confidence=row_confidence(ensemble, labels),
        info={"splits": splits},
    )


def _grow(
    ensemble: Ensemble, limit: int, rng: np.random.Generator, n_init: int, max_iter: int
) -> tuple[list[Split], list[_Leaf]]:
    """Splits until `limit` clusters are there or only single rows are left, and the leaves in the order split."""

    def leaf(node: int, rows: NDArray[np.intp], weight: float) -> _Leaf:
        return _try_split(ensemble, node, rows, weight, rng, n_init, max_iter)

    everything = np.arange(ensemble.n_rows)
    leaves = [leaf(0, everything, whole_density(ensemble) * ensemble.n_objects)]
    splits: list[Split] = []
    history: list[_Leaf] = []
    while len(leaves) < limit:
        best = leaves.pop(max(range(len(leaves)), key=lambda place: leaves[place].gain))
        if best.gain == -np.inf:
            break
        node = 2 * len(splits) + 1
        leaves += [leaf(node, *best.left), leaf(node + 1, *best.right)]
        sizes = [int(ensemble.counts[side[0]].sum()) for side in (best.left, best.right)]
        splits.append(Split(best.node, node, node + 1, sizes[0], sizes[1], best.gain))
        history.append(best)
    return splits, history


def _try_split(
    ensemble: Ensemble,
    node: int,
    rows: NDArray[np.intp],
    weight: float,
    rng: np.random.Generator,
    n_init: int,
    max_iter: int,
) -> _Leaf:
    """Split these rows in two; `weight` is their size times their density, which the gain is measured from."""
    if len(rows) < 2:
        nothing = (rows[:0], 0.0)
        return _Leaf(node, rows, weight, -np.inf, nothing, nothing)
    part = _take(ensemble, rows)
    run = best_of_restarts(part, euclidean, 2, rng, n_init=n_init, max_iter=max_iter, most_rows=SAMPLE_ROWS)
    halves = canonical(run.labels, 2)
    left, right = (rows[halves == side] for side in (0, 1))
    weights = [whole_density(half) * half.n_objects for half in (_take(ensemble, left), _take(ensemble, right))]
    gain = (sum(weights) - weight) / ensemble.n_objects
    return _Leaf(node, rows, weight, gain, (left, weights[0]), (right, weights[1]))


def _take(ensemble: Ensemble, rows: NDArray[np.intp]) -> Ensemble:
    return replace(ensemble, labels=ensemble.labels[rows], counts=ensemble.counts[rows], object_ids=None)


def _chosen(splits: list[Split], limit: int, min_gain: float | None) -> int:
    """The number of clusters up to `limit` that the gains speak for; 1 only where nothing can be split."""
    gains = np.array([split.gain for split in splits])
    if min_gain is not None:
        small = np.flatnonzero(gains < min_gain)
        return min(limit, int(small[0]) + 1 if len(small) else len(gains) + 1)
    if not len(gains):
        return 1
    # where the tree ended by itself, nothing more can be gained
    drops = gains - np.append(gains[1:], 0.0)
    return int(np.argmax(drops[: limit - 1])) + 2


def _cut(n_rows: int, history: list[_Leaf]) -> NDArray[np.int32]:
    """Labels after the given splits: later splits overwrite the nodes of earlier ones."""
    labels = np.zeros(n_rows, dtype=np.int32)
    for step, leaf in enumerate(history):
        labels[leaf.left[0]] = 2 * step + 1
        labels[leaf.right[0]] = 2 * step + 2
    return labels


METHOD = Method(
    solve=bisecting,
    title="bisecting k-means on label rows (tree of splits)",
    reference="arXiv:2311.09272",
    finds_k=True,
    stochastic=True,
)

"""Bisecting k-means on label rows: one cluster split in two at a time, with the density each split gains."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.rows import compress
from quorate._types import Consensus, Ensemble, Method
from quorate.ops.coding import canonical
from quorate.ops.tables import cluster_counts
from quorate.solvers.label_rows import take, tally_and_sizes
from quorate.solvers.label_space.lookup import best_of_restarts
from quorate.solvers.label_space.models import euclidean
from quorate.solvers.sizes import label_space
from quorate.solvers.weights import cluster_weight_shares

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
    """A cluster of the current partition and the best split of it; its gain is -inf if it cannot be split.

    `halves` holds the rows of both halves, `sizes` their objects, `weights` the size of each times its density.
    """

    node: int
    gain: float
    halves: tuple[NDArray[np.intp], NDArray[np.intp]]
    sizes: tuple[int, int]
    weights: tuple[float, float]


def bisecting(
    ensemble: Ensemble,
    n_clusters: int | None,
    *,
    rng: np.random.Generator,
    n_init: int = 5,
    max_iter: int = 300,
    min_gain: float | None = None,
    grow: int | None = None,
) -> Consensus:
    """Split clusters in two by k-means, always the one whose split raises the density most.

    The tree of splits is grown first, then the number of clusters is read from the gains of the splits if it was not
    given, and last the tree is cut at that number.

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
    grow : int, optional
        With a number of clusters: go on splitting to so many clusters, at which `Consensus.cut` can cut the tree
        later. The result does not change. Without a number the tree grows to sqrt(n) clusters.

    Returns
    -------
    Consensus
        `objective` is the density S of the partition, to be maximised. ``info["splits"]`` is the tree: a list of
        `Split` in the order they were made, with the density each gained, also those beyond the clusters returned.
        ``info["leaves"]`` is the node of each distinct row where the tree ends.

    Notes
    -----
    A split changes S by terms of the split cluster alone [1]_, so each cluster is tried once. With
    ``n_clusters=None`` the tree grows to sqrt(n) clusters, rounded up, and k >= 2 is chosen where the gain falls most
    from one split to the next, the lowest such k in a tie. A cluster of one row is never split.
    O(m H) for each level of the tree. If a cluster has more than 8,192 rows, the restarts of its split run on a
    sample of that many objects, and the best one is finished on all.

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
    if min_gain is not None:
        min_gain = _check.fraction(min_gain, "min_gain", advice="a gain of density is a share of 1.")
        if n_clusters is not None:
            raise ValueError(f"min_gain chooses the number of clusters, but n_clusters={n_clusters} was given too.")
    grown = _check.integer(1 if grow is None else grow, "grow", low=1, advice="it is a number of clusters")
    # equal rows would be split if they were handed over one by one
    distinct = compress(ensemble)[0]

    def split(node: int, rows: NDArray[np.intp] | None, weight: float) -> _Leaf:
        return _split(distinct, node, rows, weight, rng, n_init, max_iter)

    limit = n_clusters or max(2, int(np.ceil(np.sqrt(ensemble.n_objects))))
    # one split more than may be taken shows how far the gain falls after the last
    splits, nodes = _grow(distinct, max(limit, grown) if n_clusters else limit + 1, split)
    k, inverse = n_clusters or _chosen(splits, limit, min_gain), compress(ensemble)[1]
    return Consensus(
        labels=canonical(_nodes_after(splits, k - 1)[nodes][inverse], 2 * k),
        objective=whole_density(distinct) + sum(step.gain for step in splits[: k - 1]),
        n_iter=k - 1,
        info={"splits": splits, "leaves": nodes[inverse]},
    )


def _grow(ensemble: Ensemble, limit: int, split: Callable[..., _Leaf]) -> tuple[list[Split], NDArray[np.int32]]:
    """Split until there are `limit` clusters or only single rows are left; also the node where each row ends."""
    leaves = [split(0, None, whole_density(ensemble) * ensemble.n_objects)]
    splits: list[Split] = []
    nodes = np.zeros(ensemble.n_rows, dtype=np.int32)
    while len(leaves) < limit:
        best = leaves.pop(max(range(len(leaves)), key=lambda place: leaves[place].gain))
        if best.gain == -np.inf:
            break
        node = 2 * len(splits) + 1
        for side in (0, 1):
            nodes[best.halves[side]] = node + side
            leaves.append(split(node + side, best.halves[side], best.weights[side]))
        splits.append(Split(best.node, node, node + 1, *best.sizes, best.gain))
    return splits, nodes


def _split(
    ensemble: Ensemble,
    node: int,
    rows: NDArray[np.intp] | None,
    weight: float,
    rng: np.random.Generator,
    n_init: int,
    max_iter: int,
) -> _Leaf:
    """Split these rows (None: all) in two; `weight` is their size times their density, above which the gain lies."""
    part = ensemble if rows is None else take(ensemble, rows, ensemble.counts[rows])
    if part.n_rows < 2:
        nothing = np.empty(0, dtype=np.intp)
        return _Leaf(node, -np.inf, (nothing, nothing), (0, 0), (weight, 0.0))
    run = best_of_restarts(part, euclidean, 2, rng, n_init=n_init, max_iter=max_iter, most_rows=SAMPLE_ROWS)
    labels = canonical(run.labels, 2)
    first, second = (np.flatnonzero(labels == side) for side in (0, 1))
    halves = (first, second) if rows is None else (rows[first], rows[second])
    table, sizes = tally_and_sizes(part, labels, 2)
    left, right = (_density(part, table[:, side], float(sizes[side])) * float(sizes[side]) for side in (0, 1))
    gain = (left + right - weight) / ensemble.n_objects
    return _Leaf(node, gain, halves, (int(sizes[0]), int(sizes[1])), (left, right))


def _chosen(splits: list[Split], limit: int, min_gain: float | None) -> int:
    """The number of clusters up to `limit` for which the gains speak; 1 only if nothing can be split."""
    gains = np.array([split.gain for split in splits])
    if min_gain is not None:
        small = np.flatnonzero(gains < min_gain)
        return min(limit, int(small[0]) + 1 if len(small) else len(gains) + 1)
    if not len(gains):
        return 1
    # where the tree ended by itself, nothing more can be gained
    drops = gains - np.append(gains[1:], 0.0)
    return int(np.argmax(drops[: limit - 1])) + 2


def _nodes_after(splits: list[Split], n_splits: int) -> NDArray[np.int32]:
    """For each node of the tree, the node in which its rows are after the first splits."""
    nodes = np.arange(2 * len(splits) + 1, dtype=np.int32)
    for step, split in enumerate(splits[n_splits:], start=n_splits):
        nodes[2 * step + 1 : 2 * step + 3] = nodes[split.node]
    return nodes


METHOD = Method(
    solve=bisecting,
    title="bisecting k-means on label rows (tree of splits)",
    reference="arXiv:2311.09272",
    tables=label_space,
    finds_k=True,
    stochastic=True,
    by_row=("leaves",),
)


def whole_density(ensemble: Ensemble) -> float:
    """Density of all objects as one cluster; 0 for a single object."""
    together = np.zeros(ensemble.n_rows, dtype=np.int32)
    table = cluster_counts(ensemble.labels, ensemble.offsets, ensemble.counts, together, 1)[:, 0]
    return _density(ensemble, table, float(ensemble.n_objects))


def _density(ensemble: Ensemble, objects: NDArray[np.int64], size: float) -> float:
    """Density of a cluster of so many objects, of which `objects` (d,) are in each base cluster."""
    if size < 2:
        return 0.0
    table, shares = objects.astype(np.float64), cluster_weight_shares(ensemble)
    # less the pairs of an object with itself, of which there is one for each of its labels
    return float((shares @ (table**2) - shares @ table) / (size * (size - 1)))

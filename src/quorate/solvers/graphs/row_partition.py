"""What partitions of rows have in common: answers that need no partitioner, empty clusters filled, what was cut."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import AnyEnsemble
from quorate.solvers.graphs.ensemble_graphs import column_weights, components
from quorate.solvers.graphs.graph_partition import Scheme, partition_graph
from quorate.solvers.graphs.integer_weights import Parts
from quorate.solvers.label_rows import own_and_rival, tally
from quorate.solvers.labellings import cluster_means

LARGE_GRAPH = 50_000
"""Vertices above which a second try costs more than it wins."""


class Cuts(NamedTuple):
    """What a partition separates, each by member weight.

    `pairs`: pairs of objects some member joins; `labels`: labels outside the part that holds most of their
    cluster; `clusters`: clusters that are not whole; `parts`: parts they reach beyond the first.
    """

    pairs: float
    labels: float
    clusters: float
    parts: float


def forced_partition(ensemble: AnyEnsemble, n_clusters: int) -> NDArray[np.int32] | None:
    """The answer where there is only one: one cluster, a cluster a row, or the connected components."""
    if n_clusters == 1:
        return np.zeros(ensemble.n_rows, dtype=np.int32)
    if n_clusters == ensemble.n_rows:
        return np.arange(n_clusters, dtype=np.int32)
    return components(ensemble, n_clusters)


def least_cut(
    graph: Any,
    vertex_weights: NDArray[Any] | None,
    n_clusters: int,
    rng: np.random.Generator,
    imbalance: float,
    n_init: int = 2,
) -> Parts:
    """The least of `n_init` cuts by METIS, k-way and by bisection in turn; one k-way cut of a large graph.

    On label graphs k-way cuts are the better ones mostly, on small graphs the others now and then.
    """
    if graph.shape[0] > LARGE_GRAPH:
        n_init = 1
    schemes: tuple[Scheme, ...] = ("k-way", "bisection")
    tries = (
        partition_graph(
            graph.indptr,
            graph.indices,
            graph.data,
            vertex_weights,
            n_clusters,
            draw_seed(rng),
            imbalance,
            scheme=schemes[attempt % 2],
        )
        for attempt in range(n_init)
    )
    return min(tries, key=lambda parts: parts.cut)


def draw_seed(rng: np.random.Generator) -> int:
    """A seed for a partitioner, which wants 31 bits."""
    return int(rng.integers(2**31 - 1))


def fill_clusters(ensemble: AnyEnsemble, labels: NDArray[np.int32], n_clusters: int) -> int:
    """Give each empty cluster the row least co-associated with its own, in place; returns how many were empty.

    A cluster keeps its last row; ties go to the lowest row.
    """
    empty = np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0)
    if not len(empty):
        return 0
    means, _ = cluster_means(ensemble, labels, n_clusters)
    own, _, _ = own_and_rival(ensemble, means, labels)
    sizes = np.bincount(labels, minlength=n_clusters)
    loose = iter(np.argsort(own, kind="stable"))
    for cluster in empty:
        row = next(row for row in loose if sizes[labels[row]] > 1)
        sizes[labels[row]] -= 1
        labels[row] = cluster
        sizes[cluster] = 1
    return len(empty)


def cuts(ensemble: AnyEnsemble, labels: NDArray[np.int32], n_clusters: int) -> Cuts:
    """What the partition cuts, from its contingency tables alone: O(rows x members)."""
    table = tally(ensemble, labels, n_clusters)
    weights = column_weights(ensemble)
    counts = table.astype(np.float64)
    reached = np.maximum((table > 0).sum(axis=1), 1)
    sizes = counts.sum(axis=1)
    return Cuts(
        pairs=float(weights @ (sizes**2 - (counts**2).sum(axis=1)) / 2),
        labels=float(weights @ (sizes - counts.max(axis=1))),
        clusters=float(weights @ (reached > 1)),
        parts=float(weights @ (reached - 1)),
    )

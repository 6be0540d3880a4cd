"""Partitions of rows: answers that need no partitioner, the least of several cuts, empty clusters, what was cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._types import AnyEnsemble, Consensus, Ensemble, FloatArray
from quorate.ops.coding import canonical
from quorate.solvers.cluster_means import cluster_means, standing
from quorate.solvers.graphs.ensemble_graphs import components
from quorate.solvers.graphs.partition import PartitionerResult, Scheme, partition_graph
from quorate.solvers.label_rows import (
    a_draw_for_each_row,
    canonical_labels,
    cluster_sizes,
    compete,
    look_up,
    numbers_by_appearance,
    one_cluster,
    rows_drawn_by_count,
    take,
    tally,
    winners_share,
    with_numbers,
)
from quorate.solvers.label_space.moving import refilled
from quorate.solvers.members import by_member_name
from quorate.solvers.parts import beside
from quorate.solvers.weights import cluster_weights, cluster_weights_whole

LARGE_GRAPH = 50_000
"""Above so many vertices a second try costs more than it wins."""


MANY_ROWS, SAMPLE_OBJECTS = 131_072, 32_768
"""Above so many rows a sample of so many objects is partitioned, and the rows are placed into its parts."""


class Cuts(NamedTuple):
    """What a partition separates, each by member weight.

    `pairs` counts pairs of objects that a member joins; `labels` counts labels outside the part that holds most of
    their cluster; `clusters` counts clusters that are not whole, and `parts` the parts they reach beyond the first.
    """

    pairs: float
    labels: float
    clusters: float
    parts: float


def forced_partition(ensemble: AnyEnsemble, n_clusters: int, take_components: bool) -> Any:
    """The answer if only one is possible: one cluster, one cluster per row, or the connected components; else None."""
    if n_clusters == 1:
        return one_cluster(ensemble)
    if n_clusters == ensemble.n_rows:
        return beside(ensemble, np.arange(n_clusters, dtype=np.int32))
    return components(ensemble, n_clusters) if take_components else None


def partition_rows(
    ensemble: AnyEnsemble,
    n_clusters: int,
    partition: Callable[[], tuple[NDArray[np.int32], int]],
    take_components: bool = True,
) -> tuple[NDArray[np.int32], int]:
    """Canonical labels of a balanced partition of the rows, and the number of parts that had to be repaired.

    `partition` runs the partitioner and returns labels and that number; it is called only if the answer is not forced.
    """
    forced = forced_partition(ensemble, n_clusters, take_components)
    labels, n_repaired = partition() if forced is None else (forced, 0)
    return canonical(labels, n_clusters), n_repaired


def partitioned_objects(ensemble: AnyEnsemble, n_clusters: int) -> int | None:
    """The number of objects that are drawn if there are very many rows; None if all rows are partitioned."""
    size = max(SAMPLE_OBJECTS, 64 * n_clusters)
    return size if isinstance(ensemble, Ensemble) and ensemble.n_rows > max(MANY_ROWS, 2 * size) else None


def partition_by_sample(
    ensemble: AnyEnsemble,
    n_clusters: int,
    rng: np.random.Generator,
    imbalance: float,
    partition: Callable[[AnyEnsemble], tuple[NDArray[np.int32], int]],
) -> tuple[NDArray[np.int32], int]:
    """Labels of a balanced partition, which of very many rows is that of a sample of their objects.

    The time of partitioners grows faster than the rows. Above MANY_ROWS rows `partition` is called with the rows of
    SAMPLE_OBJECTS objects, and all rows are placed into its parts by `place_in_balance`; otherwise with all of them.
    It returns labels and the number of parts that had to be repaired, and so does this function.
    """
    size = partitioned_objects(ensemble, n_clusters)
    if size is None or not isinstance(ensemble, Ensemble):
        return partition(ensemble)
    drawn, times = rows_drawn_by_count(ensemble.counts, size, rng)
    part = take(ensemble, drawn, times.astype(np.int64))
    if part.n_rows < n_clusters:
        return partition(ensemble)
    found, n_repaired = partition(part)
    placed = place_in_balance(ensemble, cluster_means(part, found, n_clusters)[0], imbalance)
    labels, n_filled = fill_clusters(ensemble, placed, n_clusters)
    return labels, max(n_repaired, n_filled)


def place_in_balance(ensemble: Ensemble, means: FloatArray, imbalance: float) -> NDArray[np.int32]:
    """The part that each row shares most with, or the next best one with room for it; `means` is that of the parts.

    As long as a part holds more than 1 + imbalance times the mean number of objects, rows leave it, first those that
    lose least by it, for parts that were never too large. Only where single rows are heavy may a part remain that
    large. Ties go to the lowest row.
    """
    n_clusters = means.shape[1]
    most = (1 + imbalance) * float(ensemble.counts.sum()) / n_clusters
    labels, shared = _best_open(ensemble, means, np.zeros(n_clusters))
    closed = np.zeros(n_clusters)
    for _ in range(3 * n_clusters):
        excess = cluster_sizes(labels, ensemble.counts, n_clusters) - most
        if not (excess > 0).any():
            break
        closed[excess > 0] = np.inf
        if np.isinf(closed).all():
            # rows of many objects left more room than they had to
            closed[excess < 0] = 0.0
        rows = np.flatnonzero((excess > 0)[labels])
        counts = ensemble.counts[rows]
        nearest, instead = _best_open(take(ensemble, rows, counts), means, closed)
        order = np.lexsort((instead - shared[rows], labels[rows]))
        begin = np.searchsorted(labels[rows][order], np.arange(n_clusters))
        gone = np.cumsum(counts[order]) - counts[order]
        before = gone - gone[np.minimum(begin, len(order) - 1)][labels[rows][order]]
        leaving = order[before < excess[labels[rows][order]]]
        labels[rows[leaving]], shared[rows[leaving]] = nearest[leaving], instead[leaving]
    return labels


def _best_open(ensemble: Ensemble, means: FloatArray, closed: FloatArray) -> tuple[NDArray[np.int32], FloatArray]:
    """The part that each row shares most with among those for which `closed` is not infinite, and minus what it is."""
    nearest, cost = np.empty(ensemble.n_rows, dtype=np.int32), np.empty(ensemble.n_rows)
    look_up(ensemble, (means, np.ones(len(closed)), closed), np.ones(1), nearest, cost)
    return nearest, cost


def least_cut(
    graph: Any,
    vertex_weights: NDArray[Any] | None,
    n_clusters: int,
    rng: np.random.Generator,
    imbalance: float,
    n_init: int = 2,
) -> PartitionerResult:
    """The least of `n_init` cuts by METIS, k-way and by bisection in turn; one k-way cut of a large graph.

    On graphs of labels k-way cuts are mostly the better ones, on small graphs sometimes those by bisection.
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
    """A seed of 31 bits for a partitioner."""
    return int(rng.integers(2**31 - 1))


def fill_clusters(ensemble: AnyEnsemble, labels: Any, n_clusters: int) -> tuple[Any, int]:
    """Give each empty cluster the row least co-associated with its own; returns labels, and how many were empty.

    A cluster keeps its last row; ties go to the lowest row. Labels that are not in parts are changed in place.
    """
    return refilled(labels, lambda: standing(ensemble, labels, n_clusters)[0] * -1.0, n_clusters)


def cuts(ensemble: AnyEnsemble, labels: NDArray[np.int32], n_clusters: int) -> Cuts:
    """What the partition cuts, computed from its contingency tables in O(rows x members)."""
    table = tally(ensemble, labels, n_clusters)
    weights = cluster_weights_whole(ensemble)
    counts = table.astype(np.float64)
    reached = np.maximum((table > 0).sum(axis=1), 1)
    sizes = counts.sum(axis=1)
    return Cuts(
        pairs=float(weights @ (sizes**2 - (counts**2).sum(axis=1)) / 2),
        labels=float(weights @ (sizes - counts.max(axis=1))),
        clusters=float(weights @ (reached > 1)),
        parts=float(weights @ (reached - 1)),
    )


def meta_cluster_consensus(
    ensemble: AnyEnsemble,
    n_clusters: int,
    rng: np.random.Generator,
    method: str,
    group: Callable[[], tuple[NDArray[np.int32], float]],
    take_components: bool = True,
) -> Consensus:
    """Let groups of base clusters compete for the rows, and describe the outcome.

    First an answer that needs no groups is looked for (see `forced_partition`). Otherwise `group` returns the group
    of each base cluster and the objective; each row goes to the group it is associated with most; groups that win no
    row are given one; and groups are numbered as the labels are. `method` is the name for error messages.

    Returns
    -------
    Consensus
        `confidence` is the share, by member weight, of a row's known labels that fall into its group.
        ``info["meta_clusters"]`` holds for each member, by name, the group of each of its clusters, or is None if the
        answer was forced (`objective` is 0 then); ``info["n_repaired"]`` is the number of groups that won no row.
    """
    forced = forced_partition(ensemble, n_clusters, take_components)
    if forced is not None:
        info = {"meta_clusters": None, "n_repaired": 0}
        return Consensus(labels=canonical_labels(forced, n_clusters), objective=0.0, info=info)
    n_base = int(ensemble.offsets[-1])
    if n_clusters > n_base:
        raise ValueError(
            f"n_clusters = {n_clusters:,} is more than the {_check.counted(n_base, 'cluster')} of all members, which "
            f"{method} groups; ask for fewer, or use another method."
        )
    groups, objective = group()
    winner, n_repaired = fill_clusters(ensemble, winners(ensemble, groups, n_clusters, rng), n_clusters)
    numbers = numbers_by_appearance(winner, n_clusters)
    labels, groups = with_numbers(numbers, winner), numbers[groups]
    return Consensus(
        labels=labels,
        objective=objective,
        confidence=winners_share(ensemble, groups, labels),
        info={"meta_clusters": by_member_name(ensemble, groups), "n_repaired": n_repaired},
    )


def winners(ensemble: AnyEnsemble, groups: NDArray[np.int32], n_clusters: int, rng: np.random.Generator) -> Any:
    """The group each row is associated with most; groups (d,) holds the group of each base cluster.

    Ties are broken by one random draw per row.
    """
    mass = np.bincount(groups, weights=cluster_weights(ensemble), minlength=n_clusters)
    return compete(ensemble, groups, mass.astype(np.float64), a_draw_for_each_row(ensemble, rng))

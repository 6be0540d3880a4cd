"""Local search for the median partition: rows and clusters move while the members disagree less with it."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import Ensemble, FloatArray
from quorate.ops.coding import canonical
from quorate.ops.moves import (
    attracted,
    fill_tables,
    found_clusters,
    least_disagreement,
    lower_disagreement,
    merge_attracted,
    own_attraction,
)
from quorate.ops.threads import map_blocks, map_fixed_blocks
from quorate.solvers.label_rows import fill_empty, rows_of_objects
from quorate.solvers.weights import integer_member_weights

MOST_CLUSTERS = 256
"""How many clusters a search may found; twice the clusters of the largest member if that is more."""
SPARE = 8
"""How many new clusters a sweep may found beside those that exist."""
SAMPLE_ROWS = 32_768
"""Above this many rows the starts are tried on so many objects, and the best goes on with all rows."""
BOUND_ROWS = 4096
"""The bound over all pairs of rows is computed up to so many rows."""


class Tables(NamedTuple):
    """Whole-number counts of a partition, as `ops.disagreement` has them, and the rows in each cluster."""

    table: NDArray[np.int64]
    margin: NDArray[np.int64]
    held: NDArray[np.int64]


class Search(NamedTuple):
    """Where a search ended; `labels` are canonical.

    `costs` are the disagreements at the start and after each step, in the unit of the integer weights. They rise only
    at the place `forced`, where a number of clusters was forced.
    """

    labels: NDArray[np.int32]
    costs: list[float]
    n_iter: int
    converged: bool
    forced: int | None = None


def disagreements(ensemble: Ensemble, labels: NDArray[np.int32]) -> float:
    """Pairs of objects that a member joins and the partition separates or the other way round, over all members.

    In units of the integer weights; pairs of which a member knows only one object do not count.
    """
    weights, _ = integer_member_weights(ensemble)
    return _cost(ensemble, weights, tables_of(ensemble, weights, labels, int(labels.max()) + 1))


def lower_bound(ensemble: Ensemble) -> float | None:
    """The least disagreements a partition can have, in units of the integer weights; None above BOUND_ROWS rows."""
    if ensemble.n_rows > BOUND_ROWS:
        return None
    weights, _ = integer_member_weights(ensemble)
    blocks = map_fixed_blocks(
        lambda start, stop: least_disagreement(ensemble.labels, ensemble.counts, weights, start, stop),
        ensemble.n_rows,
        256,
    )
    return float(sum(blocks))


def tables_of(
    ensemble: Ensemble,
    weights: NDArray[np.int64],
    labels: NDArray[np.int32],
    n_columns: int,
    *,
    by_member: bool = False,
) -> Tables:
    table, margin = _no_tables(ensemble, n_columns, by_member)
    fill_tables(ensemble.labels, ensemble.offsets, ensemble.counts, weights, labels, table, margin)
    return Tables(table, margin, np.bincount(labels, minlength=n_columns))


def _no_tables(
    ensemble: Ensemble, n_columns: int, by_member: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    n_margins = ensemble.n_members if by_member or ensemble.has_missing else 1
    table = np.zeros((int(ensemble.offsets[-1]), n_columns), dtype=np.int64)
    return table, np.zeros((n_margins, n_columns), dtype=np.int64)


def evenly_spaced_rows(ensemble: Ensemble, n_clusters: int | None) -> Ensemble | None:
    """Objects at even distances, as rows with counts; None if there are so few rows that all are taken."""
    if ensemble.n_rows <= SAMPLE_ROWS:
        return None
    places = np.linspace(0, ensemble.n_objects - 1, SAMPLE_ROWS).astype(np.int64)
    rows, counts = np.unique(rows_of_objects(ensemble.counts, places), return_counts=True)
    # the sample must hold many more rows than the clusters asked for
    if len(rows) < 64 * (n_clusters or 1):
        return None
    return replace(ensemble, labels=ensemble.labels[rows], counts=counts.astype(np.int64), object_ids=None)


def spread(part: Ensemble, labels: NDArray[np.int32], ensemble: Ensemble) -> NDArray[np.int32]:
    """Labels of all rows of the ensemble, each in the cluster of the part that attracts it most."""
    weights, _ = integer_member_weights(ensemble)
    nearest = np.empty(ensemble.n_rows, dtype=np.int32)
    # tables by member also where the part happens to miss no label
    tables = tables_of(part, weights, labels, int(labels.max()) + 1, by_member=ensemble.has_missing)
    fixed = (ensemble.labels, ensemble.offsets, tables.table, tables.margin)
    map_blocks(lambda start, stop: attracted(*fixed, start, stop, nearest), ensemble.n_rows)
    named: NDArray[np.int32] = canonical(nearest, int(labels.max()) + 1)
    return named


def leaders(ensemble: Ensemble) -> NDArray[np.int32]:
    """Rows, the most frequent first, join the cluster that attracts them most or found one."""
    weights, _ = integer_member_weights(ensemble)
    most = min(ensemble.n_rows, max(MOST_CLUSTERS, 2 * int(ensemble.n_clusters.max())))
    labels = np.zeros(ensemble.n_rows, dtype=np.int32)
    table, margin = _no_tables(ensemble, most)
    order = np.argsort(-ensemble.counts, kind="stable")
    found_clusters(ensemble.labels, ensemble.offsets, ensemble.counts, weights, order, table, margin, labels)
    return labels


def descend_from(ensemble: Ensemble, start: NDArray[np.int32], n_clusters: int | None, max_iter: int) -> Search:
    """Sweep rows and merge clusters in turn until neither lowers the cost; then, if asked to, force n_clusters."""
    weights, _ = integer_member_weights(ensemble)
    labels = canonical(start, int(start.max()) + 1)
    costs = [disagreements(ensemble, labels)]
    left, merged = max_iter, 1
    settled = True
    while merged and left > 0:
        labels, done, settled = _settle(ensemble, weights, labels, costs, True, left)
        left -= done
        labels, merged = _merge(ensemble, weights, labels, 0)
        costs.append(disagreements(ensemble, labels))
    converged = settled and not merged
    if n_clusters is None or int(labels.max()) + 1 == n_clusters:
        return Search(labels, costs, max_iter - left, converged)
    forced = len(costs)
    labels = _force(ensemble, weights, labels, n_clusters)
    costs.append(disagreements(ensemble, labels))
    labels, done, settled = _settle(ensemble, weights, labels, costs, False, max(left, 1))
    return Search(labels, costs, max_iter - left + done, converged and settled, forced)


def settle_rows(ensemble: Ensemble, start: NDArray[np.int32], max_iter: int) -> Search:
    """Moves of rows alone, between the clusters there are; none is left empty."""
    weights, _ = integer_member_weights(ensemble)
    costs = [disagreements(ensemble, start)]
    labels, done, settled = _settle(ensemble, weights, start, costs, False, max_iter)
    return Search(labels, costs, done, settled)


def _settle(
    ensemble: Ensemble,
    weights: NDArray[np.int64],
    labels: NDArray[np.int32],
    costs: list[float],
    free: bool,
    max_iter: int,
) -> tuple[NDArray[np.int32], int, bool]:
    """Sweep until no row moves; returns labels, the number of sweeps, and whether the last one moved nothing."""
    n_iter, moved = 0, 1
    while moved and n_iter < max_iter:
        n_clusters = int(labels.max()) + 1
        assignment = labels.copy()
        tables = tables_of(ensemble, weights, assignment, n_clusters + SPARE * free)
        moved = lower_disagreement(
            ensemble.labels, ensemble.offsets, ensemble.counts, weights, free, *tables, assignment
        )
        costs.append(_cost(ensemble, weights, tables))
        labels = canonical(assignment, n_clusters + SPARE)
        n_iter += 1
    return labels, n_iter, moved == 0


def _merge(
    ensemble: Ensemble, weights: NDArray[np.int64], labels: NDArray[np.int32], least: int
) -> tuple[NDArray[np.int32], int]:
    """Merge clusters that attract each other, or the best pairs until `least` are left."""
    n_clusters = int(labels.max()) + 1
    tables = tables_of(ensemble, weights, labels, n_clusters)
    merged = np.empty(n_clusters, dtype=np.int64)
    n_merges = merge_attracted(_attractions(ensemble, weights, tables), least, merged)
    return canonical(merged[labels], n_clusters), n_merges


def _attractions(ensemble: Ensemble, weights: NDArray[np.int64], tables: Tables) -> FloatArray:
    """The attraction between any two clusters (K, K), in whole numbers that are exact below 2^53."""
    column = np.repeat(weights, ensemble.n_clusters)[:, None]
    twice = tables.table.astype(np.float64)
    own = weights[:, None] if len(tables.margin) > 1 else weights.sum()
    margin = tables.margin.astype(np.float64)
    joined: FloatArray = twice.T @ (twice / (2 * column))
    return joined - margin.T @ (margin / own)


def _cost(ensemble: Ensemble, weights: NDArray[np.int64], tables: Tables) -> float:
    """The number of pairs that members join, less the attraction of the pairs within clusters."""
    column = np.repeat(weights, ensemble.n_clusters).astype(np.float64)
    parts = tables.table / (2 * column[:, None])
    own = weights.astype(np.float64)[:, None] if len(tables.margin) > 1 else float(weights.sum())
    known = tables.margin / own
    whole = parts.sum(axis=1)
    joined = float(column @ (whole * (whole - 1))) / 2
    within = float(column @ (parts * (parts - 1)).sum(axis=1))
    return joined - within + float((own * known * (known - 1)).sum()) / 2


def _force(
    ensemble: Ensemble, weights: NDArray[np.int64], labels: NDArray[np.int32], n_clusters: int
) -> NDArray[np.int32]:
    """Merge the clusters that repel each other least, or give a cluster of its own to each row that loses least."""
    present = int(labels.max()) + 1
    if present > n_clusters:
        return _merge(ensemble, weights, labels, n_clusters)[0]
    tables = tables_of(ensemble, weights, labels, present)
    own = np.empty(ensemble.n_rows, dtype=np.int64)
    fixed = (ensemble.labels, ensemble.offsets, ensemble.counts, weights, tables.table, tables.margin, labels)
    map_blocks(lambda start, stop: own_attraction(*fixed, start, stop, own), ensemble.n_rows)
    forced = labels.copy()
    attraction: FloatArray = own.astype(np.float64) * ensemble.counts
    fill_empty(forced, -attraction, n_clusters)
    named: NDArray[np.int32] = canonical(forced, n_clusters)
    return named

"""Local search for the median partition: rows and clusters move while the members disagree less with it."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import Ensemble, FloatArray
from quorate.ops.coding import canonical
from quorate.ops.disagreement import (
    attracted,
    fill_tables,
    found_clusters,
    least_disagreement,
    merge_attracted,
    own_attraction,
    sweep,
)
from quorate.ops.threads import map_blocks, map_fixed_blocks

UNIT = 2**20
"""Weights that are no multiples of the least one become whole numbers up to this."""
MOST_CLUSTERS = 256
"""Clusters a search may found, unless a member has half as many."""
SPARE = 8
"""Empty clusters a sweep may found beside those there are."""
SAMPLE_ROWS = 32_768
"""Above this many rows, starts are tried on so many objects and the best goes on with all rows."""
BOUND_ROWS = 4096
"""Up to so many rows the bound over all pairs is computed."""


class Tables(NamedTuple):
    """Whole-number counts of a partition, as `ops.disagreement` has them, and the rows in each cluster."""

    table: NDArray[np.int64]
    margin: NDArray[np.int64]
    held: NDArray[np.int64]


class Search(NamedTuple):
    """Where a search ended. labels are canonical; costs: disagreements at the start and after each step, in the unit
    of the whole-number weights, never rising but where a number of clusters was forced (place `forced`)."""

    labels: NDArray[np.int32]
    costs: list[float]
    n_iter: int
    converged: bool
    forced: int | None = None


def whole_weights(ensemble: Ensemble) -> tuple[NDArray[np.int64], float]:
    """Member weights as whole numbers, and what one of them is worth.

    They are coarser where there are so many objects that twice the weight of all labels would not fit into 64 bits.
    """
    largest = min(UNIT, 2**61 // (ensemble.n_objects * ensemble.n_members))
    scaled = ensemble.weights / ensemble.weights.min()
    if scaled.max() <= largest and np.array_equal(scaled, np.floor(scaled)):
        return scaled.astype(np.int64), float(ensemble.weights.min())
    unit = float(ensemble.weights.max()) / largest
    return np.maximum(np.rint(ensemble.weights / unit), 1).astype(np.int64), unit


def disagreements(ensemble: Ensemble, labels: NDArray[np.int32]) -> float:
    """Pairs of objects that a member joins and the partition parts or the other way round, over all members.

    In whole-number weights; pairs of which a member knows only one do not count.
    """
    weights, _ = whole_weights(ensemble)
    return _cost(ensemble, weights, tables_of(ensemble, weights, labels, int(labels.max()) + 1))


def lower_bound(ensemble: Ensemble) -> float | None:
    """What every partition disagrees at least, in whole-number weights; None above BOUND_ROWS rows."""
    if ensemble.n_rows > BOUND_ROWS:
        return None
    weights, _ = whole_weights(ensemble)
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


def sample(ensemble: Ensemble, n_clusters: int | None) -> Ensemble | None:
    """Objects at even distances, as rows with counts; None where all rows are few enough to take them all."""
    if ensemble.n_rows <= SAMPLE_ROWS:
        return None
    places = np.linspace(0, ensemble.n_objects - 1, SAMPLE_ROWS).astype(np.int64)
    rows, counts = np.unique(np.searchsorted(np.cumsum(ensemble.counts), places, side="right"), return_counts=True)
    # what no row is left of must not be asked for
    if len(rows) < 64 * (n_clusters or 1):
        return None
    return replace(ensemble, labels=ensemble.labels[rows], counts=counts.astype(np.int64), object_ids=None)


def spread(part: Ensemble, labels: NDArray[np.int32], ensemble: Ensemble) -> NDArray[np.int32]:
    """Labels of all rows, each in the cluster of the part that attracts it most."""
    weights, _ = whole_weights(ensemble)
    found = np.empty(ensemble.n_rows, dtype=np.int32)
    # tables by member also where the part happens to miss no label
    tables = tables_of(part, weights, labels, int(labels.max()) + 1, by_member=ensemble.has_missing)
    fixed = (ensemble.labels, ensemble.offsets, tables.table, tables.margin)
    map_blocks(lambda start, stop: attracted(*fixed, start, stop, found), ensemble.n_rows)
    named: NDArray[np.int32] = canonical(found, int(labels.max()) + 1)
    return named


def leaders(ensemble: Ensemble) -> NDArray[np.int32]:
    """Rows, the most frequent first, join the cluster that attracts them most or found one."""
    weights, _ = whole_weights(ensemble)
    most = min(ensemble.n_rows, max(MOST_CLUSTERS, 2 * int(ensemble.n_clusters.max())))
    labels = np.zeros(ensemble.n_rows, dtype=np.int32)
    table, margin = _no_tables(ensemble, most)
    order = np.argsort(-ensemble.counts, kind="stable")
    found_clusters(ensemble.labels, ensemble.offsets, ensemble.counts, weights, order, table, margin, labels)
    return labels


def descend(ensemble: Ensemble, start: NDArray[np.int32], n_clusters: int | None, max_iter: int) -> Search:
    """Sweep rows and merge clusters in turn until neither lowers the cost; then, if asked to, force n_clusters."""
    weights, _ = whole_weights(ensemble)
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


def settle(ensemble: Ensemble, start: NDArray[np.int32], max_iter: int) -> Search:
    """Moves of rows alone, between the clusters there are; none is left empty."""
    weights, _ = whole_weights(ensemble)
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
    """Sweep until no row moves; returns labels, sweeps, and whether it came to that."""
    n_iter, moved = 0, 1
    while moved and n_iter < max_iter:
        n_clusters = int(labels.max()) + 1
        assignment = labels.copy()
        tables = tables_of(ensemble, weights, assignment, n_clusters + SPARE * free)
        moved = sweep(ensemble.labels, ensemble.offsets, ensemble.counts, weights, free, *tables, assignment)
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
    """Between all clusters (K, K): whole numbers, exact below 2^53."""
    column = np.repeat(weights, ensemble.n_clusters)[:, None]
    twice = tables.table.astype(np.float64)
    own = weights[:, None] if len(tables.margin) > 1 else weights.sum()
    margin = tables.margin.astype(np.float64)
    joined: FloatArray = twice.T @ (twice / (2 * column))
    return joined - margin.T @ (margin / own)


def _cost(ensemble: Ensemble, weights: NDArray[np.int64], tables: Tables) -> float:
    """All pairs that members join, less what the clusters' pairs attract each other."""
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
    """Merge the clusters that repel each other least, or part with the rows that lose least, one cluster each."""
    present = int(labels.max()) + 1
    if present > n_clusters:
        return _merge(ensemble, weights, labels, n_clusters)[0]
    tables = tables_of(ensemble, weights, labels, present)
    own = np.empty(ensemble.n_rows, dtype=np.int64)
    fixed = (ensemble.labels, ensemble.offsets, ensemble.counts, weights, tables.table, tables.margin, labels)
    map_blocks(lambda start, stop: own_attraction(*fixed, start, stop, own), ensemble.n_rows)
    forced, held = labels.copy(), tables.held.copy()
    loose = iter(np.argsort(own * ensemble.counts.astype(np.float64), kind="stable"))
    for cluster in range(present, n_clusters):
        row = next(row for row in loose if held[labels[row]] > 1)
        held[labels[row]] -= 1
        forced[row] = cluster
    found: NDArray[np.int32] = canonical(forced, n_clusters)
    return found

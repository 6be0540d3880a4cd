"""k-means on one-hot label rows, without the one-hot matrix: seeding, Lloyd sweeps, repair, restarts."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import Ensemble, FloatArray, IntArray
from quorate.ops.tables import agreement, move_rows, nearest_clusters
from quorate.ops.threads import map_blocks

SAMPLE_ROWS = 32_768
"""Above this many rows, restarts run on a sample of objects of this size (or 64 k) and the best is finished on all."""


class Centres(NamedTuple):
    """Cluster means as exact sums: table (d, width) counts of base clusters, mass (K,) numbers of objects."""

    table: IntArray
    mass: NDArray[np.int64]


class Partition(NamedTuple):
    """Where a run ended; `inertia` is the sum of squared distances to the means."""

    labels: NDArray[np.int32]
    centres: Centres
    inertia: float
    n_iter: int
    converged: bool


def best_of_restarts(
    ensemble: Ensemble, n_clusters: int, rng: np.random.Generator, *, n_init: int, max_iter: int
) -> Partition:
    """The least inertia of `n_init` seeded runs; on many rows the runs see a sample, and the best one all rows."""
    sample = _sample(ensemble, max(SAMPLE_ROWS, 64 * n_clusters), rng)
    if sample is None or sample.n_rows < n_clusters:
        return _best_run(ensemble, n_clusters, rng, n_init, max_iter)
    return lloyd(ensemble, _best_run(sample, n_clusters, rng, n_init, max_iter).centres, max_iter)


def _best_run(ensemble: Ensemble, n_clusters: int, rng: np.random.Generator, n_init: int, max_iter: int) -> Partition:
    runs = (
        lloyd(ensemble, row_centres(ensemble, seed_rows(ensemble, n_clusters, rng)), max_iter) for _ in range(n_init)
    )
    return min(runs, key=lambda run: run.inertia)


def _sample(ensemble: Ensemble, size: int, rng: np.random.Generator) -> Ensemble | None:
    """Objects drawn with replacement, as rows with counts; None where all rows are few enough."""
    if ensemble.n_rows <= size:
        return None
    drawn = rng.integers(ensemble.n_objects, size=size)
    rows, counts = np.unique(np.searchsorted(np.cumsum(ensemble.counts), drawn, side="right"), return_counts=True)
    return replace(ensemble, labels=ensemble.labels[rows], counts=counts.astype(np.int64), object_ids=None)


def row_norms(ensemble: Ensemble) -> FloatArray:
    """|h|^2 of each row: the weight of the members that know it."""
    if not ensemble.has_missing:
        return np.full(ensemble.n_rows, ensemble.weights.sum())
    return (ensemble.labels >= 0) @ ensemble.weights


def seed_rows(ensemble: Ensemble, n_clusters: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Greedy k-means++: each next seed is the best of a few rows drawn by count times squared distance."""
    n_trials = 2 + int(np.log(n_clusters))
    norms = row_norms(ensemble)
    first = _draw(ensemble.counts, rng.random(1))
    seeds = [int(first[0])]
    closest = _distances(ensemble, norms, seeds[0])
    while len(seeds) < n_clusters:
        pull = ensemble.counts * closest
        candidates = _draw(pull, rng.random(n_trials))
        best = None
        for candidate in candidates:
            nearer = np.minimum(closest, _distances(ensemble, norms, int(candidate)))
            potential = float(ensemble.counts @ nearer)
            if best is None or potential < best[0]:
                best = (potential, int(candidate), nearer)
        assert best is not None
        seeds.append(best[1])
        closest = best[2]
    return np.array(seeds, dtype=np.intp)


def _draw(pull: NDArray[np.generic], uniform: FloatArray) -> NDArray[np.intp]:
    """Rows drawn with probability proportional to `pull`, which is never zero everywhere: rows are distinct."""
    edges = np.cumsum(pull)
    rows = np.searchsorted(edges, uniform * edges[-1], side="right")
    drawn: NDArray[np.intp] = np.minimum(rows, np.flatnonzero(pull)[-1])
    return drawn


def _distances(ensemble: Ensemble, norms: FloatArray, row: int) -> FloatArray:
    """Squared distances of all rows to one row."""
    shared = np.empty(ensemble.n_rows)
    map_blocks(
        lambda start, stop: agreement(ensemble.labels, ensemble.weights, row, start, stop, shared),
        ensemble.n_rows,
    )
    # weights that are no integers may leave a rounding error where the distance is zero
    distances: FloatArray = np.maximum(norms + norms[row] - 2 * shared, 0.0)
    return distances


def row_centres(ensemble: Ensemble, rows: NDArray[np.intp]) -> Centres:
    """Each of the given rows as the mean of a cluster of one."""
    table = _empty_table(ensemble, len(rows))
    chosen = ensemble.labels[rows].astype(np.int64)
    for member in range(ensemble.n_members):
        known = np.flatnonzero(chosen[:, member] >= 0)
        table[ensemble.offsets[member] + chosen[known, member], known] = 1
    return Centres(table, np.ones(len(rows), dtype=np.int64))


def _empty_table(ensemble: Ensemble, n_clusters: int) -> IntArray:
    """Zeros (d, width): 32 bits where no sum of a row can overflow them, width a multiple of the vector length."""
    narrow = ensemble.n_members * ensemble.n_objects < 2**31
    width = n_clusters if n_clusters < 12 else -(-n_clusters // 32) * 32
    return np.zeros((int(ensemble.offsets[-1]), width), dtype=np.int32 if narrow else np.int64)


def lloyd(ensemble: Ensemble, centres: Centres, max_iter: int) -> Partition:
    """Assign and re-estimate until no row moves; no cluster is left empty."""
    table, mass = _empty_table(ensemble, len(centres.mass)), np.zeros(len(centres.mass), dtype=np.int64)
    old = np.full(ensemble.n_rows, -1, dtype=np.int32)
    new = np.empty(ensemble.n_rows, dtype=np.int32)
    score = np.empty(ensemble.n_rows)
    converged, n_iter = False, 0
    while not converged and n_iter < max_iter:
        assign(ensemble, centres, new, score)
        _fill_empty(ensemble, score, new, len(mass))
        moved = move_rows(ensemble.labels, ensemble.offsets, ensemble.counts, old, new, table, mass)
        centres = Centres(table, mass)
        converged = moved == 0
        n_iter += 1
    return Partition(old, centres, inertia(ensemble, centres), n_iter, converged)


def assign(ensemble: Ensemble, centres: Centres, nearest: NDArray[np.int32], score: FloatArray) -> None:
    """Write each row's nearest centre, and its squared distance less the row's norm."""
    table = centres.table if ensemble.unit_weights else centres.table * _column_weights(ensemble)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 2.0 / centres.mass
        bias = _squares(ensemble, centres) / centres.mass / centres.mass
    bias[centres.mass == 0] = np.inf
    scale[centres.mass == 0] = 0.0
    map_blocks(
        lambda start, stop: nearest_clusters(
            ensemble.labels, ensemble.offsets, table, scale, bias, start, stop, nearest, score
        ),
        ensemble.n_rows,
    )


def _column_weights(ensemble: Ensemble) -> FloatArray:
    """The weight of the member each base cluster belongs to."""
    return np.repeat(ensemble.weights, ensemble.n_clusters)


def _squares(ensemble: Ensemble, centres: Centres) -> FloatArray:
    """For each cluster the weighted sum of squared counts, in float64: the square of 10^8 objects is past 2^53."""
    counts = centres.table[:, : len(centres.mass)].astype(np.float64)
    squares: FloatArray = np.einsum("f,fc,fc->c", _column_weights(ensemble), counts, counts)
    return squares


def inertia(ensemble: Ensemble, centres: Centres) -> float:
    """Sum over objects of the squared distance to their mean, from the sums alone."""
    filled = centres.mass > 0
    explained = _squares(ensemble, centres)[filled] / centres.mass[filled]
    return float(ensemble.counts @ row_norms(ensemble) - explained.sum())


def _fill_empty(ensemble: Ensemble, score: FloatArray, nearest: NDArray[np.int32], n_clusters: int) -> None:
    """Give each empty cluster the row that costs most where it is, as long as its cluster keeps another row."""
    sizes = np.bincount(nearest, minlength=n_clusters)
    empty = np.flatnonzero(sizes == 0)
    if not len(empty):
        return
    cost = ensemble.counts * (row_norms(ensemble) + score)
    costly = iter(np.argsort(-cost, kind="stable"))
    for cluster in empty:
        row = next(row for row in costly if sizes[nearest[row]] > 1)
        sizes[nearest[row]] -= 1
        nearest[row] = cluster
        sizes[cluster] = 1

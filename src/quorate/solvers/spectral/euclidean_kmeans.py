"""k-means of weighted points of few dimensions, and from there to a Consensus: the last step of every embedding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import Consensus, Ensemble, FloatArray
from quorate.ops.coding import canonical
from quorate.ops.euclidean import add_points, nearest_points
from quorate.ops.threads import map_blocks, map_tasks
from quorate.solvers.draws import drawn_by_weight, fill_empty, rows_drawn_by_count
from quorate.solvers.label_rows import weighted_total

SAMPLE_POINTS = 16_384
"""Above this many points restarts run on a sample of so many objects (or 64 k), and the best is finished on all."""


class EuclideanRun(NamedTuple):
    """Where a run ended; `inertia` is the weighted sum of squared distances to the means."""

    labels: NDArray[np.intp]
    inertia: float
    n_iter: int
    converged: bool


def point_consensus(
    ensemble: Ensemble,
    points: FloatArray,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    n_init: int,
    max_iter: int,
    info: Mapping[str, Any],
) -> Consensus:
    """Cluster the points that an embedding gave to the rows, each counting as many objects as its row.

    `objective` is the inertia in the embedding, to be minimised.
    """
    # as many objects of each row again are the same problem; without the common factor sums round alike
    divisor = int(np.gcd.reduce(ensemble.counts))
    run = euclidean_kmeans(points, ensemble.counts // divisor, n_clusters, rng, n_init=n_init, max_iter=max_iter)
    labels = canonical(run.labels.astype(np.int32), n_clusters)
    return Consensus(
        labels=labels, objective=run.inertia * divisor, n_iter=run.n_iter, converged=run.converged, info=info
    )


def euclidean_kmeans(
    points: FloatArray,
    counts: NDArray[np.int64],
    n_clusters: int,
    rng: np.random.Generator,
    *,
    n_init: int,
    max_iter: int,
) -> EuclideanRun:
    """The run of the least inertia out of `n_init` runs from k-means++ seeds; no cluster is left empty.

    There must be at least n_clusters points. If there are many, the runs see a sample of the objects, and the best of
    them is finished on all points.
    """
    mass = counts.astype(np.float64)
    size = sample_size(n_clusters)
    if len(points) > size:
        drawn, times = rows_drawn_by_count(counts, size, rng)
        if len(drawn) >= n_clusters:
            centres = centres_of_sample(points[drawn], times, n_clusters, rng, n_init, max_iter)
            return _lloyd(points, mass, centres, max_iter)
    return _best_run(points, mass, n_clusters, rng, n_init, max_iter)


def sample_size(n_clusters: int) -> int:
    """The number of objects that restarts see if there are more points."""
    return max(SAMPLE_POINTS, 64 * n_clusters)


def centres_of_sample(
    points: FloatArray, times: NDArray[Any], n_clusters: int, rng: np.random.Generator, n_init: int, max_iter: int
) -> FloatArray:
    """The means (k, d) of the best run on a sample; `times` is how often each of its points was drawn."""
    mass = times.astype(np.float64)
    run = _best_run(points, mass, n_clusters, rng, n_init, max_iter)
    return _means(points, mass, run.labels, n_clusters)


def _best_run(
    points: FloatArray, mass: FloatArray, n_clusters: int, rng: np.random.Generator, n_init: int, max_iter: int
) -> EuclideanRun:
    starts = [points[_seeds(points, mass, n_clusters, rng)] for _ in range(n_init)]
    runs = map_tasks(lambda centres: _lloyd(points, mass, centres, max_iter), starts, len(points))
    return min(runs, key=lambda run: run.inertia)


def _seeds(points: FloatArray, mass: FloatArray, n_clusters: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """k-means++: each next seed is drawn by mass times squared distance to the nearest seed before."""
    seeds = drawn_by_weight(mass, rng.random(1)).tolist()
    closest = _squared(points, points[seeds[:1]])[:, 0]
    while len(seeds) < n_clusters:
        pull = mass * closest
        if not pull.any():
            # all points coincide with seeds: take any point that is not a seed itself
            pull = np.ones(len(points))
        pull[seeds] = 0
        seeds += drawn_by_weight(pull, rng.random(1)).tolist()
        closest = np.minimum(closest, _squared(points, points[seeds[-1:]])[:, 0])
    return np.array(seeds, dtype=np.intp)


def _squared(points: FloatArray, centres: FloatArray) -> FloatArray:
    products: FloatArray = points @ centres.T
    norms = np.einsum("id,id->i", points, points)[:, None] + np.einsum("kd,kd->k", centres, centres)
    squared: FloatArray = np.maximum(norms - 2 * products, 0.0)
    return squared


def _lloyd(points: FloatArray, mass: FloatArray, centres: FloatArray, max_iter: int) -> EuclideanRun:
    labels, nearest = (np.full(len(points), -1, dtype=np.intp) for _ in range(2))
    distance = np.empty(len(points))
    converged, n_iter = False, 0
    while not converged and n_iter < max_iter:
        _assign(points, centres, nearest, distance)
        fill_empty(nearest, mass * distance, len(centres))
        converged = bool(np.array_equal(nearest, labels))
        labels[:] = nearest
        centres = _means(points, mass, labels, len(centres))
        n_iter += 1
    difference = points - centres[labels]
    spread = np.einsum("id,id->i", difference, difference)
    return EuclideanRun(labels, weighted_total(mass, spread), n_iter, converged)


def _assign(points: FloatArray, centres: FloatArray, nearest: NDArray[np.intp], distance: FloatArray) -> None:
    # centres as columns, so that a point meets all of them in one contiguous sweep
    table = np.ascontiguousarray(centres.T)
    map_blocks(lambda start, stop: nearest_points(points, table, start, stop, nearest, distance), len(points))


def _means(points: FloatArray, mass: FloatArray, labels: NDArray[np.intp], n_clusters: int) -> FloatArray:
    sums, sizes = np.zeros((n_clusters, points.shape[1])), np.zeros(n_clusters)
    add_points(points, mass, labels, sums, sizes)
    means: FloatArray = sums / sizes[:, None]
    return means

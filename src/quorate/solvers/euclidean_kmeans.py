"""k-means of weighted points of few dimensions: the last step of an embedding of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import FloatArray


class Run(NamedTuple):
    """Where a run ended; `inertia` is the weighted sum of squared distances to the means."""

    labels: NDArray[np.intp]
    inertia: float
    n_iter: int
    converged: bool


def euclidean_kmeans(
    points: FloatArray,
    counts: NDArray[np.int64],
    n_clusters: int,
    rng: np.random.Generator,
    *,
    n_init: int,
    max_iter: int,
) -> Run:
    """The least inertia of `n_init` runs from k-means++ seeds; no cluster is empty as there are n_clusters points."""
    mass = counts.astype(np.float64)
    runs = (_lloyd(points, mass, points[_seeds(points, mass, n_clusters, rng)], max_iter) for _ in range(n_init))
    return min(runs, key=lambda run: run.inertia)


def _seeds(points: FloatArray, mass: FloatArray, n_clusters: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """k-means++: each next seed is drawn by mass times squared distance to the nearest seed before."""
    seeds = [_draw(mass, rng)]
    closest = _squared(points, points[seeds[:1]])[:, 0]
    while len(seeds) < n_clusters:
        pull = mass * closest
        if not pull.any():
            # all points coincide with seeds: any that is none
            pull = np.ones(len(points))
        pull[seeds] = 0
        seeds.append(_draw(pull, rng))
        closest = np.minimum(closest, _squared(points, points[seeds[-1:]])[:, 0])
    return np.array(seeds, dtype=np.intp)


def _draw(pull: FloatArray, rng: np.random.Generator) -> int:
    edges = np.cumsum(pull)
    place = int(np.searchsorted(edges, rng.random() * edges[-1], side="right"))
    return min(place, int(np.flatnonzero(pull)[-1]))


def _squared(points: FloatArray, centres: FloatArray) -> FloatArray:
    products: FloatArray = points @ centres.T
    norms = np.einsum("id,id->i", points, points)[:, None] + np.einsum("kd,kd->k", centres, centres)
    squared: FloatArray = np.maximum(norms - 2 * products, 0.0)
    return squared


def _lloyd(points: FloatArray, mass: FloatArray, centres: FloatArray, max_iter: int) -> Run:
    labels = np.full(len(points), -1, dtype=np.intp)
    converged, n_iter = False, 0
    while not converged and n_iter < max_iter:
        distances = _squared(points, centres)
        nearest = np.argmin(distances, axis=1)
        cost = mass * distances[np.arange(len(points)), nearest]
        _fill_empty(nearest, cost, len(centres))
        converged = bool(np.array_equal(nearest, labels))
        labels = nearest
        centres = _means(points, mass, labels, len(centres))
        n_iter += 1
    spread = np.einsum("id,id->i", points - centres[labels], points - centres[labels])
    return Run(labels, float(mass @ spread), n_iter, converged)


def _means(points: FloatArray, mass: FloatArray, labels: NDArray[np.intp], n_clusters: int) -> FloatArray:
    sizes = np.bincount(labels, mass, n_clusters)
    sums = [np.bincount(labels, mass * column, n_clusters) for column in points.T]
    means: FloatArray = np.stack(sums, axis=1) / sizes[:, None]
    return means


def _fill_empty(nearest: NDArray[np.intp], cost: FloatArray, n_clusters: int) -> None:
    """Give each empty cluster the point that costs most where it is, as long as its cluster keeps another."""
    sizes = np.bincount(nearest, minlength=n_clusters)
    costly = iter(np.argsort(-cost, kind="stable"))
    for cluster in np.flatnonzero(sizes == 0):
        point = next(point for point in costly if sizes[nearest[point]] > 1)
        sizes[nearest[point]] -= 1
        nearest[point] = cluster
        sizes[cluster] = 1

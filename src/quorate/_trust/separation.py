"""How well the clusters of a labelling are separated in the measurements: valleys, links across, sparse borders."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import FloatArray
from quorate.generation.features import WHOLE, Features, as_features
from quorate.generation.generating import generate_with_models
from quorate.generation.kmeans import KMeans
from quorate.generation.landmarks import Landmarks
from quorate.generation.plans import Request
from quorate.generation.runner import Options
from quorate.generation.trial import normalised_cut

CUT_NEIGHBOURS = 5
"""The number of nearest neighbours that each object is linked with: more of them would reach across narrow gaps."""
DENSITY_NEIGHBOURS = 10
"""The density at an object follows from the distance to its neighbour of this rank."""
LEAST_RADIUS = 0.1
"""The least such distance, as a share of the median: repeated objects have distances of 0."""
NEAR_CLUSTERS = 5
"""The number of other clusters with which each cluster is compared: those with which it shares most links."""
PLACES = np.linspace(-0.25, 1.25, 31)
"""Where objects are counted on the line from the mean of one cluster, at 0, to that of the other, at 1."""
HALF_WINDOW = 0.15
"""Objects within this distance of a place, as a share of the distance of the two means, are counted there."""
APART = 5
"""The least number of places between a valley and the hills on its sides."""


class Separation(NamedTuple):
    """Three numbers that say how well the clusters of a labelling are separated.

    `valley` is the mean over clusters of their clearest valley: how many standard errors fewer objects there are
    between a cluster and a neighbour than in the sparser one of the two. `cut` is the mean over clusters of the share
    of links between nearest neighbours that leave the cluster. `border` is the mean over clusters of how much sparser
    the objects are whose links leave the cluster than the sparser one of the two clusters, as a difference of
    logarithms of densities; it is NaN if no link leaves a cluster, or if most objects are repeated.
    """

    valley: float
    cut: float
    border: float


def separation(points: FloatArray, labels: NDArray[Any]) -> Separation:
    """Measure how well the clusters of a labelling are separated.

    Parameters
    ----------
    points : float64 array of shape (n, d)
    labels : integer array of shape (n,)
        Clusters 0, 1, ...; at least two of them, each with at least one object.

    Notes
    -----
    For each cluster, the neighbours with which it shares most links are looked at. The objects near the line between
    the means of two clusters, whatever cluster they belong to, are counted in windows along this line. A density
    without clusters, all of whose level sets are convex, has no valley on such a line, so that what is found there is
    sampling noise. Clusters that are not convex may have no valley between their means; they have few links across.
    Clusters that wind around one another have long borders, and many links across; the density is lower there than
    on both sides. A density without clusters is nowhere lower on a border than on both sides of it, whatever the
    shapes of the parts are.
    """
    near, squared = neighbours_of(points, DENSITY_NEIGHBOURS)
    linked = near[:, : CUT_NEIGHBOURS + 1]
    valleys = _valleys(points, labels, links_of(linked, labels, int(labels.max()) + 1))
    border = _border(linked, labels, _log_densities(squared[:, -1], points.shape[1]))
    return Separation(float(valleys.mean()), normalised_cut(labels, linked), border)


def neighbours_of(points: NDArray[Any], size: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the nearest neighbours of each object, which include the object itself, and their squared distances."""
    rows = np.ascontiguousarray(points, dtype=np.float32)
    n_near = min(size + 1, len(rows))
    nothing = np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.int32)
    return Landmarks(rows, n_near, None, *nothing).search(rows)


def links_of(near: NDArray[np.int32], labels: NDArray[Any], n_clusters: int) -> FloatArray:
    """Return the number of links between nearest neighbours of any two clusters, in both directions together."""
    # an object is no neighbour of itself, but these links are within clusters in any case
    pairs = np.repeat(labels, near.shape[1]).astype(np.int64) * n_clusters + labels[near.ravel()]
    counts = np.bincount(pairs, minlength=n_clusters**2).reshape(n_clusters, n_clusters)
    return np.asarray(counts + counts.T, dtype=np.float64)


def _log_densities(squared: NDArray[np.float32], n_columns: int) -> FloatArray | None:
    """Return the logarithm of the density at each object, up to a constant; None if most objects are repeated."""
    middle = float(np.median(squared))
    if not middle > 0:
        return None
    return np.asarray(-0.5 * n_columns * np.log(np.maximum(squared / middle, LEAST_RADIUS**2)), dtype=np.float64)


def _border(near: NDArray[np.int32], labels: NDArray[Any], densities: FloatArray | None) -> float:
    """Return how much sparser objects are whose links leave a cluster than the sparser of the two clusters."""
    source, target = np.repeat(np.arange(len(near)), near.shape[1]), near.ravel()
    leaving = labels[source] != labels[target]
    if densities is None or not leaving.any():
        return float("nan")
    source, target = source[leaving], target[leaving]
    means = np.bincount(labels, weights=densities) / np.maximum(np.bincount(labels), 1)
    own, other = labels[source], labels[target]
    sparser = np.minimum(means[own], means[other]) - 0.5 * (densities[source] + densities[target])
    sums = np.bincount(own, sparser, len(means)) + np.bincount(other, sparser, len(means))
    counts = np.bincount(own, minlength=len(means)) + np.bincount(other, minlength=len(means))
    return float((sums[counts > 0] / counts[counts > 0]).mean())


def _valleys(points: FloatArray, labels: NDArray[Any], links: FloatArray) -> FloatArray:
    """Return the clearest valley of each cluster towards one of its neighbours, in standard errors."""
    n_clusters = len(links)
    sizes = np.bincount(labels, minlength=n_clusters)
    means = np.zeros((n_clusters, points.shape[1]))
    np.add.at(means, labels, points)
    means /= np.maximum(sizes, 1)[:, None]
    products, lengths = points @ means.T, (points**2).sum(axis=1)
    between = means @ means.T
    # the shares of objects near the line: more than half, because two clusters alone have no others to the sides
    share = 0.5 + 0.8 / n_clusters
    clearest = np.full(n_clusters, -np.inf)
    for one, other in _pairs(links, between):
        squared = between[one, one] + between[other, other] - 2 * between[one, other]
        if squared <= 0:
            continue
        along = (products[:, other] - products[:, one] - between[one, other] + between[one, one]) / squared
        aside = lengths - 2 * products[:, one] + between[one, one] - along**2 * squared
        own = (labels == one) | (labels == other)
        inside = aside <= np.quantile(aside[own], share)
        depth = valley_depth(_window_counts(along[inside]))
        clearest[[one, other]] = np.maximum(clearest[[one, other]], depth)
    return np.where(np.isfinite(clearest), clearest, 0.0)


def _pairs(links: FloatArray, between: FloatArray) -> list[tuple[int, int]]:
    """Return each pair of a cluster and one of its neighbours once; without links, the nearest clusters."""
    n_clusters = len(links)
    own = np.diag(between)
    distance = own[:, None] + own - 2 * between
    pairs: set[tuple[int, int]] = set()
    for cluster in range(n_clusters):
        others = np.lexsort((distance[cluster], -links[cluster]))
        others = others[others != cluster][:NEAR_CLUSTERS]
        pairs.update((min(cluster, int(other)), max(cluster, int(other))) for other in others)
    return sorted(pairs)


def _window_counts(along: FloatArray) -> FloatArray:
    """Return the number of values in the window around each place."""
    ordered = np.sort(along)
    ends = np.searchsorted(ordered, PLACES + HALF_WINDOW, side="right")
    return np.asarray(ends - np.searchsorted(ordered, PLACES - HALF_WINDOW, side="left"), dtype=np.float64)


def valley_depth(counts: FloatArray) -> float:
    """Return the depth of the deepest valley between two hills, in standard errors.

    Square roots of counts have nearly the same standard error, one half, whatever the counts are. The depth is the
    difference between the root of the lower hill and that of the valley, divided by the standard error of a difference.
    """
    roots = np.sqrt(counts + 0.375)
    left, right = np.maximum.accumulate(roots), np.maximum.accumulate(roots[::-1])[::-1]
    middle = np.arange(APART + 4, len(roots) - APART - 4)
    hills = np.minimum(left[middle - APART], right[middle + APART])
    return float(np.sqrt(2.0) * (hills - roots[middle]).max())


LINKED_OBJECTS = 3_000
"""Objects whose nearest neighbours are found at most."""
NEIGHBOURS = 10
"""The number of nearest neighbours that each object is linked with."""
CELLS = (60, 120, 200)
"""The numbers of cells into which the objects are divided."""
OBJECTS_PER_CELL = 5
"""The least number of objects per cell on average; of few objects there are fewer cells."""
FEWEST = 3
"""Fewer cells than these tell nothing about the number of clusters."""


def links_between_cells(features: Features, entropy: int) -> list[FloatArray]:
    """Divide objects into small cells by k-means, and count links between nearest neighbours of any two cells.

    Cells are so small that hardly any of them reaches from one cluster to another, whatever the shapes of clusters.
    They are made for several numbers of cells, because a single division depends on its random start. Nothing is
    returned for sparse measurements, which have no such distances, and for very few objects.
    """
    if features.is_sparse or features.n_objects < FEWEST * OBJECTS_PER_CELL:
        return []
    drawn = np.arange(features.n_objects)
    if len(drawn) > LINKED_OBJECTS:
        rng = np.random.default_rng((entropy % 2**32, 23))
        drawn = np.sort(rng.choice(len(drawn), LINKED_OBJECTS, replace=False, shuffle=False))
    points = features.prepared(drawn, WHOLE)
    near, _ = neighbours_of(points, NEIGHBOURS)
    divided = [_cells(as_features(points), number, entropy + place) for place, number in enumerate(CELLS)]
    return [links_of(near, labels, int(labels.max()) + 1) for labels in divided]


def _cells(points: Features, number: int, entropy: int) -> NDArray[Any]:
    """Return the cell of each object: one member by k-means of that many clusters."""
    number = min(number, points.n_objects // OBJECTS_PER_CELL)
    request = Request(1, number, KMeans(init="k-means++", max_iter=20), 1.0, 1.0)
    options = Options()
    labels: NDArray[Any] = generate_with_models(points, request, entropy, options)[0].labels[:, 0]
    return labels

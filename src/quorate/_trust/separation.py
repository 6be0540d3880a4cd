"""How well clusters are separated in the measurements: valleys between them, links across, and borders that are sparse.

In few directions a cloud may be curved, with hollows that are no valleys. There, distances are measured along the
cloud, as the shortest ways from neighbour to neighbour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import FloatArray
from quorate.generation.landmarks import links_of, neighbours_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

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
FEW_DIRECTIONS = 6.0
"""Distances are measured along the cloud if it extends in at most so many directions: in more of them, nearest
neighbours are nearly as far as any other objects, and the ways from one to the next say nothing."""
LANDMARKS = 60
"""Objects from which distances along the cloud are measured to find its widths."""
LANDMARKS_OF_CLUSTER = 12
"""Objects of a cluster from which distances along the cloud are measured to find its centre."""


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


def separation(points: FloatArray, labels: NDArray[Any], *, along: bool = False) -> Separation:
    """Measure how well the clusters of a labelling are separated.

    Parameters
    ----------
    points : float64 array of shape (n, d)
    labels : integer array of shape (n,)
        Clusters 0, 1, ...; at least two of them, each with at least one object.
    along : bool
        Whether valleys are looked for along the cloud rather than on straight lines (`has_few_directions`).

    Notes
    -----
    For each cluster, the neighbours with which it shares most links are looked at. The objects near the line between
    the means of two clusters, whatever cluster they belong to, are counted in windows along this line. A density
    without clusters, all of whose level sets are convex, has no valley on such a line, so that what is found there is
    sampling noise. A curved cloud without clusters does have hollows on such lines. Along the cloud it has none: there,
    the place of an object between two clusters follows from its distances to the centres of both, which are the
    lengths of the shortest ways from neighbour to neighbour.
    Clusters that are not convex may have no valley between their means; they have few links across.
    Clusters that wind around one another have long borders, and many links across; the density is lower there than
    on both sides. A density without clusters is nowhere lower on a border than on both sides of it, whatever the
    shapes of the parts are.
    """
    near, squared = neighbours_of(points, DENSITY_NEIGHBOURS)
    linked = near[:, : CUT_NEIGHBOURS + 1]
    links = links_of(linked, labels, int(labels.max()) + 1)
    valleys = _valleys_along(_graph(near, squared), labels, links) if along else np.full(len(links), np.nan)
    if np.isnan(valleys).any():
        # clusters without a link to any other have no way to them
        valleys = np.where(np.isnan(valleys), _valleys(points, labels, links), valleys)
    border = _border(linked, labels, _log_densities(squared[:, -1], points.shape[1]))
    return Separation(float(valleys.mean()), normalised_cut(labels, linked), border)


def has_few_directions(points: FloatArray) -> bool:
    """Whether a cloud extends in so few directions that it could be seen to be curved."""
    variances = points.var(axis=0)
    return bool(variances.sum() ** 2 <= FEW_DIRECTIONS * (variances**2).sum())


def widths_along(points: FloatArray) -> FloatArray:
    """Return the standard deviations of a cloud in its principal directions, as if it were unrolled.

    They follow from distances along the cloud, as in Isomap. Where neighbours do not connect all objects, or where the
    cloud extends in many directions, they are those of the points, which are centred and in their principal axes.
    """
    straight: FloatArray = points.std(axis=0)
    if not has_few_directions(points):
        return straight
    chosen = _spread_out(len(points), LANDMARKS)
    squared = _lengths(_graph(*neighbours_of(points, DENSITY_NEIGHBOURS)), chosen) ** 2
    if not np.isfinite(squared).all():
        return straight
    between = squared[:, chosen]
    means = between.mean(axis=0)
    inner = -0.5 * (between - means - means[:, None] + means.mean())
    variances = np.linalg.eigvalsh(inner)[::-1][: len(straight)] / len(chosen)
    widths = np.zeros_like(straight)
    widths[: len(variances)] = np.sqrt(np.maximum(variances, 0.0))
    return widths


def _graph(near: NDArray[np.int32], squared: NDArray[np.float32]) -> csr_array:
    """Return the graph of nearest neighbours with the lengths of its edges, in both directions."""
    from scipy.sparse import csr_array

    n = len(near)
    # sparse arrays take a length of 0 for no edge
    lengths = np.sqrt(np.maximum(squared.astype(np.float64), 1e-12 * max(float(squared.max(initial=0.0)), 1e-300)))
    ends = np.arange(0, near.size + 1, near.shape[1])
    graph = csr_array((lengths.ravel(), near.ravel(), ends), shape=(n, n))
    return graph.maximum(graph.T)


def _lengths(graph: csr_array, start: NDArray[np.intp]) -> FloatArray:
    """Return the lengths of the shortest ways from some objects to all; infinite where there is none."""
    from scipy.sparse.csgraph import dijkstra

    return np.asarray(dijkstra(graph, directed=True, indices=start), dtype=np.float64)


def _spread_out(n: int, most: int) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, n - 1, most).astype(np.intp))


def _centre(graph: csr_array, own: NDArray[np.intp]) -> int:
    """Return the object of a cluster whose ways to the others within it are shortest."""
    within = graph[own][:, own]
    lengths = _lengths(within, _spread_out(len(own), LANDMARKS_OF_CLUSTER))
    known = np.isfinite(lengths)
    # parts of a cluster may have no way to each other within it
    lengths[~known] = 2 * lengths[known].max()
    return int(own[(lengths**2).sum(axis=0).argmin()])


def _valleys_along(graph: csr_array, labels: NDArray[Any], links: FloatArray) -> FloatArray:
    """Return the clearest valley of each cluster towards those it shares links with, along the cloud; NaN without."""
    clearest = np.full(len(links), np.nan)
    centres = np.array([_centre(graph, np.flatnonzero(labels == cluster)) for cluster in range(len(links))])
    lengths = _lengths(graph, centres)
    for one, other in _pairs(links, np.zeros_like(links)):
        squared = lengths[one, centres[other]] ** 2
        if links[one, other] == 0 or not 0 < squared < np.inf:
            continue
        reached = np.isfinite(lengths[one])
        first, second = lengths[one, reached] ** 2, lengths[other, reached] ** 2
        along = 0.5 + (first - second) / (2 * squared)
        aside = first - along**2 * squared
        own = (labels[reached] == one) | (labels[reached] == other)
        depth = valley_depth(_window_counts(along[aside <= aside[own].max()]))
        clearest[[one, other]] = np.fmax(clearest[[one, other]], depth)
    return clearest


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


def normalised_cut(labels: NDArray[Any], near: NDArray[np.int32]) -> float:
    """Return the mean over clusters of the share of a cluster's links that leave it.

    Each object is linked with the objects in its row of `near`, an array of shape (n, q).
    """
    source = np.repeat(labels, near.shape[1])
    target = labels[near.ravel()]
    leaving = source != target
    size = int(labels.max()) + 1
    volume = np.bincount(source, minlength=size) + np.bincount(target, minlength=size)
    cut = np.bincount(source[leaving], minlength=size) + np.bincount(target[leaving], minlength=size)
    return float((cut[volume > 0] / volume[volume > 0]).mean())

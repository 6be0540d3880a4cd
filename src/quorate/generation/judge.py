"""The judge of labellings: which of several labellings of the same measurements separates them best.

It looks at links between nearest neighbours, at what could still be split, at compactness, and at Gaussians fitted to
the clusters. It never looks at whether labellings agree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import FloatArray
from quorate.generation.features import WHOLE, Features
from quorate.generation.landmarks import Landmarks, SparseLandmarks, unit_rows
from quorate.ops.threads import one_blas_thread

Labels = NDArray[Any]
NEIGHBOURS = 10
FEW_NEIGHBOURS = 4
FEW_ZEROS = 0.1
"""If the share of stored values is above this, sparse rows are taken for measurements, not text, and neighbours are
found by distance."""
AXES = 8
"""Gaussians are fitted in so many principal directions, at most."""
STEPS = 60
"""Steps of the search for the weakest place inside each cluster."""


class Scene(NamedTuple):
    """Measurements as the judge looks at them.

    `near` (n, 11) holds the nearest objects of each object, itself included; `rows` the rows, dense or CSR, whose
    Euclidean distances count; `axes` (n, at most 8) their coordinates in principal directions, whitened together.
    """

    near: NDArray[np.int32]
    squared: FloatArray
    rows: Any
    axes: FloatArray

    @property
    def n_objects(self) -> int:
        return len(self.near)


def scene_of(features: Features) -> Scene:
    """Find neighbours and principal directions: by cosine for texts, by distance for all others."""
    rows = features.prepared(slice(None), WHOLE)
    if features.is_sparse and rows.nnz > FEW_ZEROS * rows.shape[0] * rows.shape[1]:
        rows = rows.toarray()
    if isinstance(rows, np.ndarray):
        nothing = np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.int32)
        near, squared = Landmarks(rows, NEIGHBOURS + 1, None, *nothing).search(rows)
        rows = rows[:, : features.n_columns].astype(np.float64)
        rows -= rows.mean(axis=0)
    else:
        rows = unit_rows(rows)
        near, squared = SparseLandmarks(rows, NEIGHBOURS + 1).search(rows)
    return Scene(near, squared.astype(np.float64), rows, _principal_axes(rows))


def _principal_axes(rows: Any) -> FloatArray:
    """Return coordinates in the directions of largest variance, each with variance 1; constant ones are left out."""
    from scipy.sparse.linalg import svds

    wanted = min(AXES, *(size - 1 for size in rows.shape))
    with one_blas_thread():
        if min(rows.shape) <= 2 * AXES or (isinstance(rows, np.ndarray) and rows.shape[1] <= 256):
            dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
            values, vectors = np.linalg.eigh(dense.T @ dense)
            coordinates = dense @ vectors[:, ::-1][:, :AXES]
        else:
            v0 = np.asarray(abs(rows).sum(axis=1 if rows.shape[0] <= rows.shape[1] else 0)).ravel()
            left, values, _ = svds(rows, k=max(1, wanted), v0=v0.astype(np.float64))
            coordinates = (left * values)[:, ::-1]
    spread = coordinates.std(axis=0)
    kept = spread > 1e-6 * max(float(spread.max(initial=0.0)), 1e-300)
    centred: FloatArray = (coordinates - coordinates.mean(axis=0))[:, kept] / spread[kept]
    return centred


NAMES = (
    "cut4", "worst4", "total4", "cut10", "worst10", "total10", "inner10", "weakest10", "pieces4",
    "entropy", "smallest", "silhouette", "calinski", "davies", "gaussians", "border",
)  # fmt: skip
"""What is measured of a labelling, in the order of `measured`."""


def measured(labels: Labels, scene: Scene) -> FloatArray:
    """Return the numbers named in NAMES for labels 0, 1, ..., none of them empty."""
    sizes = np.bincount(labels).astype(np.float64)
    share = sizes / sizes.sum()
    k = len(sizes)
    few = _cuts(labels, scene.near[:, 1 : FEW_NEIGHBOURS + 1], k)
    many = _cuts(labels, scene.near[:, 1:], k)
    inner = inner_cuts(labels, scene)
    entropy = float(-(share * np.log(share)).sum() / np.log(max(k, 2)))
    return np.array(
        [
            *few,
            *many,
            float(inner.mean()),
            float(inner.min()),
            _pieces(labels, scene.near[:, 1 : FEW_NEIGHBOURS + 1]),
            entropy,
            float(np.log(share.min() * k)),
            *_compactness(labels, scene.rows, sizes),
            _gaussian_gain(labels, scene.axes, sizes),
            _border(labels, scene),
        ]
    )


def _cuts(labels: Labels, near: NDArray[np.int32], k: int) -> tuple[float, float, float]:
    """The mean and the largest share of a cluster's links that leave it, and the share of all links."""
    source, target = np.repeat(labels, near.shape[1]), labels[near.ravel()]
    leaving = source != target
    volume = np.bincount(source, minlength=k) + np.bincount(target, minlength=k)
    cut = np.bincount(source[leaving], minlength=k) + np.bincount(target[leaving], minlength=k)
    shares = cut / np.maximum(volume, 1)
    return float(shares.mean()), float(shares.max()), float(leaving.mean())


def inner_cuts(labels: Labels, scene: Scene) -> FloatArray:
    """Return for each cluster the lowest normalised cut found that splits it in two, 1 for clusters of one object.

    The smoothest function on the links inside a cluster, found by repeated averaging over neighbours from the cluster's
    longest direction on, orders its objects; each place in this order is tried.
    """
    from scipy.sparse import csr_array

    n, k = scene.n_objects, int(labels.max()) + 1
    source, target = np.repeat(np.arange(n), scene.near.shape[1] - 1), scene.near[:, 1:].ravel()
    inside = labels[source] == labels[target]
    source, target = source[inside], target[inside]
    links = csr_array((np.ones(len(source)), (source, target)), shape=(n, n))
    links = (links + links.T).tocsr()
    degree = np.asarray(links.sum(axis=1)).ravel()
    volume = np.bincount(labels, degree, k)
    value = _longest(labels, scene.axes, k)
    weight = 1.0 / np.maximum(degree, 1.0)
    for _ in range(STEPS):
        value = value - (np.bincount(labels, degree * value, k) / np.maximum(volume, 1.0))[labels]
        norm = np.sqrt(np.bincount(labels, degree * value**2, k))
        value = value / np.maximum(norm, 1e-300)[labels]
        value = 0.5 * (value + weight * (links @ value))
    return _sweep(labels, value, degree, (source, target))


def _longest(labels: Labels, axes: FloatArray, k: int) -> FloatArray:
    """Return the coordinate of each object in the direction in which its cluster is longest."""
    value = np.zeros(len(labels))
    for cluster in range(k):
        mine = labels == cluster
        part = axes[mine] - axes[mine].mean(axis=0)
        value[mine] = part @ np.linalg.eigh(part.T @ part)[1][:, -1] if part.shape[1] else 0.0
    return value


def _sweep(
    labels: Labels, value: FloatArray, degree: FloatArray, links: tuple[NDArray[Any], NDArray[Any]]
) -> FloatArray:
    """Return the lowest normalised cut of each cluster among the cuts between consecutive values."""
    order = np.lexsort((value, labels))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    first, second = rank[links[0]], rank[links[1]]
    crossing = np.zeros(len(order) + 1)
    np.add.at(crossing, np.minimum(first, second), 2.0)
    np.add.at(crossing, np.maximum(first, second), -2.0)
    crossing = np.cumsum(crossing)[:-1]
    below = np.cumsum(degree[order])
    ends = np.cumsum(np.bincount(labels)) - 1
    result = np.ones(len(ends))
    start = 0
    for cluster, end in enumerate(ends):
        if end > start:
            total = below[end] - (below[start - 1] if start else 0.0)
            left = below[start:end] - (below[start - 1] if start else 0.0)
            cut = crossing[start:end] / 2
            parts = cut / np.maximum(left, 1.0) + cut / np.maximum(total - left, 1.0)
            result[cluster] = min(1.0, float(parts.min()) / 2 if total else 0.0)
        start = int(end) + 1
    return result


def _pieces(labels: Labels, near: NDArray[np.int32]) -> float:
    """The mean over clusters of the share of a cluster's objects outside its largest connected piece."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = len(labels)
    source, target = np.repeat(np.arange(n), near.shape[1]), near.ravel()
    inside = labels[source] == labels[target]
    links = csr_array((np.ones(int(inside.sum())), (source[inside], target[inside])), shape=(n, n))
    piece = connected_components(links, directed=False)[1]
    sizes = np.bincount(piece)
    owner = np.zeros(len(sizes), dtype=np.int64)
    owner[piece] = labels
    largest = np.zeros(int(labels.max()) + 1)
    np.maximum.at(largest, owner, sizes)
    return float((1 - largest / np.bincount(labels)).mean())


def _compactness(labels: Labels, rows: Any, sizes: FloatArray) -> tuple[float, float, float]:
    """Silhouette by mean squared distances, logarithm of Calinski-Harabasz, and Davies-Bouldin, of variances."""
    from scipy.sparse import csr_array

    n, k = len(labels), len(sizes)
    member = csr_array((np.ones(n), (labels, np.arange(n))), shape=(k, n))
    sums = member @ rows
    sums = np.asarray(sums.toarray() if hasattr(sums, "toarray") else sums)
    means = sums / sizes[:, None]
    squares = np.asarray(rows.multiply(rows).sum(axis=1) if hasattr(rows, "multiply") else (rows**2).sum(axis=1))
    squares = squares.ravel()
    lengths = (means**2).sum(axis=1)
    variance = np.maximum(np.bincount(labels, squares, k) / sizes - lengths, 0.0)
    to_mean = np.maximum(squares[:, None] - 2 * np.asarray(rows @ means.T) + lengths, 0.0)
    centre = sizes @ means / n
    within = float((sizes * variance).sum())
    between = float((sizes * ((means - centre) ** 2).sum(axis=1)).sum())
    calinski = float(np.log(max(between, 1e-300) * (n - k) / (max(within, 1e-12 * between, 1e-300) * max(k - 1, 1))))
    return _silhouette(labels, to_mean + variance, sizes), calinski, _davies_bouldin(means, variance, lengths)


def _silhouette(labels: Labels, apart: FloatArray, sizes: FloatArray) -> float:
    """`apart` (n, k) holds mean squared distances to the objects of each cluster."""
    everyone = np.arange(len(labels))
    own = apart[everyone, labels] * sizes[labels] / np.maximum(sizes[labels] - 1, 1)
    others = apart.copy()
    others[everyone, labels] = np.inf
    other = others.min(axis=1)
    if not np.isfinite(other).all():
        return 0.0
    value = (other - own) / np.maximum(np.maximum(other, own), 1e-300)
    return float(value[sizes[labels] > 1].sum() / len(labels))


def _davies_bouldin(means: FloatArray, variance: FloatArray, lengths: FloatArray) -> float:
    """The mean over clusters of the worst ratio of spreads and distance of means; logarithm, bounded."""
    apart = np.sqrt(np.maximum(lengths[:, None] - 2 * means @ means.T + lengths, 0.0))
    spread = np.sqrt(variance)
    np.fill_diagonal(apart, np.inf)
    worst = ((spread[:, None] + spread) / np.maximum(apart, 1e-9 * max(float(lengths.max()), 1e-300) ** 0.5)).max(
        axis=1
    )
    return float(np.log(np.clip(worst.mean(), 1e-3, 1e3)))


def _gaussian_gain(labels: Labels, axes: FloatArray, sizes: FloatArray) -> float:
    """By how much Gaussians, one for each cluster, describe the objects better than one for all, per object and axis.

    Each covariance is drawn towards the mean of all, as far as the cluster has few objects.
    """
    n, d = axes.shape
    if not d:
        return 0.0
    parts = [axes[labels == cluster] for cluster in range(len(sizes))]
    scatter = [(part - part.mean(axis=0)).T @ (part - part.mean(axis=0)) for part in parts]
    pooled = np.sum(scatter, axis=0) / n + 1e-4 * np.eye(d)
    gain = 0.0
    for size, own in zip(sizes, scatter, strict=True):
        covariance = (own + 2 * d * pooled) / (size + 2 * d)
        gain += size / n * (np.log(size / n) - 0.5 * np.linalg.slogdet(covariance + 1e-6 * np.eye(d))[1])
    return float(gain / d)


def _border(labels: Labels, scene: Scene) -> float:
    """How much further apart neighbours are where links leave a cluster than they usually are within it (logarithm)."""
    radius = scene.squared[:, -1]
    middle = float(np.median(radius))
    if not middle > 0:
        return 0.0
    sparse = 0.5 * np.log(np.maximum(radius / middle, 1e-4))
    near = scene.near[:, 1 : FEW_NEIGHBOURS + 1]
    source, target = np.repeat(np.arange(len(labels)), near.shape[1]), near.ravel()
    leaving = labels[source] != labels[target]
    usual = np.bincount(labels, sparse) / np.bincount(labels)
    if not leaving.any():
        return 1.0
    source, target = source[leaving], target[leaving]
    here = 0.5 * (sparse[source] + sparse[target])
    there = np.maximum(usual[labels[source]], usual[labels[target]])
    return float(np.clip((here - there).mean(), -1.0, 1.0))

"""The judge of labellings: which of several labellings of the same measurements separates them best.

It looks at links between nearest neighbours, at what could still be split, at compactness, and at Gaussians fitted to
the clusters. In the trial of members, where objects extend in many dimensions, it looks above all at how much the
labels of neighbours tell. It never looks at whether labellings agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import FloatArray
from quorate.generation.features import WHOLE, Features
from quorate.generation.landmarks import Near, SparseLandmarks, dimension_around, links_of, neighbours_of, unit_rows
from quorate.ops.threads import one_blas_thread

Labels = NDArray[Any]
NEIGHBOURS = 10
FEW_NEIGHBOURS = 4
FEW_ZEROS = 0.1
"""If the share of stored values is above this, sparse rows are taken for measurements, not text, and neighbours are
found by distance."""
AXES = 8
"""Gaussians are fitted in so many principal directions, at most."""
DIRECT = 256
"""Up to so many columns, directions are found from the covariances of all columns."""
STEPS = 60
"""Steps of the search for the weakest place inside each cluster."""
FEW_DIMENSIONS, MANY_DIMENSIONS = 2.4, 3.2
"""Up to the first number of dimensions around objects gaps between clusters are seen, from the second on hardly any."""
EVEN = 1e-9
"""A function on a cluster that varies less than this is constant but for rounding."""


class Scene(NamedTuple):
    """Measurements as the judge looks at them.

    `near` (n, 10) holds the nearest other objects of each object, the nearest first, and `radius` (n,) the distance to
    the last of them; `rows` are the rows, dense or CSR, whose Euclidean distances count; `axes` (n, at most 8) their
    coordinates in principal directions, each with variance 1. `many` is 0 if objects spread in few directions around
    themselves, as points of the plane do, 1 if they spread in many, and between them otherwise; 0 for texts,
    and where the labellings are not `ours`.
    """

    near: NDArray[np.int32]
    radius: FloatArray
    rows: Any
    axes: FloatArray
    many: float
    ours: bool

    @property
    def n_objects(self) -> int:
        return len(self.near)


def scene_of(features: Features, *, ours: bool = False) -> Scene:
    """Find neighbours and principal directions: by cosine for texts, by distance for all others.

    `ours` says that the labellings to be judged are those of the trial, and not given by the user: only then do the
    labels of neighbours count, because they were measured to help there alone.

    Objects are put into the order of their values first, so that ties between distances do not depend on their order.
    """
    rows = features.prepared(slice(None), WHOLE)
    if features.is_sparse and rows.nnz > FEW_ZEROS * rows.shape[0] * rows.shape[1]:
        rows = rows.toarray()
    order = _content_order(rows)
    near, squared = _nearest(rows[order])
    unsorted = np.empty_like(order)
    unsorted[order] = np.arange(len(order))
    near, radius = order[near[unsorted]].astype(np.int32), np.sqrt(squared[unsorted, -1].astype(np.float64))
    many = _many_dimensions(squared) if ours and isinstance(rows, np.ndarray) else 0.0
    if isinstance(rows, np.ndarray):
        rows = rows.astype(np.float64)
        rows -= rows.mean(axis=0)
    else:
        rows = unit_rows(rows)
    return Scene(near, radius, rows, _principal_axes(rows), many, ours)


def _many_dimensions(squared: NDArray[np.float32]) -> float:
    """Return whether objects extend in many dimensions around themselves, from 0 to 1."""
    # `dimension_around` counts from the object itself, which is left out here
    dimension = dimension_around(np.concatenate([np.zeros((len(squared), 1), dtype=np.float32), squared], axis=1))
    return float(np.clip((dimension - FEW_DIMENSIONS) / (MANY_DIMENSIONS - FEW_DIMENSIONS), 0.0, 1.0))


def _content_order(rows: Any) -> NDArray[np.intp]:
    """Return an order of the rows that follows from their values alone."""
    if isinstance(rows, np.ndarray):
        return np.lexsort(rows.T[::-1])
    ends = rows.indptr
    parts = [slice(ends[row], ends[row + 1]) for row in range(rows.shape[0])]
    keys = [(rows.indices[part].tobytes(), rows.data[part].tobytes()) for part in parts]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.intp)


def _nearest(rows: Any) -> Near:
    """Return the nearest other rows of each row, and their squared distances."""
    wanted = min(NEIGHBOURS, rows.shape[0] - 1)
    if isinstance(rows, np.ndarray):
        near, squared = neighbours_of(rows, wanted)
    else:
        near, squared = SparseLandmarks(unit_rows(rows), wanted + 1).search(rows)
    others = near != np.arange(len(near))[:, None]
    others[others.all(axis=1), -1] = False  # a row that has many copies may not be among its own neighbours
    return near[others].reshape(-1, wanted), squared[others].reshape(-1, wanted)


def _principal_axes(rows: Any) -> FloatArray:
    """Return coordinates in the directions of largest variance, each with variance 1; constant ones are left out."""
    from scipy.sparse.linalg import svds

    with one_blas_thread():
        if isinstance(rows, np.ndarray) and rows.shape[1] <= DIRECT:
            coordinates = rows @ np.linalg.eigh(rows.T @ rows)[1][:, ::-1][:, :AXES]
        elif min(rows.shape) <= 2 * AXES or not abs(rows).sum():
            left, values, _ = np.linalg.svd(rows if isinstance(rows, np.ndarray) else rows.toarray(), False)
            coordinates = (left * values)[:, :AXES]
        else:
            start = np.asarray(abs(rows).sum(axis=1 if rows.shape[0] <= rows.shape[1] else 0), dtype=np.float64)
            left, values, _ = svds(rows, k=AXES, v0=start.ravel())
            coordinates = (left * values)[:, ::-1]
    spread = coordinates.std(axis=0)
    kept = spread > 1e-6 * max(float(spread.max(initial=0.0)), 1e-300)
    centred: FloatArray = (coordinates - coordinates.mean(axis=0))[:, kept] / spread[kept]
    return centred


WEIGHTS = {
    "cut, 4 neighbours (log)": -1.73,
    "worst cluster's cut, 4 (log)": -0.22,
    "links cut, 4 (log)": -3.29,
    "cut, 10 neighbours (log)": -1.37,
    "worst cluster's cut, 10 (log)": -0.12,
    "links cut, 10 (log)": -2.50,
    "cut, 10 neighbours": 4.39,
    "worst cluster's cut, 10": 8.71,
    "cut inside clusters (log)": 0.99,
    "weakest place inside (log)": 0.56,
    "pieces of clusters": 8.31,
    "entropy of sizes": 7.07,
    "smallest cluster (log)": 1.34,
    "silhouette": 4.86,
    "calinski-harabasz (log)": 0.64,
    "davies-bouldin (log)": 8.48,
    "gaussians": 19.91,
    "sparse borders": 1.19,
    "neighbours' labels, many directions": 80.0,
}
"""How much each term counts. The last was chosen on public sets (decision 157); `make judge ARGS=--fit` fits the
others, to draw labellings with chances proportional to exp(mark)."""
CUT = list(WEIGHTS).index("cut, 10 neighbours")
LEAST = 0.002
"""Added to shares of links before logarithms are taken."""


def marks(labellings: Sequence[Labels], scene: Scene) -> FloatArray:
    """Return a mark for each labelling of the same objects into the same number of clusters; the highest is best.

    Labels are 0, 1, ..., none of them empty. Only differences between marks mean anything.
    """
    return np.array([mark(terms(labels, scene)) for labels in labellings])


def mark(measured: FloatArray) -> float:
    """Return the mark that follows from the terms of a labelling."""
    return float(measured @ np.array(list(WEIGHTS.values())))


def terms(labels: Labels, scene: Scene) -> FloatArray:
    """Return what is measured of a labelling: the terms of WEIGHTS in their order."""
    sizes = np.bincount(labels).astype(np.float64)
    share = sizes / sizes.sum()
    k = len(sizes)
    few = _cuts(labels, scene.near[:, :FEW_NEIGHBOURS], k)
    many = _cuts(labels, scene.near, k)
    inner = inner_cuts(labels, scene)
    silhouette, calinski, davies = _compactness(labels, scene.rows, sizes)
    information = _information(labels, scene.near[:, :FEW_NEIGHBOURS], share)
    # clusters may lie in one another if neighbours still share their labels, not if they are mixed; few do in texts
    known = information / max(_entropy(share), EVEN) if scene.ours and isinstance(scene.rows, np.ndarray) else 1.0
    return np.array(
        [
            *np.log(np.array([*few, *many]) + LEAST),
            *many[:2],
            float(np.log(inner.mean() + LEAST)),
            float(np.log(inner.min() + LEAST)),
            _pieces(labels, scene.near[:, :FEW_NEIGHBOURS]),
            _entropy(share) / np.log(max(k, 2)),
            max(float(np.log(share.min() * k)), -4.0),
            silhouette,
            float(np.clip(calinski, -2.0, 12.0)),
            float(np.clip(davies, -3.0, 3.0)) * known,
            _gaussian_gain(labels, scene.axes, sizes),
            _border(labels, scene),
            scene.many * information / np.log(max(k, 2)),
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


def _entropy(share: FloatArray) -> float:
    return float(-(share * np.log(share)).sum())


def _information(labels: Labels, near: NDArray[np.int32], share: FloatArray) -> float:
    """How much the label of an object tells about those of its neighbours: their mutual information, in nats.

    A cut alone favours a small tight group, which few links leave, over clusters of even sizes.
    """
    joint = links_of(near, labels, len(share)) / (2.0 * near.size)
    mass = joint.sum(axis=1)
    seen = joint > 0
    return float((joint[seen] * np.log(joint[seen] / np.outer(mass, mass)[seen])).sum())


def inner_cuts(labels: Labels, scene: Scene) -> FloatArray:
    """Return for each cluster the lowest normalised cut found that splits it in two, 1 for clusters of one object.

    The smoothest function on the links inside a cluster, found by repeated averaging over neighbours from the cluster's
    longest direction on, orders its objects; each place in this order is tried.
    """
    from scipy.sparse import csr_array

    n, k = scene.n_objects, int(labels.max()) + 1
    source, target = np.repeat(np.arange(n), scene.near.shape[1]), scene.near.ravel()
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
        value = value * np.where(norm > EVEN, 1.0 / np.maximum(norm, EVEN), 0.0)[labels]
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
    least = 1e-9 * max(float(lengths.max()), 1e-300) ** 0.5
    worst = ((spread[:, None] + spread) / np.maximum(apart, least)).max(axis=1)
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
    middle = float(np.median(scene.radius))
    if not middle > 0:
        return 0.0
    sparse = np.log(np.maximum(scene.radius / middle, 0.01))
    near = scene.near[:, :FEW_NEIGHBOURS]
    source, target = np.repeat(np.arange(len(labels)), near.shape[1]), near.ravel()
    leaving = labels[source] != labels[target]
    usual = np.bincount(labels, sparse) / np.bincount(labels)
    if not leaving.any():
        return 1.0
    source, target = source[leaving], target[leaving]
    here = 0.5 * (sparse[source] + sparse[target])
    there = np.maximum(usual[labels[source]], usual[labels[target]])
    return float(np.clip((here - there).mean(), -1.0, 1.0))

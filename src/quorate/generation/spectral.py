"""The landmark-spectral base clusterer: a transfer cut of the graph of objects and landmarks, then k-means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.coding import narrowest
from quorate.generation.features import Features, Numbers, View
from quorate.generation.kmeans import KMeans, Nearest, Trained, lloyd, random_rows
from quorate.generation.landmarks import Landmarks, Near, SparseLandmarks, find_landmarks
from quorate.ops.landmarks import add_landmark_pairs, count_nonzeros, points_of_rows, scaled_nonzeros, weigh
from quorate.ops.threads import Stop, one_blas_thread
from quorate.solvers.spectral.embedding import (
    TIED,
    SparseMatrix,
    block_size,
    filtered_eigenvectors,
    leading_eigenvectors,
    turned,
    untied,
)

LEAST_LANDMARKS = 1_000
"""Sets of 2,000 to 10,000 objects have so many landmarks; smaller ones have half as many as objects."""

SPARSE_LANDMARKS = 400
"""From so many landmarks on, the graph of landmarks is treated as a sparse matrix, which is several times faster."""

LEAST_VALUE = 1e-6
"""Eigenvalues below this share of the largest are rounding errors; their eigenvectors are left out."""

POINTS = KMeans()
"""The settings of the built-in k-means, which decide how many points of the embedding its k-means is trained on."""

LABEL_ROWS = 4096
"""The number of points that are held in memory at once while objects are labelled."""


@dataclass(frozen=True)
class Spectral:
    """Settings of the landmark-spectral clusterer, ``base="spectral"``; it finds clusters of any shape.

    A member is made in four steps. First landmarks are found in a sample of the objects. Then every object is linked
    with its nearest landmarks. The leading eigenvectors of this graph of objects and landmarks give each object a
    point. Last, the points are clustered by k-means.

    Parameters
    ----------
    landmarks : int
        The largest number of landmarks. There are a tenth as many landmarks as objects, but at least 1,000, or half
        as many as objects if these are fewer.
    neighbours : int
        The number of landmarks that each object is linked with.
    sample : int
        The number of objects per landmark from which the graph is built: ``sample * landmarks`` objects are drawn at
        random, and the others are labelled afterwards as new objects are. If there are at most twice as many objects,
        the graph is built from all of them.
    n_sweeps : int
        The number of sweeps of the k-means that finds the landmarks.
    max_iter : int
        The largest number of sweeps of the k-means that clusters the points.

    Notes
    -----
    Let B (objects x landmarks) hold the weights exp(-d^2 / (2 s^2)) of the links of length d, where s is the mean
    length of a link, and let Dx and Dy be diagonal matrices of the sums of the rows and columns of B. Let v be the
    eigenvectors of Dy^-1/2 B' Dx^-1 B Dy^-1/2 with the k largest eigenvalues. The points of the objects are the rows of
    Dx^-1 B Dy^-1/2 v, scaled to length 1. This is U-SPEC [1]_ with landmarks from k-means in two levels. Sparse rows
    are scaled to length 1 first, so that they are compared by their cosine, and their landmarks are drawn objects.

    A member costs O(n (sqrt(landmarks) + neighbours) d) for the links, O(n k^2) for the points, and work that does not
    depend on n. Values are float32 after a shift and a scale, sums and eigenvectors are float64.

    References
    ----------
    .. [1] D. Huang et al., "Ultra-scalable spectral clustering and ensemble clustering", IEEE TKDE 32 (2020),
       doi:10.1109/TKDE.2019.2903410.
    """

    landmarks: int = 2000
    neighbours: int = 5
    sample: int = 64
    n_sweeps: int = 3
    max_iter: int = 8

    def __post_init__(self) -> None:
        for name in ("landmarks", "neighbours", "sample", "n_sweeps", "max_iter"):
            _check.integer(getattr(self, name), name, low=1)

    def n_landmarks(self, n_rows: int, n_clusters: int) -> int:
        """Return the number of landmarks of so many objects: as many as clusters, if possible."""
        return min(n_rows, self.landmarks, max(min(-(-n_rows // 2), LEAST_LANDMARKS), n_rows // 10, n_clusters))


@dataclass(frozen=True, eq=False)
class Embedded:
    """A spectral member, which can label new objects.

    `landmarks` finds the nearest landmarks of objects, and `width` is the mean length of a link. `table`, of shape
    (p, m), holds the points of the landmarks. `centres`, of shape (k, m), holds the centres of the clusters, each of
    which is the nearest of some object.
    """

    landmarks: Landmarks | SparseLandmarks
    width: float
    table: NDArray[np.float64]
    centres: NDArray[np.float32]
    view: View
    facts: dict[str, Any]

    @property
    def n_clusters(self) -> int:
        return len(self.centres)

    def labels(self, features: Features, rows: Numbers = None, stop: Stop | None = None) -> NDArray[Any]:
        """Return the labels of objects, which may be new, computed in blocks; of those in `rows` if they are given."""
        n_rows = features.n_objects if rows is None else len(rows)
        blocks = features.blocks(rows, self.view)
        return _labels(self, (self.landmarks.search(block) for _, _, block in blocks), n_rows, stop or Stop())


def train_and_label(
    features: Features,
    seen: tuple[Numbers, View],
    n_clusters: int,
    rng: np.random.Generator,
    settings: Spectral,
    stop: Stop,
) -> tuple[Embedded, NDArray[Any] | None]:
    """Compute a member from its objects and columns.

    First the landmarks are found in a small sample of the objects. Then a larger sample is linked with them, and the
    eigenvectors of this graph are computed. Last, k-means finds the centres of the points, or of a sample of them. If
    the graph contains all objects of the member, their labels are returned too, because no second search of landmarks
    is needed for them; otherwise None.
    """
    rows, view = seen
    n_rows = features.n_objects if rows is None else len(rows)
    n_landmarks = settings.n_landmarks(n_rows, n_clusters)
    part = _draw(n_rows, 10 * n_landmarks, rng)
    sample = features.prepared(part if rows is None else rows[part], view)
    with one_blas_thread():
        landmarks = find_landmarks(sample, n_landmarks, settings.neighbours, settings.n_sweeps, rng, stop)
    size = settings.sample * n_landmarks
    drawn = None if n_rows <= 2 * size else np.sort(rng.choice(n_rows, size, replace=False, shuffle=False))
    linked = rows if drawn is None else drawn if rows is None else rows[drawn]
    near = _links(features.taken(linked), (None, view), landmarks, stop)
    width = float(np.sqrt(near[1], dtype=np.float64).mean())
    with one_blas_thread():
        table = _eigenvectors(near, width, len(landmarks), n_clusters, rng)
    stop.check()
    trained = _centres(near, width, table, n_clusters, rng, settings.max_iter, stop)
    facts = {"n_clusters": len(trained.centres), "n_trained": len(near[0]), "n_landmarks": len(landmarks)}
    facts |= {"n_iter": trained.n_iter, "converged": trained.converged}
    member = Embedded(landmarks, width, table, trained.centres, view, facts)
    return member, _labels(member, _in_blocks(near), n_rows, stop) if drawn is None else None


def _labels(member: Embedded, parts: Iterable[Near], n_rows: int, stop: Stop) -> NDArray[Any]:
    labels = np.empty((n_rows, 1), dtype=narrowest(len(member.centres)))
    finder, start = Nearest([member.centres], sparse=False), 0
    for near in parts:
        stop.check()
        end = start + len(near[0])
        finder.write(_points(near, member.width, member.table), labels[start:end])
        start = end
    return labels[:, 0]


def _in_blocks(near: Near) -> Iterator[Near]:
    """Yield the links in blocks, so that the points of all objects are never held in memory at once."""
    for start in range(0, len(near[0]), LABEL_ROWS):
        yield near[0][start : start + LABEL_ROWS], near[1][start : start + LABEL_ROWS]


def _centres(
    near: Near,
    width: float,
    table: NDArray[np.float64],
    n_clusters: int,
    rng: np.random.Generator,
    max_iter: int,
    stop: Stop,
) -> Trained:
    """Run k-means on the points, or on a sample of them."""
    n_rows = len(near[0])
    part = _draw(n_rows, POINTS.sample_size(n_rows, n_clusters, table.shape[1]), rng)
    points = _points((near[0][part], near[1][part]), width, table)
    start = random_rows(points, min(n_clusters, len(points)), rng)
    return lloyd(points, start, (max_iter, 0 if len(points) == n_rows else len(points) // 100), stop)


def _draw(n_rows: int, size: int, rng: np.random.Generator) -> slice | NDArray[np.intp]:
    """Draw `size` rows, in increasing order so that a memory map is read from front to back; all if there are fewer."""
    if size >= n_rows:
        return slice(None)
    return np.sort(rng.choice(n_rows, size, replace=False, shuffle=False))


def _links(features: Features, seen: tuple[Numbers, View], landmarks: Any, stop: Stop) -> Near:
    """Return the nearest landmarks of all objects of a member."""
    parts = []
    for _, _, block in features.blocks(*seen):
        stop.check()
        parts.append(landmarks.search(block))
    near, squared = zip(*parts, strict=True)
    return np.concatenate(near), np.concatenate(squared)


def _weights(squared: NDArray[np.float32], width: float) -> NDArray[np.float32]:
    weight = np.ones_like(squared)
    if width > 0:
        weigh(squared, width, weight)
    return weight


def _points(near: Near, width: float, table: NDArray[np.float64]) -> NDArray[np.float32]:
    points = np.empty((len(near[0]), table.shape[1]), dtype=np.float32)
    points_of_rows(near[0], _weights(near[1], width), table, points)
    return points


def _eigenvectors(
    near: Near, width: float, n_landmarks: int, n_vectors: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the points of the landmarks, of shape (p, m).

    They are the leading eigenvectors of the graph of landmarks, divided by the square roots of the degrees.
    """
    folded = np.zeros((n_landmarks, n_landmarks))
    add_landmark_pairs(near[0], _weights(near[1], width), folded)
    degree = folded.sum(axis=1)
    # a landmark that no object is linked with has degree 0, and its row stays zero
    root = 1.0 / np.sqrt(np.where(degree > 0, degree, 1.0))
    wanted, found = min(n_vectors, n_landmarks), None
    if n_landmarks >= max(SPARSE_LANDMARKS, 4 * block_size(wanted)):
        found = filtered_eigenvectors(_sparse(folded, root), wanted, rng)
    values, vectors = _dense(folded, root, wanted) if found is None else found
    return np.ascontiguousarray(turned(vectors[:, values > LEAST_VALUE * values[0]]) * root[:, None])


def _dense(folded: NDArray[np.float64], root: NDArray[np.float64], wanted: int) -> tuple[Any, Any]:
    matrix, size = folded * root[:, None] * root, len(folded)
    few = min(wanted + 1, size)
    while True:
        values, vectors = leading_eigenvectors(matrix, few)
        if few == size or values[-1] < values[wanted - 1] - TIED:
            return untied(values, vectors, wanted)
        few = min(2 * few, size)


def _sparse(folded: NDArray[np.float64], root: NDArray[np.float64]) -> SparseMatrix:
    indptr = np.empty(len(folded) + 1, dtype=np.int64)
    count_nonzeros(folded, indptr)
    matrix = SparseMatrix(indptr, np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1]))
    scaled_nonzeros(folded, root, *matrix)
    return matrix

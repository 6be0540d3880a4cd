"""The landmark-spectral base clusterer: a transfer cut of the graph of objects and landmarks, then k-means."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.coding import narrowest
from quorate.generation.features import Features, Numbers, View
from quorate.generation.kmeans import KMeans, Nearest, Trained, lloyd, random_rows
from quorate.generation.landmarks import Landmarks, Near, SparseLandmarks, find_landmarks
from quorate.generation.stop import Stop
from quorate.ops.landmarks import add_landmark_pairs, points_of_rows, weigh

LEAST_VALUE = 1e-6
"""Eigenvalues below this share of the largest are rounding errors; their directions are left out."""

POINTS = KMeans()
"""How many points of the embedding k-means is trained on is decided as for the built-in k-means."""

LABEL_ROWS = 4096
"""Points that are held at once while objects are labelled."""


@dataclass(frozen=True)
class Spectral:
    """Settings of the landmark-spectral clusterer, ``base="spectral"``; it finds clusters of any shape.

    Each member draws landmarks of its own, links every object with its nearest landmarks, cuts the graph of objects
    and landmarks by its leading eigenvectors, and clusters the objects' points in them by k-means.

    Parameters
    ----------
    landmarks : int
        Landmarks of a member at most. With fewer than twice as many objects a member takes half of the objects.
    neighbours : int
        Landmarks that each object is linked with.
    sample : int
        Objects for each landmark that the graph is built from: ``sample * landmarks`` of them drawn at random, and the
        others are placed in it afterwards, as new objects are. With at most twice as many objects it is built from all.
    n_sweeps : int
        Sweeps of the k-means that places the landmarks.
    max_iter : int
        Sweeps of the k-means of the points at most.

    Notes
    -----
    With B (objects x landmarks) the weights exp(-d^2 / (2 s^2)) of the links, s the mean length of a link, and Dx and
    Dy the sums of the rows and columns of B: the eigenvectors v of Dy^-1/2 B' Dx^-1 B Dy^-1/2 with the k largest
    eigenvalues are carried to the objects by Dx^-1 B Dy^-1/2 v, and each object's point is scaled to length 1. This
    is U-SPEC [1]_ with landmarks from k-means in two levels. Sparse rows are scaled to length 1 first, so that they
    are compared by their cosine, and their landmarks are objects.

    A member costs O(n (sqrt(landmarks) + neighbours) d) for the links, O(n k^2) for the points, and work that does not
    depend on n. Values are float32 after a shift and a scale, sums float64, eigenvectors float32.

    References
    ----------
    .. [1] D. Huang et al., "Ultra-scalable spectral clustering and ensemble clustering", IEEE TKDE 32 (2020),
       doi:10.1109/TKDE.2019.2903410.
    """

    landmarks: int = 1000
    neighbours: int = 5
    sample: int = 64
    n_sweeps: int = 3
    max_iter: int = 20

    def __post_init__(self) -> None:
        for name in ("landmarks", "neighbours", "sample", "n_sweeps", "max_iter"):
            _check.integer(getattr(self, name), name, low=1)

    def n_landmarks(self, n_rows: int, n_clusters: int) -> int:
        """Half of the objects at most, but as many as clusters where there are so many objects."""
        return min(n_rows, self.landmarks, max(-(-n_rows // 2), n_clusters))


@dataclass(frozen=True, eq=False)
class Embedded:
    """A member: how it finds the landmarks of objects, places objects among them, and labels their points.

    `table` (p, m) holds the landmarks' points, `centres` (k, m) the clusters' centres, none of them without an object.
    """

    landmarks: Landmarks | SparseLandmarks
    width: float
    table: NDArray[np.float64]
    centres: NDArray[np.float32]
    view: View
    facts: dict[str, Any]

    def labels(self, features: Features) -> NDArray[Any]:
        """The labels of objects that may be new."""
        return label_all(self, features, None, Stop())


def train_and_label(
    features: Features,
    seen: tuple[Numbers, View],
    n_clusters: int,
    rng: np.random.Generator,
    settings: Spectral,
    stop: Stop,
) -> tuple[Embedded, NDArray[Any] | None]:
    """The landmarks, the eigenvectors and the centres of a member, from the objects and columns it sees.

    Landmarks come from a small sample of the objects, the graph from a larger one, the centres from some of its
    points. Where the graph holds all objects seen, their labels come with the member: no second search is needed.
    """
    rows, view = seen
    n_rows = features.n_objects if rows is None else len(rows)
    n_landmarks = settings.n_landmarks(n_rows, n_clusters)
    part = _draw(n_rows, 10 * n_landmarks, rng)
    sample = features.prepared(part if rows is None else rows[part], view)
    landmarks = find_landmarks(sample, n_landmarks, settings.neighbours, settings.n_sweeps, rng, stop)
    size = settings.sample * n_landmarks
    drawn = None if n_rows <= 2 * size else np.sort(rng.choice(n_rows, size, replace=False, shuffle=False))
    linked = rows if drawn is None else drawn if rows is None else rows[drawn]
    near = _links(features, (linked, view), landmarks, stop)
    width = float(np.sqrt(near[1], dtype=np.float64).mean())
    with _one_blas_thread():
        table = _eigenvectors(near, width, len(landmarks), n_clusters)
    stop.check()
    found = _centres(near, width, table, n_clusters, rng, settings.max_iter, stop)
    facts = {"n_clusters": len(found.centres), "n_trained": len(near[0]), "n_landmarks": len(landmarks)}
    facts |= {"n_iter": found.n_iter, "converged": found.converged}
    member = Embedded(landmarks, width, table, found.centres, view, facts)
    return member, _labels(member, _in_blocks(near), n_rows, stop) if drawn is None else None


def label_all(member: Embedded, features: Features, rows: Numbers, stop: Stop) -> NDArray[Any]:
    """The labels of all objects, or of those in `rows`, block by block."""
    n_rows = features.n_objects if rows is None else len(rows)
    blocks = features.blocks(rows, member.view)
    return _labels(member, (member.landmarks.search(block) for _, _, block in blocks), n_rows, stop)


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
    """Links in blocks, so that the points of all objects are never held at once."""
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
    """k-means of the points, or of a sample of them."""
    n_rows = len(near[0])
    part = _draw(n_rows, POINTS.sample_size(n_rows, n_clusters, table.shape[1]), rng)
    points = _points((near[0][part], near[1][part]), width, table)
    start = random_rows(points, min(n_clusters, len(points)), rng)
    return lloyd(points, start, (max_iter, 0 if len(points) == n_rows else len(points) // 100), stop)


def _draw(n_rows: int, size: int, rng: np.random.Generator) -> slice | NDArray[np.intp]:
    """Numbers of `size` rows in order, so that a memory map is read from front to back; all if there are not more."""
    if size >= n_rows:
        return slice(None)
    return np.sort(rng.choice(n_rows, size, replace=False, shuffle=False))


def _links(features: Features, seen: tuple[Numbers, View], landmarks: Any, stop: Stop) -> Near:
    """The nearest landmarks of all objects seen."""
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


def _eigenvectors(near: Near, width: float, n_landmarks: int, n_vectors: int) -> NDArray[np.float64]:
    """The landmarks' points (p, m): leading eigenvectors of the folded graph, divided by the roots of the degrees."""
    from scipy.linalg import eigh

    folded = np.zeros((n_landmarks, n_landmarks))
    add_landmark_pairs(near[0], _weights(near[1], width), folded)
    degree = folded.sum(axis=1)
    # a landmark that is nobody's neighbour hangs on nothing, and its row stays zero
    root = 1.0 / np.sqrt(np.where(degree > 0, degree, 1.0))
    folded *= root[:, None]
    folded *= root
    # half the memory is two thirds of the time, and the points are float32 in the end
    single, first = folded.astype(np.float32), n_landmarks - min(n_vectors, n_landmarks)
    values, vectors = eigh(single, subset_by_index=(first, n_landmarks - 1), overwrite_a=True, check_finite=False)
    kept = vectors[:, values > LEAST_VALUE * values[-1]][:, ::-1]
    return np.ascontiguousarray(kept * root[:, None])


_blas_lock = threading.Lock()
_blas_users: list[Any] = []


@cache
def _blas() -> Any:
    """The BLAS libraries of this process, looked for once."""
    import scipy.linalg  # noqa: F401, loads the one that is wanted
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread: its sums depend on its threads, which would also compete with members on threads.

    The limit holds for the whole process; the last thread that leaves lifts it.
    """
    with _blas_lock:
        _blas_users.append(None if _blas_users else _blas().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _blas_lock:
            limits = _blas_users[0]
            _blas_users.pop()
            if not _blas_users:
                limits.restore_original_limits()

"""Finding landmarks in a sample, and the nearest landmarks of objects: exactly, in two steps, or by cosine.

Neighbours of objects are found in the same way, with every object as a landmark.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.generation.kmeans import Nearest, lloyd, random_rows
from quorate.ops.euclidean import pad_columns
from quorate.ops.landmarks import most_similar_landmarks, nearest_landmarks, nearest_landmarks_by_groups, project
from quorate.ops.threads import Stop

Floats = NDArray[np.float32]
Near = tuple[NDArray[np.int32], Floats]
"""The nearest landmarks of each row, the nearest first, and their squared distances, of shape (n_rows, neighbours)."""

EXACT_LANDMARKS = 256
"""Up to this number of landmarks every distance is computed; with more, the search goes through groups of landmarks."""

CANDIDATES = 10
"""The number of landmarks that are compared in the second step of the search, for each neighbour wanted."""

DIRECTIONS = 64
"""Rows with more than twice as many columns are replaced by their coordinates in so many principal directions."""

DIRECTION_ROWS = 2_048
"""The largest number of rows that principal directions are computed from."""

ROWS_AT_ONCE = 256
"""So many of them are held in double precision at once."""

DIMENSION_FROM = 3
"""Distances are compared with that of the last neighbour from this neighbour on: the first ones vary much."""


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Landmarks of dense rows, an array of shape (p, d) in the order of their groups.

    `groups` holds the centres of the groups, and is None if every distance is computed. The landmarks of group j are
    ``starts[j]`` to ``starts[j + 1] - 1``. `around`, of shape (p, c), holds the c landmarks nearest to each landmark.
    If `directions` is not None, rows are projected on these directions before they are compared with landmarks.
    """

    points: Floats
    neighbours: int
    groups: Floats | None
    starts: NDArray[np.int64]
    around: NDArray[np.int32]
    directions: Floats | None = None

    def __len__(self) -> int:
        return len(self.points)

    def search(self, block: Floats) -> Near:
        """Return the nearest landmarks of the rows of a prepared block."""
        near, squared = _empty(len(block), min(self.neighbours, len(self)))
        block = block if self.directions is None else projected(block, self.directions)
        if self.groups is None:
            nearest_landmarks(block, self.points, near, squared)
        else:
            nearest_landmarks_by_groups(block, self.points, self.groups, self.starts, self.around, near, squared)
        return near, squared


@dataclass(frozen=True, eq=False)
class SparseLandmarks:
    """Landmarks of sparse rows, compared by their cosine: a CSR matrix of shape (p, d) with rows of length 1."""

    points: Any
    neighbours: int

    def __len__(self) -> int:
        return int(self.points.shape[0])

    def search(self, block: Any) -> Near:
        """Return the most similar landmarks of the rows of a prepared block."""
        similarity = (unit_rows(block) @ self.points.T).toarray()
        near, squared = _empty(len(similarity), min(self.neighbours, len(self)))
        most_similar_landmarks(np.ascontiguousarray(similarity, dtype=np.float32), near, squared)
        return near, squared


def find_landmarks(
    sample: Any, n_landmarks: int, neighbours: int, n_sweeps: int, rng: np.random.Generator, stop: Stop
) -> Landmarks | SparseLandmarks:
    """Find n_landmarks landmarks in a prepared sample; fewer if it has fewer distinct rows.

    Dense rows with many columns are projected on their principal directions first. Then landmarks are found by k-means
    in two levels: first sqrt(n_landmarks) groups, then the landmarks within each group, so that neither this nor the
    search needs all distances. For sparse rows the landmarks are rows drawn at
    random, which stay sparse.
    """
    if not isinstance(sample, np.ndarray):
        drawn = np.sort(rng.choice(sample.shape[0], n_landmarks, replace=False))
        return SparseLandmarks(unit_rows(sample[drawn]), neighbours)
    directions = principal_directions(sample, rng) if sample.shape[1] > 2 * DIRECTIONS else None
    if directions is not None:
        sample = projected(sample, directions)
    n_groups = max(1, round(math.sqrt(n_landmarks)))
    groups = lloyd(sample, random_rows(sample, n_groups, rng), (n_sweeps, 0), stop).centres
    labels = np.empty((len(sample), 1), dtype=np.int32)
    Nearest([groups], sparse=False).write(sample, labels)
    sizes = np.bincount(labels[:, 0], minlength=len(groups))
    rows = np.split(np.argsort(labels[:, 0], kind="stable"), np.cumsum(sizes)[:-1])
    parts = [
        lloyd(sample[part], random_rows(sample[part], share, rng), (n_sweeps, 0), stop).centres
        for part, share in zip(rows, shares(sizes, n_landmarks), strict=True)
    ]
    points = np.concatenate(parts)
    starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    if len(points) <= EXACT_LANDMARKS:
        return Landmarks(points, neighbours, None, starts, np.empty((0, 0), dtype=np.int32), directions)
    around, squared = _empty(len(points), min(CANDIDATES * neighbours, len(points)))
    nearest_landmarks(points, points, around, squared)
    return Landmarks(points, neighbours, groups, starts, around, directions)


def neighbours_of(points: NDArray[Any], size: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the nearest neighbours of each object, which include the object itself, and their squared distances."""
    rows = np.ascontiguousarray(points, dtype=np.float32)
    n_near = min(size + 1, len(rows))
    nothing = np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.int32)
    return Landmarks(rows, n_near, None, *nothing).search(rows)


def links_of(near: NDArray[np.int32], labels: NDArray[Any], n_clusters: int) -> NDArray[np.float64]:
    """Return the number of links between nearest neighbours of any two clusters, in both directions together."""
    # an object is no neighbour of itself, but these links are within clusters in any case
    pairs = np.repeat(labels, near.shape[1]).astype(np.int64) * n_clusters + labels[near.ravel()]
    counts = np.bincount(pairs, minlength=n_clusters**2).reshape(n_clusters, n_clusters)
    return np.asarray(counts + counts.T, dtype=np.float64)


def dimension_around(squared: NDArray[np.float32]) -> float:
    """Return in how many dimensions objects extend around each of them, from the distances of nearest neighbours.

    In d dimensions the number of neighbours grows with the d-th power of the distance, so that the logarithm of the
    ratio of the distances to neighbours i and j is (1/i + ... + 1/(j - 1)) / d on average. Objects with copies are left
    out; if these are most, or neighbours are few, the answer is 0.

    Parameters
    ----------
    squared : array of shape (n, q + 1)
        Squared distances of the nearest neighbours of each object, in increasing order, the object itself among them.
    """
    far = squared[:, DIMENSION_FROM:].astype(np.float64)
    known = far[(far > 0).all(axis=1)]
    if far.shape[1] < 2 or 2 * len(known) < len(squared):
        return 0.0
    growth = float(np.log(known[:, -1:] / known[:, :-1]).mean()) / 2
    nearer = 1 / np.arange(DIMENSION_FROM, squared.shape[1] - 1)
    expected = float(np.cumsum(nearer[::-1]).mean())
    return expected / growth if growth > 0 else np.inf


def principal_directions(sample: Floats, rng: np.random.Generator) -> Floats:
    """Return DIRECTIONS orthonormal directions in which the rows vary most, of shape (DIRECTIONS, padded width).

    They come from three rounds of subspace iteration with at most DIRECTION_ROWS rows, so that they are approximate.
    The caller limits BLAS to one thread.
    """
    rows = sample[:: -(-len(sample) // DIRECTION_ROWS)]
    mean = rows.mean(axis=0, dtype=np.float64)
    block = rng.standard_normal((sample.shape[1], DIRECTIONS), dtype=np.float32).astype(np.float64)
    for _ in range(3):
        block = np.linalg.qr(_times_scatter(rows, mean, block))[0]
    return pad_columns(block.T.astype(np.float32))


def _times_scatter(rows: Floats, mean: NDArray[np.float64], block: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scatter matrix of the rows times the block, in double precision, which few rows at once are held in.

    In single precision rounding errors, which differ from processor to processor, would reach the labels.
    """
    product = np.zeros_like(block)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = rows[start : start + ROWS_AT_ONCE] - mean
        product += part.T @ (part @ block)
    return product


def projected(rows: Floats, directions: Floats) -> Floats:
    """Return the coordinates of the rows in these directions, of shape (n_rows, n_directions)."""
    result = np.empty((len(rows), len(directions)), dtype=np.float32)
    project(rows, directions, result)
    return result


def shares(sizes: NDArray[np.intp], total: int) -> NDArray[np.int64]:
    """Divide `total` landmarks among groups of these sizes.

    Each group gets a number in proportion to its size, at least one and at most its size. What rounding down leaves
    goes to the largest remainders, the first in a tie. total must be at most the sum of the sizes.
    """
    exact = total * sizes / sizes.sum()
    counts: NDArray[np.int64] = np.clip(exact.astype(np.int64), 1, sizes)
    order = np.argsort(counts - exact, kind="stable")
    while (left := total - int(counts.sum())) > 0:
        for group in order[(counts < sizes)[order]][:left]:
            counts[group] += 1
    return counts


def unit_rows(rows: Any) -> Any:
    """Scale sparse rows to length 1; a row of zeros stays a row of zeros."""
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64)).ravel()
    scaled = rows.copy()
    scaled.data = (rows.data / np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(rows.indptr))).astype(np.float32)
    return scaled


def _empty(n_rows: int, n_near: int) -> Near:
    return np.empty((n_rows, n_near), dtype=np.int32), np.empty((n_rows, n_near), dtype=np.float32)

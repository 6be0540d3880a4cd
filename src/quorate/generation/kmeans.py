"""The built-in k-means: Lloyd on a sample of the objects, then one pass over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.coding import narrowest
from quorate.generation.features import Features, Numbers, View
from quorate.generation.stop import Stop
from quorate.ops.euclidean import (
    add_to_clusters,
    add_to_clusters_csr,
    nearest_centres,
    nearest_centres_csr,
    pad_columns,
)
from quorate.solvers.draws import drawn_by_weight, fill_empty

Array = NDArray[Any]

INITS = ("random", "k-means++")
SMALLEST_SAMPLE = 8_192
"""Objects trained on however few the clusters are; up to here Lloyd always sees everything."""

SAMPLE_VALUES = 1 << 25
"""Values of a sample at most (128 MB), unless 32 objects a cluster are more."""


@dataclass(frozen=True)
class KMeans:
    """Settings of the built-in k-means; ``base=KMeans(...)`` where the defaults will not do.

    Parameters
    ----------
    init : {"random", "k-means++"}
        Start from objects drawn at random, or from spread-out ones. Random starts make more diverse members.
    sample : int or None
        Objects a cluster to train on: with k clusters Lloyd sees ``max(sample * k, 8192)`` objects drawn at
        random (fewer where that would be over 128 MB; never fewer than 32 k), or all if there are not more.
        None: always all, which is Lloyd's algorithm as it stands in the books.
    max_iter : int
        Sweeps at most. Training stops earlier when no object moves, on a sample when fewer than one in a
        hundred do.

    Notes
    -----
    A member costs one pass over the objects seen, O(n k d), plus the training, whose cost does not depend on n.
    Values are float32 after a shift and a scale, sums float64. A cluster that runs empty takes the object
    farthest from its centre; a cluster that cannot be filled (fewer distinct objects than clusters) is left out.
    """

    init: str = "random"
    sample: int | None = 64
    max_iter: int = 100

    def __post_init__(self) -> None:
        _check.choice(self.init, "init", INITS)
        _check.integer(self.max_iter, "max_iter", low=1)
        if self.sample is not None:
            _check.integer(self.sample, "sample", low=1, advice="objects a cluster to train on, or None for all.")

    def sample_size(self, n_rows: int, n_clusters: int, width: int) -> int:
        """How many of n_rows objects of `width` values Lloyd sees."""
        if self.sample is None:
            return n_rows
        wanted = max(self.sample * n_clusters, SMALLEST_SAMPLE)
        return min(n_rows, wanted, max(SAMPLE_VALUES // width, 32 * n_clusters))


class Trained(NamedTuple):
    """Centres (k, width) float32 of prepared rows, none of them without an object, and how they came about."""

    centres: NDArray[np.float32]
    n_sample: int
    n_iter: int
    converged: bool


def train(
    features: Features,
    seen: tuple[Numbers, View],
    n_clusters: int,
    rng: np.random.Generator,
    settings: KMeans,
    stop: Stop,
) -> Trained:
    """Lloyd's algorithm on the objects and columns seen, or on a sample of the objects."""
    rows, view = seen
    n_rows = features.n_objects if rows is None else len(rows)
    size = settings.sample_size(n_rows, n_clusters, view.width(features.n_columns))
    chosen: slice | NDArray[np.intp] = slice(None) if rows is None else rows
    if size < n_rows:
        # in order, so that a memory map is read from front to back
        drawn = np.sort(rng.choice(n_rows, size, replace=False, shuffle=False))
        chosen = drawn if rows is None else rows[drawn]
    sample = features.prepared(chosen, view)
    n_clusters = min(n_clusters, size)
    start = random_rows(sample, n_clusters, rng) if settings.init == "random" else _plus_plus(sample, n_clusters, rng)
    return lloyd(sample, start, (settings.max_iter, size // 100 if size < n_rows else 0), stop)


def assign(features: Features, seen: tuple[Numbers, View], members: list[Array], stop: Stop) -> Array:
    """Labels (n_rows, n_members): the nearest centre of each member for all objects seen, in one pass over X."""
    rows, view = seen
    n_rows = features.n_objects if rows is None else len(rows)
    labels = np.empty((n_rows, len(members)), dtype=narrowest(max(map(len, members))))
    finder = Nearest(members, sparse=features.is_sparse and view.matrix is None)
    for start, end, block in features.blocks(rows, view):
        stop.check()
        finder.write(block, labels[start:end])
    return labels


class Nearest:
    """The centres of one or more members, laid out for the kernels once."""

    def __init__(self, members: list[Array], *, sparse: bool) -> None:
        self._starts = np.concatenate([[0], np.cumsum([len(centres) for centres in members])]).astype(np.int64)
        stacked = np.concatenate(members)
        self._table = np.ascontiguousarray(stacked.T) if sparse else pad_columns(stacked)
        self._bias = (stacked.astype(np.float64) ** 2).sum(axis=1).astype(np.float32)

    def write(self, block: Any, labels: Array) -> None:
        """Labels of a prepared block."""
        if isinstance(block, np.ndarray):
            nearest_centres(block, self._table, self._starts, labels)
        else:
            parts = block.data, block.indices, block.indptr
            nearest_centres_csr(*parts, self._table, self._bias, self._starts, labels)


def cluster_means(blocks: Any, n_clusters: int, width: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Means (k, width) and sizes of clusters from (prepared block, labels) pairs; an empty cluster's mean is 0."""
    sums, counts = np.zeros((n_clusters, width)), np.zeros(n_clusters, dtype=np.int64)
    for block, labels in blocks:
        if isinstance(block, np.ndarray):
            add_to_clusters(block, labels, sums, counts)
        else:
            add_to_clusters_csr(block.data, block.indices, block.indptr, labels, sums, counts)
    return (sums / np.maximum(counts, 1)[:, None]).astype(np.float32), counts


def lloyd(sample: Any, centres: NDArray[np.float32], until: tuple[int, int], stop: Stop) -> Trained:
    """Sweeps `until` (so many sweeps, at most so many objects moved); no centre is left without an object."""
    max_iter, few = until
    old, moved, n_iter = np.full(sample.shape[0], -1, dtype=np.int32), sample.shape[0], 0
    while moved > few and n_iter < max_iter:
        stop.check()
        labels = _labels(sample, centres)
        _fill_empty(sample, centres, labels)
        means, counts = cluster_means([(sample, labels)], len(centres), sample.shape[1])
        moved = int(np.count_nonzero(labels != old))
        # a cluster that could not be filled is left out, and the others change their numbers
        centres, old = means[counts > 0], labels if counts.all() else np.full_like(labels, -1)
        n_iter += 1
    # the last step may have emptied a cluster, and one that was filled may lie on top of another
    sizes = np.bincount(_labels(sample, centres), minlength=len(centres))
    return Trained(np.ascontiguousarray(centres[sizes > 0]), sample.shape[0], n_iter, moved <= few)


def _labels(sample: Any, centres: NDArray[np.float32]) -> NDArray[np.int32]:
    labels = np.empty((sample.shape[0], 1), dtype=np.int32)
    Nearest([centres], sparse=not isinstance(sample, np.ndarray)).write(sample, labels)
    return labels[:, 0]


def _fill_empty(sample: Any, centres: NDArray[np.float32], labels: NDArray[np.int32]) -> None:
    """Give each empty cluster the object farthest from its centre, as long as that is away from it at all."""
    if not np.bincount(labels, minlength=len(centres)).all():
        fill_empty(labels, _own_distances(sample, centres, labels), len(centres), least=0.0)


def _own_distances(sample: Any, centres: NDArray[np.float32], labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """Squared distance of each object to its centre."""
    if isinstance(sample, np.ndarray):
        away = (sample - centres[labels]).astype(np.float64)
        distances: NDArray[np.float64] = np.einsum("ij,ij->i", away, away)
        return distances
    norms = np.asarray(sample.multiply(sample).sum(axis=1), dtype=np.float64).ravel()
    product = (sample @ centres.T)[np.arange(len(labels)), labels]
    squares = (centres.astype(np.float64) ** 2).sum(axis=1)
    # rounding can leave a little where a sparse row is its centre
    left = norms - 2 * product + squares[labels]
    return np.where(left > 1e-6 * (norms + squares[labels]), left, 0.0)


def random_rows(sample: Any, n_clusters: int, rng: np.random.Generator) -> NDArray[np.float32]:
    return _dense(sample[np.sort(rng.choice(sample.shape[0], n_clusters, replace=False))])


def _plus_plus(sample: Any, n_clusters: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """k-means++: each next centre drawn with probability proportional to the squared distance to the nearest."""
    centres = [_dense(sample[[int(rng.integers(sample.shape[0]))]])]
    zeros = np.zeros(sample.shape[0], dtype=np.int32)
    closest = _own_distances(sample, centres[0], zeros)
    while len(centres) < n_clusters:
        if not closest.any():
            break
        centres.append(_dense(sample[drawn_by_weight(closest, rng.random(1))]))
        closest = np.minimum(closest, _own_distances(sample, centres[-1], zeros))
    return np.concatenate(centres)


def _dense(rows: Any) -> NDArray[np.float32]:
    return np.ascontiguousarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float32)

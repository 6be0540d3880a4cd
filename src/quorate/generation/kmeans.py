"""The built-in k-means: Lloyd's algorithm on a sample of the objects, then one pass over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.coding import narrowest
from quorate.generation.features import Features, Numbers, View
from quorate.ops.euclidean import (
    add_to_clusters,
    add_to_clusters_csr,
    nearest_centres,
    nearest_centres_csr,
    pad_columns,
)
from quorate.ops.threads import Stop
from quorate.solvers.label_rows import drawn_by_weight, fill_empty

Array = NDArray[Any]

INITS = ("random", "k-means++")
SMALLEST_SAMPLE = 8_192
"""The smallest number of objects to train on; if there are not more, Lloyd's algorithm runs on all of them."""

SAMPLE_VALUES = 1 << 25
"""The largest number of values in a sample (128 MB), unless 32 objects per cluster are more."""


@dataclass(frozen=True)
class KMeans:
    """Settings of the built-in k-means; pass ``base=KMeans(...)`` to change the defaults.

    A member is made in two steps: Lloyd's algorithm finds the centres on a sample of the objects, then each object
    gets the label of its nearest centre.

    Parameters
    ----------
    init : {"random", "k-means++"}
        The first centres are objects drawn at random, or objects that are far apart. Random starts make more diverse
        members.
    sample : int or None
        The number of objects per cluster to train on: with k clusters Lloyd's algorithm runs on
        ``max(sample * k, 8192)`` objects drawn at random (fewer if these would take over 128 MB, but never fewer than
        32 k), or on all objects if there are not more. With None it always runs on all objects.
    max_iter : int
        The largest number of sweeps. Training on all objects stops earlier if no object moves, and training on a
        sample if at most one in a hundred does.

    Notes
    -----
    A member costs one pass over its n objects, O(n k d), plus the training, whose cost does not depend on n. Values
    are float32 after a shift and a scale, and sums are float64. A cluster that becomes empty takes the object that is
    farthest from its centre. A cluster that cannot be filled, because there are fewer distinct objects than clusters,
    is left out.
    """

    init: str = "random"
    sample: int | None = 64
    max_iter: int = 100

    def __post_init__(self) -> None:
        _check.choice(self.init, "init", INITS)
        _check.integer(self.max_iter, "max_iter", low=1)
        if self.sample is not None:
            _check.integer(self.sample, "sample", low=1, advice="objects per cluster to train on, or None for all.")

    def sample_size(self, n_rows: int, n_clusters: int, width: int) -> int:
        """Return the number of objects to train on, out of n_rows objects of `width` values each."""
        if self.sample is None:
            return n_rows
        wanted = max(self.sample * n_clusters, SMALLEST_SAMPLE)
        return min(n_rows, wanted, max(SAMPLE_VALUES // width, 32 * n_clusters))


class Trained(NamedTuple):
    """Trained centres, and facts about the training.

    `centres` has the shape (k, width), in the units of prepared rows, and every centre is the nearest of some object.
    """

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
    """Run Lloyd's algorithm on the member's objects and columns, or on a sample of these objects."""
    rows, view = seen
    n_rows = features.n_objects if rows is None else len(rows)
    size = settings.sample_size(n_rows, n_clusters, view.width(features.n_columns))
    chosen: slice | NDArray[np.intp] = slice(None) if rows is None else rows
    if size < n_rows:
        # sorted, so that a memory map is read from front to back
        drawn = np.sort(rng.choice(n_rows, size, replace=False, shuffle=False))
        chosen = drawn if rows is None else rows[drawn]
    sample = features.prepared(chosen, view)
    n_clusters = min(n_clusters, size)
    start = random_rows(sample, n_clusters, rng) if settings.init == "random" else plus_plus(sample, n_clusters, rng)
    return lloyd(sample, start, (settings.max_iter, size // 100 if size < n_rows else 0), stop)


def assign(features: Features, seen: tuple[Numbers, View], members: list[Array], stop: Stop) -> Array:
    """Return labels of shape (n_rows, n_members), the nearest centre of each member, in one pass over the objects."""
    rows, view = seen
    n_rows = features.n_objects if rows is None else len(rows)
    labels = np.empty((n_rows, len(members)), dtype=narrowest(max(map(len, members))))
    finder = Nearest(members, sparse=features.is_sparse and view.matrix is None)
    for start, end, block in features.blocks(rows, view):
        stop.check()
        finder.write(block, labels[start:end])
    return labels


class Nearest:
    """Finds nearest centres; the centres of one or more members are laid out for the kernels once."""

    def __init__(self, members: list[Array], *, sparse: bool) -> None:
        self._starts = np.concatenate([[0], np.cumsum([len(centres) for centres in members])]).astype(np.int64)
        stacked = np.concatenate(members)
        self._table = np.ascontiguousarray(stacked.T) if sparse else pad_columns(stacked)
        self._bias = (stacked.astype(np.float64) ** 2).sum(axis=1).astype(np.float32)

    def write(self, block: Any, labels: Array) -> None:
        """Write the labels of a prepared block into `labels`, one column per member."""
        # one type of labels for all kernels: another one would have to be compiled, which takes longer than a copy
        wide = labels if labels.dtype == np.int32 else np.empty(labels.shape, dtype=np.int32)
        if isinstance(block, np.ndarray):
            nearest_centres(block, self._table, self._starts, wide)
        else:
            parts = block.data, block.indices, block.indptr
            nearest_centres_csr(*parts, self._table, self._bias, self._starts, wide)
        if wide is not labels:
            labels[:] = wide


def means_of_blocks(blocks: Any, n_clusters: int, width: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the means, of shape (k, width), and the sizes of clusters from pairs of a prepared block and its labels.

    The mean of an empty cluster is 0.
    """
    sums, counts = np.zeros((n_clusters, width)), np.zeros(n_clusters, dtype=np.int64)
    for block, labels in blocks:
        if isinstance(block, np.ndarray):
            add_to_clusters(block, labels, sums, counts)
        else:
            add_to_clusters_csr(block.data, block.indices, block.indptr, labels, sums, counts)
    return (sums / np.maximum(counts, 1)[:, None]).astype(np.float32), counts


def lloyd(sample: Any, centres: NDArray[np.float32], until: tuple[int, int], stop: Stop) -> Trained:
    """Run Lloyd's algorithm from these centres; no centre is left without an object.

    `until` is a pair: the largest number of sweeps, and the number of moved objects at or below which it stops.
    """
    max_iter, few = until
    old, moved, n_iter = np.full(sample.shape[0], -1, dtype=np.int32), sample.shape[0], 0
    while moved > few and n_iter < max_iter:
        stop.check()
        labels = _labels(sample, centres)
        _fill_empty(sample, centres, labels)
        means, counts = means_of_blocks([(sample, labels)], len(centres), sample.shape[1])
        moved = int(np.count_nonzero(labels != old))
        # a cluster that could not be filled is left out, which renumbers the others, so that old labels mean nothing
        centres, old = means[counts > 0], labels if counts.all() else np.full_like(labels, -1)
        n_iter += 1
    # the last sweep may have emptied a cluster, and a filled cluster may have the same centre as another
    sizes = np.bincount(_labels(sample, centres), minlength=len(centres))
    return Trained(np.ascontiguousarray(centres[sizes > 0]), sample.shape[0], n_iter, moved <= few)


def _labels(sample: Any, centres: NDArray[np.float32]) -> NDArray[np.int32]:
    labels = np.empty((sample.shape[0], 1), dtype=np.int32)
    Nearest([centres], sparse=not isinstance(sample, np.ndarray)).write(sample, labels)
    return labels[:, 0]


def _fill_empty(sample: Any, centres: NDArray[np.float32], labels: NDArray[np.int32]) -> None:
    """Give each empty cluster the object that is farthest from its centre, if its distance is not 0."""
    if not np.bincount(labels, minlength=len(centres)).all():
        fill_empty(labels, _own_distances(sample, centres, labels), len(centres), least=0.0)


def _own_distances(sample: Any, centres: NDArray[np.float32], labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the squared distance of each object to its centre."""
    if isinstance(sample, np.ndarray):
        away = (sample - centres[labels]).astype(np.float64)
        distances: NDArray[np.float64] = np.einsum("ij,ij->i", away, away)
        return distances
    norms = np.asarray(sample.multiply(sample).sum(axis=1), dtype=np.float64).ravel()
    product = (sample @ centres.T)[np.arange(len(labels)), labels]
    squares = (centres.astype(np.float64) ** 2).sum(axis=1)
    # the distance of a sparse row to an equal centre may be slightly above 0 by rounding
    left = norms - 2 * product + squares[labels]
    return np.where(left > 1e-6 * (norms + squares[labels]), left, 0.0)


def random_rows(sample: Any, n_clusters: int, rng: np.random.Generator) -> NDArray[np.float32]:
    return _dense(sample[np.sort(rng.choice(sample.shape[0], n_clusters, replace=False))])


def plus_plus(sample: Any, n_clusters: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Draw the first centres by k-means++.

    Each next centre is drawn with a probability proportional to its squared distance to the nearest centre so far.
    """
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

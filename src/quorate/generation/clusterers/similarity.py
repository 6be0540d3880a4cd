"""Objects prepared for one similarity (Euclidean, cosine, correlation, Jaccard), and k-means under any of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._types import FloatArray
from quorate.solvers.label_rows import drawn_by_weight, fill_empty

Similarity = Literal["euclidean", "cosine", "correlation", "extended_jaccard"]
SIMILARITIES: tuple[Similarity, ...] = ("euclidean", "cosine", "correlation", "extended_jaccard")

BLOCK_VALUES = 1 << 22
"""Number of values in a block of similarities: 32 MB."""


@dataclass(frozen=True, eq=False)
class SimilarityRows:
    """Objects prepared for one similarity.

    `values` (n_objects, n_features) is an array or CSR. Its rows are X minus `shift` for Euclidean distances, scaled to
    length one for cosine, centred and scaled to length one for correlation, and unchanged for extended Jaccard. CSR
    rows are not centred for correlation; the prototypes are centred instead, which gives the same products. `squares`
    are the squared lengths of the rows.
    """

    similarity: Similarity
    values: Any
    squares: FloatArray
    shift: Any

    @property
    def n_objects(self) -> int:
        return int(self.values.shape[0])

    @property
    def is_sparse(self) -> bool:
        return not isinstance(self.values, np.ndarray)

    def prototypes(self, means: FloatArray) -> FloatArray:
        """Return means of rows in the form in which this similarity compares objects with them."""
        if self.similarity == "correlation":
            means = means - means.mean(axis=1, keepdims=True)
        if self.similarity in ("cosine", "correlation"):
            lengths = np.sqrt(np.einsum("kd,kd->k", means, means))
            means = means / np.where(lengths > 0, lengths, 1.0)[:, None]
        return means

    def apart(self, likeness: FloatArray) -> FloatArray:
        """Return the dissimilarity, 0 for equal objects: the squared distance, or one minus the similarity.

        Values that are no larger than rounding errors become 0.
        """
        best = 0.0 if self.similarity == "euclidean" else 1.0
        least = 1e-12 * (float(self.squares.mean()) if self.similarity == "euclidean" else 1.0)
        return np.where(best - likeness > least, best - likeness, 0.0)

    def compare(self, rows: slice | NDArray[np.intp], prototypes: FloatArray) -> FloatArray:
        """Return the similarity (b, k) of some rows with prototypes.

        For Euclidean it is the negative squared distance.
        """
        products: FloatArray = np.asarray(self.values[rows] @ prototypes.T, dtype=np.float64)
        return self.likeness(products, rows, np.einsum("kd,kd->k", prototypes, prototypes))

    def likeness(self, products: FloatArray, rows: slice | NDArray[np.intp], squares: FloatArray) -> FloatArray:
        """Return the similarity (b, k) of some rows with k others from the products and the others' squared lengths."""
        if self.similarity in ("cosine", "correlation"):
            return products
        lengths = self.squares[rows][:, None] + squares
        if self.similarity == "extended_jaccard":
            return extended_jaccard(products, lengths)
        apart: FloatArray = np.minimum(2 * products - lengths, 0.0)
        return apart

    def blocks(self, width: int) -> Iterator[slice]:
        """Yield slices of rows whose similarities with `width` others fill one block."""
        size = max(1, BLOCK_VALUES // max(width, 1))
        for start in range(0, self.n_objects, size):
            yield slice(start, min(start + size, self.n_objects))

    def take(self, rows: NDArray[np.intp]) -> SimilarityRows:
        """Return some of the objects."""
        return replace(self, values=self.values[rows], squares=self.squares[rows])

    def dense(self, rows: NDArray[np.intp]) -> FloatArray:
        """Return a few rows as a float64 array."""
        block = self.values[rows]
        return np.asarray(block.toarray() if self.is_sparse else block, dtype=np.float64)


def extended_jaccard(products: FloatArray, lengths: FloatArray) -> FloatArray:
    """Return x.y / (|x|^2 + |y|^2 - x.y) from the products and the sums of squared lengths.

    It is 1 for two zero vectors.
    """
    rest = lengths - products
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(rest > 0, products / rest, 1.0)


def similarity_rows(X: Any, similarity: Similarity, shift: Any = None) -> SimilarityRows:
    """Prepare X for one similarity.

    X must have been checked: finite floats, an array or CSR. `shift` is that of the rows that a clusterer was fitted
    on, or None to compute it.
    """
    _check.choice(similarity, "similarity", SIMILARITIES)
    sparse = not isinstance(X, np.ndarray)
    if similarity == "euclidean" and not sparse:
        # Near the origin squared lengths are small, so that their differences lose few digits.
        shift = X.mean(axis=0, dtype=np.float64) if shift is None else shift
        values = X - shift
        return SimilarityRows(similarity, values, _squares(values), shift)
    squares = _squares(X)
    if similarity in ("euclidean", "extended_jaccard"):
        return SimilarityRows(similarity, X, squares, None)
    if similarity == "correlation":
        means = np.asarray(X.mean(axis=1), dtype=np.float64).ravel()
        centred = squares - X.shape[1] * means**2 if sparse else _squares(X := X - means[:, None])
        # Whatever remains of a constant row after centring is rounding error.
        squares = np.where(centred > 1e-12 * squares, centred, 0.0)
    factors = 1.0 / np.sqrt(np.where(squares > 0, squares, np.inf))
    values = X.multiply(factors[:, None]).tocsr() if sparse else X * factors[:, None]
    return SimilarityRows(similarity, values, _squares(values), None)


def _squares(values: Any) -> FloatArray:
    if isinstance(values, np.ndarray):
        squares: FloatArray = np.einsum("nd,nd->n", values, values, dtype=np.float64)
        return squares
    return np.asarray(values.multiply(values).sum(axis=1), dtype=np.float64).ravel()


Labels = NDArray[np.int32]


class PrototypeRun(NamedTuple):
    """The result of one run; `quality` is the weighted sum of each object's similarity with its prototype."""

    prototypes: FloatArray
    labels: Labels
    quality: float
    n_iter: int


def cluster_rows(
    rows: SimilarityRows,
    k: int,
    rng: np.random.Generator,
    *,
    weights: FloatArray | None = None,
    n_init: int = 1,
    max_iter: int,
) -> PrototypeRun:
    """Return the best of `n_init` seeded runs.

    Objects of weight 0 are labelled but do not influence the prototypes.
    """
    mass = np.ones(rows.n_objects) if weights is None else weights
    runs = [prototype_kmeans(rows, seeds(rows, k, rng, mass), mass, max_iter) for _ in range(n_init)]
    return max(runs, key=lambda run: run.quality)


def seeds(rows: SimilarityRows, k: int, rng: np.random.Generator, mass: FloatArray) -> FloatArray:
    """Choose prototypes by k-means++.

    Each next prototype is an object drawn by weight times dissimilarity to the nearest prototype so far.
    """
    chosen = drawn_by_weight(mass, rng.random(1)).tolist()
    apart = _apart(rows, chosen[0])
    while len(chosen) < k:
        pull = mass * apart
        # If all objects equal a seed already, any object is taken; its cluster is left out later.
        chosen += drawn_by_weight(pull if pull.sum() > 0 else mass, rng.random(1)).tolist()
        apart = np.minimum(apart, _apart(rows, chosen[-1]))
    return rows.prototypes(rows.dense(np.array(chosen)))


def _apart(rows: SimilarityRows, place: int) -> FloatArray:
    """Return the dissimilarity of all objects to one of them."""
    prototype = rows.prototypes(rows.dense(np.array([place])))
    blocks = rows.blocks(rows.values.shape[1])
    return rows.apart(np.concatenate([rows.compare(block, prototype)[:, 0] for block in blocks]))


def prototype_kmeans(rows: SimilarityRows, prototypes: FloatArray, mass: FloatArray, max_iter: int) -> PrototypeRun:
    """Assign and average until no label changes; no prototype remains without an object while objects differ."""
    k, labels = len(prototypes), np.full(rows.n_objects, -1, dtype=np.int32)
    n_iter = 0
    while True:
        old = labels
        labels, likeness = most_similar(rows, prototypes)
        fill_empty(labels, mass * rows.apart(likeness), k, least=0.0)
        if n_iter == max_iter or np.array_equal(labels, old):
            return PrototypeRun(prototypes, labels, float(mass @ likeness), n_iter)
        prototypes = averages(rows, labels, mass, prototypes)
        n_iter += 1


def most_similar(rows: SimilarityRows, prototypes: FloatArray) -> tuple[Labels, FloatArray]:
    """Return each object's most similar prototype, the first in a tie, and the similarity to it; computed in blocks."""
    labels, likeness = np.empty(rows.n_objects, dtype=np.int32), np.empty(rows.n_objects)
    for block in rows.blocks(len(prototypes)):
        values = rows.compare(block, prototypes)
        labels[block] = np.argmax(values, axis=1)
        likeness[block] = values[np.arange(len(values)), labels[block]]
    return labels, likeness


def sums(rows: SimilarityRows, labels: Labels, mass: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Return the weighted sums (k, n_features) of the rows of each cluster, and the weight of each cluster."""
    from scipy.sparse import csr_array

    members = csr_array((mass, labels, np.arange(rows.n_objects + 1)), shape=(rows.n_objects, k))
    total: Any = members.T @ rows.values
    dense: FloatArray = np.asarray(total.toarray() if rows.is_sparse else total, dtype=np.float64)
    weight: FloatArray = np.bincount(labels, mass, minlength=k).astype(np.float64)
    return dense, weight


def averages(rows: SimilarityRows, labels: Labels, mass: FloatArray, old: FloatArray) -> FloatArray:
    """Return prototypes from the means of the clusters; a cluster without weight keeps its old prototype."""
    total, weight = sums(rows, labels, mass, len(old))
    means = total / np.where(weight > 0, weight, 1.0)[:, None]
    return np.where(weight[:, None] > 0, rows.prototypes(means), old)


def without_gaps(labels: Labels) -> Labels:
    """Renumber labels without gaps, in their old order."""
    codes: Labels = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    return codes

"""Objects prepared for one similarity: Euclidean, cosine, correlation or extended Jaccard, dense or sparse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._types import FloatArray

Similarity = Literal["euclidean", "cosine", "correlation", "extended_jaccard"]
SIMILARITIES: tuple[Similarity, ...] = ("euclidean", "cosine", "correlation", "extended_jaccard")

BLOCK_VALUES = 1 << 22
"""Number of values in a block of similarities: 32 MB."""


@dataclass(frozen=True, eq=False)
class Rows:
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
        if self.similarity in ("cosine", "correlation"):
            return products
        lengths = self.squares[rows][:, None] + np.einsum("kd,kd->k", prototypes, prototypes)
        if self.similarity == "euclidean":
            squares: FloatArray = np.minimum(2 * products - lengths, 0.0)
            return squares
        return jaccard(products, lengths)

    def blocks(self, width: int) -> Iterator[slice]:
        """Yield slices of rows whose similarities with `width` others fill one block."""
        size = max(1, BLOCK_VALUES // max(width, 1))
        for start in range(0, self.n_objects, size):
            yield slice(start, min(start + size, self.n_objects))

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """Return some of the objects."""
        return replace(self, values=self.values[rows], squares=self.squares[rows])

    def dense(self, rows: NDArray[np.intp]) -> FloatArray:
        """Return a few rows as a float64 array."""
        block = self.values[rows]
        return np.asarray(block.toarray() if self.is_sparse else block, dtype=np.float64)


def jaccard(products: FloatArray, lengths: FloatArray) -> FloatArray:
    """Return x.y / (|x|^2 + |y|^2 - x.y) from the products and the sums of squared lengths.

    It is 1 for two zero vectors.
    """
    rest = lengths - products
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(rest > 0, products / rest, 1.0)


def as_rows(X: Any, similarity: Similarity, shift: Any = None) -> Rows:
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
        return Rows(similarity, values, _squares(values), shift)
    squares = _squares(X)
    if similarity in ("euclidean", "extended_jaccard"):
        return Rows(similarity, X, squares, None)
    if similarity == "correlation":
        means = np.asarray(X.mean(axis=1), dtype=np.float64).ravel()
        centred = squares - X.shape[1] * means**2 if sparse else _squares(X := X - means[:, None])
        # Whatever remains of a constant row after centring is rounding error.
        squares = np.where(centred > 1e-12 * squares, centred, 0.0)
    factors = 1.0 / np.sqrt(np.where(squares > 0, squares, np.inf))
    values = X.multiply(factors[:, None]).tocsr() if sparse else X * factors[:, None]
    return Rows(similarity, values, _squares(values), None)


def _squares(values: Any) -> FloatArray:
    if isinstance(values, np.ndarray):
        squares: FloatArray = np.einsum("nd,nd->n", values, values, dtype=np.float64)
        return squares
    return np.asarray(values.multiply(values).sum(axis=1), dtype=np.float64).ravel()

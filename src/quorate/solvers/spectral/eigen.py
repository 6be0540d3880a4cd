"""Leading eigenvectors of symmetric matrices: the one place that asks LAPACK for some of them, and checks them."""

from __future__ import annotations

import numpy as np

from quorate._types import FloatArray

TOLERANCE = 1e-8
"""Largest error allowed in an eigenvalue equation or in an angle between two eigenvectors, relative to the matrix."""


def leading_eigenvectors(matrix: FloatArray, n_components: int) -> tuple[FloatArray, FloatArray]:
    """The largest eigenvalues of a symmetric matrix, in descending order, and their vectors as columns.

    The sign of an eigenvector is free; its largest entry is made positive.

    LAPACK's routine for a part of the eigenvectors is the fastest one, but on some matrices with repeated eigenvalues
    it returns nothing at all (https://github.com/scipy/scipy/issues/13913) or stops with "Internal Error.". Its answer
    is therefore checked, and all eigenvectors are computed by another routine where it is missing or wrong.
    """
    wanted = min(n_components, len(matrix))
    found = _part(matrix, wanted)
    if found is None:
        values, vectors = np.linalg.eigh(matrix)
        found = values[-wanted:], vectors[:, -wanted:]
    values, vectors = found
    return values[::-1], with_signs(vectors[:, ::-1])


def with_signs(vectors: FloatArray) -> FloatArray:
    """The same vectors (columns), each with its largest entry made positive."""
    signed: FloatArray = vectors * np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(vectors.shape[1])])
    return signed


def _part(matrix: FloatArray, wanted: int) -> tuple[FloatArray, FloatArray] | None:
    """The largest eigenvalues, ascending, and their vectors; None where LAPACK has no right answer."""
    from scipy.linalg import LinAlgError, eigh

    size = len(matrix)
    try:
        values, vectors = eigh(matrix, subset_by_index=(size - wanted, size - 1))
    except LinAlgError:
        return None
    if vectors.shape != (size, wanted) or not np.isfinite(vectors).all():
        return None
    limit = TOLERANCE * max(1.0, float(np.abs(matrix).sum(axis=1).max()))
    apart = np.abs(vectors.T @ vectors - np.eye(wanted)).max()
    error = np.abs(matrix @ vectors - vectors * values).max()
    return (values, vectors) if apart <= TOLERANCE and error <= limit else None

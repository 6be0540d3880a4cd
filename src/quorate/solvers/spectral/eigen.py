"""Leading eigenvectors of symmetric matrices: by LAPACK, and of large sparse ones by Chebyshev-filtered iteration."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import FloatArray
from quorate.ops.landmarks import recurrence
from quorate.ops.threads import one_blas_thread

MANY_ROWS = 1_500
"""Matrices with fewer rows are solved by one thread. More threads gain little there, and they wait for one another by
spinning: beside other processes, on two cores, 300 rows took 1.4 s with two threads and 0.01 s with one."""
TOLERANCE = 1e-8
"""Largest error allowed in an eigenvalue equation or in an angle between two eigenvectors, relative to the matrix."""


def leading_eigenvectors(matrix: FloatArray, n_components: int) -> tuple[FloatArray, FloatArray]:
    """The largest eigenvalues of a symmetric matrix, in descending order, and their vectors as columns.

    The sign of an eigenvector is free; its largest entry is made positive.

    LAPACK's routine for a part of the eigenvectors is the fastest one, but on some matrices with repeated eigenvalues
    it returns nothing at all (https://github.com/scipy/scipy/issues/13913) or stops with "Internal Error.". Its answer
    is therefore checked, and all eigenvectors are computed by another routine where it is missing or wrong.
    """
    with one_blas_thread() if len(matrix) < MANY_ROWS else nullcontext():
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


Floats = NDArray[np.float32]

DEGREE = 10
"""The degree of the polynomial that damps the unwanted eigenvectors in one round."""
FILTER_TOLERANCE = 0.05
"""Rounds end if no wanted vector misses its eigenvalue equation by more than this share of the distance between the
lowest wanted eigenvalue and the lowest of the block, which bounds the sine of its angle with the right space."""
LEAST_TOLERANCE = 2e-6
"""Errors below this cannot be expected of float32."""
MOST_ROUNDS = 8
FIRST_CUT = 0.6
"""The value below which eigenvectors are damped in the first round, when none of the eigenvalues is known."""


class SparseMatrix(NamedTuple):
    """A symmetric matrix in CSR form, float32, whose eigenvalues lie between 0 and 1."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: Floats

    def __len__(self) -> int:
        return len(self.indptr) - 1


def block_size(n_vectors: int) -> int:
    """Return the number of vectors that are iterated: more than wanted, because the last ones converge slowly."""
    return -(-(n_vectors + n_vectors // 4 + 8) // 8) * 8


def filtered_eigenvectors(matrix: SparseMatrix, n_vectors: int, rng: np.random.Generator) -> tuple[Any, Any] | None:
    """Return the n_vectors largest eigenvalues, in descending order, and their vectors as columns, float32.

    None is returned if they do not converge within MOST_ROUNDS rounds, because too many eigenvalues are nearly equal.

    Each round has three steps. First a polynomial of the matrix multiplies all vectors of a block. The polynomial is
    small on [0, cut] and grows fast above, so that the wanted vectors become large in comparison with the others. Then
    the block is made orthonormal. Last, the eigenvectors of the matrix within the block are computed, and the lowest of
    their eigenvalues is the cut of the next round. The first block is drawn at random.

    See Also
    --------
    leading_eigenvectors : For dense matrices; exact, and faster up to a few hundred rows.

    Notes
    -----
    A round costs DEGREE products of the matrix and the block, and O(p b^2) for p rows and a block of b vectors. Real
    data need two or three rounds. The method is that of Y. Zhou et al., "Self-consistent-field calculations using
    Chebyshev-filtered subspace iteration", Journal of Computational Physics 219 (2006), doi:10.1016/j.jcp.2006.03.017.
    """
    block = rng.standard_normal((len(matrix), block_size(n_vectors)), dtype=np.float32)
    cut = FIRST_CUT
    for _ in range(MOST_ROUNDS):
        basis = np.linalg.qr(_filtered(matrix, block, cut))[0]
        product = _product(matrix, basis)
        values, turn = np.linalg.eigh(basis.T @ product)
        block = np.ascontiguousarray(basis @ turn)
        cut = min(max(float(values[0]), 0.01), 0.999)
        missed = (product @ turn - block * values)[:, -n_vectors:]
        allowed = max(LEAST_TOLERANCE, FILTER_TOLERANCE * float(values[-n_vectors] - values[0]))
        if np.einsum("ij,ij->j", missed, missed).max() <= allowed**2:
            return values[: -n_vectors - 1 : -1], block[:, : -n_vectors - 1 : -1]
    return None


def _filtered(matrix: SparseMatrix, block: Floats, cut: float) -> Floats:
    """Return the Chebyshev polynomial of degree DEGREE on [0, cut] of the matrix, times the block."""
    inverse = 2.0 / cut
    previous, current = block, np.empty_like(block)
    recurrence(*matrix, block, block, np.array([inverse, 1.0, 0.0], dtype=np.float32), current)
    factors = np.array([2.0 * inverse, 2.0, 1.0], dtype=np.float32)
    for _ in range(DEGREE - 1):
        recurrence(*matrix, current, previous, factors, previous)
        previous, current = current, previous
    # the polynomial is huge at 1; its size is divided out, so that squares do not overflow
    largest = np.abs(current).max()
    return current / largest if largest > 0 else current


def _product(matrix: SparseMatrix, block: Floats) -> Floats:
    result = np.empty_like(block)
    recurrence(*matrix, block, block, np.array([1.0, 0.0, 0.0], dtype=np.float32), result)
    return result

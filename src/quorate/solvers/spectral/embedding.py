"""Leading singular vectors of the normalised one-hot rows: a feature space in which close means co-associated."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate._types import Ensemble, FloatArray
from quorate.solvers.spectral.eigen import with_signs

DENSE_SIDE = 1500
"""Up to this many rows or base clusters the small Gram matrix is decomposed whole; above, Lanczos takes over."""


def one_hot(ensemble: Ensemble) -> Any:
    """Sparse (m, d) matrix of square roots of member weights; its product with itself is the shared weight."""
    from scipy.sparse import csr_array

    known = ensemble.labels >= 0
    row, member = np.nonzero(known)
    columns = (ensemble.labels + ensemble.offsets[:-1])[known]
    shape = (ensemble.n_rows, int(ensemble.offsets[-1]))
    return csr_array((np.sqrt(ensemble.weights)[member], (row, columns)), shape=shape)


def spectral_embedding(
    ensemble: Ensemble, n_components: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Points of length 1, one a row, and the singular values; directions without weight are left out.

    A row of c objects stands for c equal rows of the matrix over objects, whose eigenvectors these are.
    """
    from scipy.sparse import diags_array

    rows = one_hot(ensemble)
    degree = rows @ (rows.T @ ensemble.counts.astype(np.float64))
    matrix = diags_array(np.sqrt(ensemble.counts / degree)) @ rows
    vectors, values = _left_singular(matrix.tocsr(), n_components, rng)
    vectors = with_signs(vectors)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    points: FloatArray = vectors / np.where(length > 0, length, 1)
    return points, values


def _left_singular(matrix: Any, n_components: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    side = min(matrix.shape)
    if side > max(DENSE_SIDE, 2 * n_components):
        from scipy.sparse.linalg import svds

        vectors, values, _ = svds(matrix, k=n_components, v0=rng.random(side))
        order = np.argsort(-values)
        return vectors[:, order], values[order]
    wide = matrix.shape[0] <= matrix.shape[1]
    gram = (matrix @ matrix.T if wide else matrix.T @ matrix).toarray()
    squares, vectors = np.linalg.eigh(gram)
    squares, vectors = squares[::-1][:n_components], vectors[:, ::-1][:, :n_components]
    # squaring leaves nothing of singular values below the root of the rounding
    kept = squares > 1e-12 * squares[0]
    values = np.sqrt(squares[kept])
    return (vectors[:, kept] if wide else matrix @ vectors[:, kept] / values), values

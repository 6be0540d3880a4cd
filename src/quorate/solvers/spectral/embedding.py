"""Leading singular vectors of the normalised one-hot rows: a space in which co-associated rows lie close together."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate._types import Ensemble, FloatArray
from quorate.solvers.label_rows import one_hot
from quorate.solvers.spectral.eigen import with_signs
from quorate.solvers.weights import cluster_weights

DENSE_SIDE = 1500
"""Up to this many rows or base clusters the small Gram matrix is decomposed whole, above by Lanczos iterations."""


def root_weighted_rows(ensemble: Ensemble) -> Any:
    """The sparse one-hot rows (m, d) with square roots of member weights as entries.

    The product of this matrix with its own transpose is the weight of the members that join two rows.
    """
    rows = one_hot(ensemble)
    rows.data = np.sqrt(cluster_weights(ensemble))[rows.indices]
    return rows


def spectral_embedding(
    ensemble: Ensemble, n_components: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """One point of length 1 per row, and the singular values; directions without weight are left out.

    A row of c objects stands for c equal rows of the matrix over objects, whose eigenvectors these are.
    """
    from scipy.sparse import diags_array

    rows = root_weighted_rows(ensemble)
    # without a common factor, for as many objects of each row again are the same matrix
    counts = ensemble.counts // np.gcd.reduce(ensemble.counts)
    degree = rows @ (rows.T @ counts.astype(np.float64))
    matrix = diags_array(np.sqrt(counts / degree)) @ rows
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

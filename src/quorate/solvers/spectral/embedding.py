"""Embeddings: leading singular vectors of one-hot rows, and base clusters by random walks."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate._types import Ensemble, FloatArray
from quorate.solvers.label_rows import one_hot
from quorate.solvers.local_weights import cluster_overlap
from quorate.solvers.spectral.eigen import leading_eigenvectors, with_signs
from quorate.solvers.weights import WEIGHT_UNIT, cluster_weights

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


def propagated_similarity(ensemble: Ensemble, steps: int) -> FloatArray:
    """Cosines (d, d) between the walks of all base clusters.

    A walk is described by the probabilities of its places after 1, 2, ..., `steps` steps. A step goes to a cluster with
    probability proportional to its Jaccard index times its member's weight; the index of a cluster with itself is 1.
    """
    overlap = cluster_overlap(ensemble)
    np.fill_diagonal(overlap, 1.0)
    overlap *= cluster_weights(ensemble)
    step = overlap / overlap.sum(axis=1, keepdims=True)
    reached, products = step, np.zeros_like(step)
    for place in range(steps):
        reached = reached @ step if place else step
        products += reached @ reached.T
    length = np.sqrt(np.diag(products))
    cosine = products / np.outer(length, length)
    similarity: FloatArray = np.rint((cosine + cosine.T) / 2 * WEIGHT_UNIT) / WEIGHT_UNIT
    np.fill_diagonal(similarity, 1.0)
    return similarity


def leading_directions(similarity: FloatArray, n_components: int) -> FloatArray:
    """One point of length 1 per vertex, from the leading eigenvectors of the normalised similarity matrix."""
    degree = similarity.sum(axis=1)
    _, vectors = leading_eigenvectors(similarity / np.sqrt(np.outer(degree, degree)), n_components)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    points: FloatArray = np.ascontiguousarray(vectors / np.where(length > 0, length, 1))
    return points

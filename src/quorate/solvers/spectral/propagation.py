"""Similarity of base clusters carried along random walks: clusters are alike that are reached from alike."""

from __future__ import annotations

import numpy as np

from quorate._types import Ensemble, FloatArray
from quorate.solvers.label_space.lookup import column_weights
from quorate.solvers.overlaps import jaccard
from quorate.solvers.spectral.eigen import leading_eigenvectors

UNIT = 2.0**20
"""Similarities are kept as multiples of 2^-20, so that what is equal but for rounding is equal."""


def propagated_similarity(ensemble: Ensemble, steps: int) -> FloatArray:
    """Cosines (d, d) between the walks of all base clusters: where they may be after 1, 2, ..., `steps` steps.

    A step goes to a cluster by its Jaccard index times its member's weight; a cluster overlaps with itself by 1.
    """
    overlap = jaccard(ensemble)
    np.fill_diagonal(overlap, 1.0)
    overlap *= column_weights(ensemble)
    step = overlap / overlap.sum(axis=1, keepdims=True)
    reached, products = step, np.zeros_like(step)
    for place in range(steps):
        reached = reached @ step if place else step
        products += reached @ reached.T
    length = np.sqrt(np.diag(products))
    cosine = products / np.outer(length, length)
    similarity: FloatArray = np.rint((cosine + cosine.T) / 2 * UNIT) / UNIT
    np.fill_diagonal(similarity, 1.0)
    return similarity


def leading_directions(similarity: FloatArray, n_components: int) -> FloatArray:
    """Points of length 1, one a vertex, from the leading eigenvectors of the normalised similarity matrix."""
    degree = similarity.sum(axis=1)
    _, vectors = leading_eigenvectors(similarity / np.sqrt(np.outer(degree, degree)), n_components)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    points: FloatArray = np.ascontiguousarray(vectors / np.where(length > 0, length, 1))
    return points

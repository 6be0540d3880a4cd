"""Similarity of base clusters by random walks: two clusters are similar if walks from them visit the same clusters."""

from __future__ import annotations

import numpy as np

from quorate._types import Ensemble, FloatArray
from quorate.solvers.overlaps import jaccard
from quorate.solvers.spectral.eigen import leading_eigenvectors
from quorate.solvers.weights import WEIGHT_UNIT, cluster_weights


def propagated_similarity(ensemble: Ensemble, steps: int) -> FloatArray:
    """Cosines (d, d) between the walks of all base clusters.

    A walk is described by the probabilities of its places after 1, 2, ..., `steps` steps. A step goes to a cluster with
    probability proportional to its Jaccard index times its member's weight; the index of a cluster with itself is 1.
    """
    overlap = jaccard(ensemble)
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

"""From the graph folded onto the base clusters to what each cluster adds to the points of its rows."""

from __future__ import annotations

import numpy as np

from quorate._types import FloatArray
from quorate.solvers.spectral.eigen import leading_eigenvectors

LEAST_VALUE = 1e-12
"""Eigenvalues below this share of the largest are rounding errors; their directions are left out."""


def folded_table(shared: FloatArray, weights: FloatArray, n_components: int) -> tuple[FloatArray, FloatArray]:
    """What a row adds up over its base clusters to get its point, (d, k), and the eigenvalues.

    `shared` (d, d) is the sum of the masses of the rows that any two clusters share.
    """
    return point_table(*folded_leading(shared, weights, n_components), weights)


def folded_leading(
    shared: FloatArray, weights: FloatArray, n_components: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The degrees of the clusters in the folded graph, and its leading eigenvalues and eigenvectors."""
    folded = shared * np.outer(weights, weights)
    cluster_degree = folded.sum(axis=1)
    normalised = folded / np.sqrt(np.outer(cluster_degree, cluster_degree))
    return (cluster_degree, *leading_eigenvectors(normalised, n_components))


def point_table(
    cluster_degree: FloatArray, values: FloatArray, vectors: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The table of `folded_table` from eigenvectors (d, k); directions without weight are left out."""
    kept = values > LEAST_VALUE * values[0]
    vectors, values = vectors[:, kept], values[kept]
    return np.ascontiguousarray(vectors * (weights / np.sqrt(cluster_degree))[:, None]), values

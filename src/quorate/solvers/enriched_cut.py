"""Normalised cut of rows whose similarity runs through similar clusters of a member, not only through shared ones."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from quorate._types import Ensemble, FloatArray
from quorate.ops.bipartite import row_degrees, unit_sums
from quorate.ops.threads import map_blocks
from quorate.solvers.eigen import leading_eigenvectors
from quorate.solvers.overlaps import fold
from quorate.solvers.transfer_cut import LEAST_VALUE


def member_similarities(
    ensemble: Ensemble, certainty: FloatArray, walks: FloatArray, share: float
) -> list[FloatArray]:
    """For each member the similarity of its clusters (k, k), times the member's weight.

    certainty (d,) counts for a cluster with itself; walks (d, d), of which only the blocks of members are read, for
    all pairs; `share` is that of the walks.
    """
    return [
        weight * ((1 - share) * np.diag(np.maximum(certainty[start:stop], 1e-9)) + share * walks[start:stop, start:stop])
        for weight, (start, stop) in zip(ensemble.weights, pairwise(ensemble.offsets.tolist()), strict=True)
    ]


def enriched_embedding(
    ensemble: Ensemble, similarities: list[FloatArray], n_components: int
) -> tuple[FloatArray, FloatArray]:
    """Points of length 1, one for each row, and the eigenvalues of the normalised graph, the largest (1) first."""
    # twice the objects is the same graph; without the common factor it is so to the last bit
    counts = ensemble.counts // np.gcd.reduce(ensemble.counts)
    labels, offsets = ensemble.labels, ensemble.offsets
    both = fold(ensemble, counts.astype(np.float64))
    reach = _times(similarities, offsets, np.diag(both)[:, None])[:, 0]
    degree = np.empty(ensemble.n_rows)
    map_blocks(lambda start, stop: row_degrees(labels, offsets, reach, start, stop, degree), ensemble.n_rows)
    roots = [_square_root(block) for block in similarities]
    half = _times(roots, offsets, fold(ensemble, counts / degree))
    folded = _times(roots, offsets, half.T)
    values, vectors = leading_eigenvectors((folded + folded.T) / 2, n_components)
    kept = values > LEAST_VALUE * values[0]
    table = np.ascontiguousarray(_times(roots, offsets, vectors[:, kept]))
    points = np.empty((ensemble.n_rows, table.shape[1]))
    map_blocks(lambda start, stop: unit_sums(labels, offsets, table, start, stop, points), ensemble.n_rows)
    return points, values[kept]


def _times(blocks: list[FloatArray], offsets: FloatArray, matrix: FloatArray) -> FloatArray:
    """The block-diagonal matrix times another one."""
    parts = (matrix[start:stop] for start, stop in pairwise(offsets.tolist()))
    return np.concatenate([block @ part for block, part in zip(blocks, parts, strict=True)])


def _square_root(matrix: FloatArray) -> FloatArray:
    """The symmetric square root of a positive semidefinite matrix; rounding below zero is taken for zero."""
    values, vectors = np.linalg.eigh(matrix)
    root: FloatArray = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return root

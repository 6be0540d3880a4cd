"""What any two base clusters have in common."""

from __future__ import annotations

import numpy as np

from quorate._types import Ensemble, FloatArray
from quorate.ops.bipartite import add_pairs
from quorate.ops.threads import map_fixed_blocks

FOLD_ROWS = 65_536
"""The least number of rows per thread: each thread needs a matrix of its own."""


def fold(ensemble: Ensemble, mass: FloatArray) -> FloatArray:
    """For any two base clusters the sum of mass over the rows they share, (d, d)."""
    n_clusters = int(ensemble.offsets[-1])

    def block(start: int, stop: int) -> FloatArray:
        table = np.zeros((n_clusters, n_clusters))
        add_pairs(ensemble.labels, ensemble.offsets, mass, start, stop, table)
        return table

    blocks = map_fixed_blocks(block, ensemble.n_rows, max(FOLD_ROWS, -(-ensemble.n_rows // 4)))
    upper: FloatArray = np.sum(blocks, axis=0)
    return upper + upper.T - np.diag(np.diag(upper))


def jaccard(ensemble: Ensemble) -> FloatArray:
    """The Jaccard index (d, d) of any two base clusters, in objects; 0 within a member and on the diagonal."""
    both = fold(ensemble, ensemble.counts.astype(np.float64))
    sizes = np.diag(both).copy()
    overlap: FloatArray = both / (sizes[:, None] + sizes - both)
    np.fill_diagonal(overlap, 0)
    return overlap

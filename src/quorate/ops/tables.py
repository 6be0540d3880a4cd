"""Count tables between members' clusters and a labelling, and look-ups in them: the kernels of label space."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def cluster_counts(
    labels: NDArray[Any],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    assignment: NDArray[np.int32],
    n_clusters: int,
) -> NDArray[np.int64]:
    """Contingency tables of an assignment with every member at once, stacked: (d, n_clusters) int64.

    labels (m, H), counts (m,), assignment (m,) int32 with values below n_clusters, -1 skips the row.
    Row offsets[q] + f of the result belongs to cluster f of member q; missing labels are not counted.
    """
    table = np.zeros((offsets[-1], n_clusters), dtype=np.int64)
    for row in range(labels.shape[0]):
        cluster = assignment[row]
        if cluster < 0:
            continue
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0:
                table[offsets[member] + label, cluster] += counts[row]
    return table

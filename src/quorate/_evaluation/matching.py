"""Clusters of one labelling matched with those of another, so that the same colour means the same cluster."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quorate._data.alignment import aligned_result
from quorate._data.compression import compress
from quorate._data.ensemble import as_ensemble
from quorate._evaluation.binning import LabelledRows
from quorate._types import Consensus, IntArray
from quorate.ops.tables import cluster_counts
from quorate.solvers.contingency import contingency


def translated(labelled: LabelledRows) -> IntArray:
    """Replace the members' labels by the cluster of the labelling with which each base cluster shares most objects.

    Missing labels remain -1.
    """
    rows = labelled.rows
    table = cluster_counts(rows.labels, rows.offsets, rows.counts, labelled.labels, labelled.n_clusters)
    closest = table.argmax(axis=1)
    return np.where(rows.labels >= 0, closest[rows.offsets[:-1] + np.maximum(rows.labels, 0)], -1)


def matched_rows(results: Sequence[Consensus]) -> tuple[IntArray, NDArray[np.int64]]:
    """Return the distinct rows of labels over several results, and their counts, with clusters matched across results.

    A cluster keeps the number of the cluster in the result before with which it is matched (by the Hungarian method),
    and gets a new number if there is none.
    """
    first, *others = results
    aligned = [first, *(aligned_result(other, first.object_ids, "a result") for other in others)]
    rows, _ = compress(as_ensemble([result.labels for result in aligned], orientation="members", check=False))
    columns = [rows.labels[:, 0].astype(np.int64)]
    for member in range(1, rows.n_members):
        columns.append(matched(columns[-1], rows.labels[:, member].astype(np.int64), rows.counts))
    return np.column_stack(columns), rows.counts


def matched(before: IntArray, labels: IntArray, counts: NDArray[np.int64]) -> IntArray:
    """Renumber labels by the clusters of `before` that they are matched with.

    Clusters without a match get new numbers.
    """
    from scipy.optimize import linear_sum_assignment

    n_before, n_labels = int(before.max()) + 1, int(labels.max()) + 1
    table = contingency(before, labels, n_before, n_labels, counts)
    shared = np.zeros((n_before, n_labels))
    shared[table.first, table.second] = table.counts
    old, new = linear_sum_assignment(shared, maximize=True)
    met = shared[old, new] > 0
    number = np.full(n_labels, -1, dtype=np.int64)
    number[new[met]] = old[met]
    missing = number < 0
    number[missing] = n_before + np.arange(int(missing.sum()))
    return number[labels]

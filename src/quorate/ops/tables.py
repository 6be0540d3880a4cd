"""Count tables between the members' clusters and a labelling, and look-ups in them: the kernels of label space."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.ops.compiling import njit


@njit(cache=True, nogil=True)
def cluster_counts(
    labels: NDArray[Any],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    assignment: NDArray[np.int32],
    n_clusters: int,
) -> NDArray[np.int64]:
    """Return the contingency tables of an assignment with every member, stacked into one (d, n_clusters) int64 table.

    labels is (m, H); counts (m,); assignment (m,) int32 holds values below n_clusters, and -1 skips the row. Row
    offsets[q] + f of the result belongs to cluster f of member q; missing labels are not counted.
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


@njit(cache=True, nogil=True)
def nearest_clusters(labels, offsets, table, scale, bias, factor, start, stop, nearest, score):
    """Assign rows start..stop-1 to argmin_c factor * bias[c] - scale[c] * sum_q table[label of q, c].

    labels is (m, H); table is (d, width) with width >= K, and the clusters of a row of it are contiguous, so that the
    sums run in vector registers; scale and bias are (K,); factor is (m,), or (1,) if it is the same for all rows.
    nearest (m,) int32 and score (m,), the least value, are written. Ties go to the lowest c. The sums are exact for an
    integer table; they are converted to floating point once, at the comparison.
    """
    total = np.zeros(table.shape[1], dtype=table.dtype)
    for row in range(start, stop):
        total[:] = 0
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0:
                place = offsets[member] + label
                for cluster in range(table.shape[1]):
                    total[cluster] += table[place, cluster]
        best, least = 0, np.inf
        pull = factor[row if factor.size > 1 else 0]
        for cluster in range(bias.size):
            value = pull * bias[cluster] - scale[cluster] * total[cluster]
            if value < least:
                best, least = cluster, value
        nearest[row] = best
        score[row] = least


@njit(cache=True, nogil=True)
def move_rows(labels, offsets, counts, masses, old, new, table, mass):
    """Update table (d, width) and mass (K,) from assignment `old` to `new`; return the number of rows moved.

    A row adds counts[row] to the table and masses[row] to the mass of its cluster. old (m,) is overwritten with new; an
    old cluster of -1 means that the row was not counted yet.
    """
    moved = 0
    for row in range(labels.shape[0]):
        source, target = old[row], new[row]
        if source == target:
            continue
        moved += 1
        old[row] = target
        mass[target] += masses[row]
        if source >= 0:
            mass[source] -= masses[row]
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0:
                place = offsets[member] + label
                table[place, target] += counts[row]
                if source >= 0:
                    table[place, source] -= counts[row]
    return moved


@njit(cache=True, nogil=True)
def agreement(labels, weights, pivot, start, stop, result):
    """Write to result[i] the weight of the members in which rows i and pivot have the same known label.

    Only rows start..stop-1 are written.
    """
    for row in range(start, stop):
        total = 0.0
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0 and label == labels[pivot, member]:
                total += weights[member]
        result[row] = total


@njit(cache=True, nogil=True)
def own_and_rival(labels, offsets, table, assignment, start, stop, own, rival, runner_up):
    """Sum table[label, c] over the members, for the own cluster c of a row and for the best other cluster.

    own (m,) receives the sum for the own cluster and rival (m,) the largest sum over the other clusters, or 0 if there
    is no other. runner_up (m,) int32 receives the other cluster with the largest sum, the lowest in a tie, or -1 if all
    these sums are 0. Only rows start..stop-1 are written. Shapes: labels (m, H); table (d, K) float64, not negative;
    assignment (m,).
    """
    total = np.zeros(table.shape[1])
    for row in range(start, stop):
        total[:] = 0
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0:
                place = offsets[member] + label
                for cluster in range(table.shape[1]):
                    total[cluster] += table[place, cluster]
        own[row] = total[assignment[row]]
        total[assignment[row]] = 0.0
        best = total.argmax()
        rival[row] = total[best]
        runner_up[row] = best if total[best] > 0.0 else -1


@njit(cache=True, nogil=True)
def sparse_own_and_rival(labels, offsets, sparse, assignment, n_clusters, start, stop, own, rival, runner_up):
    """Do what `own_and_rival` does with a table of which only the entries above 0 are kept.

    sparse: three arrays; row f of the table has the entries values[starts[f]:starts[f + 1]], all above 0, in the
    columns columns[starts[f]:starts[f + 1]], which are below n_clusters. A row with the assignment -1 has no cluster of
    its own, and `own` is 0 there. The sums are added up in the order of the members, as in `own_and_rival`, so that
    they are the same to the last bit.
    """
    starts, columns, values = sparse
    total = np.zeros(n_clusters)
    touched = np.empty(n_clusters, dtype=np.int64)
    for row in range(start, stop):
        n_touched = 0
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0:
                place = offsets[member] + label
                for entry in range(starts[place], starts[place + 1]):
                    column = columns[entry]
                    if total[column] == 0:
                        touched[n_touched] = column
                        n_touched += 1
                    total[column] += values[entry]
        own[row] = total[assignment[row]] if assignment[row] >= 0 else 0.0
        rival[row], runner_up[row] = 0.0, -1
        for place in range(n_touched):
            column = touched[place]
            value = total[column]
            total[column] = 0.0
            if column == assignment[row]:
                continue
            if value > rival[row] or (value == rival[row] and column < runner_up[row]):
                rival[row], runner_up[row] = value, column

"""Count tables between members' clusters and a labelling, look-ups in them, competition, and mixtures."""

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
def label_own_and_rival(labels, offsets, table, assignment, start, stop, own, rival, runner_up):
    """Sum table[label, c] over the members, for the own cluster c of a row and for the best other cluster.

    own (m,) receives the sum for the own cluster and rival (m,) the largest sum over the other clusters, or 0 if there
    is no other. runner_up (m,) int32 receives the other cluster with the largest sum, the lowest in a tie, or -1 if all
    these sums are 0. Only rows start..stop-1 are written. Shapes: labels (m, H); table (d, K) float64, not negative;
    assignment (m,).
    """
    total = np.empty(table.shape[1])
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
        best, largest = -1, 0.0
        for cluster in range(total.size):
            if total[cluster] > largest:
                best, largest = cluster, total[cluster]
        rival[row], runner_up[row] = largest, best


@njit(cache=True, nogil=True)
def sparse_own_and_rival(labels, offsets, sparse, assignment, n_clusters, start, stop, own, rival, runner_up):
    """Do what `label_own_and_rival` does with a table of which only the entries above 0 are kept.

    sparse: three arrays; row f of the table has the entries values[starts[f]:starts[f + 1]], all above 0, in the
    columns columns[starts[f]:starts[f + 1]], which are below n_clusters. A row with the assignment -1 has no cluster of
    its own, and `own` is 0 there. The sums are added up in the order of the members, as in `label_own_and_rival`, so
    that they are the same to the last bit.
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


@njit(cache=True, nogil=True)
def highest_mean(total, mass, draw):
    """Return the group with the highest total per unit of mass.

    If t groups are tied, the one at position floor(draw * t) among them is returned; draw lies in [0, 1).
    """
    highest, n_tied = -1.0, 0
    for group in range(mass.size):
        value = total[group] / mass[group]
        if value > highest:
            highest, n_tied = value, 1
        elif value == highest:
            n_tied += 1
    wanted = int(draw * n_tied)
    for group in range(mass.size):
        if total[group] / mass[group] == highest:
            if wanted == 0:
                return group
            wanted -= 1
    return -1


@njit(cache=True, nogil=True)
def label_compete(labels, offsets, groups, weights, mass, draws, start, stop, winner):
    """Assign rows start..stop-1 to the group of base clusters with the highest mean indicator.

    The draw of a row breaks ties. Shapes: labels (m, H); groups (d,), the group of each base cluster; weights (H,);
    mass (K,), the weight of the base clusters in each group; draws (m,), numbers in [0, 1) used as in `highest_mean`;
    winner (m,) int32, which is written. Quotients of equal integers are equal floating-point numbers, so that ties are
    recognised exactly if the weights are integers.
    """
    total = np.zeros(mass.size)
    for row in range(start, stop):
        total[:] = 0.0
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0:
                total[groups[offsets[member] + label]] += weights[member]
        winner[row] = highest_mean(total, mass, draws[row])


@njit(cache=True, nogil=True)
def label_winners_share(labels, offsets, groups, weights, winner, start, stop, share):
    """Write to share (m,) the weight of the labels in the winning group, for rows start..stop-1.

    It is divided by the weight of all labels of the row.
    """
    for row in range(start, stop):
        won = known = 0.0
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0:
                known += weights[member]
                if groups[offsets[member] + label] == winner[row]:
                    won += weights[member]
        share[row] = won / known


@njit(cache=True, nogil=True)
def expect(labels, offsets, counts, table, unit, bias, share_unit, start, stop, expected, mass, best, sure, height):
    """Compute the posteriors of rows start..stop-1 and add them to the expected counts.

    labels is (m, H); table (d, K) int64 holds log-probabilities in 1 / unit; bias (K,) is the logarithm of the shares
    of the components. expected (d, K) int64 and mass (K,) int64 are added to, in 1 / share_unit objects; the caller
    ensures that share_unit times the sum of all counts stays below 2^62. Written are best (m,) int32, the most probable
    component (the lowest in a tie), sure (m,), its posterior, and height (m,), the log-likelihood of one object of the
    row. All sums are sums of integers, so they depend neither on the order of the rows nor on the number of threads nor
    on whether equal rows are counted or repeated.
    """
    n_clusters = table.shape[1]
    total = np.zeros(n_clusters, dtype=np.int64)
    value = np.zeros(n_clusters)
    near = np.zeros(n_clusters, dtype=np.int64)
    for row in range(start, stop):
        total[:] = 0
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0:
                place = offsets[member] + label
                for cluster in range(n_clusters):
                    total[cluster] += table[place, cluster]
        top = 0
        for cluster in range(n_clusters):
            value[cluster] = bias[cluster] + total[cluster] / unit
            if value[cluster] > value[top]:
                top = cluster
        most, sum_of_shares, n_near = value[top], 0.0, 0
        for cluster in range(n_clusters):
            # The share of a component that is less probable than this would be rounded to zero.
            if value[cluster] - most > -30.0:
                near[n_near] = cluster
                value[cluster] = np.exp(value[cluster] - most)
                sum_of_shares += value[cluster]
                n_near += 1
        best[row] = top
        sure[row] = 1.0 / sum_of_shares
        height[row] = most + np.log(sum_of_shares)
        for place in range(n_near):
            cluster = near[place]
            share = counts[row] * np.int64(np.rint(value[cluster] / sum_of_shares * share_unit))
            mass[cluster] += share
            for member in range(labels.shape[1]):
                label = labels[row, member]
                if label >= 0:
                    expected[offsets[member] + label, cluster] += share

"""Moves of rows and merges of clusters that lower the number of pairs on which a partition and the members disagree.

Two objects attract each other by twice the weight of the members that join them less that of the members that know
both; the sum over the pairs within clusters is what a partition gains. It follows from two tables of whole numbers:
table (d, K) = 2 w_q times the objects of each base cluster in each cluster, and margin = w_q times the objects of each
cluster that member q knows, (H, K), or summed over members, (1, K), where no label is missing.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _attraction(labels, offsets, table, margin, row, total):
    """total[c] = attraction of one object of `row` to all objects of cluster c, for as many clusters as it has."""
    together = margin.shape[0] == 1
    for cluster in range(total.size):
        total[cluster] = -margin[0, cluster] if together else 0
    for member in range(labels.shape[1]):
        label = labels[row, member]
        if label < 0:
            continue
        place = offsets[member] + label
        for cluster in range(total.size):
            total[cluster] += table[place, cluster]
        if not together:
            for cluster in range(total.size):
                total[cluster] -= margin[member, cluster]


@njit(cache=True, nogil=True)
def _known_weight(labels, weights, row):
    total = 0
    for member in range(labels.shape[1]):
        if labels[row, member] >= 0:
            total += weights[member]
    return total


@njit(cache=True, nogil=True)
def _add(labels, offsets, weights, row, amount, cluster, table, margin):
    """Put `amount` objects of a row into a cluster, or take them out where it is negative."""
    for member in range(labels.shape[1]):
        label = labels[row, member]
        if label >= 0:
            table[offsets[member] + label, cluster] += 2 * weights[member] * amount
            margin[0 if margin.shape[0] == 1 else member, cluster] += weights[member] * amount


@njit(cache=True, nogil=True)
def fill_tables(labels, offsets, counts, weights, assignment, table, margin):
    """Count an assignment (m,) into tables of zeros."""
    for row in range(labels.shape[0]):
        _add(labels, offsets, weights, row, counts[row], assignment[row], table, margin)


@njit(cache=True, nogil=True)
def found_clusters(labels, offsets, counts, weights, order, table, margin, assignment):
    """Take the rows in the given order into the cluster that attracts them most, or a new one where none attracts.

    table and margin start as zeros; their K columns are all the clusters there can be. Returns how many there are.
    """
    total = np.empty(table.shape[1], dtype=np.int64)
    used = 0
    for row in order:
        target = used
        if used > 0:
            _attraction(labels, offsets, table, margin, row, total[:used])
            best = np.argmax(total[:used])
            if total[best] > 0 or used == table.shape[1]:
                target = best
        used = max(used, target + 1)
        assignment[row] = target
        _add(labels, offsets, weights, row, counts[row], target, table, margin)
    return used


@njit(cache=True, nogil=True)
def sweep(labels, offsets, counts, weights, free, table, margin, held, assignment):
    """Move each row in turn to the cluster that attracts it most; returns how many moved.

    A row stays in a tie, else the lowest cluster wins. held (K,): rows in each cluster. With `free`, clusters may be
    left empty, and a row that nothing attracts founds one as long as a column is empty; else no cluster loses its
    last row. Invariant: every move lowers the number of disagreements, so sweeps come to an end.
    """
    total = np.empty(table.shape[1], dtype=np.int64)
    moved = 0
    for row in range(labels.shape[0]):
        source = assignment[row]
        if held[source] == 1 and not free:
            continue
        _attraction(labels, offsets, table, margin, row, total)
        most = total[source] - counts[row] * _known_weight(labels, weights, row)
        target, empty = source, -1
        for cluster in range(total.size):
            if held[cluster] == 0:
                empty = cluster if empty < 0 else empty
            elif cluster != source and total[cluster] > most:
                target, most = cluster, total[cluster]
        if free and most < 0 and empty >= 0 and held[source] > 1:
            target = empty
        if target != source:
            _add(labels, offsets, weights, row, -counts[row], source, table, margin)
            _add(labels, offsets, weights, row, counts[row], target, table, margin)
            held[source] -= 1
            held[target] += 1
            assignment[row] = target
            moved += 1
    return moved


@njit(cache=True, nogil=True)
def own_attraction(labels, offsets, counts, weights, table, margin, assignment, start, stop, own):
    """own[i] = attraction of one object of row i to its cluster without the row, rows start..stop-1."""
    total = np.empty(table.shape[1], dtype=np.int64)
    for row in range(start, stop):
        _attraction(labels, offsets, table, margin, row, total)
        own[row] = total[assignment[row]] - counts[row] * _known_weight(labels, weights, row)


@njit(cache=True, nogil=True)
def attracted(labels, offsets, table, margin, start, stop, assignment):
    """assignment[i] = the cluster that attracts row i most, the lowest in a tie, rows start..stop-1 of any ensemble."""
    total = np.empty(table.shape[1], dtype=np.int64)
    for row in range(start, stop):
        _attraction(labels, offsets, table, margin, row, total)
        assignment[row] = np.argmax(total)


@njit(cache=True, nogil=True)
def merge_attracted(attraction, least, merged):
    """Merge the two clusters that attract each other most while they do, or while more than `least` are left.

    attraction (K, K) symmetric, overwritten; least: 0 to stop where nothing attracts. merged (K,): the cluster each
    one ends up in, the lowest of its group. Ties go to the first pair. Returns how many merges were made.
    """
    alive = np.arange(attraction.shape[0])
    for cluster in range(merged.size):
        merged[cluster] = cluster
    while alive.size > max(least, 1):
        a, b = alive[0], alive[1]
        for place in range(alive.size):
            for other in alive[place + 1 :]:
                if attraction[alive[place], other] > attraction[a, b]:
                    a, b = alive[place], other
        if least == 0 and attraction[a, b] <= 0:
            break
        attraction[a, :] += attraction[b, :]
        attraction[:, a] += attraction[:, b]
        for cluster in range(merged.size):
            if merged[cluster] == b:
                merged[cluster] = a
        alive = alive[alive != b]
    return merged.size - alive.size


@njit(cache=True, nogil=True)
def least_disagreement(labels, counts, weights, start, stop):
    """Sum over pairs of objects, the first in rows start..stop-1 and the second in a later row, of the lesser of the
    weights of the members that join the pair and that part it: what no partition can do without."""
    total = 0.0
    for row in range(start, stop):
        for other in range(row + 1, labels.shape[0]):
            joined = parted = 0
            for member in range(labels.shape[1]):
                first, second = labels[row, member], labels[other, member]
                if first >= 0 and second >= 0:
                    if first == second:
                        joined += weights[member]
                    else:
                        parted += weights[member]
            total += float(min(joined, parted)) * counts[row] * counts[other]
    return total

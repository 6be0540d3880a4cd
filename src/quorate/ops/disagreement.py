"""Moves of rows and merges of clusters that lower the number of pairs on which a partition and the members disagree.

The attraction of two objects is twice the weight of the members that put them together, minus the weight of the members
that label both. The gain of a partition is the sum of the attractions over all pairs within clusters. It is computed
from two tables of integers. table (d, K) holds 2 w_q times the number of objects of each base cluster in each cluster.
margin holds w_q times the number of objects of each cluster that member q labels; it has the shape (H, K), or (1, K),
summed over the members, if no label is missing.
"""

from __future__ import annotations

import numpy as np

from quorate.ops.compiling import njit


@njit(cache=True, nogil=True)
def _attraction(labels, offsets, table, margin, row, total):
    """Write to total[c] the attraction of one object of `row` to all objects of cluster c.

    This is done for as many clusters as `total` has entries.
    """
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
    """Return the weight of the members that label a row."""
    total = 0
    for member in range(labels.shape[1]):
        if labels[row, member] >= 0:
            total += weights[member]
    return total


@njit(cache=True, nogil=True)
def _add(labels, offsets, weights, row, amount, cluster, table, margin):
    """Add `amount` objects of a row to a cluster; a negative amount takes them out."""
    for member in range(labels.shape[1]):
        label = labels[row, member]
        if label >= 0:
            table[offsets[member] + label, cluster] += 2 * weights[member] * amount
            margin[0 if margin.shape[0] == 1 else member, cluster] += weights[member] * amount


@njit(cache=True, nogil=True)
def fill_tables(labels, offsets, counts, weights, assignment, table, margin):
    """Count an assignment (m,) of rows to clusters into tables of zeros."""
    for row in range(labels.shape[0]):
        _add(labels, offsets, weights, row, counts[row], assignment[row], table, margin)


@njit(cache=True, nogil=True)
def found_clusters(labels, offsets, counts, weights, order, table, margin, assignment):
    """Assign the rows, in the given order, to the cluster that attracts them most.

    If no cluster attracts a row, it founds a new one. table and margin hold zeros at first; their K columns limit the
    number of clusters. Returns the number of clusters.
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
    """Move each row in turn to the cluster that attracts it most; return the number of rows moved.

    A row stays in its cluster if no other attracts it more; of several clusters that attract it equally, the lowest
    wins. held (K,) is the number of rows in each cluster. If `free` is true, clusters may become empty, and a row that
    no cluster attracts founds a new one as long as one of the K clusters is empty. If it is false, no cluster loses its
    last row. Invariant: every move lowers the number of disagreements, so repeated sweeps come to an end.
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
    """Write to own[i] the attraction of one object of row i to the rest of its cluster, for rows start..stop-1."""
    total = np.empty(table.shape[1], dtype=np.int64)
    for row in range(start, stop):
        _attraction(labels, offsets, table, margin, row, total)
        own[row] = total[assignment[row]] - counts[row] * _known_weight(labels, weights, row)


@njit(cache=True, nogil=True)
def attracted(labels, offsets, table, margin, start, stop, assignment):
    """Write to assignment[i] the cluster that attracts row i most, the lowest in a tie, for rows start..stop-1.

    The labels may be those of another ensemble than the one the tables were counted from.
    """
    total = np.empty(table.shape[1], dtype=np.int64)
    for row in range(start, stop):
        _attraction(labels, offsets, table, margin, row, total)
        assignment[row] = np.argmax(total)


@njit(cache=True, nogil=True)
def merge_attracted(attraction, least, merged):
    """Merge the two clusters that attract each other most, again and again.

    With least = 0 this ends when no two clusters attract each other; otherwise it ends when `least` clusters are left.
    attraction (K, K) is symmetric and is overwritten. merged (K,) receives the cluster that each cluster ends up in,
    named by the lowest of its group. Ties go to the first pair. Returns the number of merges.
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
    """Return a lower bound on the disagreement of any partition with the members.

    The bound is a sum over pairs of objects, the first in rows start..stop-1 and the second in a later row. Each pair
    adds the weight of the members that put it together or the weight of those that separate it, whichever is smaller.
    """
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

"""Moves of rows that raise mutual information, and moves and merges that lower disagreement with the members.

The attraction of two objects is twice the weight of the members that put them together, minus the weight of the members
that label both. The gain of a partition is the sum of the attractions over all pairs within clusters. It is computed
from two tables of integers. table (d, K) holds 2 w_q times the number of objects of each base cluster in each cluster.
margin holds w_q times the number of objects of each cluster that member q labels; it has the shape (H, K), or (1, K),
summed over the members, if no label is missing.
"""

from __future__ import annotations

import numpy as np

from quorate.ops.compiling import njit

TOLERANCE = 1e-11
"""Scores (sums of NMI with weights that add up to 1) closer than this count as tied, so that rounding does not
decide a move."""


@njit(cache=True, nogil=True)
def _xlogx(value, table):
    """Return x log x, looked up in a table for small integers and computed for larger ones."""
    if value < table.size:
        return table[value]
    return value * np.log(value)


@njit(cache=True, nogil=True)
def _margin_terms(margin, spread, total, source, weight, logs, new_spread, rate):
    """Compute how a move of `weight` objects from `source` changes one labelling's marginal, for every target.

    margin (K,) holds the sizes of the clusters; spread is the sum of x log x over them; total is the number of objects.
    Written are new_spread (K,) and rate (K,) = 1 / sqrt(n entropy), which is 0 if all objects would be in one cluster.
    """
    lost = _xlogx(margin[source] - weight, logs) - _xlogx(margin[source], logs)
    whole = _xlogx(total, logs)
    for target in range(margin.size):
        after = margin[target]
        new_spread[target] = spread
        if target != source:
            after += weight
            new_spread[target] += lost + _xlogx(after, logs) - _xlogx(margin[target], logs)
        rate[target] = 1.0 / np.sqrt(whole - new_spread[target]) if after < total else 0.0


@njit(cache=True, nogil=True)
def _add_member(cells, joint, entropy, importance, source, weight, logs, spread, rate, score):
    """Add to score (K,) the importance times the NMI that one member would have after the move, for every target.

    cells (K,) is the row of the member's contingency table to which the moved objects belong; joint is the sum of x log
    x over the table; entropy is that of the member, times its number of objects; spread and rate (K,) come from
    _margin_terms.
    """
    if entropy == 0.0:  # a member of one cluster agrees only with a labelling of one cluster
        for target in range(cells.size):
            if rate[target] == 0.0:
                score[target] += importance
        return
    scale = importance / np.sqrt(entropy)
    lost = _xlogx(cells[source] - weight, logs) - _xlogx(cells[source], logs)
    for target in range(cells.size):
        change = 0.0
        if target != source:
            change = lost + _xlogx(cells[target] + weight, logs) - _xlogx(cells[target], logs)
        score[target] += scale * (entropy + joint + change - spread[target]) * rate[target]


@njit(cache=True, nogil=True)
def _best_target(score, source, tolerance):
    """Return the lowest cluster whose score is within the tolerance of the highest, preferably `source`."""
    bar = score.max() - tolerance
    if score[source] >= bar:
        return source
    for target in range(score.size):
        if score[target] >= bar:
            return target
    return source


@njit(cache=True, nogil=True)
def _move(labels, offsets, row, weight, source, target, logs, table, margin, joint, spread, group):
    """Update the tables and their sums of x log x after a move.

    A marginal that several members share is updated once.
    """
    last = -1
    for member in range(labels.shape[1]):
        label = labels[row, member]
        if label < 0:
            continue
        cells = table[offsets[member] + label]
        joint[member] += _transfer(cells, source, target, weight, logs)
        if group[member] != last:
            last = group[member]
            spread[last] += _transfer(margin[last], source, target, weight, logs)


@njit(cache=True, nogil=True)
def _transfer(cells, source, target, weight, logs):
    """Move `weight` from one cell to another and return the change in the sum of x log x."""
    before = _xlogx(cells[source], logs) + _xlogx(cells[target], logs)
    cells[source] -= weight
    cells[target] += weight
    return _xlogx(cells[source], logs) + _xlogx(cells[target], logs) - before


@njit(cache=True, nogil=True)
def sweep_rows(
    labels, offsets, counts, logs, entropy, importance, group, table, margin, joint, spread, held, assignment
):
    """Move each row in turn to the cluster with the highest ANMI; return the number of rows moved.

    labels is (m, H); counts (m,); logs holds x log x of 0, 1, 2, ... entropy, importance and group are (H,): for each
    member n times its entropy, its share in the score, and the number of its marginal. These arrays are kept up to
    date: table (d, K), margin (G, K), joint (H,), spread (G,), held (K,), which is the number of rows in each cluster,
    and assignment (m,). No cluster loses its last row.
    """
    new_spread, rate = np.empty(margin.shape), np.empty(margin.shape)
    total = margin.sum(axis=1)
    score = np.empty(margin.shape[1])
    moved = 0
    for row in range(labels.shape[0]):
        source, weight = assignment[row], counts[row]
        if held[source] == 1:
            continue
        score[:] = 0.0
        last = -1
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label < 0:  # the NMI with this member does not depend on this row
                continue
            g = group[member]
            if g != last:
                last = g
                _margin_terms(margin[g], spread[g], total[g], source, weight, logs, new_spread[g], rate[g])
            cells = table[offsets[member] + label]
            _add_member(
                cells, joint[member], entropy[member], importance[member], source, weight, logs,
                new_spread[g], rate[g], score,
            )  # fmt: skip
        target = _best_target(score, source, TOLERANCE)
        if target != source:
            _move(labels, offsets, row, weight, source, target, logs, table, margin, joint, spread, group)
            held[source] -= 1
            held[target] += 1
            assignment[row] = target
            moved += 1
    return moved


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
def lower_disagreement(labels, offsets, counts, weights, free, table, margin, held, assignment):
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

"""The kernels of label space for rows of memberships: they sum over the clusters of a row instead of over its labels.

The rows are given by starts (m + 1,), columns and memberships, as in SoftEnsemble. Memberships are integers, multiples
of 1 / `unit`. A row of labels has the membership `unit` in each of its clusters, so that every sum here is the sum of
the label kernel times a power of two, and all comparisons have the same result.
"""

from __future__ import annotations

import numpy as np

from quorate.ops.compiling import njit
from quorate.ops.neighbours import place_sorted
from quorate.ops.tables import highest_mean


@njit(cache=True, nogil=True)
def soft_counts(starts, columns, memberships, counts, assignment, table):
    """Add the memberships of all rows to table (d, K) int64, by cluster of an assignment.

    An assignment of -1 skips the row.
    """
    for row in range(starts.size - 1):
        cluster = assignment[row]
        if cluster < 0:
            continue
        for place in range(starts[row], starts[row + 1]):
            table[columns[place], cluster] += counts[row] * memberships[place]


@njit(cache=True, nogil=True)
def soft_nearest_clusters(starts, columns, memberships, table, scale, bias, factor, start, stop, nearest, score):
    """Assign rows start..stop-1 to argmin_c factor * bias[c] - scale[c] * sum of membership times table[column, c].

    This is `tables.nearest_clusters` for memberships: ties go to the lowest c, and sums over an integer table are
    exact.
    """
    total = np.zeros(table.shape[1], dtype=table.dtype)
    for row in range(start, stop):
        total[:] = 0
        for place in range(starts[row], starts[row + 1]):
            column, membership = columns[place], memberships[place]
            for cluster in range(table.shape[1]):
                total[cluster] += membership * table[column, cluster]
        best, least = 0, np.inf
        pull = factor[row if factor.size > 1 else 0]
        for cluster in range(bias.size):
            value = pull * bias[cluster] - scale[cluster] * total[cluster]
            if value < least:
                best, least = cluster, value
        nearest[row] = best
        score[row] = least


@njit(cache=True, nogil=True)
def soft_move_rows(starts, columns, memberships, counts, masses, old, new, table, mass):
    """Update table (d, width) and mass (K,) from assignment `old` to `new`, as `move_rows` does.

    Return the number of rows moved.
    """
    moved = 0
    for row in range(starts.size - 1):
        source, target = old[row], new[row]
        if source == target:
            continue
        moved += 1
        old[row] = target
        mass[target] += masses[row]
        if source >= 0:
            mass[source] -= masses[row]
        for place in range(starts[row], starts[row + 1]):
            amount = counts[row] * memberships[place]
            table[columns[place], target] += amount
            if source >= 0:
                table[columns[place], source] -= amount
    return moved


@njit(cache=True, nogil=True)
def soft_agreement(starts, columns, memberships, pull, start, stop, result):
    """Write to result[i] the sum of membership times pull[column] over row i, for rows start..stop-1.

    `pull` is a (d,) float64 array.
    """
    for row in range(start, stop):
        total = 0.0
        for place in range(starts[row], starts[row + 1]):
            total += memberships[place] * pull[columns[place]]
        result[row] = total


@njit(cache=True, nogil=True)
def soft_own_and_rival(starts, columns, memberships, table, assignment, start, stop, own, rival, runner_up):
    """Sum membership times table[column, c] for the own cluster c of a row and for the best other cluster.

    This is `tables.own_and_rival` for memberships.
    """
    total = np.zeros(table.shape[1])
    for row in range(start, stop):
        total[:] = 0
        for place in range(starts[row], starts[row + 1]):
            column, membership = columns[place], memberships[place]
            for cluster in range(table.shape[1]):
                total[cluster] += membership * table[column, cluster]
        own[row] = total[assignment[row]]
        total[assignment[row]] = 0.0
        best = total.argmax()
        rival[row] = total[best]
        runner_up[row] = best if total[best] > 0.0 else -1


@njit(cache=True, nogil=True)
def soft_compete(starts, columns, memberships, weights, groups, mass, draws, start, stop, winner):
    """Assign rows to the group of clusters with the highest mean membership, as `compete` does.

    The draw of a row breaks ties. weights (d,) float64 and groups (d,) int32 hold one entry per base cluster.
    """
    total = np.zeros(mass.size)
    for row in range(start, stop):
        total[:] = 0.0
        for place in range(starts[row], starts[row + 1]):
            total[groups[columns[place]]] += memberships[place] * weights[columns[place]]
        winner[row] = highest_mean(total, mass, draws[row])


@njit(cache=True, nogil=True)
def soft_winners_share(starts, columns, memberships, weights, groups, winner, start, stop, share):
    """Write to share (m,) the part of the weighted memberships that is in the winning group, for rows start..stop-1."""
    for row in range(start, stop):
        won = known = 0.0
        for place in range(starts[row], starts[row + 1]):
            amount = memberships[place] * weights[columns[place]]
            known += amount
            if groups[columns[place]] == winner[row]:
                won += amount
        share[row] = won / known


@njit(cache=True, nogil=True)
def likeliest(starts, columns, memberships, members, offsets, labels):
    """Write to labels (m, H) each member's cluster with the largest membership, the lowest in a tie.

    labels is int32 and filled with -1 at first.
    """
    for row in range(starts.size - 1):
        member, largest = -1, 0
        for place in range(starts[row], starts[row + 1]):
            column = columns[place]
            if members[column] != member:
                member, largest = members[column], 0
            if memberships[place] > largest:
                largest = memberships[place]
                labels[row, member] = column - offsets[member]


@njit(cache=True, nogil=True)
def squares_by_member(starts, columns, memberships, members, unit, squares):
    """Add to squares (m, H) the sum of the squares of each member's memberships, as fractions of 1.

    squares is filled with zeros at first.
    """
    for row in range(starts.size - 1):
        for place in range(starts[row], starts[row + 1]):
            membership = memberships[place] / unit
            squares[row, members[columns[place]]] += membership * membership


@njit(cache=True, nogil=True)
def keep_nearest(shared, first_row, first_other, near, value, used):
    """Insert what a block of rows shares with a block of other rows into the sorted lists of nearest rows.

    shared (b, c) belongs to the rows from first_row on and to the others from first_other on. near and value (m, width)
    and used (m,) are lists as in `place_sorted`. The blocks of others must come in increasing order, otherwise ties
    would not go to the lowest row.
    """
    for place in range(shared.shape[0]):
        row = first_row + place
        for other_place in range(shared.shape[1]):
            other, amount = first_other + other_place, shared[place, other_place]
            full = used[row] == near.shape[1]
            if amount > 0 and other != row and not (full and amount <= value[row, -1]):
                used[row] = place_sorted(near[row], value[row], used[row], other, amount)

"""The kernels of label space again, for rows of memberships: sums over a row's clusters instead of its labels.

Rows are starts (m + 1,), columns and memberships as in SoftEnsemble. Memberships are whole numbers of `unit`; a row of
labels has the membership `unit` in each of its clusters, so that every sum here is that of the label kernel times a
power of two, and compares alike.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from quorate.ops.competition import highest_mean
from quorate.ops.neighbours import place_sorted


@njit(cache=True, nogil=True)
def soft_counts(starts, columns, memberships, counts, assignment, table):
    """Add memberships by cluster of an assignment: table (d, K) int64; an assignment of -1 skips the row."""
    for row in range(starts.size - 1):
        cluster = assignment[row]
        if cluster < 0:
            continue
        for place in range(starts[row], starts[row + 1]):
            table[columns[place], cluster] += counts[row] * memberships[place]


@njit(cache=True, nogil=True)
def soft_nearest_clusters(starts, columns, memberships, table, scale, bias, factor, start, stop, nearest, score):
    """Assign rows start..stop-1 to argmin_c factor * bias[c] - scale[c] * sum of membership times table[column, c].

    As `nearest_clusters`: ties go to the lowest c, and sums over an integer table are exact.
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
    """Bring table (d, width) and mass (K,) from assignment `old` to `new`, as `move_rows`; returns how many moved."""
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
    """result[i] = sum of row i's memberships times pull[column]; pull (d,) float64; rows start..stop-1."""
    for row in range(start, stop):
        total = 0.0
        for place in range(starts[row], starts[row + 1]):
            total += memberships[place] * pull[columns[place]]
        result[row] = total


@njit(cache=True, nogil=True)
def soft_own_and_rival(starts, columns, memberships, table, assignment, start, stop, own, rival, runner_up):
    """As `own_and_rival`: membership times table[column, c] summed for the row's own cluster, and the best other."""
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
    """As `compete`: rows go to the group of clusters of the highest mean membership, ties by the row's draw.

    weights, groups (d,) float64 and int32: of each cluster.
    """
    total = np.zeros(mass.size)
    for row in range(start, stop):
        total[:] = 0.0
        for place in range(starts[row], starts[row + 1]):
            total[groups[columns[place]]] += memberships[place] * weights[columns[place]]
        winner[row] = highest_mean(total, mass, draws[row])


@njit(cache=True, nogil=True)
def soft_winners_share(starts, columns, memberships, weights, groups, winner, start, stop, share):
    """share (m,) of rows start..stop-1: their memberships in the winning group over all of them, both by weight."""
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
    """labels (m, H) int32, -1 at first: each member's cluster of the largest membership, ties to the lowest."""
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
    """squares (m, H), zeros at first: the sum of each member's squared memberships, in whole ones instead of units."""
    for row in range(starts.size - 1):
        for place in range(starts[row], starts[row + 1]):
            membership = memberships[place] / unit
            squares[row, members[columns[place]]] += membership * membership


@njit(cache=True, nogil=True)
def keep_nearest(shared, first_row, first_other, near, value, used):
    """Sort what a block of rows shares with a block of others into their lists of nearest rows.

    shared (b, c): rows first_row.. with rows first_other..; near, value (m, width), used (m,) as `place_sorted` has
    them. Others must come in increasing blocks, or ties would not go to the lowest row.
    """
    for place in range(shared.shape[0]):
        row = first_row + place
        for other_place in range(shared.shape[1]):
            other, amount = first_other + other_place, shared[place, other_place]
            full = used[row] == near.shape[1]
            if amount > 0 and other != row and not (full and amount <= value[row, -1]):
                used[row] = place_sorted(near[row], value[row], used[row], other, amount)

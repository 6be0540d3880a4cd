"""Meta-clusters compete for rows."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def highest_mean(total, mass, draw):
    """The group of the highest total a unit of mass; of several, the one that draw, in [0, 1), falls on."""
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
def compete(labels, offsets, groups, weights, mass, draws, start, stop, winner):
    """Give rows start..stop-1 to the group of clusters of the highest mean indicator, ties by the row's draw.

    labels (m, H); groups (d,): the group of each cluster; weights (H,); mass (K,): weight of the clusters in each
    group; draws (m,) in [0, 1): of t tied groups, in order, number floor(draw t) wins. winner (m,) int32 is written.
    Quotients of equal integers are equal floats, so ties are ties for integer weights.
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
def winners_share(labels, offsets, groups, weights, winner, start, stop, share):
    """share (m,) of rows start..stop-1: the weight of known labels in the winning group, over that of all known."""
    for row in range(start, stop):
        won = known = 0.0
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0:
                known += weights[member]
                if groups[offsets[member] + label] == winner[row]:
                    won += weights[member]
        share[row] = won / known

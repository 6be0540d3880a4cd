"""Competition of meta-clusters: each row is assigned to the group of base clusters that holds most of it."""

from __future__ import annotations

import numpy as np

from quorate.ops.compiling import njit


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
def compete(labels, offsets, groups, weights, mass, draws, start, stop, winner):
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
def winners_share(labels, offsets, groups, weights, winner, start, stop, share):
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

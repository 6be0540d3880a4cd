"""Agglomeration on a matrix between clusters, by a nearest-neighbour chain, for every reducible linkage."""

from __future__ import annotations

import numpy as np

from quorate.ops.compiling import njit

# The linkage rule decides what the matrix holds. SUM (average link): totals of similarity over pairs of objects, which
# are divided by the sizes when two clusters are compared. WARD: totals of squared distance, from which the increase in
# spread follows by one division. LEAST (complete link) and MEAN (weighted link): similarities.
SUM, LEAST, MEAN, WARD = 0, 1, 2, 3


@njit(cache=True, nogil=True)
def _similarity(first, second, matrix, size, rule):
    """Return the similarity of two clusters under a linkage rule.

    For WARD this is twice the increase in the sum of squared distances to the mean, negated. The diagonal of the matrix
    holds the total over ordered pairs within each cluster.
    """
    between = matrix[first, second] * 1.0
    if rule == LEAST or rule == MEAN:
        return between
    a, b = float(size[first]), float(size[second])
    if rule == SUM:
        return between / (a * b)
    within = b * b * matrix[first, first] + a * a * matrix[second, second]
    return (within - 2 * a * b * between) / (a * b * (a + b))


@njit(cache=True, nogil=True)
def _nearest(cluster, matrix, size, alive, rule):
    """Return the nearest cluster in `alive`, the lowest in a tie, and the similarity to it."""
    best, largest = -1, -np.inf
    for other in alive:
        if other == cluster:
            continue
        value = _similarity(cluster, other, matrix, size, rule)
        if value > largest or (value == largest and other < best):
            best, largest = other, value
    return best, largest


@njit(cache=True, nogil=True)
def _update(a, b, matrix, alive, rule):
    """Overwrite row and column a of the matrix with the values of the cluster that a and b form together."""
    matrix[a, a] += matrix[b, b] + 2 * matrix[a, b]
    for other in alive:
        if other == a or other == b:
            continue
        first, second = matrix[a, other], matrix[b, other]
        if rule == LEAST:
            fresh = min(first, second)
        elif rule == MEAN:
            fresh = (first + second) / 2
        else:
            fresh = first + second
        matrix[a, other] = fresh
        matrix[other, a] = fresh


@njit(cache=True, nogil=True)
def dense_link(matrix, size, rule, merges, similarity):
    """Write all merges, in the order in which the chain finds them; `matrix` and `size` are overwritten.

    matrix (c, c) is symmetric; size (c,) int64 holds the number of objects of each cluster. merges (c - 1, 2) receives
    the two clusters of each merge, the lower one first, where a cluster is named by the lowest number in it; similarity
    (c - 1,) receives their similarity. Invariant: each cluster of the chain is followed by its nearest neighbour, so
    similarities increase along the chain.
    """
    alive = np.arange(size.size)
    chain, position = np.empty(size.size, dtype=np.int64), np.full(size.size, size.size)
    length = 0
    for step in range(size.size - 1):
        if length == 0:
            chain[0], length = alive[-1], 1
            position[chain[0]] = 0
        while True:
            near, value = _nearest(chain[length - 1], matrix, size, alive, rule)
            if length > 1 and chain[length - 2] == near:
                break
            if position[near] < length and chain[position[near]] == near:
                # Only rounding can lead back to an earlier cluster of the chain; the chain then continues from there.
                length = position[near]
            chain[length], position[near] = near, length
            length += 1
        a, b = min(near, chain[length - 1]), max(near, chain[length - 1])
        length -= 2
        merges[step, 0], merges[step, 1], similarity[step] = a, b, value
        _update(a, b, matrix, alive, rule)
        size[a] += size[b]
        alive = alive[alive != b]

"""Agglomeration on a matrix between clusters: a nearest-neighbour chain for every reducible linkage."""

from __future__ import annotations

import numpy as np
from numba import njit

# How a merge changes the matrix. SUM adds rows of totals over pairs of objects, which are divided by the sizes where
# two are compared (average link); the others hold similarities, that is negated dissimilarities.
SUM, LEAST, MEAN, WARD = 0, 1, 2, 3


@njit(cache=True, nogil=True)
def _nearest(cluster, matrix, size, alive, rule):
    """The nearest living cluster, ties to the lowest, and its similarity."""
    best, largest = -1, -np.inf
    for other in alive:
        if other == cluster:
            continue
        value = matrix[cluster, other] * 1.0
        if rule == SUM:
            value /= float(size[cluster]) * size[other]
        if value > largest or (value == largest and other < best):
            best, largest = other, value
    return best, largest


@njit(cache=True, nogil=True)
def _update(a, b, matrix, size, alive, rule):
    """Row and column a of the matrix for the cluster of a and b."""
    own = matrix[a, b]
    for other in alive:
        if other == a or other == b:
            continue
        first, second = matrix[a, other], matrix[b, other]
        if rule == SUM:
            fresh = first + second
        elif rule == LEAST:
            fresh = min(first, second)
        elif rule == MEAN:
            fresh = (first + second) / 2
        else:
            total = size[a] + size[b] + size[other]
            fresh = ((size[a] + size[other]) * first + (size[b] + size[other]) * second - size[other] * own) / total
        matrix[a, other] = fresh
        matrix[other, a] = fresh


@njit(cache=True, nogil=True)
def dense_link(matrix, size, rule, merges, similarity):
    """All merges, in the order the chain finds them; `matrix` and `size` are overwritten.

    matrix (c, c) symmetric; size (c,) int64, objects in each cluster. merges (c - 1, 2): the clusters, lower first, a
    cluster named by the lowest number in it; similarity (c - 1,) of the two.
    Invariant: each cluster of the chain is followed by its nearest neighbour, so similarities rise along it.
    """
    alive = np.arange(size.size)
    chain = np.empty(size.size, dtype=np.int64)
    length = 0
    for found in range(size.size - 1):
        if length == 0:
            chain[0], length = alive[-1], 1
        while True:
            near, value = _nearest(chain[length - 1], matrix, size, alive, rule)
            if length > 1 and chain[length - 2] == near:
                break
            chain[length] = near
            length += 1
        a, b = min(near, chain[length - 1]), max(near, chain[length - 1])
        length -= 2
        merges[found, 0], merges[found, 1], similarity[found] = a, b, value
        _update(a, b, matrix, size, alive, rule)
        size[a] += size[b]
        alive = alive[alive != b]

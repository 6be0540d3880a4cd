"""A heap of clusters by how similar their nearest neighbour is, or can be at most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

# What is known of the nearest neighbour of a cluster: no more than a bound on its similarity, or which it is.
BOUNDED, EXACT = 0, 1


class Ranking(NamedTuple):
    """top (m,): similarity of the nearest neighbour, or the most it can be; state (m,); best (m,): which, if EXACT.

    heap (m,): clusters, the first ahead of all; position (m,): where each stands in it.
    """

    top: NDArray[np.float64]
    state: NDArray[np.int8]
    best: NDArray[np.int32]
    heap: NDArray[np.int64]
    position: NDArray[np.int64]


@njit(cache=True, nogil=True)
def _ahead(first, second, ranking):
    """Larger similarity, then the unknown before the known (it may hide a lower row), then lower rows of the pair."""
    top, state, best = ranking.top, ranking.state, ranking.best
    if top[first] != top[second]:
        return top[first] > top[second]
    if state[first] != EXACT or state[second] != EXACT:
        return state[first] != EXACT and (state[second] == EXACT or first < second)
    low, other_low = min(first, best[first]), min(second, best[second])
    if low != other_low:
        return low < other_low
    return max(first, best[first]) < max(second, best[second])


@njit(cache=True, nogil=True)
def sink(place, size, ranking):
    """Restore the heap of `size` clusters where that at `place` may have fallen behind."""
    heap, position = ranking.heap, ranking.position
    cluster = heap[place]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _ahead(heap[child + 1], heap[child], ranking):
            child += 1
        if not _ahead(heap[child], cluster, ranking):
            break
        heap[place] = heap[child]
        position[heap[place]] = place
        place = child
    heap[place] = cluster
    position[cluster] = place


@njit(cache=True, nogil=True)
def rise(place, ranking):
    """Restore the heap where the cluster at `place` may have come ahead."""
    heap, position = ranking.heap, ranking.position
    cluster = heap[place]
    while place > 0 and _ahead(cluster, heap[(place - 1) // 2], ranking):
        heap[place] = heap[(place - 1) // 2]
        position[heap[place]] = place
        place = (place - 1) // 2
    heap[place] = cluster
    position[cluster] = place


@njit(cache=True, nogil=True)
def build(ranking):
    """Make a heap of all clusters."""
    for place in range(ranking.heap.size // 2, -1, -1):
        sink(place, ranking.heap.size, ranking)


@njit(cache=True, nogil=True)
def remove(cluster, size, ranking):
    """Take a cluster out of the heap of `size` clusters; returns its new size."""
    place, last = ranking.position[cluster], ranking.heap[size - 1]
    size -= 1
    if place < size:
        ranking.heap[place] = last
        ranking.position[last] = place
        rise(place, ranking)
        sink(ranking.position[last], size, ranking)
    return size


@njit(cache=True, nogil=True)
def find(parent, cluster):
    """The living cluster that holds this one; halves the path on the way."""
    while parent[cluster] != cluster:
        parent[cluster] = parent[parent[cluster]]
        cluster = parent[cluster]
    return cluster

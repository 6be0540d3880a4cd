"""A heap of clusters, ordered by the similarity of their nearest neighbour or by an upper bound of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.ops.compiling import njit

# What is known about the nearest neighbour of a cluster: only a bound on its similarity (BOUNDED), which cluster it is
# and how similar (EXACT), or a bound that stems from a candidate that has not been measured yet (LISTED).
BOUNDED, EXACT, LISTED = 0, 1, 2


class Ranking(NamedTuple):
    """The nearest neighbour of each cluster, as far as it is known, and a heap of the clusters.

    top (m,): the similarity of the nearest neighbour, or an upper bound of it. state (m,): BOUNDED, EXACT or LISTED.
    best (m,): the nearest neighbour, if the state is EXACT. heap (m,): the clusters, of which the first is ahead of all
    others. key (m,): `top` of each cluster of the heap, in the order of the heap, so that clusters that are compared
    lie together in memory. position (m,): the place of each cluster in the heap.
    """

    top: NDArray[np.float64]
    state: NDArray[np.int8]
    best: NDArray[np.int32]
    heap: NDArray[np.int32]
    key: NDArray[np.float64]
    position: NDArray[np.int32]


@njit(cache=True, nogil=True)
def _ahead_in_tie(first, second, state, best):
    """Return whether `first` is ahead of `second` in the heap, if their similarities are equal.

    A cluster whose neighbour is not known is ahead of one whose neighbour is known, because it may turn out to be
    nearest to a lower row. Then the pair with the lower rows is ahead.
    """
    if state[first] != EXACT or state[second] != EXACT:
        return state[first] != EXACT and (state[second] == EXACT or first < second)
    low, other_low = min(first, best[first]), min(second, best[second])
    if low != other_low:
        return low < other_low
    return max(first, best[first]) < max(second, best[second])


@njit(cache=True, nogil=True)
def sink(place, size, ranking):
    """Restore the heap of `size` clusters after the cluster at `place` may have fallen behind others."""
    heap, key, position, state, best = ranking.heap, ranking.key, ranking.position, ranking.state, ranking.best
    cluster = heap[place]
    top = ranking.top[cluster]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and (
            key[child + 1] > key[child]
            or (key[child + 1] == key[child] and _ahead_in_tie(heap[child + 1], heap[child], state, best))
        ):
            child += 1
        if key[child] < top or (key[child] == top and not _ahead_in_tie(heap[child], cluster, state, best)):
            break
        heap[place], key[place] = heap[child], key[child]
        position[heap[place]] = place
        place = child
    heap[place], key[place] = cluster, top
    position[cluster] = place


@njit(cache=True, nogil=True)
def rise(place, ranking):
    """Restore the heap after the cluster at `place` may have come ahead of others."""
    heap, key, position, state, best = ranking.heap, ranking.key, ranking.position, ranking.state, ranking.best
    cluster = heap[place]
    top = ranking.top[cluster]
    while place > 0:
        above = (place - 1) // 2
        if key[above] > top or (key[above] == top and not _ahead_in_tie(cluster, heap[above], state, best)):
            break
        heap[place], key[place] = heap[above], key[above]
        position[heap[place]] = place
        place = above
    heap[place], key[place] = cluster, top
    position[cluster] = place


@njit(cache=True, nogil=True)
def build(ranking):
    """Make a heap of all clusters."""
    for place in range(ranking.heap.size):
        ranking.key[place] = ranking.top[ranking.heap[place]]
    for place in range(ranking.heap.size // 2, -1, -1):
        sink(place, ranking.heap.size, ranking)


@njit(cache=True, nogil=True)
def remove(cluster, size, ranking):
    """Remove a cluster from the heap of `size` clusters; return the new size of the heap."""
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
    """Return the existing cluster that this cluster was merged into, and shorten the path to it (path halving)."""
    while parent[cluster] != cluster:
        parent[cluster] = parent[parent[cluster]]
        cluster = parent[cluster]
    return cluster


@njit(cache=True, nogil=True)
def cluster_root(parent, cluster):
    """Do what `find` does, and write nothing, as is needed where several threads look at the same clusters."""
    while parent[cluster] != cluster:
        cluster = parent[cluster]
    return cluster

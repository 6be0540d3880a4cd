"""Agglomeration on a sparse graph; the most similar pair is merged first.

The linkage is average link in which absent pairs count as zero, or one that divides the weight of edges by the number
expected.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.ops.compiling import njit
from quorate.ops.neighbours import before
from quorate.ops.ranking import BOUNDED, EXACT, Ranking, build, find, remove, rise, sink


class Graph(NamedTuple):
    """The clusters, each named by its lowest row, and the totals over the edges between them, stored in a pool.

    size (m,): number of objects. begin and length (m,): the list of cluster c is the entries begin[c] to begin[c] +
    length[c] - 1 of the pool. parent (m,): the cluster that a cluster was merged into, or the cluster itself while it
    exists. An entry of the pool may name a cluster that has been merged since, and a list may name one cluster twice;
    the totals then add up. best_size (m,): the size that the nearest neighbour had when it was chosen. total and
    touched (m,): working arrays; total is zero between uses.
    """

    size: NDArray[np.float64]
    begin: NDArray[np.int64]
    length: NDArray[np.int64]
    parent: NDArray[np.int32]
    best_size: NDArray[np.float64]
    total: NDArray[np.float64]
    touched: NDArray[np.int32]


@njit(cache=True, nogil=True)
def expected(first, second, power):
    """Return the divisor of the total between two clusters of these sizes.

    It is the number of all pairs if power is 2, otherwise the expected number of edges.
    """
    if power == 2.0:
        return first * second
    return ((first + second) ** power - first**power - second**power) / 2


@njit(cache=True, nogil=True)
def _gather(cluster, source, graph, near, values, n_touched):
    """Add up the totals in the list of `source` by the existing neighbours of `cluster`.

    Return the number of neighbours.
    """
    for place in range(graph.begin[source], graph.begin[source] + graph.length[source]):
        other = find(graph.parent, near[place])
        if other != cluster:
            if graph.total[other] == 0:
                graph.touched[n_touched] = other
                n_touched += 1
            graph.total[other] += values[place]
    return n_touched


@njit(cache=True, nogil=True)
def _rewrite(cluster, n_touched, graph, near, values, place, power, ranking):
    """Write the list gathered for `cluster` to the pool from `place` on, and note its nearest neighbour.

    Afterwards the totals are zero again.
    """
    graph.begin[cluster], graph.length[cluster] = place, n_touched
    best, largest = -1, 0.0
    for entry in range(n_touched):
        other = graph.touched[entry]
        near[place + entry], values[place + entry] = other, graph.total[other]
        value = graph.total[other] / expected(graph.size[cluster], graph.size[other], power)
        if best < 0 or before(value, other, largest, best):
            best, largest = other, value
        graph.total[other] = 0
    ranking.state[cluster], ranking.top[cluster] = BOUNDED, 0.0
    if best >= 0:
        ranking.state[cluster], ranking.top[cluster], ranking.best[cluster] = EXACT, largest, best
        graph.best_size[cluster] = graph.size[best]


@njit(cache=True, nogil=True)
def _announce(cluster, graph, near, values, power, ranking):
    """Update the neighbours of a new cluster: it may be nearer to them than their nearest neighbour so far."""
    for place in range(graph.begin[cluster], graph.begin[cluster] + graph.length[cluster]):
        other = near[place]
        value = values[place] / expected(graph.size[cluster], graph.size[other], power)
        best = ranking.best[other]
        current = (
            ranking.state[other] == EXACT and graph.parent[best] == best and graph.size[best] == graph.best_size[other]
        )
        if value > ranking.top[other] or (current and before(value, cluster, ranking.top[other], best)):
            ranking.state[other], ranking.top[other], ranking.best[other] = EXACT, value, cluster
            graph.best_size[other] = graph.size[cluster]
            rise(ranking.position[other], ranking)


@njit(cache=True, nogil=True)
def _compact(graph, near, values):
    """Move the lists of the existing clusters to the front of the pool; return the new end of the pool."""
    alive = np.flatnonzero(graph.parent == np.arange(graph.parent.size))
    total = 0
    for cluster in alive:
        total += graph.length[cluster]
    moved_near, moved_values = np.empty(total, dtype=near.dtype), np.empty(total)
    end = 0
    for cluster in alive:
        begin = graph.begin[cluster]
        graph.begin[cluster] = end
        for place in range(begin, begin + graph.length[cluster]):
            moved_near[end], moved_values[end] = near[place], values[place]
            end += 1
    near[:end] = moved_near
    values[:end] = moved_values
    return end


@njit(cache=True, nogil=True)
def graph_link(graph, near, values, end, power, limit, merges, similarity):
    """Merge the pair with the largest total / expected until `limit` clusters or no edges are left.

    Return the number of merges. near and values are the pool, filled up to `end`, with room for as many entries again.
    merges (m - 1, 2) receives the two clusters of each merge, the lower one first, and similarity (m - 1,) their
    similarity. Invariant: ranking.top is never less than the similarity of a cluster to its nearest neighbour.
    """
    m = graph.size.size
    ranking = Ranking(np.zeros(m), np.zeros(m, np.int8), np.zeros(m, np.int32), np.arange(m), np.empty(m), np.arange(m))
    for cluster in range(m):
        n_touched = _gather(cluster, cluster, graph, near, values, 0)
        _rewrite(cluster, n_touched, graph, near, values, graph.begin[cluster], power, ranking)
    build(ranking)
    left = m
    while left > limit and ranking.top[ranking.heap[0]] > 0:
        cluster = ranking.heap[0]
        best = ranking.best[cluster]
        if graph.parent[best] != best or graph.size[best] != graph.best_size[cluster]:
            n_touched = _gather(cluster, cluster, graph, near, values, 0)
            _rewrite(cluster, n_touched, graph, near, values, graph.begin[cluster], power, ranking)
            sink(ranking.position[cluster], left, ranking)
            continue
        a, b = min(cluster, best), max(cluster, best)
        merges[m - left, 0], merges[m - left, 1], similarity[m - left] = a, b, ranking.top[cluster]
        left = remove(b, left, ranking)
        graph.parent[b] = a
        graph.size[a] += graph.size[b]
        n_touched = _gather(a, b, graph, near, values, _gather(a, a, graph, near, values, 0))
        if end + n_touched > near.size:
            end = _compact(graph, near, values)
        _rewrite(a, n_touched, graph, near, values, end, power, ranking)
        end += n_touched
        rise(ranking.position[a], ranking)
        sink(ranking.position[a], left, ranking)
        _announce(a, graph, near, values, power, ranking)
    return m - left

"""Agglomeration of dense and sparse matrices, maximum spanning trees, and merges in greedy order.

The linkage is average link in which absent pairs count as zero, or one that divides the weight of edges by the number
expected.

There are three kernels: with inverted lists, on a matrix, and on a sparse graph.

All three take in the rows in the same order: they start with row 0, and the next row is always the one most strongly
connected to the rows taken in before, the lowest such row in a tie.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.ops.compiling import njit
from quorate.ops.neighbours import before, inverted_lists
from quorate.ops.ranking import BOUNDED, EXACT, Ranking, build, find, remove, rise, sink


@njit(cache=True, nogil=True)
def ordered_tree(merges, heights, counts):
    """Return a linkage matrix (m - 1, 4) in the order of a greedy agglomeration.

    That order is by lowest height, then by lowest clusters. merges (m - 1, 2) holds two clusters per merge, the lower
    one first, each named by its lowest row, in any order in which a cluster is formed before it is merged. counts (m,)
    is the number of objects in each row; their sums are the last column of the result.

    Invariant: `ready` holds the merges whose two clusters are both complete.
    """
    m = counts.size
    pending, parent = np.zeros(m - 1, dtype=np.int64), np.full(m - 1, -1)
    last = np.full(m, -1)
    for merge in range(m - 1):
        for side in range(2):
            below = last[merges[merge, side]]
            if below >= 0:
                parent[below] = merge
                pending[merge] += 1
        last[merges[merge, 0]] = merge
    ready = [
        (heights[merge], merges[merge, 0], merges[merge, 1], merge) for merge in range(m - 1) if not pending[merge]
    ]
    heapq.heapify(ready)
    tree = np.empty((m - 1, 4))
    node, size = np.arange(m), counts.copy()
    for step in range(m - 1):
        height, a, b, merge = heapq.heappop(ready)
        tree[step, 0], tree[step, 1] = min(node[a], node[b]), max(node[a], node[b])
        size[a] += size[b]
        tree[step, 2], tree[step, 3] = height, size[a]
        node[a] = m + step
        above = parent[merge]
        if above >= 0:
            pending[above] -= 1
            if pending[above] == 0:
                heapq.heappush(ready, (heights[above], merges[above, 0], merges[above, 1], above))
    return tree


@njit(cache=True, nogil=True)
def cut_tree(tree, n_clusters, result):
    """Write the cluster of each leaf after all but the last n_clusters - 1 merges.

    The labels are below 2 m, not canonical. result (2 m - 1,) int32 is a working array; its first m entries are the
    labels.
    """
    m = tree.shape[0] + 1
    for node in range(2 * m - 1):
        result[node] = node
    for step in range(m - n_clusters - 1, -1, -1):
        own = result[m + step]
        result[int(tree[step, 0])] = own
        result[int(tree[step, 1])] = own


@njit(cache=True, nogil=True)
def merged_labels(merges, n_rows):
    """Return the lowest row of each row's cluster after the given merges.

    merges (j, 2) holds two clusters per merge, each named by its lowest row, the lower one first.
    """
    lowest = np.arange(n_rows)
    for step in range(merges.shape[0]):
        lowest[merges[step, 1]] = merges[step, 0]
    for row in range(n_rows):
        lowest[row] = lowest[lowest[row]]
    return lowest


@njit(cache=True, nogil=True)
def single_merges(order, merges, edges):
    """Write the merges of single link, given the order in which a maximum spanning tree took in the rows.

    order (m,) is that order. edges (m - 1,) lists the edges in the order of the merges; an edge is given as the place
    in `order`, from 1 on, of the row that it took in. Rows that are consecutive in `order` belong to one cluster as
    soon as the edge between them has been merged.
    """
    m = order.size
    left, lowest = np.arange(m), order.copy()
    for step in range(m - 1):
        place = edges[step]
        first, second = place - 1, place
        while left[first] != first:
            left[first] = left[left[first]]
            first = left[first]
        while left[second] != second:
            left[second] = left[left[second]]
            second = left[second]
        a, b = lowest[first], lowest[second]
        merges[step, 0], merges[step, 1] = min(a, b), max(a, b)
        left[second] = first
        lowest[first] = min(a, b)


# The linkage rule decides what the matrix holds. SUM (average link): totals of similarity over pairs of objects, which
# are divided by the sizes when two clusters are compared. WARD: totals of squared distance, from which the increase in
# spread follows by one division. LEAST (complete link) and MEAN (weighted link): similarities.
SUM, LEAST, MEAN, WARD = 0, 1, 2, 3


@njit(cache=True, nogil=True, inline="always")
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


@njit(cache=True, nogil=True, inline="always")
def _nearest(cluster, matrix, size, alive, n_alive, rule):
    """Return the nearest cluster in alive[:n_alive], the lowest in a tie, and the similarity to it."""
    best, largest = -1, -np.inf
    for place in range(n_alive):
        other = alive[place]
        if other == cluster:
            continue
        value = _similarity(cluster, other, matrix, size, rule)
        if value > largest or (value == largest and other < best):
            best, largest = other, value
    return best, largest


@njit(cache=True, nogil=True, inline="always")
def _update(a, b, matrix, alive, n_alive, rule):
    """Overwrite row and column a of the matrix with the values of the cluster that a and b form together."""
    matrix[a, a] += matrix[b, b] + 2 * matrix[a, b]
    for place in range(n_alive):
        other = alive[place]
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

    NumPy's functions for whole arrays are avoided, because each takes longer to compile than a loop.
    """
    alive, chain, position = np.empty((3, size.size), dtype=np.int64)
    for cluster in range(size.size):
        alive[cluster], position[cluster] = cluster, size.size
    n_alive, length = size.size, 0
    for step in range(size.size - 1):
        if length == 0:
            chain[0], length = alive[n_alive - 1], 1
            position[chain[0]] = 0
        while True:
            near, value = _nearest(chain[length - 1], matrix, size, alive, n_alive, rule)
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
        _update(a, b, matrix, alive, n_alive, rule)
        size[a] += size[b]
        n_kept = 0
        for place in range(n_alive):
            if alive[place] != b:
                alive[n_kept] = alive[place]
                n_kept += 1
        n_alive = n_kept


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


@njit(cache=True, nogil=True)
def _strongest(key, alive):
    """Return the place of the largest key of a row that is not taken in yet, the first in a tie."""
    largest = key[0]
    for place in range(1, key.size):
        largest = max(largest, key[place])
    place = 0
    while key[place] != largest or alive[place] == 0:
        place += 1
    return place


@njit(cache=True, nogil=True)
def _add_lists(row_labels, offsets, lists, weights, shared):
    """Add to shared[i] the weight of the members in which the listed row i has the same label as this row."""
    start, rows = lists
    for member in range(row_labels.size):
        if row_labels[member] >= 0:
            column = offsets[member] + row_labels[member]
            for place in range(start[column], start[column + 1]):
                shared[rows[place]] += weights[member]


@njit(cache=True, nogil=True)
def spanning_order(labels, offsets, weights, order, strength):
    """Write to order (m,) the rows as they are taken in, and to strength (m,) how strongly each is connected.

    The strength of the first row is 0. labels is (m, H); strength has the type of `weights`. Candidates are taken from
    the lists of the row's base clusters. Rows taken in are removed from the lists whenever they are a quarter of them,
    so that every pair that shares something is met about once.

    Invariant: key[i] is the most that rows[i], if it is not taken in yet, shares with a row taken in; the key of all
    other rows is 0.
    """
    m = labels.shape[0]
    rows = np.arange(m)
    lists = inverted_lists(labels[rows], offsets)
    key, shared = np.zeros(m, dtype=weights.dtype), np.zeros(m, dtype=weights.dtype)
    alive = np.ones(m, dtype=weights.dtype)
    place = 0
    for step in range(m):
        row = rows[place]
        order[step], strength[step] = row, key[place]
        alive[place], key[place] = 0, 0
        if step == m - 1:
            break
        if 4 * (m - step - 1) < 3 * rows.size:
            keep = np.flatnonzero(alive)
            rows, key = rows[keep], key[keep]
            shared, alive = shared[: rows.size].copy(), alive[keep]
            lists = inverted_lists(labels[rows], offsets)
        _add_lists(labels[row], offsets, lists, weights, shared)
        for other in range(rows.size):
            key[other] = max(key[other], shared[other] * alive[other])
            shared[other] = 0
        place = _strongest(key, alive)


@njit(cache=True, nogil=True)
def dense_order(matrix, order, strength):
    """Do what `spanning_order` does, on a symmetric matrix (m, m) without negative entries."""
    m = matrix.shape[0]
    key, alive = np.zeros(m), np.ones(m)
    row = 0
    for step in range(m):
        order[step], strength[step] = row, key[row]
        alive[row], key[row] = 0, 0
        if step == m - 1:
            break
        for other in range(m):
            key[other] = max(key[other], matrix[row, other] * alive[other])
        row = _strongest(key, alive)


@njit(cache=True, nogil=True)
def graph_order(start, neighbours, values, order, strength):
    """Do what `spanning_order` does, on a symmetric sparse matrix of E entries, in O(E log E).

    The matrix is given in CSR form as start (m + 1,), neighbours and values.
    """
    m = start.size - 1
    taken = np.zeros(m, dtype=np.bool_)
    lowest = 0
    waiting = [(0.0, 0)]
    for step in range(m):
        weight, row = 0.0, -1
        while len(waiting) > 0 and row < 0:
            weight, row = heapq.heappop(waiting)
            if taken[row]:
                row = -1
        if row < 0:
            while taken[lowest]:
                lowest += 1
            weight, row = 0.0, lowest
        order[step], strength[step] = row, -weight
        taken[row] = True
        for place in range(start[row], start[row + 1]):
            if not taken[neighbours[place]]:
                heapq.heappush(waiting, (-values[place], np.int64(neighbours[place])))

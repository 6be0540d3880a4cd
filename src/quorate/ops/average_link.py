"""Average link by the centroid identity: best pair first, over exact sums, with short lists of candidates.

A cluster is named by its lowest row. Its sums are the numbers of its objects in each base cluster they fall into, kept
as (column, value) pairs sorted by column. The similarity of two clusters is one division of two exact numbers:
sum_f weight_f sums_a[f] sums_b[f] / (size_a size_b). All of these are whole numbers kept in float64, which is exact
below 2^53, so that equal similarities are equal numbers; weights that are no integers round, always in the same order.

Why the lists suffice: merging two clusters never brings either nearer to a third than the nearer of the two was. So
what is outside of the list of a cluster stays below the bound noted when the list was made, and a cluster is compared
with all others only when that bound is the largest similarity left anywhere. By then most of the others are merged.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from quorate.ops.neighbours import before, place_sorted
from quorate.ops.ranking import BOUNDED, EXACT, Ranking, build, find, remove, sink

# Bounds are added up in floating point; the margin is far above the rounding.
_MARGIN = 1 + 1e-12


class Clusters(NamedTuple):
    """size, begin, length (m,): objects, and the place of the sums in the pool; parent (m,): where a cluster went."""

    size: NDArray[np.int64]
    begin: NDArray[np.int64]
    length: NDArray[np.int64]
    parent: NDArray[np.int32]


class Lists(NamedTuple):
    """For each cluster a few near ones, near[c, :used[c]], and the bound that no cluster outside of them can pass.

    bound (m,): a similarity; bound_row (m,): the cluster outside that attains it, -1 where it is not known to be
    attained. top, state, best as in Ranking; best_size (m,): size of `best` when it was found, which tells its growth.
    """

    near: NDArray[np.int32]
    used: NDArray[np.int64]
    bound: NDArray[np.float64]
    bound_row: NDArray[np.int32]
    best: NDArray[np.int32]
    best_size: NDArray[np.int64]
    top: NDArray[np.float64]
    state: NDArray[np.int8]


class Scratch(NamedTuple):
    """dense (d,), total (m,): sums of one cluster and its dots, zero between uses; touched (m,); mark (m,): -1 so."""

    dense: NDArray[np.float64]
    total: NDArray[np.float64]
    touched: NDArray[np.int32]
    mark: NDArray[np.int64]


@njit(cache=True, nogil=True)
def _scatter(cluster, clusters, columns, values, dense, sign):
    for place in range(clusters.begin[cluster], clusters.begin[cluster] + clusters.length[cluster]):
        dense[columns[place]] = values[place] * sign


@njit(cache=True, nogil=True)
def _similarity(cluster, other, clusters, columns, values, weights, dense):
    """Of `cluster`, whose sums are in `dense`. Columns are sorted: the sum does not depend on how clusters arose."""
    total = 0.0
    for place in range(clusters.begin[other], clusters.begin[other] + clusters.length[other]):
        column = columns[place]
        total += weights[column] * (dense[column] * values[place])
    return total / (float(clusters.size[cluster]) * clusters.size[other])


@njit(cache=True, nogil=True)
def _settle(cluster, clusters, lists, similarity):
    """Note what the sorted list of a cluster says: its nearest neighbour, or only a bound on how near it is."""
    lists.state[cluster] = BOUNDED
    lists.top[cluster] = lists.bound[cluster]
    if lists.used[cluster] == 0:
        return
    best = lists.near[cluster, 0]
    if before(similarity[0], best, lists.bound[cluster], lists.bound_row[cluster]):
        lists.state[cluster] = EXACT
        lists.top[cluster] = similarity[0]
        lists.best[cluster] = best
        lists.best_size[cluster] = clusters.size[best]


@njit(cache=True, nogil=True)
def _evaluate(cluster, second, clusters, columns, values, weights, lists, scratch):
    """Sort the living candidates of `cluster`, with those of `second` if that is one just merged into it (else -1)."""
    width = lists.near.shape[1]
    near = np.empty(width + 1, dtype=np.int32)
    similarity = np.empty(width + 1)
    used, n_seen = 0, 0
    _scatter(cluster, clusters, columns, values, scratch.dense, 1)
    for source in (cluster, second):
        for place in range(lists.used[source] if source >= 0 else 0):
            other = find(clusters.parent, lists.near[source, place])
            if other != cluster and scratch.mark[other] < 0:
                scratch.mark[other] = 1
                scratch.touched[n_seen] = other
                n_seen += 1
                value = _similarity(cluster, other, clusters, columns, values, weights, scratch.dense)
                used = place_sorted(near, similarity, used, other, value)
    _scatter(cluster, clusters, columns, values, scratch.dense, 0)
    for place in range(n_seen):
        scratch.mark[scratch.touched[place]] = -1
    if used > width:
        used = width
        if before(similarity[width], near[width], lists.bound[cluster], lists.bound_row[cluster]):
            # of what fell out only the best is still in sight, and it need not stay the best
            lists.bound[cluster] = similarity[width]
            lists.bound_row[cluster] = near[width]
    lists.near[cluster, :used] = near[:used]
    lists.used[cluster] = used
    _settle(cluster, clusters, lists, similarity)


@njit(cache=True, nogil=True)
def _collect(cluster, clusters, columns, values, weights, snapshot, scratch):
    """Dots of `cluster` with all clusters that share something, into scratch.total; returns how many are touched.

    The lists of the snapshot name clusters as they were when it was taken; their sums add up to those of the
    clusters that hold them now.
    """
    list_start, list_cluster, list_value = snapshot
    total, parent = scratch.total, clusters.parent
    n_touched = 0
    for place in range(clusters.begin[cluster], clusters.begin[cluster] + clusters.length[cluster]):
        column, own = columns[place], values[place]
        weight = weights[column]
        for entry in range(list_start[column], list_start[column + 1]):
            other = list_cluster[entry]
            if parent[other] != other:
                other = find(parent, other)
            if total[other] == 0:
                scratch.touched[n_touched] = other
                n_touched += 1
            total[other] += weight * (own * list_value[entry])
    return n_touched


@njit(cache=True, nogil=True)
def _search(cluster, clusters, columns, values, weights, lists, snapshot, scratch):
    """Make the list of `cluster` anew from all clusters; its nearest neighbour is known after it."""
    n_touched = _collect(cluster, clusters, columns, values, weights, snapshot, scratch)
    width = lists.near.shape[1]
    near = np.empty(width + 1, dtype=np.int32)
    similarity = np.empty(width + 1)
    used, size = 0, float(clusters.size[cluster])
    scratch.total[cluster] = 0
    floor = 0.0
    for place in range(n_touched):
        other = scratch.touched[place]
        dot = scratch.total[other]
        scratch.total[other] = 0
        if dot > floor * clusters.size[other]:
            used = place_sorted(near, similarity, used, other, dot / (size * clusters.size[other]))
            if used > width:
                # a little below the last entry, so that rounding turns no equal away
                floor = similarity[width] * size / _MARGIN
    lists.bound[cluster], lists.bound_row[cluster] = 0.0, 0
    if used > width:
        lists.bound[cluster], lists.bound_row[cluster] = similarity[width], near[width]
        used = width
    lists.near[cluster, :used] = near[:used]
    lists.used[cluster] = used
    _settle(cluster, clusters, lists, similarity)


@njit(cache=True, nogil=True)
def _join_sums(first, second, clusters, columns, values, end):
    """Write the sums of both clusters to the pool from `end` on, sorted by column; returns the new end."""
    a, a_end = clusters.begin[first], clusters.begin[first] + clusters.length[first]
    b, b_end = clusters.begin[second], clusters.begin[second] + clusters.length[second]
    while a < a_end and b < b_end:
        column_a, column_b = columns[a], columns[b]
        total = 0.0
        if column_a <= column_b:
            total += values[a]
            a += 1
        if column_b <= column_a:
            total += values[b]
            b += 1
        columns[end], values[end] = min(column_a, column_b), total
        end += 1
    for rest, rest_end in ((a, a_end), (b, b_end)):
        for place in range(rest, rest_end):
            columns[end], values[end] = columns[place], values[place]
            end += 1
    return end


@njit(cache=True, nogil=True)
def _merge(a, b, clusters, columns, values, lists, end):
    """Join cluster b into a < b, whose list is then to be evaluated with that of b; returns the new end of the pool.

    A cluster outside of both lists is no nearer to the whole than the mean of the two bounds.
    """
    fresh, size_a, size_b = end, clusters.size[a], clusters.size[b]
    end = _join_sums(a, b, clusters, columns, values, end)
    clusters.begin[a], clusters.length[a] = fresh, end - fresh
    clusters.size[a] = size_a + size_b
    clusters.parent[b] = a
    bound = (size_a * lists.bound[a] + size_b * lists.bound[b]) / (size_a + size_b)
    lists.bound[a] = bound * _MARGIN
    lists.bound_row[a] = -1 if bound > 0 else 0
    return end


@njit(cache=True, nogil=True)
def _compact(alive, clusters, columns, values):
    """Move the sums of the living clusters to the front of the pool; returns its end."""
    total = 0
    for cluster in alive:
        total += clusters.length[cluster]
    moved_columns, moved_values = np.empty(total, dtype=columns.dtype), np.empty(total)
    end = 0
    for cluster in alive:
        begin = clusters.begin[cluster]
        clusters.begin[cluster] = end
        for place in range(begin, begin + clusters.length[cluster]):
            moved_columns[end], moved_values[end] = columns[place], values[place]
            end += 1
    columns[:end] = moved_columns
    values[:end] = moved_values
    return end


@njit(cache=True, nogil=True)
def take_snapshot(alive, clusters, columns, values, n_columns):
    """Inverted lists of the living clusters: for each column which have a sum there, and the sums."""
    start = np.zeros(n_columns + 1, dtype=np.int64)
    for cluster in alive:
        for place in range(clusters.begin[cluster], clusters.begin[cluster] + clusters.length[cluster]):
            start[columns[place] + 1] += 1
    for column in range(n_columns):
        start[column + 1] += start[column]
    target = start[:-1].copy()
    list_cluster = np.empty(start[-1], dtype=np.int32)
    list_value = np.empty(start[-1])
    for cluster in alive:
        for place in range(clusters.begin[cluster], clusters.begin[cluster] + clusters.length[cluster]):
            entry = target[columns[place]]
            list_cluster[entry] = cluster
            list_value[entry] = values[place]
            target[columns[place]] += 1
    return start, list_cluster, list_value


@njit(cache=True, nogil=True)
def average_link(clusters, columns, values, end, weights, lists, scratch, limit, merges, similarity):
    """Merges of average link, the most similar pair first, until `limit` clusters are left or nothing is shared.

    merges (m - 1, 2): the clusters, lower first; similarity (m - 1,). Returns the clusters left, increasing.
    Invariant: lists.top is no less than the similarity of a cluster to its nearest neighbour.
    """
    m = clusters.size.size
    alive = np.arange(m)
    snapshot = take_snapshot(alive, clusters, columns, values, weights.size)
    ranking = Ranking(lists.top, lists.state, lists.best, np.arange(m), np.arange(m))
    build(ranking)
    left = m
    while left > limit and lists.top[ranking.heap[0]] > 0:
        if 4 * left < 3 * alive.size or end + weights.size > columns.size:
            alive = alive[clusters.parent[alive] == alive]
            end = _compact(alive, clusters, columns, values)
            snapshot = take_snapshot(alive, clusters, columns, values, weights.size)
        cluster = ranking.heap[0]
        best = lists.best[cluster]
        if lists.state[cluster] == BOUNDED:
            _search(cluster, clusters, columns, values, weights, lists, snapshot, scratch)
        else:
            second = -1
            if clusters.parent[best] == best and clusters.size[best] == lists.best_size[cluster]:
                found = m - left
                similarity[found] = lists.top[cluster]
                cluster, second = min(cluster, best), max(cluster, best)
                merges[found, 0], merges[found, 1] = cluster, second
                left = remove(second, left, ranking)
                end = _merge(cluster, second, clusters, columns, values, lists, end)
            _evaluate(cluster, second, clusters, columns, values, weights, lists, scratch)
        sink(ranking.position[cluster], left, ranking)
    return alive[clusters.parent[alive] == alive]


@njit(cache=True, nogil=True)
def dots_between(alive, clusters, columns, values, weights):
    """Dots of all pairs of the given clusters (c, c)."""
    number = np.zeros(clusters.size.size, dtype=np.int64)
    number[alive] = np.arange(alive.size)
    start, members, sums = take_snapshot(alive, clusters, columns, values, weights.size)
    matrix = np.zeros((alive.size, alive.size), dtype=np.float64)
    for column in range(weights.size):
        for entry in range(start[column], start[column + 1]):
            row = matrix[number[members[entry]]]
            for other in range(start[column], start[column + 1]):
                row[number[members[other]]] += weights[column] * (sums[entry] * sums[other])
    return matrix

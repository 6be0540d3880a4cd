"""Average link by the centroid identity, with exact sums and short lists of candidates; the most similar pair is first.

A cluster is named by its lowest row. Its sums are the numbers of its objects in each base cluster they fall into, kept
as (column, value) pairs sorted by column. The similarity of two clusters is one division of two exact numbers: sum_f
weight_f sums_a[f] sums_b[f] / (size_a size_b). These numbers are integers kept in float64, which is exact below 2^53,
so that equal similarities are equal numbers. Weights that are not integers are rounded, but always in the same order of
summation.

Why the short lists suffice: a cluster that two others merge into is never nearer to a third cluster than the nearer of
the two was. Therefore every cluster outside of a list stays below the bound that was noted when the list was made, and
a cluster is compared with all others only when its bound is the largest similarity left anywhere. By then most of the
other clusters have been merged.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.ops.compiling import njit
from quorate.ops.neighbours import before, place_sorted
from quorate.ops.ranking import BOUNDED, EXACT, Ranking, build, find, remove, sink

# Bounds are sums of floating-point numbers; the margin is much larger than their rounding errors.
_MARGIN = 1 + 1e-12
# One step compares a cluster with all others at most, some milliseconds with 300,000 rows.
_STEPS = 200


class Clusters(NamedTuple):
    """The clusters and where their sums are stored in the pool, the arrays `columns` and `values`.

    size (m,): number of objects. begin and length (m,): the sums of cluster c are the entries begin[c] to begin[c] +
    length[c] - 1 of the pool. parent (m,): the cluster that a cluster was merged into, or the cluster itself while it
    exists.
    """

    size: NDArray[np.int64]
    begin: NDArray[np.int64]
    length: NDArray[np.int64]
    parent: NDArray[np.int32]


class Lists(NamedTuple):
    """A short list of near clusters for each cluster, and a bound for all clusters outside of the list.

    near[c, :used[c]] is the list of cluster c. bound (m,): no cluster outside of the list is more similar than this.
    bound_row (m,): a cluster outside of the list that attains the bound, or -1 if it is not known that any does. top,
    state and best are those of `Ranking`. best_size (m,): the size that `best` had when it was chosen, from which its
    later growth is recognised.
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
    """Working arrays that every function leaves as it received them.

    dense (d,): the sums of one cluster by column, zero between uses. total (m,): the dot products of one cluster with
    the others, zero between uses. touched (m,): clusters met so far; its contents do not matter between uses. mark
    (m,): int64 array, filled with -1 between uses.
    """

    dense: NDArray[np.float64]
    total: NDArray[np.float64]
    touched: NDArray[np.int32]
    mark: NDArray[np.int64]


@njit(cache=True, nogil=True)
def _scatter(cluster, clusters, columns, values, dense, sign):
    """Write the sums of a cluster, times `sign`, into the dense array; a sign of 0 clears them again."""
    for place in range(clusters.begin[cluster], clusters.begin[cluster] + clusters.length[cluster]):
        dense[columns[place]] = values[place] * sign


@njit(cache=True, nogil=True)
def _similarity(cluster, other, clusters, columns, values, weights, dense):
    """Return the similarity of `cluster`, whose sums are in `dense`, and `other`.

    The columns are sorted, so the order of summation does not depend on how the clusters came about.
    """
    total = 0.0
    for place in range(clusters.begin[other], clusters.begin[other] + clusters.length[other]):
        column = columns[place]
        total += weights[column] * (dense[column] * values[place])
    return total / (float(clusters.size[cluster]) * clusters.size[other])


@njit(cache=True, nogil=True)
def _settle(cluster, clusters, lists, similarity):
    """Note what follows from the sorted list of a cluster: its nearest neighbour, or only a bound."""
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
    """Sort the candidates of `cluster` that still exist by similarity and keep the best of them.

    If `second` is a cluster that has just been merged into `cluster`, its candidates are included; otherwise it is -1.
    """
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
            # Of the candidates that were dropped only the best is known, and it need not remain the best of them.
            lists.bound[cluster] = similarity[width]
            lists.bound_row[cluster] = near[width]
    lists.near[cluster, :used] = near[:used]
    lists.used[cluster] = used
    _settle(cluster, clusters, lists, similarity)


@njit(cache=True, nogil=True)
def _collect(cluster, clusters, columns, values, weights, snapshot, scratch):
    """Compute the dot products of `cluster` with all clusters that share a base cluster with it, into scratch.total.

    Returns how many clusters were touched. The lists of the snapshot name clusters as they were when the snapshot was
    taken; adding up their sums gives the sums of the clusters that contain them now.
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
    """Compare `cluster` with all clusters and make its list anew; afterwards its nearest neighbour is known."""
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
                # slightly below the last entry, so that rounding does not reject a cluster that is equally similar
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
    """Append the sums of two clusters together to the pool from `end` on, sorted by column; return the new end."""
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
    """Merge cluster b into cluster a, where a < b; return the new end of the pool.

    The caller has to evaluate the lists of a and b together afterwards. A cluster outside of both lists is no nearer to
    the merged cluster than the mean of the two bounds, weighted by the sizes.
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
    """Move the sums of the clusters that still exist to the front of the pool; return the new end of the pool."""
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
    """Build inverted lists: for each column, the clusters of `alive` that have a sum there, and those sums."""
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
def _link_some(clusters, columns, values, weights, lists, scratch, ranking, course, limit, merges, similarity):
    """Do at most _STEPS steps of `average_link`, from where the last call left off.

    course: the clusters that existed when the snapshot was taken, the snapshot, the end of the pool, and the number of
    clusters left. Returns the same four afterwards.
    """
    alive, snapshot, end, left = course
    m = clusters.size.size
    for _ in range(_STEPS):
        if left <= limit or lists.top[ranking.heap[0]] <= 0:
            break
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
                step = m - left
                similarity[step] = lists.top[cluster]
                cluster, second = min(cluster, best), max(cluster, best)
                merges[step, 0], merges[step, 1] = cluster, second
                left = remove(second, left, ranking)
                end = _merge(cluster, second, clusters, columns, values, lists, end)
            _evaluate(cluster, second, clusters, columns, values, weights, lists, scratch)
        sink(ranking.position[cluster], left, ranking)
    return alive, snapshot, end, left


def average_link(
    clusters: Clusters,
    columns: NDArray[np.int32],
    values: NDArray[np.float64],
    end: int,
    weights: NDArray[np.float64],
    lists: Lists,
    scratch: Scratch,
    limit: int,
    merges: NDArray[np.int64],
    similarity: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Merge the most similar pair until `limit` clusters are left or no two clusters share a base cluster.

    Each step takes the cluster with the largest entry of lists.top. If that entry is only a bound, the cluster is
    compared with all others. If its nearest neighbour has changed since, its list is sorted again. Otherwise the two
    are merged. The steps are done some hundreds at a time, so that Ctrl-C is answered between two calls.

    Written: merges (m - 1, 2), the two clusters of each merge, the lower one first; similarity (m - 1,). Returns the
    clusters that are left, in increasing order.
    Invariant: lists.top is never less than the similarity of a cluster to its nearest neighbour.
    """
    m = clusters.size.size
    alive = np.arange(m)
    snapshot = take_snapshot(alive, clusters, columns, values, weights.size)
    ranking = Ranking(lists.top, lists.state, lists.best, np.arange(m), np.arange(m))
    build(ranking)
    course = (alive, snapshot, end, m)
    while course[3] > limit and lists.top[ranking.heap[0]] > 0:
        course = _link_some(
            clusters, columns, values, weights, lists, scratch, ranking, course, limit, merges, similarity
        )
    alive = course[0]
    left: NDArray[np.int64] = alive[clusters.parent[alive] == alive]
    return left


@njit(cache=True, nogil=True)
def dots_between(alive, clusters, columns, values, weights):
    """Return the (c, c) matrix of the dot products of all pairs of the c given clusters."""
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

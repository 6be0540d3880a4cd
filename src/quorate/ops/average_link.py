"""Average link by the centroid identity, with exact sums and short lists of candidates; the most similar pair is first.

A cluster is named by its lowest row. Its sums are the numbers of its objects in each base cluster they fall into, kept
as (column, value) pairs sorted by column. The similarity of two clusters is one division of two exact numbers: sum_f
weight_f sums_a[f] sums_b[f] / (size_a size_b). These numbers are integers kept in float64, which is exact below 2^53,
so that equal similarities are equal numbers. Weights that are not integers are rounded, but always in the same order of
summation.

Why the short lists suffice: a cluster that two others merge into is never nearer to a third cluster than the nearer of
the two was. Therefore every cluster outside of a list stays below the bound that was noted when the list was made, and
a cluster is compared with all others only when its bound is the largest similarity left anywhere. By then most of the
other clusters have been merged. Similarities in a list are kept: a similarity is computed again only if one of its two
clusters has grown since.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.ops.cluster_sums import Clusters, compact, join_sums, take_snapshot
from quorate.ops.compiling import njit
from quorate.ops.neighbours import before, place_sorted
from quorate.ops.ranking import BOUNDED, EXACT, Ranking, build, find, remove, sink

# Bounds are sums of floating-point numbers; the margin is much larger than their rounding errors.
_MARGIN = 1 + 1e-12
# One step compares a cluster with all others at most, some milliseconds with 300,000 rows.
_STEPS = 200


class Lists(NamedTuple):
    """A short list of near clusters for each cluster, and a bound for all clusters outside of the list.

    near[c, :used[c]] is the list of cluster c, and value[c, :used[c]] the similarities, which were right after seen[c]
    merges; they are all out of date if seen[c] is -1. bound (m,): no cluster outside of the list is more similar than
    this. bound_row (m,): a cluster outside of the list that attains the bound, or -1 if it is not known that any does.
    top, state and best are those of `Ranking`. best_size (m,): the size that `best` had when it was chosen, from which
    its later growth is recognised.
    """

    near: NDArray[np.int32]
    value: NDArray[np.float64]
    seen: NDArray[np.int32]
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
    those of the snapshot, zero between uses. touched (m,): clusters met so far; its contents do not matter between
    uses. mark (m,): int8 array, filled with -1 between uses.
    """

    dense: NDArray[np.float64]
    total: NDArray[np.float64]
    touched: NDArray[np.int32]
    mark: NDArray[np.int8]


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
def _evaluate(cluster, second, n_merges, clusters, columns, values, weights, lists, scratch):
    """Sort the candidates of `cluster` that still exist by similarity and keep the best of them.

    If `second` is a cluster that has just been merged into `cluster`, its candidates are included; otherwise it is -1.
    """
    width = lists.near.shape[1]
    near = np.empty(width + 1, dtype=np.int32)
    similarity = np.empty(width + 1)
    used, n_seen = 0, 0
    seen = lists.seen[cluster] if second < 0 else -1
    _scatter(cluster, clusters, columns, values, scratch.dense, 1)
    for source in (cluster, second):
        for place in range(lists.used[source] if source >= 0 else 0):
            other = find(clusters.parent, lists.near[source, place])
            if other != cluster and scratch.mark[other] < 0:
                scratch.mark[other] = 1
                scratch.touched[n_seen] = other
                n_seen += 1
                value = lists.value[source, place]
                if clusters.changed[other] > seen or other != lists.near[source, place]:
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
    _keep(cluster, near, similarity, used, n_merges, lists)
    _settle(cluster, clusters, lists, similarity)


@njit(cache=True, nogil=True)
def _keep(cluster, near, similarity, used, n_merges, lists):
    """Write the list of a cluster."""
    lists.near[cluster, :used] = near[:used]
    lists.value[cluster, :used] = similarity[:used]
    lists.used[cluster] = used
    lists.seen[cluster] = n_merges


@njit(cache=True, nogil=True)
def _collect(cluster, n_gone, clusters, columns, values, weights, snapshot, total):
    """Compute the dot products of `cluster` with all clusters of the snapshot, into total[:alive.size].

    The clusters of the snapshot that were merged into others since are added up to the clusters that contain them now.
    """
    for place in range(clusters.begin[cluster], clusters.begin[cluster] + clusters.length[cluster]):
        column = columns[place]
        factor = weights[column] * values[place]
        for entry in range(snapshot.start[column], snapshot.start[column + 1]):
            total[snapshot.row[entry]] += factor * snapshot.sum[entry]
    for which in range(n_gone):
        row = snapshot.gone[which]
        total[snapshot.place[find(clusters.parent, snapshot.alive[row])]] += total[row]
        total[row] = 0
    total[snapshot.place[cluster]] = 0


@njit(cache=True, nogil=True)
def _search(cluster, left, exact, clusters, columns, values, weights, lists, snapshot, scratch):
    """Compare `cluster` with all clusters and make its list anew; afterwards its nearest neighbour is known.

    exact: whether the order of summation does not matter. If it does, the similarities in the list are computed again
    in the order of `_similarity`, so that equal clusters are always equally similar.
    """
    alive, total = snapshot.alive, scratch.total
    _collect(cluster, alive.size - left, clusters, columns, values, weights, snapshot, total)
    width = lists.near.shape[1]
    near = np.empty(width + 1, dtype=np.int32)
    similarity = np.empty(width + 1)
    used, size = 0, float(clusters.size[cluster])
    floor = 0.0
    # The candidates of before come first, because most of the others are less similar and are then left out at once.
    for place in range(lists.used[cluster]):
        row = snapshot.place[find(clusters.parent, lists.near[cluster, place])]
        if total[row] > 0:
            used = place_sorted(near, similarity, used, alive[row], total[row] / (size * snapshot.size[row]))
            total[row] = 0
    for row in range(alive.size):
        dot = total[row]
        total[row] = 0
        if dot > floor * snapshot.size[row]:
            used = place_sorted(near, similarity, used, alive[row], dot / (size * snapshot.size[row]))
            if used > width:
                # slightly below the last entry, so that rounding does not reject a cluster that is equally similar
                floor = similarity[width] * size / _MARGIN
    if not exact:
        _measure_again(cluster, used, near, similarity, clusters, columns, values, weights, scratch.dense)
    lists.bound[cluster], lists.bound_row[cluster] = 0.0, 0
    if used > width:
        lists.bound[cluster], lists.bound_row[cluster] = similarity[width], near[width]
        if not exact:
            lists.bound[cluster], lists.bound_row[cluster] = similarity[width] * _MARGIN, -1
        used = width
    _keep(cluster, near, similarity, used, clusters.size.size - left, lists)
    _settle(cluster, clusters, lists, similarity)


@njit(cache=True, nogil=True)
def _measure_again(cluster, used, near, similarity, clusters, columns, values, weights, dense):
    """Compute the similarities of a list in the order of `_similarity`, and sort the list by them."""
    _scatter(cluster, clusters, columns, values, dense, 1)
    for place in range(used):
        other = near[place]
        value = _similarity(cluster, other, clusters, columns, values, weights, dense)
        place_sorted(near[: place + 1], similarity[: place + 1], place, other, value)
    _scatter(cluster, clusters, columns, values, dense, 0)


@njit(cache=True, nogil=True)
def _merge(a, b, n_merges, clusters, columns, values, lists, end):
    """Merge cluster b into cluster a, where a < b, as the merge number `n_merges`; return the new end of the pool.

    The caller has to evaluate the lists of a and b together afterwards. A cluster outside of both lists is no nearer to
    the merged cluster than the mean of the two bounds, weighted by the sizes.
    """
    fresh, size_a, size_b = end, clusters.size[a], clusters.size[b]
    end = join_sums(a, b, clusters, columns, values, end)
    clusters.begin[a], clusters.length[a] = fresh, end - fresh
    clusters.size[a] = size_a + size_b
    clusters.parent[b] = a
    clusters.changed[a] = n_merges
    bound = (size_a * lists.bound[a] + size_b * lists.bound[b]) / (size_a + size_b)
    lists.bound[a] = bound * _MARGIN
    lists.bound_row[a] = -1 if bound > 0 else 0
    return end


@njit(cache=True, nogil=True)
def _link_some(clusters, columns, values, weights, exact, lists, scratch, ranking, course, limit, merges, similarity):
    """Do at most _STEPS steps of `average_link`, from where the last call left off.

    course: the snapshot, the end of the pool, and the number of clusters left. Returns the same three afterwards.
    """
    snapshot, end, left = course
    m = clusters.size.size
    for _ in range(_STEPS):
        if left <= limit or lists.top[ranking.heap[0]] <= 0:
            break
        if 8 * left < 7 * snapshot.alive.size or end + weights.size > columns.size:
            alive = snapshot.alive[clusters.parent[snapshot.alive] == snapshot.alive]
            end = compact(alive, clusters, columns, values)
            snapshot = take_snapshot(alive, clusters, columns, values, weights.size)
        cluster = np.int64(ranking.heap[0])
        best = np.int64(lists.best[cluster])
        if lists.state[cluster] == BOUNDED:
            _search(cluster, left, exact, clusters, columns, values, weights, lists, snapshot, scratch)
        else:
            second = -1
            if clusters.parent[best] == best and clusters.size[best] == lists.best_size[cluster]:
                step = m - left
                similarity[step] = lists.top[cluster]
                cluster, second = min(cluster, best), max(cluster, best)
                merges[step, 0], merges[step, 1] = cluster, second
                snapshot.gone[snapshot.alive.size - left] = snapshot.place[second]
                left = remove(second, left, ranking)
                end = _merge(cluster, second, step + 1, clusters, columns, values, lists, end)
                snapshot.size[snapshot.place[cluster]] = clusters.size[cluster]
            _evaluate(cluster, second, m - left, clusters, columns, values, weights, lists, scratch)
        sink(ranking.position[cluster], left, ranking)
    return snapshot, end, left


def average_link(
    order: NDArray[np.int64],
    clusters: Clusters,
    columns: NDArray[np.int32],
    values: NDArray[np.float64],
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

    order (m,) holds all clusters. It does not change the result, but what is close to each other in it is close to each
    other in memory, so that the work is faster if similar clusters are.

    Written: merges (m - 1, 2), the two clusters of each merge, the lower one first; similarity (m - 1,). Returns the
    clusters that are left, in increasing order.
    Invariant: lists.top is never less than the similarity of a cluster to its nearest neighbour.
    """
    m = clusters.size.size
    exact = bool(np.all(weights == np.floor(weights)))
    end = compact(order, clusters, columns, values)
    snapshot = take_snapshot(order, clusters, columns, values, weights.size)
    heap = np.arange(m, dtype=np.int32)
    ranking = Ranking(lists.top, lists.state, lists.best, heap, heap.copy())
    build(ranking)
    course = (snapshot, end, m)
    while course[2] > limit and lists.top[ranking.heap[0]] > 0:
        course = _link_some(
            clusters, columns, values, weights, exact, lists, scratch, ranking, course, limit, merges, similarity
        )
    alive = course[0].alive
    left: NDArray[np.int64] = np.sort(alive[clusters.parent[alive] == alive])
    return left

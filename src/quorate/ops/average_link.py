"""Average link by the centroid identity, with exact sums and short lists of candidates; the most similar pair is first.

A cluster is named by its lowest row. Its sums are the numbers of its objects in each base cluster they fall into, kept
as (column, value) pairs sorted by column. The similarity of two clusters is one division of two exact numbers: sum_f
weight_f sums_a[f] sums_b[f] / (size_a size_b). These numbers are integers kept in float64, which is exact below 2^53,
so that equal similarities are equal numbers. Weights that are not integers are rounded, but always in the same order of
summation.

Why the short lists suffice: a cluster that two others merge into is never nearer to a third cluster than the nearer of
the two was. Therefore every cluster outside of a list stays below the bound that was noted when the list was made, and
a cluster is compared with all others only when its bound is the largest similarity left anywhere. By then most of the
other clusters have been merged. For the same reason a similarity in a list is an upper bound after one of its clusters
has grown, and it is computed again only when no other number is larger (see `candidate_lists`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.ops.candidate_lists import MARGIN, Lists, Union, first_unsure, join_lists, move, settle
from quorate.ops.cluster_sums import Clusters, compact, join_sums, take_snapshot
from quorate.ops.compiling import njit
from quorate.ops.neighbours import place_sorted
from quorate.ops.ranking import BOUNDED, EXACT, Ranking, build, find, remove, rise, sink

# One step compares a cluster with all others at most, some milliseconds with 300,000 rows.
_STEPS = 200


class Scratch(NamedTuple):
    """Working arrays that every function leaves as it received them.

    dense (d,): the sums of one cluster by column, zero between uses. total (m,): the dot products of one cluster with
    those of the snapshot, zero between uses; narrow_total (m,) is the same in single precision. mark (m,): int32 array,
    filled with -1 between uses. reach (2,): the largest number of objects of a cluster, which is kept up to date, and
    the largest dot product of two rows per object of one and of the other, infinite if those are no whole numbers.
    """

    dense: NDArray[np.float64]
    total: NDArray[np.float64]
    narrow_total: NDArray[np.float32]
    mark: NDArray[np.int32]
    reach: NDArray[np.float64]


@njit(cache=True, nogil=True)
def _scatter(cluster, clusters, columns, values, dense, sign):
    """Write the sums of a cluster, times `sign`, into the dense array; a sign of 0 clears them again."""
    for place in range(clusters.begin[cluster], clusters.begin[cluster] + clusters.length[cluster]):
        dense[columns[place]] = values[place] * sign


@njit(cache=True, nogil=True)
def _dot(columns, values, begin, length, weights, dense):
    """Return the dot product of the sums in `dense` and those that begin at `begin` in the pool.

    The columns are sorted, so the order of summation does not depend on how the clusters came about.
    """
    total = 0.0
    for place in range(begin, begin + length):
        column = columns[place]
        total += weights[column] * (dense[column] * values[place])
    return total


@njit(cache=True, nogil=True)
def _measure(cluster, floor, n_merges, clusters, columns, values, weights, lists, dense):
    """Measure the first candidates of a cluster until its nearest neighbour is known or surely less than `floor`."""
    parent, changed, sizes = clusters.parent, clusters.changed, clusters.size
    begins, lengths = clusters.begin, clusters.length
    near, value, stamp, used = lists.near[cluster], lists.value[cluster], lists.stamp[cluster], lists.used[cluster]
    limit = max(floor, lists.bound[cluster])
    unsure = first_unsure(near, value, stamp, used, parent, changed)
    if unsure >= 0 and value[0] >= limit:
        begin, length = begins[cluster], lengths[cluster]
        for place in range(begin, begin + length):
            dense[columns[place]] = values[place]
        while unsure >= 0 and value[0] >= limit:
            other = find(parent, near[unsure])
            dot = _dot(columns, values, begins[other], lengths[other], weights, dense)
            similarity = dot / (float(sizes[cluster]) * sizes[other])
            move(near, value, stamp, used, unsure, other, similarity, n_merges)
            unsure = first_unsure(near, value, stamp, used, parent, changed)
        for place in range(begin, begin + length):
            dense[columns[place]] = 0.0
    settle(cluster, unsure, sizes, lists)


@njit(cache=True, nogil=True)
def _collect(cluster, n_gone, clusters, columns, values, weights, snapshot, sums, total):
    """Compute the dot products of `cluster` with all clusters of the snapshot, into total[:alive.size].

    sums: the sums of the snapshot, of the same type as `total`. The clusters of the snapshot that were merged into
    others since are added up to the clusters that contain them now.
    """
    start, rows = snapshot.start, snapshot.row
    for place in range(clusters.begin[cluster], clusters.begin[cluster] + clusters.length[cluster]):
        column = columns[place]
        factor = total.dtype.type(weights[column] * values[place])
        for entry in range(start[column], start[column + 1]):
            total[rows[entry]] += factor * sums[entry]
    for which in range(n_gone):
        row = snapshot.gone[which]
        total[snapshot.place[find(clusters.parent, snapshot.alive[row])]] += total[row]
        total[row] = 0
    total[snapshot.place[cluster]] = 0


@njit(cache=True, nogil=True)
def _choose(cluster, clusters, lists, snapshot, total, near, similarity):
    """Sort the clusters with the largest dot products in `total` into near and similarity; return their number."""
    alive, sizes = snapshot.alive, snapshot.size
    used, size = 0, float(clusters.size[cluster])
    floor = 0.0
    # The candidates of before come first, because most of the others are less similar and are then left out at once.
    for place in range(lists.used[cluster]):
        row = snapshot.place[find(clusters.parent, lists.near[cluster, place])]
        if total[row] > 0:
            used = place_sorted(near, similarity, used, alive[row], total[row] / (size * sizes[row]))
            total[row] = 0
    for row in range(alive.size):
        dot = total[row]
        total[row] = 0
        if dot > floor * sizes[row]:
            used = place_sorted(near, similarity, used, alive[row], dot / (size * sizes[row]))
            if used == near.size:
                # slightly below the last entry, so that rounding does not reject a cluster that is equally similar
                floor = similarity[used - 1] * size / MARGIN
    return used


@njit(cache=True, nogil=True)
def _search(cluster, left, exact, clusters, columns, values, weights, lists, snapshot, scratch):
    """Compare `cluster` with all clusters and make its list anew; afterwards its nearest neighbour is known.

    exact: whether the order of summation does not matter. If it does, the similarities in the list are computed again
    in the order of `_dot`, so that equal clusters are always equally similar. If it does not and all dot products are
    less than 2^24, they are whole numbers in single precision, which takes two thirds of the time.
    """
    width = lists.near.shape[1]
    near = np.empty(width + 1, dtype=np.int32)
    similarity = np.empty(width + 1)
    n_gone = snapshot.alive.size - left
    if exact and scratch.reach[0] * scratch.reach[1] * clusters.size[cluster] < 2**24:
        total = scratch.narrow_total
        _collect(cluster, n_gone, clusters, columns, values, weights, snapshot, snapshot.narrow_sum, total)
        used = _choose(cluster, clusters, lists, snapshot, total, near, similarity)
    else:
        _collect(cluster, n_gone, clusters, columns, values, weights, snapshot, snapshot.sum, scratch.total)
        used = _choose(cluster, clusters, lists, snapshot, scratch.total, near, similarity)
    if not exact:
        _measure_again(cluster, used, near, similarity, clusters, columns, values, weights, scratch.dense)
    lists.bound[cluster], lists.bound_row[cluster] = 0.0, 0
    if used > width:
        lists.bound[cluster], lists.bound_row[cluster] = similarity[width], near[width]
        if not exact:
            lists.bound[cluster], lists.bound_row[cluster] = similarity[width] * MARGIN, -1
        used = width
    for place in range(used):
        lists.near[cluster, place], lists.value[cluster, place] = near[place], similarity[place]
        lists.stamp[cluster, place] = clusters.size.size - left
    lists.used[cluster] = used
    settle(cluster, -1, clusters.size, lists)


@njit(cache=True, nogil=True)
def _measure_again(cluster, used, near, similarity, clusters, columns, values, weights, dense):
    """Compute the similarities of a list in the order of `_dot`, and sort the list by them."""
    _scatter(cluster, clusters, columns, values, dense, 1)
    for place in range(used):
        other = near[place]
        dot = _dot(columns, values, clusters.begin[other], clusters.length[other], weights, dense)
        value = dot / (float(clusters.size[cluster]) * clusters.size[other])
        place_sorted(near[: place + 1], similarity[: place + 1], place, other, value)
    _scatter(cluster, clusters, columns, values, dense, 0)


@njit(cache=True, nogil=True)
def _merge(a, b, whole, n_merges, clusters, columns, values, lists, union, mark, end):
    """Merge cluster b into cluster a, where a < b, as the merge number `n_merges`; return the new end of the pool."""
    fresh, size_a, size_b = end, clusters.size[a], clusters.size[b]
    end = join_sums(a, b, clusters, columns, values, end)
    clusters.begin[a], clusters.length[a] = fresh, end - fresh
    clusters.size[a] = size_a + size_b
    clusters.parent[b] = a
    clusters.changed[a] = n_merges
    join_lists(a, b, (size_a, size_b), whole, n_merges, clusters, lists, union, mark)
    return end


@njit(cache=True, nogil=True)
def _second(left, ranking):
    """Return the largest entry of `top` in the heap of `left` clusters except for the first cluster."""
    largest = 0.0
    for place in range(1, min(left, 3)):
        largest = max(largest, ranking.key[place])
    return largest


@njit(cache=True, nogil=True)
def _link_some(
    clusters, columns, values, weights, exact, lists, union, scratch, ranking, course, limit, merges, similarity
):
    """Do at most _STEPS steps of `average_link`, from where the last call left off.

    course: the snapshot, the end of the pool, and the number of clusters left. Returns the same three afterwards.
    """
    snapshot, end, left = course
    m, whole = clusters.size.size, scratch.reach[1] < np.inf
    for _ in range(_STEPS):
        if left <= limit or lists.top[ranking.heap[0]] <= 0:
            break
        if 8 * left < 7 * snapshot.alive.size or end + weights.size > columns.size:
            alive = snapshot.alive[clusters.parent[snapshot.alive] == snapshot.alive]
            end = compact(alive, clusters, columns, values)
            snapshot = take_snapshot(alive, clusters, columns, values, weights.size)
        cluster = np.int64(ranking.heap[0])
        best = np.int64(lists.best[cluster])
        state = lists.state[cluster]
        if state == BOUNDED:
            _search(cluster, left, exact, clusters, columns, values, weights, lists, snapshot, scratch)
        elif state == EXACT and clusters.parent[best] == best and clusters.size[best] == lists.best_size[cluster]:
            step = m - left
            similarity[step] = lists.top[cluster]
            cluster, second = min(cluster, best), max(cluster, best)
            merges[step, 0], merges[step, 1] = cluster, second
            snapshot.gone[snapshot.alive.size - left] = snapshot.place[second]
            left = remove(second, left, ranking)
            end = _merge(cluster, second, whole, step + 1, clusters, columns, values, lists, union, scratch.mark, end)
            snapshot.size[snapshot.place[cluster]] = clusters.size[cluster]
            scratch.reach[0] = max(scratch.reach[0], clusters.size[cluster])
        else:
            floor = _second(left, ranking)
            _measure(cluster, floor, m - left, clusters, columns, values, weights, lists, scratch.dense)
        sink(ranking.position[cluster], left, ranking)
        # an upper bound of a merged cluster may be larger than the similarities that it follows from, by rounding
        rise(ranking.position[cluster], ranking)
    return snapshot, end, left


@njit(cache=True, nogil=True)
def _note_reach(clusters, columns, values, weights, reach):
    """Write to `reach` the largest cluster, and what the dot product of two clusters is at most per pair of objects.

    The latter is infinite if dot products are not whole numbers, as with soft rows and with other weights.
    """
    largest, most, mass = 0.0, 0.0, 0.0
    for cluster in range(clusters.size.size):
        size, total = float(clusters.size[cluster]), 0.0
        for place in range(clusters.begin[cluster], clusters.begin[cluster] + clusters.length[cluster]):
            most = max(most, values[place] / size)
            total += weights[columns[place]] * values[place]
            if values[place] != np.floor(values[place]) or weights[columns[place]] != np.floor(weights[columns[place]]):
                most = np.inf
        largest, mass = max(largest, size), max(mass, total / size)
    reach[0], reach[1] = largest, most * mass


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
    _note_reach(clusters, columns, values, weights, scratch.reach)
    end = compact(order, clusters, columns, values)
    snapshot = take_snapshot(order, clusters, columns, values, weights.size)
    heap = np.arange(m, dtype=np.int32)
    ranking = Ranking(lists.top, lists.state, lists.best, heap, np.empty(m), heap.copy())
    build(ranking)
    room = 2 * lists.near.shape[1]
    union = Union(np.empty(room, dtype=np.int32), np.full((2, room), -1.0), np.full((2, room), -1.0))
    course = (snapshot, end, m)
    while course[2] > limit and lists.top[ranking.heap[0]] > 0:
        course = _link_some(
            clusters, columns, values, weights, exact, lists, union, scratch, ranking, course, limit, merges, similarity
        )
    alive = course[0].alive
    left: NDArray[np.int64] = np.sort(alive[clusters.parent[alive] == alive])
    return left

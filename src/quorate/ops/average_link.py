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
from quorate.ops.ranking import BOUNDED, EXACT, LISTED, Ranking, build, find, remove, rise, sink

# Bounds are sums of floating-point numbers; the margin is much larger than their rounding errors.
_MARGIN = 1 + 1e-12
# Whole numbers below this are found again after a division and a multiplication.
_SAFE = 2.0**50
# One step compares a cluster with all others at most, some milliseconds with 300,000 rows.
_STEPS = 200


class Lists(NamedTuple):
    """A short list of near clusters for each cluster, and a bound for all clusters outside of the list.

    near[c, :used[c]] is the list of cluster c, and value[c, :used[c]] are the similarities, the largest first.
    stamp[c, :used[c]] tells after how many merges each similarity was computed, or is -1 if it was not computed and
    `value` is only known to be no less than it. A similarity of which a cluster has grown since is out of date: it is
    then no larger than the old value or the bound, whichever is larger. bound (m,): no cluster outside of the list is
    more similar than this. bound_row (m,): a cluster outside of the list that attains the bound, or -1 if it is not
    known that any does. top, state and best are those of `Ranking`. best_size (m,): the size that `best` had when it
    was chosen, from which its later growth is recognised.
    """

    near: NDArray[np.int32]
    value: NDArray[np.float64]
    stamp: NDArray[np.int32]
    used: NDArray[np.int64]
    bound: NDArray[np.float64]
    bound_row: NDArray[np.int32]
    best: NDArray[np.int32]
    best_size: NDArray[np.int64]
    top: NDArray[np.float64]
    state: NDArray[np.int8]


class Union(NamedTuple):
    """Working memory for the union of two lists, with room for 2 * width candidates.

    near: the candidates; its contents do not matter between uses. most (2, 2 * width): the largest similarity that each
    can have to the two clusters, -1 if it is not in the list of that cluster. dot (2, 2 * width): the dot products with
    the two clusters, -1 if it is not known. Both are filled with -1 between uses.
    """

    near: NDArray[np.int32]
    most: NDArray[np.float64]
    dot: NDArray[np.float64]


class Scratch(NamedTuple):
    """Working arrays that every function leaves as it received them.

    dense (d,): the sums of one cluster by column, zero between uses. total (m,): the dot products of one cluster with
    those of the snapshot, zero between uses; narrow_total (m,) is the same in single precision. mark (m,): int32 array,
    filled with -1 between uses. reach (2,): the largest number of objects of a cluster, which is kept up to date, and
    the largest dot product of two rows per object of one and of the other.
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
def _first_unsure(near, value, stamp, used, parent, changed):
    """Return the first entry of a list that may be the most similar and is out of date, or -1 if there is none.

    The arrays are those of one list; parent and changed are those of `Clusters`. Entries that are less than the first
    entry cannot be the most similar.
    """
    for place in range(used):
        if value[place] < value[0]:
            break
        other = near[place]
        if parent[other] != other or changed[other] > stamp[place]:
            return place
    return -1


@njit(cache=True, nogil=True)
def _settle(cluster, unsure, sizes, lists):
    """Note what follows from the list of a cluster: its nearest neighbour, a candidate to be measured, or a bound.

    unsure: the result of `_first_unsure`. sizes (m,): the numbers of objects.
    """
    bound = lists.bound[cluster]
    lists.state[cluster] = BOUNDED
    lists.top[cluster] = bound
    if lists.used[cluster] == 0:
        return
    value, best = lists.value[cluster, 0], lists.near[cluster, 0]
    if unsure >= 0:
        if value >= bound:
            lists.state[cluster] = LISTED
            lists.top[cluster] = value
    elif before(value, best, bound, lists.bound_row[cluster]):
        lists.state[cluster] = EXACT
        lists.top[cluster] = value
        lists.best[cluster] = best
        lists.best_size[cluster] = sizes[best]


@njit(cache=True, nogil=True)
def _move(near, value, stamp, used, place, other, new_value, new_stamp):
    """Replace the entry at `place` of a list and restore the order of the list."""
    while place > 0 and before(new_value, other, value[place - 1], near[place - 1]):
        near[place], value[place], stamp[place] = near[place - 1], value[place - 1], stamp[place - 1]
        place -= 1
    while place < used - 1 and before(value[place + 1], near[place + 1], new_value, other):
        near[place], value[place], stamp[place] = near[place + 1], value[place + 1], stamp[place + 1]
        place += 1
    near[place], value[place], stamp[place] = other, new_value, new_stamp


@njit(cache=True, nogil=True)
def _measure(cluster, floor, n_merges, clusters, columns, values, weights, lists, dense):
    """Measure the first candidates of a cluster until its nearest neighbour is known or surely less than `floor`."""
    parent, changed, sizes = clusters.parent, clusters.changed, clusters.size
    begins, lengths = clusters.begin, clusters.length
    near, value, stamp, used = lists.near[cluster], lists.value[cluster], lists.stamp[cluster], lists.used[cluster]
    limit = max(floor, lists.bound[cluster])
    unsure = _first_unsure(near, value, stamp, used, parent, changed)
    if unsure >= 0 and value[0] >= limit:
        begin, length = begins[cluster], lengths[cluster]
        for place in range(begin, begin + length):
            dense[columns[place]] = values[place]
        while unsure >= 0 and value[0] >= limit:
            other = find(parent, near[unsure])
            dot = _dot(columns, values, begins[other], lengths[other], weights, dense)
            similarity = dot / (float(sizes[cluster]) * sizes[other])
            _move(near, value, stamp, used, unsure, other, similarity, n_merges)
            unsure = _first_unsure(near, value, stamp, used, parent, changed)
        for place in range(begin, begin + length):
            dense[columns[place]] = 0.0
    _settle(cluster, unsure, sizes, lists)


@njit(cache=True, nogil=True)
def _gather(near, value, stamp, used, bound, size, clusters, union, side, n_found, mark):
    """Add the candidates of a list to the union of two lists, and note what is known of their similarities.

    near, value and stamp are the arrays of the list, `bound` is its bound, and `size` the number of objects of its
    cluster. side: 0 for the first and 1 for the second list. mark[c] is the place of cluster c in the union, -1 if it
    is not there yet, -2 if it must not be. Returns the number of candidates.
    """
    parent, changed, sizes = clusters.parent, clusters.changed, clusters.size
    for place in range(used):
        other, amount, dot = near[place], value[place], -1.0
        if parent[other] == other and changed[other] <= stamp[place]:
            # the division is undone: the dot product is a whole number, far below 2^53 if it is made use of
            dot = np.rint(amount * (float(size) * sizes[other]))
        else:
            other, amount = find(parent, other), max(amount, bound)
        where = mark[other]
        if where == -1:
            where = n_found
            mark[other] = where
            union.near[where] = other
            n_found += 1
        if where >= 0:
            union.most[side, where] = max(union.most[side, where], amount)
            union.dot[side, where] = max(union.dot[side, where], dot)
    return n_found


@njit(cache=True, nogil=True)
def _join_lists(a, b, sizes, exact, n_merges, clusters, lists, union, mark):
    """Make one list of those of cluster a and of cluster b, which has just been merged into it.

    sizes: the numbers of objects of the two before the merge. No sums are looked at. If the similarities of both to a
    candidate are known, they are added up. Otherwise that of the merged cluster is bounded by their mean, weighted by
    the sizes; a cluster that is in one list only is no nearer to the other cluster than the bound of its list.
    """
    near, value, stamp, width = lists.near[a], lists.value[a], lists.stamp[a], lists.near.shape[1]
    bound_a, bound_b = lists.bound[a], lists.bound[b]
    mark[a] = -2
    n = _gather(near, value, stamp, lists.used[a], bound_a, sizes[0], clusters, union, 0, 0, mark)
    n = _gather(
        lists.near[b], lists.value[b], lists.stamp[b], lists.used[b], bound_b, sizes[1], clusters, union, 1, n, mark
    )
    mark[a] = -1
    size = sizes[0] + sizes[1]
    share = sizes[0] / size
    bound = (share * bound_a + (1 - share) * bound_b) * _MARGIN
    used = 0
    for place in range(n):
        other = union.near[place]
        first, second = union.most[0, place], union.most[1, place]
        dot_a = 0.0 if first < 0 and bound_a == 0 else union.dot[0, place]
        dot_b = 0.0 if second < 0 and bound_b == 0 else union.dot[1, place]
        if exact and dot_a >= 0 and dot_b >= 0 and dot_a + dot_b < _SAFE:
            amount, known = (dot_a + dot_b) / (float(size) * clusters.size[other]), n_merges
        else:
            first, second = first if first >= 0 else bound_a, second if second >= 0 else bound_b
            amount, known = (share * first + (1 - share) * second) * _MARGIN, -1
        mark[other] = -1
        union.most[:, place], union.dot[:, place] = -1.0, -1.0
        if used < width:
            used += 1
        else:
            # what does not find room is covered by the bound
            bound = max(bound, min(amount, value[width - 1]))
            if not before(amount, other, value[width - 1], near[width - 1]):
                continue
        near[used - 1], value[used - 1] = other, amount
        _move(near, value, stamp, used, used - 1, other, amount, known)
    lists.used[a] = used
    lists.bound[a] = bound
    lists.bound_row[a] = -1 if bound > 0 else 0
    unsure = _first_unsure(near, value, stamp, used, clusters.parent, clusters.changed)
    _settle(a, unsure, clusters.size, lists)


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
                floor = similarity[used - 1] * size / _MARGIN
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
            lists.bound[cluster], lists.bound_row[cluster] = similarity[width] * _MARGIN, -1
        used = width
    for place in range(used):
        lists.near[cluster, place], lists.value[cluster, place] = near[place], similarity[place]
        lists.stamp[cluster, place] = clusters.size.size - left
    lists.used[cluster] = used
    _settle(cluster, -1, clusters.size, lists)


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
def _merge(a, b, exact, n_merges, clusters, columns, values, lists, union, mark, end):
    """Merge cluster b into cluster a, where a < b, as the merge number `n_merges`; return the new end of the pool."""
    fresh, size_a, size_b = end, clusters.size[a], clusters.size[b]
    end = join_sums(a, b, clusters, columns, values, end)
    clusters.begin[a], clusters.length[a] = fresh, end - fresh
    clusters.size[a] = size_a + size_b
    clusters.parent[b] = a
    clusters.changed[a] = n_merges
    _join_lists(a, b, (size_a, size_b), exact, n_merges, clusters, lists, union, mark)
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
            end = _merge(cluster, second, exact, step + 1, clusters, columns, values, lists, union, scratch.mark, end)
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
    """Write to `reach` the largest cluster, and what the dot product of two clusters is at most per pair of objects."""
    largest, most, mass = 0.0, 0.0, 0.0
    for cluster in range(clusters.size.size):
        size, total = float(clusters.size[cluster]), 0.0
        for place in range(clusters.begin[cluster], clusters.begin[cluster] + clusters.length[cluster]):
            most = max(most, values[place] / size)
            total += weights[columns[place]] * values[place]
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

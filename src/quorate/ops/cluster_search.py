"""The nearest neighbours of clusters: short lists of candidates, and searches that threads share.

A similarity in a list is either right or an upper bound of the right one. A cluster that two others merge into is never
nearer to a third cluster than the nearer of the two was, so that a similarity is still an upper bound after the other
cluster has grown, if it is no less than the bound of the list. It needs to be computed again only when nothing else is
as large.

A similarity and a bound remain upper bounds when clusters merge, so it does no harm to compute them early. Which of
them are computed early changes the time, but not the result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.ops.compiling import njit
from quorate.ops.neighbours import before, place_sorted
from quorate.ops.ranking import BOUNDED, EXACT, LISTED, cluster_root, find, rise, sink

MARGIN = 1 + 1e-12
"""Bounds are sums of floating-point numbers; the margin is much larger than their rounding errors."""
# Whole numbers below this are found again after a division and a multiplication.
_SAFE = 2.0**50


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


@njit(cache=True, nogil=True)
def first_unsure(near, value, stamp, used, parent, changed):
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
def settle_list(cluster, unsure, searched, sizes, lists):
    """Note what follows from the list of a cluster: its nearest neighbour, a candidate to be measured, or a bound.

    unsure: the result of `first_unsure`. searched: whether the cluster was just compared with all others, so that the
    first of the list is the nearest, also if a bound that is rounded upwards is larger. sizes (m,): the numbers of
    objects.
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
    elif searched or before(value, best, bound, lists.bound_row[cluster]):
        lists.state[cluster] = EXACT
        lists.top[cluster] = value
        lists.best[cluster] = best
        lists.best_size[cluster] = sizes[best]


@njit(cache=True, nogil=True)
def move_entry(near, value, stamp, used, place, other, new_value, new_stamp):
    """Replace the entry at `place` of a list and restore the order of the list."""
    while place > 0 and before(new_value, other, value[place - 1], near[place - 1]):
        near[place], value[place], stamp[place] = near[place - 1], value[place - 1], stamp[place - 1]
        place -= 1
    while place < used - 1 and before(value[place + 1], near[place + 1], new_value, other):
        near[place], value[place], stamp[place] = near[place + 1], value[place + 1], stamp[place + 1]
        place += 1
    near[place], value[place], stamp[place] = other, new_value, new_stamp


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
def join_lists(a, b, sizes, whole, n_merges, clusters, lists, union, mark):
    """Make one list of those of cluster a and of cluster b, which has just been merged into it.

    sizes: the numbers of objects of the two before the merge. whole: whether dot products are whole numbers. No sums
    are looked at. If the similarities of both to a candidate are known, their dot products are added up. Otherwise
    that of the merged cluster is bounded by their mean, weighted by the sizes; a cluster that is in one list only is
    no nearer to the other cluster than the bound of its list.
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
    bound = (share * bound_a + (1 - share) * bound_b) * MARGIN
    used = 0
    for place in range(n):
        other = union.near[place]
        first, second = union.most[0, place], union.most[1, place]
        dot_a = 0.0 if first < 0 and bound_a == 0 else union.dot[0, place]
        dot_b = 0.0 if second < 0 and bound_b == 0 else union.dot[1, place]
        if whole and dot_a >= 0 and dot_b >= 0 and dot_a + dot_b < _SAFE:
            amount, known = (dot_a + dot_b) / (float(size) * clusters.size[other]), n_merges
        else:
            first, second = first if first >= 0 else bound_a, second if second >= 0 else bound_b
            amount, known = (share * first + (1 - share) * second) * MARGIN, -1
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
        move_entry(near, value, stamp, used, used - 1, other, amount, known)
    lists.used[a] = used
    lists.bound[a] = bound
    lists.bound_row[a] = -1 if bound > 0 else 0
    unsure = first_unsure(near, value, stamp, used, clusters.parent, clusters.changed)
    settle_list(a, unsure, False, clusters.size, lists)


FRONT = 256
"""So many places at the front of the heap are looked at for clusters whose neighbours will be needed soon."""
REACH = 4
"""So many more places are looked at for each cluster that was found there."""
SEARCHES = 64
"""One thread compares no more clusters than this with all others before it returns to Python and to Ctrl-C."""


class Desk(NamedTuple):
    """Working arrays of one thread, zero between uses.

    dense (d,): the sums of one cluster by column. total (m,): the dot products of one cluster with those of the
    snapshot; narrow_total (m,) is the same in single precision.
    """

    dense: NDArray[np.float64]
    total: NDArray[np.float64]
    narrow_total: NDArray[np.float32]


@njit(cache=True, nogil=True)
def scatter(cluster, clusters, columns, values, dense, sign):
    """Write the sums of a cluster, times `sign`, into the dense array; a sign of 0 clears them again."""
    for place in range(clusters.begin[cluster], clusters.begin[cluster] + clusters.length[cluster]):
        dense[columns[place]] = values[place] * sign


@njit(cache=True, nogil=True)
def dot_product(columns, values, begin, length, weights, dense):
    """Return the dot product of the sums in `dense` and those that begin at `begin` in the pool.

    The columns are sorted, so the order of summation does not depend on how the clusters came about.
    """
    total = 0.0
    for place in range(begin, begin + length):
        column = columns[place]
        total += weights[column] * (dense[column] * values[place])
    return total


@njit(cache=True, nogil=True)
def measure_candidates(cluster, floor, n_merges, clusters, columns, values, weights, lists, dense):
    """Measure the first candidates of a cluster until its nearest neighbour is known or surely less than `floor`.

    Returns the result of `first_unsure` afterwards, from which `settle_list` follows.
    """
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
            other = cluster_root(parent, near[unsure])
            dot = dot_product(columns, values, begins[other], lengths[other], weights, dense)
            similarity = dot / (float(sizes[cluster]) * sizes[other])
            move_entry(near, value, stamp, used, unsure, other, similarity, n_merges)
            unsure = first_unsure(near, value, stamp, used, parent, changed)
        for place in range(begin, begin + length):
            dense[columns[place]] = 0.0
    return unsure


@njit(cache=True, nogil=True)
def is_known(cluster, clusters, lists):
    """Return whether the nearest neighbour of a cluster is known and has not changed since."""
    best = lists.best[cluster]
    return (
        lists.state[cluster] == EXACT
        and clusters.parent[best] == best
        and clusters.size[best] == lists.best_size[cluster]
    )


@njit(cache=True, nogil=True)
def soon_needed(left, clusters, lists, ranking, chosen):
    """Write to `chosen` the clusters near the front of the heap whose nearest neighbour is not known.

    The first cluster of the heap is the first of them. Returns their number and the least similarity or bound of them.
    """
    n_chosen, floor = 0, ranking.key[0]
    for place in range(left):
        if n_chosen == chosen.size or place >= FRONT + REACH * n_chosen:
            break
        cluster, key = ranking.heap[place], ranking.key[place]
        if key > 0 and not is_known(cluster, clusters, lists):
            chosen[n_chosen] = cluster
            n_chosen += 1
            floor = min(floor, key)
    return n_chosen, floor


@njit(cache=True, nogil=True)
def follow_merges(left, clusters, snapshot):
    """Note in snapshot.into where the clusters of the snapshot are that were merged into others since."""
    for which in range(snapshot.alive.size - left):
        snapshot.into[which] = snapshot.place[find(clusters.parent, snapshot.alive[snapshot.gone[which]])]


@njit(cache=True, nogil=True)
def _collect(cluster, n_gone, clusters, columns, values, weights, snapshot, sums, total):
    """Compute the dot products of `cluster` with all clusters of the snapshot, into total[:alive.size].

    sums: the sums of the snapshot, of the same type as `total`. The clusters of the snapshot that were merged into
    others since are added up to the clusters that contain them now.
    """
    start, rows, gone, into = snapshot.start, snapshot.row, snapshot.gone, snapshot.into
    for place in range(clusters.begin[cluster], clusters.begin[cluster] + clusters.length[cluster]):
        column = columns[place]
        factor = total.dtype.type(weights[column] * values[place])
        for entry in range(start[column], start[column + 1]):
            total[rows[entry]] += factor * sums[entry]
    for which in range(n_gone):
        total[into[which]] += total[gone[which]]
        total[gone[which]] = 0
    total[snapshot.place[cluster]] = 0


@njit(cache=True, nogil=True)
def _choose(cluster, clusters, lists, snapshot, total, near, similarity):
    """Sort the clusters with the largest dot products in `total` into near and similarity; return their number."""
    alive, sizes = snapshot.alive, snapshot.size
    used, size = 0, float(clusters.size[cluster])
    floor = 0.0
    # The candidates of before come first, because most of the others are less similar and are then left out at once.
    for place in range(lists.used[cluster]):
        row = snapshot.place[cluster_root(clusters.parent, lists.near[cluster, place])]
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
def _search(cluster, left, exact, reach, clusters, columns, values, weights, lists, snapshot, desk):
    """Compare `cluster` with all clusters and make its list anew.

    exact: whether the order of summation does not matter. If it does, the similarities in the list are computed again
    in the order of `dot_product`, so that equal clusters are always equally similar. If it does not and all dot
    products are less than 2^24, they are whole numbers in single precision, which takes two thirds of the time.
    """
    width = lists.near.shape[1]
    near = np.empty(width + 1, dtype=np.int32)
    similarity = np.empty(width + 1)
    n_gone = snapshot.alive.size - left
    if exact and reach[0] * reach[1] * clusters.size[cluster] < 2**24:
        total = desk.narrow_total
        _collect(cluster, n_gone, clusters, columns, values, weights, snapshot, snapshot.narrow_sum, total)
        used = _choose(cluster, clusters, lists, snapshot, total, near, similarity)
    else:
        _collect(cluster, n_gone, clusters, columns, values, weights, snapshot, snapshot.sum, desk.total)
        used = _choose(cluster, clusters, lists, snapshot, desk.total, near, similarity)
    bound, bound_row = 0.0, 0
    if used > width:
        bound, bound_row = similarity[width], near[width]
    if not exact:
        _measure_again(cluster, used, near, similarity, clusters, columns, values, weights, desk.dense)
        if used > width:
            bound, bound_row = similarity[width] * MARGIN, -1
            if similarity[0] <= bound:
                bound = similarity[0] * MARGIN
                _collect(cluster, n_gone, clusters, columns, values, weights, snapshot, snapshot.sum, desk.total)
                _break_tie(cluster, near, similarity, clusters, columns, values, weights, snapshot, desk)
    lists.bound[cluster], lists.bound_row[cluster] = bound, bound_row
    used = min(used, width)
    for place in range(used):
        lists.near[cluster, place], lists.value[cluster, place] = near[place], similarity[place]
        lists.stamp[cluster, place] = clusters.size.size - left
    lists.used[cluster] = used


@njit(cache=True, nogil=True)
def _measure_again(cluster, used, near, similarity, clusters, columns, values, weights, dense):
    """Compute the similarities of a list in the order of `dot_product`, and sort the list by them."""
    scatter(cluster, clusters, columns, values, dense, 1)
    for place in range(used):
        other = near[place]
        dot = dot_product(columns, values, clusters.begin[other], clusters.length[other], weights, dense)
        value = dot / (float(clusters.size[cluster]) * clusters.size[other])
        place_sorted(near[: place + 1], similarity[: place + 1], place, other, value)
    scatter(cluster, clusters, columns, values, dense, 0)


@njit(cache=True, nogil=True)
def _break_tie(cluster, near, similarity, clusters, columns, values, weights, snapshot, desk):
    """Find the nearest of more clusters than the list holds that are equally similar but for rounding.

    near and similarity are the list, full and sorted; desk.total holds the dot products and is cleared. They were added
    up in another order than those of `dot_product`, which alone tell which cluster is nearest.
    """
    total, alive, sizes, size = desk.total, snapshot.alive, snapshot.size, float(clusters.size[cluster])
    floor = similarity[0] * size / (MARGIN * MARGIN)
    for other in near:
        total[snapshot.place[other]] = 0
    scatter(cluster, clusters, columns, values, desk.dense, 1)
    for row in range(alive.size):
        if total[row] > floor * sizes[row]:
            other = alive[row]
            dot = dot_product(columns, values, clusters.begin[other], clusters.length[other], weights, desk.dense)
            place_sorted(near, similarity, near.size, other, dot / (size * sizes[row]))
        total[row] = 0
    scatter(cluster, clusters, columns, values, desk.dense, 0)


@njit(cache=True, nogil=True)
def _is_used_up(cluster, floor, lists):
    """Return whether the bound of a list is at least `floor` and not behind its first candidate."""
    bound, row = lists.bound[cluster], lists.bound_row[cluster]
    if bound < floor or bound <= 0:
        return False
    return lists.used[cluster] == 0 or not before(lists.value[cluster, 0], lists.near[cluster, 0], bound, row)


@njit(cache=True, nogil=True)
def look_up_share(
    chosen, searched, first, step, floor, left, exact, reach, clusters, columns, values, weights, lists, snapshot, desk
):
    """Find the nearest neighbours of chosen[first::step], as far as they are not less similar than `floor`.

    The first candidates of each are measured. If the list is used up then, the cluster is compared with all others;
    searched, of the size of `chosen`, tells afterwards which clusters were. Only the lists of these clusters are
    written, so that several threads can do this at once for different clusters at desks of their own; `take_in` does
    the rest. reach is that of `average_link.Scratch`; snapshot.into must be up to date, see `follow_merges`.
    """
    n_searched, n_merges = 0, clusters.size.size - left
    for place in range(first, chosen.size, step):
        cluster = chosen[place]
        if lists.state[cluster] != BOUNDED:
            measure_candidates(cluster, floor, n_merges, clusters, columns, values, weights, lists, desk.dense)
        searched[place] = n_searched < SEARCHES and _is_used_up(cluster, floor, lists)
        if searched[place]:
            _search(cluster, left, exact, reach, clusters, columns, values, weights, lists, snapshot, desk)
            n_searched += 1


@njit(cache=True, nogil=True)
def take_in(chosen, searched, left, clusters, lists, ranking):
    """Note what follows from the lists of the chosen clusters after `look_up_share`, and restore the heap.

    Clusters change one by one, because a heap can be restored after one change only.
    """
    for place in range(chosen.size):
        cluster = chosen[place]
        near, value, stamp, used = lists.near[cluster], lists.value[cluster], lists.stamp[cluster], lists.used[cluster]
        unsure = first_unsure(near, value, stamp, used, clusters.parent, clusters.changed)
        settle_list(cluster, unsure, searched[place], clusters.size, lists)
        sink(ranking.position[cluster], left, ranking)
        # bounds are rounded upwards, and a bound may be replaced by a slightly larger one
        rise(ranking.position[cluster], ranking)

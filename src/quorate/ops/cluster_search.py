"""The nearest neighbours of clusters, many of them found before they are needed, so that threads can share the work.

A similarity and a bound remain upper bounds when clusters merge, so it does no harm to compute them early. Which of
them are computed early changes the time, but not the result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.ops.candidate_lists import MARGIN, first_unsure, move, settle
from quorate.ops.compiling import njit
from quorate.ops.neighbours import before, place_sorted
from quorate.ops.ranking import BOUNDED, EXACT, find, rise, root, sink

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
def measure(cluster, floor, n_merges, clusters, columns, values, weights, lists, dense):
    """Measure the first candidates of a cluster until its nearest neighbour is known or surely less than `floor`.

    Returns the result of `first_unsure` afterwards, from which `settle` follows.
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
            other = root(parent, near[unsure])
            dot = dot_product(columns, values, begins[other], lengths[other], weights, dense)
            similarity = dot / (float(sizes[cluster]) * sizes[other])
            move(near, value, stamp, used, unsure, other, similarity, n_merges)
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
        row = snapshot.place[root(clusters.parent, lists.near[cluster, place])]
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
def look_up(
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
            measure(cluster, floor, n_merges, clusters, columns, values, weights, lists, desk.dense)
        searched[place] = n_searched < SEARCHES and _is_used_up(cluster, floor, lists)
        if searched[place]:
            _search(cluster, left, exact, reach, clusters, columns, values, weights, lists, snapshot, desk)
            n_searched += 1


@njit(cache=True, nogil=True)
def take_in(chosen, searched, left, clusters, lists, ranking):
    """Note what follows from the lists of the chosen clusters after `look_up`, and restore the heap.

    Clusters change one by one, because a heap can be restored after one change only.
    """
    for place in range(chosen.size):
        cluster = chosen[place]
        near, value, stamp, used = lists.near[cluster], lists.value[cluster], lists.stamp[cluster], lists.used[cluster]
        unsure = first_unsure(near, value, stamp, used, clusters.parent, clusters.changed)
        settle(cluster, unsure, searched[place], clusters.size, lists)
        sink(ranking.position[cluster], left, ranking)
        # bounds are rounded upwards, and a bound may be replaced by a slightly larger one
        rise(ranking.position[cluster], ranking)

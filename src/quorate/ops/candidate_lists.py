"""Short lists of the clusters that are near a cluster: what they hold, how they are kept in order and joined.

A similarity in a list is either right or an upper bound of the right one. A cluster that two others merge into is never
nearer to a third cluster than the nearer of the two was, so that a similarity is still an upper bound after the other
cluster has grown, if it is no less than the bound of the list. It needs to be computed again only when nothing else is
as large.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.ops.compiling import njit
from quorate.ops.neighbours import before
from quorate.ops.ranking import BOUNDED, EXACT, LISTED, find

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
def settle(cluster, unsure, searched, sizes, lists):
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
def move(near, value, stamp, used, place, other, new_value, new_stamp):
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
        move(near, value, stamp, used, used - 1, other, amount, known)
    lists.used[a] = used
    lists.bound[a] = bound
    lists.bound_row[a] = -1 if bound > 0 else 0
    unsure = first_unsure(near, value, stamp, used, clusters.parent, clusters.changed)
    settle(a, unsure, False, clusters.size, lists)

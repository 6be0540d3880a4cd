"""Average link by the centroid identity, with exact sums of clusters; the most similar pair is first.

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

from quorate.ops.cluster_search import (
    Desk,
    Lists,
    Union,
    follow_merges,
    is_known,
    join_lists,
    look_up_share,
    measure_candidates,
    settle_list,
    soon_needed,
    take_in,
)
from quorate.ops.compiling import njit
from quorate.ops.ranking import BOUNDED, Ranking, build, remove, rise, sink
from quorate.ops.threads import Crew


class Clusters(NamedTuple):
    """The clusters and where their sums are stored in the pool, the arrays `columns` and `values`.

    size (m,): number of objects. begin and length (m,): the sums of cluster c are the entries begin[c] to begin[c] +
    length[c] - 1 of the pool. parent (m,): the cluster that a cluster was merged into, or the cluster itself while it
    exists. changed (m,): how many merges had been done when the cluster last grew, 0 if it never did.
    """

    size: NDArray[np.int64]
    begin: NDArray[np.int64]
    length: NDArray[np.int64]
    parent: NDArray[np.int32]
    changed: NDArray[np.int32]


class Snapshot(NamedTuple):
    """Inverted lists of the clusters that existed at some time, and what has happened to these clusters since.

    alive (a,): the clusters. place (m,): the place of each of them in `alive`. size (a,): the number of objects of each
    of them, which is kept up to date. start (d + 1,), row and sum: the entries start[f] to start[f + 1] - 1 are the
    places of the clusters that have a sum in column f, and those sums; narrow_sum is the same in single precision.
    gone (a,): the places of the clusters that were merged into others since; as many as fewer clusters are left.
    into (a,): the places of the clusters that these belong to, brought up to date when they are needed.
    """

    alive: NDArray[np.int64]
    place: NDArray[np.int32]
    size: NDArray[np.float64]
    start: NDArray[np.int64]
    row: NDArray[np.uint32]
    sum: NDArray[np.float64]
    narrow_sum: NDArray[np.float32]
    gone: NDArray[np.int32]
    into: NDArray[np.int32]


@njit(cache=True, nogil=True)
def join_sums(first, second, clusters, columns, values, end):
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
def compact(alive, clusters, columns, values):
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
def _invert(alive, clusters, columns, values, n_columns):
    """Return `start`, `row` and `sum` of `Snapshot` for the clusters of `alive`."""
    start = np.zeros(n_columns + 1, dtype=np.int64)
    for cluster in alive:
        for place in range(clusters.begin[cluster], clusters.begin[cluster] + clusters.length[cluster]):
            start[columns[place] + 1] += 1
    for column in range(n_columns):
        start[column + 1] += start[column]
    target = start[:-1].copy()
    # without a sign, an index need not be looked at for counting from the end
    rows, sums = np.empty(start[-1], dtype=np.uint32), np.empty(start[-1])
    for row in range(alive.size):
        cluster = alive[row]
        for place in range(clusters.begin[cluster], clusters.begin[cluster] + clusters.length[cluster]):
            entry = target[columns[place]]
            rows[entry], sums[entry] = row, values[place]
            target[columns[place]] += 1
    return start, rows, sums


def take_snapshot(
    alive: NDArray[np.int64],
    clusters: Clusters,
    columns: NDArray[np.int32],
    values: NDArray[np.float64],
    n_columns: int,
) -> Snapshot:
    """Build the inverted lists of the clusters of `alive`; similar clusters should be close to each other in it.

    This is no kernel, because numba calls Python to make a named tuple, and a Ctrl-C that arrived meanwhile, which
    Python then raises as an exception, ends the process with a segmentation fault.
    """
    start, rows, sums = _invert(alive, clusters, columns, values, n_columns)
    places = np.zeros(len(clusters.size), dtype=np.int32)
    places[alive] = np.arange(len(alive), dtype=np.int32)
    sizes = clusters.size[alive].astype(np.float64)
    gone = np.empty(len(alive), dtype=np.int32)
    return Snapshot(alive, places, sizes, start, rows, sums, sums.astype(np.float32), gone, np.empty_like(gone))


@njit(cache=True, nogil=True)
def dots_between(alive, clusters, columns, values, weights):
    """Return the (c, c) matrix of the dot products of all pairs of the c given clusters."""
    start, rows, sums = _invert(alive, clusters, columns, values, weights.size)
    matrix = np.zeros((alive.size, alive.size), dtype=np.float64)
    for column in range(weights.size):
        for entry in range(start[column], start[column + 1]):
            row = matrix[rows[entry]]
            for other in range(start[column], start[column + 1]):
                row[rows[other]] += weights[column] * (sums[entry] * sums[other])
    return matrix


# A step takes some microseconds, and Ctrl-C is answered between two calls.
_STEPS = 20_000
BATCH = 1024
"""So many clusters at most are looked up at a time."""
SHARED_FROM = 4096
"""With fewer clusters than this, a cluster is looked up before another thread has begun."""


class Scratch(NamedTuple):
    """Working arrays that every function leaves as it received them.

    desks: those of the threads. mark (m,): int32 array, filled with -1 between uses. reach (2,): the largest number of
    objects of a cluster, which is kept up to date, and the largest dot product of two rows per object of one and of the
    other, infinite if those are no whole numbers.
    """

    desks: list[Desk]
    mark: NDArray[np.int32]
    reach: NDArray[np.float64]


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
def is_outdated(left, end, n_alive, room, n_columns):
    """Return whether a snapshot of `n_alive` clusters is worth taking anew, or the pool has no room for a cluster."""
    return 8 * left < 7 * n_alive or end + n_columns > room


@njit(cache=True, nogil=True)
def _link_some(
    clusters,
    columns,
    values,
    weights,
    lists,
    union,
    dense,
    mark,
    reach,
    ranking,
    snapshot,
    end,
    left,
    limit,
    merges,
    similarity,
):
    """Do at most _STEPS steps of `average_link`, from where the last call left off, until Python has to do something.

    end: the end of the pool. left: the number of clusters that are left. Returns the same two afterwards.
    """
    m, whole = clusters.size.size, reach[1] < np.inf
    for _ in range(_STEPS):
        if is_outdated(left, end, snapshot.alive.size, columns.size, weights.size):
            break
        cluster = np.int64(ranking.heap[0])
        if left <= limit or lists.top[cluster] <= 0 or lists.state[cluster] == BOUNDED:
            break
        if is_known(cluster, clusters, lists):
            step, best = m - left, np.int64(lists.best[cluster])
            similarity[step] = lists.top[cluster]
            cluster, second = min(cluster, best), max(cluster, best)
            merges[step, 0], merges[step, 1] = cluster, second
            snapshot.gone[snapshot.alive.size - left] = snapshot.place[second]
            left = remove(second, left, ranking)
            end = _merge(cluster, second, whole, step + 1, clusters, columns, values, lists, union, mark, end)
            snapshot.size[snapshot.place[cluster]] = clusters.size[cluster]
            reach[0] = max(reach[0], clusters.size[cluster])
        else:
            floor = _second(left, ranking)
            unsure = measure_candidates(cluster, floor, m - left, clusters, columns, values, weights, lists, dense)
            settle_list(cluster, unsure, False, clusters.size, lists)
        sink(ranking.position[cluster], left, ranking)
        # an upper bound of a merged cluster may be larger than the similarities that it follows from, by rounding
        rise(ranking.position[cluster], ranking)
    return end, left


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
    desks, mark, reach = scratch
    _note_reach(clusters, columns, values, weights, reach)
    end, left = compact(order, clusters, columns, values), m
    snapshot = take_snapshot(order, clusters, columns, values, weights.size)
    heap = np.arange(m, dtype=np.int32)
    ranking = Ranking(lists.top, lists.state, lists.best, heap, np.empty(m), heap.copy())
    build(ranking)
    room = 2 * lists.near.shape[1]
    union = Union(np.empty(room, dtype=np.int32), np.full((2, room), -1.0), np.full((2, room), -1.0))
    pool, dense = (clusters, columns, values, weights, lists), desks[0].dense
    with Crew(len(desks)) as crew:
        while left > limit and lists.top[ranking.heap[0]] > 0:
            if is_outdated(left, end, snapshot.alive.size, columns.size, weights.size):
                alive = snapshot.alive[clusters.parent[snapshot.alive] == snapshot.alive]
                end = compact(alive, clusters, columns, values)
                snapshot = take_snapshot(alive, clusters, columns, values, weights.size)
            if lists.state[ranking.heap[0]] == BOUNDED:
                _look_ahead(crew, desks, left, exact, reach, pool, snapshot, ranking)
            end, left = _link_some(
                *pool, union, dense, mark, reach, ranking, snapshot, end, left, limit, merges, similarity
            )
    return np.sort(snapshot.alive[clusters.parent[snapshot.alive] == snapshot.alive])


def _look_ahead(
    crew: Crew,
    desks: list[Desk],
    left: int,
    exact: bool,
    reach: NDArray[np.float64],
    pool: tuple[Clusters, NDArray[np.int32], NDArray[np.float64], NDArray[np.float64], Lists],
    snapshot: Snapshot,
    ranking: Ranking,
) -> None:
    """Look up the nearest neighbours of clusters near the front of the heap, on all threads."""
    clusters, lists = pool[0], pool[-1]
    chosen, searched = np.empty(BATCH, dtype=np.int64), np.empty(BATCH, dtype=np.bool_)
    n_chosen, floor = soon_needed(left, clusters, lists, ranking, chosen)
    chosen, searched = chosen[:n_chosen], searched[:n_chosen]
    follow_merges(left, clusters, snapshot)

    def look(first: int, step: int) -> None:
        look_up_share(chosen, searched, first, step, floor, left, exact, reach, *pool, snapshot, desks[first])

    crew.share(look, left >= SHARED_FROM)
    take_in(chosen, searched, left, clusters, lists, ranking)

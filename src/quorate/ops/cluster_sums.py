"""The sums of clusters over base clusters: how they are stored, joined, moved, and turned into inverted lists."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.ops.compiling import njit


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

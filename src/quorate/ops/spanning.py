"""Maximum spanning trees of the co-association graph, by Prim's rule.

There are three kernels: with inverted lists, on a matrix, and on a sparse graph.

All three take in the rows in the same order: they start with row 0, and the next row is always the one most strongly
connected to the rows taken in before, the lowest such row in a tie.
"""

from __future__ import annotations

import heapq

import numpy as np

from quorate.ops.compiling import njit
from quorate.ops.neighbours import inverted_lists


@njit(cache=True, nogil=True)
def _strongest(key, alive):
    """Return the place of the largest key of a row that is not taken in yet, the first in a tie."""
    largest = key[0]
    for place in range(1, key.size):
        largest = max(largest, key[place])
    place = 0
    while key[place] != largest or alive[place] == 0:
        place += 1
    return place


@njit(cache=True, nogil=True)
def _add_lists(row_labels, offsets, lists, weights, shared):
    """Add to shared[i] the weight of the members in which the listed row i has the same label as this row."""
    start, rows = lists
    for member in range(row_labels.size):
        if row_labels[member] >= 0:
            column = offsets[member] + row_labels[member]
            for place in range(start[column], start[column + 1]):
                shared[rows[place]] += weights[member]


@njit(cache=True, nogil=True)
def spanning_order(labels, offsets, weights, order, strength):
    """Write to order (m,) the rows as they are taken in, and to strength (m,) how strongly each is connected.

    The strength of the first row is 0. labels is (m, H); strength has the type of `weights`. Candidates are taken from
    the lists of the row's base clusters. Rows taken in are removed from the lists whenever they are a quarter of them,
    so that every pair that shares something is met about once.

    Invariant: key[i] is the most that rows[i], if it is not taken in yet, shares with a row taken in; the key of all
    other rows is 0.
    """
    m = labels.shape[0]
    rows = np.arange(m)
    lists = inverted_lists(labels[rows], offsets)
    key, shared = np.zeros(m, dtype=weights.dtype), np.zeros(m, dtype=weights.dtype)
    alive = np.ones(m, dtype=weights.dtype)
    place = 0
    for step in range(m):
        row = rows[place]
        order[step], strength[step] = row, key[place]
        alive[place], key[place] = 0, 0
        if step == m - 1:
            break
        if 4 * (m - step - 1) < 3 * rows.size:
            keep = np.flatnonzero(alive)
            rows, key = rows[keep], key[keep]
            shared, alive = shared[: rows.size].copy(), alive[keep]
            lists = inverted_lists(labels[rows], offsets)
        _add_lists(labels[row], offsets, lists, weights, shared)
        for other in range(rows.size):
            key[other] = max(key[other], shared[other] * alive[other])
            shared[other] = 0
        place = _strongest(key, alive)


@njit(cache=True, nogil=True)
def dense_order(matrix, order, strength):
    """Do what `spanning_order` does, on a symmetric matrix (m, m) without negative entries."""
    m = matrix.shape[0]
    key, alive = np.zeros(m), np.ones(m)
    row = 0
    for step in range(m):
        order[step], strength[step] = row, key[row]
        alive[row], key[row] = 0, 0
        if step == m - 1:
            break
        for other in range(m):
            key[other] = max(key[other], matrix[row, other] * alive[other])
        row = _strongest(key, alive)


@njit(cache=True, nogil=True)
def graph_order(start, neighbours, values, order, strength):
    """Do what `spanning_order` does, on a symmetric sparse matrix of E entries, in O(E log E).

    The matrix is given in CSR form as start (m + 1,), neighbours and values.
    """
    m = start.size - 1
    taken = np.zeros(m, dtype=np.bool_)
    lowest = 0
    waiting = [(0.0, 0)]
    for step in range(m):
        weight, row = 0.0, -1
        while len(waiting) > 0 and row < 0:
            weight, row = heapq.heappop(waiting)
            if taken[row]:
                row = -1
        if row < 0:
            while taken[lowest]:
                lowest += 1
            weight, row = 0.0, lowest
        order[step], strength[step] = row, -weight
        taken[row] = True
        for place in range(start[row], start[row + 1]):
            if not taken[neighbours[place]]:
                heapq.heappush(waiting, (-values[place], np.int64(neighbours[place])))

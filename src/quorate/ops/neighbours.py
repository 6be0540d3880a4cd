"""Rows that share base clusters: inverted lists, and the nearest rows of every row found with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.ops.compiling import njit


@njit(cache=True, nogil=True)
def inverted_lists(labels: NDArray[Any], offsets: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return start and rows: rows[start[f]:start[f + 1]] are the rows of base cluster f, in increasing order.

    A missing label is in no list. Shapes: labels (m, H); start (d + 1,); rows (number of known labels,) int32.
    """
    start = np.zeros(offsets[-1] + 1, dtype=np.int64)
    for row in range(labels.shape[0]):
        for member in range(labels.shape[1]):
            if labels[row, member] >= 0:
                start[offsets[member] + labels[row, member] + 1] += 1
    for column in range(offsets[-1]):
        start[column + 1] += start[column]
    place = start[:-1].copy()
    rows = np.empty(start[-1], dtype=np.int32)
    for row in range(labels.shape[0]):
        for member in range(labels.shape[1]):
            if labels[row, member] >= 0:
                column = offsets[member] + labels[row, member]
                rows[place[column]] = row
                place[column] += 1
    return start, rows


@njit(cache=True, nogil=True)
def before(value, row, other_value, other_row):
    """Return whether the first of two neighbours is ahead: by larger similarity, in a tie by lower row."""
    return value > other_value or (value == other_value and row < other_row)


@njit(cache=True, nogil=True)
def place_sorted(near, similarity, used, row, value):
    """Insert `row` into the sorted list near[:used] and return the new length.

    If the list is full, its last entry is dropped.
    """
    if used == near.size:
        if not before(value, row, similarity[used - 1], near[used - 1]):
            return used
        used -= 1
    place = used
    while place > 0 and before(value, row, similarity[place - 1], near[place - 1]):
        near[place], similarity[place] = near[place - 1], similarity[place - 1]
        place -= 1
    near[place], similarity[place] = row, value
    return used + 1


@njit(cache=True, nogil=True)
def add_shared(labels, offsets, lists, weights, row, shared, touched):
    """Add to shared[other] the weight of the base clusters that hold both `row` and `other`.

    weights (d,) are above 0; lists is the result of `inverted_lists`. touched (m,) receives the rows whose entry was
    zero before; their number is returned.
    """
    start, rows = lists
    n_touched = 0
    for member in range(labels.shape[1]):
        label = labels[row, member]
        if label >= 0:
            column = offsets[member] + label
            for place in range(start[column], start[column + 1]):
                other = rows[place]
                if shared[other] == 0:
                    touched[n_touched] = other
                    n_touched += 1
                shared[other] += weights[column]
    return n_touched


@njit(cache=True, nogil=True)
def nearest_rows(labels, offsets, lists, weights, chosen, near, value):
    """Find the `width` rows that share most with each of the chosen rows, the best first.

    In a tie the lowest row is first. near (m, width) int32 and value (m, width) float64 are written. Only rows that
    share something are listed; the rest of a row of `near` is -1 and the rest of a row of `value` is 0. Invariant:
    `shared` is zero between rows.
    """
    shared, touched = np.zeros(labels.shape[0]), np.empty(labels.shape[0], dtype=np.int32)
    for row in chosen:
        near[row, :] = -1
        value[row, :] = 0
        used = 0
        for place in range(add_shared(labels, offsets, lists, weights, row, shared, touched)):
            other = touched[place]
            if other != row:
                used = place_sorted(near[row], value[row], used, other, shared[other])
            shared[other] = 0

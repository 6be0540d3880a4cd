"""Pairs of rows that share a base cluster, row by row and sorted: the sparse co-association matrix in blocks."""

from __future__ import annotations

import numpy as np
from numba import njit

from quorate.ops.bit_neighbours import lowest_bit

_ONE, _LOW = np.uint64(1), np.uint64(63)


@njit(cache=True, nogil=True)
def _twice(array):
    larger = np.empty(2 * array.size, dtype=array.dtype)
    larger[: array.size] = array
    return larger


@njit(cache=True, nogil=True)
def _add_later(labels, offsets, lists, weights, row, shared, seen):
    """shared[other] += weight of the members in which `other` > `row` agrees with it; seen: a bit for each touched."""
    start, rows = lists
    for member in range(labels.shape[1]):
        label = labels[row, member]
        if label >= 0:
            column = offsets[member] + label
            first, last = start[column], start[column + 1]
            while first < last:
                middle = (first + last) // 2
                if rows[middle] <= row:
                    first = middle + 1
                else:
                    last = middle
            for place in range(first, start[column + 1]):
                other = rows[place]
                shared[other] += weights[member]
                seen[other >> 6] |= _ONE << (np.uint64(other) & _LOW)


@njit(cache=True, nogil=True)
def _known_weight(labels, weights, row, other):
    """Weight of the members that know both rows."""
    total = 0.0
    for member in range(labels.shape[1]):
        if labels[row, member] >= 0 and labels[other, member] >= 0:
            total += weights[member]
    return total


@njit(cache=True, nogil=True)
def shared_block(labels, offsets, lists, weights, total, least, chosen):
    """What the chosen rows share with the rows after them: numbers of pairs a row, columns, and shared weight.

    total: weight of all members, 0 to divide by the weight of those that know both rows; only pairs above `least`
    are kept. Returns lengths (of chosen), columns int32 increasing in each row, shared, normaliser of each pair
    (none where `total` is that of all).
    """
    shared = np.zeros(labels.shape[0])
    seen = np.zeros((labels.shape[0] + 63) // 64, dtype=np.uint64)
    lengths = np.zeros(chosen.size, dtype=np.int64)
    columns, values, divisor = np.empty(1024, dtype=np.int32), np.empty(1024), np.empty(1024 if total == 0 else 0)
    used = 0
    for step in range(chosen.size):
        row, first = chosen[step], used
        _add_later(labels, offsets, lists, weights, row, shared, seen)
        for word in range(row >> 6, seen.size):
            bits, seen[word] = seen[word], 0
            while bits:
                other = 64 * word + lowest_bit(bits)
                bits &= bits - _ONE
                weight = total if total > 0 else _known_weight(labels, weights, row, other)
                if shared[other] / weight > least:
                    if used == columns.size:
                        columns, values, divisor = _twice(columns), _twice(values), _twice(divisor)
                    columns[used], values[used] = other, shared[other]
                    if total == 0:
                        divisor[used] = weight
                    used += 1
                shared[other] = 0
        lengths[step] = used - first
    return lengths, columns[:used].copy(), values[:used].copy(), divisor[: used if total == 0 else 0].copy()


@njit(cache=True, nogil=True)
def place_block(chosen, lengths, source, start, target):
    """Bring the entries of the chosen rows to where their rows start in `target`."""
    taken = 0
    for step in range(chosen.size):
        first = start[chosen[step]]
        for place in range(lengths[step]):
            target[first + place] = source[taken + place]
        taken += lengths[step]


@njit(cache=True, nogil=True)
def shared_matrix(labels, offsets, lists, weights, start, stop, matrix):
    """matrix[i, j] += weight of the members in which rows i and j agree, rows start..stop-1 of a dense matrix."""
    list_start, rows = lists
    for row in range(start, stop):
        target = matrix[row]
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0:
                column = offsets[member] + label
                for place in range(list_start[column], list_start[column + 1]):
                    target[rows[place]] += weights[member]


@njit(cache=True, nogil=True)
def mirror(matrix):
    """Copy the upper triangle to the lower: what was rounded differently in the two must not differ."""
    for row in range(matrix.shape[0]):
        for column in range(row):
            matrix[row, column] = matrix[column, row]

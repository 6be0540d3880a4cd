"""Pairs of rows that share a base cluster, for each row and sorted: the sparse co-association matrix in blocks."""

from __future__ import annotations

import numpy as np

from quorate.ops.bit_neighbours import lowest_bit
from quorate.ops.compiling import njit

_ONE, _ZERO, _LOW = np.uint64(1), np.uint64(0), np.uint64(63)


@njit(cache=True, nogil=True)
def _twice(array):
    """Return a copy of an array with room for twice as many entries."""
    larger = np.empty(2 * array.size, dtype=array.dtype)
    larger[: array.size] = array
    return larger


@njit(cache=True, nogil=True)
def _add_later(labels, offsets, lists, weights, row, shared, seen):
    """Add to shared[other] the weight of the members that give `row` and a later row `other` the same label.

    seen has one bit per row, which is set for every row that was touched.
    """
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
    """Return the weight of the members that label both rows."""
    total = 0.0
    for member in range(labels.shape[1]):
        if labels[row, member] >= 0 and labels[other, member] >= 0:
            total += weights[member]
    return total


@njit(cache=True, nogil=True)
def shared_block(labels, offsets, lists, weights, total, least, chosen):
    """Compute what each of the chosen rows shares with the rows after it.

    `total` is the weight of all members by which shared weights are divided; 0 means that each pair is divided by the
    weight of the members that label both of its rows. Only pairs whose quotient is above `least` are kept.

    Returns four arrays: the number of pairs of each chosen row; their columns as int32, increasing within a row; their
    shared weights; and the divisor of each pair, which is empty if `total` is not 0.
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
    """Copy the entries of the chosen rows to the places where their rows start in `target`."""
    taken = 0
    for step in range(chosen.size):
        first = start[chosen[step]]
        for place in range(lengths[step]):
            target[first + place] = source[taken + place]
        taken += lengths[step]


@njit(cache=True, nogil=True)
def shared_matrix(labels, offsets, lists, weights, start, stop, matrix):
    """Add to matrix[i, j] the weight of the members in which rows i and j agree, for rows i from start to stop-1."""
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
    """Copy the upper triangle to the lower one, so that both are equal even if their sums were rounded differently."""
    for row in range(matrix.shape[0]):
        for column in range(row):
            matrix[row, column] = matrix[column, row]

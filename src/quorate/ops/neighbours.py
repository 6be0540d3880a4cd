"""Rows that share base clusters: inverted lists, nearest rows (also bit by bit), sparse co-association.

A set of rows is an array of 64-bit words with one bit per row, so that one instruction treats many rows at once. This
is worth while for members of equal weight whose base clusters hold at least about one row in a few hundred.
"""

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


TILE = 160
"""The largest number of words per tile: the sets of a few hundred base clusters over 10,240 rows fit into the cache
of one core."""

_ONE, _ZERO, _LOW = np.uint64(1), np.uint64(0), np.uint64(63)
# The powers of two up to 2^63 have different remainders when divided by 67, so the remainder gives the exponent.
_PRIME = np.uint64(67)
_PLACES = np.zeros(67, dtype=np.int64)
for _place in range(64):
    _PLACES[2**_place % 67] = _place


@njit(cache=True, nogil=True)
def lowest_bit(bits):
    """Return the position of the lowest bit that is set in a word; the word must not be zero."""
    return _PLACES[(bits & (~bits + _ONE)) % _PRIME]


@njit(cache=True, nogil=True)
def row_sets(labels: NDArray[Any], offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the rows of each base cluster as bits, an array of shape (tiles, d + 1, words).

    The last set is empty; it is used for missing labels.
    """
    n_words = (labels.shape[0] + 63) // 64
    n_tiles = (n_words + TILE - 1) // TILE
    width = (n_words + n_tiles - 1) // n_tiles
    sets = np.zeros((n_tiles, offsets[-1] + 1, width), dtype=np.uint64)
    for row in range(labels.shape[0]):
        word = row >> 6
        bit = _ONE << (np.uint64(row) & _LOW)
        for member in range(labels.shape[1]):
            if labels[row, member] >= 0:
                sets[word // width, offsets[member] + labels[row, member], word % width] |= bit
    return sets


@njit(cache=True, nogil=True)
def _add_eight(sets, columns, first, planes, carry):
    """Add eight sets to the three lowest bit planes of the counts.

    `carry` receives the overflow, whose bits count eight.
    """
    a, b, c, d = sets[columns[first]], sets[columns[first + 1]], sets[columns[first + 2]], sets[columns[first + 3]]
    e, f, g, h = sets[columns[first + 4]], sets[columns[first + 5]], sets[columns[first + 6]], sets[columns[first + 7]]
    ones, twos, fours = planes[0], planes[1], planes[2]
    for word in range(carry.size):
        x = ones[word] ^ a[word]
        two_a = (ones[word] & a[word]) | (x & b[word])
        x ^= b[word]
        y = x ^ c[word]
        two_b = (x & c[word]) | (y & d[word])
        y ^= d[word]
        x = y ^ e[word]
        two_c = (y & e[word]) | (x & f[word])
        x ^= f[word]
        y = x ^ g[word]
        two_d = (x & g[word]) | (y & h[word])
        ones[word] = y ^ h[word]
        x = twos[word] ^ two_a
        four_a = (twos[word] & two_a) | (x & two_b)
        x ^= two_b
        y = x ^ two_c
        four_b = (x & two_c) | (y & two_d)
        twos[word] = y ^ two_d
        x = fours[word] ^ four_a
        carry[word] = (fours[word] & four_a) | (x & four_b)
        fours[word] = x ^ four_b


@njit(cache=True, nogil=True)
def count_shared(sets, columns, planes, carry):
    """Count for every row how many of the given columns hold it.

    planes (P, words) is overwritten: plane p holds bit p of the counts. The number of columns must be a multiple of
    eight.
    """
    planes[:] = _ZERO
    for first in range(0, columns.size, 8):
        _add_eight(sets, columns, first, planes, carry)
        for plane in range(3, planes.shape[0]):
            bits = planes[plane]
            for word in range(carry.size):
                both = bits[word] & carry[word]
                bits[word] ^= carry[word]
                carry[word] = both


@njit(cache=True, nogil=True)
def _above(planes, limit, greater, equal):
    """Write to greater (words,) the rows whose count is above `limit`, and return how many there are."""
    greater[:] = _ZERO
    equal[:] = ~_ZERO
    for plane in range(planes.shape[0] - 1, -1, -1):
        bits = planes[plane]
        if (limit >> plane) & 1:
            for word in range(greater.size):
                equal[word] &= bits[word]
        else:
            for word in range(greater.size):
                greater[word] |= equal[word] & bits[word]
                equal[word] &= ~bits[word]
    n_above = 0
    for word in range(greater.size):
        bits = greater[word]
        while bits:
            bits &= bits - _ONE
            n_above += 1
    return n_above


@njit(cache=True, nogil=True)
def _insert(near, value, row, amount):
    """Put (amount, row) behind all entries that are at least as large; the last entry is dropped."""
    place = near.size - 1
    while place > 0 and value[place - 1] < amount:
        value[place] = value[place - 1]
        near[place] = near[place - 1]
        place -= 1
    value[place] = amount
    near[place] = row


@njit(cache=True, nogil=True)
def _insert_all(greater, planes, first_row, own, near, value):
    """Offer every row in `greater` to the sorted list, the lowest rows first."""
    for word in range(greater.size):
        bits = greater[word]
        while bits:
            place = lowest_bit(bits)
            bits &= bits - _ONE
            row = first_row + 64 * word + place
            count = 0
            for plane in range(planes.shape[0]):
                count += np.int64((planes[plane, word] >> np.uint64(place)) & _ONE) << plane
            if row != own and count > value[near.size - 1]:
                _insert(near, value, row, count)


@njit(cache=True, nogil=True)
def nearest_rows_by_bits(labels, offsets, sets, n_planes, start, stop, near, value):
    """Do what `neighbours.nearest_rows` does, for members of weight 1.

    near (m, width) int32 and value (m, width) float64 are written for rows start..stop-1. The outer loop runs over
    tiles, the inner one over rows. `guess` is a limit above which few rows were left for the row before. For each row
    the limit is lowered until more than `width` rows are above it, so that the best rows of the tile are certainly
    among them.
    """
    width = near.shape[1]
    columns = np.empty((labels.shape[1] + 7) // 8 * 8, dtype=np.int64)
    n_words = sets.shape[2]
    planes = np.empty((n_planes, n_words), dtype=np.uint64)
    carry, greater, equal = np.empty(n_words, np.uint64), np.empty(n_words, np.uint64), np.empty(n_words, np.uint64)
    near[start:stop] = -1
    value[start:stop] = 0
    for tile in range(sets.shape[0]):
        guess = 0
        for row in range(start, stop):
            columns[:] = offsets[-1]
            for member in range(labels.shape[1]):
                if labels[row, member] >= 0:
                    columns[member] = offsets[member] + labels[row, member]
            count_shared(sets[tile], columns, planes, carry)
            floor = int(value[row, width - 1])
            limit = max(guess, floor)
            n_above = _above(planes, limit, greater, equal)
            while n_above <= width and limit > floor:
                limit -= 1
                n_above = _above(planes, limit, greater, equal)
            guess = limit + 1 if n_above > 3 * width else limit
            _insert_all(greater, planes, tile * 64 * n_words, row, near[row], value[row])


@njit(cache=True, nogil=True)
def _twice(array):
    """Return a copy of an array with room for twice as many entries."""
    larger = np.empty(2 * array.size, dtype=array.dtype)
    for place in range(array.size):  # an assignment to a slice takes a second to compile
        larger[place] = array[place]
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

"""Distinct rows of a label table, found by hashing, in order of first appearance.

Small tables go through one hash table (`one_table`). In a large table every row would miss the cache in such a table,
so that large tables go through `quorate.ops.row_parts`, on all threads; both ways return the same arrays.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.ops.compiling import njit
from quorate.ops.row_parts import distinct_rows_in_parts, hash_row, same_row
from quorate.ops.threads import map_blocks, map_fixed_blocks, n_threads

_ONE, _TWO = np.uint64(1), np.uint64(2)
PARTED_FROM = 65_536
"""Rows from which a table is divided into parts: below, one hash table fits the cache and is as fast."""
MOST_PARTED = 2**31
"""Rows beyond which the numbers of a row and of a distinct row no longer fit into 64 bits together."""


def distinct_rows(labels: NDArray[Any], inverse: NDArray[np.intp]) -> NDArray[np.intp]:
    """Fill `inverse` with each row's number among the distinct rows; return the first row of each distinct row.

    labels (n, H) holds integers of any type; inverse (n,) is written; the result has the shape (m,) and is increasing.
    """
    if PARTED_FROM <= len(labels) < MOST_PARTED:
        return distinct_rows_in_parts(as_words(labels), inverse)
    # bytes, so that the kernel is compiled only once for tables of any width and any type
    first: NDArray[np.intp] = one_table(as_words(labels, 1), inverse)
    return first


def added_counts(inverse: NDArray[np.intp], counts: NDArray[np.int64], n_distinct: int) -> NDArray[np.int64]:
    """Add up the counts of the rows of each distinct row, in integers and so exactly.

    inverse (n,) is each row's number among the distinct rows, counts (n,) how many objects it stands for. Threads add
    to sums of their own, as long as these take less memory than the rows do.
    """
    n_rows = len(inverse)
    n_parts = max(1, min(n_threads(), n_rows // max(PARTED_FROM, 4 * n_distinct)))
    sums = np.zeros((n_parts, n_distinct), dtype=np.int64)
    edges = [n_rows * part // n_parts for part in range(n_parts + 1)]
    map_fixed_blocks(
        lambda part, _: _add_counts(inverse, counts, edges[part], edges[part + 1], sums[part]), n_parts, block=1
    )
    if n_parts == 1:
        return sums.reshape(-1)
    added = np.empty(n_distinct, dtype=np.int64)
    map_blocks(lambda start, stop: np.sum(sums[:, start:stop], axis=0, out=added[start:stop]), n_distinct)
    return added


def taken_rows(values: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[Any]:
    """Return values[rows], copied on all threads; values have one or two dimensions, and the rows must exist."""
    taken = np.empty((len(rows), *values.shape[1:]), dtype=values.dtype)
    # "clip" lets NumPy write to the result directly; no row is out of bounds
    map_blocks(lambda start, stop: values.take(rows[start:stop], 0, taken[start:stop], "clip"), len(rows))
    return taken


@njit(cache=True, nogil=True)
def _add_counts(inverse, counts, start, stop, sums):
    for row in range(start, stop):
        sums[inverse[row]] += counts[row]


def as_words(labels: NDArray[Any], width: int | None = None) -> NDArray[Any]:
    """The rows as unsigned integers of `width` bytes, by default the most that divide a row; they are read-only."""
    width = width or math.gcd(labels.itemsize * labels.shape[1], 8)
    words = np.ascontiguousarray(labels).view(f"u{width}")
    words.flags.writeable = False
    return words


@njit(cache=True, nogil=True)
def _grow(slots, hashes):
    """Return a hash table of twice the size; a slot holds the number of a distinct row, or -1 if it is empty."""
    mask = np.uint64(2 * slots.size - 1)
    larger = np.full(2 * slots.size, -1, dtype=np.int64)
    for number in range(hashes.size):
        slot = hashes[number] & mask
        while larger[slot] >= 0:
            slot = (slot + _ONE) & mask
        larger[slot] = number
    return larger


@njit(cache=True, nogil=True)
def _twice(array):
    """Return a copy of an array with room for twice as many entries."""
    larger = np.empty(2 * array.size, dtype=array.dtype)
    larger[: array.size] = array
    return larger


@njit(cache=True, nogil=True)
def one_table(words: NDArray[Any], inverse: NDArray[np.intp]) -> NDArray[np.intp]:
    """Do what `distinct_rows` does, row after row with a single hash table; words (n, w) are unsigned integers.

    Invariant: after row i, the slots hold each distinct row of words[:i+1] once and are at most half full.
    """
    slots = np.full(1024, -1, dtype=np.int64)
    hashes = np.empty(512, dtype=np.uint64)
    first = np.empty(512, dtype=np.intp)
    n_distinct = 0
    for row in range(words.shape[0]):
        if n_distinct == hashes.size:
            slots = _grow(slots, hashes)
            hashes = _twice(hashes)
            first = _twice(first)
        value = hash_row(words, row)
        mask = np.uint64(slots.size - 1)
        slot = value & mask
        number = slots[slot]
        while number >= 0 and not (hashes[number] == value and same_row(words, row, first[number])):
            slot = (slot + _ONE) & mask
            number = slots[slot]
        if number < 0:
            number = n_distinct
            slots[slot] = number
            hashes[number] = value
            first[number] = row
            n_distinct += 1
        inverse[row] = number
    return first[:n_distinct].copy()

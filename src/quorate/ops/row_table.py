"""A hash table of distinct label rows that grows block by block."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.ops.compiling import njit
from quorate.ops.row_parts import hash_row

_TAG = np.uint64(33)
_ONE, _TWO = np.uint64(1), np.uint64(2)
_LOW = np.int64(0xFFFFFFFF)
_HIGH = np.int64(32)


@njit(cache=True, nogil=True)
def _equal(labels, row, rows, number):
    """Return whether a row of a block equals a row of the table."""
    for word in range(labels.shape[1]):
        if labels[row, word] != rows[number, word]:
            return False
    return True


@njit(cache=True, nogil=True)
def fill_slots(rows: NDArray[Any], n_rows: int, slots: NDArray[np.int64]) -> None:
    """Enter the first n_rows rows, which are distinct, into empty slots; the number of slots is a power of two.

    rows (capacity, W) are the bytes of rows as unsigned integers; see `as_words`.

    A slot holds -1 if it is empty, otherwise the number of a row in its lower 32 bits and a part of the row's hash in
    the others, so that most searches compare one row only.
    """
    mask = np.uint64(slots.size - 1)
    for number in range(n_rows):
        value = hash_row(rows, number)
        slot = value & mask
        while slots[slot] >= 0:
            slot = (slot + _ONE) & mask
        slots[slot] = (np.int64(value >> _TAG) << _HIGH) | number


@njit(cache=True, nogil=True)
def insert_rows(
    labels: NDArray[Any],
    counts: NDArray[np.int64],
    rows: NDArray[Any],
    sums: NDArray[np.int64],
    slots: NDArray[np.int64],
    n_rows: int,
    numbers: NDArray[np.int64],
) -> int:
    """Add the rows of a block to the table and return the new number of distinct rows.

    labels (m, W), bytes of rows as unsigned integers, and counts (m,) are the block. rows (capacity, W) and sums
    (capacity,) hold the n_rows distinct rows so far and their counts, with room for m more; slots are at most half full
    afterwards. numbers (m,) is written: the number of each row of the block in the table. Invariant: rows are numbered
    by first appearance.
    """
    mask = np.uint64(slots.size - 1)
    for row in range(labels.shape[0]):
        value = hash_row(labels, row)
        tag = np.int64(value >> _TAG)
        slot = value & mask
        number = np.int64(-1)
        while slots[slot] >= 0:
            if slots[slot] >> _HIGH == tag and _equal(labels, row, rows, slots[slot] & _LOW):
                number = slots[slot] & _LOW
                break
            slot = (slot + _ONE) & mask
        if number < 0:
            number = np.int64(n_rows)
            for word in range(labels.shape[1]):
                rows[number, word] = labels[row, word]
            sums[number] = 0
            slots[slot] = (tag << _HIGH) | number
            n_rows += 1
        sums[number] += counts[row]
        numbers[row] = number
    return n_rows

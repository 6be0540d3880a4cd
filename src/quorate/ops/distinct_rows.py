"""Distinct rows of a label table, found by hashing, in order of first appearance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.ops.compiling import njit

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_FINISH = np.uint64(0xD6E8FEB86659FD93)
_FIVE, _SHIFT = np.uint64(5), np.uint64(32)
_ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def _hash_row(labels, row):
    """Hash a row: multiply and rotate over its codes, then mix the bits so that the low bits depend on all codes."""
    value = _MULTIPLIER
    for member in range(labels.shape[1]):
        value = ((value << _FIVE) | (value >> np.uint64(59))) ^ np.uint64(labels[row, member] + 1)
        value *= _MULTIPLIER
    value = (value ^ (value >> _SHIFT)) * _FINISH
    return value ^ (value >> _SHIFT)


@njit(cache=True, nogil=True)
def _same_row(labels, row, other):
    """Return whether two rows are equal."""
    for member in range(labels.shape[1]):
        if labels[row, member] != labels[other, member]:
            return False
    return True


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
def distinct_rows(labels: NDArray[Any], inverse: NDArray[np.intp]) -> NDArray[np.intp]:
    """Fill `inverse` with each row's number among the distinct rows; return the first row of each distinct row.

    labels (n, H) is C-ordered; inverse (n,) is written; the result has the shape (m,) and is increasing. Invariant:
    after row i, the slots hold each distinct row of labels[:i+1] once and are at most half full.
    """
    slots = np.full(1024, -1, dtype=np.int64)
    hashes = np.empty(512, dtype=np.uint64)
    first = np.empty(512, dtype=np.intp)
    n_distinct = 0
    for row in range(labels.shape[0]):
        if n_distinct == hashes.size:
            slots = _grow(slots, hashes)
            hashes = _twice(hashes)
            first = _twice(first)
        value = _hash_row(labels, row)
        mask = np.uint64(slots.size - 1)
        slot = value & mask
        number = slots[slot]
        while number >= 0 and not (hashes[number] == value and _same_row(labels, row, first[number])):
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

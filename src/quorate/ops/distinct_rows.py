"""Distinct rows by hashing, in order of first appearance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_FINISH = np.uint64(0xD6E8FEB86659FD93)
_FIVE, _SHIFT = np.uint64(5), np.uint64(32)
_ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def _hash_row(labels, row):
    """Multiply-rotate over the codes, then a finisher so that the low bits depend on all of them."""
    value = _MULTIPLIER
    for member in range(labels.shape[1]):
        value = ((value << _FIVE) | (value >> np.uint64(59))) ^ np.uint64(labels[row, member] + 1)
        value *= _MULTIPLIER
    value = (value ^ (value >> _SHIFT)) * _FINISH
    return value ^ (value >> _SHIFT)


@njit(cache=True, nogil=True)
def _same_row(labels, row, other):
    for member in range(labels.shape[1]):
        if labels[row, member] != labels[other, member]:
            return False
    return True


@njit(cache=True, nogil=True)
def _grow(slots, hashes):
    """A table twice the size; a slot holds the number of a distinct row, -1 where it is empty."""
    mask = np.uint64(2 * slots.size - 1)
    larger = np.full(2 * slots.size, -1, dtype=np.int64)
    for found in range(hashes.size):
        slot = hashes[found] & mask
        while larger[slot] >= 0:
            slot = (slot + _ONE) & mask
        larger[slot] = found
    return larger


@njit(cache=True, nogil=True)
def _twice(array):
    larger = np.empty(2 * array.size, dtype=array.dtype)
    larger[: array.size] = array
    return larger


@njit(cache=True, nogil=True)
def distinct_rows(labels: NDArray[Any], inverse: NDArray[np.intp]) -> NDArray[np.intp]:
    """Fill `inverse` with each row's number among the distinct rows; return where each first stands.

    labels (n, H) C-ordered; inverse (n,), written; returns first (m,), increasing.
    Invariant: after row i, slots hold each distinct row of labels[:i+1] once and are at most half full.
    """
    slots = np.full(1024, -1, dtype=np.int64)
    hashes = np.empty(512, dtype=np.uint64)
    first = np.empty(512, dtype=np.intp)
    n_found = 0
    for row in range(labels.shape[0]):
        if n_found == hashes.size:
            slots = _grow(slots, hashes)
            hashes = _twice(hashes)
            first = _twice(first)
        value = _hash_row(labels, row)
        mask = np.uint64(slots.size - 1)
        slot = value & mask
        found = slots[slot]
        while found >= 0 and not (hashes[found] == value and _same_row(labels, row, first[found])):
            slot = (slot + _ONE) & mask
            found = slots[slot]
        if found < 0:
            found = n_found
            slots[slot] = found
            hashes[found] = value
            first[found] = row
            n_found += 1
        inverse[row] = found
    return first[:n_found].copy()

"""Codes by order of first appearance, the numbering on which all other modules rely.

A new value gets its code from the rows before it, so that rows must be taken in their order. Most tables show all their
values in the first rows, though. `code_columns` and `is_coded` therefore take the first block of rows in order and the
other blocks on all threads; a block stops at the first row that holds a new value, and its rest is taken in order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.ops.compiling import njit
from quorate.ops.threads import map_fixed_blocks

UNSEEN = -2
MISSING = -1
BLOCK = 65_536
"""Rows of a block: a few milliseconds of work, and more rows than most tables need to show all their values."""


def code_columns(
    values: NDArray[Any],
    low: NDArray[np.int64],
    starts: NDArray[np.int64],
    lookup: NDArray[np.int32],
    seen: NDArray[np.int64],
    codes: NDArray[Any],
) -> None:
    """Code every column of an integer table by first appearance.

    values (n, H) is the table; column h holds integers from low[h] on. `lookup` is one flat table in which the entry of
    value v of column h is at starts[h] + v - low[h]; it holds UNSEEN, MISSING or the code of the value. seen (H,)
    counts the codes given out for each column. codes (n, H) is written; it may be the table itself.
    """
    _code_rows(values[:BLOCK], low, starts, lookup, seen, codes[:BLOCK])
    rest, rest_codes = values[BLOCK:], codes[BLOCK:]

    def code(start: int, stop: int) -> int:
        return start + int(_code_known(rest[start:stop], low, starts, lookup, rest_codes[start:stop]))

    for place, row in enumerate(map_fixed_blocks(code, len(rest), BLOCK)):
        stop = min((place + 1) * BLOCK, len(rest))
        if row < stop:
            _code_rows(rest[row:stop], low, starts, lookup, seen, rest_codes[row:stop])


@njit(cache=True, nogil=True)
def _code_known(values, low, starts, lookup, codes):
    """Code the rows before the first one that holds an unseen value, and return the number of that row."""
    whole = np.empty(values.shape[1], dtype=np.int32)
    for row in range(values.shape[0]):
        lowest = np.int32(MISSING)
        for column in range(values.shape[1]):
            code = lookup[starts[column] + (values[row, column] - low[column])]
            whole[column] = code
            lowest = min(lowest, code)
        if lowest == UNSEEN:
            return row
        # only whole rows are written, because codes may be the table itself
        for column in range(values.shape[1]):
            codes[row, column] = whole[column]
    return values.shape[0]


@njit(cache=True, nogil=True)
def _code_rows(values, low, starts, lookup, seen, codes):
    """Do what `code_columns` does, row after row."""
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            place = starts[column] + (values[row, column] - low[column])
            code = lookup[place]
            if code == UNSEEN:
                code = seen[column]
                lookup[place] = code
                seen[column] = code + 1
            codes[row, column] = code


@njit(cache=True, nogil=True)
def recode_columns(labels, starts, lookup, codes):
    """Replace the codes of every column by others: lookup[starts[h] + 1 + v] is the new code of v in column h.

    labels (n, H) holds codes from -1 on; codes (n, H) is written.
    """
    for row in range(labels.shape[0]):
        for column in range(labels.shape[1]):
            codes[row, column] = lookup[starts[column] + 1 + labels[row, column]]


@njit(cache=True, nogil=True)
def canonical(labels: NDArray[Any], n_labels: int) -> NDArray[np.int32]:
    """Renumber labels 0..n_labels-1 by first appearance; labels must not be negative."""
    name = np.full(n_labels, -1, dtype=np.int32)
    result = np.empty(labels.size, dtype=np.int32)
    n_seen = 0
    for row in range(labels.size):
        label = labels[row]
        if name[label] < 0:
            name[label] = n_seen
            n_seen += 1
        result[row] = name[label]
    return result


def is_coded(values: NDArray[Any], seen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return `seen`, the number of codes in each column, if all columns are already coded by first appearance.

    Otherwise seen[0] is set to -1. `seen` must hold zeros at first. Values must not be below -1.
    """
    _follow_codes(values[:BLOCK], seen)
    if seen[0] < 0:
        return seen
    rest, known = values[BLOCK:], seen.copy()
    found = map_fixed_blocks(lambda start, stop: start + int(_first_beyond(rest[start:stop], known)), len(rest), BLOCK)
    for place, row in enumerate(found):
        stop = min((place + 1) * BLOCK, len(rest))
        if row < stop and _follow_codes(rest[row:stop], seen)[0] < 0:
            return seen
    return seen


@njit(cache=True, nogil=True)
def _first_beyond(values, seen):
    """Return the number of the first row that holds a code which was not given out yet."""
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            if values[row, column] >= seen[column]:
                return row
    return values.shape[0]


@njit(cache=True, nogil=True)
def _follow_codes(values, seen):
    """Do what `is_coded` does, row after row, from the numbers in `seen` on."""
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            value = values[row, column]
            if value == seen[column]:
                seen[column] += 1
            elif value > seen[column]:
                seen[0] = -1
                return seen
    return seen

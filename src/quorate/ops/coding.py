"""Codes by order of first appearance, the numbering on which all other modules rely."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.ops.compiling import njit

UNSEEN = -2
MISSING = -1


@njit(cache=True, nogil=True)
def code_columns(values, low, starts, lookup, seen, codes):
    """Code every column of an integer table by first appearance, in one pass over its rows.

    values (n, H) is the table; column h holds integers from low[h] on. `lookup` is one flat table in which the entry of
    value v of column h is at starts[h] + v - low[h]; it holds UNSEEN, MISSING or the code of the value. seen (H,)
    counts the codes given out for each column. codes (n, H) is written.
    """
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


@njit(cache=True, nogil=True)
def is_coded(values, seen):
    """Return `seen`, the number of codes in each column, if all columns are already coded by first appearance.

    Otherwise seen[0] is set to -1. `seen` must hold zeros at first.
    """
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            value = values[row, column]
            if value == seen[column]:
                seen[column] += 1
            elif value > seen[column]:
                seen[0] = -1
                return seen
    return seen

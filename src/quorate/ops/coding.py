"""Codes by order of first appearance, hashes, and colours that follow from what a table holds, whatever its order.

A new value gets its code from the rows before it, so that rows must be taken in their order. Most tables show all their
values in the first rows, though. `code_columns` and `is_coded` therefore take the first block of rows in order and the
other blocks on all threads; a block stops at the first row that holds a new value, and its rest is taken in order.

Different data have different hashes with high probability, but deliberate collisions are possible.

This is the refinement of colours that tests graphs for isomorphism: all begin alike but for their counts and weights,
and in each round the colour of a row is made from those of its clusters, the colour of a cluster from those of its
rows, and the colour of a member from those of its clusters. Rows that differ in anything soon have different colours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._types import read_only
from quorate.ops.compiling import njit
from quorate.ops.threads import map_fixed_blocks

UNSEEN = -2
MISSING = -1
BLOCK = 65_536
"""Rows of a block: a few milliseconds of work, and more rows than most tables need to show all their values."""
SMALL = 65_536
"""Entries up to which a table is copied to the type that most tables have."""


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
    if values.size <= SMALL:
        # a small table is not worth a kernel for its own type
        values = read_only(values.astype(np.int64))
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
def canonical(labels: NDArray[Any], n_labels: int) -> NDArray[np.int32]:
    """Renumber labels 0..n_labels-1 by first appearance; labels must not be negative."""
    name, result = np.empty(n_labels, dtype=np.int32), np.empty(labels.size, dtype=np.int32)
    for label in range(n_labels):
        name[label] = -1
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


_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_LEFT, _RIGHT = np.uint64(29), np.uint64(35)


@njit(cache=True, nogil=True)
def hash_words(words: NDArray[np.uint64], state: NDArray[np.uint64]) -> None:
    """Mix words (n,) into state (4,); n must be a multiple of 4.

    Word i goes to lane i % 4, where it is combined by exclusive or; then the lane is multiplied and rotated. There are
    four lanes so that the processor need not wait for one multiplication before it begins the next. Every step is a
    bijection of the lane, so a single changed word always changes the state.
    """
    a, b, c, d = state[0], state[1], state[2], state[3]
    for place in range(0, words.size, 4):
        a = (a ^ words[place]) * _MULTIPLIER
        b = (b ^ words[place + 1]) * _MULTIPLIER
        c = (c ^ words[place + 2]) * _MULTIPLIER
        d = (d ^ words[place + 3]) * _MULTIPLIER
        a = (a << _LEFT) | (a >> _RIGHT)
        b = (b << _LEFT) | (b >> _RIGHT)
        c = (c << _LEFT) | (c >> _RIGHT)
        d = (d << _LEFT) | (d >> _RIGHT)
    state[0], state[1], state[2], state[3] = a, b, c, d


@njit(cache=True, nogil=True)
def hash_texts(data: NDArray[np.uint8], ends: NDArray[np.int64], keys: NDArray[np.uint64]) -> None:
    """Write a hash of each text into keys (n,); text i is data[ends[i]:ends[i + 1]]."""
    for text in range(keys.size):
        value = _MULTIPLIER ^ np.uint64(ends[text + 1] - ends[text])
        for place in range(ends[text], ends[text + 1]):
            value = (value ^ np.uint64(data[place])) * _MULTIPLIER
            value = (value << _LEFT) | (value >> _RIGHT)
        keys[text] = value ^ (value >> _RIGHT)


_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_BITS_30, _BITS_27, _BITS_31 = np.uint64(30), np.uint64(27), np.uint64(31)


@njit(cache=True, nogil=True)
def mixed(value):
    """Return a number of 64 bits all of which depend on all bits of the value (the last step of SplitMix64)."""
    value = value + _STEP
    value = (value ^ (value >> _BITS_30)) * _FIRST
    value = (value ^ (value >> _BITS_27)) * _SECOND
    return value ^ (value >> _BITS_31)


@njit(cache=True, nogil=True)
def refine_colours(labels, offsets, counts, members, rows):
    """Do one round: write new colours of the members and of the rows.

    Shapes: labels (m, H); counts (m,), members (H,) and rows (m,), all of uint64. Sums wrap around at 2^64 and do not
    depend on the order of their terms, so neither the order of rows nor that of members or clusters has a say.
    """
    clusters = np.zeros(offsets[-1], dtype=np.uint64)
    for row in range(labels.shape[0]):
        own = mixed(rows[row]) * counts[row]
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0:
                clusters[offsets[member] + label] += own
    for member in range(labels.shape[1]):
        total = np.uint64(0)
        for place in range(offsets[member], offsets[member + 1]):
            # a cluster without rows, as soft members may have one, is no part of the content
            if clusters[place] != 0:
                total += mixed(clusters[place])
        members[member] = mixed(members[member] ^ mixed(total))
        for place in range(offsets[member], offsets[member + 1]):
            clusters[place] = mixed(clusters[place] ^ members[member])
    for row in range(labels.shape[0]):
        total = counts[row]
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0:
                total += clusters[offsets[member] + label]
        rows[row] = mixed(rows[row] ^ mixed(total))

"""Distinct label rows in order of first appearance: in one table, in parts on all threads, or block by block.

Equal rows have equal hashes, so that they are in the same part, and parts can be searched at the same time. The work
goes through six passes; each runs on all threads, and none depends on how many there are:

1. every row is hashed; a row that equals one seen lately refers to it and takes no part in the passes 2 to 5,
2. the other rows are divided into parts by the highest bits of their hash, in increasing order within each part,
3. each part is searched for equal rows with a hash table of its own,
4. the first rows of all parts are numbered in increasing order,
5. these numbers are carried to the other rows of their part,
6. and to the rows that refer to another row.

Pass 1 keeps rows that are very frequent out of the parts, which would otherwise differ much in size. `inverse` holds
the state of each row between the passes: its hash, or FIRST + its hash if it is the first of its kind, or ~other, which
is negative, if it refers to another row.

Small tables go through one hash table (`one_table`). In a large table every row would miss the cache in such a table,
so that large tables go through `quorate.ops.row_parts`, on all threads; both ways return the same arrays.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.ops.compiling import njit
from quorate.ops.threads import map_blocks, map_fixed_blocks, n_threads

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_FINISH = np.uint64(0xD6E8FEB86659FD93)
_LEFT, _RIGHT, _HALF = np.uint64(29), np.uint64(35), np.uint64(32)
_ONE, _TWO = np.uint64(1), np.uint64(2)
_HASH_BITS = 62
_FIRST = np.int64(1) << np.int64(_HASH_BITS)
_RECENT = 4096
"""Size of the table of rows seen lately, which must stay in the first or second cache."""
PART_ROWS = 16_384
"""Rows of a part at most, on average: its hash table and its first rows take less than half a megabyte."""
MOST_PARTS = 8192
"""More parts than this would be written to more places at once than the cache has lines for."""
MOST_ROWS = 2**21
"""Rows of a block at most, a fraction of a second of work, after which Ctrl-C is noticed."""
BLOCKS_PER_THREAD = 4
"""Blocks are smaller than they need be, so that a thread held up by other work does not keep the others waiting."""


@njit(cache=True, nogil=True, inline="always")
def _packed(words, row, begin, end):
    """Return the words begin to end - 1 of a row, which have at most 64 bits together, in one 64-bit word."""
    if words.itemsize == 8:
        return np.uint64(words[row, begin])
    width = np.uint64(8 * words.itemsize)
    packed = np.uint64(0)
    for place in range(begin, end):
        packed = (packed << width) | np.uint64(words[row, place])
    return packed


@njit(cache=True, nogil=True)
def hash_row(words, row):
    """Hash a row: multiply and rotate over 64 bits at a time, then mix so that all bits depend on the whole row."""
    value = _MULTIPLIER
    together = 8 // words.itemsize
    for begin in range(0, words.shape[1], together):
        value = (value ^ _packed(words, row, begin, min(begin + together, words.shape[1]))) * _MULTIPLIER
        value = (value << _LEFT) | (value >> _RIGHT)
    value = (value ^ (value >> _HALF)) * _FINISH
    return value ^ (value >> _HALF)


@njit(cache=True, nogil=True)
def same_row(words, row, other):
    """Return whether two rows are equal."""
    for place in range(words.shape[1]):
        if words[row, place] != words[other, place]:
            return False
    return True


@njit(cache=True, nogil=True)
def _hash_rows(words, start, stop, shift, inverse, sizes):
    """Write the hash of each row from `start` to `stop`, or a reference to an equal row; count the rows of each part.

    sizes (n_parts,) is increased. A row refers only to a row that does not refer to another one itself.
    """
    recent = np.full(_RECENT, -1, dtype=np.int64)
    hashes = np.zeros(_RECENT, dtype=np.int64)
    for row in range(start, stop):
        value = np.int64(hash_row(words, row) >> _TWO)
        slot = value & (_RECENT - 1)
        if hashes[slot] == value and recent[slot] >= 0 and same_row(words, row, recent[slot]):
            inverse[row] = ~recent[slot]
        else:
            hashes[slot], recent[slot] = value, row
            inverse[row] = value
            sizes[value >> shift] += 1


@njit(cache=True, nogil=True)
def _divide(inverse, start, stop, shift, row_bits, places, entries):
    """Write the rows from `start` to `stop` into the parts; places (n_parts,) is where the next row of a part belongs.

    An entry holds the lower bits of the row's hash and, in its last `row_bits` bits, the row.
    """
    for row in range(start, stop):
        value = inverse[row]
        if value >= 0:
            part = value >> shift
            entries[places[part]] = (np.uint64(value) << row_bits) | np.uint64(row)
            places[part] += 1


@njit(cache=True, nogil=True)
def _group_part(words, entries, row_bits, slots, found, inverse):
    """Find equal rows in one part; the entries receive, instead of the hash, the number of the row's kind in the part.

    slots is a table of more than entries.size places, a power of two, filled with -1; found (entries.size,) receives
    the first entry of each kind. The first row of each kind is marked in `inverse`.
    """
    row_mask = (_ONE << row_bits) - _ONE
    slot_mask = np.uint64(slots.size - 1)
    n_found = 0
    for place in range(entries.size):
        entry = entries[place]
        value, row = entry >> row_bits, entry & row_mask
        slot = value & slot_mask
        kind = slots[slot]
        while kind >= 0 and not (found[kind] >> row_bits == value and same_row(words, row, found[kind] & row_mask)):
            slot = (slot + _ONE) & slot_mask
            kind = slots[slot]
        if kind < 0:
            kind = n_found
            slots[slot] = kind
            found[kind] = entry
            inverse[row] |= _FIRST
            n_found += 1
        entries[place] = (np.uint64(kind) << row_bits) | row


@njit(cache=True, nogil=True)
def _group_parts(words, entries, edges, start, stop, row_bits, inverse):
    """Find equal rows in the parts from `start` to `stop`; part p has the entries edges[p] to edges[p + 1] - 1."""
    largest = 1
    for part in range(start, stop):
        largest = max(largest, edges[part + 1] - edges[part])
    size = 2
    while size < 2 * largest:
        size *= 2
    all_slots, found = np.empty(size, dtype=np.int32), np.empty(largest, dtype=np.uint64)
    for part in range(start, stop):
        size = 2
        while size < 2 * (edges[part + 1] - edges[part]):
            size *= 2
        slots = all_slots[:size]
        slots[:] = -1
        _group_part(words, entries[edges[part] : edges[part + 1]], row_bits, slots, found, inverse)


@njit(cache=True, nogil=True)
def _count_firsts(inverse, start, stop):
    """Return how many rows from `start` to `stop` are marked as the first of their kind."""
    total = 0
    for row in range(start, stop):
        total += inverse[row] >= _FIRST
    return total


@njit(cache=True, nogil=True)
def _number_firsts(inverse, start, stop, number, first):
    """Number the first rows from `start` to `stop`, beginning with `number`; first[number] receives the row."""
    for row in range(start, stop):
        if inverse[row] >= _FIRST:
            inverse[row] = number
            first[number] = row
            number += 1


@njit(cache=True, nogil=True)
def _carry_numbers(entries, edges, start, stop, row_bits, inverse):
    """Give the rows of the parts from `start` to `stop` the number of the first row of their kind."""
    row_mask = (_ONE << row_bits) - _ONE
    largest = 0
    for part in range(start, stop):
        largest = max(largest, edges[part + 1] - edges[part])
    numbers = np.empty(largest, dtype=np.int64)
    for part in range(start, stop):
        n_found = 0
        for place in range(edges[part], edges[part + 1]):
            kind, row = np.int64(entries[place] >> row_bits), np.int64(entries[place] & row_mask)
            if kind == n_found:
                numbers[kind] = inverse[row]
                n_found += 1
            else:
                inverse[row] = numbers[kind]


@njit(cache=True, nogil=True)
def _follow(inverse, start, stop):
    """Give the rows from `start` to `stop` that refer to another row its number."""
    for row in range(start, stop):
        if inverse[row] < 0:
            inverse[row] = inverse[~inverse[row]]


def distinct_rows_in_parts(words: NDArray[Any], inverse: NDArray[np.intp]) -> NDArray[np.intp]:
    """Do what `distinct_rows` does, on all threads; words (n, w) are unsigned integers, 0 < n < 2^31.

    Beside the result it takes 8 bytes for each row.
    """
    n = len(words)
    n_parts = 1
    while n_parts * PART_ROWS < n and n_parts < MOST_PARTS:
        n_parts *= 2
    shift = _HASH_BITS - (n_parts.bit_length() - 1)
    block = min(-(-n // (BLOCKS_PER_THREAD * n_threads())), MOST_ROWS)
    sizes = np.zeros((-(-n // block), n_parts), dtype=np.int64)
    map_fixed_blocks(
        lambda start, stop: _hash_rows(words, start, stop, shift, inverse, sizes[start // block]), n, block
    )
    edges, places = _layout(sizes)
    entries = np.empty(edges[-1], dtype=np.uint64)
    row_bits = np.uint64(n.bit_length())
    map_fixed_blocks(
        lambda start, stop: _divide(inverse, start, stop, shift, row_bits, places[start // block], entries), n, block
    )
    few_parts = max(1, n_parts // (8 * BLOCKS_PER_THREAD * n_threads()))
    map_fixed_blocks(
        lambda start, stop: _group_parts(words, entries, edges, start, stop, row_bits, inverse), n_parts, few_parts
    )
    first = _numbered(inverse, block)
    map_fixed_blocks(
        lambda start, stop: _carry_numbers(entries, edges, start, stop, row_bits, inverse), n_parts, few_parts
    )
    map_fixed_blocks(lambda start, stop: _follow(inverse, start, stop), n, block)
    return first


def _layout(sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each part begins, and where each block of rows writes into each part: parts in order, in each the blocks.

    sizes (n_blocks, n_parts) is the number of rows of each block in each part.
    """
    ends = np.cumsum(sizes.T.ravel())
    places = np.ascontiguousarray((ends - sizes.T.ravel()).reshape(sizes.T.shape).T)
    return np.concatenate([places[0], ends[-1:]]), places


def _numbered(inverse: NDArray[np.intp], block: int) -> NDArray[np.intp]:
    """Number the rows marked as the first of their kind, in increasing order, and return them."""
    n = len(inverse)
    found = np.cumsum([0, *map_fixed_blocks(lambda start, stop: _count_firsts(inverse, start, stop), n, block)])
    first = np.empty(found[-1], dtype=np.intp)
    map_fixed_blocks(lambda start, stop: _number_firsts(inverse, start, stop, found[start // block], first), n, block)
    return first


FEW_ROWS = 1_024
"""Up to so many rows a dictionary takes a fifth of a millisecond, and the kernel three seconds to compile at first."""
PARTED_FROM = 65_536
"""Rows from which a table is divided into parts: below, one hash table fits the cache and is as fast."""
MOST_PARTED = 2**31
"""Rows beyond which the numbers of a row and of a distinct row no longer fit into 64 bits together."""


def distinct_rows(labels: NDArray[Any], inverse: NDArray[np.intp]) -> NDArray[np.intp]:
    """Fill `inverse` with each row's number among the distinct rows; return the first row of each distinct row.

    labels (n, H) holds integers of any type; inverse (n,) is written; the result has the shape (m,) and is increasing.
    """
    if len(labels) <= FEW_ROWS:
        return _few_distinct_rows(labels, inverse)
    if PARTED_FROM <= len(labels) < MOST_PARTED:
        return distinct_rows_in_parts(as_words(labels), inverse)
    # bytes, so that the kernel is compiled only once for tables of any width and any type
    first: NDArray[np.intp] = one_table(as_words(labels, 1), inverse)
    return first


def _few_distinct_rows(labels: NDArray[Any], inverse: NDArray[np.intp]) -> NDArray[np.intp]:
    """Do what `distinct_rows` does with a dictionary, which needs no compiled kernel."""
    words = as_words(labels, 1)
    text, width = words.tobytes(), words.shape[1]
    seen: dict[bytes, int] = {}
    first: list[int] = []
    for row in range(len(words)):
        key = text[row * width : (row + 1) * width]
        number = seen.setdefault(key, len(seen))
        if number == len(first):
            first.append(row)
        inverse[row] = number
    return np.array(first, dtype=np.intp)


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
            # element by element: an assignment to a slice takes a second to compile
            more_hashes, more_first = (
                np.empty(2 * hashes.size, dtype=np.uint64),
                np.empty(2 * hashes.size, dtype=np.intp),
            )
            for number in range(hashes.size):
                more_hashes[number], more_first[number] = hashes[number], first[number]
            hashes, first = more_hashes, more_first
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


_TAG = np.uint64(33)
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

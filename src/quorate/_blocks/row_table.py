"""Distinct rows of many blocks: the one table that grows while blocks are read, and the labels its codes stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._blocks.coding import CodedBlock
from quorate._data.coding import narrowest
from quorate._types import read_only
from quorate.ops.coding import code_columns
from quorate.ops.distinct_rows import as_words
from quorate.ops.row_table import fill_slots, insert_rows

Array = NDArray[Any]
FIRST_ROWS = 1024
MOST_ROWS = 2**32 - 1
"""The number of distinct rows whose numbers fit into the lower half of a slot."""


class Values:
    """The different values of one member, numbered by first appearance in any block."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._parts: list[Array] = []

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, values: Array) -> NDArray[np.int64]:
        """Return the number of each value; the last entry is -1 and serves code -1, a missing label."""
        known = len(self._numbers)
        numbers = [self._numbers.setdefault(value, len(self._numbers)) for value in values.tolist()]
        if len(self._numbers) > known:
            # a dictionary in a file may hold a value twice
            distinct, first = np.unique(numbers, return_index=True)
            self._parts.append(values[first[distinct >= known]])
        return np.array([*numbers, -1], dtype=np.int64)

    def array(self) -> Array:
        """Return the values in the order of their numbers, in one type; as objects if types of blocks do not agree."""
        if not self._parts:
            return np.empty(0, dtype=np.int64)
        kinds = {part.dtype.kind for part in self._parts}
        if len(kinds) == 1 or kinds <= set("if"):
            return np.concatenate(self._parts)
        return np.concatenate([part.astype(object) for part in self._parts])


class RowTable:
    """The distinct rows of all blocks so far, in order of first appearance, with the number of objects of each.

    Blocks are coded independently. `add` translates their codes to common ones, numbered by first appearance as well,
    so that the table is the same as if all blocks had been one.
    """

    def __init__(self, n_members: int) -> None:
        self.values = [Values() for _ in range(n_members)]
        self.n_rows = 0
        self._rows = np.empty((FIRST_ROWS, n_members), dtype=np.int8)
        self._counts = np.empty(FIRST_ROWS, dtype=np.int64)
        self._slots = np.full(2 * FIRST_ROWS, -1, dtype=np.int64)

    @property
    def labels(self) -> Array:
        return self._rows[: self.n_rows]

    @property
    def counts(self) -> NDArray[np.int64]:
        return self._counts[: self.n_rows]

    @property
    def nbytes(self) -> int:
        """The memory that the table takes."""
        return self._rows.nbytes + self._counts.nbytes + self._slots.nbytes

    def nbytes_with(self, n_more: int) -> int:
        """Return the memory that the table will take while it grows to hold so many more rows."""
        wanted = self.n_rows + n_more
        if wanted <= len(self._counts):
            return self.nbytes
        capacity = _capacity(wanted, len(self._counts))
        per_row = self._rows.shape[1] * self._rows.itemsize + 8
        # the old rows stay until they are copied; old slots are dropped first
        return capacity * per_row + 8 * _n_slots(capacity) + self._rows.nbytes + self._counts.nbytes

    def add(self, block: CodedBlock) -> NDArray[np.int64]:
        """Add the rows of a block and return the number of each of them in the table."""
        renumber = [known.add(values) for known, values in zip(self.values, block.categories, strict=True)]
        dtype = narrowest(max((len(values) for values in self.values), default=1))
        if dtype.itemsize > self._rows.itemsize:
            # the hash of a row depends on its bytes
            self._rows = self._rows.astype(dtype)
            self._slots[:] = -1
            fill_slots(_words(self._rows), self.n_rows, self._slots)
        labels = recoded(block.labels, renumber, self._rows.dtype)
        self._reserve(len(labels))
        numbers = np.empty(len(labels), dtype=np.int64)
        counts = read_only(block.counts)
        words, rows = as_words(labels), _words(self._rows)
        self.n_rows = insert_rows(words, counts, rows, self._counts, self._slots, self.n_rows, numbers)
        return numbers

    def _reserve(self, n_more: int) -> None:
        """Make room for so many more rows."""
        wanted = self.n_rows + n_more
        if wanted > MOST_ROWS:
            raise MemoryError(f"{wanted:,} distinct rows are more than the {MOST_ROWS:,} that can be numbered.")
        if wanted <= len(self._counts):
            return
        capacity = _capacity(wanted, len(self._counts))
        self._slots = np.empty(0, dtype=np.int64)
        self._rows = _longer(self._rows, capacity, self.n_rows)
        self._counts = _longer(self._counts, capacity, self.n_rows)
        self._slots = np.full(_n_slots(capacity), -1, dtype=np.int64)
        fill_slots(_words(self._rows), self.n_rows, self._slots)


def recoded(labels: Array, renumber: list[NDArray[np.int64]], dtype: np.dtype[Any]) -> Array:
    """Return labels in other codes: code c of member h becomes renumber[h][c]; -1 reads the last place.

    The result has the given type, which holds all new codes, and is in C order.
    """
    if all(np.array_equal(new[:-1], np.arange(len(new) - 1)) for new in renumber):
        return read_only(labels.astype(dtype, copy=False))
    # the entry for code -1 comes first in the kernel's table
    lookup = np.concatenate([np.roll(new, 1) for new in renumber]).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum([len(new) for new in renumber])]).astype(np.int64)
    codes = np.empty(labels.shape, dtype=dtype)
    low = np.full(labels.shape[1], -1, dtype=np.int64)
    code_columns(read_only(labels), low, starts, lookup, np.zeros(labels.shape[1], dtype=np.int64), codes)
    return read_only(codes)


def _words(rows: Array) -> Array:
    """Return the rows of the table as `as_words` does, but so that they can be written to."""
    return rows.view(as_words(rows[:1]).dtype)


def _capacity(wanted: int, now: int) -> int:
    """Return the number of rows to make room for: half as many again, so that rows are seldom copied."""
    return max(wanted, now + now // 2, FIRST_ROWS)


def _n_slots(capacity: int) -> int:
    return 1 << max(2 * capacity - 1, 1).bit_length()


def _longer(array: Array, capacity: int, n_used: int) -> Array:
    longer = np.empty((capacity, *array.shape[1:]), dtype=array.dtype)
    longer[:n_used] = array[:n_used]
    return longer

"""Blocks of a table: each is coded, their rows join one table, and at the end their values are given a meaning.

A block does not decide what its values mean. A null has the code -1; every other value has a code, also one that the
user calls missing and a number in a text file. What they mean is settled once, at the end, from the distinct values of
all blocks (`settle`), because only then is it known, for example, whether all labels of a text column are numbers.

`settle` looks only at the distinct values of each member and at the distinct
rows. The functions that decide are those for tables in memory, so that both give the same ensemble.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.coding import (
    MissingRule,
    as_array,
    code_distinct,
    code_integers,
    code_values,
    in_one_type,
    label_column,
    narrowest,
    number_objects,
    signed,
    stack_columns,
    warn_of_nulls,
)
from quorate._data.ensemble import build_ensemble, refuse_suspects
from quorate._data.outside import noise_of, noise_taken_out, noise_values, rule_beside, unlabelled_rows, with_noise
from quorate._types import Ensemble, Reading, read_only
from quorate.ops.coding import code_columns
from quorate.ops.distinct_rows import added_counts, as_words, distinct_rows, fill_slots, insert_rows
from quorate.solvers import label_rows

Array = NDArray[Any]
NOTHING_DECLARED = MissingRule(())


class CodedColumn(NamedTuple):
    """A column that was coded while it was read: codes by first appearance, and the value of each code."""

    codes: Array
    values: Array

    def __len__(self) -> int:
        return len(self.codes)


class CodedBlock(NamedTuple):
    """The distinct rows of a block, in order of first appearance, and what became of its objects.

    Attributes
    ----------
    labels : array of shape (n_rows, n_members)
        Codes of this block, in order of first appearance in each column; -1 for a null.
    counts : int64 array of shape (n_rows,)
        How many objects of the block share the row.
    categories : tuple of arrays
        For each member, the value that each code stands for; a member may have none.
    inverse : array of shape (n_objects,)
        The row of each object of the block.
    """

    labels: Array
    counts: NDArray[np.int64]
    categories: tuple[Array, ...]
    inverse: NDArray[Any]


def code_block(columns: list[Any], names: tuple[str, ...]) -> CodedBlock:
    """Code the columns of a block, NumPy arrays or Arrow columns, and compress it to its distinct rows."""
    arrays = [_plain(column) for column in columns]
    whole = [array for array in arrays if isinstance(array, np.ndarray) and array.dtype.kind in "iu"]
    if len(whole) == len(arrays) and len(arrays[0]) and not any(array.dtype == np.uint64 for array in whole):
        labels, categories = code_integers(_stacked(whole), names, NOTHING_DECLARED)
    else:
        pairs = zip(arrays, names, strict=True)
        labels, categories = stack_columns([_coded(array, name) for array, name in pairs])
    return compressed_block(labels, categories)


def compressed_block(labels: Array, categories: tuple[Array, ...]) -> CodedBlock:
    """Compress coded labels to their distinct rows."""
    inverse = np.empty(len(labels), dtype=np.intp)
    if not len(labels):
        return CodedBlock(labels, np.empty(0, dtype=np.int64), categories, inverse)
    first = distinct_rows(read_only(labels), inverse)
    return CodedBlock(read_only(labels[first]), np.bincount(inverse), categories, inverse)


def _stacked(columns: list[Array]) -> Array:
    """Return integer columns as one table in C order."""
    table = np.empty((len(columns[0]), len(columns)), dtype=np.result_type(*columns))
    for place, column in enumerate(columns):
        table[:, place] = column
    return table


def _plain(column: Any) -> Any:
    """Return an Arrow column of plain numbers without nulls as an array; any other column as it is."""
    if isinstance(column, np.ndarray | CodedColumn):
        return column
    import pyarrow

    if column.null_count or not (pyarrow.types.is_integer(column.type) or pyarrow.types.is_floating(column.type)):
        return column
    return column.to_numpy()


def _coded(column: Any, name: str) -> tuple[Array, Array]:
    """Return the codes of a column and the value that each code stands for."""
    if isinstance(column, CodedColumn):
        return column.codes, column.values
    if isinstance(column, np.ndarray):
        if not len(column):
            return np.empty(0, dtype=np.int8), np.empty(0, dtype=_kind(column.dtype))
        if column.dtype.kind not in "biufmM":
            codes, values = number_objects(column.tolist(), name)
            return codes, as_array(values)
        return code_values(column, name, NOTHING_DECLARED)
    import pyarrow

    kinds = pyarrow.types
    if kinds.is_null(column.type):
        # no value, and so no kind of values: one is known only from other blocks, if at all
        return np.full(len(column), -1, dtype=np.int8), np.empty(0, dtype=np.int64)
    if kinds.is_nested(column.type):
        raise ValueError(f"{name} holds {column.type} where a single label was expected; leave it out.")
    if kinds.is_boolean(column.type):
        column = column.cast(pyarrow.int8())
    if kinds.is_floating(column.type):
        return _coded(column.to_numpy(), name)
    if kinds.is_temporal(column.type):
        return _coded(column.to_numpy(), name)
    encoded = column if kinds.is_dictionary(column.type) else column.dictionary_encode()
    return _from_dictionary(encoded, name, by_number=kinds.is_integer(column.type))


def _from_dictionary(column: Any, name: str, *, by_number: bool) -> tuple[Array, Array]:
    """Code an Arrow column by its dictionary, which may have any order and hold values that no object has."""
    if hasattr(column, "combine_chunks"):
        column = column.unify_dictionaries().combine_chunks()
    if hasattr(column, "chunks"):
        column = column.chunk(0)
    if not len(column):
        return np.empty(0, dtype=np.int8), np.empty(0, dtype=np.int64 if by_number else object)
    places = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    codes, (order,) = code_integers(places[:, None], (name,), MissingRule((-1,)))
    values = [value.as_py() for value in column.dictionary.take(_indices(order))]
    if by_number:
        kind = np.uint64 if _is_uint64(column.dictionary) else np.int64
        return codes[:, 0], signed(np.array(values, dtype=kind), name)
    return codes[:, 0], _objects(values)


def _is_uint64(column: Any) -> bool:
    import pyarrow

    return bool(pyarrow.types.is_uint64(column.type))


def _indices(order: Array) -> Any:
    import pyarrow

    return pyarrow.array(order)


def _objects(values: list[Any]) -> Array:
    array = as_array(values)
    return array.astype(object) if array.dtype.kind == "U" else array


def _kind(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.int64) if dtype.kind in "biu" else dtype


FIRST_ROWS = 1024
MOST_ROWS = 2**32 - 1
"""The number of distinct rows whose numbers fit into the lower half of a slot."""


class Values:
    """The different values of one member, numbered by first appearance in any block."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._parts: list[Array] = []
        self.text_bytes = 0

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
            if values.dtype.kind in "OU":
                # four bytes for each character, as NumPy stores them
                texts = (value for value in self._parts[-1].tolist() if isinstance(value, str))
                self.text_bytes += 4 * sum(map(len, texts))
        return np.array([*numbers, -1], dtype=np.int64)

    def array(self) -> Array:
        """Return the values in the order of their numbers, in one type; as objects if types of blocks do not agree."""
        if not self._parts:
            return np.empty(0, dtype=np.int64)
        return in_one_type(self._parts)


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

    @property
    def text_bytes(self) -> int:
        """The memory that the texts of the different labels take."""
        return sum(values.text_bytes for values in self.values)

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
        return read_only(np.ascontiguousarray(labels, dtype=dtype))
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


Kind = str
"""Where values come from: "values" (arrays and data frames), "cells" (Parquet and Excel), "text", which has no type."""


class MergedRows(NamedTuple):
    """The distinct rows of all blocks: their labels, their counts, and the value that each code stands for."""

    labels: Array
    counts: NDArray[np.int64]
    categories: tuple[Array, ...]


class Settled(NamedTuple):
    """The distinct rows of all blocks as an ensemble, and the row of it that each row of the table became.

    A row of the table without any label becomes -1; `n_skipped` is the number of its objects.
    """

    ensemble: Ensemble
    row_of: NDArray[np.int64]
    n_skipped: int


def merged_rows(table: RowTable) -> MergedRows:
    """Return the distinct rows of a table that all blocks were added to."""
    return MergedRows(table.labels, table.counts, tuple(values.array() for values in table.values))


def join_blocks(blocks: Sequence[CodedBlock | Ensemble]) -> tuple[MergedRows, list[NDArray[np.intp]]]:
    """Return the distinct rows of blocks that are all in memory, and for each block the number of each of its rows.

    The rows are those of a `RowTable` that the blocks are added to; they are searched once, on all threads.
    """
    known = [Values() for _ in blocks[0].categories]
    renumber = [[seen.add(own) for seen, own in zip(known, block.categories, strict=True)] for block in blocks]
    dtype = narrowest(max(map(len, known), default=1))
    edges = np.cumsum([0, *(len(block.labels) for block in blocks)])
    labels = np.empty((edges[-1], len(known)), dtype=dtype)
    for block, new, start, stop in zip(blocks, renumber, edges, edges[1:], strict=False):
        labels[start:stop] = recoded(block.labels, new, dtype)
    inverse, counts = np.empty(len(labels), dtype=np.intp), np.concatenate([block.counts for block in blocks])
    first = distinct_rows(labels, inverse) if len(labels) else inverse
    if len(first) < len(labels):
        labels, counts = labels[first], added_counts(inverse, counts, len(first))
    categories = tuple(seen.array() for seen in known)
    return MergedRows(read_only(labels), counts, categories), np.split(inverse, edges[1:-1])


def with_all_members(part: Ensemble, names: Sequence[str]) -> CodedBlock:
    """Return rows with members that they do not have any more; these label none of them."""
    place = {name: member for member, name in enumerate(names)}
    labels = np.full((part.n_rows, len(names)), -1, dtype=part.labels.dtype)
    categories: list[Array] = [np.empty(0, dtype=np.int64)] * len(names)
    for member, name in enumerate(part.member_names):
        labels[:, place[name]] = part.labels[:, member]
        categories[place[name]] = part.categories[member]
    return CodedBlock(labels, part.counts, tuple(categories), np.empty(0, dtype=np.uint32))


def settle(rows: MergedRows, names: tuple[str, ...], kinds: Sequence[Kind], how: Reading, source: str) -> Settled:
    """Give the values of a table their meaning, and return its distinct rows as an ensemble.

    `kinds` has one kind for each member, and `source` is what error messages call the data.
    """
    if not len(rows.labels):
        raise ValueError(f"{source} holds no rows; at least one object is needed.")
    rule, mask = rule_beside(how.missing, how.noise), None
    coded = meanings(rows.categories, names, kinds, rule)
    # codes that stay as they are cannot make two rows one
    unchanged = all(np.array_equal(codes, np.arange(len(codes))) for codes, _ in coded)
    categories = tuple(labels for _, labels in coded)
    dtype = narrowest(max(map(len, categories)))
    labels = recoded(rows.labels, [np.append(codes, -1) for codes, _ in coded], dtype)
    if how.takes_all and not all(map(len, categories)):
        known = [place for place, values in enumerate(categories) if len(values)]
        labels, names = labels[:, known], tuple(names[place] for place in known)
        categories = tuple(categories[place] for place in known)
        if not known:
            raise ValueError(f"{source}: no member labels any object.")
    if noise_values(how.noise):
        labels, categories, mask = noise_taken_out(labels, categories, names, how.missing, how.noise)
    empty = _unknown(labels, mask, how)
    n_skipped = int(rows.counts[empty].sum())
    if n_skipped and not how.skip_empty:
        refuse_unlabelled_objects(n_skipped, int(rows.counts.sum()), source)
    if how.check:
        counts = rows.counts
        refuse_suspects(labels, names, categories, source=source, declared=how.declared, counts=counts)
    stacked = build_ensemble(labels, names, categories, weights=how.weights, counts=rows.counts, keep_unlabelled=True)
    # rows may be equal in the members that are left where weights were learnt
    unchanged &= stacked.n_members == len(names)
    if mask is not None:
        return _with_noise(stacked, noise_of(stacked, mask, names), ~empty)
    return _without_empty(stacked, empty, n_skipped, unchanged=unchanged)


def _unknown(labels: Array, mask: NDArray[np.bool_] | None, how: Reading) -> NDArray[np.bool_]:
    """Return which rows are to be left out, or refused, because no member says anything about them."""
    empty = np.zeros(len(labels), dtype=np.bool_)
    if not how.takes_all and how.skip_empty != "keep":
        empty[unlabelled_rows(labels)] = True
    if how.skip_empty == "keep" and labels.max() < 0:
        raise ValueError("no member labels any object; at least one label was expected.")
    return empty if mask is None else empty & ~mask.any(axis=1)


def _with_noise(ensemble: Ensemble, mask: NDArray[np.bool_], kept: NDArray[np.bool_]) -> Settled:
    """Merge rows that became equal, in labels and noise, and drop the others than `kept`, in order of appearance."""
    marked = np.where(mask, ensemble.labels.dtype.type(-2), ensemble.labels)[kept]
    inverse = np.empty(len(marked), dtype=np.intp)
    first = np.flatnonzero(kept)[distinct_rows(read_only(marked), inverse)]
    counts = np.bincount(inverse, weights=ensemble.counts[kept]).astype(np.int64)
    row_of = np.full(ensemble.n_rows, -1, dtype=np.int64)
    row_of[kept] = inverse
    # the labels alone may be equal in several of these rows
    rows = with_noise(label_rows.take(ensemble, first, counts), read_only(mask[first]))
    return Settled(rows, row_of, int(ensemble.counts[~kept].sum()))


def meanings(
    categories: Sequence[Array], names: Sequence[str], kinds: Sequence[Kind], rule: MissingRule
) -> list[tuple[Array, Array]]:
    """Return for each member the code that each of its values becomes, -1 for a missing one, and the labels."""
    members = zip(categories, names, kinds, strict=True)
    return [_meaning(values, name, kind, rule) for values, name, kind in members]


def _meaning(values: Array, name: str, kind: Kind, rule: MissingRule) -> tuple[Array, Array]:
    """Return the code that each value becomes, -1 for a missing one, and the labels of the codes."""
    if not len(values):
        return np.empty(0, dtype=np.int64), values
    codes = np.arange(len(values))
    if kind == "text":
        return label_column(codes, values.tolist(), name, rule)
    if kind == "cells" and values.dtype.kind not in "biufmM":
        # an empty text is a missing label in every file format
        known = values.tolist()
        rule = MissingRule((*rule.values, "")) if "" in known else rule
        warn_of_nulls(known, [rule.covers(value) for value in known], name)
        return code_distinct(codes, known, name, rule)
    return code_values(values, name, rule)


def code_column(column: Any, name: str, kind: Kind, rule: MissingRule) -> tuple[Array, Array]:
    """Return the codes and categories of a column of a table in memory, which is the only block of its table."""
    plain = _plain(column)
    if isinstance(plain, np.ndarray) and plain.dtype.kind in "biufmM":
        return code_values(plain, name, rule)
    codes, values = _coded(plain, name)
    meaning, labels = _meaning(values, name, kind, rule)
    # code -1, a null, reads the last place
    return np.append(meaning, -1).astype(narrowest(len(labels)))[codes], labels


def _without_empty(ensemble: Ensemble, empty: NDArray[np.bool_], n_skipped: int, *, unchanged: bool) -> Settled:
    """Merge rows that became equal, and drop rows without labels, in order of first appearance."""
    if unchanged and not n_skipped:
        ensemble.remember(is_distinct=True, is_proven=True)
        return Settled(ensemble, np.arange(ensemble.n_rows), 0)
    kept = np.flatnonzero(~empty)
    part = label_rows.take(ensemble, kept, ensemble.counts[kept]) if n_skipped else ensemble
    first, inverse = label_rows.distinct(part)
    counts = np.bincount(inverse, weights=part.counts).astype(np.int64)
    rows = label_rows.take(part, first, counts) if len(first) < part.n_rows else part
    rows.remember(is_distinct=True, is_proven=True)
    row_of = np.full(ensemble.n_rows, -1, dtype=np.int64)
    row_of[kept] = inverse
    return Settled(rows, row_of, n_skipped)


def refuse_unlabelled_objects(n_empty: int, n_objects: int, source: str) -> None:
    """Raise because some objects have no label in any member."""
    raise ValueError(
        f"{source}: {n_empty:,} of {n_objects:,} objects {_check.has(n_empty)} no label in any member; nothing is "
        f"known about them. Leave them out, or keep them without a cluster (skip_empty=True or 'keep'; shell: "
        f"--skip-empty or --keep-empty)."
    )

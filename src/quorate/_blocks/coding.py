"""Coding one block of a table: columns of any type become codes of their own, and equal rows become one.

A block does not decide what its values mean. A null has the code -1; every other value has a code, also one that the
user calls missing and a number in a text file. What they mean is settled once, at the end, from the distinct values of
all blocks (`settling.py`), because only then is it known, for example, whether all labels of a text column are numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._data.building import as_weights
from quorate._data.coding import as_array, code_integers, code_values, signed, stack_columns
from quorate._data.missing import MissingRule
from quorate._types import Ensemble, read_only
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
    n_objects, n_members = labels.shape
    names = tuple(map(str, range(n_members)))
    ensemble = Ensemble(
        labels=labels,
        counts=np.ones(n_objects, dtype=np.int64),
        n_clusters=np.array([len(values) for values in categories], dtype=np.int64),
        weights=as_weights(None, names),
        member_names=names,
        categories=categories,
    )
    if not n_objects:
        return CodedBlock(ensemble.labels, ensemble.counts, categories, np.empty(0, dtype=np.intp))
    first, inverse = label_rows.distinct(ensemble)
    return CodedBlock(read_only(ensemble.labels[first]), np.bincount(inverse), categories, inverse)


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

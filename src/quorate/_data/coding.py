"""Turning columns of any type into codes in order of first appearance, and the categories that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._data.missing import MissingRule, is_null
from quorate._types import read_only
from quorate.ops.coding import BLOCK, MISSING, UNSEEN, code_columns, is_coded
from quorate.ops.threads import map_fixed_blocks

Array = NDArray[Any]
Coded = tuple[Array, tuple[Array, ...]]
_ROWS_AS_ONE = 64


def narrowest(n_codes: int) -> np.dtype[Any]:
    """Return the narrowest signed integer type that holds the codes 0..n_codes-1."""
    return np.min_scalar_type(-max(n_codes, 1))


def by_columns(values: Array, extreme: Callable[..., Any]) -> Array:
    """Return np.min or np.max of each column, in blocks of rows on all threads."""
    if not values.flags.c_contiguous or not len(values):
        whole_columns: Array = extreme(values, axis=0)
        return whole_columns
    found: Array = extreme(
        map_fixed_blocks(lambda start, stop: _of_block(values[start:stop], extreme), len(values), BLOCK), axis=0
    )
    return found


def _of_block(values: Array, extreme: Callable[..., Any]) -> Array:
    """Do what `by_columns` does; many rows are taken as one, because NumPy is slow along short rows."""
    n_rows, n_columns = values.shape
    whole = n_rows - n_rows % _ROWS_AS_ONE
    parts = [values[whole:]]
    if whole:
        wide = extreme(values[:whole].reshape(-1, _ROWS_AS_ONE * n_columns), axis=0)
        parts.append(wide.reshape(_ROWS_AS_ONE, n_columns))
    found: Array = extreme(np.concatenate(parts), axis=0)
    return found


def code_table(columns: list[Array], names: tuple[str, ...], rule: MissingRule) -> Coded:
    """Code each column, and return the label matrix and the categories of each column."""
    return stack_columns([code_values(column, name, rule) for column, name in zip(columns, names, strict=True)])


def stack_columns(columns: list[tuple[Array, Array]]) -> tuple[Array, tuple[Array, ...]]:
    """Put coded columns into one label matrix of the narrowest type; return it and the categories of each column."""
    categories = tuple(values for _, values in columns)
    labels = np.empty((len(columns[0][0]), len(columns)), dtype=narrowest(max(map(len, categories))))
    for place, (codes, _) in enumerate(columns):
        labels[:, place] = codes
    return labels, categories


def code_values(values: Array, name: str, rule: MissingRule) -> tuple[Array, Array]:
    """Return the codes, an array of length n, and the categories of one column of any type."""
    values = _native(values)
    kind = values.dtype.kind
    if kind == "b":
        values, kind = values.astype(np.int8), "i"
    if kind == "f":
        return _code_floats(values, name, rule)
    if kind in "iu":
        codes, categories = code_integers(signed(values, name)[:, None], (name,), rule)
        return codes[:, 0], categories[0]
    if kind in "mM":
        units = values.view(np.int64)
        codes, (stamps,) = _code_masked(units, np.isnat(values), name)
        return codes[:, 0], stamps.view(values.dtype)
    return code_objects(values.tolist(), name, rule)


def code_integers(values: Array, names: tuple[str, ...], rule: MissingRule) -> Coded:
    """Code all columns of an integer table (n, H) at once; nothing is copied if it is coded and narrow already."""
    values = read_only(_native(values))
    low, high = (by_columns(values, extreme).astype(np.int64) for extreme in (np.min, np.max))
    if rule.values == (-1,) and low.min() >= -1:
        seen = is_coded(values, np.zeros(values.shape[1], dtype=np.int64))
        if seen.min() >= 0:
            return values.astype(narrowest(int(seen.max())), copy=False), tuple(np.arange(k) for k in seen)
    # computed with Python integers, because the span of int64 labels may not fit into int64
    spans = [int(top) - int(bottom) + 1 for top, bottom in zip(high, low, strict=True)]
    if max(spans) > 8 * len(values) + 65_536:
        return _code_sparse(values, names, rule)
    starts = np.concatenate([[0], np.cumsum(spans)]).astype(np.int64)
    lookup = np.full(starts[-1], UNSEEN, dtype=np.int32)
    for column, span in enumerate(spans):
        for value in rule.integers:
            if 0 <= value - int(low[column]) < span:
                lookup[starts[column] + value - low[column]] = MISSING
    codes = np.empty(values.shape, dtype=narrowest(max(spans)))
    seen = np.zeros(values.shape[1], dtype=np.int64)
    code_columns(values, low, starts, lookup, seen, codes)
    categories = tuple(
        _categories(lookup[starts[column] : starts[column + 1]], low[column], seen[column])
        for column in range(values.shape[1])
    )
    for name, labels in zip(names, categories, strict=True):
        rule.refuse_negative(labels[labels < 0].tolist(), name)
    return codes.astype(narrowest(int(seen.max())), copy=False), categories


def _categories(lookup: Array, low: np.int64, n_seen: np.int64) -> Array:
    """Return the values that the codes 0..n_seen-1 stand for."""
    categories = np.empty(n_seen, dtype=np.int64)
    places = np.flatnonzero(lookup >= 0)
    categories[lookup[places]] = places + low
    return categories


def _code_sparse(values: Array, names: tuple[str, ...], rule: MissingRule) -> Coded:
    """Code labels that span too wide a range for a lookup table, like 10**12: rank them first, then code the ranks."""
    columns, all_categories = [], []
    for column, name in enumerate(names):
        distinct, ranks = np.unique(values[:, column], return_inverse=True)
        is_missing = np.isin(distinct, rule.integers)
        rule.refuse_negative(distinct[~is_missing & (distinct < 0)].tolist(), name)
        codes, (categories,) = _code_masked(ranks, is_missing[ranks], name)
        columns.append(codes[:, 0])
        all_categories.append(distinct[categories])
    labels = np.stack(columns, axis=1).astype(narrowest(max(map(len, all_categories))), copy=False)
    return labels, tuple(all_categories)


def _code_masked(values: Array, missing: Array, name: str) -> Coded:
    """Code integers of any sign, some of which are missing."""
    if not missing.any():
        return code_integers(values[:, None], (name,), MissingRule(()))
    if values.min(where=~missing, initial=0) < 0:
        # ranks are never negative, so that -1 can stand for the missing values
        distinct, ranks = np.unique(values, return_inverse=True)
        codes, (order,) = _code_masked(ranks, missing, name)
        return codes, (distinct[order],)
    return code_integers(np.where(missing, -1, values)[:, None], (name,), MissingRule((-1,)))


def _code_floats(values: Array, name: str, rule: MissingRule) -> tuple[Array, Array]:
    if np.isinf(values).any():
        raise ValueError(f"{name} holds an infinite label; declare missing labels with missing=, or clean the table.")
    missing = np.isnan(values)
    declared = [v for v in rule.values if not isinstance(v, str)]
    missing |= np.isin(values, np.asarray(declared, dtype=values.dtype)) if declared else False
    known = values[~missing]
    rule.refuse_negative(np.unique(known[known < 0]).tolist(), name)
    whole = np.where(missing, 0, values)
    if np.array_equal(whole, np.floor(whole)) and float(np.abs(whole).max(initial=0)) < 2**53:
        codes, (categories,) = _code_masked(whole.astype(np.int64), missing, name)
        return codes[:, 0], categories
    distinct, ranks = np.unique(whole, return_inverse=True)
    codes, (order,) = _code_masked(ranks, missing, name)
    return codes[:, 0], distinct[order]


def code_objects(values: list[Any], name: str, rule: MissingRule) -> tuple[Array, Array]:
    """Code texts and Python objects by a dictionary, which is faster than sorting them."""
    numbers: dict[Any, int] = {}
    try:
        codes = np.fromiter((numbers.setdefault(v, len(numbers)) for v in values), np.int64, len(values))
    except TypeError:
        unhashable = next(v for v in values if not _hashable(v))
        raise ValueError(
            f"{name} holds a {type(unhashable).__name__} where a single label was expected; pass one label per object "
            f"and one column per member, an (n_objects, n_members) table."
        ) from None
    return drop_missing(codes, list(numbers), [rule.covers(value) for value in numbers], name, rule)


def drop_missing(
    codes: Array, categories: list[Any], missing: list[bool], name: str, rule: MissingRule
) -> tuple[Array, Array]:
    """Remove the categories that stand for missing labels, and renumber the codes of the others without gaps."""
    kept = [value for value, gone in zip(categories, missing, strict=True) if not gone]
    rule.refuse_negative(kept, name)
    gone = np.asarray(missing, dtype=bool)
    renumber = np.where(gone, MISSING, np.cumsum(~gone) - 1)
    return renumber[codes], as_array(kept)


def as_array(values: list[Any]) -> Array:
    """Return the values as a 1-D array of their common type, or of objects if they have none."""
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and not is_null(values[0]):
        array = np.asarray(values)
        # NumPy rounds integers beyond 64 bits and strips trailing NULs, which may make two labels one
        if array.ndim == 1 and array.tolist() == values:
            return array
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def signed(values: Array, name: str) -> Array:
    """Return integers as signed ones; raise if one of them is too large for that."""
    if values.dtype == np.uint64:
        if len(values) and values.max() > np.iinfo(np.int64).max:
            raise ValueError(f"{name} holds a label beyond 2**63 - 1; pass such labels as text.")
        return values.astype(np.int64)
    return values


def _native(values: Array) -> Array:
    """Return the values in the byte order of this machine, the only one that kernels can read."""
    return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True

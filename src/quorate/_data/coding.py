"""Turning columns of any type into codes in order of first appearance; which values stand for a missing label."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._types import read_only
from quorate.ops.coding import BLOCK, MISSING, UNSEEN, code_columns, is_coded
from quorate.ops.threads import map_fixed_blocks

DEFAULT: Any = -1
"""The value that stands for a missing label, beside nulls, unless the user passes others."""


@dataclass(frozen=True)
class MissingRule:
    """Which values are missing labels: nulls and `values`. Other negative integers are refused.

    If `values` is empty, every value that is not null is a label, also if it is negative.
    """

    values: tuple[Any, ...]
    noise: tuple[Any, ...] = ()
    """Labels that may be negative: they mean that an object belongs to no cluster; see outside.py."""

    @property
    def integers(self) -> tuple[int, ...]:
        """The values that an int64 table can hold."""
        whole = [int(v) for v in self.values if isinstance(v, int) or (_is_number(v) and float(v).is_integer())]
        return tuple(v for v in whole if -(2**63) <= v < 2**63)

    def covers(self, value: Any) -> bool:
        if is_null(value):
            return True
        if _is_number(value):
            return any(_is_number(v) and v == value for v in self.values)
        return any(isinstance(v, str) and v == value for v in self.values)

    def covers_text(self, text: str) -> bool:
        """Whether a cell of a text file is missing; cells have no type, so that '0' matches a text and a number."""
        if text == "" or text in self.values:
            return True
        number = as_number(text)
        return number is not None and self.covers(number)

    def refuse_negative(self, categories: Iterable[Any], member: str) -> None:
        """Raise if a label is a negative number, unless `values` is empty, which allows such labels."""
        if not self.values:
            return
        negative = [value for value in categories if _is_number(value) and value < 0 and value not in self.noise]
        column = f"Negative values in data: column {_check.brief(member)} holds"
        measured = next((value for value in negative if not float(value).is_integer()), None)
        if measured is not None:
            raise ValueError(
                f"{column} {measured}, a measurement and not a label; leave it out ({_check.option('--drop', member)}) "
                f"or cluster measurements with quorate.generate (quorate cluster FILE)."
            )
        for value in negative[:1]:
            raise ValueError(
                f"{column} the label {value}, and {self._wording()}; pass "
                f"missing=[{value}] (--missing={value}) if it means 'no label', missing=[] if negative numbers are "
                f"ordinary labels."
            )

    def _wording(self) -> str:
        if self.values == (-1,):
            return "of the negative numbers only -1 (missing) is expected"
        return f"only {list(self.values)} and nulls were declared missing"


def missing_rule(missing: Any) -> MissingRule:
    """Return the rule for the user's option `missing`, which is one value or several."""
    if isinstance(missing, MissingRule):
        return missing
    if missing is None or isinstance(missing, str | bytes) or not isinstance(missing, Iterable):
        missing = [missing]
    values = tuple(v.item() if isinstance(v, np.generic) else v for v in missing)
    for value in values:
        if not (is_null(value) or isinstance(value, str) or _is_number(value)):
            raise TypeError(f"missing must be a number, a text or a list of them, got {value!r}.")
    if values and all(is_null(value) for value in values):
        return MissingRule((-1,))
    return MissingRule(tuple(value for value in values if not is_null(value)))


def is_null(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas.NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def as_number(text: str) -> int | float | None:
    """Return the number that a text stands for, as an integer if possible; None if the text is not a number."""
    if "_" in text:  # Python reads 1_2 as 12, but in a table 1_2 and 12 are two labels
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return None
    if 2**53 <= abs(number) < 2**63:
        # float64 has rounded it already, perhaps to another label
        exact = Fraction(text.strip())
        return int(exact) if exact.denominator == 1 else number
    return int(number) if number.is_integer() else number


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


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


def code_again(codes: Array, n_codes: Array, *, block: int = 65_536) -> Coded:
    """Number the codes (n, H) of each column, -1 for missing, by first appearance again, and name what they were.

    Blocks of rows are coded one after the other, because the kernel takes int64, eight times what codes mostly take.
    """
    starts = np.concatenate([[0], np.cumsum(n_codes + 1)]).astype(np.int64)
    lookup = np.full(starts[-1], UNSEEN, dtype=np.int32)
    lookup[starts[:-1]] = MISSING
    low, seen, again = np.full(len(n_codes), -1), np.zeros(len(n_codes), dtype=np.int64), np.empty_like(codes)
    for start in range(0, len(codes), block):
        part = slice(start, start + block)
        code_columns(read_only(codes[part].astype(np.int64)), low, starts, lookup, seen, again[part])
    categories = (
        _categories(lookup[first:last], np.int64(-1), n)
        for (first, last), n in zip(pairwise(starts), seen, strict=True)
    )
    return again.astype(narrowest(int(seen.max())), copy=False), tuple(categories)


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
    """Code texts and Python objects."""
    codes, distinct = number_objects(values, name)
    return code_distinct(codes, distinct, name, rule)


def number_objects(values: list[Any], name: str) -> tuple[Array, list[Any]]:
    """Number texts and Python objects by a dictionary, which is faster than sorting them; a null has the number -1."""
    seen: dict[Any, int] = {}
    try:
        codes = np.fromiter((seen.setdefault(v, len(seen)) for v in values), np.int64, len(values))
    except TypeError:
        unhashable = next(v for v in values if not _hashable(v))
        raise ValueError(
            f"{name} holds a {type(unhashable).__name__} where a single label was expected; pass one label per object "
            f"and one column per member, an (n_objects, n_members) table."
        ) from None
    null = np.fromiter(map(is_null, seen), np.bool_, len(seen))
    if not null.any():
        return codes, list(seen)
    return np.where(null, MISSING, np.cumsum(~null) - 1)[codes], [value for value in seen if not is_null(value)]


def code_distinct(codes: Array, values: list[Any], name: str, rule: MissingRule) -> tuple[Array, Array]:
    """Return the codes and categories of a column whose codes stand for these values; -1 is a null."""
    values = _without_mixture(values, rule)
    return drop_missing(codes, values, [rule.covers(value) for value in values], name, rule)


def drop_missing(
    codes: Array, values: list[Any], missing: list[bool], name: str, rule: MissingRule
) -> tuple[Array, Array]:
    """Remove the values that stand for missing labels, make equal labels one, and renumber the codes without gaps."""
    place: dict[Any, int] = {}
    kept: list[Any] = []
    # code -1, a null, reads the last place
    renumber = np.full(len(values) + 1, MISSING, dtype=np.int64)
    for code, (value, key, gone) in enumerate(zip(values, _keys(values, missing), missing, strict=True)):
        if not gone:
            renumber[code] = place.setdefault(key, len(place))
            if len(place) > len(kept):
                kept.append(value)
    rule.refuse_negative(kept, name)
    return renumber[codes], as_array(kept)


def _without_mixture(values: list[Any], rule: MissingRule) -> list[Any]:
    """Return the labels of a column that holds numbers and texts as numbers if all of its texts are numbers."""
    if set(map(type, values)) == {str}:
        return values
    texts = {value for value in values if isinstance(value, str) and not rule.covers(value)}
    if not texts or not any(_is_number(value) and not rule.covers(value) for value in values):
        return values
    numbers = {text: as_number(text) for text in texts}
    if any(number is None or not math.isfinite(number) for number in numbers.values()):
        return values
    return [numbers.get(value, value) if isinstance(value, str) else value for value in values]


def _keys(values: list[Any], missing: list[bool]) -> list[Any]:
    """Return for each label what it shares with labels of the same meaning, and with no others.

    Labels are the same if Python calls them equal: the integer 1 and the float 1.0 are, 2^53 and 2^53 + 1 are not. In a
    column that holds texts as well, a number is what it would be in a text file, so that 1 and "1" are the same.
    """
    kinds = {type(value) for value, gone in zip(values, missing, strict=True) if not gone}
    if len(kinds) < 2 or str not in kinds:
        return values
    return [_as_text(value) if _is_number(value) else value for value in values]


def _as_text(number: Any) -> str:
    return str(int(number)) if isinstance(number, float | np.floating) and number.is_integer() else str(number)


def in_one_type(parts: list[Array]) -> Array:
    """Join arrays of labels to one in which labels that differ stay different; of objects if no other type does that.

    NumPy would turn numbers into texts, and round integers beyond 2^53 that are joined to floats.
    """
    kinds = {part.dtype.kind for part in parts}
    whole = [part for part in parts if part.dtype.kind == "i" and len(part)]
    exact = "f" not in kinds or all(part.min() >= -(2**53) and part.max() <= 2**53 for part in whole)
    if (len(kinds) == 1 and "u" not in kinds) or (kinds <= set("if") and exact):
        return np.concatenate(parts)
    return np.concatenate([part.astype(object) for part in parts])


WASTED = 1 << 24
"""Characters, of four bytes each, from which an array of texts of one width is worth a second look."""


def as_array(values: list[Any]) -> Array:
    """Return the values as a 1-D array of their common type, or of objects if they have none."""
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and not is_null(values[0]) and not (kinds == {str} and wastes(values)):
        array = np.asarray(values)
        # NumPy rounds integers beyond 64 bits and strips trailing NULs, which may make two labels one
        if array.ndim == 1 and array.tolist() == values:
            return array
    return object_array(values)


def wastes(texts: Sequence[str]) -> bool:
    """Whether an array of these texts, all as wide as the longest, would waste more than 64 MB on short ones."""
    widest = len(texts) * max(map(len, texts), default=0)
    return widest > WASTED and widest > 16 * sum(map(len, texts))


def object_array(values: Sequence[Any]) -> Array:
    """Return the values as a 1-D array of Python objects, also if they are sequences themselves."""
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


_NULL_WORDS = frozenset(
    {"na", "n/a", "n.a.", "#n/a", "<na>", "nan", "null", "none", "?", "unknown"}
    | {"k.a.", "k. a.", "keine angabe", "unbekannt", "inconnu", "desconocido", "sconosciuto"}
)


def label_column(codes: Array, texts: list[str], name: str, rule: MissingRule) -> tuple[Array, Array]:
    """Return the codes and categories of a column of texts.

    Missing labels are taken out, and the labels become numbers if all of them are written as numbers.
    """
    missing = [rule.covers_text(text) or rule.covers_text(text.strip()) for text in texts]
    values = _as_numbers(texts, missing, name)
    if values is None:
        warn_of_nulls(texts, missing, name)
        values = list(texts)
    kept, categories = drop_missing(codes, values, missing, name, rule)
    return kept.astype(narrowest(len(categories)), copy=False), categories


def _as_numbers(texts: list[str], missing: list[bool], name: str) -> list[Any] | None:
    """Return the numbers that the texts stand for, None for a missing one; None instead if a text is not a number."""
    numbers: list[Any] = []
    for text, gone in zip(texts, missing, strict=True):
        # int('1_2') is 12 in Python, but in a table 1_2 is a name
        number = None if gone else as_number(text)
        if not gone and (number is None or (isinstance(number, int) and abs(number) >= 2**63)):
            return None
        if isinstance(number, float) and math.isinf(number):
            raise ValueError(
                f"column {name!r} holds the infinite label {text!r}; declare it with missing=, or clean the table."
            )
        numbers.append(number)
    # a float holds no integer beyond 2^53 exactly, and two labels must not become one: such numbers stay as they are
    exact = all(not isinstance(number, int) or float(number) == number for number in numbers)
    if exact and any(isinstance(number, float) for number in numbers):
        return [None if number is None else float(number) for number in numbers]
    return numbers


def warn_of_nulls(values: list[Any], missing: list[bool], name: str) -> None:
    """Warn if a label is a text, such as NA, that often means that there is no label."""
    for text, gone in zip(values, missing, strict=True):
        if not gone and isinstance(text, str) and text.strip().lower() in _NULL_WORDS:
            warnings.warn(
                f"column {name!r} holds the text {text!r} as a label; pass missing=[-1, {text!r}] "
                f"({_check.option('--missing', text)}) if it means no label.",
                UserWarning,
                stacklevel=2,
            )

"""A table of columns of any kind: numbers, dates, yes or no, categories; others are left out with a reason."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._check import brief, counted
from quorate._data.coding import as_number, is_null
from quorate._data.tables import as_table

Array = NDArray[Any]
Kind = Literal["number", "date", "yes/no", "category", "other"]
MOST_CATEGORIES = 100
"""A column of texts with more distinct values than this, most of them rare, is no category but a text."""
YES, NO = frozenset({"yes", "true", "ja", "oui", "si", "sí"}), frozenset({"no", "false", "nein", "non"})
Kinds = Mapping[str, tuple[Kind, tuple[str, ...]]]
"""Kinds of columns that are known already, with the values of categories: those that a model was made from."""
_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+),\d+")


class TypedColumn(NamedTuple):
    """One column: floats with NaN for missing values (dates are days since 1970, yes is 1), or codes with -1.

    ``categories[code]`` is the value that a code of a category stands for, or of a column of yes and no, if it holds
    texts. Of dates such as 19/11/2026 it says whether "day" or "month" comes first; of "other" columns, what they hold.
    """

    name: str
    kind: Kind
    values: Array
    categories: tuple[str, ...] = ()

    @property
    def missing(self) -> NDArray[np.bool_]:
        return self.values < 0 if self.kind == "category" else np.isnan(self.values)

    def at(self, places: NDArray[np.intp]) -> TypedColumn:
        """Return the values at these places, with a gap at a place of -1."""
        values = self.values[places]
        if values.dtype.kind in "if":
            values[places < 0] = -1 if values.dtype.kind == "i" else np.nan
        return self._replace(values=values)


def power_of_two(values: Array) -> Any:
    """Return for each column a power of two that brings it near 1: dividing by it rounds nothing, and squares fit."""
    largest = np.maximum(values.max(axis=0, initial=0.0), -values.min(axis=0, initial=0.0))
    return np.where(largest > 0, np.ldexp(1.0, np.frexp(largest)[1] - 1), 1.0)


class TypedTable(NamedTuple):
    """The columns of a table with their kinds; `left_out` has the reason for each column that is `useless` instead.

    `source` is what errors call the table.
    A matrix of numbers without gaps, sparse or dense, stays as it is in `matrix`, and `columns` is empty.
    """

    columns: tuple[TypedColumn, ...]
    left_out: Mapping[str, str]
    n_objects: int
    object_ids: Array | None = None
    id_name: str = "id"
    has_index: bool = False
    useless: tuple[TypedColumn, ...] = ()
    source: str = "X"
    matrix: Any = None
    matrix_names: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return self.matrix_names if self.matrix is not None else tuple(column.name for column in self.columns)

    def in_order(self, places: NDArray[np.intp]) -> TypedTable:
        """Return the objects at these places, in this order; at a place of -1 an object whose columns all have gaps."""
        columns, useless = (tuple(column.at(places) for column in part) for part in (self.columns, self.useless))
        return self._replace(
            columns=columns,
            useless=useless,
            n_objects=len(places),
            object_ids=None if self.object_ids is None else self.object_ids[places],
            matrix=None if self.matrix is None else self.matrix[places],
        )


def typed_table(
    table: Any, *, ids: str | None = None, names: Sequence[str] | None = None, kinds: Kinds | None = None
) -> TypedTable:
    """Return the columns of a data frame, a mapping, an array or a sparse matrix, each with its kind.

    `names` are those of the columns of an array or a matrix; columns without names are "column 0", "column 1", ...
    With `kinds`, columns of these names have these kinds, whatever a few objects look like.
    """
    if isinstance(table, TypedTable):
        return table
    if table is None or isinstance(table, str | bytes):
        raise TypeError(f"table must be a data frame, a mapping of columns, an array or a matrix, got {brief(table)}.")
    shape = getattr(table, "shape", (1,))
    if len(shape) > 2 or 0 in shape:
        raise ValueError(f"table must have at least one object (row) and one column, got shape {tuple(shape)}.")
    if hasattr(table, "tocsr"):
        return _from_sparse(table, names)
    if names is None and isinstance(table, np.ndarray):
        names = [f"column {place}" for place in range(table.shape[1] if table.ndim == 2 else 1)]
    read = as_table(table, "objects", ids)
    columns = read.columns if read.block is None else list(read.block.T)
    chosen = read.names if names is None else tuple(map(str, names))
    if len(chosen) != len(columns):
        raise ValueError(f"names must name {counted(len(columns), 'column')}, got {len(chosen)}.")
    known = {} if kinds is None else kinds
    typed = [typed_column(name, column, known.get(name)) for name, column in zip(chosen, columns, strict=True)]
    kept, left_out = useful(typed)
    return TypedTable(
        kept,
        left_out,
        read.shape[0],
        read.ids,
        read.id_name,
        read.has_index,
        tuple(column for column in typed if column.name in left_out),
    )


def _from_sparse(matrix: Any, names: Sequence[str] | None) -> TypedTable:
    n_objects, n_columns = matrix.shape
    chosen = tuple(f"column {place}" for place in range(n_columns)) if names is None else tuple(map(str, names))
    if len(chosen) != n_columns:
        raise ValueError(f"names must name {counted(n_columns, 'column')}, got {len(chosen)}.")
    return TypedTable((), {}, n_objects, matrix=matrix.tocsr(), matrix_names=chosen)


def useful(columns: Sequence[TypedColumn]) -> tuple[tuple[TypedColumn, ...], dict[str, str]]:
    """Return the columns that can tell objects apart, and the others with the reason why they cannot."""
    reasons = {column.name: _useless(column) for column in columns}
    kept = tuple(column for column in columns if reasons[column.name] is None)
    return kept, {name: reason for name, reason in reasons.items() if reason is not None}


def _useless(column: TypedColumn) -> str | None:
    """Return why a column is left out, or None."""
    known = column.values[~column.missing]
    if column.kind == "other":
        return f"holds {column.categories[0]}"
    if not len(known):
        return "has no values"
    if column.kind != "category":
        return f"has the one value {known[0]:g}" if known.min() == known.max() else None
    n_values = len(column.categories)
    if n_values == 1 and len(known) == len(column.values):
        return f"has the one value {column.categories[0][:40]!r}"
    if n_values > MOST_CATEGORIES or n_values > max(10, 0.5 * len(known)):
        return f"has {n_values:,} different texts in {len(known):,} objects"
    return None


def typed_column(name: str, values: Array, known: tuple[Kind, tuple[str, ...]] | None = None) -> TypedColumn:
    """Return the column with its kind, the `known` one if the values can be read so; "other" if it has none."""
    kind = values.dtype.kind
    if kind == "b":
        return TypedColumn(name, "yes/no", values.astype(np.float64))
    if kind in "iuf":
        return _number(name, values.astype(np.float64))
    if kind in "mM":
        return _dates(name, values)
    if kind in "OUST":
        return _of_distinct(name, *_numbered(values.tolist()), known)
    return _other(name, len(values), f"{values.dtype}, which is neither number, date nor category")


def _other(name: str, n_objects: int, what: str) -> TypedColumn:
    return TypedColumn(name, "other", np.full(n_objects, np.nan), (what,))


def _number(name: str, values: Array) -> TypedColumn:
    if np.isinf(values).any():
        values = np.where(np.isinf(values), np.nan, values)
    return TypedColumn(name, "number", values)


def _dates(name: str, values: Array) -> TypedColumn:
    days = np.where(np.isnat(values), np.nan, values.astype(f"{values.dtype.kind}8[us]").astype(np.int64) / 86_400e6)
    column = _number(name, days)
    return column._replace(kind="date") if values.dtype.kind == "M" else column


def coded_column(
    name: str, codes: Array, values: Sequence[Any], known: tuple[Kind, tuple[str, ...]] | None = None
) -> TypedColumn:
    """Return the column ``values[codes]``, of which only the distinct ones are looked at; see `typed_column`."""
    small, distinct = _numbered(values)
    return _of_distinct(name, small[codes], distinct, known)


def _of_distinct(
    name: str, codes: Array, distinct: list[Any], known: tuple[Kind, tuple[str, ...]] | None
) -> TypedColumn:
    if not distinct:
        return TypedColumn(name, "number", np.full(len(codes), np.nan))
    if known is not None and known[0] == "category":
        return _category(name, codes, [_one_of(known[1], value) for value in distinct])
    first = known[1][0] if known is not None and known[0] == "date" and known[1] else None
    readers = _READERS if known is None else {known[0]: _READERS[known[0]] if known[0] != "yes/no" else _yes_no_or_gap}
    for kind, read in readers.items():
        found = read(distinct) if first is None else _as_dates(distinct, first)
        if found is not None:
            values, words = found
            return _number(name, np.append(values, np.nan)[codes])._replace(kind=kind, categories=words)
    if known is not None:
        return _of_distinct(name, codes, distinct, None)
    doubtful = _doubtful_date(distinct)
    if doubtful is not None:
        return _other(name, len(codes), doubtful)
    return _category(name, codes, [str(value) for value in distinct])


def _one_of(categories: tuple[str, ...], value: Any) -> str:
    """Return the category that a value is, which may be the number 1 or 1.0 where it was the text "1"."""
    text = str(value)
    number = None if text in categories or isinstance(value, bool | np.bool_) else as_number(text)
    return text if number is None else f"{number:g}"


def _numbered(values: Sequence[Any]) -> tuple[Array, list[Any]]:
    """Number the values by first appearance; -1 is a missing one."""
    seen: dict[Any, int] = {}
    codes = np.empty(len(values), dtype=np.int64)
    for place, value in enumerate(values):
        text = value.strip() if isinstance(value, str) else value
        missing = (
            is_null(text) or text == "" or (isinstance(text, str) and text.lower() in ("nan", "na", "n/a", "null"))
        )
        codes[place] = -1 if missing else seen.setdefault(text if _is_plain(text) else str(text), len(seen))
    return codes, list(seen)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool | np.generic) or hasattr(value, "isoformat")


def _yes_no(values: list[Any]) -> tuple[Array, tuple[str, ...]] | None:
    words = [str(value).lower() for value in values]
    if len(words) > 4 or not all(word in YES | NO for word in words) or {w in YES for w in words} != {True, False}:
        return None
    return np.array([word in YES for word in words], dtype=np.float64), _own_words(values)


def _own_words(values: list[Any]) -> tuple[str, ...]:
    """Return the words for no and for yes that come first in a column; none if it does not hold texts."""
    first: dict[bool, str] = {}
    for value in values:
        if isinstance(value, str):
            first.setdefault(value.lower() in YES, value)
    return (first[False], first[True]) if len(first) == 2 else ()


def _yes_no_or_gap(values: list[Any]) -> tuple[Array, tuple[str, ...]]:
    """Return the values of a column that is known to hold yes and no; anything else is a gap."""

    def read(value: Any) -> float:
        word = str(value).lower()
        return 1.0 if word in YES | {"1", "1.0"} else 0.0 if word in NO | {"0", "0.0"} else np.nan

    return np.array([read(value) for value in values]), ()


def _as_numbers(values: list[Any]) -> tuple[Array, tuple[str, ...]] | None:
    """Return all values as numbers; texts may have decimal commas if none has a decimal point alone."""
    texts = [value for value in values if isinstance(value, str)]
    commas = bool(texts) and all(_COMMA.fullmatch(text) or as_number(text) is not None for text in texts)
    commas = commas and any("," in text for text in texts)
    numbers: list[float] = []
    for value in values:
        if isinstance(value, str):
            number: Any = as_number(value.replace(".", "").replace(",", ".") if commas and "," in value else value)
        else:
            number = value if isinstance(value, int | float | np.number) else _decimal(value)
        if number is None:
            return None
        numbers.append(float(number))
    return np.array(numbers), ()


def _decimal(value: Any) -> float | None:
    from decimal import Decimal
    from fractions import Fraction

    return float(value) if isinstance(value, Decimal | Fraction) else None


def _as_dates(values: list[Any], first: str | None = None) -> tuple[Array, tuple[str, ...]] | None:
    """Return all values as days since 1970: dates of Python, or texts such as 2026-11-19T12:30 and 19.11.2026.

    Texts such as 19/11/2026 are dates if one of them, or `first`, says which number is the day; see `_doubtful_date`.
    """
    first, days = first or _first_of_slashes(values), []
    for value in values:
        text = value.isoformat() if hasattr(value, "isoformat") else value
        written = isinstance(text, str) and _WRITTEN.fullmatch(text)
        if written:
            text = _iso(written, "day" if written["mark"] == "." else first)
        if not isinstance(text, str) or not re.match(r"\d{4}-\d\d(-\d\d|$)", text):
            return None
        try:
            days.append(np.datetime64(text[:26].rstrip("Z").split("+")[0], "us"))
        except ValueError:
            return None
    order = () if first is None else (first,)
    return np.array(days, dtype="M8[us]").astype(np.int64) / 86_400e6, order


_WRITTEN = re.compile(
    r"(?P<one>\d{1,2})(?P<mark>[./])(?P<two>\d{1,2})(?P=mark)(?P<year>\d{4})"
    r"(?:,?[ T](?P<hour>\d{1,2})(?P<rest>:\d\d(?::\d\d)?))?"
)
_READERS: Mapping[Kind, Any] = {"yes/no": _yes_no, "number": _as_numbers, "date": _as_dates}


def _iso(written: re.Match[str], first: str | None) -> str | None:
    """Return 2026-11-19 for 19.11.2026, of which the first number is the day or the month; None if that is open."""
    if first is None:
        return None
    day, month = (written["one"], written["two"]) if first == "day" else (written["two"], written["one"])
    time = "" if written["hour"] is None else f"T{written['hour']:>02}{written['rest']}"
    return f"{written['year']}-{month:>02}-{day:>02}{time}"


def _first_of_slashes(values: list[Any]) -> str | None:
    """Return whether the first number of texts such as 19/11/2026 is the day or the month; None if that is open."""
    found = [_WRITTEN.fullmatch(value) for value in values if isinstance(value, str)]
    pairs = [(int(match["one"]), int(match["two"])) for match in found if match and match["mark"] == "/"]
    first = {"day" if one > 12 else "month" for one, two in pairs if max(one, two) > 12}
    return first.pop() if len(first) == 1 else None


def _doubtful_date(values: list[Any]) -> str | None:
    """Return what a column holds whose texts are all dates with slashes of which day and month cannot be told apart."""
    found = [_WRITTEN.fullmatch(value) if isinstance(value, str) else None for value in values]
    if not all(match and match["mark"] == "/" and match["two"] != "0" for match in found):
        return None
    return (
        f"dates such as {values[0]}, of which nobody can say whether the day or the month comes first; write 2026-11-19"
    )


def _category(name: str, codes: Array, categories: list[str]) -> TypedColumn:
    names = sorted(set(categories))
    rank = np.array(
        [*map({text: place for place, text in enumerate(names)}.__getitem__, categories), -1], dtype=np.int32
    )
    return TypedColumn(name, "category", rank[codes], tuple(names))

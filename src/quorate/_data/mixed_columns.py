"""Columns of any kind as numbers among which distances make sense, learnt from one table and applied to others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from quorate._check import brief
from quorate._data.typed_columns import Kind, Kinds, TypedColumn, TypedTable, power_of_two
from quorate._types import FloatArray

LEAST_VARIANCE = 0.1
"""Of a column of yes and no: rarer answers would be further from all others than any number is."""
LEAST_MISMATCH = 0.2
"""Of a category: the probability that two objects differ, below which its weight grows no further."""


class ColumnCode(NamedTuple):
    """How one column becomes numbers: ``(value - centre) / unit``; a category has a column of 0 and 1 for each value.

    Of dates, `categories` says whether day or month comes first, if only other dates of the column showed that.
    Two objects drawn at random differ in each column by a squared distance of 2 on average, whatever its kind.
    """

    name: str
    kind: Kind
    centre: FloatArray
    unit: float
    categories: tuple[str, ...] = ()

    def encoded(self, column: TypedColumn) -> FloatArray:
        """Return the column as an array of shape (n_objects, 1) or (n_objects, categories); a gap is the mean."""
        if self.kind != "category":
            values = column.values[:, None]
            return np.nan_to_num((values - self.centre) / self.unit)
        place = {category: code for code, category in enumerate(self.categories)}
        lookup = np.array([*(place.get(category, -1) for category in column.categories), -1])
        codes = lookup[column.values]
        indicator: FloatArray = (codes[:, None] == np.arange(len(self.categories))) * 1.0
        indicator -= self.centre
        indicator[codes < 0] = 0
        return indicator / self.unit


class MixedColumns(NamedTuple):
    """How the columns of a table become numbers; `left_out` has the reason for each column that does not.

    `n_gaps` counts the missing values of the table that this was learnt from.
    """

    columns: tuple[ColumnCode, ...]
    left_out: Mapping[str, str]
    n_gaps: int

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of numbers, such as "income" and "town=Aix"."""
        return tuple(
            name
            for code in self.columns
            for name in ([f"{code.name}={c}" for c in code.categories] if code.kind == "category" else [code.name])
        )

    @property
    def kinds(self) -> Kinds:
        """The kind of each column, which those of new objects have, too, whatever they look like."""
        return {code.name: (code.kind, code.categories) for code in self.columns}

    def __repr__(self) -> str:
        kinds: Counter[str] = Counter(code.kind for code in self.columns)
        words = {"number": "number", "date": "date", "yes/no": "column of yes and no", "category": "category"}
        parts = [_counted(kinds[kind], word) for kind, word in words.items() if kinds[kind]]
        n_values = sum(len(code.categories) for code in self.columns if code.kind == "category")
        values = f" with {n_values:,} values" if n_values else ""
        gaps = f"; {_counted(self.n_gaps, 'gap')} filled with means" if self.n_gaps else ""
        out = "".join(f"; {name} left out, which {reason}" for name, reason in list(self.left_out.items())[:5])
        more = f" and {len(self.left_out) - 5:,} more columns" if len(self.left_out) > 5 else ""
        return f"{', '.join(parts)}{values}, each scaled to the same mean distance{gaps}{out}{more}"

    def members(self, base: Any, k: Any, n_clusters: int | None) -> tuple[Any, Any]:
        """Return the clusterer and the number of clusters of members; those that were named stay as they are.

        Objects that agree in all categories are as near to one another as those of a cluster, so that neighbours say
        little about clusters. Members of a table with categories are k-means runs with as many clusters as are wanted.
        """
        if base != "auto" or not any(code.kind in ("category", "yes/no") for code in self.columns):
            return base, k
        return "kmeans", n_clusters if k is None else k

    def encoded(self, table: TypedTable) -> FloatArray:
        """Return a table with these columns, in any order, as numbers; values that were not there before are gaps."""
        columns = {column.name: column for column in (*table.columns, *table.useless)}
        absent = [code.name for code in self.columns if code.name not in columns]
        if absent:
            raise ValueError(
                f"{table.source} has no column {brief(absent[0])}, which the clusters were made from; its columns are "
                f"{', '.join(map(brief, list(columns)[:10]))}."
            )
        parts = [code.encoded(_as_kind(columns[code.name], code, table.n_objects)) for code in self.columns]
        return np.ascontiguousarray(np.concatenate(parts, axis=1))


def _counted(number: int, noun: str) -> str:
    plural = {"category": "categories", "column of yes and no": "columns of yes and no"}
    return f"{number:,} {noun if number == 1 else plural.get(noun, noun + 's')}"


def _as_kind(column: TypedColumn, code: ColumnCode, n_objects: int) -> TypedColumn:
    """Return the column as the kind that it had; raise if it is another one."""
    gaps = np.full(n_objects, -1 if code.kind == "category" else np.nan)
    if column.missing.all() and column.kind != "other":
        return TypedColumn(code.name, code.kind, gaps.astype(np.int32) if code.kind == "category" else gaps)
    if code.kind == "category" and column.kind in ("number", "yes/no"):
        texts = [None if np.isnan(value) else f"{value:g}" for value in column.values.tolist()]
        if column.kind == "yes/no":
            texts = [None if text is None else ("True" if text == "1" else "False") for text in texts]
        known = sorted({text for text in texts if text is not None})
        codes = np.array([-1 if text is None else known.index(text) for text in texts])
        return TypedColumn(code.name, "category", codes, tuple(known))
    if code.kind == "yes/no" and column.kind == "number":
        return column._replace(values=np.where(np.isin(column.values, (0, 1)), column.values, np.nan))
    numeric = {"number", "yes/no"}
    if column.kind != code.kind and not {column.kind, code.kind} <= numeric:
        raise ValueError(
            f"column {brief(code.name)} held {_KINDS[code.kind]} when the clusters were made, and holds "
            f"{column.categories[0] if column.kind == 'other' else _KINDS[column.kind]} now."
        )
    return column


_KINDS = {"number": "numbers", "date": "dates", "yes/no": "yes and no", "category": "texts"}


def mixed_columns(table: TypedTable) -> MixedColumns:
    """Learn from a table how its columns become numbers."""
    if not table.columns:
        reasons = "; ".join(f"{name!r} {reason}" for name, reason in list(table.left_out.items())[:5])
        raise ValueError(f"X has no column that can be clustered: {reasons}.")
    codes = tuple(_code_of(column) for column in table.columns)
    n_gaps = sum(int(column.missing.sum()) for column in table.columns)
    return MixedColumns(codes, table.left_out, n_gaps)


def _code_of(column: TypedColumn) -> ColumnCode:
    known = column.values[~column.missing]
    if column.kind == "category":
        shares = np.bincount(known, minlength=len(column.categories)) / len(known)
        mismatch = max(1 - float((shares**2).sum()), LEAST_MISMATCH)
        return ColumnCode(column.name, column.kind, shares, float(np.sqrt(mismatch)), column.categories)
    scale = power_of_two(known)
    known = known / scale
    variance = float(known.var())
    if column.kind == "yes/no":
        variance = max(variance, LEAST_VARIANCE)
    order = column.categories if column.kind == "date" else ()
    unit = max(float(np.sqrt(variance)) * scale, np.finfo(float).smallest_subnormal)
    return ColumnCode(column.name, column.kind, np.array([known.mean() * scale]), unit, order)

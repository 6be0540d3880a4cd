"""Rows that are divided into parts, which may lie in other processes: what happens in a part, and what is added up.

A `PartedEnsemble` knows everything of an ensemble but its rows. These are cut into parts, in the order of the rows, and
each part is a plain `Ensemble` that a `Holder` holds. Arrays with one entry per row are cut at the same places
(`PartedArray`). A function that is `row_by_row` or `added_up` runs once for each part where an argument is in parts:
its results stay where the rows are, or are added up here. So a method has one code for rows that are whole and rows
that are not, and sums of whole numbers are the same in any number of parts.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from quorate._types import Ensemble, EnsembleFields, FieldsBesideRows, read_only

if TYPE_CHECKING:
    from typing_extensions import Unpack

F = TypeVar("F", bound=Callable[..., Any])


class Holder(Protocol):
    """Whoever holds parts and works on them.

    `call` calls a function once for each part. An argument that has `pieces` stands for one of them in each call, all
    others are the same in each. The function returns a tuple of `n_kept` results, which stay with the part, and one
    more, which comes back. The answer is the list of pieces of each result that is kept, and a list of what came back.
    """

    def call(
        self, function: Callable[..., Any], arguments: Sequence[Any], n_kept: int
    ) -> tuple[list[list[Any]], list[Any]]: ...


class Pieces:
    """One value for each part: something that a holder holds, or a plain value."""

    def __init__(self, holder: Holder, pieces: Sequence[Any]) -> None:
        self.holder, self.pieces = holder, list(pieces)


class PartedArray(Pieces):
    """An array with one entry per row, cut where the rows are cut; `starts` has the first row of each part and the end.

    It has the few operations that methods need between such arrays and numbers.
    """

    def __init__(self, holder: Holder, pieces: Sequence[Any], starts: NDArray[np.int64], dtype: Any) -> None:
        super().__init__(holder, pieces)
        self.starts, self.dtype = starts, np.dtype(dtype)

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def shape(self) -> tuple[int]:
        return (len(self),)

    def __add__(self, other: Any) -> PartedArray:
        return _rowwise(operator.add, self, other)

    def __mul__(self, other: Any) -> PartedArray:
        return _rowwise(operator.mul, self, other)

    def __truediv__(self, other: Any) -> PartedArray:
        return _rowwise(_quotient, self, other)

    def astype(self, dtype: Any) -> PartedArray:
        return _rowwise(np.ndarray.astype, self, dtype)

    def max(self) -> Any:
        return max(from_each(np.max, self))

    def sum(self) -> Any:
        return sum(from_each(np.sum, self))

    def whole(self) -> NDArray[Any]:
        """Return the whole array, in this process."""
        return np.concatenate(from_each(np.asarray, self))

    def at(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        """Return the entries of some rows, in this process."""
        found = np.empty(len(rows), dtype=self.dtype)
        local = by_part(self.starts, rows)
        for places, values in zip(
            local.places, from_each(operator.getitem, self, Pieces(self.holder, local.rows)), strict=True
        ):
            found[places] = values
        return found


class PartedEnsemble(Ensemble):
    """An `Ensemble` whose rows are divided into parts; made by `in_parts`.

    `counts` is a `PartedArray`. Reading `labels` is an error: a method that needs the rows in one place cannot work on
    this ensemble, but on that of `on_host`.
    """

    def __new__(cls, *values: Any, **named: Unpack[EnsembleFields]) -> Any:
        """Return a plain Ensemble: whoever gives arrays gives them in this process."""
        return Ensemble(*values, **cast(Any, named))

    holder: Holder
    starts: NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        return int(self.starts[-1])

    @cached_property
    def n_objects(self) -> int:
        return int(cast(Any, self.counts).sum())

    @cached_property
    def has_missing(self) -> bool:
        return any(from_each(_has_missing, self))

    def __getattr__(self, name: str) -> Any:
        # called only for what is not there
        if name == "labels":
            raise AttributeError(
                f"the {self.n_rows:,} distinct rows are divided into {len(self.starts) - 1:,} parts, and this needs "
                f"them in one place; use on_host(), or a method of quorate.METHODS whose `in_parts` is True."
            )
        raise AttributeError(f"a PartedEnsemble has no attribute {name!r}.")

    def on_host(self) -> Any:
        """Return the same ensemble with its rows in this process."""
        rows = from_each(_rows_of, self)
        named = {entry.name: getattr(self, entry.name) for entry in fields(Ensemble)[2:]}
        plain = Ensemble(np.concatenate([labels for labels, _ in rows]), np.concatenate([n for _, n in rows]), **named)
        plain.remember(is_proven=True, is_distinct=self.is_distinct)
        return plain

    def changed(
        self, function: Callable[..., Any], *arguments: Any, **others: Unpack[FieldsBesideRows]
    ) -> PartedEnsemble:
        """Return the ensemble with `function(part, *arguments)` as its parts, and with other fields beside the rows."""
        (pieces,), _ = self.holder.call(_kept_one, [function, self, *arguments], 1)
        like = {entry.name: getattr(self, entry.name) for entry in fields(Ensemble)[2:]}
        other = in_parts(self.holder, pieces, self.starts, cast(FieldsBesideRows, {**like, **others}))
        other.remember(is_distinct=self.is_distinct)
        return other


def in_parts(
    holder: Holder, pieces: Sequence[Any], starts: NDArray[np.int64], like: FieldsBesideRows
) -> PartedEnsemble:
    """Make an ensemble of plain ensembles that the holder holds; `like` are all fields but the rows."""
    ensemble: PartedEnsemble = object.__new__(PartedEnsemble)
    known = {"object_ids": None, "info": {}, "id_name": "id", **like}
    for name in ("n_clusters", "weights"):
        known[name] = read_only(np.asarray(known[name]))
    ensemble.__dict__.update(known, holder=holder, pieces=list(pieces), starts=np.asarray(starts, dtype=np.int64))
    ensemble.__dict__["counts"] = _rowwise(operator.attrgetter("counts"), ensemble)
    ensemble.remember(is_proven=True)
    return ensemble


class Local:
    """Rows by part: the numbers of the rows within each part, and their places among those that were asked for."""

    def __init__(self, rows: list[NDArray[np.intp]], places: list[NDArray[np.intp]]) -> None:
        self.rows, self.places = rows, places


def by_part(starts: NDArray[np.int64], rows: NDArray[np.intp]) -> Local:
    """Sort rows into the parts that hold them; within a part they stay in the given order."""
    part = np.searchsorted(starts, rows, side="right") - 1
    order = np.argsort(part, kind="stable")
    edges = np.searchsorted(part[order], np.arange(1, len(starts) - 1))
    places = np.split(order, edges)
    return Local([rows[own] - start for own, start in zip(places, starts, strict=False)], places)


def beside(like: Any, array: Any) -> Any:
    """Return an array of this process, with one entry per row, cut as the rows of `like` are cut if they are."""
    if like.pieces is None or not isinstance(array, np.ndarray):
        return array
    starts = like.starts
    pieces = [array[start:stop] for start, stop in itertools.pairwise(starts)]
    return _rowwise(np.asarray, PartedArray(like.holder, pieces, starts, array.dtype))


def parted(arguments: Sequence[Any]) -> Any:
    """Return the first argument that is in parts; None if all are whole."""
    return next((value for value in arguments if getattr(value, "pieces", None) is not None), None)


def from_each(function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """Call a function for each part, and return what the calls returned."""
    return cast(Holder, parted(arguments).holder).call(_one_result, [function, *arguments], 0)[1]


def row_by_row(n_arrays: int = 1, *, and_sums: bool = False) -> Callable[[F], F]:
    """A function that returns an array, or several, with one entry per row: of parts, one for each part.

    With `and_sums` it returns further numbers or arrays after these, which are added up over the parts.
    """

    def decorated(function: F) -> F:
        @wraps(function)
        def verb(*arguments: Any) -> Any:
            like = parted(arguments)
            if like is None:
                return function(*arguments)
            if not and_sums:
                return arrays_of(like, verb, arguments, n_arrays)
            arrays, found = _called(like, _kept_and_sent, [n_arrays, verb, *arguments], n_arrays)
            return *arrays, *_sums(found)

        return cast(F, verb)

    return decorated


def added_up(function: F) -> F:
    """A function whose results for the parts of the rows add up to that for all rows: a number, an array or several."""

    @wraps(function)
    def verb(*arguments: Any) -> Any:
        if parted(arguments) is None:
            return function(*arguments)
        found = from_each(verb, *arguments)
        return _sums(found) if isinstance(found[0], tuple) else sum(found[1:], start=found[0])

    return cast(F, verb)


def _sums(found: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(sum(each[1:], start=each[0]) for each in zip(*found, strict=True))


def arrays_of(like: Any, function: Callable[..., Any], arguments: Sequence[Any], n_arrays: int = 1) -> Any:
    """Return the arrays with one entry per row that a function returns, cut as the rows of `like` are cut."""
    each = _kept_one if n_arrays == 1 else _kept_several
    found = _called(like, each, [function, *arguments], n_arrays)[0]
    return found[0] if n_arrays == 1 else tuple(found)


def _called(
    like: Any, each: Callable[..., Any], arguments: Sequence[Any], n_arrays: int
) -> tuple[list[PartedArray], list[Any]]:
    kept, back = like.holder.call(each, arguments, n_arrays)
    dtypes = back[0][0]
    arrays = [PartedArray(like.holder, pieces, like.starts, dtype) for pieces, dtype in zip(kept, dtypes, strict=True)]
    return arrays, [each[1] for each in back]


def _rowwise(function: Callable[..., Any], *arguments: Any) -> PartedArray:
    found: PartedArray = arrays_of(parted(arguments), function, arguments)
    return found


# ---- what a holder calls, once for each part


def _one_result(function: Callable[..., Any], *arguments: Any) -> tuple[Any]:
    return (function(*arguments),)


def _kept_one(function: Callable[..., Any], *arguments: Any) -> tuple[Any, Any]:
    value = function(*arguments)
    return value, ((getattr(value, "dtype", None),), None)


def _kept_several(function: Callable[..., Any], *arguments: Any) -> tuple[Any, ...]:
    values = function(*arguments)
    return *values, (tuple(value.dtype for value in values), None)


def _kept_and_sent(n_arrays: int, function: Callable[..., Any], *arguments: Any) -> tuple[Any, ...]:
    values = function(*arguments)
    return *values[:n_arrays], (tuple(value.dtype for value in values[:n_arrays]), values[n_arrays:])


def _quotient(first: Any, second: Any) -> Any:
    # a row without any label shares nothing with any cluster, so that there is no share of it: NaN
    with np.errstate(invalid="ignore"):
        return first / second


def _has_missing(part: Ensemble) -> bool:
    return part.has_missing


def _rows_of(part: Ensemble) -> tuple[NDArray[Any], NDArray[np.int64]]:
    return part.labels, part.counts

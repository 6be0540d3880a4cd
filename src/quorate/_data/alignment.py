"""The one place where objects are matched by their ids. If two tables have ids, rows with the same id belong together.

Ids are compared as texts, because a text file has no types: the id 7 of a data frame is the id "7" of a CSV file.
If only one of the tables has ids, rows are matched by order, with two exceptions. Ids that are the integers 0..n-1 in
another order are refused, because they are a default index of pandas whose rows were shuffled afterwards. A default
index of pandas beside ids that are other integers is the names 0..n-1: two parts of a table are not matched by order.
Beside ids that are texts a default index names nothing, as an array does: these rows are matched by order, and must be
as many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._check import counted
from quorate._data.coding import is_null
from quorate._types import Consensus

Array = NDArray[Any]
Order = NDArray[np.intp]


def order_of(wanted: Array | None, given: Array | None, name: str, advice: str = "") -> Order | None:
    """Return the order in which rows must be taken so that their ids are the wanted ones.

    Parameters
    ----------
    wanted : array or None
        The ids in the order that is wanted; None if the wanted objects have no ids.
    given : array or None
        The ids of the rows to be put in this order; None if they have none.
    name : str
        What error messages call the rows to be put in order.
    advice : str
        What error messages advise the user to do, in words that follow a semicolon.

    Returns
    -------
    array or None
        For each wanted id, its place among the given ids. None if the rows are in order already, or are matched by
        order because one of the two has no ids.
    """
    if wanted is None or given is None:
        _refuse_shuffled(wanted, given, name)
        return None
    if wanted.shape == given.shape and wanted.dtype == given.dtype and bool(np.all(wanted == given)):
        return None
    places = _places(wanted, given)
    lost, ending = np.flatnonzero(places < 0), f"; {advice}." if advice else "."
    if len(lost):
        raise ValueError(
            f"in {name} there is no label for {len(lost):,} of {len(wanted):,} objects: {few(wanted[lost[:6]])}{ending}"
        )
    if len(given) > len(wanted):
        extra = np.flatnonzero(_places(given, wanted) < 0)
        are = "is" if len(extra) == 1 else "are"
        raise ValueError(
            f"in {name} there are labels for {counted(len(extra), 'object')} that {are} not in the table of labels: "
            f"{few(given[extra[:6]])}{ending}"
        )
    return places


def numbered(ids: Array | None, other: Array | None, n_rows: int, *, is_default: bool) -> Array | None:
    """Return ids, or 0..n-1 for a default index of pandas beside ids that are integers; see above."""
    if ids is not None or not is_default or other is None or other.dtype.kind not in "iu" or is_shuffled_range(other):
        return ids
    return np.arange(n_rows)


def _places(wanted: Array, given: Array) -> Order:
    """Return the place of each wanted id among the given ids, or -1 if it is not there."""
    both_numbers = wanted.dtype.kind in "iu" and given.dtype.kind in "iu"
    if both_numbers or (wanted.dtype.kind == "U" and given.dtype.kind == "U"):
        order = np.argsort(given, kind="stable")
        where = np.minimum(np.searchsorted(given, wanted, sorter=order), len(given) - 1)
        places = order[where]
        return np.where(given[places] == wanted, places, -1)
    given_texts, wanted_texts = matching_texts([given, wanted])
    place = {text: row for row, text in enumerate(given_texts)}
    return np.array([place.get(text, -1) for text in wanted_texts], dtype=np.intp)


def matching_texts(sources: Sequence[Array]) -> list[list[str]]:
    """Return the ids of several tables as texts that are equal if the ids are.

    The id 3.0 of a table that holds floats is written "3" if another table holds integers.
    """
    has_integers = any(ids.dtype.kind in "iu" for ids in sources)
    return [id_texts(ids, whole=has_integers) for ids in sources]


def id_texts(ids: Array, *, whole: bool = False) -> list[str]:
    """Return the ids as they would be written in a text file; with `whole`, whole floats as integers would be."""
    values: list[Any] = (ids.astype("U64") if ids.dtype.kind in "mM" else ids).tolist()
    if whole and ids.dtype.kind == "f":
        values = [int(value) if value.is_integer() else value for value in values]
    return values if set(map(type, values)) == {str} else list(map(str, values))


def union_of_ids(sources: Sequence[Array]) -> tuple[Array, list[Order]]:
    """Return all ids in order of first appearance, and for each source the places of its ids among them."""
    kinds = {values.dtype.kind for values in sources}
    as_they_are = len(kinds) == 1 and kinds <= {"i", "u", "U"}
    numbers: dict[Any, int] = {}
    places = []
    for names in [values.tolist() for values in sources] if as_they_are else matching_texts(sources):
        places.append(np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.intp))
    return np.array(list(numbers)), places


def aligned_result(result: Any, ids: Array | None, name: str) -> Any:
    """Put the objects of a Consensus in the order of `ids`; clusters keep their numbers.

    Any other object is returned as it is.
    """
    if not isinstance(result, Consensus):
        return result
    order = order_of(ids, result.object_ids, name)
    if order is None:
        return result
    return replace(
        result,
        labels=result.labels[order],
        confidence=None if result.confidence is None else result.confidence[order],
        runner_up=None if result.runner_up is None else result.runner_up[order],
        rows=None if result.rows is None else result.rows[order],
        object_ids=ids,
    )


def refuse_repeated(ids: Array | None, source: str) -> None:
    """Raise if two objects have the same id, or if an object has none.

    The number 1 and the text "1" are the same id, because ids of different types are matched by their texts.
    """
    fault = None if ids is None or _are_distinct(ids) else first_fault(ids.tolist(), id_texts(ids))
    if ids is None or fault is None:
        return
    first, row = fault
    if first == row:
        raise ValueError(f"{source}: row {row} (counted from 0) has no id; every object needs one of its own.")
    raise ValueError(
        f"{source} has the id {_check.brief(ids.tolist()[row])} twice, in rows {first} and {row} (counted from 0); "
        f"every object needs an id of its own."
    )


def first_fault(values: Sequence[Any], texts: Sequence[str] = ()) -> tuple[int, int] | None:
    """Return the first row whose id is that of an earlier row, with that row before it; twice the row if it has none.

    Ids are compared as they are and, if they are given, by their texts as well. None if all ids differ.
    """
    if not texts and len(distinct := set(values)) == len(values) and "" not in distinct:
        return None
    seen: dict[Any, int] = {}
    for row, value in enumerate(values):
        if is_null(value) or value == "":
            return row, row
        first = seen.setdefault(value, row)
        first = min(first, seen.setdefault(texts[row], row)) if texts else first
        if first != row:
            return first, row
    return None


def _are_distinct(ids: Array) -> bool:
    if ids.dtype.kind in "iu":
        return len(np.unique(ids)) == len(ids)
    values = ids.tolist()
    if ids.dtype.kind not in "UO" or set(map(type, values)) != {str}:
        return False
    distinct = set(values)
    return len(distinct) == len(values) and "" not in distinct


def _refuse_shuffled(wanted: Array | None, given: Array | None, name: str) -> None:
    """Raise if one table has no ids and those of the other are 0..n-1 shuffled: matching by order would be wrong."""
    known = given if wanted is None else wanted
    if known is None or not is_shuffled_range(known):
        return
    which, other = ("its", "the table of labels") if wanted is None else ("the table's", name)
    raise ValueError(
        f"{name} and the table of labels cannot be matched: {which} index is 0 to {len(known) - 1:,} in another order, "
        f"and {other} has no index to match it with; call .sort_index() if rows were shuffled, or "
        f".reset_index(drop=True) if both are in the same order."
    )


def is_shuffled_range(ids: Array) -> bool:
    """Whether these are the integers 0..n-1, each once, in another order."""
    if ids.dtype.kind not in "iu" or not len(ids):
        return False
    counted = np.arange(len(ids))
    return not np.array_equal(ids, counted) and np.array_equal(np.sort(ids), counted)


def few(names: Any) -> str:
    """Return the first five of several names for an error message."""
    values = list(names.tolist() if isinstance(names, np.ndarray) else names)
    return ", ".join(_check.brief(value, most=40) for value in values[:5]) + (", ..." if len(values) > 5 else "")

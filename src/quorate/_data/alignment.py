"""The one matching of objects by their ids: wherever two things carry ids, these decide which rows belong together.

Ids are compared as texts, because a text file has no types: the id 7 of a data frame is the id "7" of a CSV file.
Where only one side carries ids, rows are matched by order, with one exception: integers that are 0..n-1 in another
order are the index that pandas made up, shuffled afterwards, and are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.missing import is_null
from quorate._types import Consensus

Array = NDArray[Any]
Order = NDArray[np.intp]


def order_of(wanted: Array | None, found: Array | None, name: str, advice: str = "") -> Order | None:
    """For each wanted id its place among those found; None where rows are matched by order.

    Parameters
    ----------
    wanted : array or None
        The ids in the order that is wanted; None where these objects have none.
    found : array or None
        The ids of the rows to be put in this order.
    name : str
        What errors call the rows to be put in order.
    advice : str
        What errors tell the user to do, in words that follow a semicolon.
    """
    if wanted is None or found is None:
        _refuse_shuffled(wanted, found, name)
        return None
    if wanted.shape == found.shape and wanted.dtype == found.dtype and bool(np.all(wanted == found)):
        return None
    places = _places(wanted, found)
    lost, told = np.flatnonzero(places < 0), f"; {advice}." if advice else "."
    if len(lost):
        raise ValueError(
            f"in {name} there is no label for {len(lost):,} of {len(wanted):,} objects: {few(wanted[lost[:6]])}{told}"
        )
    if len(found) > len(wanted):
        extra = np.flatnonzero(_places(found, wanted) < 0)
        raise ValueError(
            f"in {name} there are labels for {len(extra):,} objects that are not in the table of labels: "
            f"{few(found[extra[:6]])}{told}"
        )
    return places


def _places(wanted: Array, found: Array) -> Order:
    """For each wanted id its place among those found, -1 where it is not there."""
    both_numbers = wanted.dtype.kind in "iu" and found.dtype.kind in "iu"
    if both_numbers or (wanted.dtype.kind == "U" and found.dtype.kind == "U"):
        order = np.argsort(found, kind="stable")
        where = np.minimum(np.searchsorted(found, wanted, sorter=order), len(found) - 1)
        places = order[where]
        return np.where(found[places] == wanted, places, -1)
    place = {text: row for row, text in enumerate(id_texts(found))}
    return np.array([place.get(text, -1) for text in id_texts(wanted)], dtype=np.intp)


def id_texts(ids: Array) -> list[str]:
    """The ids as they are written in a text file."""
    values: list[Any] = (ids.astype(np.str_) if ids.dtype.kind in "mM" else ids).tolist()
    return values if set(map(type, values)) == {str} else list(map(str, values))


def union_of_ids(sources: Sequence[Array]) -> tuple[Array, list[Order]]:
    """All ids in order of first appearance, and for each source the place of each of its ids among all."""
    kinds = {values.dtype.kind for values in sources}
    as_they_are = len(kinds) == 1 and kinds <= {"i", "u", "U"}
    numbers: dict[Any, int] = {}
    places = []
    for values in sources:
        names = values.tolist() if as_they_are else id_texts(values)
        places.append(np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.intp))
    return np.array(list(numbers)), places


def aligned_result(result: Any, ids: Array | None, name: str) -> Any:
    """A Consensus with its objects in the order of `ids`; clusters keep their numbers. Anything else as it is."""
    if not isinstance(result, Consensus):
        return result
    order = order_of(ids, result.object_ids, name)
    if order is None:
        return result
    return replace(
        result,
        labels=result.labels[order],
        confidence=None if result.confidence is None else result.confidence[order],
        rows=None if result.rows is None else result.rows[order],
        object_ids=ids,
    )


def refuse_repeated(ids: Array | None, source: str) -> None:
    """Raise where two objects have one id, or one has none."""
    if ids is None or _are_distinct(ids):
        return
    seen: dict[Any, int] = {}
    for row, value in enumerate(ids.tolist()):
        if is_null(value) or value == "":
            raise ValueError(f"{source}: row {row} (counted from 0) has no id; every object needs one of its own.")
        if seen.setdefault(value, row) != row:
            raise ValueError(
                f"{source} has the id {_check.brief(value)} twice, in rows {seen[value]} and {row} (counted from 0); "
                f"every object needs an id of its own."
            )


def _are_distinct(ids: Array) -> bool:
    if ids.dtype.kind in "iu":
        return len(np.unique(ids)) == len(ids)
    values = ids.tolist()
    if ids.dtype.kind not in "UO" or set(map(type, values)) != {str}:
        return False
    distinct = set(values)
    return len(distinct) == len(values) and "" not in distinct


def _refuse_shuffled(wanted: Array | None, found: Array | None, name: str) -> None:
    """One side has no ids, and those of the other are a default index in another order: by order would be wrong."""
    known = found if wanted is None else wanted
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
    """The first five of several names, for an error."""
    values = list(names.tolist() if isinstance(names, np.ndarray) else names)
    return ", ".join(_check.brief(value, most=40) for value in values[:5]) + (", ..." if len(values) > 5 else "")

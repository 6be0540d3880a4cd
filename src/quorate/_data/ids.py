"""Ids of objects: repeated ones are refused, also across blocks, and tables are matched by them.

This is the one place where objects are matched. If two tables have ids, rows with the same id belong together. Ids are
compared as texts, because a text file has no types: the id 7 of a data frame is the id "7" of a CSV file.
If only one of the tables has ids, rows are matched by order, with two exceptions. Ids that are the integers 0..n-1 in
another order are refused, because they are a default index of pandas whose rows were shuffled afterwards. A default
index of pandas beside ids that are other integers is the names 0..n-1: two parts of a table are not matched by order.
Beside ids that are texts a default index names nothing, as an array does: these rows are matched by order, and must be
as many.

Ids may also be compared loosely, as people mean them: 007, "7 ", 7.0 and 7 may be one customer. And several rows of one
table that have the same id may be made one.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._check import brief, counted
from quorate._data.coding import MissingRule, code_integers, is_null
from quorate._types import Consensus
from quorate.ops.coding import hash_texts

Array = NDArray[Any]
Keys = NDArray[np.uint64]
Order = NDArray[np.intp]
FEATURES = "features"
Coded = tuple[Array, tuple[Array, ...]]
IDS_AS = ("text", "loose")
SHARED = 0.5
"""A table shares few ids with another if less than this share of the smaller one is in both."""
JOINING = " to join or load_labels"
_CAUSES: dict[str, Callable[[str], str]] = {
    "spaces": lambda text: " ".join(text.split()),
    "Unicode forms": lambda text: unicodedata.normalize("NFKC", text),
    "upper and lower case": str.casefold,
    "numbers such as 7.0 for 7": lambda text: re.sub(r"^([+-]?\d+)\.0+$", r"\1", text),
    "leading zeros": lambda text: re.sub(r"^0+(?=\d)", "", text),
}
"""How two spellings of one id differ, and what takes the difference away, in the order in which it is done."""

"""What error messages call measurements, which have rows where others have labels."""
MOST_KEYS = 1 << 24
"""About so many keys are sorted at once when repeated ids are looked for."""


class IdLedger:
    """Finds ids that are repeated, from one number of 64 bits per id.

    As long as ids are integers that rise from object to object, nothing is stored at all. Otherwise a hash of each id
    is kept. Two ids with the same hash are compared themselves, so that no other ids are taken for repeated ones.
    If some blocks have integers and others have not, all are compared as texts, as they are matched everywhere.

    `stored` returns the ids of a block that was added before; `name_of` what error messages call a block.
    """

    def __init__(self, stored: Callable[[int], Any], name_of: Callable[[int], str]) -> None:
        self._stored, self._name_of = stored, name_of
        self._keys: list[Keys] = []
        self._n_blocks, self._rising = 0, True
        self._as_texts, self._integers = False, set[bool]()
        self._last: int | None = None

    @property
    def nbytes(self) -> int:
        """The memory that the hashes take."""
        return sum(keys.nbytes for keys in self._keys)

    def add(self, ids: Any) -> None:
        """Note the ids of the next block; a null or an empty text is refused at once."""
        self._integers |= {_is_integer(ids)} if len(ids) else set()
        as_texts = len(self._integers) == 2
        rising = self._rising and not as_texts and self._rises(ids)
        if (self._rising and not rising) or as_texts != self._as_texts:
            self._keys = [
                keys_of(self._stored(block), self._name_of(block), as_texts=as_texts) for block in range(self._n_blocks)
            ]
        self._rising, self._as_texts = rising, as_texts
        if not rising:
            self._keys.append(keys_of(ids, self._name_of(self._n_blocks), as_texts=as_texts))
        self._n_blocks += 1

    def _rises(self, ids: Any) -> bool:
        """Whether these are integers that rise, the first of them above the last one of the blocks before."""
        if _null_count(ids) or not _is_integer(ids):
            return False
        values = ids if isinstance(ids, np.ndarray) else ids.to_numpy()
        if not len(values):
            return True
        follows = self._last is None or int(values[0]) > self._last
        self._last = int(values[-1])
        return follows and bool(np.all(values[1:] > values[:-1]))

    def refuse_repeated(self) -> None:
        """Raise if two objects have the same id; called when all blocks were added."""
        total = sum(map(len, self._keys))
        if not total:
            return
        n_parts = -(-total // MOST_KEYS)
        for part in range(n_parts):
            chosen = [keys[keys % np.uint64(n_parts) == part] for keys in self._keys]
            values, counts = np.unique(np.concatenate(chosen), return_counts=True)
            for key in values[counts > 1]:
                self._compare(key)

    def _compare(self, key: np.uint64) -> None:
        """Raise if the objects with this hash have the same id."""
        seen: dict[Any, tuple[int, int]] = {}
        for block, keys in enumerate(self._keys):
            rows = np.flatnonzero(keys == key)
            if not len(rows):
                continue
            ids = self._stored(block)
            for row in rows.tolist():
                value = text_of(value_at(ids, row)) if self._as_texts else value_at(ids, row)
                first = seen.setdefault(value, (block, row))
                if first != (block, row):
                    raise ValueError(
                        f"the id {brief(value)} is there twice: in {self._name_of(first[0])}, row {first[1]:,}, and in "
                        f"{self._name_of(block)}, row {row:,} of what was read at once (counted from 0); every object "
                        f"needs an id of its own."
                    )


def keys_of(ids: Any, name: str, *, as_texts: bool = False) -> Keys:
    """Return a number of 64 bits for each id: equal ids have equal numbers."""
    _refuse_nulls(ids, name)
    if _is_integer(ids) and not as_texts:
        values = ids if isinstance(ids, np.ndarray) else ids.to_numpy()
        return values.astype(np.int64).view(np.uint64)
    data, ends = _text_buffers(ids)
    keys = np.empty(len(ends) - 1, dtype=np.uint64)
    hash_texts(data, ends, keys)
    if isinstance(ids, np.ndarray) and ids.dtype.kind == "f" and not as_texts:
        whole = ids == np.floor(ids)
        keys[whole] = ids[whole].astype(np.int64).view(np.uint64)
    return keys


def as_numpy(ids: Any) -> Array:
    """Return ids as an array: integers and times as they are, anything else as texts or objects."""
    if isinstance(ids, np.ndarray):
        return ids
    import pyarrow

    if _is_integer(ids) or pyarrow.types.is_temporal(ids.type):
        values: Array = ids.to_numpy()
        return values
    return np.asarray(ids.to_pylist())


def arrow_ids(column: Any, name: str) -> Any:
    """Return an Arrow column of ids in a type that can be compared and written; nested values are refused."""
    import pyarrow

    column = computable(column)
    kinds = pyarrow.types
    if kinds.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if kinds.is_nested(column.type):
        raise ValueError(f"column {brief(name)} holds {column.type} where a single id per object was expected.")
    if kinds.is_binary(column.type) or kinds.is_large_binary(column.type) or kinds.is_fixed_size_binary(column.type):
        # bytes need not be a text in any encoding; they are named as Python writes them, as in memory
        texts = [None if value is None else str(value) for value in column.to_pylist()]
        column = pyarrow.chunked_array([pyarrow.array(texts, pyarrow.large_string())])
    return column


def computable(column: Any) -> Any:
    """Return an Arrow column in a type that Arrow can compute with: the storage of extensions, texts without views."""
    import pyarrow

    if isinstance(column.type, pyarrow.BaseExtensionType):
        column = column.cast(column.type.storage_type)
    # pyarrow knows no views before version 16
    for view, plain in (("string_view", "large_string"), ("binary_view", "large_binary")):
        if hasattr(pyarrow, view) and column.type == getattr(pyarrow, view)():
            column = column.cast(getattr(pyarrow, plain)())
    return column


def _is_integer(ids: Any) -> bool:
    if isinstance(ids, np.ndarray):
        return ids.dtype.kind in "iu"
    import pyarrow

    return bool(pyarrow.types.is_integer(ids.type))


def _null_count(ids: Any) -> int:
    return 0 if isinstance(ids, np.ndarray) else int(ids.null_count)


def _refuse_nulls(ids: Any, name: str) -> None:
    row = None
    if not isinstance(ids, np.ndarray):
        row = _first_null(ids)
    elif ids.dtype.kind in "OUSfmM":
        row = next((row for row, value in enumerate(ids.tolist()) if is_null(value) or value == ""), None)
    if row is not None:
        raise ValueError(
            f"{name}: row {row:,} of what was read at once (counted from 0) has no id; every object needs one."
        )


def _first_null(ids: Any) -> int | None:
    """Return the first row of an Arrow column that holds a null, NaN or an empty text; None if no row does."""
    import pyarrow
    import pyarrow.compute

    lacking = ids.is_null(nan_is_null=True)
    if pyarrow.types.is_string(ids.type) or pyarrow.types.is_large_string(ids.type):
        lacking = pyarrow.compute.or_kleene(lacking, pyarrow.compute.equal(pyarrow.compute.utf8_length(ids), 0))
    row = pyarrow.compute.index(lacking, value=True).as_py()
    return None if row < 0 else int(row)


def _text_buffers(ids: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the texts of ids one after another, as UTF-8, and where each of them begins; the last entry is the end."""
    if not isinstance(ids, np.ndarray):
        return _arrow_buffers(ids)
    values = ids.tolist()
    known = values if set(map(type, values)) == {str} else map(text_of, values)
    texts = [text.encode("utf-8", "surrogatepass") for text in known]
    ends = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    return np.frombuffer(b"".join(texts), dtype=np.uint8), ends


def _arrow_buffers(ids: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    import pyarrow

    whole = ids.combine_chunks() if hasattr(ids, "combine_chunks") else ids
    whole = whole.cast(pyarrow.large_string())
    if hasattr(whole, "chunks"):
        whole = whole.chunk(0) if whole.num_chunks else pyarrow.array([], pyarrow.large_string())
    _, offsets, data = whole.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[whole.offset : whole.offset + len(whole) + 1]
    texts = np.empty(0, dtype=np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
    return texts, ends


def text_of(value: Any) -> str:
    """Return an id as a text; whole floats as integers, which Arrow does as well: the ids 3 and 3.0 are one."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def value_at(ids: Any, row: int) -> Any:
    """Return an id of an array or an Arrow column as a Python value."""
    value = ids[row]
    return value.as_py() if hasattr(value, "as_py") else value.item() if hasattr(value, "item") else value


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
    places, what = places_among(wanted, given), "row" if name == FEATURES else "label"
    lost, ending = np.flatnonzero(places < 0), f"; {advice}." if advice else "."
    if len(lost):
        cause = cause_of(wanted, given)
        ending = f"; {cause}{ending}" if cause else ending
        first = few(wanted[lost[:6]])
        ending = ending if cause or advice or len(lost) <= FEW else ""  # the dots are there already
        raise ValueError(f"in {name} there is no {what} for {len(lost):,} of {len(wanted):,} objects: {first}{ending}")
    if len(given) > len(wanted):
        extra = np.flatnonzero(places_among(given, wanted) < 0)
        are = "is" if len(extra) == 1 else "are"
        raise ValueError(
            f"in {name} there are {what}s for {counted(len(extra), 'object')} that {are} not in the table of labels: "
            f"{few(given[extra[:6]])}{ending}"
        )
    return places


def numbered(ids: Array | None, other: Array | None, n_rows: int, *, is_default: bool) -> Array | None:
    """Return ids, or 0..n-1 for a default index of pandas beside ids that are integers; see above."""
    if ids is not None or not is_default or other is None or other.dtype.kind not in "iu" or is_shuffled_range(other):
        return ids
    return np.arange(n_rows)


def places_among(wanted: Array, given: Array) -> Order:
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


def refuse_repeated(ids: Array | None, source: str, advice: str = "") -> None:
    """Raise if two objects have the same id, or if an object has none; `advice` says what else can be done.

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
        f"every object needs an id of its own{advice}."
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


FEW = 5
"""The number of names that an error message shows."""


def few(names: Any) -> str:
    """Return the first five of several names for an error message."""
    values = list(names.tolist() if isinstance(names, np.ndarray) else names)
    return ", ".join(_check.brief(value, most=40) for value in values[:FEW]) + (", ..." if len(values) > FEW else "")


def meant(text: str) -> str:
    """Return what all spellings of an id have in common."""
    for plain in _CAUSES.values():
        text = plain(text)
    return text


def respelled(given: Sequence[Array], sources: Sequence[str]) -> list[Array]:
    """Return the ids of several tables, each in the spelling of the first table that has it."""
    spelled: list[Array] = []
    for ids, source in zip(given, sources, strict=True):
        known = dict.fromkeys(text for before in spelled for text in before.tolist())
        spelled.append(_spelled_as(ids, list(known), source))
    return spelled


def spelled_beside(wanted: Array, ids: Array, names: tuple[str, str], ids_as: str) -> Array:
    """Return ids as the wanted ones are spelled if they are to be compared loosely, otherwise as they are."""
    return respelled([wanted, ids], names)[1] if ids_as == "loose" else ids


def _spelled_as(ids: Array, known: Sequence[str], name: str) -> Array:
    """Return ids in the spelling of the known ones if they mean the same; others stay as they are."""
    spelling: dict[str, str] = {}
    for text in known:
        _refuse_two(spelling.setdefault(meant(text), text), text, "the tables before")
    own: dict[str, str] = {}
    texts = id_texts(ids, whole=True)
    for text in texts:
        _refuse_two(own.setdefault(meant(text), text), text, name)
    return np.array([spelling.get(meant(text), text) for text in texts])


def _refuse_two(first: str, text: str, name: str) -> None:
    if first != text:
        raise ValueError(
            f"{name} has the ids {_check.brief(first)} and {_check.brief(text)}, which are the same if ids are "
            f"compared loosely; compare them as texts: ids_as='text' (--ids-as text)."
        )


def likely_cause(ids: Array, others: Array, where: str = JOINING) -> str:
    """Say how many more ids would match if they were compared loosely, why, and how to do so; empty if no more."""
    cause = cause_of(ids, others)
    return f"{cause}; pass ids_as='loose' (--ids-as loose){where}" if cause else ""


def cause_of(ids: Array, others: Array) -> str:
    """Say how many more ids would match if they were compared loosely, and why; empty if no more."""
    texts, known = id_texts(ids, whole=True), set(id_texts(others, whole=True))
    lost = [text for text in texts if text not in known]
    free: dict[str, str] = {}
    for text in known.difference(texts):
        free.setdefault(meant(text), text)
    pairs = [(text, free[meant(text)]) for text in lost if meant(text) in free]
    if not pairs:
        return ""
    causes = Counter(cause for pair in pairs for cause in _differences(*pair))
    listed = ", ".join(f"{cause} ({count:,})" for cause, count in causes.most_common())
    return (
        f"{len(pairs):,} more would match if they were compared loosely: {listed}, such as {pairs[0][0]!r} and "
        f"{pairs[0][1]!r}"
    )


def ids_beside(wanted: Array, ids: Array, source: str, ids_as: str, most: float = 0.0) -> Array:
    """Return the ids of a table of columns as the objects' own ids are written.

    It is refused if more than a share `most` of the objects have no row.
    """
    ids = spelled_beside(wanted, ids, ("the table of labels", source), ids_as)
    absent = wanted[places_among(wanted, ids) < 0]
    if len(absent) > most * len(wanted):
        advice = likely_cause(wanted, ids, where="") or "add them, or leave these objects out"
        raise ValueError(
            f"{source} has no measurements of {len(absent):,} of the {len(wanted):,} objects ({few(absent[:6])}); "
            f"{advice}."
        )
    return ids


def _differences(one: str, other: str) -> list[str]:
    """Return the causes for which two spellings of one id differ."""
    found = []
    for cause, plain in _CAUSES.items():
        before, (one, other) = one != other, (plain(one), plain(other))
        if before and one == other:
            found.append(cause)
    return found or ["several of these"]


def warn_of_few(
    sources: Sequence[Array], places: Sequence[NDArray[np.intp]], names: Sequence[str], where: str = JOINING
) -> None:
    """Warn if a table shares few ids with the others, and would share more if ids were compared as people mean them.

    `places` are the numbers of the ids of each table among all ids.
    """
    uses = np.bincount(np.concatenate(places))
    for which, (ids, place, name) in enumerate(zip(sources, places, names, strict=True)):
        own = np.zeros(len(uses), dtype=np.int64)
        own[place] = 1
        n_others, shared = int((uses > own).sum()), int((uses[place] > 1).sum())
        if shared >= SHARED * min(len(ids), n_others):
            continue
        rest = [np.array(id_texts(other, whole=True)) for number, other in enumerate(sources) if number != which]
        cause = likely_cause(ids, np.concatenate(rest), where)
        if cause:
            warnings.warn(
                f"only {shared:,} of the {len(ids):,} ids of {name} are among the {n_others:,} ids of the other "
                f"tables; {cause}.",
                UserWarning,
                stacklevel=4,
            )
            return


def one_row_an_id(coded: Coded, ids: Array, names: tuple[str, ...], duplicates: str) -> tuple[Coded, Array, int]:
    """Make one row of all rows with the same id: the first, the last, or what most of them say of each member.

    Missing labels have no vote, and of labels with as many votes the first one is taken. Returns the table, the ids in
    order of first appearance, and how many ids there were more than once.
    """
    labels, categories = coded
    texts = id_texts(ids)
    number: dict[str, int] = {}
    owner = np.array([number.setdefault(text, len(number)) for text in texts], dtype=np.intp)
    n_repeated = int((np.bincount(owner) > 1).sum())
    if not n_repeated:
        return coded, ids, 0
    first = np.full(len(number), len(owner), dtype=np.intp)
    np.minimum.at(first, owner, np.arange(len(owner)))
    chosen = first
    if duplicates == "last":
        chosen = np.zeros(len(number), dtype=np.intp)
        np.maximum.at(chosen, owner, np.arange(len(owner)))
    rows = labels[chosen] if duplicates != "vote" else _voted(labels, owner, len(number))
    codes, kept = code_integers(rows.astype(np.int64), names, MissingRule((-1,)))
    known = tuple(values[order] for values, order in zip(categories, kept, strict=True))
    return (codes, known), ids[first], n_repeated


def _voted(labels: Array, owner: NDArray[np.intp], n_owners: int) -> Array:
    """Return for each owner and member the label that most rows of the owner have."""
    voted = np.full((n_owners, labels.shape[1]), -1, dtype=np.int64)
    for member, column in enumerate(labels.T):
        known = np.flatnonzero(column >= 0)
        pairs = np.stack([owner[known], column[known].astype(np.int64)])
        found, first, votes = np.unique(pairs, axis=1, return_index=True, return_counts=True)
        # the winner comes last: most votes, and of equally many the first row
        order = np.lexsort((-first, votes, found[0]))
        voted[found[0][order], member] = found[1][order]
    return voted


def refuse_missing_ids(ids: Array, source: str) -> None:
    """Raise if an object has no id, where ids may be repeated."""
    empty = [row for row, text in enumerate(id_texts(ids)) if text in ("", "None", "nan", "NaT", "<NA>")]
    if empty:
        raise ValueError(
            f"{source}: row {empty[0]} (counted from 0) has no id; every object needs one: {few(ids[:3])}."
        )

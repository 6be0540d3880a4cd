"""Ids as people mean them: 007, "7 ", 7.0 and 7 may be one customer; and rows of one table that have the same id."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.coding import MissingRule, code_integers
from quorate._data.ids import few, id_texts, places_among

Array = NDArray[Any]
Coded = tuple[Array, tuple[Array, ...]]
IDS_AS = ("text", "loose")
FEW = 0.5
"""A table shares few ids with another if less than this share of the smaller one is in both."""
_CAUSES: dict[str, Callable[[str], str]] = {
    "spaces": lambda text: " ".join(text.split()),
    "Unicode forms": lambda text: unicodedata.normalize("NFKC", text),
    "upper and lower case": str.casefold,
    "numbers such as 7.0 for 7": lambda text: re.sub(r"^([+-]?\d+)\.0+$", r"\1", text),
    "leading zeros": lambda text: re.sub(r"^0+(?=\d)", "", text),
}
"""How two spellings of one id differ, and what takes the difference away, in the order in which it is done."""


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


def likely_cause(ids: Array, others: Array, where: str = " to join or load_labels") -> str:
    """Say how many ids would be found among the others if they were compared loosely, and why; empty if no more."""
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
        f"{pairs[0][1]!r}; pass ids_as='loose' (--ids-as loose){where}"
    )


def ids_beside(wanted: Array, ids: Array, source: str, ids_as: str, most: float = 0.0) -> Array:
    """Return the ids of a table of columns as the objects' own ids are written.

    It is refused if more than a share `most` of the objects have no row.
    """
    if ids_as == "loose":
        ids = respelled([wanted, ids], ["the table of labels", source])[1]
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


def warn_of_few(sources: Sequence[Array], places: Sequence[NDArray[np.intp]], names: Sequence[str]) -> None:
    """Warn if a table shares few ids with the others, and would share more if ids were compared as people mean them.

    `places` are the numbers of the ids of each table among all ids.
    """
    uses = np.bincount(np.concatenate(places))
    for which, (ids, place, name) in enumerate(zip(sources, places, names, strict=True)):
        own = np.zeros(len(uses), dtype=np.int64)
        own[place] = 1
        n_others, shared = int((uses > own).sum()), int((uses[place] > 1).sum())
        if shared >= FEW * min(len(ids), n_others):
            continue
        rest = [np.array(id_texts(other, whole=True)) for number, other in enumerate(sources) if number != which]
        cause = likely_cause(ids, np.concatenate(rest))
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

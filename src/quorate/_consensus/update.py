"""`update`: clusters keep their ids from one clustering of the objects to the next, and what changed is named."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from quorate import _check
from quorate._check import counted
from quorate._data.coding import as_array
from quorate._data.ids import IDS_AS, likely_cause, places_among, spelled_beside, union_of_ids, warn_of_few
from quorate._data.labelling import Labelling, code_labelling
from quorate._summaries import AMBIGUOUS, need_library
from quorate._types import Consensus, FloatArray, IntArray

if TYPE_CHECKING:
    import pandas

Array = NDArray[Any]
MOST = 0.5
"""A cluster goes on in another, or stems from it, if this share of its objects does."""


class Event(NamedTuple):
    """What became of clusters: `kind` is "kept", "birth", "death", "split" or "merge".

    `before` and `after` are the ids of the clusters concerned, and `objects` counts the objects that were in the
    ones and are in the others; for a birth or a death, the objects of the cluster.
    """

    kind: str
    before: tuple[Any, ...]
    after: tuple[Any, ...]
    objects: int

    @property
    def text(self) -> str:
        """The event in words."""
        before, after = " and ".join(map(str, self.before)), " and ".join(map(str, self.after))
        objects = counted(self.objects, "object")
        return {
            "kept": f"{before} is still there: {objects} stayed",
            "birth": f"{after} is new: {objects}",
            "death": f"{before} is gone: it had {objects}",
            "split": f"{before} split into {after}: {objects}",
            "merge": f"{before} merged into {after}: {objects}",
        }[self.kind]


@dataclass(frozen=True, eq=False, repr=False)
class Update:
    """A new clustering with the ids of the one before, as `update` returns it; prints what changed.

    Parameters
    ----------
    labels : array of shape (n_objects,)
        For each object of the new clustering, the id of its cluster; None if it has no cluster.
    events : tuple of Event
        What became of each cluster: splits, merges, births and deaths, then those that were simply kept.
    moved : tuple of (id before, id after, number of objects)
        Objects that are in another cluster than before, the largest groups first.
    before : array of shape (n_objects,)
        For each of these objects, the id of the cluster where it was before; None if it was not there, or in none.
    n_stayed, n_moved, n_new, n_gone : int
        Objects that are where they were, that are elsewhere, that were not there before, and that are not there now.
    n_unsure : int
        Objects that would have moved, but whose confidence is too low: they were left where they were.
    used : tuple
        All ids that clusters have or had; the next update gives none of them to a new cluster.
    object_ids : array or None
        Names of the objects, if the data had them.
    id_name : str
        The name of the column of these names.
    """

    labels: Array
    events: tuple[Event, ...]
    moved: tuple[tuple[Any, Any, int], ...]
    before: Array
    n_stayed: int
    n_moved: int
    n_new: int
    n_gone: int
    n_unsure: int
    used: tuple[Any, ...]
    object_ids: Array | None = None
    id_name: str = "id"

    def __repr__(self) -> str:
        one = ", 1 unsure one left where it was"
        unsure = one if self.n_unsure == 1 else f", {self.n_unsure:,} unsure ones left where they were"
        head = (
            f"{counted(self.n_stayed, 'object')} stayed, {self.n_moved:,} moved, {_are(self.n_new)} new, "
            f"{_are(self.n_gone)} gone{unsure if self.n_unsure else ''}"
        )
        return "\n".join([head, *(event.text for event in self.events)])

    @property
    def former(self) -> tuple[Any, ...]:
        """The ids that clusters had before and none has now; no later cluster may get them."""
        now = set(self.labels.tolist())
        return tuple(one for one in self.used if one not in now)

    def as_dict(self) -> dict[str, Any]:
        """Return counts, events and moves as lists and dictionaries of plain types."""
        names = ("n_stayed", "n_moved", "n_new", "n_gone", "n_unsure")
        events = [
            {**event._asdict(), "before": _plain(event.before), "after": _plain(event.after)} for event in self.events
        ]
        moved = [{"before": _plain(a), "after": _plain(b), "objects": n} for a, b, n in self.moved]
        return {
            **{name: getattr(self, name) for name in names},
            "events": events,
            "moved": moved,
            "former": _plain(self.former),
        }

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with one row per event."""
        frame: pandas.DataFrame = need_library("pandas").DataFrame(list(self.events), columns=list(Event._fields))
        return frame


def _are(number: int) -> str:
    return f"{number:,} {'is' if number == 1 else 'are'}"


def _plain(ids: Any) -> Any:
    if isinstance(ids, tuple):
        return [_plain(one) for one in ids]
    return ids.item() if isinstance(ids, np.generic) else ids


def update(
    before: Any,
    after: Any,
    *,
    confidence: Any = None,
    unsure: float = AMBIGUOUS,
    used: Sequence[Any] = (),
    ids_as: str = "text",
) -> Update:
    """Give the clusters of a new clustering the ids of those of the one before, and say what changed.

    Parameters
    ----------
    before : Consensus, Update, or labels of the objects
        The clustering before. Its ids are the names of its clusters, or its labels.
    after : Consensus, or labels of the objects
        The new clustering, whose labels mean nothing yet. Objects are matched by id if both sides have ids, so that
        some may be gone and some new; otherwise by order, and there must be as many.
    confidence : array of shape (n_objects,), optional
        The confidence of each object of `after`; that of the Consensus by default.
    unsure : float, default 0.6
        An object whose confidence is below this stays in the cluster where it was, if that is still there. 0 lets all
        objects move.
    used : sequence of ids
        Ids of earlier clusters that no new cluster may get, beside those of `before`; an Update keeps them by itself.
    ids_as : {"text", "loose"}, default "text"
        How ids of objects are compared, as for `join`: with "loose", 007, "7 " and 7.0 are one object. The result has
        the ids of `after`.

    Returns
    -------
    Update
        The labels with lasting ids, and what changed; it prints one line per event.

    See Also
    --------
    place : Puts new objects into clusters that do not change.

    Notes
    -----
    A cluster is kept if it and a new cluster share at least half of the objects of one of them; if several fit, those
    with the largest Jaccard similarity over all pairs are the same (assignment problem). A new cluster of which no
    cluster is the former self stems from a split if at least half of its objects come from one cluster, and
    otherwise is born. A cluster that did not go on was merged into another if that took at least half of its objects,
    and otherwise died. Ids of new clusters are the next numbers, or "new 1", "new 2", ... beside names. The cost is
    linear in the objects.

    Examples
    --------
    >>> import pandas as pd
    >>> may = pd.Series(["low", "low", "low", "high", "high"], index=["ann", "bob", "cid", "dee", "eva"])
    >>> june = pd.Series([1, 1, 0, 0, 2, 2], index=["bob", "cid", "dee", "eva", "fay", "gil"])
    >>> changes = update(may, june)
    >>> changes
    4 objects stayed, 0 moved, 2 are new, 1 is gone
    new 1 is new: 2 objects
    low is still there: 2 objects stayed
    high is still there: 2 objects stayed
    >>> changes.labels.tolist()
    ['low', 'low', 'high', 'high', 'new 1', 'new 1']
    """
    least = _check.fraction(unsure, "unsure")
    if isinstance(used, str) or not all(isinstance(one, Hashable) for one in used):
        raise TypeError(f"used must be a sequence of ids, got {_check.brief(used)}.")
    old, known = _coded(before, "before")
    new, _ = _coded(after, "after")
    place = _places(old, new, _check.choice(ids_as, "ids_as", IDS_AS))
    matched = np.where(place >= 0, old.codes[np.maximum(place, 0)], -1)
    overlap = _Overlap.of(old, new, matched)
    ids = overlap.new_ids((*known, *used))
    labels = _kept_where_unsure(overlap, ids, matched, new.codes, _confidence(after, confidence, len(new.codes)), least)
    both = (matched >= 0) & (labels >= 0)
    every = as_array([*old.categories.tolist(), *ids])
    moves = _moves(every, matched[both], labels[both])
    n_moved = sum(count for *_, count in moves)
    plain = overlap.codes(ids)[new.codes]
    return Update(
        labels=as_array([None if label < 0 else every[label] for label in labels.tolist()]),
        events=tuple(overlap.events(ids)),
        moved=moves,
        before=as_array([None if label < 0 else every[label] for label in matched.tolist()]),
        n_stayed=int(both.sum()) - n_moved,
        n_moved=n_moved,
        n_new=int((place < 0).sum()),
        n_gone=len(old.codes) - int((place >= 0).sum()),
        n_unsure=int(((plain != labels) & (new.codes >= 0)).sum()),
        used=tuple(dict.fromkeys([*known, *used, *old.categories.tolist(), *ids])),
        object_ids=new.ids,
        id_name=getattr(after, "id_name", getattr(before, "id_name", "id")),
    )


def _coded(labels: Any, name: str) -> tuple[Labelling, tuple[Any, ...]]:
    """Return labels as codes with their ids, and the ids that were used before."""
    if isinstance(labels, Labelling):
        return labels, ()
    if not isinstance(labels, Update):
        return code_labelling(labels, name), ()
    coded = code_labelling(labels.labels, name)
    return coded._replace(ids=labels.object_ids), labels.used


def _confidence(after: Any, given: Any, n_objects: int) -> FloatArray:
    known = after.confidence if given is None and isinstance(after, Consensus) else given
    values = np.ones(n_objects) if known is None else np.asarray(known, dtype=np.float64)
    if values.shape != (n_objects,):
        raise ValueError(f"confidence must have one value per object of after, {n_objects:,}, got {values.shape}.")
    return values


def _places(old: Labelling, new: Labelling, ids_as: str) -> IntArray:
    """Return for each new object its place among the old ones, or -1."""
    if old.ids is None or new.ids is None:
        if len(old.codes) != len(new.codes):
            raise ValueError(
                f"before has {counted(len(old.codes), 'object')} and after {len(new.codes):,}; objects are matched by "
                f"order unless both sides have ids, such as the index of a pandas Series, and then must be as many."
            )
        return np.arange(len(new.codes))
    ids = spelled_beside(old.ids, new.ids, ("before", "after"), ids_as)
    found: IntArray = places_among(ids, old.ids)
    if (found < 0).all():
        advice = likely_cause(ids, old.ids, where="") or "compare how the ids are written"
        raise ValueError(
            f"before and after have no object in common: {str(old.ids[0])!r} is an id of the one and "
            f"{str(new.ids[0])!r} of the other; {advice}."
        )
    warn_of_few([old.ids, ids], union_of_ids([old.ids, ids])[1], ["before", "after"], where="")
    return found


def _kept_where_unsure(
    overlap: _Overlap, ids: list[Any], before: IntArray, codes: IntArray, confidence: FloatArray, least: float
) -> IntArray:
    """Return the cluster of each object as a number of the old ids and the new ones, -1 if it has none."""
    labels = np.where(codes >= 0, overlap.codes(ids)[np.maximum(codes, 0)], -1)
    alive = np.zeros(overlap.n_old + len(ids) + 1, dtype=bool)
    alive[labels] = True
    stays = (codes >= 0) & (before >= 0) & (confidence < least) & alive[before]
    kept: IntArray = np.where(stays, before, labels)
    return kept


def _moves(names: Array, before: IntArray, after: IntArray) -> tuple[tuple[Any, Any, int], ...]:
    pairs, counts = np.unique(np.stack([before, after])[:, before != after], axis=1, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    plain = names.tolist()
    return tuple((plain[pairs[0, i]], plain[pairs[1, i]], int(counts[i])) for i in order.tolist())


class _Overlap(NamedTuple):
    """Objects shared by old and new clusters: their number for each pair, and the sizes of the clusters.

    `former` is the old cluster that each new one goes on, or -1, and `old_ids` are the ids of the old ones.
    """

    shared: IntArray
    old_sizes: IntArray
    new_sizes: IntArray
    all_old: IntArray
    old_ids: list[Any]
    former: IntArray

    @classmethod
    def of(cls, old: Labelling, new: Labelling, matched: IntArray) -> _Overlap:
        n_old, n_new = old.n_clusters, new.n_clusters
        both = (matched >= 0) & (new.codes >= 0)
        pairs = np.bincount(matched[both] * n_new + new.codes[both], minlength=n_old * n_new)
        shared = pairs.reshape(n_old, n_new)
        old_sizes = np.bincount(matched[matched >= 0], minlength=n_old)
        new_sizes = np.bincount(new.codes[new.codes >= 0], minlength=n_new)
        all_old = np.bincount(old.codes[old.codes >= 0], minlength=n_old)
        former = _former(shared, old_sizes, new_sizes)
        return cls(shared, old_sizes, new_sizes, all_old, old.categories.tolist(), former)

    @property
    def n_old(self) -> int:
        return len(self.old_ids)

    def new_ids(self, used: tuple[Any, ...]) -> list[Any]:
        """Return an id for each new cluster that goes on none: the next numbers, or names beside names."""
        taken = {*used, *self.old_ids}
        numbers = [one for one in taken if isinstance(one, int) and not isinstance(one, bool)]
        wanted = int((self.former < 0).sum())
        if len(numbers) == len(taken):
            first = max(numbers) + 1
            return list(range(first, first + wanted))
        texts = {str(one) for one in taken}
        fresh = (f"new {number}" for number in range(1, wanted + len(taken) + 1))
        return [name for name in fresh if name not in texts][:wanted]

    def codes(self, ids: list[Any]) -> IntArray:
        """Return for each new cluster its number among the old ids followed by the new `ids`."""
        codes = self.former.copy()
        codes[codes < 0] = self.n_old + np.arange(len(ids))
        return codes

    def events(self, ids: list[Any]) -> list[Event]:
        """Return what became of all clusters; those that are simply kept come last."""
        names = [*self.old_ids, *ids]
        codes = self.codes(ids)
        found = self._splits(names, codes) + self._merges(names, codes)
        told = {one for event in found for one in ((*event.before, *event.after))}
        for new in np.flatnonzero(self.former < 0).tolist():
            if names[codes[new]] not in told:
                found.append(Event("birth", (), (names[codes[new]],), int(self.new_sizes[new])))
        for old in sorted(set(range(self.n_old)) - set(self.former.tolist())):
            if self._heir(old) < 0:
                found.append(Event("death", (names[old],), (), int(self.all_old[old])))
        kept = [(old, new) for new, old in enumerate(self.former.tolist()) if old >= 0]
        told = {one for event in found for one in event.before}
        return found + [
            Event("kept", (names[old],), (names[old],), int(self.shared[old, new]))
            for old, new in sorted(kept)
            if names[old] not in told
        ]

    def _parent(self, new: int) -> int:
        """Return the old cluster that at least half of a new one stems from, or -1."""
        old = int(self.shared[:, new].argmax())
        return old if self.shared[old, new] >= MOST * self.new_sizes[new] else -1

    def _heir(self, old: int) -> int:
        """Return the new cluster that took at least half of an old one, or -1."""
        new = int(self.shared[old].argmax())
        return new if self.shared[old, new] >= max(MOST * self.old_sizes[old], 1) else -1

    def _splits(self, names: list[Any], codes: IntArray) -> list[Event]:
        parts: dict[int, list[int]] = {}
        for new in np.flatnonzero(self.former < 0).tolist():
            if self._parent(new) >= 0:
                parts.setdefault(self._parent(new), []).append(new)
        found = []
        for old, born in sorted(parts.items()):
            every = [*np.flatnonzero(self.former == old).tolist(), *born]
            after = tuple(names[codes[one]] for one in every)
            found.append(Event("split", (names[old],), after, int(self.shared[old, every].sum())))
        return found

    def _merges(self, names: list[Any], codes: IntArray) -> list[Event]:
        sources: dict[int, list[int]] = {}
        for old in sorted(set(range(self.n_old)) - set(self.former.tolist())):
            if self._heir(old) >= 0:
                sources.setdefault(self._heir(old), []).append(old)
        found = []
        for new, ended in sorted(sources.items()):
            every = sorted({*ended, int(self.former[new])} - {-1})
            before = tuple(names[one] for one in every)
            found.append(Event("merge", before, (names[codes[new]],), int(self.shared[every, new].sum())))
        return found


def _former(shared: IntArray, old_sizes: IntArray, new_sizes: IntArray) -> IntArray:
    """Return for each new cluster the old one that it goes on, or -1."""
    fits = (shared >= MOST * np.maximum(old_sizes, 1)[:, None]) | (shared >= MOST * new_sizes)
    jaccard = np.where(fits & (shared > 0), shared / (old_sizes[:, None] + new_sizes - shared), 0.0)
    former = np.full(len(new_sizes), -1)
    rows, columns = linear_sum_assignment(-jaccard)
    same = jaccard[rows, columns] > 0
    former[columns[same]] = rows[same]
    return former

"""The rows in an order that follows from what they hold, so that the order of the objects cannot change a result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from quorate._data.coding import code_integers
from quorate._data.missing import DEFAULT, missing_rule
from quorate._types import AnyEnsemble, Consensus, E, Ensemble, FloatArray
from quorate.ops.coding import canonical
from quorate.ops.colours import refine_colours
from quorate.solvers.label_rows import likeliest_labels, take
from quorate.solvers.weights import relative_weights

MOST_ROUNDS = 12
"""Rounds of colouring; rows that are not told apart after so many hardly ever differ in anything."""

# an ensemble never changes, and is run for several numbers of clusters
_ordered: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


@dataclass(frozen=True)
class Ordered(Generic[E]):
    """An ensemble with its rows in the order of their content, and the way back.

    Row i is row `rows[i]` of the given ensemble, and cluster f of a member is the cluster `codes[member][f]` there.
    """

    ensemble: E
    rows: NDArray[np.intp]
    codes: tuple[NDArray[np.intp], ...]

    def restored(self, result: Consensus, by_member: tuple[str, ...]) -> Consensus:
        """The result with its labels, confidence, tree and facts about clusters as the given ensemble has them."""
        labels = np.empty_like(result.labels)
        labels[self.rows] = result.labels
        confidence = result.confidence
        if confidence is not None:
            confidence = np.empty(len(labels))
            confidence[self.rows] = result.confidence
        return replace(
            result,
            labels=canonical(labels, int(labels.max()) + 1),
            confidence=confidence,
            tree=None if result.tree is None else self._named_leaves(result.tree),
            info=self._own_codes(result.info, by_member),
        )

    def _named_leaves(self, tree: FloatArray) -> FloatArray:
        """The merges stay in their order, because clusters of equal height were cut in it; only leaves are renamed."""
        names = np.concatenate([self.rows, np.arange(len(self.rows), len(self.rows) + len(tree))])
        named = tree.copy()
        named[:, :2] = np.sort(names[tree[:, :2].astype(np.intp)], axis=1)
        return named

    def _own_codes(self, info: Mapping[str, Any], by_member: tuple[str, ...]) -> dict[str, Any]:
        restored = dict(info)
        for name in by_member:
            if restored.get(name) is not None:
                restored[name] = {
                    member: _scattered(values, self.codes[self.ensemble.member_names.index(member)])
                    for member, values in restored[name].items()
                }
        return restored


def in_row_order(ensemble: E) -> Ordered[E]:
    """Sort rows by count, the largest first, then by colour, and number the clusters of members by first appearance.

    Only rows that nothing tells apart, each the image of the other under a symmetry of the whole table, stay in their
    order. Rows are expected to be distinct. Soft rows are sorted by their likeliest labels, and their clusters keep
    their numbers, so that soft members that are labels come in the order of these labels.
    """
    known: Ordered[E] | None = _ordered.get(ensemble)
    if known is None:
        known = _ordered[ensemble] = _sorted_rows(ensemble)
    return known


def _sorted_rows(ensemble: E) -> Ordered[E]:
    colours = row_colours(ensemble)
    rows = np.lexsort((colours, -ensemble.counts)).astype(np.intp)
    sorted_rows = take(ensemble, rows, ensemble.counts[rows])
    if not isinstance(sorted_rows, Ensemble):
        return Ordered(sorted_rows, rows, tuple(np.arange(k) for k in ensemble.n_clusters))
    labels, codes = code_integers(sorted_rows.labels.astype(np.int64), ensemble.member_names, missing_rule(DEFAULT))
    categories = tuple(names[own] for names, own in zip(ensemble.categories, codes, strict=True))
    ordered = replace(sorted_rows, labels=labels, categories=categories)
    ordered.remember(is_distinct=ensemble.is_distinct)
    return Ordered(ordered, rows, tuple(own.astype(np.intp) for own in codes))


def row_colours(ensemble: AnyEnsemble) -> NDArray[np.uint64]:
    """A number for each row that follows from the content of the table alone.

    Twice as many objects of each row or larger weights in the same proportions are the same content.
    """
    counts = (ensemble.counts // np.gcd.reduce(ensemble.counts)).astype(np.uint64)
    members = relative_weights(ensemble).view(np.uint64).copy()
    rows: NDArray[np.uint64] = counts.copy()
    labels, n_colours = likeliest_labels(ensemble), 0
    for _ in range(MOST_ROUNDS):
        refine_colours(labels, ensemble.offsets, counts, members, rows)
        found = len(np.unique(rows))
        if found == n_colours or found == ensemble.n_rows:
            break
        n_colours = found
    return rows


def _scattered(values: Any, places: NDArray[np.intp]) -> NDArray[Any]:
    own: NDArray[Any] = np.empty_like(values)
    own[places] = values
    return own

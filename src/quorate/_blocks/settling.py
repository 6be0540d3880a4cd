"""What the values of all blocks mean: which of them are missing, which are the same label, and which are refused.

This happens once, after all blocks are coded, and looks only at the distinct values of each member and at the distinct
rows. The functions that decide are those for tables in memory, so that both give the same ensemble.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._blocks.row_table import RowTable, recoded
from quorate._data.building import build_ensemble
from quorate._data.coding import code_values, drop_missing, narrowest
from quorate._data.missing import DEFAULT, MissingRule, missing_rule
from quorate._data.suspects import refuse_suspects
from quorate._data.text_labels import label_column, warn_of_nulls
from quorate._types import Ensemble
from quorate.solvers import label_rows

Array = NDArray[Any]
Kind = str
"""Where values come from: "values" (arrays and data frames), "arrow" (Arrow columns), or "text", which has no type."""


class Reading(NamedTuple):
    """How the values are to be read, as for `load_labels`.

    With `takes_all`, objects without any label are kept, and members that label nothing are left out: new objects
    that are to be placed may well be so.
    """

    missing: Any = DEFAULT
    weights: Any = None
    skip_empty: bool = False
    check: bool = True
    declared: bool = False
    takes_all: bool = False


class MergedRows(NamedTuple):
    """The distinct rows of all blocks: their labels, their counts, and the value that each code stands for."""

    labels: Array
    counts: NDArray[np.int64]
    categories: tuple[Array, ...]


class Settled(NamedTuple):
    """The distinct rows of all blocks as an ensemble, and the row of it that each row of the table became.

    A row of the table without any label becomes -1; `n_skipped` is the number of its objects.
    """

    ensemble: Ensemble
    row_of: NDArray[np.int64]
    n_skipped: int


def merged_rows(table: RowTable) -> MergedRows:
    """Return the distinct rows of a table that all blocks were added to."""
    return MergedRows(table.labels, table.counts, tuple(values.array() for values in table.values))


def settle(rows: MergedRows, names: tuple[str, ...], kinds: Sequence[Kind], how: Reading, source: str) -> Settled:
    """Give the values of a table their meaning, and return its distinct rows as an ensemble.

    `kinds` has one kind for each member, and `source` is what error messages call the data.
    """
    if not len(rows.labels):
        raise ValueError(f"{source} holds no rows; at least one object is needed.")
    rule = missing_rule(how.missing)
    members = zip(rows.categories, names, kinds, strict=True)
    coded = [_meaning(values, name, kind, rule) for values, name, kind in members]
    # codes that stay as they are cannot make two rows one
    unchanged = all(np.array_equal(codes, np.arange(len(codes))) for codes, _ in coded)
    categories = tuple(labels for _, labels in coded)
    dtype = narrowest(max(map(len, categories)))
    labels = recoded(rows.labels, [np.append(codes, -1) for codes, _ in coded], dtype)
    if how.takes_all:
        known = [place for place, values in enumerate(categories) if len(values)]
        labels, names = labels[:, known], tuple(names[place] for place in known)
        categories = tuple(categories[place] for place in known)
        if not known:
            raise ValueError(f"{source}: no member labels any object.")
    empty = (labels.max(axis=1) < 0) & (not how.takes_all)
    n_skipped = int(rows.counts[empty].sum())
    if n_skipped and not how.skip_empty:
        refuse_unlabelled_objects(n_skipped, int(rows.counts.sum()), source)
    if how.check:
        counts = rows.counts
        refuse_suspects(labels, names, categories, source=source, declared=how.declared, counts=counts)
    stacked = build_ensemble(labels, names, categories, weights=how.weights, counts=rows.counts, keep_unlabelled=True)
    return _without_empty(stacked, empty, n_skipped, unchanged=unchanged)


def _meaning(values: Array, name: str, kind: Kind, rule: MissingRule) -> tuple[Array, Array]:
    """Return the code that each value becomes, -1 for a missing one, and the labels of the codes."""
    if not len(values):
        return np.empty(0, dtype=np.int64), values
    if kind == "text":
        return label_column(np.arange(len(values)), values.tolist(), name, rule)
    if kind == "arrow" and values.dtype.kind == "O":
        known = values.tolist()
        missing = [rule.covers(value) or value == "" for value in known]
        warn_of_nulls(known, missing, name)
        return drop_missing(np.arange(len(known)), known, missing, name, rule)
    return code_values(values, name, rule)


def _without_empty(ensemble: Ensemble, empty: NDArray[np.bool_], n_skipped: int, *, unchanged: bool) -> Settled:
    """Merge rows that became equal, and drop rows without labels, in order of first appearance."""
    if unchanged and not n_skipped:
        ensemble.remember(is_distinct=True, is_proven=True)
        return Settled(ensemble, np.arange(ensemble.n_rows), 0)
    kept = np.flatnonzero(~empty)
    part = label_rows.take(ensemble, kept, ensemble.counts[kept]) if n_skipped else ensemble
    first, inverse = label_rows.distinct(part)
    counts = np.bincount(inverse, weights=part.counts).astype(np.int64)
    rows = label_rows.take(part, first, counts) if len(first) < part.n_rows else part
    rows.remember(is_distinct=True, is_proven=True)
    row_of = np.full(ensemble.n_rows, -1, dtype=np.int64)
    row_of[kept] = inverse
    return Settled(rows, row_of, n_skipped)


def refuse_unlabelled_objects(n_empty: int, n_objects: int, source: str) -> None:
    """Raise because some objects have no label in any member."""
    raise ValueError(
        f"{source}: {n_empty:,} of {n_objects:,} objects {_check.has(n_empty)} no label in any member; leave them out: "
        f"nothing is known about them (skip_empty=True; shell: --skip-empty)."
    )

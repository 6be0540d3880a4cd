"""One labelling from a file, put in the order of the objects of an ensemble; what `quorate score` reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._data.ensemble import as_ensemble
from quorate._data.missing import DEFAULT
from quorate._data.selection import select_members_by_name
from quorate._io.load import choose_columns, load_chosen, refuse_ids
from quorate._io.paths import FilePath, name_of
from quorate._io.text import Choice
from quorate._types import Ensemble

Array = NDArray[Any]


class Labelling(NamedTuple):
    """Labels, and the truth where the file has it, one an object; what the labels stand for in the file."""

    labels: Array
    truth: Array | None
    categories: Array

    def named(self) -> Array:
        """The labels as they are in the file."""
        return self.categories[self.labels]


def load_with_truth(
    path: FilePath,
    truth: str | None,
    *,
    ids: str | None = None,
    columns: Sequence[str] | None = None,
    missing: Any = DEFAULT,
    weights: Any = None,
) -> tuple[Ensemble, Array | None]:
    """As `load_labels`, with the column `truth`, if the file has it, taken out of the members."""

    def choose(names: tuple[str, ...]) -> Choice:
        choice = choose_columns(names, ids, columns, name_of(path))
        extra = () if truth is None or truth not in names or truth in choice.members else (truth,)
        return Choice(choice.ids, (*choice.members, *extra))

    ensemble = load_chosen(path, choose, missing=missing)
    if ids is None and columns is None:
        refuse_ids(ensemble, path)
    found = None
    if truth is not None and truth in ensemble.member_names:
        found = ensemble.labels[:, ensemble.member_names.index(truth)]
        members = tuple(name for name in ensemble.member_names if name != truth)
        if not members:
            raise ValueError(f"{name_of(path)} has no column beside the truth {truth!r}; members were expected.")
        ensemble = select_members_by_name(ensemble, members)
    return as_ensemble(ensemble, weights=weights), found


def load_labelling(
    path: FilePath, ensemble: Ensemble, *, column: str = "label", ids: str | None = None, truth: str | None = None
) -> Labelling:
    """Read `column`, and `truth` if it is there; rows are matched by id where both sides have ids, else by order."""
    source = name_of(path)

    def choose(names: tuple[str, ...]) -> Choice:
        if not names:
            return Choice(None, ())
        id_column = next((name for name in (ids, "id") if name in names), None)
        found = column if column in names else _only_column(names, id_column, truth, source, column)
        extra = () if truth is None or truth not in names or truth == found else (truth,)
        return Choice(id_column if ensemble.object_ids is not None else None, (found, *extra))

    table = load_chosen(path, choose, orientation="objects")
    if ensemble.object_ids is not None and table.object_ids is not None:
        order = _places(ensemble.object_ids, table.object_ids, source)
        table = replace(table, labels=table.labels[order], object_ids=None)
    if table.n_rows != ensemble.n_rows:
        raise ValueError(
            f"{source} labels {table.n_rows:,} objects, but the table of labels has {ensemble.n_rows:,}; rows are "
            f"matched by order unless both files have an id column (--id)."
        )
    if table.labels[:, 0].min() < 0:
        raise ValueError(f"{source} leaves {int((table.labels[:, 0] < 0).sum()):,} objects without a label.")
    has_truth = truth is not None and truth in table.member_names[1:]
    if table.n_members > 1 + has_truth:
        raise ValueError(f"{source} holds {table.n_members} labellings without names; one was expected.")
    return Labelling(table.labels[:, 0], table.labels[:, 1] if has_truth else None, table.categories[0])


def _only_column(names: tuple[str, ...], ids: str | None, truth: str | None, source: str, column: str) -> str:
    rest = [name for name in names if name not in (ids, truth, "confidence")]
    if len(rest) == 1:
        return rest[0]
    raise ValueError(
        f"{source} has no column {column!r}; its columns are {', '.join(map(repr, names))}. Name the column that "
        f"holds the labelling with --label."
    )


def _places(wanted: Array, found: Array, source: str) -> Array:
    """For each wanted id its row among those found; all ids must be on both sides."""
    place = {str(name): row for row, name in enumerate(found.tolist())}
    rows = [place.pop(str(name), None) for name in wanted.tolist()]
    lost = [str(name) for name, row in zip(wanted.tolist(), rows, strict=True) if row is None]
    if lost:
        raise ValueError(f"{source} has no label for {len(lost):,} of {len(wanted):,} objects: {_few(lost)}.")
    if place:
        raise ValueError(f"{source} labels {len(place):,} objects that are not in the table: {_few(list(place))}.")
    return np.array(rows, dtype=np.intp)


def _few(names: list[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")

"""Reading one labelling from a file in the order of the objects of an ensemble, for `quorate score`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from quorate import _check
from quorate._data.alignment import order_of
from quorate._data.ensemble import with_options
from quorate._data.missing import DEFAULT
from quorate._data.proof import vary
from quorate._data.selection import select_members
from quorate._io.choosing import Columns, load_sources
from quorate._io.load import Reading, load_chosen, settled
from quorate._io.paths import FilePath, name_of
from quorate._io.text import Choice
from quorate._types import Ensemble

Array = NDArray[Any]


class Labelling(NamedTuple):
    """One labelling: codes, one per object, and the values in the file that they stand for.

    `truth` holds the codes of the true labels, or None if the file has none.
    """

    labels: Array
    truth: Array | None
    categories: Array

    def named(self) -> Array:
        """Return the labels as they are in the file."""
        return self.categories[self.labels]


def load_with_truth(
    path: FilePath | Sequence[FilePath],
    truth: str | None,
    *,
    ids: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    missing: Any = DEFAULT,
    weights: Any = None,
    sep: str | None = None,
    skip_empty: bool = False,
    check: bool = True,
    formulas: str = "keep",
) -> tuple[Ensemble, Array | None]:
    """Load labels as `load_labels` does, but return the column `truth`, if a file has it, beside the ensemble."""
    how = Reading(missing, None, sep, check, declared=columns is not None, formulas=formulas)
    wanted = Columns(ids, columns, tuple(drop), beside=truth)
    ensemble = load_sources(path, wanted, lambda file, choose: load_chosen(file, choose, how))
    true_labels = None
    if truth is not None and truth in ensemble.member_names:
        place = ensemble.member_names.index(truth)
        true_labels = ensemble.labels[:, place]
        members = [member for member in range(ensemble.n_members) if member != place]
        if not members:
            raise ValueError(f"the truth {truth!r} is the only column of labels; at least one column must be a member.")
        ensemble = select_members(ensemble, members)
    ensemble, kept = settled(ensemble, skip_empty)
    if true_labels is not None and kept is not None:
        true_labels = true_labels[kept]
    return with_options(ensemble, weights, None, None), true_labels


def load_labelling(
    path: FilePath,
    ensemble: Ensemble,
    *,
    column: str = "label",
    ids: str | None = None,
    truth: str | None = None,
    sep: str | None = None,
    formulas: str = "keep",
) -> Labelling:
    """Read the labelling in `column`, and the true labels in `truth` if the file has that column.

    Rows are matched to the objects of the ensemble by id if both have ids, otherwise by their order.
    """
    source = name_of(path)

    def choose(names: tuple[str, ...]) -> Choice:
        if not names:
            return Choice(None, ())
        id_column = next((name for name in (ids, ensemble.id_name, "id") if name in names), None)
        label_column = column if column in names else only_column(names, id_column, truth, source, column)
        extra = () if truth is None or truth not in names or truth == label_column else (truth,)
        return Choice(id_column if ensemble.object_ids is not None else None, (label_column, *extra))

    table = load_chosen(path, choose, Reading(orientation="objects", sep=sep, check=False, formulas=formulas))
    if table.object_ids is not None:
        order = order_of(ensemble.object_ids, table.object_ids, source)
        if order is not None:
            table = vary(table, labels=table.labels[order], counts=table.counts[order], object_ids=None)
    if table.n_rows != ensemble.n_rows:
        raise ValueError(
            f"{source} labels {_check.counted(table.n_rows, 'object')}, but the table of labels has "
            f"{ensemble.n_rows:,}; rows are matched by order unless both files have an id column (--id)."
        )
    if table.labels[:, 0].min() < 0:
        raise ValueError(
            f"{source} leaves {_check.counted(int((table.labels[:, 0] < 0).sum()), 'object')} without a label."
        )
    has_truth = truth is not None and truth in table.member_names[1:]
    if table.n_members > 1 + has_truth:
        raise ValueError(f"{source} holds {table.n_members} labellings without names; one was expected.")
    return Labelling(table.labels[:, 0], table.labels[:, 1] if has_truth else None, table.categories[0])


def only_column(names: tuple[str, ...], ids: str | None, truth: str | None, source: str, column: str) -> str:
    """Return the only column that can hold the labelling, if the file has none of the name `column`."""
    rest = [name for name in names if name not in (ids, truth, "confidence")]
    if len(rest) == 1:
        return rest[0]
    raise ValueError(
        f"{source} has no column {column!r}; its columns are {', '.join(map(repr, names))}. Name the column that "
        f"holds the labelling with --label."
    )

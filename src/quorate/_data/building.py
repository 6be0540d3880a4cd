"""The one maker of an Ensemble: coded columns in, a checked Ensemble out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._data.proof import prove_counts
from quorate._types import Ensemble, read_only

Array = NDArray[Any]


class EmptyMemberError(ValueError):
    """Raised where members label no object at all; `members` are their names."""

    def __init__(self, members: list[str]) -> None:
        super().__init__(f"{', '.join(map(repr, members))} labels no object at all; leave it out.")
        self.members = members


def build_ensemble(
    labels: Array,
    names: tuple[str, ...],
    categories: tuple[Array, ...],
    *,
    weights: Any = None,
    counts: Any = None,
    ids: Any = None,
    info: Mapping[str, Any] | None = None,
) -> Ensemble:
    """Check what was coded and make an Ensemble of it.

    Parameters
    ----------
    labels : array of shape (n_rows, n_members)
        Codes by first appearance in each column, -1 where the label is missing.
    names : tuple of str
        One name per member.
    categories : tuple of arrays
        For each member, the label that each code stands for.
    weights, counts, ids, info
        As in `Ensemble`; None stands for weights of 1, counts of 1, no ids and no information.

    Returns
    -------
    Ensemble
    """
    refuse_unlabelled(labels, names, categories)
    values = as_counts(counts, len(labels))
    prove_counts(values, len(names))
    ensemble = Ensemble(
        labels=labels,
        counts=values,
        n_clusters=np.array([len(values) for values in categories], dtype=np.int64),
        weights=as_weights(weights, len(names)),
        member_names=names,
        categories=categories,
        object_ids=None if ids is None else as_ids(ids, len(labels)),
        info=info or {},
    )
    ensemble.remember(is_proven=True)
    return ensemble


def refuse_unlabelled(labels: Array, names: tuple[str, ...], categories: tuple[Array, ...]) -> None:
    """Raise where a member labels no object, or where an object has no label in any member."""
    empty = [name for name, values in zip(names, categories, strict=True) if len(values) == 0]
    if empty:
        raise EmptyMemberError(empty)
    if labels.min() >= 0:
        return
    silent = np.flatnonzero(labels.max(axis=1) < 0)
    if len(silent):
        shown = ", ".join(str(row) for row in silent[:5]) + (", ..." if len(silent) > 5 else "")
        raise ValueError(
            f"{len(silent)} of {len(labels)} objects have no label in any member (rows {shown}, counted from 0); "
            f"leave them out: nothing is known about them."
        )


def as_weights(weights: Any, n_members: int) -> NDArray[np.float64]:
    """One positive, finite weight per member; ones where none are given."""
    if weights is None:
        return np.ones(n_members)
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (n_members,):
        raise ValueError(f"weights must have one value per member, {n_members} in all, got shape {values.shape}.")
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError("weights must be positive and finite; leave out a member that should not count.")
    return values


def as_counts(counts: Any, n_rows: int) -> NDArray[np.int64]:
    """One count of at least 1 per row; ones where none are given."""
    if counts is None:
        return np.ones(n_rows, dtype=np.int64)
    values = np.asarray(counts)
    if values.shape != (n_rows,):
        raise ValueError(f"counts must have one value per row, {n_rows:,} in all, got shape {values.shape}.")
    if values.dtype.kind not in "iu" or values.min() < 1 or values.max() > np.iinfo(np.int64).max:
        raise ValueError("counts must be integers of at least 1: how many objects each row stands for.")
    return values.astype(np.int64)


def as_ids(ids: Any, n_rows: int) -> Array:
    """One id per object, as an array that cannot be written to."""
    values = np.asarray(ids)
    if values.shape != (n_rows,):
        raise ValueError(f"ids must have one value per object, {n_rows:,} in all, got shape {values.shape}.")
    return read_only(values)

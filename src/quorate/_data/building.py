"""The one place where an Ensemble is made: it checks columns that are coded already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.alignment import refuse_repeated
from quorate._data.proof import prove_counts
from quorate._types import Ensemble, read_only

Array = NDArray[Any]


class EmptyMemberError(ValueError):
    """Raised if members label no object at all; `members` are the names of these members."""

    def __init__(self, members: list[str]) -> None:
        verb, which = ("labels", "it") if len(members) == 1 else ("label", "them")
        super().__init__(f"{', '.join(map(repr, members))} {verb} no object at all; leave {which} out.")
        self.members = members


def build_ensemble(
    labels: Array,
    names: tuple[str, ...],
    categories: tuple[Array, ...],
    *,
    weights: Any = None,
    counts: Any = None,
    ids: Any = None,
    id_name: str = "id",
    info: Mapping[str, Any] | None = None,
    keep_unlabelled: bool = False,
) -> Ensemble:
    """Check coded labels and make an Ensemble of them.

    Parameters
    ----------
    labels : array of shape (n_rows, n_members)
        Codes in order of first appearance in each column, -1 for a missing label.
    names : tuple of str
        One name per member.
    categories : tuple of arrays
        For each member, the label that each code stands for.
    weights, counts, ids, id_name, info
        As in `Ensemble`; None stands for weights of 1, counts of 1, no ids and no information. Weights may be a
        mapping from names of members.
    keep_unlabelled : bool
        Whether rows without any label are accepted, because the caller checks or removes them later.

    Returns
    -------
    Ensemble
    """
    refuse_empty_members(names, categories)
    if not keep_unlabelled:
        refuse_unlabelled(labels)
    values = as_counts(counts, len(labels))
    prove_counts(values, len(names))
    ensemble = Ensemble(
        labels=labels,
        counts=values,
        n_clusters=np.array([len(values) for values in categories], dtype=np.int64),
        weights=as_weights(weights, names),
        member_names=names,
        categories=categories,
        object_ids=None if ids is None else as_ids(ids, len(labels)),
        info=info or {},
        id_name=id_name,
    )
    ensemble.remember(is_proven=True)
    return ensemble


def refuse_empty_members(names: tuple[str, ...], categories: tuple[Array, ...]) -> None:
    """Raise if a member labels no object."""
    empty = [name for name, values in zip(names, categories, strict=True) if len(values) == 0]
    if empty:
        raise EmptyMemberError(empty)


def unlabelled_rows(labels: Array) -> NDArray[np.intp]:
    """Return the numbers of the rows that have no label in any member."""
    return np.flatnonzero(labels.max(axis=1) < 0) if labels.min() < 0 else np.empty(0, dtype=np.intp)


def refuse_unlabelled(labels: Array) -> None:
    """Raise if an object has no label in any member."""
    unlabelled = unlabelled_rows(labels)
    if len(unlabelled):
        shown = ", ".join(str(row) for row in unlabelled[:5]) + (", ..." if len(unlabelled) > 5 else "")
        raise ValueError(
            f"{len(unlabelled):,} of {len(labels):,} objects {_check.has(len(unlabelled))} no label in any member "
            f"(rows {shown}, counted from 0); leave them out: nothing is known about them "
            f"(load_labels: skip_empty=True; shell: --skip-empty)."
        )


def as_weights(weights: Any, names: tuple[str, ...]) -> NDArray[np.float64]:
    """Return one positive, finite weight per member.

    The weight is 1 if no weights are given, and for members that a mapping of weights does not name.
    """
    n_members = len(names)
    if weights is None:
        return np.ones(n_members)
    if isinstance(weights, Mapping) or _is_named_series(weights):
        weights = _weights_by_name(dict(weights.items()), names)
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"weights must be numbers, one per member, got {_check.brief(weights)}.") from None
    if values.shape != (n_members,):
        raise ValueError(f"weights must have one value per member, {n_members} in all, got shape {values.shape}.")
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError("weights must be positive and finite; leave out a member that should not count.")
    return values


def _is_named_series(weights: Any) -> bool:
    """Whether this is a pandas Series whose index holds texts, which are names of members."""
    index: Any = getattr(weights, "index", None)
    return hasattr(index, "tolist") and all(isinstance(name, str) for name in index.tolist())


def _weights_by_name(weights: dict[Any, Any], names: tuple[str, ...]) -> list[Any]:
    for name in weights:
        if name not in names:
            meant = _check.did_you_mean(name, names)
            raise ValueError(
                f"weights name {name!r}, which is no member{meant}; the members are {', '.join(map(repr, names[:20]))}"
                f"{', ...' if len(names) > 20 else '.'}"
            )
    return [weights.get(name, 1.0) for name in names]


def as_counts(counts: Any, n_rows: int) -> NDArray[np.int64]:
    """Return one count of at least 1 per row; all are 1 if none are given."""
    if counts is None:
        return np.ones(n_rows, dtype=np.int64)
    values = np.asarray(counts)
    if values.shape != (n_rows,):
        raise ValueError(f"counts must have one value per row, {n_rows:,} in all, got shape {values.shape}.")
    if values.dtype.kind not in "iu" or values.min() < 1 or values.max() > np.iinfo(np.int64).max:
        raise ValueError("counts must be integers of at least 1: how many objects each row stands for.")
    return values.astype(np.int64)


def as_ids(ids: Any, n_rows: int) -> Array:
    """Return one id per object, as an array that cannot be written to."""
    values = np.asarray(ids)
    if values.shape != (n_rows,):
        raise ValueError(f"ids must have one value per object, {n_rows:,} in all, got shape {values.shape}.")
    refuse_repeated(values, "ids")
    return read_only(values)

"""The one place where the properties that compiled code relies on are proven: indices, starts, shapes, counts, types.

Kernels do not check whether an index lies within an array: a label that is too large would make them read or write
memory outside of it. `as_ensemble` and similar functions make ensembles that are right by construction, and mark them
as proven. An ensemble made by hand, or by `dataclasses.replace`, is proven by the first public function that gets it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._check import brief, counted
from quorate._data.coding import by_columns
from quorate._types import AnyEnsemble, E, Ensemble, SoftEnsemble

Array = NDArray[Any]

MAX_OBJECTS = 2**53
"""The largest sum of all counts. Up to this number float64 holds every integer, so that sums of counts are exact in
float64 as well as in int64."""
MAX_LABELS = 2**60
"""The largest number of objects times members, so that twice the number of labels, as in `correlation`, fits int64."""
_ADVICE = "make it with as_ensemble, or give dataclasses.replace every field that the change concerns."


def proven(ensemble: E) -> E:
    """Return the ensemble after checking everything that kernels rely on; each ensemble is checked only once."""
    if not isinstance(ensemble, Ensemble | SoftEnsemble):
        raise TypeError(
            f"an Ensemble was expected, got {type(ensemble).__name__}; make one with as_ensemble(labels) or "
            f"as_soft_ensemble(members)."
        )
    if not ensemble.is_proven:
        _prove_members(ensemble)
        counts = np.asarray(ensemble.counts)
        _require(counts.ndim == 1 and counts.dtype == np.int64, "counts must be a 1-D array of int64", counts)
        prove_counts(counts, ensemble.n_members)
        if isinstance(ensemble, Ensemble):
            _prove_labels(ensemble)
        else:
            _prove_memberships(ensemble)
        ensemble.remember(is_proven=True)
    return ensemble


def vary(ensemble: E, **changes: Any) -> E:
    """Do what `dataclasses.replace` does, but keep the mark that the ensemble is proven.

    The caller must have checked the changes, or the changes must be such that they cannot break the proof.
    """
    varied: E = replace(ensemble, **changes)
    varied.remember(is_proven=ensemble.is_proven)
    return varied


def prove_counts(counts: NDArray[np.int64], n_members: int) -> None:
    """Raise unless all counts are at least 1 and no sum of them can overflow int64 or lose digits in float64."""
    if not len(counts):
        raise ValueError("an ensemble must hold at least one row, got none.")
    if counts.min() < 1:
        raise ValueError(f"counts must be at least 1: how many objects each row stands for; got {counts.min()}.")
    # the sum in float64 cannot overflow, and has far more correct digits than this comparison needs
    total = float(counts.sum(dtype=np.float64))
    total = int(counts.sum()) if total < 2 * MAX_OBJECTS else int(total)
    if total > MAX_OBJECTS:
        raise ValueError(
            f"counts add up to {total:,} objects, and at most 2^53 = {MAX_OBJECTS:,} can be counted exactly; "
            f"divide the counts by a common factor."
        )
    if total * n_members > MAX_LABELS:
        raise ValueError(
            f"{total:,} objects of {n_members:,} members are more than 2^60 labels, whose sums would not fit into 64 "
            f"bits; divide the counts by a common factor."
        )


def _prove_members(ensemble: AnyEnsemble) -> None:
    clusters, weights = np.asarray(ensemble.n_clusters), np.asarray(ensemble.weights)
    n_members = len(clusters) if clusters.ndim == 1 else 0
    _require(n_members > 0 and clusters.dtype == np.int64, "n_clusters must be a 1-D array of int64", clusters)
    _require(clusters.min() >= 1, "n_clusters must be at least 1 for each member", clusters)
    _require(
        weights.shape == (n_members,) and weights.dtype == np.float64, "weights must be float64, one each", weights
    )
    _require(bool(np.all((weights > 0) & (weights < np.inf))), "weights must be positive and finite", weights)
    named, known = len(ensemble.member_names), [len(values) for values in ensemble.categories]
    if named != n_members or known != clusters.tolist():
        raise ValueError(
            f"an ensemble of {n_members:,} members must have as many names, and as many categories for each member as "
            f"it has clusters; got {named:,} names and {brief(known)} categories for {brief(clusters.tolist())} "
            f"clusters; {_ADVICE}"
        )


def _prove_labels(ensemble: Ensemble) -> None:
    labels, shape = ensemble.labels, (len(ensemble.counts), len(ensemble.n_clusters))
    _require(labels.shape == shape, f"labels must have the shape {shape} of counts and n_clusters", labels)
    whole = labels.dtype.kind == "i" and labels.dtype.isnative
    _require(whole, "labels must be signed integers in the byte order of this machine", labels)
    ids = ensemble.object_ids
    _require(ids is None or np.shape(ids) == shape[:1], "object_ids must have one value per row", np.asarray(ids))
    low, highest = int(labels.min()), by_columns(labels, np.max)
    too_high = np.flatnonzero(highest >= ensemble.n_clusters)
    if low < -1 or len(too_high):
        member = int(too_high[0]) if len(too_high) else int(np.argmin(labels.min(axis=0)))
        code = highest[member] if len(too_high) else low
        raise ValueError(
            f"labels of an Ensemble are codes from 0 to n_clusters - 1, or -1 where missing; member {member} has "
            f"{counted(int(ensemble.n_clusters[member]), 'cluster')} and the code {code:,}; {_ADVICE}"
        )


def _prove_memberships(ensemble: SoftEnsemble) -> None:
    if ensemble.n_objects * ensemble.n_members >= 2**31:
        raise ValueError(
            f"{ensemble.n_objects:,} objects of {ensemble.n_members} soft members are too many: sums of memberships "
            f"are exact up to 2^31 objects times members; pass labels (quorate.harden of parts), or fewer members."
        )
    columns, memberships = ensemble.columns, ensemble.memberships
    flat = columns.ndim == 1 and columns.dtype == np.int32
    _require(flat, "columns must be a 1-D array of int32", columns)
    alike = memberships.shape == columns.shape and memberships.dtype == np.int32
    _require(alike, "memberships must be int32, one for each of the columns", memberships)
    _require(ensemble.starts.dtype == np.int64, "starts must be int64", ensemble.starts)
    prove_compressed(ensemble.starts, columns, (ensemble.n_rows, int(ensemble.n_clusters.sum())), "a SoftEnsemble")
    if len(columns):
        rising = np.ones(len(columns), dtype=bool)
        rising[1:] = columns[1:] > columns[:-1]
        rising[ensemble.starts[:-1][ensemble.starts[:-1] < len(columns)]] = True
        _require(bool(rising.all()), "columns must rise within each row", columns)
        within = memberships.min() >= 1 and memberships.max() <= ensemble.unit
        _require(bool(within), f"memberships must lie between 1 and {ensemble.unit}", memberships)


def prove_compressed(starts: Array, indices: Array, shape: tuple[int, int], name: str) -> None:
    """Raise unless indices[starts[i]:starts[i + 1]] lie within [0, shape[1]) for each i below shape[0]."""
    n_rows, n_columns = shape
    for array, what in ((starts, "starts"), (indices, "indices")):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise ValueError(f"{name} must have 1-D {what} of integers, got {array.dtype} of shape {array.shape}.")
    if len(starts) != n_rows + 1 or starts[0] != 0 or starts[-1] != len(indices) or (starts[1:] < starts[:-1]).any():
        raise ValueError(
            f"{name} of {n_rows:,} rows and {len(indices):,} values must have {n_rows + 1:,} starts that rise from 0 "
            f"to {len(indices):,}; it has {len(starts):,}, {brief(starts[:10].tolist())}."
        )
    prove_indices(indices, n_columns, name)


def prove_indices(indices: Array, size: int, name: str) -> None:
    """Raise unless all indices lie within [0, size)."""
    if len(indices) and not (indices.min() >= 0 and indices.max() < size):
        raise ValueError(
            f"{name} must have indices from 0 to {size - 1:,}, got some from {indices.min():,} to {indices.max():,}; "
            f"it is damaged, or its shape is wrong."
        )


def _require(holds: bool, wanted: str, array: Array) -> None:
    if not holds:
        raise ValueError(
            f"{wanted}; got {array.dtype} of shape {array.shape}, {brief(np.ravel(array)[:5].tolist())}; {_ADVICE}"
        )

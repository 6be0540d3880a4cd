"""The one door for data (as_ensemble), and exact compression to distinct rows (compress, merge)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._data.coding import code_integers, code_table, narrowest
from quorate._data.missing import DEFAULT, missing_rule
from quorate._data.tables import as_table, holds_matrices
from quorate._types import NEEDS_LABELS, E, Ensemble, SoftEnsemble, read_only
from quorate.solvers.label_rows import distinct, take


def as_ensemble(
    labels: Any,
    *,
    weights: Any = None,
    missing: Any = DEFAULT,
    orientation: str | None = None,
    ids: Any = None,
    counts: Any = None,
) -> Ensemble:
    """Check and code a table of labels: one row an object, one column a member.

    Parameters
    ----------
    labels : array, data frame, list of label vectors, mapping of label vectors, or Ensemble
        Labels of any type: integers, floats, texts, categories. A list holds one label vector a member; in
        arrays and data frames rows are objects. A vector alone is an ensemble of one member.
    weights : array of shape (n_members,), optional
        Positive member weights; 1 each by default.
    missing : value or list of values, default -1
        What stands for a missing label. None, NaN, NaT and nulls of data frames always do. Where something
        is declared, -1 no longer is missing; other negative integers are an error either way.
        An empty list makes every value that is not null a label.
    orientation : {"objects", "members"}, optional
        What one row (of an array or data frame) or one item (of a list) stands for. A table with more
        members than objects is refused without it.
    ids : str or array of shape (n_objects,), optional
        Names of the objects, or the name of the column of a data frame that holds them. A pandas index
        other than 0..n-1 is used by itself.
    counts : array of shape (n_objects,), optional
        How many objects each row stands for, where the table is aggregated already.

    Returns
    -------
    Ensemble

    Examples
    --------
    >>> ensemble = as_ensemble([["a", "a", "b", None], [1, 1, 2, 2]])
    >>> ensemble
    Ensemble(4 objects, 2 members, 2 clusters, labels missing)
    >>> ensemble.labels
    array([[ 0,  0],
           [ 0,  0],
           [ 1,  1],
           [-1,  1]], dtype=int8)
    """
    if isinstance(labels, SoftEnsemble) or holds_matrices(labels):
        raise TypeError(NEEDS_LABELS)
    if isinstance(labels, Ensemble):
        if missing != DEFAULT or orientation is not None:
            raise ValueError("missing and orientation say how to read a table, but labels are an Ensemble already.")
        return _with_options(labels, weights, ids, counts)
    rule = missing_rule(missing)
    table = as_table(labels, orientation, ids if isinstance(ids, str) else None)
    if table.block is not None:
        matrix, categories = code_integers(table.block, table.names, rule)
    else:
        matrix, categories = code_table(table.columns, table.names, rule)
    refuse_unlabelled(matrix, table.names, categories)
    found_ids = table.ids if ids is None or isinstance(ids, str) else as_ids(ids, len(matrix))
    return Ensemble(
        labels=matrix,
        counts=as_counts(counts, len(matrix)),
        n_clusters=np.array([len(found) for found in categories], dtype=np.int64),
        weights=as_weights(weights, matrix.shape[1]),
        member_names=table.names,
        categories=categories,
        object_ids=found_ids,
    )


def compress(ensemble: E) -> tuple[E, NDArray[np.intp]]:
    """Distinct rows with counts, in order of first appearance; lossless.

    Objects with equal label rows cannot be told apart by any method that sees labels alone, so one row
    with their number stands for all of them.

    Returns
    -------
    ensemble : Ensemble, or SoftEnsemble where that was given
        One row for each distinct row, counts added up.
    inverse : array of shape (n_rows,)
        Where each row went: ``compressed.labels[inverse]`` is the input again.

    Examples
    --------
    >>> rows, inverse = compress(as_ensemble([[0, 1, 0, 0], [0, 1, 0, 1]]))
    >>> rows.labels.tolist(), rows.counts.tolist(), inverse.tolist()
    ([[0, 0], [1, 1], [0, 1]], [2, 1, 1], [0, 1, 0, 2])
    """
    first, inverse = distinct(ensemble)
    if len(first) == ensemble.n_rows:
        return replace(ensemble, object_ids=None), inverse
    # bincount adds in float64, which is exact below 2**53 objects; where all counts are 1 it need not make them floats
    alone = ensemble.n_objects == ensemble.n_rows
    counts = np.bincount(inverse, weights=None if alone else ensemble.counts).astype(np.int64)
    return take(ensemble, first, counts), inverse


def merge(parts: Iterable[Ensemble]) -> tuple[Ensemble, list[NDArray[np.intp]]]:
    """One compressed ensemble out of several that speak of different objects.

    Parts may be coded each by itself: their categories say what the codes mean, so `merge` of
    ``compress(as_ensemble(chunk))[0]`` over the chunks of a table equals compressing the whole table.

    Returns
    -------
    ensemble : Ensemble
        The distinct rows of all parts, counts added up.
    where : list of arrays
        For each part, where its rows went.

    Examples
    --------
    >>> chunks = [as_ensemble(["x", "y", "x"]), as_ensemble(["y", "z"])]
    >>> whole, where = merge(compress(chunk)[0] for chunk in chunks)
    >>> whole.counts.tolist(), [w.tolist() for w in where]
    ([2, 2, 1], [[0, 1], [1, 2]])
    """
    parts = list(parts)
    if not parts:
        raise ValueError("merge needs at least one ensemble, got none.")
    _refuse_different(parts)
    categories, codings = _common_categories(parts)
    dtype = narrowest(max(len(found) for found in categories))
    labels = np.concatenate([_recode(p.labels, c, dtype) for p, c in zip(parts, codings, strict=True)])
    stacked = replace(
        parts[0],
        labels=labels,
        counts=np.concatenate([part.counts for part in parts]),
        n_clusters=np.array([len(found) for found in categories], dtype=np.int64),
        categories=categories,
    )
    merged, inverse = compress(stacked)
    edges = np.cumsum([part.n_rows for part in parts])[:-1]
    return merged, np.split(inverse, edges)


def _common_categories(parts: list[Ensemble]) -> tuple[tuple[NDArray[Any], ...], list[list[NDArray[Any]]]]:
    """Categories of all parts by first appearance, and for each part and member its codes' new codes."""
    categories = []
    codings: list[list[NDArray[Any]]] = [[] for _ in parts]
    for member in range(parts[0].n_members):
        numbers: dict[Any, int] = {}
        values = _one_type([part.categories[member] for part in parts])
        for labels, coding in zip(values, codings, strict=True):
            found = [numbers.setdefault(v, len(numbers)) for v in labels.tolist()]
            # the last place serves code -1, which stays missing
            coding.append(np.array([*found, -1], dtype=np.int64))
        categories.append(_gather(values, [coding[-1][:-1] for coding in codings], len(numbers)))
    return tuple(categories), codings


def _one_type(values: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """Categories of several parts in one type: as objects where NumPy would turn numbers into texts."""
    kinds = {labels.dtype.kind for labels in values}
    common = np.result_type(*values) if len(kinds) == 1 or kinds <= set("bif") else np.dtype(object)
    return [labels.astype(common) for labels in values]


def _gather(values: list[NDArray[Any]], places: list[NDArray[Any]], size: int) -> NDArray[Any]:
    stacked = np.concatenate(values)
    gathered = np.empty(size, dtype=stacked.dtype)
    gathered[np.concatenate(places)] = stacked
    return gathered


def _recode(labels: NDArray[Any], coding: list[NDArray[Any]], dtype: np.dtype[Any]) -> NDArray[Any]:
    if all(np.array_equal(new[:-1], np.arange(len(new) - 1)) for new in coding):
        return labels.astype(dtype, copy=False)
    return np.stack([new[column] for new, column in zip(coding, labels.T, strict=True)], axis=1).astype(dtype)


def _refuse_different(parts: list[Ensemble]) -> None:
    for place, part in enumerate(parts):
        if part.member_names != parts[0].member_names:
            raise ValueError(
                f"parts must have the same members, but part 0 has {list(parts[0].member_names)} and part {place} "
                f"has {list(part.member_names)}."
            )
        if not np.array_equal(part.weights, parts[0].weights):
            raise ValueError(f"parts must have the same member weights; part {place} differs from part 0.")


def refuse_unlabelled(labels: NDArray[Any], names: tuple[str, ...], categories: tuple[NDArray[Any], ...]) -> None:
    empty = [name for name, found in zip(names, categories, strict=True) if len(found) == 0]
    if empty:
        raise ValueError(f"{', '.join(map(repr, empty))} labels no object at all; leave it out.")
    if labels.min() >= 0:
        return
    silent = np.flatnonzero(labels.max(axis=1) < 0)
    if len(silent):
        shown = ", ".join(str(row) for row in silent[:5]) + (", ..." if len(silent) > 5 else "")
        raise ValueError(
            f"{len(silent)} of {len(labels)} objects have no label in any member (rows {shown}, counted from 0); "
            f"leave them out: nothing is known about them."
        )


def _with_options(ensemble: Ensemble, weights: Any, ids: Any, counts: Any) -> Ensemble:
    if weights is not None:
        ensemble = replace(ensemble, weights=as_weights(weights, ensemble.n_members))
    if ids is not None:
        ensemble = replace(ensemble, object_ids=as_ids(ids, ensemble.n_rows))
    if counts is not None:
        ensemble = replace(ensemble, counts=as_counts(counts, ensemble.n_rows))
    return ensemble


def as_weights(weights: Any, n_members: int) -> NDArray[np.float64]:
    if weights is None:
        return np.ones(n_members)
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (n_members,):
        raise ValueError(f"weights must have one value a member, {n_members} in all, got shape {values.shape}.")
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError("weights must be positive and finite; leave out a member that should not count.")
    return values


def as_counts(counts: Any, n_rows: int) -> NDArray[np.int64]:
    if counts is None:
        return np.ones(n_rows, dtype=np.int64)
    values = np.asarray(counts)
    if values.shape != (n_rows,):
        raise ValueError(f"counts must have one value a row, {n_rows:,} in all, got shape {values.shape}.")
    if values.dtype.kind not in "iu" or values.min() < 1:
        raise ValueError("counts must be integers of at least 1: how many objects each row stands for.")
    return values.astype(np.int64)


def as_ids(ids: Any, n_rows: int) -> NDArray[Any]:
    values = np.asarray(ids)
    if values.shape != (n_rows,):
        raise ValueError(f"ids must have one value an object, {n_rows:,} in all, got shape {values.shape}.")
    return read_only(values)

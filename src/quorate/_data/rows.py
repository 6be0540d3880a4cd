"""Exact compression of an ensemble to its distinct rows (compress), also for several parts of a table (merge)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._data.coding import narrowest
from quorate._data.proof import prove_counts, proven
from quorate._types import NEEDS_LABELS, E, Ensemble, SoftEnsemble, read_only
from quorate.ops.coding import recode_columns
from quorate.ops.distinct_rows import added_counts
from quorate.ops.threads import map_fixed_blocks
from quorate.solvers import label_rows


def compress(ensemble: E, *, device: str | None = None) -> tuple[E, NDArray[np.intp]]:
    """Reduce an ensemble to its distinct rows with counts, in order of first appearance; nothing is lost.

    A method that uses labels alone cannot distinguish objects with equal label rows, so that one row with a count
    stands for all of them. The result is stored in the ensemble, which never changes: a second call costs nothing,
    and neither does compressing an ensemble that is compressed already.

    Parameters
    ----------
    ensemble : Ensemble or SoftEnsemble
        The ensemble to compress.
    device : None, "auto", "cpu" or "cuda"
        Where the distinct rows are found: "cuda" on a CUDA card, "auto" there if a card works. By default on the
        processor, or on the card if the labels live there. The result is the same.

    Returns
    -------
    ensemble : Ensemble, or SoftEnsemble if one was given
        One row for each distinct row, with the sum of its counts.
    inverse : array of shape (n_rows,)
        The compressed row of each row: ``compressed.labels[inverse]`` is the input again. It cannot be written to.
        With "cuda" or "auto" it is an array on the card if the labels came from one.

    See Also
    --------
    merge : Compresses several ensembles of different objects to one.
    coarsen : Reduces the rows further, with a loss.

    Examples
    --------
    >>> from quorate import as_ensemble
    >>> rows, inverse = compress(as_ensemble([[0, 1, 0, 0], [0, 1, 0, 1]]))
    >>> rows.labels.tolist(), rows.counts.tolist(), inverse.tolist()
    ([[0, 0], [1, 1], [0, 1]], [2, 1, 1], [0, 1, 0, 2])
    """
    proven(ensemble)
    if device is not None or ensemble.card is not None:
        from quorate._data.rows_on_card import compressed_by_device

        found: tuple[E, NDArray[np.intp]] | None = compressed_by_device(ensemble, device)
        if found is not None:
            return found
    if ensemble.is_distinct:
        return ensemble, read_only(np.arange(ensemble.n_rows))
    if ensemble.compressed is None:
        rows, inverse = _distinct_rows(ensemble)
        rows.remember(is_distinct=True, is_proven=True)
        ensemble.remember(compressed=(rows, inverse))
    remembered: tuple[E, NDArray[np.intp]] = ensemble.compressed
    return remembered


def _distinct_rows(ensemble: E) -> tuple[E, NDArray[np.intp]]:
    first, inverse = label_rows.distinct(ensemble)
    if len(first) == ensemble.n_rows:
        return replace(ensemble, object_ids=None), read_only(inverse)
    counts = added_counts(inverse, read_only(ensemble.counts), len(first))
    return label_rows.take(ensemble, first, counts), read_only(inverse)


def merge(parts: Iterable[Ensemble]) -> tuple[Ensemble, list[NDArray[np.intp]]]:
    """Combine several ensembles of different objects into one compressed ensemble.

    The parts may be coded independently, because their categories say which label each code stands for: `merge` of
    ``compress(as_ensemble(chunk))[0]`` over the chunks of a table equals compressing the whole table.

    Parameters
    ----------
    parts : iterable of Ensemble
        Ensembles that have the same members with the same weights.

    Returns
    -------
    ensemble : Ensemble
        The distinct rows of all parts, with the sums of their counts.
    where : list of arrays
        For each part, the row of the result that each of its rows became.

    See Also
    --------
    compress : Compresses a single ensemble.
    join : Combines tables of the same objects that have different members.

    Examples
    --------
    >>> from quorate import as_ensemble
    >>> chunks = [as_ensemble(["x", "y", "x"]), as_ensemble(["y", "z"])]
    >>> whole, where = merge(compress(chunk)[0] for chunk in chunks)
    >>> whole.counts.tolist(), [w.tolist() for w in where]
    ([2, 2, 1], [[0, 1], [1, 2]])
    """
    parts = [_labelled(part) for part in parts]
    if not parts:
        raise ValueError("merge needs at least one ensemble, got none.")
    _refuse_different(parts)
    categories, codings = _common_categories(parts)
    dtype = narrowest(max(map(len, categories)))
    labels = _recoded(parts, codings, dtype)
    counts = np.concatenate([part.counts for part in parts])
    prove_counts(counts, parts[0].n_members)
    stacked = replace(
        parts[0],
        labels=labels,
        counts=counts,
        n_clusters=np.array([len(values) for values in categories], dtype=np.int64),
        categories=categories,
        object_ids=None,
    )
    stacked.remember(is_proven=True)
    merged, inverse = compress(stacked)
    edges = np.cumsum([part.n_rows for part in parts])[:-1]
    return merged, np.split(inverse, edges)


def _labelled(part: Any) -> Ensemble:
    if isinstance(part, SoftEnsemble):
        raise TypeError(NEEDS_LABELS)
    ensemble: Ensemble = proven(part)
    return ensemble


def _common_categories(parts: list[Ensemble]) -> tuple[tuple[NDArray[Any], ...], list[list[NDArray[Any]]]]:
    """Return the categories of all parts in order of first appearance, and the new codes for each part and member."""
    categories = []
    codings: list[list[NDArray[Any]]] = [[] for _ in parts]
    for member in range(parts[0].n_members):
        values = np.concatenate(_one_type([part.categories[member] for part in parts]))
        first, codes = _by_first_appearance(values)
        categories.append(values[first])
        edges = np.cumsum([len(part.categories[member]) for part in parts])[:-1]
        for coding, own in zip(codings, np.split(codes, edges), strict=True):
            coding.append(own)
    return tuple(categories), codings


def _one_type(values: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """Convert the categories of all parts to one type; to objects if NumPy would turn numbers into texts."""
    kinds = {labels.dtype.kind for labels in values}
    common = np.result_type(*values) if len(kinds) == 1 or kinds <= set("bif") else np.dtype(object)
    return [labels.astype(common) for labels in values]


def _by_first_appearance(values: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where each distinct value is first, increasing, and for each value its number among these."""
    if values.dtype.kind == "O":
        numbers: dict[Any, int] = {}
        codes = np.array([numbers.setdefault(value, len(numbers)) for value in values.tolist()], dtype=np.intp)
        return np.unique(codes, return_index=True)[1], codes
    _, first, ranks = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    numbering = np.empty(len(order), dtype=np.intp)
    numbering[order] = np.arange(len(order))
    return first[order], numbering[ranks]


def _recoded(parts: list[Ensemble], codings: list[list[NDArray[Any]]], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the rows of all parts with their new codes, one part below the other."""
    edges = np.cumsum([0, *(part.n_rows for part in parts)])
    labels = np.empty((edges[-1], parts[0].n_members), dtype=dtype)

    def recode(place: int, _: int) -> None:
        starts = np.concatenate([[0], np.cumsum([1 + len(codes) for codes in codings[place]])]).astype(np.int64)
        # code -1, a missing label, is first in the codes of its member and stays -1
        lookup = np.concatenate([np.concatenate([[-1], codes]) for codes in codings[place]]).astype(dtype)
        recode_columns(parts[place].labels, starts, lookup, labels[edges[place] : edges[place + 1]])

    map_fixed_blocks(recode, len(parts), 1)
    return labels


def _refuse_different(parts: list[Ensemble]) -> None:
    for place, part in enumerate(parts):
        if part.member_names != parts[0].member_names:
            raise ValueError(
                f"parts must have the same members, but part 0 has {list(parts[0].member_names)} and part {place} "
                f"has {list(part.member_names)}."
            )
        if not np.array_equal(part.weights, parts[0].weights):
            raise ValueError(f"parts must have the same member weights; part {place} differs from part 0.")

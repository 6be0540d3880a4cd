"""Distinct rows of an ensemble (compress), or of parts of a table (merge); rows selected, and carried to objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._check import brief
from quorate._data.blocks import join_blocks, settle
from quorate._data.coding import code_again, narrowest
from quorate._data.proof import proven, vary
from quorate._device.choose import Kind, in_kind
from quorate._types import NEEDS_LABELS, Consensus, E, Ensemble, IntArray, Reading, SoftEnsemble, read_only
from quorate.ops.distinct_rows import added_counts, taken_rows
from quorate.solvers import label_rows
from quorate.solvers.label_rows import take
from quorate.solvers.members import with_members


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
    first = parts[0]
    rows, numbers = join_blocks(parts)
    # labels are labels already: none is missing, negative ones are as good as others, and rows without any are kept
    how = Reading(missing=(), weights=first.weights, check=False, takes_all=True)
    merged, row_of, _ = settle(rows, first.member_names, ("values",) * first.n_members, how, "merge")
    named = vary(merged, info=first.info, id_name=first.id_name)
    named.remember(is_distinct=True)
    return named, numbers if merged.n_rows == len(rows.labels) else [row_of[places] for places in numbers]


def _labelled(part: Any) -> Ensemble:
    if isinstance(part, SoftEnsemble):
        raise TypeError(NEEDS_LABELS)
    ensemble: Ensemble = proven(part)
    return ensemble


def _refuse_different(parts: list[Ensemble]) -> None:
    for place, part in enumerate(parts):
        if part.member_names != parts[0].member_names:
            raise ValueError(
                f"parts must have the same members, but part 0 has {list(parts[0].member_names)} and part {place} "
                f"has {list(part.member_names)}."
            )
        if not np.array_equal(part.weights, parts[0].weights):
            raise ValueError(f"parts must have the same member weights; part {place} differs from part 0.")


def select_members(ensemble: Ensemble, members: Sequence[int] | IntArray) -> Ensemble:
    """Select members by their numbers, in the order given; codes and rows stay as they are.

    An object that none of these members labels is kept as a row without labels.
    """
    return with_members(ensemble, np.asarray(members, dtype=np.intp))


def select_rows(ensemble: Ensemble, rows: IntArray, counts: NDArray[np.int64]) -> Ensemble:
    """Select rows, give them these counts, and code the labels anew.

    Clusters without any of these rows are left out, and so are members that label none of them. Ids are dropped, and
    rows on a card are copied to host memory.
    """
    if len(rows) == ensemble.n_rows and ensemble.pieces is None:
        return replace(ensemble, counts=counts, object_ids=None)
    return coded_anew(take(ensemble, np.asarray(rows), counts))


def coded_anew(ensemble: Ensemble) -> Ensemble:
    """Code the labels of an ensemble by first appearance in its rows, without clusters and members that have no row."""
    chosen = select_members(ensemble, np.flatnonzero(ensemble.labels.max(axis=0) >= 0))
    codes, kept = code_again(chosen.labels, chosen.n_clusters)
    return replace(
        chosen,
        labels=codes,
        n_clusters=np.array([len(values) for values in kept], dtype=np.int64),
        categories=tuple(values[codes] for values, codes in zip(chosen.categories, kept, strict=True)),
    )


def side_by_side(ensembles: Sequence[Ensemble]) -> Ensemble:
    """Return the members of several ensembles of the same objects, in the same order, as one ensemble."""
    first = ensembles[0]
    n_clusters = np.concatenate([part.n_clusters for part in ensembles])
    columns = [part.labels.astype(narrowest(int(n_clusters.max()))) for part in ensembles]
    return replace(
        first,
        labels=np.concatenate(columns, axis=1),
        n_clusters=n_clusters,
        weights=np.concatenate([part.weights for part in ensembles]),
        member_names=tuple(f"member {number}" for number in range(len(n_clusters))),
        categories=tuple(values for part in ensembles for values in part.categories),
    )


def add_member(
    ensemble: Ensemble, codes: IntArray, categories: NDArray[Any], *, name: str | None = None, weight: float = 1.0
) -> Ensemble:
    """Return the ensemble with one more member, which has one code per row."""
    number = np.asarray(weight, dtype=np.float64)
    if number.ndim or not 0 < number < np.inf:
        raise ValueError(f"weight must be positive, got {brief(weight)}; leave out a member that should not count.")
    n_clusters = np.append(ensemble.n_clusters, len(categories))
    labels = np.empty((ensemble.n_rows, ensemble.n_members + 1), dtype=narrowest(int(n_clusters.max())))
    labels[:, :-1] = ensemble.labels
    labels[:, -1] = codes
    return replace(
        ensemble,
        labels=labels,
        n_clusters=n_clusters,
        weights=np.append(ensemble.weights, number),
        member_names=(*ensemble.member_names, name or f"member {ensemble.n_members}"),
        categories=(*ensemble.categories, categories),
    )


def as_objects(ensemble: Ensemble) -> Ensemble:
    """Return one row per object, because objects of the same row are permuted apart."""
    rows = np.repeat(np.arange(ensemble.n_rows), ensemble.counts)
    return replace(ensemble, labels=ensemble.labels[rows], counts=np.ones(len(rows), dtype=np.int64))


def permuted(ensemble: Ensemble, rng: np.random.Generator) -> Ensemble:
    """Permute each member's labels among the objects that it labels; missing labels stay where they are."""
    if not ensemble.has_missing:
        return replace(ensemble, labels=rng.permuted(ensemble.labels, axis=0))
    labels = ensemble.labels.copy()
    for column in labels.T:
        known = column >= 0
        column[known] = rng.permutation(column[known])
    return replace(ensemble, labels=labels)


def expand(result: Consensus, inverse: NDArray[Any], object_ids: NDArray[Any] | None = None) -> Consensus:
    """From rows to objects: rows are in order of first appearance, so canonical labels stay canonical."""
    return replace(
        result,
        labels=taken_rows(result.labels, inverse),
        confidence=None if result.confidence is None else taken_rows(result.confidence, inverse),
        runner_up=None if result.runner_up is None else taken_rows(result.runner_up, inverse),
        rows=inverse,
        object_ids=object_ids,
    )


ARRAYS = ("labels", "confidence", "runner_up")
"""The arrays of a Consensus with one entry per object."""


def at_places(values: Any, places: NDArray[np.intp], n_rows: int, fill: float) -> Any:
    """Return an array of n_rows values that has these values at these places."""
    if values is None:
        return None
    whole = np.full(n_rows, fill, dtype=values.dtype)
    whole[places] = values
    return whole


def expand_on_card(result: Consensus, inverse: Any, ensemble: Any) -> Consensus:
    """From rows to objects, as `expand` does; the arrays come back as the caller's library has them."""
    card = ensemble.card
    arrays = {name: returned(card, _of_objects(card, getattr(result, name), inverse), ensemble.kind) for name in ARRAYS}
    rows = returned(card, inverse, ensemble.kind)
    rows = rows.astype(np.intp) if isinstance(rows, np.ndarray) else rows
    return replace(result, **arrays, rows=rows, object_ids=ensemble.object_ids)


def _of_objects(card: Any, array: Any, inverse: Any) -> Any:
    if array is None:
        return None
    return (card.to_card(array) if isinstance(array, np.ndarray) else array)[inverse]


def returned(card: Any, array: Any, kind: Kind) -> Any:
    """Return an array on the card in the caller's library: NumPy, CuPy or PyTorch."""
    if array is None:
        return None
    return card.to_host(array) if kind == "numpy" else in_kind(array, kind)

"""as_soft_ensemble and harden: matrices of memberships, with label vectors among them, become one SoftEnsemble."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._check import counted, has
from quorate._data.coding import DEFAULT, code_integers, code_values, missing_rule
from quorate._data.ensemble import EmptyMemberError, as_ensemble, build_ensemble, with_options
from quorate._data.ids import numbered, order_of
from quorate._data.outside import refuse_unlabelled, unlabelled_rows
from quorate._data.proof import as_csr, proven, vary
from quorate._data.tables import holds_matrices, index_ids, index_name, is_matrix, label_vector, refuse_duplicates
from quorate._types import Consensus, Ensemble, SoftEnsemble
from quorate.solvers.label_rows import likeliest_labels, one_hot

TOLERANCE = 1e-3
"""How much the sum of an object's memberships may differ from 1, so that numbers printed with three digits pass."""
UNIT = SoftEnsemble.unit


class _Member(NamedTuple):
    """One member: a CSC matrix of shape (n, k) with memberships in units of 2^-16, and the names of its k clusters."""

    matrix: Any
    categories: NDArray[Any]


def as_soft_ensemble(
    members: Any,
    *,
    weights: Any = None,
    missing: Any = DEFAULT,
    ids: Any = None,
    counts: Any = None,
    overlaps: bool = False,
) -> SoftEnsemble:
    """Check and code soft clusterings: one matrix per member, with one row per object and one column per cluster.

    Parameters
    ----------
    members : list or mapping of matrices and label vectors, Ensemble or SoftEnsemble
        A matrix of shape (n_objects, n_clusters), dense, sparse or a data frame, holds memberships from 0 to 1. Those
        of an object add up to 1, or are all 0 or all NaN if the member does not contain the object. Label vectors may
        be among the members; their labels are memberships of 1.
    weights : array of shape (n_members,), optional
        Positive member weights; 1 each by default.
    missing : value or list of values, default -1
        What stands for a missing label in label vectors, as for `as_ensemble`.
    ids : array of shape (n_objects,), optional
        Names of the objects.
    counts : array of shape (n_objects,), optional
        How many objects each row stands for.
    overlaps : bool, default False
        Whether clusters of a member may overlap: memberships of an object that add up to more than 1 are divided by
        their sum, so that an object in three clusters counts for a third in each.

    Returns
    -------
    SoftEnsemble

    See Also
    --------
    as_ensemble : Does the same for labels.
    harden : Turns memberships into labels.

    Notes
    -----
    The memberships of an object, which must add up to 1 within 0.001, are divided by their sum and then rounded to
    multiples of 2^-16, so that sums of them are exact. Memberships below 2^-17 become zeros, and clusters that have no
    others are left out. Of two clusters, the one with the larger membership of the first object in which they differ
    is numbered first. For labels this is the order of first appearance.

    Examples
    --------
    >>> import numpy as np
    >>> soft = as_soft_ensemble([np.array([[0.9, 0.1], [0.5, 0.5], [0.0, 1.0]]), ["a", "a", "b"]])
    >>> soft
    SoftEnsemble(3 objects, 2 members, 2 clusters)
    >>> from quorate import consensus
    >>> consensus(soft, 2, random_state=0).labels.tolist()
    [0, 0, 1]
    """
    if isinstance(members, Ensemble):
        members = _from_labels(proven(members))
    if isinstance(members, SoftEnsemble):
        return _with_options(members, weights, ids, counts)
    _check.choice(overlaps, "overlaps", (False, True))
    names, values = _named(members)
    values, index, id_name = _aligned(values, names)
    coded = [_member(value, name, missing, overlaps) for value, name in zip(values, names, strict=True)]
    _refuse_lengths(coded, names)
    stacked = _stacked(coded, names)
    ensemble = SoftEnsemble(
        starts=stacked.indptr.astype(np.int64),
        columns=stacked.indices.astype(np.int32),
        memberships=stacked.data.astype(np.int32),
        counts=np.ones(stacked.shape[0], dtype=np.int64),
        n_clusters=np.array([len(member.categories) for member in coded], dtype=np.int64),
        weights=np.ones(len(coded)),
        member_names=names,
        categories=tuple(member.categories for member in coded),
        object_ids=index,
        id_name=id_name,
    )
    return _with_options(ensemble, weights, ids, counts)


def soft_or_labels(members: Any) -> Ensemble | SoftEnsemble:
    """Read members with `as_soft_ensemble` if matrices of memberships are among them, and with `as_ensemble` if not."""
    is_soft = isinstance(members, SoftEnsemble) or holds_matrices(members)
    return as_soft_ensemble(members) if is_soft else as_ensemble(members)


def members_beside(result: Any, members: Any) -> Ensemble | SoftEnsemble:
    """Read the members of a result as `soft_or_labels` does; objects that it leaves outside may have no label."""
    n_outside = int((result.labels < 0).sum()) if isinstance(result, Consensus) else 0
    if not n_outside or isinstance(members, Ensemble | SoftEnsemble) or holds_matrices(members):
        return soft_or_labels(members)
    kept = as_ensemble(members, skip_empty="keep")
    unknown = unlabelled_rows(kept.labels)
    if len(unknown) > n_outside:
        refuse_unlabelled(kept.labels, unknown)
    return kept


def with_mean_memberships(soft: SoftEnsemble, group: NDArray[np.intp], counts: NDArray[np.int64]) -> SoftEnsemble:
    """Return one row for each group of rows, with the mean memberships of its objects in the members that know them."""
    from scipy.sparse import csr_array

    shape = (int(group.max()) + 1, soft.n_rows)
    sums = csr_array((soft.counts.astype(np.float64), (group, np.arange(soft.n_rows))), shape=shape) @ one_hot(soft)
    members = {}
    for name, (start, stop) in zip(soft.member_names, pairwise(soft.offsets), strict=True):
        own = sums[:, start:stop].tocsr()
        known = np.asarray(own.sum(axis=1)).ravel()
        own.data /= np.repeat(known, np.diff(own.indptr))
        members[name] = own
    return as_soft_ensemble(members, weights=soft.weights, counts=counts)


def harden(members: Any) -> Ensemble:
    """Label each object by its likeliest cluster in each member, for methods and scores that take labels alone.

    Parameters
    ----------
    members : SoftEnsemble, or anything `as_soft_ensemble` takes
        The soft clusterings.

    Returns
    -------
    Ensemble
        Each label is the cluster in which the object has its largest membership; of several equal ones, the cluster
        that is numbered first. Clusters that are the likeliest of no object are left out.

    See Also
    --------
    as_soft_ensemble : Checks and codes soft clusterings.

    Examples
    --------
    >>> harden([[[0.9, 0.1], [0.4, 0.6], [0.0, 1.0]], ["a", "a", "b"]]).labels.tolist()
    [[0, 0], [1, 0], [1, 1]]
    """
    soft = as_soft_ensemble(members)
    hard = as_ensemble(
        likeliest_labels(soft),
        weights=soft.weights,
        orientation="objects",
        ids=soft.object_ids,
        counts=soft.counts,
        check=False,
    )
    kept = zip(soft.categories, hard.categories, strict=True)
    return vary(
        hard,
        member_names=soft.member_names,
        categories=tuple(all_[codes] for all_, codes in kept),
        info=soft.info,
        id_name=soft.id_name,
    )


def _named(members: Any) -> tuple[tuple[str, ...], list[Any]]:
    if isinstance(members, Mapping):
        names, values = tuple(map(str, members)), list(members.values())
    elif isinstance(members, Sequence) and not isinstance(members, str | bytes):
        names, values = tuple(f"member {place}" for place in range(len(members))), list(members)
    else:
        raise TypeError(
            f"members must be a list or mapping of membership matrices and label vectors, one each, got "
            f"{type(members).__name__}; put a single matrix into a list."
        )
    if not values:
        raise ValueError("members must hold at least one membership matrix or label vector, got none.")
    refuse_duplicates(names)
    return names, values


def _aligned(values: list[Any], names: tuple[str, ...]) -> tuple[list[Any], NDArray[Any] | None, str]:
    """Put pandas members in the order of the first that has an index; return them, this index and its name."""
    indexes = [getattr(value, "index", None) if hasattr(value, "iloc") else None for value in values]
    all_ids = [index_ids(index) for index in indexes]
    first = next((place for place, ids in enumerate(all_ids) if ids is not None), None)
    if first is None:
        return values, None, "id"
    aligned = []
    for value, index, ids, name in zip(values, indexes, all_ids, names, strict=True):
        own = numbered(ids, all_ids[first], len(value), is_default=index is not None)
        order = None if index is None else order_of(all_ids[first], own, repr(name))
        aligned.append(value if order is None else value.iloc[order])
    return aligned, all_ids[first], index_name(indexes[first])


def _member(values: Any, name: str, missing: Any, overlaps: bool) -> _Member:
    from scipy.sparse import csc_array

    if is_matrix(values):
        matrix = _in_units(_checked(values, name, overlaps), name)
        return _numbered(matrix, _cluster_names(values, matrix.shape[1]))
    codes, categories = code_values(label_vector(values, name), name, missing_rule(missing))
    rows = np.flatnonzero(codes >= 0)
    units = np.full(len(rows), UNIT, dtype=np.int64)
    shape = (len(codes), len(categories))
    return _Member(csc_array((units, (rows, codes[rows].astype(np.int64))), shape=shape), categories)


def _checked(values: Any, name: str, overlaps: bool) -> Any:
    """Return the memberships as a sparse matrix of float64, in which each row that is not empty adds up to 1."""
    from scipy.sparse import csr_array

    sparse = as_csr(values, name) if hasattr(values, "tocsr") else _floats(values, name)
    matrix = csr_array(sparse, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    unknown = np.isnan(matrix.data)
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    if unknown.any():
        partly = np.intersect1d(row[unknown], row[~unknown & (matrix.data != 0)])
        _refuse(partly, name, "mix NaN and memberships", "A row is all NaN if the member does not label the object")
        matrix.data[unknown] = 0.0
    outside = row[(matrix.data < 0) | (matrix.data > 1 + TOLERANCE)]
    _refuse(np.unique(outside), name, "have values outside of [0, 1]", "Pass labels as 1-D vectors, not as matrices")
    sums = matrix.sum(axis=1)
    apart = np.flatnonzero((sums != 0) & ((sums < 1 - TOLERANCE) | ((sums > 1 + TOLERANCE) & (not overlaps))))
    advice = (
        "Divide each row by its sum, or add a column for what belongs to no cluster; overlaps=True of as_soft_ensemble "
        "is for clusters that overlap"
    )
    _refuse(apart, name, "do not add up to 1", advice)
    matrix.data /= np.where(sums == 0, 1.0, sums)[row]
    return matrix


def _floats(values: Any, name: str) -> NDArray[np.float64]:
    try:
        return np.array(values.to_numpy() if hasattr(values, "to_numpy") else values, dtype=np.float64, ndmin=2)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a matrix of memberships, all rows of one length: {error}") from error


def _refuse(rows: NDArray[Any], name: str, fault: str, advice: str) -> None:
    if len(rows):
        shown = ", ".join(map(str, rows[:5].tolist())) + (", ..." if len(rows) > 5 else "")
        raise ValueError(
            f"{name}: memberships of {counted(len(rows), 'object')} {fault} (rows {shown}, counted from 0); "
            f"memberships lie in [0, 1] and those of an object add up to 1. {advice}."
        )


def _in_units(matrix: Any, name: str) -> Any:
    known = matrix.sum(axis=1) > 0
    units = matrix.copy()
    units.data = np.rint(matrix.data * UNIT).astype(np.int64)
    units.eliminate_zeros()
    vanished = np.flatnonzero(known & (np.diff(units.indptr) == 0))
    _refuse(vanished, name, f"are all below {1 / (2 * UNIT):.1g}", "An object belongs to some cluster more than that")
    return units.tocsc()


def _numbered(matrix: Any, categories: NDArray[Any]) -> _Member:
    """Put the clusters in an order that does not depend on the given one: by the first object in which they differ.

    Columns are compared as bytes. Where two columns first differ, that one comes first whose membership is in a lower
    row or, in the same row, is larger.
    """
    matrix.sort_indices()
    pairs = np.column_stack([matrix.indices, UNIT - matrix.data]).astype(">u4")
    edges = matrix.indptr
    keys = [pairs[edges[c] : edges[c + 1]].tobytes() + b"\xff" * 8 for c in range(matrix.shape[1])]
    order = [c for c in sorted(range(len(keys)), key=keys.__getitem__) if edges[c] < edges[c + 1]]
    return _Member(matrix[:, order], categories[order])


def _cluster_names(values: Any, n_clusters: int) -> NDArray[Any]:
    return np.array([str(c) for c in values.columns]) if hasattr(values, "columns") else np.arange(n_clusters)


def _refuse_lengths(members: list[_Member], names: tuple[str, ...]) -> None:
    lengths = [member.matrix.shape[0] for member in members]
    if len(set(lengths)) > 1:
        odd = next(place for place, length in enumerate(lengths) if length != lengths[0])
        raise ValueError(
            f"members must have the same number of objects, but {names[0]} has {lengths[0]:,} and {names[odd]} has "
            f"{lengths[odd]:,}; use a row of zeros for an object that a member does not label."
        )
    empty = [name for name, member in zip(names, members, strict=True) if not len(member.categories)]
    if empty:
        raise EmptyMemberError(empty)


def _stacked(members: list[_Member], names: tuple[str, ...]) -> Any:
    from scipy.sparse import hstack

    stacked = hstack([member.matrix for member in members], format="csr")
    stacked.sort_indices()
    empty = np.flatnonzero(np.diff(stacked.indptr) == 0)
    if len(empty):
        shown = ", ".join(map(str, empty[:5].tolist())) + (", ..." if len(empty) > 5 else "")
        raise ValueError(
            f"{len(empty):,} of {stacked.shape[0]:,} objects {has(len(empty))} no membership in any member "
            f"(rows {shown}, counted from 0); leave them out: nothing is known about them."
        )
    return stacked


DRAWS = 10
"""How many labels are drawn of each soft member, for methods that take labels alone."""


def drawn_labels(soft: SoftEnsemble) -> Ensemble:
    """Draw labels from memberships, as hard members that all methods take.

    A soft member becomes `DRAWS` hard ones that share its weight; a member that holds labels stays one. The draws of a
    row are spread evenly, so that each cluster is drawn as often as its membership says, up to one draw more or less;
    how the draws of two rows are paired follows from what is in the rows, at random.
    """
    seeds = _row_seeds(soft)
    matrix = one_hot(soft).tocsc()
    columns, weights, names = [], [], []
    for member, (first, last) in enumerate(pairwise(soft.offsets.tolist())):
        shares = matrix[:, first:last].toarray()
        is_hard = bool(np.isin(shares, (0.0, 1.0)).all())
        drawn = _drawn(shares, seeds + np.uint64(member), 1 if is_hard else DRAWS)
        columns.append(drawn)
        weights += [soft.weights[member] / drawn.shape[1]] * drawn.shape[1]
        name = soft.member_names[member]
        names += [name] if is_hard else [f"{name} (draw {number + 1})" for number in range(drawn.shape[1])]
    codes, kept = code_integers(np.concatenate(columns, axis=1), tuple(names), missing_rule(DEFAULT))
    whole = build_ensemble(
        codes, tuple(names), tuple(kept), weights=weights, counts=soft.counts, ids=soft.object_ids, id_name=soft.id_name
    )
    return vary(whole, info={**soft.info, "drawn": True})


def _row_seeds(soft: SoftEnsemble) -> NDArray[np.uint64]:
    """A number for each row that follows from its memberships alone."""
    with np.errstate(over="ignore"):
        cells = _mixed(soft.columns.astype(np.uint64) * np.uint64(65_537) + soft.memberships.astype(np.uint64))
        sums: NDArray[np.uint64] = np.add.reduceat(cells, soft.starts[:-1])
    return sums


def _mixed(values: Any) -> Any:
    """Numbers that look random: the finalizer of SplitMix64."""
    with np.errstate(over="ignore"):
        values = values + np.uint64(0x9E3779B97F4A7C15)
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return values ^ (values >> np.uint64(31))


def _drawn(shares: NDArray[np.float64], seeds: NDArray[np.uint64], times: int) -> NDArray[np.int64]:
    """Labels (rows, times) whose frequencies in a row are its shares of clusters (rows, k); -1 where all are 0."""
    with np.errstate(over="ignore"):
        numbers = _mixed(_mixed(seeds)[:, None] + np.arange(times + 1, dtype=np.uint64))
    start = (numbers[:, :1] >> np.uint64(11)).astype(np.float64) * 2.0**-53
    # places between 0 and 1 at even distances, in a random order of their own for each row
    places = (np.argsort(numbers[:, 1:], axis=1) + start) / times
    ends = shares.cumsum(axis=1)
    labels = np.empty(places.shape, dtype=np.int64)
    for draw in range(times):
        labels[:, draw] = (ends[:, :-1] <= places[:, draw, None] * ends[:, -1:]).sum(axis=1)
    labels[ends[:, -1] == 0] = -1
    return labels


def _from_labels(ensemble: Ensemble) -> SoftEnsemble:
    matrix = one_hot(ensemble)
    return SoftEnsemble(
        starts=matrix.indptr.astype(np.int64),
        columns=matrix.indices.astype(np.int32),
        memberships=np.full(matrix.nnz, UNIT, dtype=np.int32),
        counts=ensemble.counts,
        n_clusters=ensemble.n_clusters,
        weights=ensemble.weights,
        member_names=ensemble.member_names,
        categories=ensemble.categories,
        object_ids=ensemble.object_ids,
        info=ensemble.info,
        id_name=ensemble.id_name,
    )


def _with_options(ensemble: SoftEnsemble, weights: Any, ids: Any, counts: Any) -> SoftEnsemble:
    return proven(with_options(ensemble, weights, ids, counts))

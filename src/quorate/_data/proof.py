"""The one place where the properties that compiled code relies on are proven: indices, starts, shapes, counts, types.

Kernels do not check whether an index lies within an array: a label that is too large would make them read or write
memory outside of it. `as_ensemble` and similar functions make ensembles that are right by construction, and mark them
as proven. An ensemble made by hand, or by `dataclasses.replace`, is proven by the first public function that gets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from quorate._check import brief, counted
from quorate._data.coding import by_columns
from quorate._types import AnyEnsemble, E, Ensemble, EnsembleFields, SoftEnsemble

if TYPE_CHECKING:
    from typing_extensions import Unpack

Array = NDArray[Any]

MAX_OBJECTS = 2**53
"""The largest sum of all counts. Up to this number float64 holds every integer, so that sums of counts are exact in
float64 as well as in int64."""
MAX_LABELS = 2**60
"""The largest number of objects times members, so that twice the number of labels, as in `correlation`, fits int64."""
MOST_WEIGHT = 1e100
"""The largest weight of a member, and one over the least: products of weights and counts then are finite numbers."""
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


def vary(ensemble: E, **changes: Unpack[EnsembleFields]) -> E:
    """Do what `dataclasses.replace` does, but keep the mark that the ensemble is proven.

    The caller must have checked the changes, or the changes must be such that they cannot break the proof.
    """
    varied: E = replace(cast(Any, ensemble), **changes)
    varied.remember(is_proven=ensemble.is_proven)
    if ensemble.noise is not None and "labels" not in changes:
        varied.remember(noise=ensemble.noise)
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
    within = (weights >= 1 / MOST_WEIGHT) & (weights <= MOST_WEIGHT)
    _require(bool(within.all()), "weights must be positive and finite, from 1e-100 to 1e100", weights)
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


def prove_tree(tree: Array, n_leaves: int) -> None:
    """Raise unless this is a linkage matrix of so many leaves: kernels follow its numbers from node to node."""
    if tree.dtype != np.float64 or tree.shape != (n_leaves - 1, 4):
        raise ValueError(f"a tree of shape {tree.shape} and type {tree.dtype} does not belong to {n_leaves:,} leaves")
    if not len(tree):
        return
    nodes, heights, sizes = tree[:, :2], tree[:, 2], tree[:, 3]
    later = n_leaves + np.arange(len(tree))
    if not ((nodes >= 0) & (nodes < later[:, None]) & (nodes == np.floor(nodes))).all():
        raise ValueError("the tree merges nodes that do not exist before the merge")
    if len(np.unique(nodes)) != nodes.size:
        raise ValueError("the tree merges a node twice")
    if not (np.isfinite(heights).all() and heights.min() > -1e-6):
        raise ValueError("the tree has heights that are not finite, or below 0")
    # a leaf stands for one object or more
    below = np.concatenate([np.ones(n_leaves), sizes])[nodes.astype(np.intp)].sum(axis=1)
    within = (sizes == np.floor(sizes)) & (sizes >= below) & (sizes <= MAX_OBJECTS)
    exact = (nodes >= n_leaves).all(axis=1)
    if not within.all() or (sizes[exact] != below[exact]).any():
        raise ValueError("the sizes in the tree do not add up")


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


MAX_COLUMNS = 2**27
"""The largest number of columns. Every centre holds one number per column, so that it takes up to a gigabyte."""
_COMPRESSED = {"csr": 0, "csc": 1}


def as_csr(matrix: Any, name: str = "X") -> Any:
    """Convert a sparse matrix of any format to CSR; its indices are checked before and after the conversion."""
    prove_sparse(matrix, name)
    if matrix.format == "csr":
        return matrix
    converted = matrix.tocsr()
    prove_compressed(converted.indptr, converted.indices, tuple(matrix.shape), name)
    return converted


def prove_sparse(matrix: Any, name: str = "X") -> None:
    """Raise if an index of a sparse matrix lies outside of it, because scipy converts matrices without checking."""
    shape = tuple(matrix.shape)
    refuse_shape(shape, name)
    kind = matrix.format
    if kind in _COMPRESSED:
        major = _COMPRESSED[kind]
        prove_compressed(matrix.indptr, matrix.indices, (shape[major], shape[1 - major]), name)
        _prove_values(matrix.data, matrix.indices, name)
    elif kind == "coo":
        for indices, size in zip((matrix.row, matrix.col), shape, strict=True):
            prove_indices(indices, size, name)
            _prove_values(matrix.data, indices, name)
    elif kind == "bsr":
        height, width = matrix.blocksize
        prove_compressed(matrix.indptr, matrix.indices, (shape[0] // height, shape[1] // width), name)
        _prove_values(matrix.data[:, 0, 0], matrix.indices, name)


def is_sparse_file(arrays: Mapping[str, Array]) -> bool:
    """Whether the arrays of an .npz file are those of a sparse matrix, as `scipy.sparse.save_npz` writes them."""
    return "shape" in arrays and "data" in arrays and ("indptr" in arrays or "format" in arrays)


def csr_from_file(arrays: Mapping[str, Array], name: str) -> Any:
    """Build a CSR matrix from the arrays that `scipy.sparse.save_npz` writes for the formats csr, csc and coo.

    If the file states its format, the arrays are read in that format. It cannot be guessed from the arrays: those of a
    square CSC matrix are also a valid CSR matrix, its transpose.
    """
    from scipy.sparse import coo_array, csc_array, csr_array

    kind = _stated_format(arrays)
    wanted = {"csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "coo": ("row", "col")}.get(kind)
    if wanted is None:
        raise ValueError(f"{name} holds a sparse matrix of the format {brief(kind)}; save it as csr: matrix.tocsr().")
    lacking = [key for key in wanted if key not in arrays]
    if lacking:
        raise ValueError(f"{name} holds a sparse matrix of the format {kind!r} without its array {lacking[0]!r}.")
    shape = _stated_shape(arrays["shape"], name)
    data, first, second = arrays["data"], arrays[wanted[0]], arrays[wanted[1]]
    _prove_values(data, first, name)
    if kind == "coo":
        for indices, size in zip((first, second), shape, strict=True):
            _prove_values(data, indices, name)
            prove_indices(indices, size, name)
        return as_csr(coo_array((data, (first, second)), shape=shape), name)
    major = _COMPRESSED[kind]
    prove_compressed(second, first, (shape[major], shape[1 - major]), name)
    made = (csr_array if kind == "csr" else csc_array)((data, first, second), shape=shape)
    return as_csr(made, name)


def refuse_shape(shape: tuple[int, ...], name: str) -> None:
    """Raise if a matrix is not two-dimensional, or so wide that its centres would not fit into memory."""
    if len(shape) != 2:
        raise ValueError(f"{name} must be (n_objects, n_columns), got a sparse array of shape {shape}.")
    if shape[1] > MAX_COLUMNS:
        raise ValueError(
            f"{name} has {shape[1]:,} columns, and at most {MAX_COLUMNS:,} can be clustered, because every centre "
            f"holds one number per column; leave out columns that hold nothing."
        )


def _stated_format(arrays: Mapping[str, Array]) -> str:
    if "format" not in arrays:
        return "csr"
    stated = arrays["format"]
    value = stated.item() if stated.size == 1 else stated.dtype
    return value.decode("ascii", "replace") if isinstance(value, bytes) else str(value)


def _stated_shape(stated: Array, name: str) -> tuple[int, int]:
    if stated.shape != (2,) or stated.dtype.kind not in "iu" or stated.min() < 0:
        raise ValueError(
            f"{name} must hold the shape of a matrix as two numbers, got {brief(np.ravel(stated).tolist())}."
        )
    shape = int(stated[0]), int(stated[1])
    refuse_shape(shape, name)
    return shape


def _prove_values(data: Array, indices: Array, name: str) -> None:
    if data.ndim != 1 or indices.ndim != 1 or len(data) != len(indices) or indices.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must have one integer index for each value, got {indices.dtype} of shape {indices.shape} for "
            f"values of shape {data.shape}."
        )
    if data.dtype.kind not in "biufc":
        raise ValueError(f"{name} must hold numbers, got {data.dtype}.")

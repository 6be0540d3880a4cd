"""Converting sparse matrices to CSR; their indices are checked before scipy or a kernel uses them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._check import brief
from quorate._data.proof import prove_compressed, prove_indices

Array = NDArray[Any]

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

"""Features X: an array, a sparse matrix, a data frame or a memory map, checked once and read in blocks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.proof import as_csr
from quorate._data.tables import in_memory, index_ids
from quorate._io.feature_array import BlockArray
from quorate.ops.euclidean import column_facts, prepare, prepare_columns, prepare_projection
from quorate.ops.threads import map_fixed_blocks

Array = NDArray[Any]
Numbers = NDArray[np.intp] | None
"""The numbers of the objects that a member gets, in increasing order; None for all objects."""

BLOCK_VALUES = 1 << 18
"""The number of values in a block of rows: small enough for the cache, and large enough that Python's loop is cheap."""


@dataclass(frozen=True, eq=False)
class View:
    """The columns that a member gets: all, some, or a projection by a matrix of shape (n_columns, n_dims)."""

    columns: NDArray[np.intp] | None = None
    matrix: NDArray[np.float64] | None = None

    @property
    def is_whole(self) -> bool:
        return self.columns is None and self.matrix is None

    def width(self, n_columns: int) -> int:
        if self.matrix is not None:
            return int(self.matrix.shape[1])
        return n_columns if self.columns is None else len(self.columns)


WHOLE = View()


@dataclass(frozen=True, eq=False)
class Features:
    """Checked features, never copied whole; made by `as_features`.

    Before values are rounded to float32, `shift` (the column means) is subtracted and they are multiplied by `scale` (a
    power of two). They then lie between -1 and 1, so that neither a large offset nor a large unit costs digits. All
    distances change by the same factor. Sparse values are scaled, not shifted.
    """

    data: Any
    shift: NDArray[np.float64]
    scale: float
    names: tuple[str, ...] | None = None
    ids: Array | None = None

    @property
    def n_objects(self) -> int:
        return int(self.data.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.data.shape[1])

    @property
    def is_sparse(self) -> bool:
        return not isinstance(self.data, np.ndarray | BlockArray)

    def blocks(self, rows: Numbers, view: View) -> Iterator[tuple[int, int, Any]]:
        """Yield (start, stop, prepared block) for consecutive parts of `rows`."""
        n_rows = self.n_objects if rows is None else len(rows)
        width = self.n_columns if not self.is_sparse else 64
        size = max(256, BLOCK_VALUES // max(width, 1) // 256 * 256)
        for start in range(0, n_rows, size):
            stop = min(start + size, n_rows)
            yield start, stop, self.prepared(slice(start, stop) if rows is None else rows[start:stop], view)

    def prepared(self, rows: slice | NDArray[np.intp], view: View) -> Any:
        """Return rows as float32, shifted and scaled, with the columns of the view.

        The result is a CSR matrix if X is one and the view is no projection, otherwise an array.
        """
        block = self.data[rows]
        if self.is_sparse:
            return _prepared_sparse(block, self.scale, view)
        block = np.ascontiguousarray(block).view(np.ndarray)
        result = np.empty((len(block), view.width(self.n_columns)), dtype=np.float32)
        if view.matrix is not None:
            prepare_projection(block, self.shift, self.scale, view.matrix, result)
        elif view.columns is not None:
            prepare_columns(block, self.shift, self.scale, view.columns, result)
        else:
            prepare(block, self.shift, self.scale, result)
        return result

    def on_host(self) -> Features:
        """Return the features in host memory, where these are already."""
        return self

    def taken(self, rows: Numbers) -> Features:
        """Return the features of these objects alone, in memory; all of them, uncopied, if rows is None.

        Features that lie on a disk are read once by this, however many blocks are asked for afterwards.
        """
        return self if rows is None else replace(self, data=self.data[rows], ids=None)

    def raw(self, rows: Numbers, view: View) -> Any:
        """Return rows and columns in the user's units, for clusterers that are not built in; X itself if it is all."""
        block = self.data if rows is None else self.data[rows]
        if view.matrix is not None:
            return block @ view.matrix
        return block if view.columns is None else block[:, view.columns]


SCALES = ("z",)
"""The values of the option `scale` beside None."""
SCALES_APART = 15.0
"""Columns differ in scale if the largest standard deviation is more than this many times the median. Of 91 public
tables the ratio was at most 12.7 in 84, digits and images among them, and at least 388 in the other 7."""
_LOOKED_AT = 10_000
"""Objects by which scales of columns are compared, at most."""


class Standard(NamedTuple):
    """The means and standard deviations of columns, with which these and later measurements are standardised."""

    mean: NDArray[np.float64]
    spread: NDArray[np.float64]

    def scaled(self, values: Any) -> Array:
        """Return columns with mean 0 and standard deviation 1; a constant column becomes 0."""
        dense = np.asarray(values)
        scaled = (dense - self.mean) / np.where(self.spread > 0, self.spread, 1.0)
        return scaled.astype(np.float32 if dense.dtype == np.float32 else np.float64, copy=False)


def standardised(features: Features) -> tuple[Features, Standard]:
    """Return features whose columns have mean 0 and standard deviation 1, in memory, and what new objects need."""
    if not isinstance(features.data, np.ndarray):
        raise ValueError(
            "scale must be None for sparse measurements, and for those in blocks or on a card: standardising would "
            "need a copy of the whole table. Scale them first."
        )
    dense = np.asarray(features.data)
    standard = Standard(features.shift, dense.std(axis=0, dtype=np.float64))
    return features_of(standard.scaled(dense), features.names, features.ids), standard


def warn_of_scales(features: Features, stacklevel: int) -> None:
    """Warn if one column varies so much more than the others that it alone decides which objects are near.

    Nothing is said of sparse measurements, nor of columns that all have mean 0, such as principal components.
    """
    if not isinstance(features.data, np.ndarray) or features.n_columns < 2:
        return
    block = np.asarray(features.data[:: -(-features.n_objects // _LOOKED_AT)], dtype=np.float64)
    # the scale brings values near 1, so that squares neither overflow nor vanish
    with np.errstate(over="ignore", invalid="ignore"):
        block = block * features.scale - features.shift * features.scale
        spread = np.where(np.ptp(block, axis=0) > 0, block.std(axis=0), 0.0)
    vary = spread > 0
    raised = np.abs(features.shift * features.scale) > 1e-6 * spread
    if not raised[vary].any():
        return
    ratio = float(spread.max() / np.quantile(spread[vary], 0.5, method="lower"))
    if not ratio > SCALES_APART:
        return
    widest = int(spread.argmax())
    name = f"column {widest}" if features.names is None else f"column {features.names[widest]!r}"
    warnings.warn(
        f"the columns differ in scale: {name} varies {ratio:,.0f} times as much as the median column, so that few "
        f'columns decide which objects are near. scale="z" (--scale z in the shell) gives all columns the same weight; '
        f"scaling the table before does so, too.",
        UserWarning,
        stacklevel=stacklevel + 1,
    )


def features_and_warning(X: Any, names: tuple[str, ...] | None = None, stacklevel: int = 2) -> Features:
    """Return the checked features, and warn if columns differ in scale; `names` are those of columns without any."""
    features = as_features(X, names)
    warn_of_scales(features, stacklevel + 1)
    return features


def _prepared_sparse(block: Any, scale: float, view: View) -> Any:
    if view.columns is not None:
        block = block[:, view.columns]
    if view.matrix is not None:
        return np.ascontiguousarray((block @ view.matrix) * scale, dtype=np.float32)
    scaled = block.copy()
    scaled.data = (block.data * scale).astype(np.float32)
    return scaled


def as_features(X: Any, names: tuple[str, ...] | None = None) -> Features:
    """Check that X has the shape (n_objects, n_columns) and that its values are real and finite.

    X may be an array or a memory map of floats or integers, a sparse matrix, or a data frame. `names` are those of the
    columns of an array.
    """
    ids = None
    _check.no_anndata(X, "X")
    _check.no_mask(X, "X")
    X = in_memory(X)
    if hasattr(X, "tocsr"):
        return _sparse_features(X)
    if not isinstance(X, np.ndarray):
        frame = _from_frame(X)
        X, names, ids = frame if frame is not None else (np.asarray(X), names, None)
    return features_of(as_real(X), names, ids)


def features_of(data: Array | BlockArray, names: tuple[str, ...] | None, ids: Array | None) -> Features:
    """Return features of real numbers, which are read once to find the mean and the range of each column."""
    shift, scale = _units(data, names)
    return Features(data, shift, scale, names, ids)


def _from_frame(X: Any) -> tuple[Array, tuple[str, ...], Array | None] | None:
    """Return the values, column names and ids of a data frame, read by narwhals; None if X is not a data frame."""
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return None
    names = tuple(str(name) for name in frame.columns)
    columns = list(frame.iter_columns())
    kinds = [column.dtype for column in columns]
    text = [name for name, kind in zip(names, kinds, strict=True) if not (kind.is_numeric() or kind == nw.Boolean)]
    if text:
        raise ValueError(
            f"X must hold numbers, but column {', '.join(map(repr, text[:5]))} does not; "
            f"drop it, or code it first (one column per category)."
        )
    holes = [name for name, column in zip(names, columns, strict=True) if column.null_count()]
    if holes:
        raise ValueError(hole_message("a null", repr(holes[0])))
    single = all(kind == nw.Float32 for kind in kinds)
    values = np.empty((len(frame), len(columns)), dtype=np.float32 if single else np.float64)
    for place, column in enumerate(columns):
        values[:, place] = column.to_numpy()
    return values, names, index_ids(nw.maybe_get_index(frame))


def as_real(X: Array) -> Array:
    """Return X as a 2-D array of a type that the kernels can read; a memory map stays one if its type allows."""
    if X.ndim != 2:
        raise ValueError(
            f"X must be (n_objects, n_columns), got shape {X.shape}. "
            f"Reshape your data: X.reshape(-1, 1) if it is one column, X.reshape(1, -1) if it is one object."
        )
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must hold real numbers.")
    if X.dtype.kind == "b":
        return X.view(np.uint8)
    if X.dtype.kind == "O":
        try:
            return X.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError("X must hold numbers, got an array of Python objects; convert it first.") from None
    if X.dtype.kind not in "iuf":
        raise ValueError(f"X must hold numbers, got {X.dtype}; convert it first, e.g. X.astype(float).")
    if X.dtype.itemsize * (X.dtype.kind == "f") in (2, 16):
        return X.astype(np.float32 if X.dtype.itemsize == 2 else np.float64)
    # kernels can only read the byte order of this machine
    return X if X.dtype.isnative else X.astype(X.dtype.newbyteorder("="))


def _sparse_features(X: Any) -> Features:
    data = as_csr(X)
    refuse_empty(data.shape)
    if data.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must hold real numbers.")
    if data.dtype not in (np.float32, np.float64):
        data = data.astype(np.float32 if data.dtype.itemsize <= 2 else np.float64)
    if not np.isfinite(data.data).all():
        column = int(data.indices[int(np.flatnonzero(~np.isfinite(data.data))[0])])
        raise ValueError(hole_message("NaN or infinity", str(column)))
    largest = float(np.abs(data.data).max(initial=0.0))
    return Features(data, np.zeros(data.shape[1]), _power_of_two(largest))


def _units(data: Array | BlockArray, names: tuple[str, ...] | None) -> tuple[NDArray[np.float64], float]:
    """Return the column means and the scale, a power of two, in one pass that also detects NaN and infinity."""
    refuse_empty(data.shape)
    n_objects, n_columns = data.shape

    def facts(start: int, stop: int) -> tuple[Array, Array, Array]:
        sums_lows_highs = np.zeros(n_columns), np.full(n_columns, np.inf), np.full(n_columns, -np.inf)
        column_facts(np.ascontiguousarray(data[start:stop]).view(np.ndarray), *sums_lows_highs)
        return sums_lows_highs

    # blocks of a fixed size, because the means must not depend on the number of threads
    size = max(256, 8 * BLOCK_VALUES // n_columns)
    elsewhere = data.column_facts(size) if isinstance(data, BlockArray) else None
    parts = map_fixed_blocks(facts, n_objects, size) if elsewhere is None else elsewhere
    sums, lows, highs = (np.stack(part) for part in zip(*parts, strict=True))
    with np.errstate(over="ignore", invalid="ignore"):
        low, high, mean = lows.min(axis=0), highs.max(axis=0), sums.sum(axis=0) / n_objects
    if not np.isfinite(mean).all():
        _refuse_holes(data, names)
        mean = low / 2 + high / 2
    return shift_and_scale(mean, low, high)


def shift_and_scale(mean: Array, low: Array, high: Array) -> tuple[NDArray[np.float64], float]:
    """Return the column means and the scale, from the mean, the lowest and the highest value of each column."""
    shift = np.clip(mean, low, high)
    return shift, _power_of_two(float(np.maximum(high - shift, shift - low).max()))


def _power_of_two(largest: float) -> float:
    """Return the power of two that brings the largest value near 1; multiplying by it rounds nothing."""
    return float(2.0 ** -np.clip(np.frexp(largest)[1], -1000, 1000)) if largest > 0 else 1.0


def _refuse_holes(data: Array | BlockArray, names: tuple[str, ...] | None) -> None:
    for start in range(0, len(data), 65_536):
        wrong = np.argwhere(~np.isfinite(data[start : start + 65_536]))
        if len(wrong):
            row, column = wrong[0]
            what = "NaN" if np.isnan(data[start + row : start + row + 1][0, column]) else "infinity"
            name = str(column) if names is None else repr(names[column])
            raise ValueError(hole_message(what, name, start + int(row)))


def hole_message(what: str, column: str, row: int | None = None) -> str:
    where = "" if row is None else f" in row {row} (counted from 0)"
    return f"X holds {what} in column {column}{where}; fill it in or leave the object out: distances need every value."


def refuse_empty(shape: tuple[int, ...]) -> None:
    if shape[0] == 0 or shape[1] == 0:
        raise ValueError(
            f"X must hold at least one object and one column: 0 sample(s) or 0 feature(s) (shape={tuple(shape)}) "
            f"while a minimum of 1 is required."
        )

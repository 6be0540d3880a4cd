"""Measurements in blocks as one array that is read by slices and by numbers of rows, and never held whole."""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._io.source import Block, Budget, Most, Part, Source

Array = NDArray[Any]
KEPT = 3
"""The number of pieces that are kept in memory, so that slices across their edges are not read twice."""


class Piece(NamedTuple):
    """Consecutive rows of measurements: how many, how to read them and their ids, and the file they come from."""

    n_rows: int
    read: Callable[[], tuple[Array, Any]]
    name: str
    file: int


class BlockArray:
    """An array of shape (n_objects, n_columns) whose rows lie in pieces on a disk.

    ``array[start:stop]`` and ``array[numbers]``, with numbers in increasing order, return arrays in memory. If several
    threads wait for rows by number at the same time, one pass over the pieces can serve all of them; see `gathering`.
    """

    def __init__(self, pieces: list[Piece], n_columns: int, dtype: Any, folder: Path | None = None) -> None:
        self.pieces = pieces
        self.edges = np.concatenate([[0], np.cumsum([piece.n_rows for piece in pieces])]).astype(np.int64)
        self.shape = (int(self.edges[-1]), n_columns)
        self.dtype = np.dtype(dtype)
        self.gather: Callable[[NDArray[np.int64]], Array] | None = None
        self._kept: OrderedDict[int, Array] = OrderedDict()
        self._lock = threading.Lock()
        if folder is not None:
            # a temporary folder lives as long as the array that reads from it
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Array:
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            return self._slice(start, stop)
        numbers = np.asarray(rows, dtype=np.int64)
        return self.rows(numbers) if self.gather is None else self.gather(numbers)

    def rows(self, numbers: NDArray[np.int64]) -> Array:
        """Return rows by their numbers, which must increase; each piece is read once at most."""
        found = np.empty((len(numbers), self.shape[1]), dtype=self.dtype)
        edges = np.searchsorted(numbers, self.edges)
        for place in np.flatnonzero(np.diff(edges)):
            low, high = edges[place], edges[place + 1]
            found[low:high] = self.piece(int(place))[numbers[low:high] - self.edges[place]]
        return found

    def _slice(self, start: int, stop: int) -> Array:
        first = int(np.searchsorted(self.edges, start, side="right")) - 1
        parts = []
        for place in range(first, len(self.pieces)):
            low = int(self.edges[place])
            if low >= stop:
                break
            parts.append(self.piece(place)[max(start - low, 0) : stop - low])
        if not parts:
            return np.empty((0, self.shape[1]), dtype=self.dtype)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def column_facts(self, n_rows: int) -> list[tuple[Array, Array, Array]] | None:
        """Return sums, lows and highs of columns of consecutive blocks of n_rows rows if others compute them."""
        return None

    def piece(self, place: int) -> Array:
        """Return a piece; the last few that were read are kept."""
        with self._lock:
            if place in self._kept:
                self._kept.move_to_end(place)
                return self._kept[place]
        values, _ = self.pieces[place].read()
        with self._lock:
            self._kept[place] = values
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return values


def feature_array(source: Source, budget: Budget) -> BlockArray:
    """Return the measurements of a source as one array.

    A source whose parts can be read only one after another, such as a text table, is first copied to a temporary file.
    """
    most = budget.block(source.row_bytes, 2 * KEPT)
    parts = list(_until_unknown(source.parts(most)))
    if parts and parts[-1].n_rows is None:
        return _spooled(source, most)
    dtype = _common_type(source, parts)
    pieces = [
        Piece(part.n_rows or 0, partial(_read, part, source.names, dtype), part.name, part.file) for part in parts
    ]
    return BlockArray(pieces, len(source.names), dtype)


def _until_unknown(parts: Iterator[Part]) -> Iterator[Part]:
    for part in parts:
        yield part
        if part.n_rows is None:
            return


def _read(part: Part, names: tuple[str, ...], dtype: Any) -> tuple[Array, Any]:
    block = part.read()
    return as_numbers(block, names, dtype, part.name), block.ids


def as_numbers(block: Block, names: tuple[str, ...], dtype: Any, source: str) -> Array:
    """Return the columns of a block as one array of numbers; nulls and texts are refused."""
    values = np.empty((block.n_rows, len(names)), dtype=dtype)
    for place, (column, name) in enumerate(zip(block.columns, names, strict=True)):
        values[:, place] = _numbers(column, name, source)
    return values


def _numbers(column: Any, name: str, source: str) -> Array:
    if not isinstance(column, np.ndarray) and hasattr(column, "null_count"):
        if column.null_count:
            raise ValueError(f"{source}: column {name!r} holds a null; fill it in or leave the object out.")
        column = (column.cast("float64") if str(column.type).startswith("decimal") else column).to_numpy()
    if hasattr(column, "codes"):
        column = np.array([_number(text, name, source) for text in column.values.tolist()])[column.codes]
    if column.dtype.kind not in "biuf":
        raise ValueError(
            f"{source}: X must hold numbers, but column {name!r} does not; drop it, name it as the ids if it names the "
            f"objects (ids=, --id), or code it first (one column per category)."
        )
    numbers: Array = column
    return numbers


def _number(text: str, name: str, source: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(
            f"{source}: column {name!r} holds {text!r}, which is no number; leave the column out (--drop), or clean it."
        ) from None


def _common_type(source: Source, parts: list[Part]) -> np.dtype[Any]:
    """Return float32 if all columns have that type, otherwise float64; arrays of whole numbers keep their type."""
    first = next((part for part in parts if part.n_rows), None)
    if first is None:
        return np.dtype(np.float64)
    columns = first.read().columns
    kinds = {_dtype(column) for column in columns}
    if len(kinds) == 1 and (source.kinds[0] == "values" or kinds == {np.dtype(np.float32)}):
        kind = kinds.pop()
        return np.dtype(np.float32) if kind.itemsize == 2 and kind.kind == "f" else kind
    return np.dtype(np.float64)


def _dtype(column: Any) -> np.dtype[Any]:
    kind: np.dtype[Any] = np.dtype(np.float64)
    if isinstance(column, np.ndarray):
        kind = column.dtype
    elif hasattr(column, "type"):
        try:
            kind = np.dtype(column.type.to_pandas_dtype())
        except (NotImplementedError, TypeError):
            return kind
    return kind


def _spooled(source: Source, most: Most) -> BlockArray:
    """Copy a source that is read from front to back to a temporary file, and return an array that reads it.

    Ids stay in memory.
    """
    folder = Path(tempfile.mkdtemp(prefix="quorate-"))
    try:
        pieces, dtype = _copied(source, folder / "features", most)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return BlockArray(pieces, len(source.names), dtype, folder)


def _copied(source: Source, path: Path, most: Most) -> tuple[list[Piece], np.dtype[Any]]:
    pieces: list[Piece] = []
    offset = 0
    dtype: np.dtype[Any] = np.dtype(np.float64)
    with open(path, "wb") as file:
        for part in source.parts(most):
            block = part.read()
            if not pieces and all(_dtype(column) == np.float32 for column in block.columns):
                dtype = np.dtype(np.float32)
            values = as_numbers(block, source.names, dtype, part.name)
            values.tofile(file)
            read = partial(_read_file, path, offset, values.shape, dtype, block.ids)
            pieces.append(Piece(len(values), read, part.name, part.file))
            offset += values.nbytes
    return pieces, dtype


def _read_file(path: Path, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any], ids: Any) -> tuple[Array, Any]:
    return np.fromfile(path, dtype, shape[0] * shape[1], offset=offset).reshape(shape), ids

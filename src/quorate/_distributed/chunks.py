"""Dask collections as lists of chunks, and the compression of one chunk on a worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.blocks import CodedBlock, code_block
from quorate._data.ids import keys_of, value_at
from quorate._data.tables import as_table
from quorate._io.opening import Columns, choose_columns

Array = NDArray[Any]


class Chunks(NamedTuple):
    """A table as delayed chunks.

    Attributes
    ----------
    parts : list of Delayed or Future
        Arrays of shape (n, n_members), or data frames.
    names : tuple of str
        The members.
    ids : str or None
        The column of ids, if the chunks are data frames and have one.
    sizes : tuple of int or None
        The number of rows of each chunk; None if it is not known.
    divisions : tuple or None
        Where a data frame's index is divided; None if the chunks are not data frames.
    """

    parts: list[Any]
    names: tuple[str, ...]
    ids: str | None
    sizes: tuple[int | None, ...]
    divisions: tuple[Any, ...] | None

    def fit_into(self, n_bytes: int) -> bool:
        """Whether the rows take no more than this even if all objects differ; False if sizes are not known."""
        total = sum(size for size in self.sizes if size is not None)
        return None not in self.sizes and total * (4 * len(self.names) + 8) <= n_bytes

    @property
    def is_frame(self) -> bool:
        return self.divisions is not None


class Leaf(NamedTuple):
    """A compressed chunk, the index of its data frame, and its ids; `inverse` of the block takes 4 bytes per object."""

    block: CodedBlock
    index: Any
    ids: Any

    @property
    def n_rows(self) -> int:
        return len(self.block.inverse)


def need_dask() -> Any:
    """Import Dask, or raise an error that says how to install it."""
    try:
        import dask
        import dask.array
    except ImportError as error:
        raise ImportError('quorate.dask needs Dask; install it with: pip install "quorate[dask]"') from error
    return dask


def as_chunks(data: Any, columns: Columns) -> Chunks:
    """Take a Dask array or data frame, or a list of futures or delayed objects, one per chunk."""
    need_dask()
    if isinstance(data, list | tuple):
        return _from_list(list(data), columns)
    if hasattr(data, "dask") and hasattr(data, "chunks") and hasattr(data, "rechunk"):
        return _from_array(data, columns)
    if hasattr(data, "dask") and hasattr(data, "divisions"):
        return _from_frame(data, columns)
    raise TypeError(
        f"data must be a Dask array or data frame, or a list of futures or delayed chunks, got {type(data).__name__}; "
        f"quorate.consensus takes tables in memory, quorate.stream.consensus takes files."
    )


def _from_array(data: Any, columns: Columns) -> Chunks:
    if data.ndim != 2:
        raise ValueError(f"labels must be (n_objects, n_members), got a Dask array of {data.ndim} dimensions.")
    choose_columns((), columns, "the Dask array")
    # a row must lie in one chunk
    whole = data if len(data.chunks[1]) == 1 else data.rechunk({1: -1})
    names = tuple(f"member {place}" for place in range(int(data.shape[1])))
    sizes = tuple(None if np.isnan(size) else int(size) for size in whole.chunks[0])
    return Chunks(list(whole.to_delayed().ravel()), names, None, sizes, None)


def _from_frame(data: Any, columns: Columns) -> Chunks:
    choice = choose_columns(tuple(map(str, data.columns)), columns, "the Dask data frame")
    wanted = [*choice.members, *(() if choice.ids is None else (choice.ids,))]
    parts = data[wanted].to_delayed()
    return Chunks(list(parts), choice.members, choice.ids, (None,) * len(parts), tuple(data.divisions))


def _from_list(parts: list[Any], columns: Columns) -> Chunks:
    if not parts:
        raise ValueError("the list of chunks is empty; at least one is needed.")
    dask = need_dask()
    names = dask.delayed(chunk_names)(parts[0], columns.ids).compute()
    named, known = names
    choice = choose_columns(known if named else (), columns, "the first chunk")
    members = choice.members or known
    divisions = (None,) * (len(parts) + 1) if named else None
    return Chunks(parts, members, choice.ids, (None,) * len(parts), divisions)


def chunk_names(chunk: Any, ids: str | None) -> tuple[bool, tuple[str, ...]]:
    """Return whether the columns of a chunk have names, and these names, or made-up ones."""
    if hasattr(chunk, "columns"):
        return True, tuple(map(str, chunk.columns))
    return False, tuple(f"member {place}" for place in range(np.asarray(chunk).shape[1]))


def code_chunk(chunk: Any, number: int, names: tuple[str, ...], ids: str | None, beside: Sequence[Any] = ()) -> Leaf:
    """Compress a chunk; `beside` holds further columns of the same objects, such as a labelling of them.

    An error names the chunk.
    """
    try:
        return _coded(chunk, names, ids, beside)
    except Exception as error:
        kind = type(error) if isinstance(error, ValueError | TypeError | MemoryError) else RuntimeError
        raise kind(f"chunk {number}: {error}") from error


def _coded(chunk: Any, names: tuple[str, ...], ids: str | None, beside: Sequence[Any]) -> Leaf:
    is_frame = hasattr(chunk, "columns")
    n_rows = len(chunk)
    if n_rows == 0:
        columns = [np.empty(0, dtype=np.int64) for _ in names]
    else:
        plain = chunk.reset_index(drop=True) if is_frame else np.asanyarray(chunk)
        members = plain[list(names)] if is_frame else plain
        table = as_table(members, "objects", None)
        if len(table.names) != len(names):
            raise ValueError(
                f"it has {_check.counted(len(table.names), 'column')}, but the first chunk has {len(names)}."
            )
        columns = table.columns if table.block is None else list(table.block.T)
    columns = [*columns, *(_vector(values, n_rows) for values in beside)]
    block = code_block(columns, (*names, *(f"beside {place}" for place in range(len(beside)))))
    small = block._replace(inverse=block.inverse.astype(np.uint32))
    return Leaf(small, chunk.index if is_frame else None, np.asarray(chunk[ids]) if ids is not None else None)


def _vector(values: Any, n_rows: int) -> Array:
    column = np.asarray(values)
    if column.shape != (n_rows,):
        raise ValueError(f"labels must have one value per object, {n_rows:,} here, got shape {column.shape}.")
    return column


def rows_alone(leaf: Leaf) -> CodedBlock:
    """Return the distinct rows of a chunk, without what belongs to single objects: this is all that travels."""
    return leaf.block._replace(inverse=np.empty(0, dtype=np.uint32))


def leaf_size(leaf: Leaf) -> int:
    """Return the number of objects of a chunk."""
    return leaf.n_rows


def id_keys(leaf: Leaf, number: int, n_parts: int) -> list[Array]:
    """Return numbers that stand for the ids of a chunk, divided into parts so that equal ids are in one part."""
    keys = keys_of(leaf.ids, f"chunk {number}")
    return [keys[keys % np.uint64(n_parts) == part] for part in range(n_parts)]


def part_of(parts: list[Array], place: int) -> Array:
    """Return one of several parts."""
    return parts[place]


def repeated_key(*parts: Array) -> tuple[int, int, int] | None:
    """Return a number that occurs twice, with the places of the two chunks; None if all are different."""
    keys = np.concatenate(parts)
    chunk = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    order = np.argsort(keys, kind="stable")
    same = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    if not len(same):
        return None
    one, other = order[same[0]], order[same[0] + 1]
    return int(keys[one]), int(chunk[one]), int(chunk[other])


def id_of_key(leaf: Leaf, key: int) -> Any:
    """Return the id that a number stands for."""
    place = np.flatnonzero(keys_of(leaf.ids, "the chunk") == np.uint64(key))[0]
    return value_at(leaf.ids, int(place))

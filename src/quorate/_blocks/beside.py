"""Two tables of the same objects, read side by side: their blocks may have different sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from quorate._blocks.coding import CodedColumn
from quorate._blocks.ids import as_numpy
from quorate._blocks.source import Block, Part, Source, given
from quorate._data.alignment import id_texts


def beside_name(place: int) -> str:
    """Return the name that a column of the second table gets; no column of a file has it."""
    return f"\0beside {place}"


def side_by_side(table: Source, beside: Source) -> Source:
    """Return a source with the columns of both tables; objects are matched by their order, and ids must agree."""

    def parts(most_rows: int) -> Iterator[Part]:
        supply = _Supply(beside, most_rows)
        for part in table.parts(most_rows):
            block = part.read()
            other = supply.take(block.n_rows, table.title)
            _refuse_other_ids(block, other, part.name, beside.title)
            joined = Block([*block.columns, *other.columns], block.ids)
            yield Part(part.name, part.file, partial(given, joined))
        supply.refuse_more(table.title)

    return replace(
        table,
        names=(*table.names, *(beside_name(place) for place in range(len(beside.names)))),
        kinds=(*table.kinds, *beside.kinds),
        parts=parts,
        row_bytes=table.row_bytes + beside.row_bytes,
    )


class _Supply:
    """Hands out the rows of a source in blocks of any size."""

    def __init__(self, source: Source, most_rows: int) -> None:
        self._source, self._parts = source, source.parts(most_rows)
        self._left: Block | None = None

    def take(self, n_rows: int, title: str) -> Block:
        """Return the next rows; raise if there are fewer."""
        pieces: list[Block] = []
        missing = n_rows
        while missing or not pieces:
            if self._left is None or not self._left.n_rows:
                self._left = self._next()
            if self._left is None:
                raise ValueError(
                    f"{self._source.title} labels fewer objects than {title} has; rows are matched by their order."
                )
            pieces.append(_sliced(self._left, 0, missing))
            self._left = _sliced(self._left, pieces[-1].n_rows, None)
            missing -= pieces[-1].n_rows
        return pieces[0] if len(pieces) == 1 else _joined(pieces)

    def _next(self) -> Block | None:
        part = next(self._parts, None)
        return None if part is None else part.read()

    def refuse_more(self, title: str) -> None:
        """Raise if rows are left."""
        while self._left is None or not self._left.n_rows:
            self._left = self._next()
            if self._left is None:
                return
        raise ValueError(f"{self._source.title} labels more objects than {title} has; rows are matched by their order.")


def _sliced(block: Block, start: int, stop: int | None) -> Block:
    columns = [_slice(column, start, stop) for column in block.columns]
    return Block(columns, None if block.ids is None else _slice(block.ids, start, stop))


def _slice(column: Any, start: int, stop: int | None) -> Any:
    if isinstance(column, CodedColumn):
        return CodedColumn(column.codes[start:stop], column.values)
    return column[start:stop]


def _joined(pieces: list[Block]) -> Block:
    columns = [_join([piece.columns[place] for piece in pieces]) for place in range(len(pieces[0].columns))]
    return Block(columns, None if pieces[0].ids is None else _join([piece.ids for piece in pieces]))


def _join(columns: list[Any]) -> Any:
    first = columns[0]
    if isinstance(first, np.ndarray):
        return np.concatenate(columns)
    if isinstance(first, CodedColumn):
        return np.concatenate([column.values[column.codes] for column in columns])
    import pyarrow

    chunks = [chunk for column in columns for chunk in (column.chunks if hasattr(column, "chunks") else [column])]
    return pyarrow.chunked_array(chunks, type=first.type)


def _refuse_other_ids(block: Block, other: Block, name: str, title: str) -> None:
    if block.ids is None or other.ids is None or not block.n_rows:
        return
    mine, theirs = as_numpy(block.ids), as_numpy(other.ids)
    if mine.dtype.kind == theirs.dtype.kind and mine.dtype.kind in "iu":
        different = np.flatnonzero(mine != theirs)
    else:
        pairs = zip(id_texts(mine), id_texts(theirs), strict=True)
        different = np.array([row for row, (one, two) in enumerate(pairs) if one != two], dtype=np.intp)
    if len(different):
        row = int(different[0])
        raise ValueError(
            f"{name} and {title} are not in the same order: where one has the object {mine[row]!r}, the other has "
            f"{theirs[row]!r}; tables in blocks are matched by order, so sort both alike."
        )

"""Text tables in blocks of rows, for tables that are larger than memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._io.dialect import DELIMITERS, OpenTable, no_text, open_table
from quorate._io.paths import FilePath, format_of, name_of, reading, refuse_content
from quorate._io.text import BLOCK, Choice, Choose, number_texts, read_header, rows_of_width

Array = NDArray[Any]


class TextBlock(NamedTuple):
    """Rows of a text table: for each chosen column codes by first appearance in the block and their texts, and ids."""

    columns: list[tuple[Array, list[str]]]
    ids: list[str] | None


def read_text_header(path: FilePath, choose: Choose, sep: str | None) -> Choice:
    """Return the columns that are chosen from the header of a text table."""
    with _opened(path, sep) as table:
        return choose(read_header(table.reader, name_of(path), table.delimiter))


def text_blocks(path: FilePath, choice: Choice, sep: str | None, n_rows: int) -> Iterator[TextBlock]:
    """Yield blocks of at most n_rows rows; a row with more or fewer cells than the header is refused."""
    name = name_of(path)
    with _opened(path, sep) as table:
        header = read_header(table.reader, name, table.delimiter)
        places = [header.index(column) for column in choice.members]
        id_place = None if choice.ids is None else header.index(choice.ids)
        rows = iter(rows_of_width(table.reader, len(header), name))
        while True:
            block = _block(itertools.islice(rows, n_rows), places, id_place)
            if not block.columns or not len(block.columns[0][0]):
                return
            if any("\0" in text for _, texts in block.columns for text in texts):
                raise no_text(name)
            yield block


def _block(rows: Iterator[list[str]], places: list[int], id_place: int | None) -> TextBlock:
    seen, codes = [number_texts() for _ in places], [[np.empty(0, np.int8)] for _ in places]
    ids: list[str] = []
    while few := list(itertools.islice(rows, BLOCK)):
        columns = list(zip(*few, strict=True))
        for place, known, parts in zip(places, seen, codes, strict=True):
            parts.append(np.fromiter(map(known.__getitem__, columns[place]), np.int32))
        if id_place is not None:
            ids.extend(columns[id_place])
    joined = [(np.concatenate(parts), list(known)) for parts, known in zip(codes, seen, strict=True)]
    return TextBlock(joined, None if id_place is None else ids)


@contextmanager
def _opened(path: FilePath, sep: str | None) -> Iterator[OpenTable]:
    with reading(path) as file:
        refuse_content(path, file.peek(8))
        with open_table(file, name_of(path), DELIMITERS[format_of(path)], sep) as table:
            yield table

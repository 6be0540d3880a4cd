"""Reading CSV files with Python's csv module in blocks of rows; every column is coded while it is read.

A table of n x H labels is never held as n x H Python strings. Only one block of rows is; its texts are numbered by
first appearance in their column, and afterwards only the few distinct texts of each column are looked at.
"""

from __future__ import annotations

import itertools
import warnings
from array import array
from collections.abc import Callable, Iterable, Iterator
from io import BufferedReader
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.coding import narrowest
from quorate._data.missing import as_number
from quorate._data.tables import refuse_duplicates
from quorate._io.dialect import no_text, open_table
from quorate._io.formulas import unquoted
from quorate._types import read_only

Array = NDArray[Any]
# small enough for a processor's cache: blocks of 16,384 rows take three times as long
BLOCK = 512


class Choice(NamedTuple):
    """The columns of a table that are read: the column that names the rows, if there is one, and the members."""

    ids: str | None
    members: tuple[str, ...]


Choose = Callable[[tuple[str, ...]], Choice]


class Texts(NamedTuple):
    """Columns as they were read: codes in order of first appearance, the texts they stand for, and the rows' names."""

    names: tuple[str, ...]
    codes: list[Array]
    texts: list[list[str]]
    ids: list[str] | None
    id_name: str | None = None


class _Numbers(dict[str, int]):
    """Numbers texts by first appearance: looking up a new text gives it the next number."""

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self)
        return number


def read_csv(
    source: BufferedReader,
    name: str,
    default: str,
    choose: Choose,
    *,
    sep: str | None = None,
    transposed: bool = False,
    unquote: bool = False,
) -> Texts:
    """Read a table with a header; `choose` picks the columns once their names are known.

    What separates the columns is recognised unless `sep` is given; it is `default` if the first lines do not settle
    it. With `transposed` each row is one member: then `names` are the names of the rows, and `ids` is the header.
    With `unquote` the apostrophe is taken away that `formulas="quote"` has put before cells.
    """
    with open_table(source, name, default, sep) as table:
        header = read_header(table.reader, name, table.delimiter)
        if unquote:
            header = tuple(map(unquoted, header))
        choice = choose(header)
        rows = _Rows(table.reader, len(header), name)
        read = _read_members if transposed else _read_objects
        texts = read(rows, header, choice)
        if unquote:
            texts = _unquoted(texts, transposed)
    if not rows.lines:
        raise ValueError(f"{name} holds a header but no rows.")
    if any("\0" in text for text in itertools.chain(header, *texts.texts)):
        raise no_text(name)
    return texts


def _unquoted(texts: Texts, transposed: bool) -> Texts:
    """Return what was read without the apostrophes of quoted formulas; those of the header are gone already."""
    cells = [[unquoted(text) for text in column] for column in texts.texts]
    if transposed:
        return texts._replace(texts=cells, names=tuple(map(unquoted, texts.names)))
    return texts._replace(texts=cells, ids=None if texts.ids is None else list(map(unquoted, texts.ids)))


class _Rows:
    """Iterates over the rows of a reader, and records the line on which each row ended.

    Raises ValueError at a row that has more or fewer cells than the header.
    """

    def __init__(self, reader: Any, width: int, name: str) -> None:
        self.reader, self.width, self.name = reader, width, name
        self.lines = array("q")

    def __iter__(self) -> Iterator[list[str]]:
        blank = 0
        for row in self.reader:
            line = self.reader.line_num
            if len(row) != self.width:
                if row:
                    raise ValueError(
                        f"{self.name}, line {line} has {_check.counted(len(row), 'cell')}, but the header has "
                        f"{self.width}; every row needs one cell per column, which is empty if there is no label."
                    )
                blank = blank or line
                continue
            # in one column a blank line may be an empty cell, and skipping it would shift all later objects
            if blank and self.width == 1:
                raise ValueError(f'{self.name}, line {blank} is blank; write "" if an object has no label.')
            self.lines.append(line)
            yield row


def number_texts() -> _Numbers:
    """Return an empty mapping that numbers texts by first appearance when they are looked up."""
    return _Numbers()


def rows_of_width(reader: Any, width: int, name: str) -> Iterator[list[str]]:
    """Yield the rows of a reader; raise at one that has more or fewer cells than the header."""
    rows = _Rows(reader, width, name)
    for row in rows:
        # the lines of rows are only needed to name repeated ids, and would take memory for each row
        del rows.lines[:]
        yield row


def read_header(reader: Any, name: str, delimiter: str) -> tuple[str, ...]:
    header = next((tuple(row) for row in reader if row), None)
    if header is None:
        raise ValueError(f"{name} is empty; a header line and one row per object were expected.")
    if any("\0" in cell for cell in header):
        raise no_text(name)
    try:
        refuse_duplicates(header)
    except ValueError as error:
        raise ValueError(f"{name}: {error} (The first line must be a header.)") from None
    other = next((mark for mark in (";", "\t", ",", "|") if mark != delimiter and mark in header[0]), None)
    if len(header) == 1 and other is not None:
        raise ValueError(
            f"{name} has the one column {header[0]!r}; columns were separated at {delimiter!r}, and not at {other!r}; "
            f"say what separates them ({_check.option('--sep', other)})."
        )
    _warn_of_numbers(header, name)
    return header


def _warn_of_numbers(header: tuple[str, ...], name: str) -> None:
    """Warn if the header holds numbers that do not rise, because it is probably the first object of the table."""
    numbers = [as_number(cell) for cell in header]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers) or (len(known) == 1 and known[0] == 0):
        return
    if len(known) == 1 or any(not low < high for low, high in itertools.pairwise(known)):
        warnings.warn(
            f"{name} has the column names {', '.join(header[:5])}{', ...' if len(header) > 5 else ''}; the first "
            f"line must be a header, so add one if these are the labels of the first object.",
            UserWarning,
            stacklevel=2,
        )


def _read_objects(rows: _Rows, header: tuple[str, ...], choice: Choice) -> Texts:
    """Read a table with one row per object: blocks of rows become columns, each coded by a dictionary of its own."""
    places = _check.places(choice.members, header)
    id_place = None if choice.ids is None else header.index(choice.ids)
    numbers = [_Numbers() for _ in places]
    names = _Numbers()
    codes: list[list[Array]] = [[] for _ in places]
    supply = iter(rows)
    while block := list(itertools.islice(supply, BLOCK)):
        columns = list(zip(*block, strict=True))
        if id_place is not None:
            _number_ids(columns[id_place], names, rows)
        for place, seen, parts in zip(places, numbers, codes, strict=True):
            parts.append(_number(columns[place], seen))
    joined = [np.concatenate(parts) if parts else np.empty(0, np.int8) for parts in codes]
    ids = None if id_place is None else list(names)
    return Texts(choice.members, joined, [list(seen) for seen in numbers], ids, choice.ids)


def _read_members(rows: _Rows, header: tuple[str, ...], choice: Choice) -> Texts:
    """Read a table with one row per member: each row is coded as it is read, and the header names the objects."""
    places = _check.places(choice.members, header)
    id_place = None if choice.ids is None else header.index(choice.ids)
    names = _Numbers()
    codes, texts = [], []
    for row in rows:
        if id_place is not None:
            _number_ids((row[id_place],), names, rows)
        seen = _Numbers()
        codes.append(_number([row[place] for place in places], seen))
        texts.append(list(seen))
    members = tuple(names) if names else tuple(f"member {place}" for place in range(len(codes)))
    made_up = choice.members == tuple(map(str, range(len(places))))
    return Texts(members, codes, texts, None if made_up else list(choice.members))


def _number(column: Iterable[str], seen: _Numbers) -> Array:
    codes = np.fromiter(map(seen.__getitem__, column), np.int32)
    return codes.astype(narrowest(len(seen)), copy=False)


def _number_ids(column: Iterable[str], names: _Numbers, rows: _Rows) -> None:
    """Add names of rows, and raise if one is empty or repeated: if all differ, a name's number is that of its row."""
    for row, text in enumerate(column, start=len(names)):
        if not text:
            raise ValueError(f"{rows.name}, line {rows.lines[row]} has no id; every row needs one of its own.")
        if names[text] != row:
            raise ValueError(
                f"{rows.name} has the id {text!r} twice, on lines {rows.lines[names[text]]} and {rows.lines[row]}; "
                f"every row needs an id of its own."
            )


def text_ids(ids: list[str]) -> Array:
    """Return texts as an array; if one is long, an array of objects, so that the short ones take less memory."""
    wide = max(map(len, ids), default=0) > 64
    return read_only(np.array(ids, dtype=object if wide else np.str_))

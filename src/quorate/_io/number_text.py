"""CSV files of numbers: every line is checked to have one cell per column before numpy reads it."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._check import brief, counted, option
from quorate._check import places as places_of
from quorate._io.dialect import LINES_LOOKED_AT, OpenTable, has_decimal_commas, open_table
from quorate._io.text import Choice, Choose, read_header

Array = NDArray[Any]

_POINT = "\u00b7"
_SWAPPED = str.maketrans({",": ".", ".": _POINT})
"""Turns decimal commas into points, and points into a character that is in no number.

A cell with both, such as 1.234,5, is therefore refused instead of misread.
"""
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*")


class Numbers(NamedTuple):
    """The chosen columns as values of shape (n_objects, n_columns), and the ids as texts if their column was chosen."""

    values: NDArray[np.float64]
    choice: Choice
    ids: Array | None


def read_numbers(
    source: io.BufferedReader, name: str, default: str, choose: Choose, *, sep: str | None = None
) -> Numbers:
    """Read a table with a header; `choose` picks the columns once their names are known.

    What separates the columns is recognised unless `sep` is given. Decimal commas are recognised as well.
    """
    with open_table(source, name, default, sep) as table:
        header: tuple[str, ...] = ()
        try:
            header = read_header(table.reader, name, table.delimiter)
            return _numbers(table, name, header, choose(header))
        except UnicodeDecodeError:
            # a ValueError, too, which open_table words
            raise
        except csv.Error as error:
            # rows are read by readers of their own, which do not know the line
            raise ValueError(f"{name}: {error}; is a quotation mark left open?") from error
        except (ValueError, IndexError) as error:
            raise ValueError(_reworded(str(error), name, header)) from error


def _numbers(table: OpenTable, name: str, header: tuple[str, ...], choice: Choice) -> Numbers:
    """Read the rows below the header."""
    places, delimiter = places_of(choice.members, header), table.delimiter
    head = list(itertools.islice(table.lines, LINES_LOOKED_AT))
    lines = _Lines(itertools.chain(head, table.lines), name, delimiter, header, places, choice.ids)
    supply = _some(lines, name)
    if delimiter != "," and _has_decimal_commas(head, delimiter, places):
        supply = (line.translate(_SWAPPED) for line in supply)
    values = np.loadtxt(supply, delimiter=delimiter, usecols=places, ndmin=2, comments=None)
    return Numbers(values, choice, np.array(lines.ids) if choice.ids is not None else None)


def _has_decimal_commas(lines: list[str], delimiter: str, places: list[int]) -> bool:
    rows = csv.reader(lines, delimiter=delimiter)
    return has_decimal_commas([[row[place] for place in places if place < len(row)] for row in rows])


class _Lines:
    """Iterates over the rows of a table as lines without quotation marks, and collects the ids on the way.

    Raises ValueError at a row that has more or fewer cells than the header.
    """

    def __init__(
        self,
        stream: Iterator[str],
        name: str,
        delimiter: str,
        header: tuple[str, ...],
        places: list[int],
        ids: str | None,
    ) -> None:
        self.stream, self.name, self.delimiter, self.header = stream, name, delimiter, header
        self.wanted = frozenset(places)
        self.id_place = None if ids is None else header.index(ids)
        self.ids: list[str] = []

    def __iter__(self) -> Iterator[str]:
        width, blank, n_rows = len(self.header), False, 0
        supply = iter(self.stream)
        for line in supply:
            # a line of tabs is a row of empty cells
            if not line.strip(" \r\n"):
                blank = True
                continue
            if blank and width == 1:
                raise ValueError(f"{self.name} has a blank line after data row {n_rows}; every object needs a number.")
            n_rows += 1
            cells = [] if '"' not in line and self.id_place is None else self._cells(line, supply)
            n_cells = len(cells) if cells else line.count(self.delimiter) + 1
            if n_cells != width:
                self._refuse_width(n_cells, n_rows)
            if self.id_place is not None:
                self.ids.append(cells[self.id_place])
            yield self._plain(cells, n_rows) if cells else line

    def _cells(self, line: str, supply: Iterator[str]) -> list[str]:
        """Return the cells of the row that starts with this line; a quoted cell may continue on the following lines."""
        return next(csv.reader(itertools.chain([line], supply), delimiter=self.delimiter, strict=True))

    def _plain(self, cells: list[str], row: int) -> str:
        """Return the row as one line in which all cells but the chosen ones are empty.

        A cell that is not read may hold the delimiter between quotation marks; it must not count as several cells.
        """
        for place in self.wanted:
            if self.delimiter in cells[place] or "\n" in cells[place] or "\r" in cells[place]:
                raise ValueError(no_number(self.name, self.header[place], cells[place], row))
        return self.delimiter.join(cell if place in self.wanted else "" for place, cell in enumerate(cells))

    def _refuse_width(self, n_cells: int, row: int) -> None:
        commas = self.delimiter == "," and n_cells > len(self.header)
        advice = " If these are decimal commas, write points, or separate the columns by tabs (.tsv)." if commas else ""
        raise ValueError(
            f"{self.name}, data row {row} has {counted(n_cells, 'cell')}, but the header has {len(self.header)}; "
            f"every row needs one cell per column.{advice}"
        )


def _some(lines: _Lines, name: str) -> Iterator[str]:
    supply = iter(lines)
    first = next(supply, None)
    if first is None:
        raise ValueError(f"{name} holds a header but no rows.")
    return itertools.chain([first], supply)


def _reworded(reason: str, name: str, header: tuple[str, ...]) -> str:
    """Return numpy's error message about a cell, with the name of the column and the number of the data row."""
    cell = re.search(r"could not convert string (.*) to float64 at row (\d+), column (\d+)", reason, re.DOTALL)
    if cell is None:
        return reason if reason.startswith(name) else f"{name}: {reason}"
    text, row, column = cell.group(1), int(cell.group(2)), int(cell.group(3))
    if _POINT in text:
        text = text.replace(".", ",").replace(_POINT, ".")
    return no_number(name, header[column - 1], text[1:-1] if text[:1] in "'\"" else text, row + 1)


def no_number(name: str, column: str, text: str, row: int) -> str:
    """Return the error message about a cell that is not a number; rows are counted from 1."""
    advice = (
        "write decimal points instead of commas."
        if _DECIMAL_COMMA.fullmatch(text)
        else f"leave the column out ({option('--drop', brief(column, quoted=False))}) or fill the gap."
    )
    return (
        f"{name}: column {brief(column)} holds {brief(text)} in data row {row}, which is no number; distances need a "
        f"number in every cell, so {advice}"
    )

"""Tables in .xlsx files, read by openpyxl: the first sheet, whose first row that is not empty is the header."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.tables import refuse_duplicates
from quorate._io.paths import FilePath, name_of, reading, refuse_content
from quorate._io.text import Choice, Choose

Array = NDArray[Any]


class Sheet(NamedTuple):
    """The chosen columns of a sheet: values of any type, and None for an empty cell."""

    choice: Choice
    columns: dict[str, Array]


def read_sheet(path: FilePath, choose: Choose) -> Sheet:
    """Read the first sheet; `choose` picks the columns once their names are known."""
    with reading(path) as file:
        refuse_content(path, file.peek(4), b"PK\x03\x04")
        openpyxl = _need_openpyxl()
        try:
            book = _load(openpyxl, file)
            if not book.worksheets:
                raise ValueError("it has no sheet with cells")
            sheet, *others = book.worksheets
            rows = [row for row in _rows(sheet) if any(cell is not None for cell in row)]
            has_more = [
                other.title for other in others if any(True for _ in other.iter_rows(max_row=2, values_only=True))
            ]
            book.close()
        except Exception as error:  # a damaged file makes openpyxl raise errors of many families
            reason = _check.brief(str(error), most=200, quoted=False)
            raise ValueError(f"{name_of(path)} could not be read as .xlsx: {reason}") from error
    if has_more:
        warnings.warn(
            f"{name_of(path)}: the sheet {sheet.title!r} was read; not read: {', '.join(map(repr, has_more))}.",
            UserWarning,
            stacklevel=2,
        )
    return _chosen(rows, choose, name_of(path))


def _load(openpyxl: Any, file: Any) -> Any:
    """Load a workbook as `openpyxl.load_workbook` does, but not its chart sheets: it fails at one without a chart."""
    reader = openpyxl.reader.excel.ExcelReader(file, read_only=True, data_only=True)
    reader.read_chartsheet = lambda *_: None
    reader.read()
    return reader.wb


def _rows(sheet: Any) -> Iterator[list[Any]]:
    for row in sheet.iter_rows(values_only=True):
        yield [None if isinstance(cell, str) and not cell.strip() else cell for cell in row]


def _chosen(rows: list[list[Any]], choose: Choose, name: str) -> Sheet:
    if not rows:
        raise ValueError(f"{name} is empty; a header line and one row per object were expected.")
    header = tuple("" if cell is None else str(cell) for cell in rows[0])
    while header and header[-1] == "" and all(row[len(header) - 1] is None for row in rows[1:]):
        header = header[:-1]
    try:
        refuse_duplicates(header)
    except ValueError as error:
        raise ValueError(f"{name}: {error} (The first line must be a header.)") from None
    if len(rows) == 1:
        raise ValueError(f"{name} holds a header but no rows.")
    choice = choose(header)
    wanted = [*(() if choice.ids is None else (choice.ids,)), *choice.members]
    places = zip(wanted, _check.places(wanted, header), strict=True)
    return Sheet(choice, {column: _column(rows, place) for column, place in places})


def _column(rows: list[list[Any]], place: int) -> Array:
    values = np.empty(len(rows) - 1, dtype=object)
    values[:] = [row[place] if place < len(row) else None for row in rows[1:]]
    return values


MOST_ROWS = 1_048_576
"""Rows that a sheet may have, the header among them."""


def write_sheet(file: Any, rows: Iterator[list[Any]], name: str) -> None:
    """Write rows as the only sheet of a workbook; texts stay texts, also those that look like formulas."""
    openpyxl = _need_openpyxl()
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("labels")
    try:
        for number, row in enumerate(rows):
            if number == MOST_ROWS:
                raise ValueError(f"{name}: an Excel sheet has at most {MOST_ROWS:,} rows; write .csv or .parquet.")
            sheet.append([_cell(openpyxl, sheet, value) for value in row])
    except BaseException:
        sheet.close()  # it writes to a temporary file of its own
        raise
    book.save(file)


def _cell(openpyxl: Any, sheet: Any, value: Any) -> Any:
    """Return what Excel shows as this value; a text that begins with "=" would be taken for a formula."""
    if isinstance(value, float) and value != value:
        return None
    if value is None or isinstance(value, bool | int | float):
        return value
    text = str(value)
    if any(ord(character) < 32 and character not in "\t\n\r" for character in text):
        raise ValueError(f"an Excel file cannot hold the control characters of {text!r}; write .csv or .parquet.")
    cell = openpyxl.cell.WriteOnlyCell(sheet, value=text)
    cell.data_type = "s"
    return cell


def _need_openpyxl() -> Any:
    try:
        import openpyxl
    except ImportError as error:
        raise ImportError('.xlsx files need openpyxl; install it with: pip install "quorate[excel]"') from error
    return openpyxl

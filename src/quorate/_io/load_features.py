"""Tables of measurements in files: numbers, one row an object; what `quorate generate` and `cluster` read."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.alignment import refuse_repeated
from quorate._io.arrays import read_arrays
from quorate._io.choosing import refuse_unknown
from quorate._io.dialect import DELIMITERS, LINES_LOOKED_AT, has_decimal_commas, open_text, recognise
from quorate._io.excel import Sheet, read_sheet
from quorate._io.parquet import read_parquet
from quorate._io.paths import FilePath, format_of, is_standard, name_of, reading, refuse_content
from quorate._io.text import Choice, read_header

Array = NDArray[Any]
POINT = "\u00b7"


class Measurements(NamedTuple):
    """Values (n_objects, n_columns), an array, a memory map or CSR; column names and ids where the file has them."""

    values: Any
    names: tuple[str, ...] | None = None
    ids: Array | None = None


def load_features(
    path: FilePath,
    *,
    ids: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    sep: str | None = None,
) -> Measurements:
    """Read a table of numbers.

    Parameters
    ----------
    path : str or path
        .csv, .tsv, .txt (also .gz), .xlsx and .parquet have named columns; .npy is mapped, not read; .npz holds one 2-D
        array, or a sparse matrix as scipy writes it; .zarr holds one 2-D array. "-" is CSV from standard input.
    ids : str, optional
        Column that names the objects.
    columns : sequence of str, optional
        Columns that are measurements; all but `ids` and `drop` by default.
    drop : sequence of str
        Columns to leave out.
    sep : str, optional
        What separates the columns of a text file; recognised by default, and with it decimal commas.
    """
    kind = format_of(path)
    if sep is not None and kind not in DELIMITERS:
        raise ValueError(f"sep (--sep) is for text files, and {name_of(path)} is .{kind}; leave it out.")
    if kind in DELIMITERS:
        with reading(path) as file:
            refuse_content(path, file.peek(8))
            found = _read_text(file, name_of(path), (DELIMITERS[kind], sep), (ids, columns, drop))
    elif kind == "xlsx":
        sheet = read_sheet(path, lambda names: _choose(names, ids, columns, drop, name_of(path)))
        found = _from_sheet(sheet, name_of(path))
    elif kind == "parquet":
        table, choice = read_parquet(path, lambda names: _choose(names, ids, columns, drop, name_of(path)))
        named = None if choice.ids is None else np.asarray(table.column(choice.ids).to_pylist())
        found = Measurements(table.select(list(choice.members)), choice.members, named)
    else:
        if ids is not None or columns is not None or drop:
            raise ValueError(f"{name_of(path)} has no column names, so none can be chosen; slice the array instead.")
        found = Measurements(_read_array(path, kind))
    refuse_repeated(found.ids, name_of(path))
    return found


def _choose(
    names: tuple[str, ...], ids: str | None, columns: Sequence[str] | None, drop: Sequence[str], source: str
) -> Choice:
    refuse_unknown(tuple(name for name in (ids, *(columns or ()), *drop) if name is not None), names, source)
    chosen = columns if columns is not None else [name for name in names if name != ids]
    chosen = tuple(name for name in chosen if name not in drop)
    if not chosen:
        raise ValueError(f"{source}: no column of measurements is left; it has {', '.join(map(repr, names[:20]))}.")
    return Choice(ids, chosen)


def _read_text(
    source: io.BufferedReader, name: str, separators: tuple[str, str | None], chosen: tuple[Any, Any, Any]
) -> Measurements:
    stream = open_text(source, source.peek(2))
    header: tuple[str, ...] = ()
    try:
        rest, delimiter = recognise(stream, *separators)
        header = read_header(csv.reader(rest, delimiter=delimiter, strict=True), name, delimiter)
        choice = _choose(header, *chosen, name)
        places = [header.index(column) for column in choice.members]
        named: list[str] = []
        lines: Any = _some((line for line in rest if line.strip()), name)
        if choice.ids is not None:
            lines = _noting_ids(lines, header.index(choice.ids), delimiter, named)
        lines = _with_decimal_points(lines, places, delimiter)
        values = np.loadtxt(lines, delimiter=delimiter, usecols=places, ndmin=2, comments=None, quotechar='"')
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not UTF-8 or UTF-16 text ({error.reason}); save it as UTF-8.") from error
    except (ValueError, IndexError) as error:
        raise ValueError(_reworded(str(error), name, header)) from error
    finally:
        stream.detach()
    return Measurements(values, choice.members, np.array(named) if choice.ids is not None else None)


def _some(lines: Iterator[str], name: str) -> Iterator[str]:
    first = next(lines, None)
    if first is None:
        raise ValueError(f"{name} holds a header but no rows.")
    return itertools.chain([first], lines)


def _with_decimal_points(lines: Iterator[str], places: list[int], delimiter: str) -> Iterator[str]:
    """The lines with points for decimal commas, where the first numbers have any.

    Points become a mark that no number has, so that a cell with both is refused and not misread.
    """
    if delimiter == ",":
        return lines
    head = list(itertools.islice(lines, LINES_LOOKED_AT))
    cells = [[row[place] for place in places if place < len(row)] for row in csv.reader(head, delimiter=delimiter)]
    every = itertools.chain(head, lines)
    if not has_decimal_commas(cells):
        return every
    swap = str.maketrans({",": ".", ".": POINT})
    return (line.translate(swap) for line in every)


def _from_sheet(sheet: Sheet, name: str) -> Measurements:
    ids = None if sheet.choice.ids is None else np.array([str(value) for value in sheet.columns[sheet.choice.ids]])
    values = np.empty((len(sheet.columns[sheet.choice.members[0]]), len(sheet.choice.members)))
    for place, column in enumerate(sheet.choice.members):
        for row, value in enumerate(sheet.columns[column].tolist()):
            if not isinstance(value, int | float) or isinstance(value, bool):
                told = "nothing" if value is None else repr(value)
                raise ValueError(_no_number(told, name, column, row))
            values[row, place] = value
    return Measurements(values, sheet.choice.members, ids)


def _noting_ids(lines: Iterator[str], place: int, delimiter: str, named: list[str]) -> Iterator[str]:
    """The lines as they are, while their ids are written down."""
    for line in lines:
        cells = next(csv.reader([line], delimiter=delimiter))
        named.append(cells[place] if place < len(cells) else "")
        yield line


def _reworded(reason: str, name: str, header: tuple[str, ...]) -> str:
    """numpy's complaint about a cell, with the column's name and the line's number."""
    found = re.search(r"could not convert string (.*) to float64 at row (\d+), column (\d+)", reason, re.DOTALL)
    if found is None:
        return reason if reason.startswith(name) else f"{name}: {reason}"
    text, row, column = found.group(1), int(found.group(2)), int(found.group(3))
    if POINT in text:
        text = text.replace(".", ",").replace(POINT, ".")
    return _no_number(text, name, header[column - 1], row)


def _no_number(text: str, name: str, column: str, row: int) -> str:
    return (
        f"{name}: column {column!r} holds {text} in data row {row + 1}, which is no number; distances need "
        f"a number in every cell, so leave the column out ({_check.option('--drop', column)}) or fill the gap."
    )


def _read_array(path: FilePath, kind: str) -> Any:
    if kind == "npy" and not is_standard(path):
        with reading(path) as file:
            refuse_content(path, file.peek(8), b"\x93NUMPY")
        return np.load(path, mmap_mode="r", allow_pickle=False)
    arrays = read_arrays(path)
    if {"indptr", "indices", "data", "shape"} <= set(arrays):
        from scipy.sparse import csr_array

        return csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"]))
    tables = [key for key, values in arrays.items() if values.ndim == 2]
    if len(tables) != 1:
        found = ", ".join(f"{key} {values.shape}" for key, values in arrays.items()) or "none"
        raise ValueError(f"{name_of(path)} must hold exactly one 2-D array, or a sparse matrix, found {found}.")
    return arrays[tables[0]]

"""Reading tables of measurements, numbers with one row per object, for `quorate generate` and `quorate cluster`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._data.alignment import refuse_repeated
from quorate._data.sparse import csr_from_file, is_sparse_file
from quorate._data.tables import refuse_duplicates
from quorate._io.arrays import read_arrays
from quorate._io.choosing import refuse_unknown
from quorate._io.dialect import DELIMITERS
from quorate._io.excel import Sheet, read_sheet
from quorate._io.number_text import no_number, read_numbers
from quorate._io.numpy_files import map_npy
from quorate._io.parquet import read_parquet
from quorate._io.paths import FilePath, format_of, is_standard, name_of, reading, refuse_content
from quorate._io.text import Choice

Array = NDArray[Any]


class Measurements(NamedTuple):
    """A table of measurements, with column names and ids if the file has them.

    `values` has the shape (n_objects, n_columns) and is an array, a memory map, a pyarrow table or a CSR matrix.
    """

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
        What separates the columns of a text file. By default it is recognised from the first lines, as decimal
        commas are.

    Returns
    -------
    Measurements
    """

    def choose(names: tuple[str, ...]) -> Choice:
        return choose_measurements(names, ids, columns, drop, name_of(path))

    kind = format_of(path)
    if sep is not None and kind not in DELIMITERS:
        raise ValueError(f"sep (--sep) is for text files, and {name_of(path)} is .{kind}; leave it out.")
    if kind in DELIMITERS:
        with reading(path) as file:
            refuse_content(path, file.peek(8))
            read = read_numbers(file, name_of(path), DELIMITERS[kind], choose, sep=sep)
        measurements = Measurements(read.values, read.choice.members, read.ids)
    elif kind == "xlsx":
        measurements = _from_sheet(read_sheet(path, choose), name_of(path))
    elif kind == "parquet":
        table, choice = read_parquet(path, choose)
        named = None if choice.ids is None else np.asarray(table.column(choice.ids).to_pylist())
        measurements = Measurements(table.select(list(choice.members)), choice.members, named)
    else:
        if ids is not None or columns is not None or drop:
            raise ValueError(f"{name_of(path)} has no column names, so none can be chosen; slice the array instead.")
        measurements = Measurements(_read_array(path, kind))
    refuse_repeated(measurements.ids, name_of(path))
    return measurements


def choose_measurements(
    names: tuple[str, ...], ids: str | None, columns: Sequence[str] | None, drop: Sequence[str], source: str
) -> Choice:
    """Choose the columns of measurements, and that of the ids, among the columns of a file."""
    refuse_unknown(tuple(name for name in (ids, *(columns or ()), *drop) if name is not None), names, source)
    refuse_duplicates(tuple(columns or ()))
    if ids is not None and (ids in (columns or ()) or ids in drop):
        raise ValueError(f"{ids!r} is named as the ids, so it can be neither a measurement nor left out.")
    chosen = columns if columns is not None else [name for name in names if name != ids]
    chosen = tuple(name for name in chosen if name not in drop)
    if not chosen:
        raise ValueError(f"{source}: no column of measurements is left; it has {', '.join(map(repr, names[:20]))}.")
    return Choice(ids, chosen)


def _from_sheet(sheet: Sheet, name: str) -> Measurements:
    ids = None if sheet.choice.ids is None else np.array([str(value) for value in sheet.columns[sheet.choice.ids]])
    values = np.empty((len(sheet.columns[sheet.choice.members[0]]), len(sheet.choice.members)))
    for place, column in enumerate(sheet.choice.members):
        for row, value in enumerate(sheet.columns[column].tolist(), start=1):
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise ValueError(no_number(name, column, "" if value is None else str(value), row))
            values[row - 1, place] = value
    return Measurements(values, sheet.choice.members, ids)


def _read_array(path: FilePath, kind: str) -> Any:
    if kind == "npy" and not is_standard(path):
        return map_npy(path)
    arrays = read_arrays(path)
    if is_sparse_file(arrays):
        return csr_from_file(arrays, name_of(path))
    tables = [key for key, values in arrays.items() if values.ndim == 2]
    if len(tables) != 1:
        held = ", ".join(f"{key} {values.shape}" for key, values in arrays.items()) or "none"
        raise ValueError(f"{name_of(path)} must hold exactly one 2-D array, or a sparse matrix, found {held}.")
    return arrays[tables[0]]

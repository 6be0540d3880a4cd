"""Tables of measurements in files: numbers, one row an object; what `quorate generate` and `cluster` read."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._io.arrays import read_arrays
from quorate._io.parquet import read_parquet
from quorate._io.paths import FilePath, format_of, is_standard, name_of, reading, refuse_content, refuse_repeated
from quorate._io.text import DELIMITERS, Choice, read_header

Array = NDArray[Any]


class Measurements(NamedTuple):
    """Values (n_objects, n_columns), an array, a memory map or CSR; column names and ids where the file has them."""

    values: Any
    names: tuple[str, ...] | None = None
    ids: Array | None = None


def load_features(
    path: FilePath, *, ids: str | None = None, columns: Sequence[str] | None = None, drop: Sequence[str] = ()
) -> Measurements:
    """Read a table of numbers.

    Parameters
    ----------
    path : str or path
        .csv, .tsv, .txt (also .gz) and .parquet have named columns; .npy is mapped, not read; .npz holds one 2-D
        array, or a sparse matrix as scipy writes it; .zarr holds one 2-D array. "-" is CSV from standard input.
    ids : str, optional
        Column that names the objects.
    columns : sequence of str, optional
        Columns that are measurements; all but `ids` and `drop` by default.
    drop : sequence of str
        Columns to leave out.
    """
    kind = format_of(path)
    if kind in ("csv", "tsv"):
        with reading(path) as file:
            refuse_content(path, file.peek(8))
            found = _read_text(file, name_of(path), DELIMITERS[kind], (ids, columns, drop))
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
    wanted = [name for name in (ids, *(columns or ()), *drop) if name is not None]
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise ValueError(f"{source} has no column {unknown[0]!r}; it has {', '.join(map(repr, names[:20]))}.")
    chosen = columns if columns is not None else [name for name in names if name != ids]
    chosen = tuple(name for name in chosen if name not in drop)
    if not chosen:
        raise ValueError(f"{source}: no column of measurements is left; it has {', '.join(map(repr, names[:20]))}.")
    return Choice(ids, chosen)


def _read_text(source: IO[bytes], name: str, delimiter: str, chosen: tuple[Any, Any, Any]) -> Measurements:
    stream = io.TextIOWrapper(source, encoding="utf-8-sig", newline="")
    header: tuple[str, ...] = ()
    try:
        header = read_header(csv.reader(stream, delimiter=delimiter, strict=True), name, delimiter)
        choice = _choose(header, *chosen, name)
        places = [header.index(column) for column in choice.members]
        named: list[str] = []
        lines: Any = (line for line in stream if line.strip())
        if choice.ids is not None:
            lines = _noting_ids(lines, header.index(choice.ids), delimiter, named)
        lines = _some(lines, name)
        values = np.loadtxt(lines, delimiter=delimiter, usecols=places, ndmin=2, comments=None, quotechar='"')
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not UTF-8 text ({error.reason}); save it as UTF-8.") from error
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
    return (
        f"{name}: column {header[column - 1]!r} holds {text} in data row {row + 1}, which is no number; distances need "
        f"a number in every cell, so leave the column out (--drop {header[column - 1]}) or fill the gap."
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

"""Writing label tables: columns as CSV or Parquet, arrays as .npy, .npz or Zarr, written aside and then renamed."""

from __future__ import annotations

import csv
import gzip
import io
import logging
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._data.coding import code_values
from quorate._data.missing import DEFAULT, MissingRule, missing_rule
from quorate._data.text_labels import label_column
from quorate._io.arrays import without_objects, write_npz, write_zarr
from quorate._io.aside import write_aside, write_folder_aside
from quorate._io.dialect import DELIMITERS
from quorate._io.formulas import checked_formulas, quoted
from quorate._io.parquet import write_parquet
from quorate._io.paths import FilePath, format_of, is_standard, name_of
from quorate._io.text import BLOCK
from quorate._types import Ensemble

Array = NDArray[Any]
logger = logging.getLogger("quorate")


class Column(NamedTuple):
    """A column of a table: its values, or codes (-1 for missing) and the categories that they stand for."""

    name: str
    values: Array
    categories: Array | None = None


def write_table(
    path: FilePath,
    columns: list[Column],
    ids: Array | None,
    overwrite: bool,
    id_name: str = "id",
    *,
    formulas: str = "keep",
) -> None:
    """Write columns as CSV or Parquet; the column of ids, if there is one, comes first.

    `formulas` is the option of `save_labels`.
    """
    quote = checked_formulas(formulas)
    if quote:
        refuse_quoting(path)
    if ids is not None:
        columns = [Column(id_name, ids), *columns]
    if format_of(path) == "parquet":
        write_aside(path, lambda file: write_parquet(file, columns), overwrite=overwrite)
        return
    delimiter = DELIMITERS[format_of(path)]
    if is_standard(path):
        _write_standard(columns, delimiter, quote=quote)
        return
    packed = Path(path).suffix.lower() == ".gz"

    def write(file: IO[bytes]) -> None:
        # without a time stamp, so that the same labels always give the same file
        out = gzip.GzipFile(fileobj=file, mode="wb", filename="", compresslevel=6, mtime=0) if packed else file
        stream = io.TextIOWrapper(out, encoding="utf-8", newline="")
        write_csv(stream, columns, delimiter, quote=quote)
        stream.flush()
        stream.detach()
        if packed:
            out.close()

    write_aside(path, write, overwrite=overwrite)


def _write_standard(columns: list[Column], delimiter: str, *, quote: bool) -> None:
    """Write a table to standard output, in UTF-8 as into a file, whatever the encoding of the terminal is."""
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        write_csv(sys.stdout, columns, delimiter, quote=quote)
        return
    sys.stdout.flush()
    stream = io.TextIOWrapper(buffer, encoding="utf-8", newline="")
    try:
        write_csv(stream, columns, delimiter, quote=quote)
        stream.flush()
    finally:
        stream.detach()


def refuse_quoting(path: FilePath) -> None:
    """Raise if the file is not of a text format, which are the ones that spreadsheets open and take for formulas."""
    if format_of(path) not in DELIMITERS:
        raise ValueError(
            f"formulas='quote' is for text files, and {name_of(path)} is .{format_of(path)}; leave it out."
        )


def write_arrays(path: FilePath, arrays: dict[str, Array], overwrite: bool) -> None:
    kind = format_of(path)
    if kind == "npy":
        labels = arrays["labels"]
        write_aside(path, lambda file: np.save(file, labels, allow_pickle=False), overwrite=overwrite)
        return
    plain = {name: without_objects(values, name) for name, values in arrays.items()}
    if kind == "npz":
        write_aside(path, lambda file: write_npz(file, plain), overwrite=overwrite)
    else:
        write_folder_aside(path, lambda folder: write_zarr(folder, plain), overwrite=overwrite)


def id_column_of(ensemble: Ensemble) -> str:
    """Return the name for the column of ids: the name it had, or "id" if a member has that name."""
    return "id" if ensemble.id_name in ("", *ensemble.member_names) else ensemble.id_name


def refuse_loss(ensemble: Ensemble, kind: str) -> None:
    """Raise if reading the file again would give another ensemble; warn if only the weights would differ."""
    if ensemble.n_objects != ensemble.n_rows:
        raise ValueError(f".{kind} files hold one row per object, and this ensemble is compressed; use .npz or .zarr.")
    if id_column_of(ensemble) in ensemble.member_names and kind != "npy":
        raise ValueError("a member is named 'id', as the column of ids is; rename it, or use .npz or .zarr.")
    if not ensemble.unit_weights:
        warnings.warn(
            f".{kind} files do not keep member weights; pass weights= to load_labels, or use .npz or .zarr.",
            UserWarning,
            stacklevel=3,
        )
    if kind == "npy":
        return
    for name, categories in zip(ensemble.member_names, ensemble.categories, strict=True):
        if _n_read_back(categories, name, kind) < len(categories):
            raise ValueError(
                f"{name!r} holds labels that load_labels would take for missing, for equal or for faulty in a .{kind} "
                f"file; use .npz or .zarr, which keep labels as they are."
            )


def _n_read_back(categories: Array, name: str, kind: str) -> int:
    """Return how many different labels `load_labels` would read if these categories were written to a file."""
    rule = missing_rule(DEFAULT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if kind == "parquet":
                return len(code_values(categories, name, MissingRule((*rule.values, "")))[1])
            return len(label_column(np.arange(len(categories)), as_texts(categories), name, rule)[1])
        except ValueError:
            return 0


def as_texts(values: Array) -> list[str]:
    # dates are converted first, because tolist() would give nanoseconds as integers
    return [str(value) for value in (values.astype("U64") if values.dtype.kind in "mM" else values).tolist()]


def write_csv(
    stream: IO[str], columns: list[Column], delimiter: str, *, header: bool = True, quote: bool = False
) -> None:
    """Write a CSV file in blocks of rows; lines end in a single newline character on every system.

    With `quote`, cells that a spreadsheet would take for formulas are made harmless.
    """
    harmless: Callable[[str], str] = quoted if quote else str
    write = _row_writer(stream, delimiter)
    if header:
        write([[harmless(column.name)] for column in columns])
    # code -1, a missing label, reads the last place and becomes an empty cell
    texts = [None if c.categories is None else [*map(harmless, as_texts(c.categories)), ""] for c in columns]
    n_rows = len(columns[0].values)
    for start in range(0, n_rows, BLOCK):
        logger.info("writing rows", extra={"share": start / n_rows})
        parts = [column.values[start : start + BLOCK] for column in columns]
        cells = [_cells(part, known) for part, known in zip(parts, texts, strict=True)]
        if quote:
            cells = [
                list(map(quoted, part)) if known is None else part for part, known in zip(cells, texts, strict=True)
            ]
        write(cells)


def _row_writer(stream: IO[str], delimiter: str) -> Callable[[Sequence[Sequence[str]]], None]:
    """Return a function that writes columns of cells as rows; a row with a carriage return is quoted as a whole.

    Before Python 3.13 the csv module leaves such a cell unquoted, and then reads it as two lines.
    """
    plain = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    careful = csv.writer(stream, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)

    def write(cells: Sequence[Sequence[str]]) -> None:
        rows = zip(*cells, strict=True)
        if not any("\r" in "".join(column) for column in cells):
            plain.writerows(rows)
            return
        for row in rows:
            (careful if any("\r" in cell for cell in row) else plain).writerow(row)

    return write


def _cells(values: Array, texts: list[str] | None) -> list[str]:
    return as_texts(values) if texts is None else list(map(texts.__getitem__, values.tolist()))

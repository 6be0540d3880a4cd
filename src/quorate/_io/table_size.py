"""How large a table is, found without reading it, so that one beyond a limit of memory is refused at once."""

from __future__ import annotations

import gzip
import os
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from quorate import _check
from quorate._io.paths import FilePath, format_of, is_standard, refuse_unreadable

LOOKED_AT = 1 << 16
"""Bytes of a text file from which the number of its cells is estimated."""

BYTES_OF_CELL = 50
"""About twice the bytes of a short cell in an unpacked .xlsx file, so that no table is refused by mistake."""


def refuse_large_tables(paths: Sequence[FilePath], max_bytes: int) -> None:
    """Raise if the tables alone, without any work on them, are larger than the limit.

    Standard input, whose size is not known before it is read, counts nothing.
    """
    max_bytes = _check.n_bytes(max_bytes)
    needed = sum(table_bytes(path) for path in paths)
    named = ", ".join(os.fspath(path) for path in paths)
    _check.memory(needed, max_bytes, f"the table {named} alone", "leave out columns, or take a sample of the objects,")


def table_bytes(path: FilePath) -> int:
    """The bytes of the arrays in a file, or one byte for each cell of a text file; 0 if that is not known."""
    if is_standard(path):
        return 0
    refuse_unreadable(path)
    kind = format_of(path)
    if kind == "npy":
        return _npy_bytes(path)
    if kind == "npz":
        return _npz_bytes(path)
    if kind == "zarr":
        return sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file())
    if kind in ("csv", "tsv"):
        return _packed_cells(path) if Path(path).suffix.lower() == ".gz" else _n_cells(path)
    if kind == "xlsx":
        return _npz_bytes(path) // BYTES_OF_CELL
    return os.path.getsize(path) if kind == "parquet" else 0


def _npy_bytes(path: FilePath) -> int:
    """The size that the header tells, which may be more than the file holds; 0 if the header cannot be read."""
    try:
        with open(path, "rb") as file:
            version = np.lib.format.read_magic(file)
            reads = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = reads(file)
    except Exception:
        # the reader says what is wrong with the file
        return 0
    size = dtype.itemsize
    for length in shape:
        size *= int(length)
    return int(size)


def _npz_bytes(path: FilePath) -> int:
    try:
        with zipfile.ZipFile(path) as archive:
            return sum(entry.file_size for entry in archive.infolist())
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return 0


def _n_cells(path: FilePath) -> int:
    """About how many cells a text file has, judged by its first lines."""
    with open(path, "rb") as file:
        return _cells_like(file.read(LOOKED_AT), os.path.getsize(path))


def _packed_cells(path: FilePath) -> int:
    """About how many cells a text file packed by gzip has, which tells its size modulo 2^32 in its last four bytes."""
    try:
        with gzip.open(path) as unpacked, open(path, "rb") as file:
            head = unpacked.read(LOOKED_AT)
            file.seek(-4, os.SEEK_END)
            return _cells_like(head, int.from_bytes(file.read(), "little"))
    except (OSError, EOFError, zlib.error):
        # the reader says what is wrong with the file
        return 0


def _cells_like(head: bytes, size: int) -> int:
    marks = max(head.count(mark) for mark in (b",", b";", b"\t", b"|")) + head.count(b"\n")
    return size * marks // max(len(head), 1)

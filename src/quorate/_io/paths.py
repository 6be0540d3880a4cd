"""Paths and files: formats, first bytes, what may be written where, and sizes found without reading."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from quorate import _check

FilePath = str | os.PathLike[str]
STANDARD = "-"
FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "tsv",
    ".parquet": "parquet",
    ".npy": "npy",
    ".npz": "npz",
    ".zarr": "zarr",
    ".xlsx": "xlsx",
}
_ZARR_MARKS = ("zarr.json", ".zgroup", ".zarray")
_ZARR_FILE = re.compile(r"zarr\.json|\.z(group|array|attrs|metadata)|c|(c\.)?\d+(\.\d+)*|.*\.[0-9a-f]{32}\.partial")
"""The names of the files in a Zarr store: those that describe arrays and groups, chunks, which have numbers, and parts
of these, which zarr writes before it renames them."""
# the first bytes of other kinds of files: a file that has the suffix of a text file but starts so must not be parsed
_FIRST_BYTES = {
    b"PAR1": "a Parquet file",
    b"\x93NUMPY": "a NumPy .npy file",
    b"PK\x03\x04": "a zip archive, as .npz and .xlsx files are",
    b"\x1f\x8b": "a gzip file",
    b"\x89HDF": "an HDF5 file",
    b"\x80": "a Python pickle",
}


def format_of(path: FilePath) -> str:
    """Return csv, tsv, parquet, npy, npz, zarr or xlsx, by the suffix; standard input and output are CSV."""
    if is_standard(path):
        return "csv"
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    packed = suffixes[-1:] == [".gz"]
    suffix = suffixes[-2 if packed else -1] if len(suffixes) > packed else ""
    kind = FORMATS.get(suffix)
    if kind is None or (packed and kind not in ("csv", "tsv")):
        raise ValueError(
            f"{os.fspath(path)!r} must end in {', '.join(FORMATS)} or .csv.gz, so that its format is known; "
            f"rename it, or use '-' for CSV through standard input and output."
        )
    return kind


def is_standard(path: FilePath) -> bool:
    return isinstance(path, str) and path == STANDARD


def name_of(path: FilePath) -> str:
    """Return the name of the file for error messages."""
    return "standard input" if is_standard(path) else os.fspath(path)


LOOKED_AT = 1 << 16
"""Bytes at the beginning of a file that tell what it holds, and how a text is encoded."""


@contextmanager
def reading(path: FilePath) -> Iterator[io.BufferedReader]:
    """Open a file for reading, and unpack it if its name ends in .gz; errors name the path and the reason."""
    if is_standard(path):
        if sys.stdin is None or sys.stdin.closed:
            raise ValueError("standard input is closed, and the table was to be read from it; name a file instead.")
        # not closed: standard input is not ours
        yield getattr(sys.stdin, "buffer", None) or io.BufferedReader(io.BytesIO(sys.stdin.read().encode()))
        return
    refuse_unreadable(path)
    try:
        file: Any = open(path, "rb", buffering=LOOKED_AT)  # noqa: SIM115 - closed below; only the opening is guarded
    except OSError as error:
        raise type(error)(f"cannot read {os.fspath(path)}: {error.strerror or error}") from error
    with file, _noted(path, file):
        if Path(path).suffix.lower() != ".gz":
            yield file
            return
        refuse_content(path, file.peek(8), b"\x1f\x8b")
        try:
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield io.BufferedReader(unpacked, LOOKED_AT)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{os.fspath(path)} is damaged or cut short: {error}.") from error


_being_read: list[tuple[int, int]] = []
"""File descriptor and size in bytes of each text file that is being read, the file opened last at the end."""


@contextmanager
def _noted(path: FilePath, file: IO[bytes]) -> Iterator[None]:
    size = os.fstat(file.fileno()).st_size
    if format_of(path) not in ("csv", "tsv") or not size:
        yield
        return
    _being_read.append((file.fileno(), size))
    try:
        yield
    finally:
        _being_read.pop()


def share_read() -> float | None:
    """Return which fraction of the text file being read has been read; None if there is none or it is unknown."""
    try:
        number, size = _being_read[-1]
        return min(1.0, os.lseek(number, 0, os.SEEK_CUR) / size)
    except (IndexError, OSError):
        return None


def refuse_unreadable(path: FilePath) -> None:
    """Raise if the file does not exist, or if it is a folder where a file is needed or the other way round."""
    place, kind = Path(path), format_of(path)
    if not place.exists():
        raise FileNotFoundError(f"cannot read {place}: there is no such file.")
    if kind != "zarr" and place.is_dir():
        raise IsADirectoryError(f"cannot read {place}: it is a folder, and a .{kind} file was expected.")
    if kind == "zarr" and not is_zarr(place):
        raise ValueError(f"{place} is no Zarr store: none of {', '.join(_ZARR_MARKS)} is in it.")
    if kind != "zarr" and not place.is_file():
        raise ValueError(
            f"cannot read {place}: it is a pipe or a device, and a .{kind} file was expected; '-' reads CSV from "
            f"standard input."
        )


def refuse_content(path: FilePath, head: bytes, wanted: bytes = b"") -> None:
    """Raise if the first bytes of a file belong to another format than its suffix says.

    `wanted` are the bytes that the file must start with. Without them any text is accepted.
    """
    if wanted and head.startswith(wanted):
        return
    content = next((kind for start, kind in _FIRST_BYTES.items() if head.startswith(start)), None)
    if content is None and wanted:
        content = "empty" if not head else "something else, perhaps text"
    if content is not None:
        raise ValueError(
            f"{name_of(path)} should be a .{format_of(path)} file by its name, but its content is {content}; "
            f"give it the suffix of its content or write it anew."
        )


def refuse_output(path: FilePath, overwrite: bool) -> None:
    """Raise if `path` cannot or must not be written; called before any work is done for it."""
    format_of(path)
    if not is_standard(path):
        refuse_place(path, overwrite)


def refuse_place(path: FilePath, overwrite: bool, *, may_be_folder: bool = False) -> None:
    """Raise as `refuse_output` does, but for a file with any suffix, or for a folder."""
    place = Path(path)
    for parent in (place.parent, Path(os.path.realpath(place)).parent):
        if not parent.is_dir():
            reason = "is not a folder" if parent.exists() else "does not exist"
            raise FileNotFoundError(f"cannot write {place}: the folder {parent} {reason}; make it first.")
    if os.path.islink(os.path.realpath(place)) or (place.exists() and not (place.is_file() or place.is_dir())):
        raise ValueError(f"cannot write {place}: it is no file but a device, a pipe or a link to itself; name a file.")
    if place.is_dir() and not may_be_folder:
        if not (place.suffix == ".zarr" and is_zarr(place)):
            raise IsADirectoryError(f"cannot write {place}: a folder of that name is there; choose another name.")
        refuse_strange(place, strange_in_zarr(place))
    if place.exists() and not overwrite:
        raise FileExistsError(
            f"{place} exists already and is left as it is; choose another name, or pass overwrite=True (--force)."
        )


def refuse_strange(folder: Path, strange: Path | None) -> None:
    """Raise if a folder that is to be replaced holds something strange, because replacing it would delete that."""
    if strange is not None:
        raise IsADirectoryError(
            f"cannot write {folder}: a folder of that name is there and holds {str(strange.relative_to(folder))!r}, "
            f"which Quorate did not write; move it away, or choose another name."
        )


def strange_in_zarr(folder: Path) -> Path | None:
    """Return a file below a folder whose name no file of a Zarr store has, or a link; None if there is none."""
    return next((path for path in files_below(folder) if path.is_symlink() or not _is_zarr_file(path)), None)


def _is_zarr_file(path: Path) -> bool:
    return path.is_file() and _ZARR_FILE.fullmatch(path.name) is not None


def files_below(folder: Path) -> Iterator[Path]:
    """Yield everything below a folder that is no folder itself; links are not followed."""
    for root, folders, files in os.walk(folder):
        yield from (Path(root, name) for name in files)
        yield from (Path(root, name) for name in folders if os.path.islink(os.path.join(root, name)))


def replaced_input(out: FilePath, inputs: Iterable[FilePath]) -> FilePath | None:
    """Return one of the files that are read if writing `out` would replace it, by whatever name; None otherwise.

    A folder replaces what lies in it, and a file in a Zarr store that is read replaces a part of that.
    """
    above_out = Path(os.path.realpath(out)).parents
    folders: dict[Path, FilePath] = {}
    for path in inputs:
        place = Path(os.path.realpath(path))
        if _same(place, out) or (is_zarr(place) and any(_same(place, folder) for folder in above_out)):
            return path
        folders.setdefault(place.parent, path)
    if not os.path.isdir(out):
        return None
    held = ((folder, path) for parent, path in folders.items() for folder in (parent, *parent.parents))
    return next((path for folder, path in held if _same(folder, out)), None)


def _same(one: FilePath, other: FilePath) -> bool:
    """Whether two names lead to one file or folder, through links of any kind."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def is_zarr(folder: Path) -> bool:
    """Whether a folder holds what the folder of a Zarr store does."""
    return any((folder / mark).is_file() for mark in _ZARR_MARKS)


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

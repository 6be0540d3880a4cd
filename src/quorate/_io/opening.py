"""Opening anything that holds a table in blocks: folders, globs, files, Datasets, Zarr arrays, iterators."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quorate._io.arrays import array_source, iterator_source, npy_source, zarr_source
from quorate._io.choosing import Columns, choose_columns
from quorate._io.parquet import dataset_source, parquet_source
from quorate._io.paths import FORMATS, format_of, is_standard
from quorate._io.source import Source, stacked
from quorate._io.text import DELIMITERS, Choice, text_source

_MAGIC = ("*", "?", "[")
MOST_ENTRIES = 1_000_000
"""How many files and folders are looked at before a folder is refused."""
ChooseFrom = Callable[[tuple[str, ...], str], Choice]
"""Chooses among the names of columns, which are empty if columns have none; the second argument names the source."""


def by_columns(wanted: Columns) -> ChooseFrom:
    """Return the function that chooses as the user's options say."""
    return lambda names, title: choose_columns(names, wanted, title)


def is_many(path: Any) -> bool:
    """Whether a path names a folder of files, or many files by a pattern such as 'labels/*.parquet'."""
    if not isinstance(path, str | os.PathLike) or is_standard(path):
        return False
    place = os.fspath(path)
    if os.path.isdir(place):
        return Path(place).suffix.lower() != ".zarr"
    return any(mark in place for mark in _MAGIC) and not os.path.exists(place)


def open_source(source: Any, choose: ChooseFrom, sep: str | None = None, *, ids: str | None = None) -> Source:
    """Open a source of blocks.

    Parameters
    ----------
    source : path, list of paths, pyarrow Dataset, Zarr array or group, array, or iterable of blocks
        A path may be a folder of Parquet files, which may lie in partition folders such as year=2026, a pattern such
        as "labels/*.parquet", or a single .parquet, .npy, .zarr, .csv, .tsv or .txt file.
    choose : callable
        Chooses the columns once their names are known.
    sep : str, optional
        What separates the columns of a text file.
    ids : str, optional
        The column of ids in blocks of an iterator, which has no names before its first block is read.

    Returns
    -------
    Source
    """
    if isinstance(source, str | os.PathLike):
        return _from_paths(_expanded(source), choose, os.fspath(source), sep)
    if isinstance(source, list | tuple) and source and all(isinstance(item, str | os.PathLike) for item in source):
        paths = [path for item in source for path in _expanded(item)]
        return _from_paths(paths, choose, str(paths[0]) if len(paths) == 1 else f"the {len(paths)} files", sep)
    if hasattr(source, "get_fragments"):
        return dataset_source(source, lambda names: choose(names, "the dataset"))
    if type(source).__module__.split(".")[0] == "zarr":
        return zarr_source(source, lambda names: choose(names, "the Zarr array"), "the Zarr array")
    if isinstance(source, np.ndarray):
        return array_source(source, lambda names: choose(names, "the array"), "the array")
    if hasattr(source, "columns") or not isinstance(source, Iterable):
        raise TypeError(
            f"a source of blocks must be a path, a pattern, a pyarrow Dataset, a Zarr array, an array or an iterable "
            f"of blocks, got {type(source).__name__}; quorate.consensus takes tables that are in memory."
        )
    return iterator_source(source, lambda names: choose(names, "the first block"), ids)


def _expanded(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files that a path names: those of a folder, those that match a pattern, or the file itself."""
    if is_standard(path):
        raise ValueError("standard input can be read only once and has no end in sight; name a file instead.")
    place = os.fspath(path)
    if not is_many(place):
        return [Path(place)]
    if os.path.isdir(place):
        return _files_of(Path(place))
    found = sorted(Path(file) for file in glob.glob(place, recursive=True))
    if not found:
        raise FileNotFoundError(f"cannot read {place}: no file matches {place!r} ({', '.join(FORMATS)}).")
    return found


def _files_of(folder: Path) -> list[Path]:
    """Return the files of the table that a folder holds: its Parquet files, or else those of other formats.

    Parquet files may also lie in partition folders, whose names are like year=2026. Other folders are not entered,
    because a folder named by mistake may have the whole disk below it.
    """
    known: list[Path] = []
    waiting, n_seen = [folder], 0
    while waiting:
        for entry in _entries(waiting.pop()):
            n_seen += 1
            if n_seen > MOST_ENTRIES:
                raise ValueError(
                    f"cannot read {folder}: more than {MOST_ENTRIES:,} files and folders were looked at; name fewer "
                    f"files by a pattern such as 'labels/part-0*.parquet'."
                )
            # names that begin so are not data: temporary files, and summaries that Spark writes
            if entry.name.startswith((".", "_")):
                continue
            if "=" in entry.name and entry.is_dir():
                waiting.append(Path(entry.path))
            elif Path(entry.name).suffix in FORMATS:
                known.append(Path(entry.path))
    found = [file for file in known if file.suffix == ".parquet"] or [file for file in known if file.parent == folder]
    if not found:
        raise FileNotFoundError(
            f"cannot read {folder}: the folder {folder} holds no files of a table ({', '.join(FORMATS)}) and no "
            f"partition folders, such as year=2026, with Parquet files; name the folder that does, or the files by a "
            f"pattern such as 'labels/**/*.parquet'."
        )
    return sorted(found)


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError as error:
        raise type(error)(f"cannot read {folder}: {error.strerror or error}.") from error


def _from_paths(paths: Sequence[Path], choose: ChooseFrom, title: str, sep: str | None) -> Source:
    kinds = {format_of(path) for path in paths}
    if len(kinds) > 1:
        raise ValueError(f"{title}: all files must have one format, found {', '.join(sorted(kinds))}.")
    kind = kinds.pop()
    if sep is not None and kind not in DELIMITERS:
        raise ValueError(f"sep (--sep) is for text files, and {title} is .{kind}; leave it out.")
    if kind == "parquet":
        return parquet_source(paths, lambda names: choose(names, title), title)
    if kind in ("npy", "zarr") or kind in DELIMITERS:
        sources = [_from_path(path, kind, choose, sep) for path in paths]
        return sources[0] if len(sources) == 1 else stacked(sources, title)
    raise ValueError(
        f"{title}: .{kind} files cannot be read in blocks; convert them to .parquet, or leave out what asks for blocks "
        f"(memory=, --memory, an output folder)."
    )


def _from_path(path: Path, kind: str, choose: ChooseFrom, sep: str | None) -> Source:
    if kind == "npy":
        return npy_source(path, lambda names: choose(names, str(path)))
    if kind == "zarr":
        return zarr_source(path, lambda names: choose(names, str(path)), str(path))
    return text_source(path, lambda names: choose(names, str(path)), sep)

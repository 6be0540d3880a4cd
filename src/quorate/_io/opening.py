"""What is read: the columns that are chosen, several files joined to one ensemble, and sources of blocks opened.

A source may be a folder, a pattern, a file, a pyarrow Dataset, a Zarr array or an iterator.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from quorate import _check
from quorate._data.joining import join_ensembles
from quorate._data.tables import refuse_duplicates
from quorate._io.arrays import array_source, iterator_source, npy_source, zarr_source
from quorate._io.parquet import dataset_source, parquet_source
from quorate._io.paths import FORMATS, FilePath, format_of, is_standard, name_of
from quorate._io.source import Source, stacked
from quorate._io.text import DELIMITERS, Choice, Choose, text_source
from quorate._types import Ensemble

_ID_NAMES = ("id", "ID", "Id", "object_id", "__index_level_0__", "")


class Columns(NamedTuple):
    """The user's options about columns.

    `ids` is the column of ids, `members` are the columns of the members (None: all other columns), and `drop` are
    the columns to leave out. `beside` names the column of true labels: it is read like a member if a file has it,
    whether or not `members` names it.
    """

    ids: str | Mapping[str, str] | None = None
    members: Sequence[str] | None = None
    drop: tuple[str, ...] = ()
    beside: str | None = None


def load_sources(
    path: FilePath | Sequence[FilePath],
    wanted: Columns,
    load: Callable[[FilePath, Choose], Ensemble],
    *,
    ids_as: str = "text",
) -> Ensemble:
    """Load one file, or several files and join them by id.

    `load` reads a single file; its second argument is the function that chooses the columns of that file.
    """
    if isinstance(path, str | os.PathLike):
        own = wanted._replace(ids=ids_in(path, wanted.ids, [path]))
        return load(path, lambda names: choose_columns(names, own, name_of(path)))
    paths = list(path)
    if not paths:
        raise ValueError("path must name at least one file, got none.")
    if sum(is_standard(file) for file in paths) > 1:
        raise ValueError("only one of the files can come from standard input.")
    if len(paths) == 1:
        return load_sources(paths[0], wanted, load, ids_as=ids_as)
    seen: list[str] = []
    named = [wanted._replace(ids=ids_in(file, wanted.ids, paths)) for file in paths]
    tables = [load(file, _choose_in(file, own, seen)) for file, own in zip(paths, named, strict=True)]
    refuse_unknown((*(wanted.members or ()), *wanted.drop), tuple(seen), "none of the files")
    return join_ensembles(tables, short_names(paths), ids_as=ids_as)


def ids_in(path: FilePath, ids: str | Mapping[str, str] | None, paths: Sequence[FilePath]) -> str | None:
    """Return the column of ids of one file; a mapping names files by path, by name, or by name without suffix."""
    if ids is None or isinstance(ids, str):
        return ids
    known = {name for file in paths for name in _names_of(file)}
    strange = [name for name in ids if str(name) not in known]
    if strange:
        files = ", ".join(_names_of(file)[1] for file in paths)
        raise ValueError(f"ids names {_check.brief(strange[0])}, which is none of the files: {files}.")
    return next((ids[name] for name in _names_of(path) if name in ids), None)


def _names_of(path: FilePath) -> tuple[str, ...]:
    name = name_of(path)
    return name, Path(name).name, Path(name).name.split(".")[0]


def _choose_in(path: FilePath, wanted: Columns, seen: list[str]) -> Choose:
    """Return the function that chooses the columns of one of several files, each of which has some of them."""

    def choose(names: tuple[str, ...]) -> Choice:
        seen.extend(names)
        # files of arrays keep the ids in an array of their own, not in a column
        own = wanted._replace(ids=None) if format_of(path) in ("npy", "npz", "zarr") else wanted
        members = own.members
        if members is not None and names:
            known = set(names)
            members = [name for name in members if name in known]
            if not members and wanted.beside not in names:
                shown = ", ".join(map(repr, wanted.members or ()))
                raise ValueError(f"{name_of(path)} has none of the columns {shown}; leave the file out.")
        drop = tuple(name for name in wanted.drop if name in names)
        return choose_columns(names, own._replace(members=members, drop=drop), name_of(path))

    return choose


def choose_columns(names: tuple[str, ...], wanted: Columns, source: str) -> Choice:
    """Choose the columns that the user's options select from the column names of a file.

    If the file has no column names, no option may select columns, and the choice is empty.
    """
    ids, columns = ids_in(source, wanted.ids, [source]), wanted.members
    if not names and (wanted.drop or columns is not None or ids is not None):
        chosen = ", ".join(map(repr, [*wanted.drop, *(columns or ()), *(() if ids is None else (ids,))]))
        raise ValueError(
            f"{source} has no column {chosen}; its columns have no names: leave ids, columns and drop out."
        )
    refuse_unknown((*(columns or ()), *(() if ids is None else (ids,)), *wanted.drop), names, source, ids)
    beside = () if wanted.beside is None or wanted.beside not in names else (wanted.beside,)
    if columns is not None:
        chosen_members = _declared(ids, columns, wanted.drop, beside)
    else:
        if ids is None:
            _refuse_id_name(names, source, wanted.drop)
        left_out = {ids, *wanted.drop}
        chosen_members = tuple(name for name in names if name not in left_out)
        if names and not chosen_members:
            dropped = f" and {', '.join(map(repr, wanted.drop))}" if wanted.drop else ""
            known = f"the ids {ids!r}{dropped}" if ids is not None else dropped.removeprefix(" and ")
            raise ValueError(f"{source} has no column other than {known}; one column per clustering was expected.")
    return Choice(ids, (*chosen_members, *(name for name in beside if name not in chosen_members)))


def members_alone(names: tuple[str, ...], members: Sequence[str], ids: str | None, source: str, table: str) -> Choice:
    """Choose the columns of new objects that have the names of members of a table, and the ids."""
    known = tuple(name for name in names if name in members)
    if names and not known:
        shown = ", ".join(map(repr, list(dict.fromkeys(members))[:5]))
        raise ValueError(
            f"{source} has none of the columns of {table} that are clusterings, or no label in them ({shown}); columns "
            f"are matched by their names."
        )
    if names and ids not in (None, *names):
        raise ValueError(f"{source} has no column {ids!r} with the names of the objects.")
    return Choice(ids if names else None, known)


def _declared(
    ids: str | None, columns: Sequence[str], drop: tuple[str, ...], beside: tuple[str, ...]
) -> tuple[str, ...]:
    if not columns and not beside:
        raise ValueError("columns must name at least one column, got none; leave it out to take all.")
    refuse_duplicates(tuple(columns))
    if ids in columns:
        raise ValueError(f"{ids!r} is named as a member and as the ids; a column can be one of them.")
    dropped = set(drop)
    both = [name for name in columns if name in dropped]
    if both:
        raise ValueError(f"{both[0]!r} is named in columns and in drop (--columns and --drop); it can be in one.")
    return tuple(columns)


def refuse_unknown(wanted: tuple[str, ...], names: tuple[str, ...], source: str, ids: str | None = None) -> None:
    """Raise if one of the wanted names is not among the names of the columns; `ids` is that of the ids."""
    known_names = set(names)
    unknown = [name for name in wanted if name not in known_names]
    if unknown:
        known = ", ".join(map(_check.brief, names[:20])) + (", ..." if len(names) > 20 else "")
        has, whose = ("has a", "the") if source.startswith("none ") else ("has no", "its")
        meant = _check.did_you_mean(unknown[0], names)
        advice = (
            " If the ids have another name in each file, give all of them (--id FILE=COLUMN for each file; ids={...})."
        )
        raise ValueError(
            f"{source} {has} column {', '.join(map(_check.brief, unknown[:5]))}{meant}; {whose} columns are {known}."
            f"{advice if unknown[0] == ids else ''}"
        )


def _refuse_id_name(names: tuple[str, ...], source: str, drop: tuple[str, ...]) -> None:
    """Raise if a column has a typical name of ids, because ids read as a clustering would silently spoil the result."""
    suspect = next((name for name in names if name in _ID_NAMES and name not in drop), None)
    if suspect is not None:
        raise ValueError(
            f"{source} has a column named {suspect!r}, which looks like the objects' ids; pass ids={suspect!r} "
            f"({_check.option('--id', suspect)}), or name the members with columns= (--columns) if it is one of them."
        )


def short_names(paths: Sequence[FilePath]) -> list[str]:
    """Return the names of the files without folder and suffix if these differ, otherwise the longer names."""
    full = [name_of(path) for path in paths]
    names = [Path(name).name for name in full]
    stems = [name.split(".")[0] or name for name in names]
    for candidates in (stems, names, full):
        if len(set(candidates)) == len(candidates):
            return candidates
    raise ValueError(f"the file {next(name for name in full if full.count(name) > 1)!r} is named twice.")


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


def open_source(
    source: Any, choose: ChooseFrom, sep: str | None = None, *, ids: str | None = None, encoding: str | None = None
) -> Source:
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
    encoding : str, optional
        How text files are encoded.

    Returns
    -------
    Source
    """
    if isinstance(source, str | os.PathLike):
        return _from_paths(expanded(source), choose, os.fspath(source), TextOptions(sep, encoding))
    if isinstance(source, list | tuple) and source and all(isinstance(item, str | os.PathLike) for item in source):
        paths = [path for item in source for path in expanded(item)]
        title = str(paths[0]) if len(paths) == 1 else f"the {len(paths)} files"
        return _from_paths(paths, choose, title, TextOptions(sep, encoding))
    TextOptions(sep, encoding).refuse("the source", None)
    if hasattr(source, "get_fragments"):
        return dataset_source(source, lambda names: choose(names, "the dataset"))
    if type(source).__module__.split(".")[0] == "zarr":
        opened = zarr_source(source, lambda names: choose(names, "the Zarr array"), "the Zarr array")
        return _with_path(opened, getattr(getattr(source, "store", None), "root", None))
    if isinstance(source, np.ndarray):
        opened = array_source(source, lambda names: choose(names, "the array"), "the array")
        return _with_path(opened, getattr(source, "filename", None))
    if hasattr(source, "sink_parquet"):
        raise TypeError(
            "a lazy frame cannot be read in blocks; write it with sink_parquet and pass the path, or call "
            "quorate.consensus if it fits into memory."
        )
    if hasattr(source, "columns") or not isinstance(source, Iterable):
        raise TypeError(
            f"a source of blocks must be a path, a pattern, a pyarrow Dataset, a Zarr array, an array or an iterable "
            f"of blocks, got {type(source).__name__}; quorate.consensus takes tables that are in memory."
        )
    return iterator_source(source, lambda names: choose(names, "the first block"), ids)


def _with_path(source: Source, path: Any) -> Source:
    """Note the file or Zarr store that an array is read from, if it is known."""
    return replace(source, paths=(Path(path),)) if isinstance(path, str | os.PathLike) else source


def expanded(path: str | os.PathLike[str]) -> list[Path]:
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


class TextOptions(NamedTuple):
    """The options of text files: what separates columns, and how the text is encoded."""

    sep: str | None = None
    encoding: str | None = None

    def refuse(self, title: str, kind: str | None) -> None:
        """Raise if one is given, and a source is none that consists of text files."""
        is_what = "is no file" if kind is None else f"is .{kind}"
        for name in ("sep", "encoding"):
            if getattr(self, name) is not None:
                raise ValueError(f"{name} (--{name}) is for text files, and {title} {is_what}; leave it out.")


def _from_paths(paths: Sequence[Path], choose: ChooseFrom, title: str, how: TextOptions) -> Source:
    kinds = {format_of(path) for path in paths}
    if len(kinds) > 1:
        raise ValueError(f"{title}: all files must have one format, found {', '.join(sorted(kinds))}.")
    kind = kinds.pop()
    if kind not in DELIMITERS:
        how.refuse(title, kind)
    if kind == "parquet":
        return replace(parquet_source(paths, lambda names: choose(names, title), title), paths=tuple(paths))
    if kind in ("npy", "zarr") or kind in DELIMITERS:
        sources = [_from_path(path, kind, choose, how) for path in paths]
        return replace(sources[0] if len(sources) == 1 else stacked(sources, title), paths=tuple(paths))
    raise ValueError(
        f"{title}: .{kind} files cannot be read in blocks; convert them to .parquet, or leave out the options for "
        f"blocks (memory=, --memory, an output folder)."
    )


def _from_path(path: Path, kind: str, choose: ChooseFrom, how: TextOptions) -> Source:
    if kind == "npy":
        return npy_source(path, lambda names: choose(names, str(path)))
    if kind == "zarr":
        return zarr_source(path, lambda names: choose(names, str(path)), str(path))
    return text_source(path, lambda names: choose(names, str(path)), *how)

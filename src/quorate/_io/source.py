"""Sources of blocks: the columns, parts read one by one, files one after another, and the memory they may take."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from quorate import _check
from quorate._check import brief
from quorate._data.blocks import Kind

LARGEST_BLOCK = 1 << 20
SMALLEST_BLOCK = 1 << 14
DEFAULT_SHARE = 0.5
"""Without a budget, this share of the machine's memory may be used, but at most `MOST_BY_DEFAULT`."""
MOST_BY_DEFAULT = 8_000_000_000
BLOCKS_SHARE = 0.2
"""The share of the budget for blocks that are being read and coded."""
ROWS_SHARE = 0.5
"""The share of the budget for the table of distinct rows."""
LEAST = 64_000_000
"""The smallest budget: Python and its libraries alone take more than this."""


class Most(NamedTuple):
    """What a part may hold: rows, bytes of texts, and bytes of a piece of a file that can only be unpacked whole."""

    rows: int
    text_bytes: int
    piece_bytes: int

    def refuse_text(self, n_bytes: float, place: str) -> None:
        """Raise if a single row of texts takes more than a block may."""
        if n_bytes > self.text_bytes:
            raise MemoryError(
                f"{place} holds more than {_check.size(self.text_bytes)} of text in one row, which is all that the "
                f"budget has for that; raise memory= (--memory), or leave the column out."
            )

    def refuse_piece(self, n_bytes: int, place: str) -> None:
        """Raise if a page or a chunk, which is unpacked whole, takes more than all blocks together may."""
        if n_bytes > self.piece_bytes:
            raise MemoryError(
                f"{place} is written in pieces of {_check.size(n_bytes)}, which are unpacked whole, more than the "
                f"{_check.size(self.piece_bytes)} that the budget has for that; raise memory= (--memory), write it in "
                f"smaller pieces, or leave the column out."
            )


@dataclass(frozen=True)
class Budget:
    """A number of bytes that the work may use beside the program itself, and how it is divided."""

    n_bytes: int

    def block(self, row_bytes: int, n_at_once: int) -> Most:
        """Return how much a block may hold if so many blocks are in memory at once; `row_bytes` are those of a row.

        The blocks of narrow tables have `SMALLEST_BLOCK` rows at least, unless one of them alone took a third of the
        memory for blocks.
        """
        share = int(BLOCKS_SHARE * self.n_bytes)
        fitting = share // max(row_bytes, 1)
        rows = max(1, min(SMALLEST_BLOCK, fitting // 3), min(LARGEST_BLOCK, fitting // n_at_once))
        return Most(rows, share // n_at_once, share)

    @property
    def for_ids(self) -> int:
        """Bytes of ids that are kept in memory; the others are kept in a temporary folder."""
        return int(BLOCKS_SHARE * self.n_bytes)

    @property
    def for_rows(self) -> int:
        """Bytes that the table of distinct rows may take."""
        return int(ROWS_SHARE * self.n_bytes)

    def refuse_rows(self, needed: int, n_rows: int, n_objects: int) -> None:
        """Raise if the table of distinct rows needs more memory than its share."""
        if needed > self.for_rows:
            raise MemoryError(
                f"{n_rows:,} distinct rows after {n_objects:,} objects need {_check.size(needed)}, more than the "
                f"{_check.size(self.for_rows)} for them in a budget of {_check.size(self.n_bytes)}; raise memory= "
                f"(--memory), take fewer members, or coarsen the table in parts."
            )

    def refuse_labels(self, needed: int, n_objects: int) -> None:
        """Raise if the texts of different labels need more memory than there is for the distinct rows."""
        if needed > self.for_rows:
            raise MemoryError(
                f"the texts of the labels of {n_objects:,} objects need {_check.size(needed)}, more than the "
                f"{_check.size(self.for_rows)} for them in a budget of {_check.size(self.n_bytes)}; raise memory= "
                f"(--memory), or write short labels."
            )


def as_budget(memory: Any) -> Budget:
    """Return the budget for an option such as "2GB", a number of bytes, or None for half of the machine's memory."""
    if memory is None:
        return Budget(int(min(DEFAULT_SHARE * _machine_memory(), MOST_BY_DEFAULT)))
    number = as_bytes(memory) if isinstance(memory, str) else _check.n_bytes(memory, "memory")
    if number < LEAST:
        raise ValueError(
            f"memory must be at least {_check.size(LEAST)}, got {_check.brief(memory)}; for example '2GB'."
        )
    return Budget(number)


def as_bytes(text: str) -> int:
    """Return a number of bytes from texts such as 8e9, 8GB, 1.5 GB or 512MiB."""
    parts = re.fullmatch(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([kKmMgGtT]i?[bB]?|[bB])?\s*", text)
    if parts is None:
        raise ValueError(f"memory must be a number of bytes such as 8e9 or '8GB', got {_check.brief(text)}.")
    unit = parts.group(2) or ""
    base = 1024 if "i" in unit else 1000
    power = "bkmgt".index(unit[0].lower()) if unit else 0
    return int(float(parts.group(1)) * base**power)


def _machine_memory() -> int:
    """Return the memory of the machine, or of the control group that this process is confined to."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 2 * MOST_BY_DEFAULT
    for place in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(place, encoding="ascii") as file:
                total = min(total, int(file.read()))
        except (OSError, ValueError):
            continue
    return total


def peak_bytes() -> int | None:
    """Return the largest amount of memory that this process has had so far; None if the system does not tell."""
    try:
        import resource
        import sys
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else 1024 * peak)


class Block(NamedTuple):
    """A block of a table: one column per member, as NumPy arrays or Arrow columns, and the ids of its objects."""

    columns: list[Any]
    ids: Any | None = None

    @property
    def n_rows(self) -> int:
        return len(self.columns[0])


def given(block: Block) -> Block:
    """Return a block that was read already; ``partial(given, block)`` is the `read` of its part."""
    return block


class Part(NamedTuple):
    """A part of a source that is read at once.

    `name` is what error messages call it, and `file` is the number of the file that it comes from. `read` may be
    called in any thread. `n_rows` is its number of rows if it can be read at any time and as often as one likes; None
    if parts must be read one after another.
    """

    name: str
    file: int
    read: Callable[[], Block]
    n_rows: int | None = None


@dataclass(frozen=True, eq=False)
class Source:
    """A table of labels or of measurements in parts.

    Attributes
    ----------
    title : str
        What error messages call the table.
    names : tuple of str
        The names of the members, or of the columns of measurements.
    id_name : str or None
        The name of the column of ids; None if the objects have none.
    kinds : tuple of {"values", "cells", "text"}
        What the values of each column are; see `quorate._data.blocks.Kind`.
    files : tuple of str
        The names of the files that it consists of, without suffix: results have files of the same names. Empty if
        it is not known how many there are.
    parts : callable
        Given what a part may hold (`Most`), it yields the parts in order.
    row_bytes : int
        About how many bytes a row takes in memory while it is read, but for long texts.
    n_rows : int or None
        The number of rows, if it is known before they are read.
    fingerprint : list or None
        What tells this source from another: the stamps of its files, or such lists. None if that is not known.
    info : callable, optional
        Returns the `info` of an ensemble made from the source; called after all parts were read.
    paths : tuple of paths
        The files and Zarr stores that are read, as far as they are known; no output may take their place.
    """

    title: str
    names: tuple[str, ...]
    id_name: str | None
    kinds: tuple[Kind, ...]
    files: tuple[str, ...]
    parts: Callable[[Most], Iterator[Part]]
    row_bytes: int
    n_rows: int | None = None
    fingerprint: list[Any] | None = None
    info: Callable[[], dict[str, Any]] | None = None
    paths: tuple[Path, ...] = ()

    def file_name(self, number: int) -> str:
        """Return the name of a file of results, without suffix."""
        return self.files[number] if number < len(self.files) else f"part-{number:05d}"


def stacked(sources: list[Source], title: str) -> Source:
    """Stack the rows of several sources; all must have the columns of the first one, in any order."""
    first = sources[0]
    for source in sources[1:]:
        lacking = [name for name in first.names if name not in source.names]
        if lacking or (first.id_name is None) != (source.id_name is None):
            what = repr(lacking[0]) if lacking else "of ids"
            raise ValueError(f"{source.title} has no column {what}, which {first.title} has.")
        refuse_more_columns(source.names, first.names, source.title, first.title)

    def parts(most: Most) -> Iterator[Part]:
        for number, source in enumerate(sources):
            order = [source.names.index(name) for name in first.names]
            for part in source.parts(most):
                yield Part(part.name, number, partial(_ordered, part, order), part.n_rows)

    known = [source.n_rows for source in sources]
    return replace(
        first,
        title=title,
        files=_file_names(sources),
        parts=parts,
        row_bytes=max(source.row_bytes for source in sources),
        n_rows=None if None in known else sum(size or 0 for size in known),
        fingerprint=[source.fingerprint for source in sources],
    )


def refuse_more_columns(names: tuple[str, ...], known: tuple[str, ...], title: str, first: str) -> None:
    """Raise if a file has a column that the first file lacks, because its values would be lost."""
    more = sorted(set(names) - set(known))
    if more:
        raise ValueError(
            f"{title} has the column {brief(more[0])}, which {first} has not; all must have the same columns, or "
            f"name those to be read (columns=, --columns)."
        )


def _ordered(part: Part, order: list[int]) -> Block:
    block = part.read()
    return Block([block.columns[place] for place in order], block.ids)


def _file_names(sources: list[Source]) -> tuple[str, ...]:
    names = tuple(source.files[0] for source in sources)
    return names if len(set(names)) == len(names) else ()


def stamp(path: Path) -> list[Any]:
    """Return what tells a file from another version of it: its path, size, time of change, and number on the disk.

    The last three of a folder are sums over the files in it.
    """
    inner = path.rglob("*") if path.is_dir() else (path,)
    facts = [file.stat() for file in inner if file.is_file()]
    sums = (sum(getattr(fact, name) for fact in facts) for name in ("st_size", "st_mtime_ns", "st_ino"))
    return [str(path.resolve()), *sums]


def refuse_changed(fingerprint: list[Any] | None) -> None:
    """Raise if a file has changed since its stamp was taken: its passes, or its blocks, may be of two versions."""
    for entry in fingerprint or ():
        if entry is None or not isinstance(entry[0], str):
            refuse_changed(entry)
            continue
        try:
            same = stamp(Path(entry[0])) == entry
        except OSError:
            same = False
        if not same:
            raise ValueError(
                f"{entry[0]} was changed, replaced or removed while it was read; run the same again when nothing "
                f"writes to it."
            )

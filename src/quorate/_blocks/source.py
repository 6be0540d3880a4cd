"""What a source of blocks is: the names of its columns, and parts that are read one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from quorate._blocks.settling import Kind


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
    kinds : tuple of {"values", "arrow", "text"}
        What the values of each column are; see `settling.Kind`.
    files : tuple of str
        The names of the files that it consists of, without suffix: results have files of the same names. Empty if
        it is not known how many there are.
    parts : callable
        Given the largest number of rows that a part should have, it yields the parts in order.
    row_bytes : int
        About how many bytes a row takes in memory while it is read.
    n_rows : int or None
        The number of rows, if it is known before they are read.
    fingerprint : list or None
        What tells this source from another: names, sizes and times of files. None if that is not known.
    info : callable, optional
        Returns the `info` of an ensemble made from the source; called after all parts were read.
    """

    title: str
    names: tuple[str, ...]
    id_name: str | None
    kinds: tuple[Kind, ...]
    files: tuple[str, ...]
    parts: Callable[[int], Iterator[Part]]
    row_bytes: int
    n_rows: int | None = None
    fingerprint: list[Any] | None = None
    info: Callable[[], dict[str, Any]] | None = None

    def file_name(self, number: int) -> str:
        """Return the name of a file of results, without suffix."""
        return self.files[number] if number < len(self.files) else f"part-{number:05d}"

"""What the end of a Parquet file says of its row groups, read without pyarrow.

pyarrow 26 ends the process if what a file says of a column contradicts its type (it asks for sizes in a way that cannot
raise an error). These few numbers are in the footer as a Thrift struct in the compact protocol, which is read here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

DEPTH = 16
"""Structs and lists within one another at most; those of Parquet have six."""
_INTEGERS = (4, 5, 6)
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LISTS, _STRUCT = 1, 2, 3, 7, 8, (9, 10), 12


class TextChunk(NamedTuple):
    """A column of a row group: its bytes when unpacked, and where its first pages begin."""

    n_bytes: int
    starts: tuple[int, ...]


class DamagedError(ValueError):
    """The bytes are no Thrift struct, or one that does not describe row groups."""


class _Reader:
    """Bytes and a place in them; a read beyond their end is an error."""

    def __init__(self, content: bytes) -> None:
        self.content, self.place = content, 0

    def take(self, n_bytes: int) -> bytes:
        part = self.content[self.place : self.place + n_bytes]
        if n_bytes < 0 or len(part) < n_bytes:
            raise DamagedError("its end breaks off")
        self.place += n_bytes
        return part

    def unsigned(self) -> int:
        """Read a number of seven bits in each byte, the lowest first."""
        value = shift = 0
        while shift < 64:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise DamagedError("its end has a number of more than 64 bits")

    def integer(self) -> int:
        value = self.unsigned()
        return (value >> 1) ^ -(value & 1)

    def value(self, kind: int, depth: int) -> Any:
        """Read a value of a type of Thrift; lists are lists, and structs are tables by the number of the field."""
        if depth > DEPTH:
            raise DamagedError("its end is nested too deeply")
        if kind in _INTEGERS:
            return self.integer()
        if kind == _BINARY:
            return self.take(self.unsigned())
        if kind == _STRUCT:
            return self.struct(depth)
        if kind in _LISTS:
            return self.values(depth)
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind in (_BYTE, _DOUBLE):
            return self.take(8 if kind == _DOUBLE else 1)
        raise DamagedError(f"its end has a value of type {kind}")

    def values(self, depth: int) -> list[Any]:
        head = self.take(1)[0]
        kind, n_values = head & 15, head >> 4
        if n_values == 15:
            n_values = self.unsigned()
        if n_values > len(self.content):
            raise DamagedError("its end has a list that is longer than the file")
        # in a list a Boolean takes a byte, but as a field it is its type
        read: Callable[[], Any] = (
            (lambda: self.take(1)) if kind in (_TRUE, _FALSE) else (lambda: self.value(kind, depth + 1))
        )
        return [read() for _ in range(n_values)]

    def struct(self, depth: int) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while (head := self.take(1)[0]) != 0:
            number = number + (head >> 4) if head >> 4 else self.integer()
            fields[number] = self.value(head & 15, depth + 1)
        return fields


def text_columns(path: Path, names: set[str]) -> list[dict[str, TextChunk]]:
    """Return for each row group of a Parquet file the bytes and the first pages of columns, by their names."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        file.seek(max(0, size - 8))
        length = int.from_bytes(file.read(4), "little")
        if length > size - 8:
            raise DamagedError("its end is longer than the file")
        file.seek(size - 8 - length)
        footer = _Reader(file.read(length)).struct(0)
    return [_columns(group, names, size) for group in _field(footer, 4, list)]


def _columns(group: Any, names: set[str], size: int) -> dict[str, TextChunk]:
    known = {}
    for chunk in _field(group, 1, list):
        facts = _field(chunk, 3, dict)
        parts = _field(facts, 3, list)
        if not all(isinstance(part, bytes) for part in parts):
            raise DamagedError("its end does not name its columns")
        name = b".".join(parts).decode(errors="replace")
        if name in names:
            starts = (_field(facts, 9, int), _field(facts, 11, int) if 11 in facts else None)
            known[name] = TextChunk(_field(facts, 6, int), tuple(start for start in starts if start is not None))
            if known[name].n_bytes < 0 or not all(0 <= start < size for start in known[name].starts):
                raise DamagedError(f"column {name!r} is said to lie outside of the file")
    return known


def _field(struct: Any, number: int, kind: type) -> Any:
    if not isinstance(struct, dict) or not isinstance(struct.get(number), kind):
        raise DamagedError("its end does not describe row groups")
    return struct[number]


def page_bytes(path: Path, start: int) -> int:
    """Return how many bytes a page has when it is unpacked, from its header; 0 if that cannot be read."""
    with open(path, "rb") as file:
        file.seek(start)
        reader = _Reader(file.read(32))
    try:
        # the header begins with two integers: the kind of the page, and this size
        heads = [(reader.take(1), reader.integer()) for _ in range(2)]
    except DamagedError:
        return 0
    return heads[1][1] if all(head == b"\x15" for head, _ in heads) else 0

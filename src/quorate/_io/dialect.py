"""How a text table is written: its encoding, what separates its columns, and whether its decimals have commas."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator
from typing import IO

DELIMITERS = {"csv": ",", "tsv": "\t"}
"""What separates columns in files that are written, and in files that are read and leave it open."""
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
LINES_LOOKED_AT = 100
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+(?:[eE][+-]?\d+)?\s*")
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(?:,\d{3})+\s*")


def separator(sep: str | None) -> str | None:
    """The character that `sep` stands for: itself, or the name of one; None stays None."""
    if sep is None:
        return None
    found = SEPARATORS.get(sep.lower(), "\t" if sep == "\\t" else sep)
    if len(found) != 1 or found in '"\r\n' or found.isalnum():
        names = ", ".join(SEPARATORS)
        raise ValueError(f"sep (--sep) must be one character, or one of {names}, got {sep!r}.")
    return found


def open_text(source: IO[bytes], head: bytes) -> io.TextIOWrapper:
    """Text from bytes, by the byte order mark that Excel writes first; UTF-8 where there is none."""
    encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    return io.TextIOWrapper(source, encoding=encoding, newline="")


def recognise(stream: Iterator[str], default: str, sep: str | None) -> tuple[Iterator[str], str]:
    """The lines of a table from its first on, and what separates its columns.

    Of comma, semicolon, tab and pipe that is taken which cuts the first lines into equally many cells, more than one.
    Where several do, or none, the format's own separator is taken if it cuts the header at all.
    """
    chosen = separator(sep)
    if chosen is not None:
        return stream, chosen
    head = list(itertools.islice(stream, LINES_LOOKED_AT))
    lines = itertools.chain(head, stream)
    others = [mark for mark in SEPARATORS.values() if mark != default]
    widths = {mark: _widths(head, mark) for mark in (default, *others)}
    cutting = [mark for mark, found in widths.items() if found and found[0] > 1]
    even = [mark for mark in cutting if len(set(widths[mark])) == 1]
    return lines, next(iter([*even, *cutting]), default)


def _widths(lines: list[str], mark: str) -> list[int]:
    """How many cells each row has; a last row that goes on after these lines does not count."""
    try:
        return [len(row) for row in csv.reader(lines, delimiter=mark) if row]
    except csv.Error:
        return []


def has_decimal_commas(rows: list[list[str]]) -> bool:
    """Whether a cell of these rows is a number with a decimal comma; 1,234 alone may be a thousand and more."""
    return any(_DECIMAL_COMMA.fullmatch(cell) and not _THOUSANDS.fullmatch(cell) for row in rows for cell in row)

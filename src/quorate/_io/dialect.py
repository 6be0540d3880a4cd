"""The dialect of a text table: its encoding, what separates its columns, and whether it has decimal commas."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

DELIMITERS = {"csv": ",", "tsv": "\t"}
"""The separator of columns in files that are written, and in files that are read if their first lines leave it open."""
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
LINES_LOOKED_AT = 100
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+(?:[eE][+-]?\d+)?\s*")
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(?:,\d{3})+\s*")


class OpenTable(NamedTuple):
    """A text table that is being read: its csv reader, the lines that the reader takes, and what separates columns."""

    reader: Any
    lines: Iterator[str]
    delimiter: str


@contextmanager
def open_table(source: io.BufferedReader, name: str, default: str, sep: str | None) -> Iterator[OpenTable]:
    """Decode a text table and recognise its separator; errors of its encoding and quotation marks name the file."""
    stream = open_text(source, source.peek(2))
    # an error of the csv module can only come from a reader, and this one is there before the first
    reader: Any = None
    try:
        lines, delimiter = recognise(stream, default, sep)
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        yield OpenTable(reader, lines, delimiter)
    except csv.Error as error:
        if "NUL" in str(error):
            # Python before 3.11 refuses them itself
            raise no_text(name) from error
        raise ValueError(f"{name}, line {reader.line_num}: {error}; is a quotation mark left open?") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not UTF-8 or UTF-16 text ({error.reason}); save it as UTF-8.") from error
    finally:
        # the source is not ours to close
        stream.detach()


def no_text(name: str) -> ValueError:
    """Return the error that says that a file is not a text, whatever its name says."""
    return ValueError(f"{name} holds NUL bytes, so it is no text; give it the suffix of its content.")


def separator(sep: str | None) -> str | None:
    """Return the character that `sep` stands for: `sep` is a character, the name of one, or None, which stays None."""
    if sep is None:
        return None
    character = SEPARATORS.get(sep.lower(), "\t" if sep == "\\t" else sep)
    if len(character) != 1 or character in '"\r\n' or character.isalnum():
        names = ", ".join(SEPARATORS)
        raise ValueError(f"sep (--sep) must be one character, or one of {names}, got {sep!r}.")
    return character


def open_text(source: IO[bytes], head: bytes) -> io.TextIOWrapper:
    """Decode bytes as text: UTF-16 if they start with its byte order mark, as Excel writes it, otherwise UTF-8."""
    encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    return io.TextIOWrapper(source, encoding=encoding, newline="")


def recognise(stream: Iterator[str], default: str, sep: str | None) -> tuple[Iterator[str], str]:
    """Return the lines of a table, from the first one, and the character that separates its columns.

    If `sep` is given, it is taken. Otherwise comma, semicolon, tab and pipe are tried on the first lines. The separator
    is the one that cuts all of them into the same number of cells, at least two; if several do so, or none, it is one
    that cuts at least the header. Among equals the separator of the file format, `default`, comes first.
    """
    chosen = separator(sep)
    if chosen is not None:
        return stream, chosen
    head = list(itertools.islice(stream, LINES_LOOKED_AT))
    lines = itertools.chain(head, stream)
    others = [mark for mark in SEPARATORS.values() if mark != default]
    widths = {mark: _widths(head, mark) for mark in (default, *others)}
    cutting = [mark for mark, cells in widths.items() if cells and cells[0] > 1]
    even = [mark for mark in cutting if len(set(widths[mark])) == 1]
    return lines, next(iter([*even, *cutting]), default)


def _widths(lines: list[str], mark: str) -> list[int]:
    """Return the number of cells in each row, or an empty list if the lines cannot be read as CSV."""
    try:
        return [len(row) for row in csv.reader(lines, delimiter=mark) if row]
    except csv.Error:
        return []


def has_decimal_commas(rows: list[list[str]]) -> bool:
    """Whether a cell is a number with a decimal comma; cells like 1,234, which may be thousands, do not count."""
    return any(_DECIMAL_COMMA.fullmatch(cell) and not _THOUSANDS.fullmatch(cell) for row in rows for cell in row)

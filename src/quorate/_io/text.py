"""Text tables: the dialect, labels and ids coded while they are read, blocks of rows, and tables of numbers.

A table of n x H labels is never held as n x H Python strings. Only one block of rows is; its texts are numbered by
first appearance in their column, and afterwards only the few distinct texts of each column are looked at.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
import warnings
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._check import brief, counted, option
from quorate._check import places as places_of
from quorate._data.blocks import CodedColumn
from quorate._data.coding import as_number, narrowest, object_array
from quorate._data.ids import first_fault
from quorate._data.tables import refuse_duplicates
from quorate._io.paths import LOOKED_AT, FilePath, format_of, name_of, reading, refuse_content
from quorate._io.source import Block, Most, Part, Source, given, stamp
from quorate._types import read_only

DELIMITERS = {"csv": ",", "tsv": "\t"}
"""The separator of columns in files that are written, and in files that are read if their first lines leave it open."""
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
ONE_OF_THEM = "duplicates='first', 'last' or 'vote' of load_labels (--duplicates first) makes one row of them"
LINES_LOOKED_AT = 100
MOST_LOOKED_AT = 1 << 24
"""So many lines, or characters, decide what separates columns."""
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+(?:[eE][+-]?\d+)?\s*")
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(?:,\d{3})+\s*")


class OpenTable(NamedTuple):
    """A text table that is being read: its csv reader, the lines that the reader takes, and what separates columns."""

    reader: Any
    lines: Iterator[str]
    delimiter: str


LinesOf = Callable[[io.TextIOWrapper], Iterator[str]]
"""Returns the lines of an open text."""


@contextmanager
def open_table(
    source: io.BufferedReader,
    name: str,
    default: str,
    sep: str | None,
    lines_of: LinesOf = iter,
    encoding: str | None = None,
) -> Iterator[OpenTable]:
    """Decode a text table and recognise its separator; errors of its encoding and quotation marks name the file."""
    stream = open_text(source, name, encoding)
    # an error of the csv module can only come from a reader, and this one is there before the first
    reader: Any = None
    try:
        lines, delimiter = recognise(lines_of(stream), default, sep)
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        yield OpenTable(reader, lines, delimiter)
    except csv.Error as error:
        if "NUL" in str(error):
            # Python before 3.11 refuses them itself
            raise no_text(name) from error
        raise ValueError(f"{name}, line {reader.line_num}: {error}; is a quotation mark left open?") from error
    except UnicodeError as error:
        wanted = "UTF-8 or UTF-16" if encoding is None else encoding
        reason = getattr(error, "reason", error)
        raise ValueError(
            f"{name} is not {wanted} text ({reason}); save it as UTF-8, or say how it is encoded "
            f"({option('--encoding', 'cp1252')})."
        ) from error
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


def open_text(source: io.BufferedReader, name: str, encoding: str | None = None) -> io.TextIOWrapper:
    """Decode bytes as text: UTF-16 if they start with its byte order mark, as Excel writes it, otherwise UTF-8.

    If the first bytes are no UTF-8, but text of Windows-1252, in which Excel writes "CSV", they are read as that, and a
    warning says so. `encoding` is that of the text if the user gave it.
    """
    head = source.peek(LOOKED_AT)
    if encoding is not None:
        known = known_encoding(encoding)
        if not head.isascii() and not codecs.lookup(known).name.startswith("utf") and _is_utf8(head):
            warnings.warn(
                f"{name} looks like UTF-8, and was read as {encoding}, as encoding (--encoding) says for all files; "
                f"leave it out if letters such as é are wrong, because Windows-1252 is recognised file by file.",
                UserWarning,
                stacklevel=2,
            )
        return io.TextIOWrapper(source, encoding=known, newline="")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return io.TextIOWrapper(source, encoding="utf-16", newline="")
    if _is_windows_text(head):
        warnings.warn(
            f"{name} is not UTF-8 and was read as Windows-1252, in which Excel writes CSV; look at letters such as é, "
            f"and pass another encoding ({option('--encoding', 'latin2')}) if they are wrong.",
            UserWarning,
            stacklevel=2,
        )
        return io.TextIOWrapper(source, encoding="cp1252", newline="")
    return io.TextIOWrapper(source, encoding="utf-8-sig", newline="")


def known_encoding(encoding: str) -> str:
    """Return the name by which Python knows an encoding of texts; raise if it knows none."""
    try:
        if not codecs.lookup(encoding)._is_text_encoding:
            raise LookupError
    except LookupError:
        raise ValueError(
            f"encoding (--encoding) must be one that Python knows, such as utf-8, cp1252, latin2 or utf-16, "
            f"got {encoding!r}."
        ) from None
    return "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding


def _is_utf8(head: bytes) -> bool:
    """Whether bytes are the beginning of a text in UTF-8."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def _is_windows_text(head: bytes) -> bool:
    """Whether bytes are no UTF-8, but letters and signs of Windows-1252 among characters that texts are made of."""
    if _is_utf8(head):
        return False
    try:
        text = head.decode("cp1252")
    except UnicodeDecodeError:
        return False
    high = sum(ord(character) > 127 for character in text)
    return all(c.isprintable() or c in "\r\n\t\f\v\xa0\xad" for c in text) and high * 2 <= len(text)


def recognise(stream: Iterator[str], default: str, sep: str | None) -> tuple[Iterator[str], str]:
    """Return the lines of a table, from the first one, and the character that separates its columns.

    If `sep` is given, it is taken. Otherwise comma, semicolon, tab and pipe are tried on the first lines. The separator
    is the one that cuts all of them into the same number of cells, at least two; if several do so, or none, it is one
    that cuts at least the header. Among equals the separator of the file format, `default`, comes first.
    """
    chosen = separator(sep)
    if chosen is not None:
        return stream, chosen
    head: list[str] = []
    for line in itertools.islice(stream, LINES_LOOKED_AT):
        head.append(line)
        if len(line) * LINES_LOOKED_AT > MOST_LOOKED_AT and sum(map(len, head)) > MOST_LOOKED_AT:
            break
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


_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def checked_formulas(value: Any) -> bool:
    """Return whether formulas are to be quoted; raise if the option is neither "keep" nor "quote"."""
    advice = "'quote' puts an apostrophe before cells that a spreadsheet would take for a formula."
    return _check.choice(value, "formulas", ("keep", "quote"), advice) == "quote"


def quoted(text: str) -> str:
    """Put an apostrophe before a text that begins like a formula and is not a number.

    Texts that begin with apostrophes and then like a formula get one more, so that `unquoted` gives every text back.
    The script of the report does the same in its download.
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unquoted(text: str) -> str:
    """Take away the apostrophe that `quoted` has put before a text."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


Array = NDArray[Any]
# small enough for a processor's cache: blocks of 16,384 rows take three times as long
BLOCK = 512


class Choice(NamedTuple):
    """The columns of a table that are read: the column that names the rows, if there is one, and the members."""

    ids: str | None
    members: tuple[str, ...]
    repeated: bool = False
    """Whether several rows may have one id."""


Choose = Callable[[tuple[str, ...]], Choice]


class Texts(NamedTuple):
    """Columns as they were read: for each one codes by first appearance and their texts; and the names of the rows."""

    names: tuple[str, ...]
    columns: list[tuple[Array, list[str]]]
    ids: list[str] | None
    id_name: str | None = None


class _Numbers(dict[str, int]):
    """Numbers texts by first appearance: looking up a new text gives it the next number."""

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self)
        return number


def read_csv(
    source: BufferedReader,
    name: str,
    default: str,
    choose: Choose,
    *,
    sep: str | None = None,
    transposed: bool = False,
    unquote: bool = False,
    encoding: str | None = None,
) -> Texts:
    """Read a table with a header; `choose` picks the columns once their names are known.

    What separates the columns is recognised unless `sep` is given; it is `default` if the first lines do not settle
    it. With `transposed` each row is one member: then `names` are the names of the rows, and `ids` is the header.
    With `unquote` the apostrophe is taken away that `formulas="quote"` has put before cells.
    """
    with open_table(source, name, default, sep, encoding=encoding) as table:
        header = read_header(table.reader, name, table.delimiter)
        if unquote:
            header = tuple(map(unquoted, header))
        choice = choose(header)
        rows = _Rows(table.reader, len(header), name)
        read = _read_members if transposed else _read_objects
        texts = read(rows, header, choice)
        if unquote:
            texts = _unquoted(texts, transposed)
    if not rows.lines:
        raise ValueError(f"{name} holds a header but no rows.")
    if any("\0" in text for text in itertools.chain(header, *(known for _, known in texts.columns))):
        raise no_text(name)
    return texts


def _unquoted(texts: Texts, transposed: bool) -> Texts:
    """Return what was read without the apostrophes of quoted formulas; those of the header are gone already."""
    cells = [(codes, list(map(unquoted, known))) for codes, known in texts.columns]
    if transposed:
        return texts._replace(columns=cells, names=tuple(map(unquoted, texts.names)))
    return texts._replace(columns=cells, ids=None if texts.ids is None else list(map(unquoted, texts.ids)))


class _Rows:
    """Iterates over the rows of a reader, and records the line on which each row ended.

    Raises ValueError at a row that has more or fewer cells than the header.
    """

    def __init__(self, reader: Any, width: int, name: str) -> None:
        self.reader, self.width, self.name = reader, width, name
        self.lines = array("q")

    def __iter__(self) -> Iterator[list[str]]:
        blank = 0
        for row in self.reader:
            line = self.reader.line_num
            if len(row) != self.width:
                if row:
                    raise ValueError(
                        f"{self.name}, line {line} has {_check.counted(len(row), 'cell')}, but the header has "
                        f"{self.width}; every row needs one cell per column, which is empty if there is no label."
                    )
                blank = blank or line
                continue
            # in one column a blank line may be an empty cell, and skipping it would shift all later objects
            if blank and self.width == 1:
                raise ValueError(f'{self.name}, line {blank} is blank; write "" if an object has no label.')
            self.lines.append(line)
            yield row


def rows_of_width(reader: Any, width: int, name: str) -> Iterator[list[str]]:
    """Yield the rows of a reader; raise at one that has more or fewer cells than the header."""
    rows = _Rows(reader, width, name)
    for row in rows:
        # the lines of rows are only needed to name repeated ids, and would take memory for each row
        del rows.lines[:]
        yield row


def read_header(reader: Any, name: str, delimiter: str) -> tuple[str, ...]:
    header = next((tuple(row) for row in reader if row), None)
    if header is None:
        raise ValueError(f"{name} is empty; a header line and one row per object were expected.")
    if any("\0" in cell for cell in header):
        raise no_text(name)
    try:
        refuse_duplicates(header)
    except ValueError as error:
        raise ValueError(f"{name}: {error} (The first line must be a header.)") from None
    other = next((mark for mark in (";", "\t", ",", "|") if mark != delimiter and mark in header[0]), None)
    if len(header) == 1 and other is not None:
        raise ValueError(
            f"{name} has the one column {header[0]!r}; columns were separated at {delimiter!r}, and not at {other!r}; "
            f"say what separates them ({_check.option('--sep', other)})."
        )
    _warn_of_numbers(header, name)
    return header


def _warn_of_numbers(header: tuple[str, ...], name: str) -> None:
    """Warn if the header holds numbers that do not rise, because it is probably the first object of the table."""
    numbers = [as_number(cell) for cell in header]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers) or (len(known) == 1 and known[0] == 0):
        return
    if len(known) == 1 or any(not low < high for low, high in itertools.pairwise(known)):
        warnings.warn(
            f"{name} has the column names {', '.join(header[:5])}{', ...' if len(header) > 5 else ''}; the first "
            f"line must be a header, so add one if these are the labels of the first object.",
            UserWarning,
            stacklevel=2,
        )


def _read_objects(rows: _Rows, header: tuple[str, ...], choice: Choice) -> Texts:
    """Read a table with one row per object, which is one block."""
    columns, ids = _coded(iter(rows), _check.places(choice.members, header), _id_place(choice, header))
    if ids is not None:
        _refuse_ids(ids, rows, repeated=choice.repeated)
    return Texts(choice.members, columns, ids, choice.ids)


def _read_members(rows: _Rows, header: tuple[str, ...], choice: Choice) -> Texts:
    """Read a table with one row per member: each row is coded as it is read, and the header names the objects."""
    places, id_place = _check.places(choice.members, header), _id_place(choice, header)
    names: list[str] = []
    columns = []
    for row in rows:
        if id_place is not None:
            names.append(row[id_place])
        seen = _Numbers()
        columns.append((_number([row[place] for place in places], seen), list(seen)))
    _refuse_ids(names, rows)
    members = tuple(names) if names else tuple(f"member {place}" for place in range(len(columns)))
    made_up = choice.members == tuple(map(str, range(len(places))))
    return Texts(members, columns, None if made_up else list(choice.members))


def _id_place(choice: Choice, header: tuple[str, ...]) -> int | None:
    return None if choice.ids is None else header.index(choice.ids)


def _number(column: Iterable[str], seen: _Numbers) -> Array:
    codes = np.fromiter(map(seen.__getitem__, column), np.int32)
    return codes.astype(narrowest(len(seen)), copy=False)


def _refuse_ids(names: list[str], rows: _Rows, *, repeated: bool = False) -> None:
    """Raise if a name of a row is empty, or repeated where names must not be."""
    fault = first_fault(names) if not repeated or "" in names else None
    if fault is None:
        return
    first, row = fault
    if repeated:
        row = names.index("")
    if not names[row]:
        raise ValueError(f"{rows.name}, line {rows.lines[row]} has no id; every row needs one of its own.")
    raise ValueError(
        f"{rows.name} has the id {names[row]!r} twice, on lines {rows.lines[first]} and {rows.lines[row]}; "
        f"every row needs an id of its own; {ONE_OF_THEM}."
    )


def text_ids(ids: list[str]) -> Array:
    """Return texts as an array; if one is long, an array of objects, so that the short ones take less memory."""
    wide = max(map(len, ids), default=0) > 64
    return read_only(np.array(ids, dtype=object if wide else np.str_))


def text_source(path: Path, choose: Choose, sep: str | None, encoding: str | None = None) -> Source:
    """Take a text table (.csv, .tsv, .txt, also packed by gzip), which is read from front to back."""
    with _opened(path, sep, encoding) as table:
        choice = choose(read_header(table.reader, name_of(path), table.delimiter))

    def parts(most: Most) -> Iterator[Part]:
        for block in _blocks(path, choice, sep, encoding, most):
            yield Part(str(path), 0, partial(given, block))

    n_members = len(choice.members)
    files = (path.name.split(".")[0],)
    return Source(
        str(path), choice.members, choice.ids, ("text",) * n_members, files, parts, 80 * n_members, None, [stamp(path)]
    )


class _Measured:
    """The lines of a text, and how many characters they had so far; a line that is too long is refused."""

    def __init__(self, most: Most, name: str) -> None:
        self.n_read = 0
        self._most, self._name = most, name

    def lines(self, stream: io.TextIOWrapper) -> Iterator[str]:
        longest = self._most.text_bytes
        while line := stream.readline(longest + 1):
            self.n_read += len(line)
            if len(line) > longest:
                self._most.refuse_text(len(line), self._name)
            yield line

    def rows(self, rows: Iterator[list[str]]) -> Iterator[list[str]]:
        """Yield rows until there are as many, or as much text, as a block may hold."""
        full = self.n_read + self._most.text_bytes
        for row in itertools.islice(rows, self._most.rows):
            yield row
            if self.n_read >= full:
                return


def _blocks(path: Path, choice: Choice, sep: str | None, encoding: str | None, most: Most) -> Iterator[Block]:
    """Yield blocks of as many rows as a block may hold; one with more or fewer cells than the header is refused."""
    name = name_of(path)
    measured = _Measured(most, name)
    with _opened(path, sep, encoding, measured.lines) as table:
        header = read_header(table.reader, name, table.delimiter)
        places, id_place = _check.places(choice.members, header), _id_place(choice, header)
        rows = iter(rows_of_width(table.reader, len(header), name))
        while True:
            columns, ids = _coded(measured.rows(rows), places, id_place)
            if not columns or not len(columns[0][0]):
                return
            if any("\0" in text for _, known in columns for text in known):
                raise no_text(name)
            coded = [CodedColumn(codes, object_array(known)) for codes, known in columns]
            yield Block(coded, None if ids is None else object_array(ids))


def _coded(
    rows: Iterator[list[str]], places: Sequence[int], id_place: int | None
) -> tuple[list[tuple[Array, list[str]]], list[str] | None]:
    """Code rows as columns, some rows at a time, each column by a dictionary of its own; return these and the ids."""
    seen = [_Numbers() for _ in places]
    codes: list[list[Array]] = [[np.empty(0, np.int8)] for _ in places]
    ids: list[str] = []
    while few := list(itertools.islice(rows, BLOCK)):
        columns = list(zip(*few, strict=True))
        for place, known, parts in zip(places, seen, codes, strict=True):
            parts.append(_number(columns[place], known))
        if id_place is not None:
            ids.extend(columns[id_place])
    joined = [(np.concatenate(parts), list(known)) for parts, known in zip(codes, seen, strict=True)]
    return joined, None if id_place is None else ids


@contextmanager
def _opened(path: FilePath, sep: str | None, encoding: str | None, lines_of: LinesOf = iter) -> Iterator[OpenTable]:
    with reading(path) as file:
        refuse_content(path, file.peek(8))
        with open_table(file, name_of(path), DELIMITERS[format_of(path)], sep, lines_of, encoding) as table:
            yield table


_POINT = "\u00b7"
_SWAPPED = str.maketrans({",": ".", ".": _POINT})
"""Turns decimal commas into points, and points into a character that is in no number.

A cell with both, such as 1.234,5, is therefore refused instead of misread.
"""
_COMMA_NUMBER = re.compile(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*")


class Numbers(NamedTuple):
    """The chosen columns as values of shape (n_objects, n_columns), and the ids as texts if their column was chosen."""

    values: NDArray[np.float64]
    choice: Choice
    ids: Array | None


def read_numbers(
    source: io.BufferedReader,
    name: str,
    default: str,
    choose: Choose,
    *,
    sep: str | None = None,
    encoding: str | None = None,
) -> Numbers:
    """Read a table with a header; `choose` picks the columns once their names are known.

    What separates the columns is recognised unless `sep` is given. Decimal commas are recognised as well.
    """
    with open_table(source, name, default, sep, encoding=encoding) as table:
        header: tuple[str, ...] = ()
        try:
            header = read_header(table.reader, name, table.delimiter)
            return _numbers(table, name, header, choose(header))
        except UnicodeDecodeError:
            # a ValueError, too, which open_table words
            raise
        except csv.Error as error:
            # rows are read by readers of their own, which do not know the line
            raise ValueError(f"{name}: {error}; is a quotation mark left open?") from error
        except (ValueError, IndexError) as error:
            raise ValueError(_reworded(str(error), name, header)) from error


def _numbers(table: OpenTable, name: str, header: tuple[str, ...], choice: Choice) -> Numbers:
    """Read the rows below the header."""
    places, delimiter = places_of(choice.members, header), table.delimiter
    head = list(itertools.islice(table.lines, LINES_LOOKED_AT))
    lines = _Lines(itertools.chain(head, table.lines), name, delimiter, header, places, choice.ids)
    supply = _some(lines, name)
    if delimiter != "," and _has_decimal_commas(head, delimiter, places):
        supply = (line.translate(_SWAPPED) for line in supply)
    values = np.loadtxt(supply, delimiter=delimiter, usecols=places, ndmin=2, comments=None)
    return Numbers(values, choice, np.array(lines.ids) if choice.ids is not None else None)


def _has_decimal_commas(lines: list[str], delimiter: str, places: list[int]) -> bool:
    rows = csv.reader(lines, delimiter=delimiter)
    return has_decimal_commas([[row[place] for place in places if place < len(row)] for row in rows])


class _Lines:
    """Iterates over the rows of a table as lines without quotation marks, and collects the ids on the way.

    Raises ValueError at a row that has more or fewer cells than the header.
    """

    def __init__(
        self,
        stream: Iterator[str],
        name: str,
        delimiter: str,
        header: tuple[str, ...],
        places: list[int],
        ids: str | None,
    ) -> None:
        self.stream, self.name, self.delimiter, self.header = stream, name, delimiter, header
        self.wanted = frozenset(places)
        self.id_place = None if ids is None else header.index(ids)
        self.ids: list[str] = []

    def __iter__(self) -> Iterator[str]:
        width, blank, n_rows = len(self.header), False, 0
        supply = iter(self.stream)
        for line in supply:
            # a line of tabs is a row of empty cells
            if not line.strip(" \r\n"):
                blank = True
                continue
            if blank and width == 1:
                raise ValueError(f"{self.name} has a blank line after data row {n_rows}; every object needs a number.")
            n_rows += 1
            cells = [] if '"' not in line and self.id_place is None else self._cells(line, supply)
            n_cells = len(cells) if cells else line.count(self.delimiter) + 1
            if n_cells != width:
                self._refuse_width(n_cells, n_rows)
            if self.id_place is not None:
                self.ids.append(cells[self.id_place])
            yield self._plain(cells, n_rows) if cells else line

    def _cells(self, line: str, supply: Iterator[str]) -> list[str]:
        """Return the cells of the row that starts with this line; a quoted cell may continue on the following lines."""
        return next(csv.reader(itertools.chain([line], supply), delimiter=self.delimiter, strict=True))

    def _plain(self, cells: list[str], row: int) -> str:
        """Return the row as one line in which all cells but the chosen ones are empty.

        A cell that is not read may hold the delimiter between quotation marks; it must not count as several cells.
        """
        for place in self.wanted:
            if self.delimiter in cells[place] or "\n" in cells[place] or "\r" in cells[place]:
                raise ValueError(no_number(self.name, self.header[place], cells[place], row))
        return self.delimiter.join(cell if place in self.wanted else "" for place, cell in enumerate(cells))

    def _refuse_width(self, n_cells: int, row: int) -> None:
        commas = self.delimiter == "," and n_cells > len(self.header)
        advice = " If these are decimal commas, write points, or separate the columns by tabs (.tsv)." if commas else ""
        raise ValueError(
            f"{self.name}, data row {row} has {counted(n_cells, 'cell')}, but the header has {len(self.header)}; "
            f"every row needs one cell per column.{advice}"
        )


def _some(lines: _Lines, name: str) -> Iterator[str]:
    supply = iter(lines)
    first = next(supply, None)
    if first is None:
        raise ValueError(f"{name} holds a header but no rows.")
    return itertools.chain([first], supply)


def _reworded(reason: str, name: str, header: tuple[str, ...]) -> str:
    """Return numpy's error message about a cell, with the name of the column and the number of the data row."""
    cell = re.search(r"could not convert string (.*) to float64 at row (\d+), column (\d+)", reason, re.DOTALL)
    if cell is None:
        return reason if reason.startswith(name) else f"{name}: {reason}"
    text, row, column = cell.group(1), int(cell.group(2)), int(cell.group(3))
    if _POINT in text:
        text = text.replace(".", ",").replace(_POINT, ".")
    return no_number(name, header[column - 1], text[1:-1] if text[:1] in "'\"" else text, row + 1)


def no_number(name: str, column: str, text: str, row: int) -> str:
    """Return the error message about a cell that is not a number; rows are counted from 1."""
    advice = (
        "write decimal points instead of commas."
        if _COMMA_NUMBER.fullmatch(text)
        else f"fill the gap, cluster without the column ({option('--drop', brief(column, quoted=False))}), or with "
        f"--mixed (EnsembleClustering with columns='auto'), which takes texts and gaps."
    )
    return (
        f"{name}: column {brief(column)} holds {brief(text)} in data row {row}, which is no number; distances need a "
        f"number in every cell, so {advice}"
    )

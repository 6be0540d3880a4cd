"""Parquet files and pyarrow Datasets: read whole or as sources of blocks, and written."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._check import brief
from quorate._data.ids import arrow_ids, computable
from quorate._data.tables import refuse_duplicates
from quorate._io.parquet_footer import DamagedError, TextChunk, page_bytes, text_columns
from quorate._io.paths import FilePath, reading, refuse_content
from quorate._io.source import Block, Most, Part, Source, given, refuse_more_columns, stamp
from quorate._io.text import Choice, Choose

Array = NDArray[Any]
logger = logging.getLogger("quorate")
TEXT = 40
"""About how many bytes a value takes whose Arrow type does not say how many."""
GROUP = 1 << 20
"""Rows of a group in the Parquet files that are written, as pyarrow has it by default."""


def need_pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError('.parquet files need pyarrow; install it with: pip install "quorate[parquet]"') from error
    return pyarrow


def read_parquet(path: FilePath, choose: Choose) -> tuple[Any, Choice]:
    """Return the chosen columns as a pyarrow table, and the choice."""
    file = _described(Path(path), in_blocks=False)
    choice = choose(tuple(file.columns))
    pyarrow, parts = need_pyarrow(), []
    try:
        with pyarrow.parquet.ParquetFile(path) as source:
            # group by group, so that the share of the file that has been read can be told
            for group in range(len(file.groups)):
                parts.append(source.read_row_group(group, columns=_columns(choice)))
                logger.info("reading groups of rows", extra={"share": (group + 1) / len(file.groups)})
            table = pyarrow.concat_tables(parts) if parts else source.read(columns=_columns(choice))
        # pyarrow reads texts that are not UTF-8, and only fails, with any error, when they become Python strings
        table.validate(full=True)
        return table, choice
    except (pyarrow.ArrowException, OSError) as error:
        raise _unreadable(Path(path), error) from error


def write_parquet(file: IO[bytes], columns: Sequence[tuple[str, Array, Array | None]]) -> None:
    """Write columns, or codes and their categories, as values; -1 becomes null."""
    table = arrow_table(columns)
    with need_pyarrow().parquet.ParquetWriter(file, table.schema) as writer:
        for start in range(0, table.num_rows, GROUP):
            logger.info("writing groups of rows", extra={"share": start / table.num_rows})
            writer.write_table(table.slice(start, GROUP))


def arrow_table(columns: Sequence[tuple[str, Any, Array | None]]) -> Any:
    """Return columns, which may be Arrow columns already, or codes and their categories, as a pyarrow table."""
    pyarrow, arrays = need_pyarrow(), {}
    for name, values, categories in columns:
        try:
            if categories is None:
                arrays[name] = _arrow(values)
            else:
                codes = pyarrow.array(values.astype(np.int64), mask=values < 0)
                arrays[name] = _arrow(categories).take(codes)
        except pyarrow.ArrowException as error:
            raise ValueError(
                f"{name!r} holds values of several types, which Parquet cannot keep; save it as .csv."
            ) from error
    return pyarrow.table(arrays)


def _arrow(values: Any) -> Any:
    if not isinstance(values, np.ndarray):
        return values
    return need_pyarrow().array(values.tolist() if values.dtype.kind in "UO" else np.asarray(values))


class _Group(NamedTuple):
    """A row group: its number of rows, and what is known of each column of texts."""

    n_rows: int
    texts: dict[str, TextChunk]


class _File(NamedTuple):
    """A Parquet file: its path, its row groups, and its columns by name with their types."""

    path: Path
    groups: tuple[_Group, ...]
    columns: dict[str, Any]


def parquet_source(paths: Sequence[Path], choose: Choose, title: str) -> Source:
    """Open Parquet files of one table; all of them are looked at before any row is read.

    Columns are matched by name, so that their order may differ. A file that lacks a column, or holds values of another
    kind in it, is refused, and so is a file that is cut short.
    """
    files = [_described(path, in_blocks=True) for path in paths]
    choice = choose(tuple(files[0].columns))
    wanted = [*choice.members, *(() if choice.ids is None else (choice.ids,))]
    for name in wanted:
        _refuse_other_kinds(files, name)
    for file in files[1:]:
        members = choose(tuple(file.columns)).members
        refuse_more_columns(members, choice.members, str(file.path), str(files[0].path))

    def parts(most: Most) -> Iterator[Part]:
        for number, file in enumerate(files):
            yield from _parts_of(file, number, choice, most)

    return Source(
        title=title,
        names=choice.members,
        id_name=choice.ids,
        kinds=("cells",) * len(choice.members),
        files=_names_of(paths),
        parts=parts,
        row_bytes=_row_bytes([files[0].columns[name] for name in wanted]),
        n_rows=sum(group.n_rows for file in files for group in file.groups),
        fingerprint=[stamp(path) for path in paths],
    )


def _described(path: Path, *, in_blocks: bool) -> _File:
    """Look at a file before any row is read; the bytes of texts matter only if it is read in blocks."""
    with reading(path) as opened:
        refuse_content(path, opened.peek(4), b"PAR1")
    pyarrow = need_pyarrow()
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            schema, facts = file.schema_arrow, file.metadata
            refuse_duplicates(tuple(schema.names))
            columns = dict(zip(schema.names, schema.types, strict=True))
            texts = {name for name, kind in columns.items() if in_blocks and _width(kind) == TEXT}
            sizes = [facts.row_group(place).num_rows for place in range(facts.num_row_groups)]
        known = text_columns(path, texts) if texts else [{} for _ in sizes]
        if len(known) != len(sizes):
            raise DamagedError("its end contradicts itself")
        return _File(path, tuple(map(_Group, sizes, known)), columns)
    except (pyarrow.ArrowException, DamagedError, OSError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> ValueError:
    return ValueError(
        f"{path} could not be read as Parquet: {brief(str(error), most=200, quoted=False)}; it may be damaged or cut "
        f"short. Write it again, or leave it out."
    )


def _refuse_other_kinds(files: Sequence[_File], name: str) -> None:
    first = files[0]
    for file in files:
        if name not in file.columns:
            raise ValueError(
                f"{file.path} has no column {name!r}, which {first.path} has; all files must have the same columns."
            )
    # a column without a value has no kind: pandas writes so what is empty, or missing throughout
    known = [file for file in files if not need_pyarrow().types.is_null(file.columns[name])]
    for file in known:
        here, there = file.columns[name], known[0].columns[name]
        if _kind_of(here) != _kind_of(there):
            raise ValueError(
                f"column {name!r} holds {here} in {file.path} and {there} in {known[0].path}; "
                f"a column must hold values of one kind in all files."
            )


def _kind_of(kind: Any) -> str:
    """Return whether an Arrow type holds numbers, texts or something else."""
    types = need_pyarrow().types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return "number"
    return "text" if types.is_string(kind) or types.is_large_string(kind) else str(kind)


def _parts_of(file: _File, number: int, choice: Choice, most: Most) -> Iterator[Part]:
    """Yield row groups of a file, several together if they are small; a large one is read in pieces."""
    start, rows, texts = 0, 0, 0
    edges = [0]
    sizes = [sum(column.n_bytes for column in _chosen(group, choice).values()) for group in file.groups]
    for place, (group, size) in enumerate(zip(file.groups, sizes, strict=True)):
        if place > start and (rows + group.n_rows > most.rows or texts + size > most.text_bytes):
            edges.append(place)
            start, rows, texts = place, 0, 0
        rows, texts = rows + group.n_rows, texts + size
    edges.append(len(file.groups))
    for first, last in pairwise(edges):
        n_rows, size = sum(group.n_rows for group in file.groups[first:last]), sum(sizes[first:last])
        if n_rows <= 2 * most.rows and size <= 2 * most.text_bytes:
            yield Part(str(file.path), number, partial(_read, file.path, range(first, last), choice), n_rows)
        else:
            _refuse_long_texts(file, file.groups[first:last], choice, most)
            fitting = max(1, int(n_rows * min(1.0, most.text_bytes / max(size, 1))))
            yield from _pieces(file.path, number, range(first, last), choice, min(most.rows, fitting), most)


def _chosen(group: _Group, choice: Choice) -> dict[str, TextChunk]:
    """Return what is known about the columns of texts of a row group that are read."""
    return {name: group.texts[name] for name in _columns(choice) if name in group.texts}


def _refuse_long_texts(file: _File, groups: Sequence[_Group], choice: Choice, most: Most) -> None:
    """Raise if the first page of a column of texts, which is unpacked whole, is too large for the budget."""
    for group in groups:
        for name, column in _chosen(group, choice).items():
            if column.n_bytes > most.piece_bytes:
                largest = max(page_bytes(file.path, start) for start in column.starts)
                most.refuse_piece(largest, f"column {brief(name)} of {file.path}")


def _open(path: Path, choice: Choice, buffer_size: int = 0) -> Any:
    """Open a file so that labels are read by their dictionary: a text that many objects share is held once."""
    pyarrow = need_pyarrow()
    return pyarrow.parquet.ParquetFile(path, read_dictionary=list(choice.members), buffer_size=buffer_size)


def _read(path: Path, groups: Any, choice: Choice) -> Block:
    pyarrow = need_pyarrow()
    try:
        with _open(path, choice) as file:
            return block_of(file.read_row_groups(list(groups), columns=_columns(choice)), choice)
    except (pyarrow.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error


def _pieces(path: Path, number: int, groups: Any, choice: Choice, n_rows: int, most: Most) -> Iterator[Part]:
    pyarrow = need_pyarrow()
    try:
        with _open(path, choice, buffer_size=1 << 16) as file:
            for batch in file.iter_batches(n_rows, row_groups=list(groups), columns=_columns(choice)):
                most.refuse_text(batch.nbytes / max(len(batch), 1), str(path))
                block = block_of(pyarrow.Table.from_batches([batch]), choice)
                yield Part(str(path), number, partial(given, block))
    except (pyarrow.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error


def _columns(choice: Choice) -> list[str]:
    return [*choice.members, *(() if choice.ids is None else (choice.ids,))]


def block_of(table: Any, choice: Choice) -> Block:
    """Return the chosen columns of an Arrow table as a block."""
    # pyarrow reads texts that are not UTF-8, and only fails, with any error, when they become Python strings
    table.validate(full=True)
    columns = [computable(table.column(name)) for name in choice.members]
    return Block(columns, None if choice.ids is None else arrow_ids(table.column(choice.ids), choice.ids))


def dataset_source(dataset: Any, choose: Choose) -> Source:
    """Take a pyarrow Dataset; its fragments are the files, and columns that follow from folder names are there too."""
    pyarrow = need_pyarrow()
    names = tuple(dataset.schema.names)
    refuse_duplicates(names)
    choice = choose(names)
    fragments = list(dataset.get_fragments())
    paths = [str(getattr(fragment, "path", f"part-{place:05d}")) for place, fragment in enumerate(fragments)]

    def parts(most: Most) -> Iterator[Part]:
        for number, fragment in enumerate(fragments):
            try:
                options = {"schema": dataset.schema, "columns": _columns(choice), "batch_size": most.rows}
                for batch in fragment.to_batches(**options):
                    block = block_of(pyarrow.Table.from_batches([batch]), choice)
                    yield Part(paths[number], number, partial(given, block))
            except (pyarrow.ArrowException, OSError) as error:
                raise _unreadable(Path(paths[number]), error) from error

    is_file = [os.path.exists(path) for path in paths]
    return Source(
        title="the dataset",
        names=choice.members,
        id_name=choice.ids,
        kinds=("cells",) * len(choice.members),
        files=_names_of([Path(path) for path in paths]),
        parts=parts,
        row_bytes=_row_bytes([dataset.schema.field(name).type for name in _columns(choice)]),
        n_rows=dataset.count_rows(),
        fingerprint=[stamp(Path(path)) for path in paths] if all(is_file) else None,
        paths=tuple(map(Path, paths)),
    )


def _row_bytes(kinds: Sequence[Any]) -> int:
    """Return about how many bytes a row takes: its values twice, a code for each, and its places in tables."""
    return 2 * sum(map(_width, kinds)) + 2 * len(kinds) + 48


def _width(kind: Any) -> int:
    """Return about how many bytes a value of an Arrow type takes."""
    try:
        return max(1, int(kind.bit_width) // 8)
    except (ValueError, AttributeError):
        return TEXT


def _names_of(paths: Sequence[Path]) -> tuple[str, ...]:
    """Return the names of the files below the folder that they have in common, without suffix."""
    if len(paths) == 1:
        return (paths[0].stem,)
    common = Path(os.path.commonpath([path.resolve().parent for path in paths]))
    names = tuple(str(path.resolve().relative_to(common).with_suffix("")) for path in paths)
    return names if len(set(names)) == len(names) else tuple(f"part-{place:05d}" for place in range(len(paths)))

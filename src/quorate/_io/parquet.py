"""Reading and writing Parquet files by pyarrow, which must be installed for it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from quorate._check import brief
from quorate._data.coding import code_integers, code_values, drop_missing, narrowest
from quorate._data.missing import MissingRule
from quorate._data.tables import as_table, refuse_duplicates
from quorate._data.text_labels import warn_of_nulls
from quorate._io.paths import FilePath, name_of, reading, refuse_content
from quorate._io.text import Choice, Choose

Array = NDArray[Any]
logger = logging.getLogger("quorate")
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
    with reading(path) as file:
        refuse_content(path, file.peek(4), b"PAR1")
        pyarrow = need_pyarrow()
        try:
            source = pyarrow.parquet.ParquetFile(file)
            names = tuple(source.schema_arrow.names)
            refuse_duplicates(names)
            choice = choose(names)
            wanted = [*(() if choice.ids is None else (choice.ids,)), *choice.members]
            table = _read_groups(source, wanted)
            # pyarrow reads texts that are not UTF-8, and only fails, with any error, when they become Python strings
            table.validate(full=True)
            return table, choice
        except (pyarrow.ArrowException, OSError) as error:
            raise ValueError(
                f"{name_of(path)} could not be read as Parquet: {brief(error, most=200, quoted=False)}"
            ) from error


def _read_groups(source: Any, columns: list[str]) -> Any:
    """Read a file group by group, so that the share of it that has been read can be told."""
    pyarrow, parts = need_pyarrow(), []
    for group in range(source.num_row_groups):
        parts.append(source.read_row_group(group, columns=columns))
        logger.info("reading groups of rows", extra={"share": (group + 1) / source.num_row_groups})
    return pyarrow.concat_tables(parts) if parts else source.read(columns=columns)


def code_arrow(table: Any, name: str, rule: MissingRule) -> tuple[Array, Array]:
    """Return the codes and categories of one column of a table.

    Only the distinct texts become Python strings, not the text of every object.
    """
    kinds = need_pyarrow().types
    column = table[name]
    if not kinds.is_dictionary(column.type):
        if not (kinds.is_string(column.type) or kinds.is_large_string(column.type)):
            return code_values(as_table(table, "objects", None).columns[0], name, rule)
        column = column.dictionary_encode()
    whole = column.unify_dictionaries().combine_chunks()
    # the dictionary in the file may have any order, and may hold labels that no object has
    places = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    codes, (order,) = code_integers(places[:, None], (name,), MissingRule((-1,)))
    known = whole.dictionary.to_pylist()
    # code -1, a missing label, reads the last place
    categories = [*(known[place] for place in order.tolist()), None]
    missing = [rule.covers(value) or value == "" for value in categories]
    warn_of_nulls(categories, missing, name)
    kept, labels = drop_missing(codes[:, 0], categories, missing, name, rule)
    return kept.astype(narrowest(len(labels)), copy=False), labels


def write_parquet(file: IO[bytes], columns: Sequence[tuple[str, Array, Array | None]]) -> None:
    """Write columns, or codes and their categories, as values; -1 becomes null."""
    pyarrow = need_pyarrow()
    arrays = {}
    for done, (name, values, categories) in enumerate(columns):
        logger.info("writing columns", extra={"share": done / len(columns)})
        try:
            if categories is None:
                arrays[name] = pyarrow.array(_plain(values))
            else:
                codes = pyarrow.array(values.astype(np.int64), mask=values < 0)
                arrays[name] = pyarrow.array(_plain(categories)).take(codes)
        except pyarrow.ArrowException as error:
            raise ValueError(
                f"{name!r} holds values of several types, which Parquet cannot keep; save it as .csv."
            ) from error
    table = pyarrow.table(arrays)
    with pyarrow.parquet.ParquetWriter(file, table.schema) as writer:
        for start in range(0, table.num_rows, GROUP):
            logger.info("writing groups of rows", extra={"share": start / table.num_rows})
            writer.write_table(table.slice(start, GROUP))


def _plain(values: Array) -> Any:
    return values.tolist() if values.dtype.kind in "UO" else values

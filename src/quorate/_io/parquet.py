"""Parquet in and out, through pyarrow where it is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from quorate._io.files import FilePath, name_of, reading, refuse_content
from quorate._io.text import Choose
from quorate._tables import _refuse_duplicates


def need_pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError('.parquet files need pyarrow; install it with: pip install "quorate[parquet]"') from error
    return pyarrow


def read_parquet(path: FilePath, choose: Choose) -> tuple[Any, str | None]:
    """The chosen columns as a pyarrow table, and the name of the column of ids."""
    with reading(path) as file:
        refuse_content(path, file.peek(4), b"PAR1")
        pyarrow = need_pyarrow()
        try:
            source = pyarrow.parquet.ParquetFile(file)
            names = tuple(source.schema_arrow.names)
            _refuse_duplicates(names)
            choice = choose(names)
            wanted = [*(() if choice.ids is None else (choice.ids,)), *choice.members]
            return source.read(columns=wanted), choice.ids
        except (pyarrow.ArrowException, OSError) as error:
            raise ValueError(f"{name_of(path)} could not be read as Parquet: {error}") from error


def write_parquet(file: IO[bytes], columns: Sequence[tuple[str, NDArray[Any], NDArray[Any] | None]]) -> None:
    """Write columns, or codes and their categories, as values; -1 becomes null."""
    pyarrow = need_pyarrow()
    arrays = {}
    for name, values, categories in columns:
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
    pyarrow.parquet.write_table(pyarrow.table(arrays), file)


def _plain(values: NDArray[Any]) -> Any:
    return values.tolist() if values.dtype.kind in "UO" else values

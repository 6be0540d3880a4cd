"""Writing labels in blocks: a folder of Parquet files named as those of the source, or one file."""

from __future__ import annotations

import io
import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._data.ids import as_numpy
from quorate._io.aside import cannot_write, keep_access
from quorate._io.parquet import arrow_table, need_pyarrow
from quorate._io.paths import (
    FilePath,
    files_below,
    format_of,
    is_zarr,
    refuse_place,
    refuse_strange,
    replaced_input,
    strange_in_zarr,
)
from quorate._io.save import Column, id_column, write_csv
from quorate._io.text import DELIMITERS
from quorate._io.zarr_store import need_zarr, new_group, writing_zarr
from quorate._stream.store import OLD, Checks, Store, write_file

Array = NDArray[Any]
FOLDER = "folder"
_WRITTEN = b"quorate"
"""The key in the metadata of a Parquet file in a folder of labels, which says that Quorate wrote a file of its name."""
SKIPPED = -2
"""The label of rows whose objects are left out; -1 is a label that is not known, and becomes a null."""


class RowLabels(NamedTuple):
    """The label and confidence of each row of the table; the label is SKIPPED for rows whose objects are left out.

    `labels` may have several columns, one for each of `names`: the labels of all members.
    """

    labels: NDArray[Any]
    confidence: NDArray[np.float64] | None
    id_name: str | None
    names: tuple[str, ...] = ("label",)


class LabelledBlock(NamedTuple):
    """The objects of a block: their ids, labels and confidence."""

    ids: Any
    labels: NDArray[Any]
    confidence: NDArray[np.float64] | None


def output_format(out: Path) -> str:
    """Return the format of an output by its suffix; "folder" if it has none."""
    return format_of(out) if out.suffix else FOLDER


class Output(NamedTuple):
    """Where labels are written, and in which format."""

    path: Path
    kind: str


def output_of(out: FilePath) -> Output:
    """Return the place that a path leads to, if it is a link, and the format that its own name says."""
    path = Path(os.path.abspath(out))
    return Output(Path(os.path.realpath(path)) if path.is_symlink() else path, output_format(path))


def refuse_out(out: FilePath, overwrite: bool, inputs: Sequence[FilePath] = ()) -> None:
    """Raise if `out` cannot or must not be written; called before any work is done for it.

    `inputs` are the files that are read, which are never replaced.
    """
    # the absolute path, because a name may end in a slash
    out = Path(os.path.abspath(out))
    read = replaced_input(out, inputs)
    if read is not None:
        raise ValueError(f"writing {out} would replace {read}, which is read; name another file or folder.")
    kind = output_format(out)
    if kind not in (FOLDER, "parquet", "npy", "zarr", *DELIMITERS):
        raise ValueError(
            f"cannot write {out}: labels are written in blocks to a folder, .parquet, .npy, .zarr or .csv."
        )
    if out.suffix.lower() == ".gz":
        raise ValueError(f"cannot write {out}: labels in blocks are not packed by gzip; write .csv or .parquet.")
    if kind in (FOLDER, "parquet"):
        need_pyarrow()
    if kind == "zarr":
        need_zarr()
    empty = out.is_dir() and not any(out.iterdir())
    refuse_place(out, overwrite or empty, may_be_folder=True)
    _refuse_other_folder(out, kind)


def _refuse_other_folder(out: Path, kind: str) -> None:
    """Raise if `out` is a folder that holds anything but what is written there, because replacing it deletes it."""
    if not out.is_dir():
        return
    if kind == FOLDER and out.is_symlink():
        raise IsADirectoryError(f"cannot write {out}: it is a link to a folder; name the folder itself.")
    if kind != FOLDER and not (kind == "zarr" and is_zarr(out)):
        raise IsADirectoryError(f"cannot write {out}: a folder of that name is there; choose another name.")
    strange = (
        strange_in_zarr(out) if kind == "zarr" else next((f for f in files_below(out) if not _is_ours(f, out)), None)
    )
    refuse_strange(out, strange)


def _is_ours(file: Path, folder: Path) -> bool:
    """Whether a file in a folder of labels is one that Quorate wrote under its present name."""
    if file.suffix != ".parquet" or file.is_symlink() or not file.is_file():
        return False
    with suppress(OSError, need_pyarrow().ArrowException):
        return bool((need_pyarrow().parquet.read_metadata(file).metadata or {}).get(_WRITTEN) == _mark(file, folder))
    return False


def _mark(file: Path, folder: Path) -> bytes:
    """Return what the metadata of a file in a folder of labels says: which file it is."""
    return json.dumps({"labels": file.relative_to(folder).as_posix()}).encode()


def labelled(store: Store, rows: RowLabels) -> Iterator[LabelledBlock]:
    """Yield the objects of each block with their labels, without those that are left out."""
    confidence = None if rows.confidence is None else np.round(rows.confidence, 6)
    skips = bool(rows.labels.min() == SKIPPED)
    for block in range(len(store.facts)):
        numbers, ids = store.numbers(block), store.ids(block)
        labels = rows.labels[numbers]
        sure = None if confidence is None else confidence[numbers]
        if skips:
            kept = (labels if labels.ndim == 1 else labels[:, 0]) != SKIPPED
            labels, sure = labels[kept], None if sure is None else sure[kept]
            ids = None if ids is None else ids.filter(kept) if hasattr(ids, "filter") else ids[kept]
        yield LabelledBlock(ids, labels, sure)


def write_labels(
    store: Store, rows: RowLabels, output: Output, aside: Path, name_of: Callable[[int], str], checks: Checks
) -> None:
    """Write the labels of all objects under the name `aside`, and then rename it to that of the output.

    Files of a folder that are complete already, because an earlier run wrote them, are kept; `checks` knows them.
    """
    out, kind = output
    try:
        if kind == FOLDER:
            _write_folder(store, rows, aside, name_of, checks)
        elif kind == "parquet":
            write_file(aside, lambda file: _write_parquet(file, labelled(store, rows), rows))
        elif kind == "npy":
            write_file(aside, lambda file: _write_npy(file, store, rows))
        elif kind == "zarr":
            _write_zarr(store, rows, aside)
        else:
            write_file(aside, lambda file: _write_text(file, labelled(store, rows), rows, DELIMITERS[kind]))
    except OSError as error:
        if str(out) in str(error):
            raise
        raise cannot_write(error, out) from error
    _put_in_place(aside, output)


def _put_in_place(aside: Path, output: Output) -> None:
    """Rename what was written to its final name; an old file or folder of that name is replaced.

    An old folder is kept in the workspace until the new one has its name, and is restored if it cannot get it.
    """
    out, kind = output
    keep_access(out, aside)
    if not out.is_dir():
        os.replace(aside, out)
        return
    # once more, because files may have come since the work began
    _refuse_other_folder(out, kind)
    old = aside.with_name(OLD)
    shutil.rmtree(old, ignore_errors=True)
    os.replace(out, old)
    try:
        os.replace(aside, out)
    except OSError:
        os.replace(old, out)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _write_folder(store: Store, rows: RowLabels, folder: Path, name_of: Callable[[int], str], checks: Checks) -> None:
    """Write one Parquet file for each file of the source."""
    folder.mkdir(exist_ok=True)
    files = [facts.file for facts in store.facts]
    blocks = zip(files, labelled(store, rows), strict=True)
    for file, group in itertools.groupby(blocks, key=lambda pair: pair[0]):
        target = folder / f"{name_of(file)}.parquet"
        if checks.holds(target):
            for _ in group:
                continue
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        parts = (block for _, block in group)
        checks.write(target, partial(_write_parquet, blocks=parts, rows=rows, mark=_mark(target, folder)))


def _write_parquet(
    file: IO[bytes], blocks: Iterator[LabelledBlock], rows: RowLabels, mark: bytes | None = None
) -> None:
    """Write blocks of objects as a Parquet file; `mark` says in its metadata which file of a folder of labels it is."""
    pyarrow = need_pyarrow()
    writer = None
    try:
        for block in blocks:
            table = arrow_table(_table(block, rows))
            if writer is None:
                schema = table.schema if mark is None else table.schema.with_metadata({_WRITTEN: mark})
                writer = pyarrow.parquet.ParquetWriter(file, schema)
            writer.write_table(table.cast(writer.schema), row_group_size=max(1, table.num_rows))
    finally:
        if writer is not None:
            writer.close()


def _table(block: LabelledBlock, rows: RowLabels) -> list[Column]:
    """Return a block as columns for a file."""
    columns = [] if block.ids is None else [Column(id_column(rows.id_name, (*rows.names, "confidence")), block.ids)]
    for name, labels in zip(rows.names, block.labels.reshape(len(block.labels), len(rows.names)).T, strict=True):
        columns.append(Column(name, labels, np.arange(int(labels.max(initial=-1)) + 1, dtype=labels.dtype)))
    return columns if block.confidence is None else [*columns, Column("confidence", block.confidence)]


def _write_npy(file: IO[bytes], store: Store, rows: RowLabels) -> None:
    shape = (_n_kept(store, rows), *rows.labels.shape[1:])
    kind = np.lib.format.dtype_to_descr(rows.labels.dtype)
    np.lib.format.write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": shape})
    for block in labelled(store, rows):
        file.write(np.ascontiguousarray(block.labels).tobytes())


def _n_kept(store: Store, rows: RowLabels) -> int:
    """Return the number of objects that are written."""
    if rows.labels.min() != SKIPPED:
        return sum(facts.n_rows for facts in store.facts)
    first = rows.labels if rows.labels.ndim == 1 else rows.labels[:, 0]
    return sum(int((first[store.numbers(block)] != SKIPPED).sum()) for block in range(len(store.facts)))


@writing_zarr()
def _write_zarr(store: Store, rows: RowLabels, aside: Path) -> None:
    """Write a Zarr group in format 2 with the arrays labels, confidence and ids, in chunks of the size of a block."""
    shutil.rmtree(aside, ignore_errors=True)
    n_objects = _n_kept(store, rows)
    chunk = max((facts.n_rows for facts in store.facts), default=1)
    group = new_group(aside)

    def create(name: str, dtype: Any, more: tuple[int, ...] = ()) -> Any:
        return group(name, shape=(n_objects, *more), dtype=dtype, chunks=(max(chunk, 1), *more))

    arrays = {"labels": create("labels", rows.labels.dtype, rows.labels.shape[1:])}
    if rows.confidence is not None:
        arrays["confidence"] = create("confidence", np.dtype(np.float64))
    kinds = [_plain_kind(store.ids(block)) for block in range(len(store.facts)) if store.ids(block) is not None]
    if kinds:
        arrays["ids"] = create("ids", np.result_type(*kinds))
    start = 0
    for block in labelled(store, rows):
        stop = start + len(block.labels)
        values = {"labels": block.labels, "confidence": block.confidence, "ids": block.ids}
        for name, array in arrays.items():
            array[start:stop] = as_numpy(values[name]) if name == "ids" else values[name]
        start = stop


def _plain_kind(ids: Any) -> np.dtype[Any]:
    """Return the type of ids in a Zarr array, which holds texts of one width."""
    values = as_numpy(ids)
    return values.astype(np.str_).dtype if values.dtype.kind == "O" else values.dtype


def _write_text(file: IO[bytes], blocks: Iterator[LabelledBlock], rows: RowLabels, delimiter: str) -> None:
    stream = io.TextIOWrapper(file, encoding="utf-8", newline="")
    header = True
    for block in blocks:
        plain = block if block.ids is None else block._replace(ids=as_numpy(block.ids))
        write_csv(stream, _table(plain, rows), delimiter, header=header)
        header = False
    stream.flush()
    stream.detach()

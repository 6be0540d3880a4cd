"""save_labels and save_ensemble: columns as CSV or Parquet, arrays as .npy, .npz or Zarr, written aside and renamed."""

from __future__ import annotations

import csv
import gzip
import io
import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.coding import DEFAULT, MissingRule, code_values, label_column, missing_rule, object_array
from quorate._data.ensemble import as_ids
from quorate._data.labelling import code_labelling
from quorate._data.proof import proven
from quorate._io.arrays import arrays_of_ensemble, without_objects, write_npz
from quorate._io.aside import write_aside, write_folder_aside
from quorate._io.excel import write_sheet
from quorate._io.parquet import write_parquet
from quorate._io.paths import FilePath, format_of, is_standard, name_of
from quorate._io.text import BLOCK, DELIMITERS, checked_formulas, quoted, separator
from quorate._io.zarr_store import write_zarr
from quorate._summaries import ResultTable
from quorate._types import NEEDS_LABELS, Ensemble, FloatArray, SoftEnsemble

Array = NDArray[Any]
logger = logging.getLogger("quorate")


class Column(NamedTuple):
    """A column of a table: its values, or codes (-1 for missing) and the categories that they stand for."""

    name: str
    values: Array
    categories: Array | None = None


def named_column(name: str, values: Sequence[Any]) -> Column:
    """Return a column of names; None becomes an empty cell."""
    known = list(dict.fromkeys(value for value in values if value is not None))
    code = {value: place for place, value in enumerate(known)}
    codes = np.array([-1 if value is None else code[value] for value in values])
    return Column(name, codes, object_array(known))


class TextStyle(NamedTuple):
    """How text files are written: what separates columns, and the decimal mark."""

    sep: str = ","
    decimal: str = "."


def text_style(sep: str | None, decimal: str | None, path: FilePath) -> TextStyle | None:
    """Return the style that the user asked for, or None if it is that of the format."""
    if sep is None and decimal is None:
        return None
    mark = _check.choice({"comma": ",", "point": "."}.get(str(decimal), decimal or "."), "decimal", (".", ","))
    chosen = separator(sep) or (";" if mark == "," else DELIMITERS.get(format_of(path), ","))
    if chosen == mark:
        raise ValueError(f"sep and decimal (--out-sep, --decimal) must differ, got {chosen!r} for both.")
    return TextStyle(chosen, mark)


def _sheet_rows(columns: list[Column]) -> Iterator[list[Any]]:
    """Yield the header and the rows of a table as values of Python; a missing label is an empty cell."""
    yield [column.name for column in columns]
    known = [None if c.categories is None else [*c.categories.tolist(), None] for c in columns]
    for start in range(0, len(columns[0].values), BLOCK):
        parts = [column.values[start : start + BLOCK].tolist() for column in columns]
        both = zip(parts, known, strict=True)
        cells = [part if names is None else [names[code] for code in part] for part, names in both]
        yield from map(list, zip(*cells, strict=True))


def write_table(
    path: FilePath,
    columns: list[Column],
    ids: Array | None,
    overwrite: bool,
    id_name: str = "id",
    *,
    formulas: str = "keep",
    style: TextStyle | None = None,
) -> None:
    """Write columns as CSV, Excel or Parquet; the column of ids, if there is one, comes first.

    `formulas` and `style` are the options of `save_labels`.
    """
    quote = checked_formulas(formulas)
    if quote:
        refuse_quoting(path)
    if ids is not None:
        columns = [Column(id_name, ids), *columns]
    kind = format_of(path)
    if kind not in (*DELIMITERS, "parquet", "xlsx"):
        raise ValueError(f"{name_of(path)} must be a .csv, .tsv, .txt, .xlsx or .parquet file, which hold tables.")
    if style is not None and kind not in DELIMITERS:
        raise ValueError(f"sep and decimal (--out-sep, --decimal) are for text files, and {name_of(path)} is .{kind}.")
    if kind == "parquet":
        write_aside(path, lambda file: write_parquet(file, columns), overwrite=overwrite)
        return
    if kind == "xlsx":
        write_aside(path, lambda file: write_sheet(file, _sheet_rows(columns), name_of(path)), overwrite=overwrite)
        return
    style = style or TextStyle(DELIMITERS[kind])
    if is_standard(path):
        _write_standard(columns, style, quote=quote)
        return
    packed = Path(path).suffix.lower() == ".gz"

    def write(file: IO[bytes]) -> None:
        # without a time stamp, so that the same labels always give the same file
        out = gzip.GzipFile(fileobj=file, mode="wb", filename="", compresslevel=6, mtime=0) if packed else file
        stream = io.TextIOWrapper(out, encoding="utf-8", newline="")
        write_csv(stream, columns, style, quote=quote)
        stream.flush()
        stream.detach()
        if packed:
            out.close()

    write_aside(path, write, overwrite=overwrite)


def _write_standard(columns: list[Column], style: TextStyle, *, quote: bool) -> None:
    """Write a table to standard output, in UTF-8 as into a file, whatever the encoding of the terminal is."""
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        write_csv(sys.stdout, columns, style, quote=quote)
        return
    sys.stdout.flush()
    stream = io.TextIOWrapper(buffer, encoding="utf-8", newline="")
    try:
        write_csv(stream, columns, style, quote=quote)
        stream.flush()
    finally:
        stream.detach()


def save_rows(path: FilePath, rows: Sequence[Any], *, overwrite: bool = False, formulas: str = "keep") -> None:
    """Write named tuples of one kind as a table with a column for each field; None becomes an empty cell."""
    if format_of(path) not in (*DELIMITERS, "parquet", "xlsx"):
        raise ValueError(f"{name_of(path)} must be a .csv, .tsv, .txt, .xlsx or .parquet file, which hold tables.")
    columns = []
    for name, values in zip(rows[0]._fields, zip(*rows, strict=True), strict=True):
        if all(isinstance(value, int | float) for value in values):
            columns.append(Column(name, np.round(np.array(values), 6)))
        else:
            columns.append(named_column(name, [None if value is None else str(value) for value in values]))
    write_table(path, columns, None, overwrite, formulas=formulas)


def refuse_quoting(path: FilePath) -> None:
    """Raise if the file is not of a text format, which are the ones that spreadsheets open and take for formulas."""
    if format_of(path) not in DELIMITERS:
        raise ValueError(
            f"formulas='quote' is for text files, and {name_of(path)} is .{format_of(path)}; leave it out."
        )


def write_arrays(path: FilePath, arrays: dict[str, Array], overwrite: bool) -> None:
    kind = format_of(path)
    if kind == "npy":
        labels = arrays["labels"]
        write_aside(path, lambda file: np.save(file, labels, allow_pickle=False), overwrite=overwrite)
        return
    plain = {name: without_objects(values, name) for name, values in arrays.items()}
    if kind == "npz":
        write_aside(path, lambda file: write_npz(file, plain), overwrite=overwrite)
    else:
        write_folder_aside(path, lambda folder: write_zarr(folder, plain), overwrite=overwrite)


def id_column(id_name: str | None, others: Sequence[str]) -> str:
    """Return the name for the column of ids: its own one, or "id" if it has none or another column has it."""
    return "id" if id_name in (None, "", *others) else str(id_name)


def refuse_loss(ensemble: Ensemble, kind: str) -> None:
    """Raise if reading the file again would give another ensemble; warn if only the weights would differ."""
    if ensemble.n_objects != ensemble.n_rows:
        raise ValueError(f".{kind} files hold one row per object, and this ensemble is compressed; use .npz or .zarr.")
    if id_column(ensemble.id_name, ensemble.member_names) in ensemble.member_names and kind != "npy":
        raise ValueError("a member is named 'id', as the column of ids is; rename it, or use .npz or .zarr.")
    if not ensemble.unit_weights:
        warnings.warn(
            f".{kind} files do not keep member weights; pass weights= to load_labels, or use .npz or .zarr.",
            UserWarning,
            stacklevel=3,
        )
    if kind == "npy":
        return
    for name, categories in zip(ensemble.member_names, ensemble.categories, strict=True):
        if _n_read_back(categories, name, kind) < len(categories):
            raise ValueError(
                f"{name!r} holds labels that load_labels would take for missing, for equal or for faulty in a .{kind} "
                f"file; use .npz or .zarr, which keep labels as they are."
            )


def _n_read_back(categories: Array, name: str, kind: str) -> int:
    """Return how many different labels `load_labels` would read if these categories were written to a file."""
    rule = missing_rule(DEFAULT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if kind == "parquet":
                return len(code_values(categories, name, MissingRule((*rule.values, "")))[1])
            return len(label_column(np.arange(len(categories)), as_texts(categories), name, rule)[1])
        except ValueError:
            return 0


def as_texts(values: Array) -> list[str]:
    # dates are converted first, because tolist() would give nanoseconds as integers
    return [str(value) for value in (values.astype("U64") if values.dtype.kind in "mM" else values).tolist()]


def write_csv(
    stream: IO[str], columns: list[Column], style: TextStyle | str, *, header: bool = True, quote: bool = False
) -> None:
    """Write a CSV file in blocks of rows; lines end in a single newline character on every system.

    With `quote`, cells that a spreadsheet would take for formulas are made harmless.
    """
    harmless: Callable[[str], str] = quoted if quote else str
    delimiter, decimal = style if isinstance(style, TextStyle) else TextStyle(style)
    write = _row_writer(stream, delimiter)
    if header:
        write([[harmless(column.name)] for column in columns])
    # code -1, a missing label, reads the last place and becomes an empty cell
    texts = [None if c.categories is None else [*map(harmless, as_texts(c.categories)), ""] for c in columns]
    n_rows = len(columns[0].values)
    for start in range(0, n_rows, BLOCK):
        logger.info("writing rows", extra={"share": start / n_rows})
        parts = [column.values[start : start + BLOCK] for column in columns]
        cells = [_cells(part, known) for part, known in zip(parts, texts, strict=True)]
        if decimal != ".":
            for place, part in enumerate(parts):
                if part.dtype.kind == "f" and texts[place] is None:
                    cells[place] = [cell.replace(".", decimal) for cell in cells[place]]
        if quote:
            cells = [
                list(map(quoted, part)) if known is None else part for part, known in zip(cells, texts, strict=True)
            ]
        write(cells)


def _row_writer(stream: IO[str], delimiter: str) -> Callable[[Sequence[Sequence[str]]], None]:
    """Return a function that writes columns of cells as rows; a row with a carriage return is quoted as a whole.

    Before Python 3.13 the csv module leaves such a cell unquoted, and then reads it as two lines.
    """
    plain = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    careful = csv.writer(stream, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)

    def write(cells: Sequence[Sequence[str]]) -> None:
        rows = zip(*cells, strict=True)
        if not any("\r" in "".join(column) for column in cells):
            plain.writerows(rows)
            return
        for row in rows:
            (careful if any("\r" in cell for cell in row) else plain).writerow(row)

    return write


def _cells(values: Array, texts: list[str] | None) -> list[str]:
    if texts is not None:
        return list(map(texts.__getitem__, values.tolist()))
    cells = as_texts(values)
    if values.dtype.kind == "f" and np.isnan(values).any():
        # objects without a cluster have no confidence
        cells = ["" if cell == "nan" else cell for cell in cells]
    return cells


def save_labels(
    path: FilePath,
    labels: Any,
    *,
    ids: Any = None,
    name: str = "label",
    memberships: Any = None,
    overwrite: bool = False,
    formulas: str = "keep",
    method_confidence: bool = False,
    sep: str | None = None,
    decimal: str | None = None,
    id_name: str | None = None,
) -> None:
    """Write one labelling to a file, with the objects' ids and the confidence if they are known.

    Parameters
    ----------
    path : str or path
        .csv (.csv.gz, .tsv, .txt), .xlsx, .parquet, .npy, .npz or .zarr; "-" writes CSV to standard output. A .npy
        file holds the labels alone. The file is written under another name and then renamed, so that an incomplete
        file never has this name.
    labels : Consensus, Placement, Update, or integers or names of shape (n_objects,)
        The labelling. -1 and None mean missing and become empty cells. A pandas Series of names has the names of the
        objects as its index. If the clusters were `renamed`, their names are
        written; .npz and .zarr files keep the numbers, and the names as the array "clusters"; .npy files keep the
        numbers alone.
    ids : array of shape (n_objects,), optional
        Names of the objects; those of the Consensus by default. Their column has the same name as in the table
        that the Consensus was made from, or "id" if it had none.
    name : str, default "label"
        Name of the column of labels.
    memberships : array of shape (n_objects, n_clusters), optional
        What `memberships` returns: written as further columns, "p 0" for cluster 0 and so on, or as an array of that
        name to .npz and .zarr files.
    overwrite : bool, default False
        Whether an existing file may be replaced.
    formulas : {"keep", "quote"}, default "keep"
        For text files: "quote" puts an apostrophe before cells that a spreadsheet would take for a formula (texts
        that begin with =, +, -, @, a tab or a line break, and are not numbers). `load_labels` takes it away again
        with the same option.
    method_confidence : bool, default False
        Whether to write the method's own confidence, too (`Consensus.method_confidence`), of methods that have one.
    sep, decimal : str, optional
        For text files: what separates the columns, and the decimal mark, "," or "."; a decimal comma goes with ";".
    id_name : str, optional
        The name of the column of ids; by default that of the Consensus, or "id".

    See Also
    --------
    save_consensus : Writes everything that a Consensus holds.
    save_ensemble : Writes a table of labels.

    Examples
    --------
    >>> save_labels("-", [0, 0, 1], ids=["ann", "bob", "cid"])
    id,label
    ann,0
    bob,0
    cid,1
    """
    confidence, names, own_name = None, None, "id"
    own = _own_confidence(labels) if _check.choice(method_confidence, "method_confidence", (True, False)) else None
    if isinstance(labels, ResultTable):
        confidence, names, own_name = labels.confidence, labels.cluster_names, labels.id_name
        ids = labels.object_ids if ids is None else ids
        labels = labels.labels
    else:
        labels, names, known, own_name = _with_names(labels)
        ids = known if ids is None else ids
    if name in ("id", "confidence") or (own is not None and name == "method_confidence"):
        raise ValueError(f"name must differ from the columns 'id' and 'confidence', got {name!r}.")
    values = _label_vector(labels)
    ids = None if ids is None else as_ids(ids, len(values))
    memberships = None if memberships is None else _checked_memberships(memberships, len(values))
    kind = format_of(path)
    if kind in ("npy", "npz", "zarr"):
        if checked_formulas(formulas):
            refuse_quoting(path)
        shown = None if names is None else np.array(names)
        arrays = {"labels": values, "names": np.array([name]), "ids": ids, "confidence": confidence, "clusters": shown}
        arrays["memberships"] = memberships
        arrays["method_confidence"] = own
        write_arrays(path, {key: array for key, array in arrays.items() if array is not None}, overwrite)
        return
    distinct, codes = np.unique(values, return_inverse=True)
    shift = int(distinct[0] == -1)
    shown = distinct[shift:] if names is None else np.array(names)[distinct[shift:]]
    columns = [Column(name, codes - shift, shown)]
    if confidence is not None:
        columns.append(Column("confidence", np.round(confidence, 6)))
    if own is not None:
        columns.append(Column("method_confidence", np.asarray(np.round(own, 6))))
    if memberships is not None:
        clusters = names or range(memberships.shape[1])
        columns += [Column(f"p {c}", np.round(p, 6)) for c, p in zip(clusters, memberships.T, strict=True)]
    taken = tuple(column.name for column in columns)
    style = text_style(sep, decimal, path)
    write_table(path, columns, ids, overwrite, id_column(id_name or own_name, taken), formulas=formulas, style=style)


def _checked_memberships(memberships: Any, n_objects: int) -> FloatArray:
    values: FloatArray = np.asarray(memberships, dtype=np.float64)
    if values.ndim != 2 or len(values) != n_objects:
        raise ValueError(
            f"memberships must have one row per object, {n_objects:,}, and one column per cluster, got shape "
            f"{values.shape}."
        )
    return values


def _own_confidence(labels: Any) -> FloatArray:
    own = getattr(labels, "method_confidence", None)
    if own is None:
        raise ValueError(
            "the result has no confidence of its own method: mcla, ecpcs and mixture have one, if refine is not used; "
            "leave method_confidence out."
        )
    values: FloatArray = own
    return values


def save_ensemble(path: FilePath, ensemble: Ensemble, *, overwrite: bool = False, formulas: str = "keep") -> None:
    """Write an ensemble with the labels it was made of, so that `load_labels` can read it again.

    The .npz and .zarr formats keep everything. CSV and Parquet keep names, ids and labels, but no weights and
    counts. A .npy file keeps the codes alone.

    Parameters
    ----------
    path : str or path
        .csv (.csv.gz, .tsv, .txt), .parquet, .npy, .npz or .zarr; "-" writes CSV to standard output.
    ensemble : Ensemble
        The ensemble to write. The column of ids has the same name as before, or "id" if it had none.
    overwrite : bool, default False
        Whether an existing file may be replaced.
    formulas : {"keep", "quote"}, default "keep"
        For text files, as in `save_labels`: "quote" makes cells harmless that a spreadsheet would take for a formula.

    Examples
    --------
    >>> from quorate import as_ensemble
    >>> save_ensemble("-", as_ensemble({"sales": ["gold", None, "tin"], "web": [2, 2, 7]}))
    sales,web
    gold,2
    ,2
    tin,7
    """
    kind = format_of(path)
    if isinstance(ensemble, SoftEnsemble):
        raise TypeError(NEEDS_LABELS)
    proven(ensemble)
    if checked_formulas(formulas):
        refuse_quoting(path)
    if kind in ("npz", "zarr"):
        write_arrays(path, arrays_of_ensemble(ensemble), overwrite)
        return
    refuse_loss(ensemble, kind)
    if kind == "npy":
        write_arrays(path, {"labels": ensemble.labels}, overwrite)
        return
    columns = [
        Column(*member) for member in zip(ensemble.member_names, ensemble.labels.T, ensemble.categories, strict=True)
    ]
    id_name = id_column(ensemble.id_name, ensemble.member_names)
    write_table(path, columns, ensemble.object_ids, overwrite, id_name, formulas=formulas)


def _with_names(labels: Any) -> tuple[Any, tuple[Any, ...] | None, Array | None, str]:
    """Return labels as integers, their names if they are texts, the ids of the objects, and the name of these ids."""
    ids, id_name = getattr(labels, "object_ids", None), getattr(labels, "id_name", "id")
    # what `update` returns has its labels as names
    labels = getattr(labels, "labels", labels)
    values = np.asarray(labels)
    if values.ndim != 1 or not len(values) or values.dtype.kind not in "OUT":
        return values, None, ids, id_name
    coded = code_labelling(labels, "labels")
    return coded.codes, tuple(coded.categories.tolist()), coded.ids if ids is None else ids, id_name


def _label_vector(labels: Any) -> Array:
    values = np.asarray(labels)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"labels must be one label per object, got an array of shape {values.shape}.")
    if values.dtype.kind not in "iu":
        raise TypeError(
            f"labels must be integers, -1 where missing, names, or a Consensus, got {values.dtype}; "
            f"np.unique(labels, return_inverse=True)[1] makes integers of any labels."
        )
    if values.min() < -1:
        raise ValueError(f"labels must be -1 (missing) or larger, got {values.min()}.")
    return values

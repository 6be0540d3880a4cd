"""load_labels, one labelling, and tables of measurements from files; the format follows from the suffix."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.blocks import CodedColumn, Kind, code_column
from quorate._data.coding import DEFAULT, MissingRule, code_table, object_array, stack_columns
from quorate._data.ensemble import build_ensemble, refuse_suspects, with_options
from quorate._data.ids import computable, one_row_an_id, order_of, refuse_missing_ids, refuse_repeated, spelled_beside
from quorate._data.outside import (
    noise_taken_out,
    noise_values,
    refuse_unlabelled,
    rule_beside,
    settled,
    unknown_rows,
    with_noise,
)
from quorate._data.proof import csr_from_file, is_sparse_file, vary
from quorate._data.rows import select_members
from quorate._data.tables import Table, as_table, refuse_duplicates, refuse_shape, transposed
from quorate._io.arrays import ensemble_from_arrays, of_labels, read_arrays
from quorate._io.excel import Sheet, read_sheet
from quorate._io.numpy_files import map_npy
from quorate._io.opening import Columns, load_sources, refuse_unknown, short_names
from quorate._io.parquet import read_parquet
from quorate._io.paths import FilePath, format_of, is_standard, name_of, reading, refuse_content
from quorate._io.text import (
    DELIMITERS,
    ONE_OF_THEM,
    Choice,
    Choose,
    Texts,
    checked_formulas,
    no_number,
    read_csv,
    read_numbers,
    separator,
    text_ids,
)
from quorate._types import Ensemble, Reading

if TYPE_CHECKING:
    from quorate._data.mixed_columns import MixedColumns
    from quorate._data.typed_columns import Kinds, TypedColumn, TypedTable

Array = NDArray[Any]
DUPLICATES = ("refuse", "first", "last", "vote")
"""What `load_labels` does with rows of the same id."""
logger = logging.getLogger("quorate")


def load_labels(
    path: FilePath | Sequence[FilePath],
    *,
    ids: str | Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    missing: Any = DEFAULT,
    orientation: str | None = None,
    weights: Any = None,
    sep: str | None = None,
    skip_empty: bool | str = False,
    check: bool = True,
    formulas: str = "keep",
    encoding: str | None = None,
    noise: Any = None,
    ids_as: str = "text",
    duplicates: str = "refuse",
) -> Ensemble:
    """Read a table of labels, one row per object and one column per member, from one file or several.

    Parameters
    ----------
    path : str, path, or list of these
        .csv (also .csv.gz; .tsv and .txt), .parquet, .xlsx, .npy, .npz or .zarr; "-" reads CSV from standard input.
        Text is UTF-8, or UTF-16 with a byte order mark, and has a header. An .npz or Zarr group holds the table as
        "labels", or as its only 2-D array, and may hold "ids", "names" and "weights". Several files are joined by
        id, as `join` does; if members of different files have the same name, the file's name is put before it.
    ids : str or mapping, optional
        The column that names the objects. Without it every column is a member, and a column that looks
        like ids is refused. Of several files, a mapping such as ``{"a.csv": "KdNr"}`` names the column of each.
    columns : list of str, optional
        The columns that are members; all but the ids by default.
    drop : list of str
        Columns to leave out.
    missing : value or list of values, default -1
        The values that stand for a missing label. Nulls and empty texts always count as missing, and so does "nan"
        in text files.
    orientation : {"objects", "members"}, optional
        What one row stands for. With "members", `ids` is the column that names the members, and the header
        names the objects.
    weights : array of shape (n_members,) or mapping, optional
        Positive member weights, by order or by name; 1 each by default.
    sep : str, optional
        What separates the columns of a text file: a character, or "comma", "semicolon", "tab" or "pipe". By default
        it is recognised from the first lines of the file.
    encoding : str, optional
        How text files are encoded, such as "cp1252" or "latin2". By default UTF-8, UTF-16 with a byte order mark, and
        Windows-1252 are recognised, the last with a warning.
    skip_empty : bool or "keep", default False
        Leave out objects that have no label in any member, instead of refusing the table. ``info["skipped"]`` counts
        them. The objects must have ids. "keep" keeps them, and `consensus` gives them the label -1.
    check : bool, default True
        Refuse columns that cannot be clusterings, as `as_ensemble` does; a column named in `columns` may have as many
        labels as objects.
    formulas : {"keep", "quote"}, default "keep"
        "quote" takes away the apostrophe that `save_labels` and `save_ensemble` put before cells of text files with
        the same option, so that ids and labels are what they were.
    noise : value or list of values, optional
        The values with which a member says that an object belongs to no cluster, as for `as_ensemble`.
    ids_as : {"text", "loose"}, default "text"
        How ids of several files are compared, as for `join`.
    duplicates : {"refuse", "first", "last", "vote"}, default "refuse"
        What to do if several rows have the same id: refuse the file, take the first or the last of them, or for each
        member the label that most of them have. ``info["duplicates"]`` counts these ids.

    Returns
    -------
    Ensemble
        One row per object, with the ids and the names of the members as the file has them.

    See Also
    --------
    as_ensemble : Builds an ensemble from labels in memory.
    save_ensemble : Writes an ensemble to a file.
    join : Joins tables of labels by id.

    Notes
    -----
    A CSV file has no types. If every label of a column is written as a number, the column holds numbers, and "1",
    "01" and "1.0" are the same label. Any other column holds texts, which are kept as they are.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "labels.csv"
    ...     _ = path.write_text("name,sales,web\\nann,gold,1\\nbob,,2\\ncid,gold,2\\n")
    ...     ensemble = load_labels(path, ids="name")
    >>> ensemble
    Ensemble(3 objects, 2 members, 1 to 2 clusters, labels missing)
    >>> ensemble.object_ids.tolist()
    ['ann', 'bob', 'cid']
    """
    named = _names(columns)
    declared = columns is not None or orientation == "members"
    how = Reading(
        missing,
        check=check,
        declared=declared,
        orientation=orientation,
        sep=sep,
        formulas=formulas,
        encoding=encoding,
        noise=noise,
        duplicates=_check.choice(duplicates, "duplicates", DUPLICATES),
    )
    chosen = Columns(ids, named, tuple(_names(drop) or ()))
    ensemble = load_sources(path, chosen, lambda file, choose: load_chosen(file, choose, how), ids_as=ids_as)
    loaded = with_options(settled(ensemble, skip_empty)[0], weights, None, None)
    if isinstance(path, str | os.PathLike) and not is_standard(path):
        loaded.remember(source=short_names([path])[0])
    return loaded


def _names(columns: Sequence[str] | str | None) -> Sequence[str] | None:
    return [columns] if isinstance(columns, str) else columns


def load_chosen(path: FilePath, choose: Choose, how: Reading) -> Ensemble:
    """Load one file; `choose` picks the columns once their names are known. Objects without any label are kept."""
    if how.orientation is not None:
        _check.choice(how.orientation, "orientation", ("objects", "members"), "what one row stands for.")
    kind, name = format_of(path), name_of(path)
    if how.duplicates != "refuse" and (kind in ("npy", "npz", "zarr") or how.orientation == "members"):
        raise ValueError(f"duplicates (--duplicates) is for tables with one row per object, and {name} is none.")
    if how.sep is not None and kind not in DELIMITERS:
        raise ValueError(f"sep (--sep) is for text files, and {name} is .{kind}; leave it out.")
    if kind in DELIMITERS:
        with reading(path) as file:
            refuse_content(path, file.peek(8))
            transposed = how.orientation == "members"
            quote = checked_formulas(how.formulas)
            likely = separator(how.likely_sep) or DELIMITERS[kind]
            texts = read_csv(
                file,
                name,
                likely,
                _repeatable(choose, how),
                sep=how.sep,
                transposed=transposed,
                unquote=quote,
                encoding=how.encoding,
            )
        return _from_texts(texts, name, how)
    if kind == "parquet":
        return _from_parquet(path, choose, how)
    if kind == "xlsx":
        return _from_sheet(read_sheet(path, choose), name, how)
    return ensemble_from_arrays(read_arrays(path, of_labels), name, choose, how)


def _repeatable(choose: Choose, how: Reading) -> Choose:
    """Let the chosen column of ids hold repeated ones, if these are to become one row."""
    return lambda names: choose(names)._replace(repeated=how.duplicates != "refuse")


def _from_columns(
    columns: Sequence[Any],
    names: tuple[str, ...],
    kind: Kind,
    ids: Array | None,
    id_name: str | None,
    source: str,
    how: Reading,
) -> Ensemble:
    """Build the ensemble of a table in memory, which is one block."""
    refuse_shape((len(columns[0]) if columns else 0, len(columns)), how.orientation)
    if how.duplicates == "refuse" or ids is None:
        refuse_repeated(ids, source, f"; {ONE_OF_THEM}")
    else:
        refuse_missing_ids(ids, source)
    rule, coded = rule_beside(how.missing, how.noise), []
    for place, (column, name) in enumerate(zip(columns, names, strict=True)):
        logger.info("numbering labels", extra={"share": place / len(names)})
        try:
            coded.append(code_column(column, name, kind, rule))
        except ValueError as error:
            raise ValueError(f"{source}: {error}") from error
    table = stack_columns(coded)
    if how.duplicates == "refuse" or ids is None:
        return _built(table, names, ids, id_name, source, how)
    table, ids, n_repeated = one_row_an_id(table, ids, names, how.duplicates)
    built = _built(table, names, ids, id_name, source, how)
    if not n_repeated:
        return built
    return vary(built, info={**built.info, "duplicates": {"n": n_repeated, "taken": how.duplicates}})


def _from_texts(texts: Texts, name: str, how: Reading) -> Ensemble:
    columns = [CodedColumn(codes, object_array(known)) for codes, known in texts.columns]
    ids = None if texts.ids is None else text_ids(texts.ids)
    return _from_columns(columns, texts.names, "text", ids, texts.id_name, name, how)


def _from_parquet(path: FilePath, choose: Choose, how: Reading) -> Ensemble:
    table, choice = read_parquet(path, choose)
    if how.orientation == "members":
        return _from_members(
            as_table(table, "members", choice.ids), rule_beside(how.missing, how.noise), name_of(path), how
        )
    ids = None if choice.ids is None else as_table(table.select([choice.ids]), "objects", None).columns[0]
    columns = [computable(table.column(name)) for name in choice.members]
    return _from_columns(columns, choice.members, "cells", ids, choice.ids, name_of(path), how)


def _from_sheet(sheet: Sheet, name: str, how: Reading) -> Ensemble:
    choice = sheet.choice
    members = [sheet.columns[column] for column in choice.members]
    ids = None if choice.ids is None else _sheet_ids(sheet.columns[choice.ids])
    if how.orientation == "members":
        names = None if ids is None else tuple(ids.tolist())
        table = transposed(members, text_ids(list(choice.members)), names)
        return _from_members(table, rule_beside(how.missing, how.noise), name, how)
    return _from_columns(members, choice.members, "cells", ids, choice.ids, name, how)


def _from_members(table: Table, rule: MissingRule, name: str, how: Reading) -> Ensemble:
    """Build the ensemble of a table whose rows were members; its columns are members now."""
    return _built(code_table(table.columns, table.names, rule), table.names, table.ids, None, name, how)


def _sheet_ids(values: Array) -> Array:
    """Return the ids of a sheet as texts; Excel turns some ids into numbers, so that 7.0 is read as the id 7."""
    whole = [int(v) if isinstance(v, float) and v.is_integer() else v for v in values.tolist()]
    return text_ids(["" if value is None else str(value) for value in whole])


def _built(
    coded: tuple[Array, tuple[Array, ...]],
    names: tuple[str, ...],
    ids: Array | None,
    id_name: str | None,
    source: str,
    how: Reading,
) -> Ensemble:
    (labels, categories), mask = coded, None
    if noise_values(how.noise):
        labels, categories, mask = noise_taken_out(labels, categories, names, how.missing, how.noise)
    if how.check:
        refuse_suspects(labels, names, categories, source=source, declared=how.declared, has_ids=ids is not None)
    built = build_ensemble(labels, names, categories, ids=ids, id_name=id_name or "id", keep_unlabelled=True)
    return with_noise(built, mask)


class Labelling(NamedTuple):
    """One labelling: codes, one per object, -1 for objects outside, and the values in the file that they stand for.

    `truth` holds the codes of the true labels, or None if the file has none.
    """

    labels: Array
    truth: Array | None
    categories: Array

    def named(self) -> Array:
        """Return the labels as they are in the file, None for objects without one."""
        if not self.n_outside:
            return self.categories[self.labels]
        values: Array = np.full(len(self.categories) + 1, None, dtype=object)
        values[:-1] = self.categories
        return values[self.labels]

    @property
    def n_outside(self) -> int:
        """How many objects have no label: they belong to no cluster."""
        return int((self.labels < 0).sum())


def load_with_truth(
    path: FilePath | Sequence[FilePath],
    truth: str | None,
    *,
    ids: str | Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    missing: Any = DEFAULT,
    weights: Any = None,
    sep: str | None = None,
    skip_empty: bool | str = False,
    check: bool = True,
    formulas: str = "keep",
    encoding: str | None = None,
    noise: Any = None,
    ids_as: str = "text",
    duplicates: str = "refuse",
) -> tuple[Ensemble, Array | None]:
    """Load labels as `load_labels` does, but return the column `truth`, if a file has it, beside the ensemble."""
    how = Reading(
        missing,
        check=check,
        declared=columns is not None,
        sep=sep,
        formulas=formulas,
        encoding=encoding,
        noise=noise,
        duplicates=_check.choice(duplicates, "duplicates", DUPLICATES),
    )
    wanted = Columns(ids, columns, tuple(drop), beside=truth)
    ensemble = load_sources(path, wanted, lambda file, choose: load_chosen(file, choose, how), ids_as=ids_as)
    true_labels = None
    if truth is not None and truth in ensemble.member_names:
        place = ensemble.member_names.index(truth)
        true_labels = ensemble.labels[:, place]
        members = [member for member in range(ensemble.n_members) if member != place]
        if not members:
            raise ValueError(f"the truth {truth!r} is the only column of labels; at least one column must be a member.")
        noise = None if ensemble.noise is None else ensemble.noise[:, members]
        ensemble = with_noise(select_members(ensemble, members), noise)
    ensemble, kept = settled(ensemble, skip_empty)
    if true_labels is not None and kept is not None:
        true_labels = true_labels[kept]
    return with_options(ensemble, weights, None, None), true_labels


def load_labelling(
    path: FilePath,
    ensemble: Ensemble | TypedTable,
    *,
    column: str = "label",
    ids: str | None = None,
    truth: str | None = None,
    sep: str | None = None,
    formulas: str = "keep",
    encoding: str | None = None,
    ids_as: str = "text",
) -> Labelling:
    """Read the labelling in `column`, and the true labels in `truth` if the file has that column.

    The objects are those of a table of labels, or of a table of columns of any kind. An object whose label is empty
    belongs to no cluster; objects that no member knows anything about may not be in one. Rows are matched to them by
    id if both have ids (loosely if `ids_as` is "loose"), otherwise by their order. `sep` is what separates the columns
    of the table; the file need not have the same separator, which is recognised.
    """
    source = name_of(path)

    def choose(names: tuple[str, ...]) -> Choice:
        if not isinstance(ensemble, Ensemble) and ids is None:
            _refuse_order(names, ensemble, column, source)
        chosen = labelling_columns(names, source, column, truth, (ids, ensemble.id_name))
        return chosen if ensemble.object_ids is not None else chosen._replace(ids=None)

    how = Reading(orientation="objects", likely_sep=sep, check=False, formulas=formulas, encoding=encoding)
    table = load_chosen(path, choose, how)
    if table.object_ids is not None:
        wanted, own = ensemble.object_ids, table.object_ids
        own = own if wanted is None else spelled_beside(wanted, own, ("the table", source), ids_as)
        order = order_of(wanted, own, source)
        if order is not None:
            table = vary(table, labels=table.labels[order], counts=table.counts[order], object_ids=None)
    n_rows = ensemble.n_rows if isinstance(ensemble, Ensemble) else ensemble.n_objects
    if table.n_rows != n_rows:
        raise ValueError(
            f"{source} labels {_check.counted(table.n_rows, 'object')}, but the table has "
            f"{n_rows:,}; rows are matched by order unless both files have an id column (--id)."
        )
    if isinstance(ensemble, Ensemble):
        unknown = unknown_rows(ensemble)
        refuse_unlabelled(ensemble.labels, unknown[table.labels[unknown, 0] >= 0])
    has_truth = truth is not None and truth in table.member_names[1:]
    if table.n_members > 1 + has_truth:
        raise ValueError(f"{source} holds {table.n_members} labellings without names; one was expected.")
    return Labelling(table.labels[:, 0], table.labels[:, 1] if has_truth else None, table.categories[0])


_OF_RESULTS = ("confidence", "method_confidence", "runner_up", "before", "was")


def load_lone_labelling(
    path: FilePath,
    *,
    column: str = "label",
    ids: str | None = None,
    sep: str | None = None,
    formulas: str = "keep",
    encoding: str | None = None,
) -> tuple[Ensemble, Array | None]:
    """Read a file with one labelling as an ensemble of one member, and the column "confidence" if the file has it."""
    source = name_of(path)

    def choose(names: tuple[str, ...]) -> Choice:
        if ids is not None and ids not in names:
            raise ValueError(f"{source} has no column {ids!r}, which --id names.")
        chosen = labelling_columns(names, source, column, None, (ids,))
        others = [n for n in names if n not in (*chosen.members, *_OF_RESULTS) and not n.startswith("p ")]
        if chosen.ids is None and others:
            raise ValueError(
                f"{source} has the column {others[0]!r}; name it with --id if it holds the names of the objects, so "
                f"that they are not matched by order, or leave it out of the file."
            )
        beside = [name for name in names if name == "confidence" and name not in (column, chosen.ids)]
        return chosen._replace(members=(*chosen.members, *beside))

    how = Reading(orientation="objects", sep=sep, check=False, formulas=formulas, encoding=encoding)
    read = load_chosen(path, choose, how)
    if "confidence" not in read.member_names[1:]:
        return read, None
    values = np.append(read.categories[1].astype(np.float64), np.nan)[read.labels[:, 1]]
    return select_members(read, [0]), values


def _refuse_order(names: Sequence[str], table: TypedTable, column: str, source: str) -> None:
    """Raise if both files have a column that may well be the ids, which nobody named: rows would match by order."""
    known = {*table.names, *table.left_out}
    shared = [name for name in names if name in known and name not in (column, *_OF_RESULTS)]
    if shared:
        raise ValueError(
            f"{source} and the other table both have the column {shared[0]!r}; name it with --id if it holds the names "
            f"of the objects, or leave it out of the table ({_check.option('--drop', shared[0])})."
        )


def labelling_columns(
    names: tuple[str, ...], source: str, column: str, truth: str | None, id_names: Sequence[str | None]
) -> Choice:
    """Choose the column of labels, that of the true labels if the file has it, and that of the ids.

    A file that has no column of the name `column` may have one other column alone.
    """
    if not names:
        return Choice(None, ())
    ids = next((name for name in (*id_names, "id") if name in names), None)
    rest = [name for name in names if name not in (ids, truth, "confidence")]
    if column not in names and len(rest) != 1:
        raise ValueError(
            f"{source} has no column {column!r}; its columns are {', '.join(map(repr, names))}. Name the column that "
            f"holds the labelling with --label."
        )
    chosen = column if column in names else rest[0]
    return Choice(ids, (chosen, *(name for name in names if name == truth != chosen)))


class Measurements(NamedTuple):
    """A table of measurements, with column names and ids if the file has them.

    `values` has the shape (n_objects, n_columns) and is an array, a memory map, a pyarrow table or a CSR matrix.
    `coding` says how columns of any kind became these numbers, and `standard` how columns were scaled, if they were;
    `columns` are the columns of any kind.
    """

    values: Any
    names: tuple[str, ...] | None = None
    ids: Array | None = None
    coding: MixedColumns | None = None
    standard: Any = None
    columns: TypedTable | None = None


def load_features(
    path: FilePath,
    *,
    ids: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    sep: str | None = None,
    encoding: str | None = None,
) -> Measurements:
    """Read a table of numbers.

    Parameters
    ----------
    path : str or path
        .csv, .tsv, .txt (also .gz), .xlsx and .parquet have named columns; .npy is mapped, not read; .npz holds one 2-D
        array, or a sparse matrix as scipy writes it; .zarr holds one 2-D array. "-" is CSV from standard input.
    ids : str, optional
        Column that names the objects.
    columns : sequence of str, optional
        Columns that are measurements; all but `ids` and `drop` by default.
    drop : sequence of str
        Columns to leave out.
    sep, encoding : str, optional
        What separates the columns of a text file, and how it is encoded. By default both are recognised from the first
        lines, as decimal commas are.

    Returns
    -------
    Measurements
    """

    def choose(names: tuple[str, ...]) -> Choice:
        return choose_measurements(names, ids, columns, drop, name_of(path))

    kind = format_of(path)
    if sep is not None and kind not in DELIMITERS:
        raise ValueError(f"sep (--sep) is for text files, and {name_of(path)} is .{kind}; leave it out.")
    if kind in DELIMITERS:
        with reading(path) as file:
            refuse_content(path, file.peek(8))
            read = read_numbers(file, name_of(path), DELIMITERS[kind], choose, sep=sep, encoding=encoding)
        measurements = Measurements(read.values, read.choice.members, read.ids)
    elif kind == "xlsx":
        measurements = _measurements_of_sheet(read_sheet(path, choose), name_of(path))
    elif kind == "parquet":
        table, choice = read_parquet(path, choose)
        named = None if choice.ids is None else np.asarray(table.column(choice.ids).to_pylist())
        measurements = Measurements(table.select(list(choice.members)), choice.members, named)
    else:
        choose(())
        measurements = Measurements(_read_array(path, kind))
    refuse_repeated(measurements.ids, name_of(path))
    return measurements


def load_typed(
    path: FilePath,
    *,
    ids: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    sep: str | None = None,
    formulas: str = "keep",
    encoding: str | None = None,
    kinds: Kinds | None = None,
) -> TypedTable:
    """Read a table of columns of any kind; the arguments are those of `load_features`, and any text is a category.

    With `kinds`, which a model has, columns have these kinds, and none is left out.
    """
    from quorate._data.typed_columns import coded_column, typed_column, typed_table

    def choose(names: tuple[str, ...]) -> Choice:
        return choose_measurements(names, ids, columns, drop, name_of(path))

    kind, name = format_of(path), name_of(path)
    if sep is not None and kind not in DELIMITERS:
        raise ValueError(f"sep (--sep) is for text files, and {name} is .{kind}; leave it out.")
    if kind in DELIMITERS:
        with reading(path) as file:
            refuse_content(path, file.peek(8))
            quote = checked_formulas(formulas)
            texts = read_csv(file, name, DELIMITERS[kind], choose, sep=sep, unquote=quote, encoding=encoding)
        cells = zip(texts.names, texts.columns, strict=True)
        given = {} if kinds is None else kinds
        typed = [coded_column(column, *cell, given.get(column)) for column, cell in cells]
        return _typed(typed, None if texts.ids is None else text_ids(texts.ids), texts.id_name, name, kinds)
    if kind == "xlsx":
        sheet = read_sheet(path, choose)
        choice = sheet.choice
        named = None if choice.ids is None else _sheet_ids(sheet.columns[choice.ids])
        given = {} if kinds is None else kinds
        typed = [typed_column(c, sheet.columns[c], given.get(c)) for c in choice.members]
        return _typed(typed, named, choice.ids, name, kinds)
    if kind == "parquet":
        table, choice = read_parquet(path, choose)
        read = typed_table(table, ids=choice.ids, kinds=kinds)
    else:
        choose(())
        read = typed_table(_read_array(path, kind), kinds=kinds)
    refuse_repeated(read.object_ids, name)
    return read._replace(source=name)


def _typed(
    columns: Sequence[TypedColumn], ids: Array | None, id_name: str | None, source: str, kinds: Kinds | None
) -> TypedTable:
    """Return the columns of a file that have a kind; `ids` are the names of the objects if the file has them."""
    refuse_repeated(ids, source)
    from quorate._data.typed_columns import TypedTable, useful

    kept, left_out = useful(columns) if kinds is None else (tuple(columns), {})
    if not kept:
        reasons = "; ".join(f"{name!r} {reason}" for name, reason in list(left_out.items())[:5])
        raise ValueError(f"{source}: no column can tell objects apart: {reasons}.")
    return TypedTable(kept, left_out, len(kept[0].values), ids, id_name or "id", source=source)


def choose_measurements(
    names: tuple[str, ...], ids: str | None, columns: Sequence[str] | None, drop: Sequence[str], source: str
) -> Choice:
    """Choose the columns of measurements, and that of the ids, among the columns of a file."""
    if not names:
        if ids is not None or columns is not None or drop:
            raise ValueError(f"{source} has no column names, so none can be chosen; slice the array instead.")
        return Choice(None, ())
    refuse_unknown(tuple(name for name in (ids, *(columns or ()), *drop) if name is not None), names, source)
    refuse_duplicates(tuple(columns or ()))
    if ids is not None and (ids in (columns or ()) or ids in drop):
        raise ValueError(f"{ids!r} is named as the ids, so it can be neither a measurement nor left out.")
    chosen = columns if columns is not None else [name for name in names if name != ids]
    chosen = tuple(name for name in chosen if name not in drop)
    if not chosen:
        raise ValueError(f"{source}: no column of measurements is left; it has {', '.join(map(repr, names[:20]))}.")
    return Choice(ids, chosen)


def _measurements_of_sheet(sheet: Sheet, name: str) -> Measurements:
    ids = None if sheet.choice.ids is None else np.array([str(value) for value in sheet.columns[sheet.choice.ids]])
    values = np.empty((len(sheet.columns[sheet.choice.members[0]]), len(sheet.choice.members)))
    for place, column in enumerate(sheet.choice.members):
        for row, value in enumerate(sheet.columns[column].tolist(), start=1):
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise ValueError(no_number(name, column, "" if value is None else str(value), row))
            values[row - 1, place] = value
    return Measurements(values, sheet.choice.members, ids)


def _read_array(path: FilePath, kind: str) -> Any:
    if kind == "npy" and not is_standard(path):
        return map_npy(path)
    arrays = read_arrays(path)
    if is_sparse_file(arrays):
        return csr_from_file(arrays, name_of(path))
    tables = [key for key, values in arrays.items() if values.ndim == 2]
    if len(tables) != 1:
        held = ", ".join(f"{key} {values.shape}" for key, values in arrays.items()) or "none"
        raise ValueError(f"{name_of(path)} must hold exactly one 2-D array, or a sparse matrix, found {held}.")
    return arrays[tables[0]]

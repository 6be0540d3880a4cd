"""load_labels: a table of labels from one file or several; the format follows from the suffix."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from quorate import _check
from quorate._data.alignment import refuse_repeated
from quorate._data.building import build_ensemble, refuse_unlabelled
from quorate._data.coding import code_table, stack_columns
from quorate._data.ensemble import with_options
from quorate._data.joining import without_unlabelled
from quorate._data.missing import DEFAULT, MissingRule, missing_rule
from quorate._data.suspects import refuse_suspects
from quorate._data.tables import Table, as_table, refuse_shape, transposed
from quorate._data.text_labels import label_column
from quorate._io.arrays import ensemble_from_arrays, read_arrays
from quorate._io.choosing import Columns, load_sources
from quorate._io.dialect import DELIMITERS
from quorate._io.excel import Sheet, read_sheet, warn_of_nulls_in
from quorate._io.formulas import checked_formulas
from quorate._io.parquet import code_arrow, read_parquet
from quorate._io.paths import FilePath, format_of, name_of, reading, refuse_content
from quorate._io.text import Choose, Texts, read_csv, text_ids
from quorate._types import Ensemble

Array = NDArray[Any]
logger = logging.getLogger("quorate")


class Reading(NamedTuple):
    """The options of `load_labels` for reading one file, except those that choose its columns.

    `declared` says that the user named the columns of the members, so that they may look like ids.
    """

    missing: Any = DEFAULT
    orientation: str | None = None
    sep: str | None = None
    check: bool = True
    declared: bool = False
    formulas: str = "keep"


def load_labels(
    path: FilePath | Sequence[FilePath],
    *,
    ids: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    missing: Any = DEFAULT,
    orientation: str | None = None,
    weights: Any = None,
    sep: str | None = None,
    skip_empty: bool = False,
    check: bool = True,
    formulas: str = "keep",
) -> Ensemble:
    """Read a table of labels, one row per object and one column per member, from one file or several.

    Parameters
    ----------
    path : str, path, or list of these
        .csv (also .csv.gz; .tsv and .txt), .parquet, .xlsx, .npy, .npz or .zarr; "-" reads CSV from standard input.
        Text is UTF-8, or UTF-16 with a byte order mark, and has a header. An .npz or Zarr group holds the table as
        "labels", or as its only 2-D array, and may hold "ids", "names" and "weights". Several files are joined by
        id, as `join` does; if members of different files have the same name, the file's name is put before it.
    ids : str, optional
        The column that names the objects. Without it every column is a member, and a column that looks
        like ids is refused.
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
    skip_empty : bool, default False
        Leave out objects that have no label in any member, instead of refusing the table. ``info["skipped"]`` counts
        them. The objects must have ids.
    check : bool, default True
        Refuse columns that cannot be clusterings, as `as_ensemble` does; a column named in `columns` may have as many
        labels as objects.
    formulas : {"keep", "quote"}, default "keep"
        "quote" takes away the apostrophe that `save_labels` and `save_ensemble` put before cells of text files with
        the same option, so that ids and labels are what they were.

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
    how = Reading(missing, orientation, sep, check, declared=declared, formulas=formulas)
    chosen = Columns(ids, named, tuple(_names(drop) or ()))
    ensemble = load_sources(path, chosen, lambda file, choose: load_chosen(file, choose, how))
    return with_options(settled(ensemble, skip_empty)[0], weights, None, None)


def settled(ensemble: Ensemble, skip_empty: bool) -> tuple[Ensemble, Array | None]:
    """Raise if an object has no label at all, or leave such objects out if `skip_empty` is true.

    Returns the ensemble and the numbers of the rows that were kept, or None if all were.
    """
    if not skip_empty:
        refuse_unlabelled(ensemble.labels)
        return ensemble, None
    return without_unlabelled(ensemble)


def _names(columns: Sequence[str] | str | None) -> Sequence[str] | None:
    return [columns] if isinstance(columns, str) else columns


def load_chosen(path: FilePath, choose: Choose, how: Reading) -> Ensemble:
    """Load one file; `choose` picks the columns once their names are known. Objects without any label are kept."""
    if how.orientation is not None:
        _check.choice(how.orientation, "orientation", ("objects", "members"), "what one row stands for.")
    kind, name = format_of(path), name_of(path)
    if how.sep is not None and kind not in DELIMITERS:
        raise ValueError(f"sep (--sep) is for text files, and {name} is .{kind}; leave it out.")
    if kind in DELIMITERS:
        with reading(path) as file:
            refuse_content(path, file.peek(8))
            transposed = how.orientation == "members"
            quote = checked_formulas(how.formulas)
            texts = read_csv(file, name, DELIMITERS[kind], choose, sep=how.sep, transposed=transposed, unquote=quote)
        return _from_texts(texts, name, how)
    if kind == "parquet":
        return _from_parquet(path, choose, how)
    if kind == "xlsx":
        return _from_sheet(read_sheet(path, choose), name, how)
    return ensemble_from_arrays(read_arrays(path), name, choose, how.missing, how.orientation, how.check)


def _from_texts(texts: Texts, name: str, how: Reading) -> Ensemble:
    refuse_shape((len(texts.codes[0]) if texts.codes else 0, len(texts.codes)), how.orientation)
    rule = missing_rule(how.missing)
    columns = zip(texts.codes, texts.texts, texts.names, strict=True)
    coded = stack_columns([label_column(codes, values, column, rule) for codes, values, column in columns])
    ids = None if texts.ids is None else text_ids(texts.ids)
    return _built(coded, texts.names, ids, texts.id_name, name, how)


def _from_parquet(path: FilePath, choose: Choose, how: Reading) -> Ensemble:
    table, choice = read_parquet(path, choose)
    if how.orientation == "members":
        return _from_members(as_table(table, "members", choice.ids), missing_rule(how.missing), name_of(path), how)
    refuse_shape((table.num_rows, len(choice.members)), how.orientation)
    rule = missing_rule(how.missing)
    coded = stack_columns(
        [_coded(table, name, rule, place / len(choice.members)) for place, name in enumerate(choice.members)]
    )
    ids = None if choice.ids is None else as_table(table.select([choice.ids]), "objects", None).columns[0]
    refuse_repeated(ids, name_of(path))
    return _built(coded, choice.members, ids, choice.ids, name_of(path), how)


def _coded(table: Any, name: str, rule: MissingRule, share: float) -> tuple[Array, Array]:
    logger.info("numbering labels", extra={"share": share})
    return code_arrow(table.select([name]), name, rule)


def _from_sheet(sheet: Sheet, name: str, how: Reading) -> Ensemble:
    members = [sheet.columns[column] for column in sheet.choice.members]
    rule = missing_rule(how.missing)
    # an empty text counts as a missing label in every file format
    rule = MissingRule((*rule.values, "")) if rule.values else rule
    if how.orientation == "members":
        names = None if sheet.choice.ids is None else tuple(_sheet_ids(sheet.columns[sheet.choice.ids]).tolist())
        return _from_members(transposed(members, text_ids(list(sheet.choice.members)), names), rule, name, how)
    refuse_shape((len(members[0]), len(members)), how.orientation)
    for values, column in zip(members, sheet.choice.members, strict=True):
        warn_of_nulls_in(values, rule.covers, column)
    ids = None if sheet.choice.ids is None else _sheet_ids(sheet.columns[sheet.choice.ids])
    refuse_repeated(ids, name)
    coded = code_table(members, sheet.choice.members, rule)
    return _built(coded, sheet.choice.members, ids, sheet.choice.ids, name, how)


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
    labels, categories = coded
    if how.check:
        refuse_suspects(labels, names, categories, source=source, declared=how.declared)
    return build_ensemble(labels, names, categories, ids=ids, id_name=id_name or "id", keep_unlabelled=True)

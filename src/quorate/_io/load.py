"""load_labels: a table of labels from a file; the format follows from the suffix."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.building import build_ensemble
from quorate._data.coding import stack_columns
from quorate._data.ensemble import as_ensemble
from quorate._data.missing import DEFAULT, missing_rule
from quorate._data.tables import as_table, refuse_duplicates, refuse_shape
from quorate._io.arrays import ensemble_from_arrays, read_arrays
from quorate._io.parquet import code_arrow, read_parquet
from quorate._io.paths import FilePath, format_of, name_of, reading, refuse_content, refuse_repeated
from quorate._io.text import DELIMITERS, Choice, Choose, Texts, label_column, read_csv, text_ids
from quorate._types import Ensemble

Array = NDArray[Any]
_ID_NAMES = ("id", "ID", "Id", "object_id", "__index_level_0__", "")


def load_labels(
    path: FilePath,
    *,
    ids: str | None = None,
    columns: Sequence[str] | None = None,
    missing: Any = DEFAULT,
    orientation: str | None = None,
    weights: Any = None,
) -> Ensemble:
    """Read a table of labels, one row an object and one column a member, from a file.

    Parameters
    ----------
    path : str or path
        .csv (also .csv.gz; .tsv and .txt with tabs), .parquet, .npy, .npz or .zarr; "-" reads CSV from
        standard input. Text must be UTF-8 and have a header. An .npz or Zarr group holds the table as
        "labels", or as its only 2-D array, and may hold "ids", "names" and "weights".
    ids : str, optional
        The column that names the objects. Without it every column is a member, and a column that looks
        like ids is refused.
    columns : list of str, optional
        The columns that are members; all but the ids by default.
    missing : value or list of values, default -1
        What stands for a missing label; nulls and empty texts always do, and "nan" in text files.
    orientation : {"objects", "members"}, optional
        What one row stands for. With "members", `ids` is the column that names the members, and the header
        names the objects.
    weights : array of shape (n_members,), optional
        Positive member weights; 1 each by default.

    Returns
    -------
    Ensemble

    Notes
    -----
    A CSV file has no types. A column whose every label spells a number holds numbers, and "1", "01" and
    "1.0" are one label; any other column holds texts, as they are.

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

    def choose(names: tuple[str, ...]) -> Choice:
        return choose_columns(names, ids, columns, name_of(path))

    ensemble = load_chosen(path, choose, missing=missing, orientation=orientation, weights=weights)
    if ids is None and columns is None and orientation != "members":
        refuse_ids(ensemble, path)
    return ensemble


def load_chosen(
    path: FilePath, choose: Choose, *, missing: Any = DEFAULT, orientation: str | None = None, weights: Any = None
) -> Ensemble:
    """As `load_labels`, with the columns chosen once their names are known."""
    if orientation is not None:
        _check.choice(orientation, "orientation", ("objects", "members"), "what one row stands for.")
    kind, name = format_of(path), name_of(path)
    if kind in DELIMITERS:
        with reading(path) as file:
            refuse_content(path, file.peek(8))
            texts = read_csv(file, name, DELIMITERS[kind], choose, transposed=orientation == "members")
        return _from_texts(texts, missing, orientation, weights)
    if kind == "parquet":
        ensemble = _from_parquet(path, choose, missing, orientation, weights)
    else:
        ensemble = ensemble_from_arrays(read_arrays(path), name, choose, missing, orientation, weights)
    refuse_repeated(ensemble.object_ids, name)
    return ensemble


def choose_columns(names: tuple[str, ...], ids: str | None, columns: Sequence[str] | None, source: str) -> Choice:
    """What a caller's `ids` and `columns` pick out of the names of a file; no names, nothing to pick."""
    if isinstance(columns, str):
        columns = [columns]
    wanted = [*(columns or ()), *(() if ids is None else (ids,))]
    unknown = [name for name in wanted if name not in names]
    if unknown:
        known = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
        raise ValueError(
            f"{source} has no column {', '.join(map(repr, unknown))}; "
            + (f"its columns are {known}." if names else "its columns have no names: leave ids and columns out.")
        )
    if columns is not None:
        if not columns:
            raise ValueError("columns must name at least one column, got none; leave it out to take all.")
        refuse_duplicates(tuple(columns))
        if ids in columns:
            raise ValueError(f"{ids!r} is named as a member and as the ids; a column can be one of them.")
        return Choice(ids, tuple(columns))
    if ids is None:
        _refuse_id_name(names, source)
    elif len(names) == 1:
        raise ValueError(f"{source} has no column beside the ids {ids!r}; one column a clustering was expected.")
    return Choice(ids, tuple(name for name in names if name != ids))


def _refuse_id_name(names: tuple[str, ...], source: str) -> None:
    """A column of ids taken for a clustering would spoil the result without a sign."""
    guilty = next((name for name in names if name in _ID_NAMES), None)
    if guilty is not None:
        raise ValueError(
            f"{source} has a column named {guilty!r}, which looks like the objects' ids; pass ids={guilty!r} "
            f"(--id {shlex.quote(guilty)}), or name the members with columns= (--columns) if it is one of them."
        )


def refuse_ids(ensemble: Ensemble, path: FilePath) -> None:
    """The same for a column of any name in which every object has a label of its own."""
    guilty = np.flatnonzero(ensemble.n_clusters == ensemble.n_rows)
    if len(guilty) and ensemble.n_rows > 20 and format_of(path) in (*DELIMITERS, "parquet"):
        name = ensemble.member_names[guilty[0]]
        raise ValueError(
            f"{name_of(path)}: column {name!r} has a label of its own for each of the {ensemble.n_rows:,} objects, so "
            f"it looks like their ids; pass ids={name!r} (--id {name}), or name the members with columns= (--columns)."
        )


def _from_texts(texts: Texts, missing: Any, orientation: str | None, weights: Any) -> Ensemble:
    refuse_shape((len(texts.codes[0]) if texts.codes else 0, len(texts.codes)), orientation)
    rule = missing_rule(missing)
    columns = zip(texts.codes, texts.texts, texts.names, strict=True)
    labels, categories = stack_columns([label_column(codes, values, name, rule) for codes, values, name in columns])
    ids = None if texts.ids is None else text_ids(texts.ids)
    return build_ensemble(labels, texts.names, categories, weights=weights, ids=ids)


def _from_parquet(path: FilePath, choose: Choose, missing: Any, orientation: str | None, weights: Any) -> Ensemble:
    table, choice = read_parquet(path, choose)
    if orientation == "members":
        return as_ensemble(table, ids=choice.ids, missing=missing, orientation=orientation, weights=weights)
    refuse_shape((table.num_rows, len(choice.members)), orientation)
    rule = missing_rule(missing)
    labels, categories = stack_columns([code_arrow(table.select([name]), name, rule) for name in choice.members])
    ids = None if choice.ids is None else as_table(table.select([choice.ids]), "objects", None).columns[0]
    return build_ensemble(labels, choice.members, categories, weights=weights, ids=ids)

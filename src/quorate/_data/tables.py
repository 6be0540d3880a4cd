"""Reading a table of labels as plain columns from arrays, lists, mappings and data frames of any kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._check import counted
from quorate._data.ids import numbered, order_of, refuse_repeated

Array = NDArray[Any]
JOIN = "quorate.join takes tables of different objects; an object that is not in a table has no label there"


class Table(NamedTuple):
    """A table of labels with one column per member.

    If all labels are integers of one array, they are in `block`, and `columns` is empty. `ids` are the names of the
    objects, and `id_name` is the name of their column. `has_index` is true if the table had a pandas index, even if it
    was the default one.
    """

    columns: list[Array]
    names: tuple[str, ...]
    ids: Array | None = None
    block: Array | None = None
    id_name: str = "id"
    has_index: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        if self.block is not None:
            return self.block.shape[0], self.block.shape[1]
        return (len(self.columns[0]) if self.columns else 0), len(self.columns)


def in_memory(table: Any) -> Any:
    """Return a lazy table of polars, a relation of DuckDB or a reader of Arrow in memory; anything else as it is."""
    kind = type(table).__name__
    if kind == "LazyFrame" and hasattr(table, "collect"):
        return table.collect()
    if kind == "DuckDBPyRelation":
        return table.to_arrow_table() if hasattr(table, "to_arrow_table") else table.arrow()
    if kind == "RecordBatchReader" and hasattr(table, "read_all"):
        return table.read_all()
    return table


def as_table(labels: Any, orientation: str | None, ids: str | None) -> Table:
    """Read `labels` as a table, rows as `orientation` says; `ids` may name the column of ids in a data frame."""
    if orientation is not None:
        _check.choice(orientation, "orientation", ("objects", "members"), "what one row stands for.")
    _check.no_anndata(labels, "labels")
    labels = in_memory(labels)
    if hasattr(labels, "tocsr"):
        raise TypeError("sparse labels are not supported; pass a dense table, or a list of label vectors.")
    if isinstance(labels, np.ndarray):
        table = _from_array(labels, orientation)
    elif isinstance(labels, Mapping):
        table = _from_mapping(labels, ids)
    elif hasattr(labels, "__array__") and not hasattr(labels, "columns") and not hasattr(labels, "dtype"):
        table = _from_array(np.asarray(labels), orientation)
    else:
        table = _from_frame(labels, orientation, ids) or _from_sequence(labels, orientation)
    if ids is not None and table.ids is None:
        raise ValueError(f"ids={ids!r} names a column, but the labels have no named columns; pass the ids themselves.")
    refuse_shape(table.shape, orientation)
    return table


def holds_matrices(labels: Any) -> bool:
    """Whether this is a list or mapping that has a matrix of memberships among its members."""
    if isinstance(labels, Mapping):
        return any(is_matrix(member) for member in labels.values())
    return isinstance(labels, list | tuple) and any(is_matrix(member) for member in labels)


def is_matrix(member: Any) -> bool:
    """Whether this is a matrix, a data frame or a list of rows; a data frame of one column is a label vector."""
    if hasattr(member, "columns") and hasattr(member, "shape"):
        return len(member.shape) == 2 and member.shape[1] > 1
    if hasattr(member, "ndim"):
        return bool(member.ndim == 2)
    # strings are sequences too, so that only lists and tuples are looked into
    first = member[0] if isinstance(member, list | tuple) and len(member) else None
    return isinstance(first, list | tuple) or getattr(first, "ndim", 0) == 1


def refuse_shape(shape: tuple[int, int], orientation: str | None) -> None:
    n_objects, n_members = shape
    if n_objects == 0 or n_members == 0:
        raise ValueError(
            f"labels must hold at least one object and one member, got {counted(n_objects, 'object')} "
            f"and {counted(n_members, 'member')}."
        )
    if orientation is None and n_members > n_objects:
        raise ValueError(
            f"labels have {counted(n_objects, 'row')} and {counted(n_members, 'column')}; rows are objects and "
            f"columns are members, and more members than objects is unusual. Pass orientation='members' "
            f"(--orientation members) to as_ensemble or consensus if each row is one clustering, "
            f"orientation='objects' if the table is right as it is."
        )


def _from_array(array: Array, orientation: str | None) -> Table:
    array = _plain(array)
    if array.ndim == 1:
        array, orientation = array[:, None], None
    if array.ndim != 2:
        raise ValueError(
            f"labels must be (n_objects, n_members), got {array.ndim} dimensions of shape {array.shape}; "
            f"stack the members with np.column_stack."
        )
    if not array.size:
        refuse_shape((array.shape[0], array.shape[1]), orientation)
    if array.dtype.names is not None:
        raise ValueError("labels must not be a structured array; pass a data frame or a plain 2-D array.")
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: labels must be integers, texts or real numbers.")
    if orientation == "members":
        array = array.T
    names = _member_names(array.shape[1])
    if array.dtype.kind in "iu" and array.dtype != np.uint64 and array.size:
        return Table([], names, block=array)
    return Table([array[:, column] for column in range(array.shape[1])], names)


def _plain(array: Array) -> Array:
    """Convert to a plain array: masked entries become None, and any other subclass is dropped."""
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        known = ~np.ma.getmaskarray(array)
        plain = np.full(array.shape, None, dtype=object)
        plain[known] = array.data[known]
        return plain
    return np.asarray(array)


def _from_sequence(labels: Any, orientation: str | None) -> Table:
    if hasattr(labels, "__array__"):
        return _from_array(np.asarray(labels), orientation)
    if isinstance(labels, str | bytes) or not isinstance(labels, Sequence):
        raise TypeError(
            f"labels must be an array, a data frame or a list of label vectors, got {type(labels).__name__}; "
            f"to read a file use load_labels."
        )
    if labels and all(_is_scalar(value) for value in labels):
        return _from_array(label_vector(labels, "labels"), None)
    if orientation == "objects":
        labels = list(zip(*labels, strict=True)) if _one_length(labels, "row") else []
    return _from_vectors(list(labels), None)


def _from_mapping(labels: Mapping[Any, Any], ids: str | None) -> Table:
    """Read a mapping from names of members to label vectors, one of which may be the ids."""
    members = [(str(name), vector) for name, vector in labels.items() if ids is None or name != ids]
    table = _from_vectors([vector for _, vector in members], tuple(name for name, _ in members))
    if ids is None or ids not in labels:
        return table
    return table._replace(ids=label_vector(labels[ids], ids), id_name=ids)


def _from_vectors(vectors: list[Any], names: tuple[str, ...] | None) -> Table:
    """Read a list of label vectors, one per member; Series are put in the order of the first that has an index."""
    _refuse_scalars(vectors, "label vector")
    names = names or _member_names(len(vectors))
    refuse_duplicates(names)
    read = [_read_vector(vector, name) for vector, name in zip(vectors, names, strict=True)]
    first = next((table for table in read if table.ids is not None), None)
    if first is None:
        _one_length(vectors, "label vector")
        return Table([table.columns[0] for table in read], names, has_index=any(table.has_index for table in read))
    columns = []
    for table, name in zip(read, names, strict=True):
        ids = numbered(table.ids, first.ids, table.shape[0], is_default=table.has_index)
        order = order_of(first.ids, ids, repr(name), JOIN) if table.has_index else None
        columns.append(table.columns[0] if order is None else table.columns[0][order])
    _one_length(columns, "label vector")
    return Table(columns, names, first.ids, id_name=first.id_name, has_index=True)


def _refuse_scalars(vectors: Sequence[Any], what: str) -> None:
    for place, vector in enumerate(vectors):
        if _is_scalar(vector):
            raise ValueError(f"{what} {place} is the single value {vector!r}; labels must be a list of label vectors.")


def _one_length(vectors: Sequence[Any], what: str) -> bool:
    _refuse_scalars(vectors, what)
    lengths = [len(vector) for vector in vectors]
    if len(set(lengths)) > 1:
        odd = next(place for place, length in enumerate(lengths) if length != lengths[0])
        raise ValueError(
            f"labels are ragged: {what} 0 has {counted(lengths[0], 'label')}, {what} {odd} has {lengths[odd]}; every "
            f"member must have one entry per object, None if it has no label for the object."
        )
    return True


def label_vector(values: Any, name: str) -> Array:
    """Return a label vector as a 1-D array that keeps the types; np.asarray would turn [1, 'a', None] into texts."""
    return _read_vector(values, name).columns[0]


def _read_vector(values: Any, name: str) -> Table:
    """Read a label vector as a table of one column, with the index of a Series as ids."""
    frame = None
    if isinstance(values, np.ndarray):
        array = _plain(values)
    elif hasattr(values, "__array__"):
        frame = _from_frame(values, None, None)
        if frame is not None and len(frame.columns) != 1:
            raise ValueError(f"{name} must be one label per object, got a table of {len(frame.columns)} columns.")
        array = frame.columns[0] if frame is not None else np.asarray(values)
    else:
        array = _plain_vector(list(values))
    if array.ndim != 1:
        raise ValueError(f"{name} must be one label per object, got an array of shape {array.shape}.")
    return Table([array], (name,)) if frame is None else frame


def _plain_vector(values: list[Any]) -> Array:
    kinds = {type(value) for value in values}
    if kinds and kinds <= {int, bool} and all(abs(value) < 2**62 for value in values):
        return np.asarray(values, dtype=np.int64)
    small = all(not isinstance(value, int) or abs(value) < 2**53 for value in values)
    if kinds and kinds <= {int, float, bool, type(None)} and small:
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _from_frame(labels: Any, orientation: str | None, ids: str | None) -> Table | None:
    """Read a data frame or series of pandas, polars, pyarrow and others by narwhals; None if it is none of these."""
    import narwhals as nw

    native = labels
    try:
        frame = nw.from_native(labels, eager_only=True, allow_series=True, pass_through=True)
    except Exception as error:
        refuse_duplicates(tuple(map(str, getattr(labels, "column_names", getattr(labels, "columns", ())))))
        raise ValueError(f"labels could not be read as a table: {error}") from error
    if frame is native:
        if hasattr(native, "categories") and hasattr(native, "codes"):
            return _from_vectors([np.asarray(native, dtype=object)], None)
        return None
    index = nw.maybe_get_index(frame)
    if isinstance(frame, nw.Series):
        name = str(frame.name or "member 0")
        return Table([_series(frame)], (name,), index_ids(index), None, index_name(index), index is not None)
    names = tuple(str(name) for name in frame.columns)
    refuse_duplicates(names)
    if ids is None:
        object_ids = index_ids(index)
    else:
        if ids not in names:
            meant = _check.did_you_mean(ids, names)
            raise ValueError(f"ids={ids!r} is not a column{meant}; the columns are {', '.join(map(repr, names))}.")
        object_ids = _series(list(frame.iter_columns())[names.index(ids)])
        refuse_repeated(object_ids, f"column {ids!r}")
    # columns are not looked up by name, because a name that is a number would be taken for a row
    kept = [(column, name) for column, name in zip(frame.iter_columns(), names, strict=True) if name != ids]
    columns = [_series(column) for column, _ in kept]
    if orientation == "members":
        member_names = None if object_ids is None else tuple(str(name) for name in object_ids.tolist())
        return transposed(columns, _header_ids(native, [name for _, name in kept]), member_names)
    id_name = index_name(index) if ids is None else ids
    return Table(columns, tuple(name for _, name in kept), object_ids, None, id_name, index is not None)


def transposed(columns: Sequence[Array], ids: Array | None, names: tuple[str, ...] | None) -> Table:
    """Read a table whose rows are members: its header names the objects, and `names` are those of the members."""
    if not columns:
        refuse_shape((0, 0 if names is None else len(names)), "members")
    refuse_duplicates(names or ())
    table = _from_array(np.column_stack([np.asarray(column, dtype=object) for column in columns]), "members")
    return table._replace(names=table.names if names is None else names, ids=ids)


def _header_ids(frame: Any, header: list[str]) -> Array | None:
    """Return the header of a data frame as ids, or None if pandas numbered the columns itself."""
    numbered = type(getattr(frame, "columns", None)).__name__ == "RangeIndex"
    return None if numbered else np.array(header, dtype=object)


def _series(series: Any) -> Array:
    """Return one column as an array; nulls become NaN in floats, NaT in times, and None in any other type."""
    if series.dtype.is_nested():
        raise ValueError(f"{series.name} holds {series.dtype} where a single label was expected; leave it out.")
    nulls = series.is_null().to_numpy()
    values = series.to_numpy()
    if not nulls.any() or series.dtype.is_float() or values.dtype.kind in "mM":
        return np.asarray(values, dtype=object) if values.dtype.kind not in "biufmMUSO" else np.asarray(values)
    values = np.empty(len(series), dtype=object)
    values[:] = series.to_list()
    values[nulls.astype(bool)] = None
    return values


def index_ids(index: Any) -> Array | None:
    """Return a pandas index as ids, or None if it is the default one; raise if values are repeated."""
    if index is None or (type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1):
        return None
    ids = np.asarray(index)
    try:
        refuse_repeated(ids, "the index")
    except ValueError as error:
        raise ValueError(f"{error} Call .reset_index(drop=True) if the index does not name the objects.") from None
    return ids


def index_name(index: Any) -> str:
    """Return the name of the index, or "id" if it has none."""
    name = getattr(index, "name", None)
    return name if isinstance(name, str) and name else "id"


def _member_names(n_members: int) -> tuple[str, ...]:
    return tuple(f"member {place}" for place in range(n_members))


def refuse_duplicates(names: tuple[str, ...]) -> None:
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise ValueError(
            f"column names must be unique, got {', '.join(map(_check.brief, twice[:5]))} more than once; rename them."
        )


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | bytes) or not hasattr(value, "__len__") or getattr(value, "ndim", 1) == 0

"""save_labels and save_ensemble, which write files in the format that the suffix names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._data.building import as_ids
from quorate._data.proof import proven
from quorate._io.arrays import arrays_of_ensemble
from quorate._io.formulas import checked_formulas
from quorate._io.paths import FilePath, written_format_of
from quorate._io.write import Column, id_column_of, refuse_loss, refuse_quoting, write_arrays, write_table
from quorate._result_table import ResultTable
from quorate._types import NEEDS_LABELS, Ensemble, SoftEnsemble

Array = NDArray[Any]


def save_labels(
    path: FilePath,
    labels: Any,
    *,
    ids: Any = None,
    name: str = "label",
    overwrite: bool = False,
    formulas: str = "keep",
) -> None:
    """Write one labelling to a file, with the objects' ids and the confidence if they are known.

    Parameters
    ----------
    path : str or path
        .csv (.csv.gz, .tsv, .txt), .parquet, .npy, .npz or .zarr; "-" writes CSV to standard output. A .npy
        file holds the labels alone. The file is written under another name and then renamed, so that an incomplete
        file never has this name.
    labels : Consensus, Placement or integer array of shape (n_objects,)
        The labelling. -1 means missing and becomes an empty cell. If the clusters were `renamed`, their names are
        written; .npz and .zarr files keep the numbers, and the names as the array "clusters"; .npy files keep the
        numbers alone.
    ids : array of shape (n_objects,), optional
        Names of the objects; those of the Consensus by default. Their column has the same name as in the table
        that the Consensus was made from, or "id" if it had none.
    name : str, default "label"
        Name of the column of labels.
    overwrite : bool, default False
        Whether an existing file may be replaced.
    formulas : {"keep", "quote"}, default "keep"
        For text files: "quote" puts an apostrophe before cells that a spreadsheet would take for a formula (texts
        that begin with =, +, -, @, a tab or a line break, and are not numbers). `load_labels` takes it away again
        with the same option.

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
    confidence, names, id_name = None, None, "id"
    if isinstance(labels, ResultTable):
        confidence, names, id_name = labels.confidence, labels.cluster_names, labels.id_name
        ids = labels.object_ids if ids is None else ids
        labels = labels.labels
    id_name = "id" if id_name in ("", "confidence", name) else id_name
    if name in ("id", "confidence"):
        raise ValueError(f"name must differ from the columns 'id' and 'confidence', got {name!r}.")
    values = _label_vector(labels)
    ids = None if ids is None else _id_vector(ids, len(values))
    kind = written_format_of(path)
    if kind in ("npy", "npz", "zarr"):
        if checked_formulas(formulas):
            refuse_quoting(path)
        shown = None if names is None else np.array(names)
        arrays = {"labels": values, "names": np.array([name]), "ids": ids, "confidence": confidence, "clusters": shown}
        write_arrays(path, {key: array for key, array in arrays.items() if array is not None}, overwrite)
        return
    distinct, codes = np.unique(values, return_inverse=True)
    shift = int(distinct[0] == -1)
    shown = distinct[shift:] if names is None else np.array(names)[distinct[shift:]]
    columns = [Column(name, codes - shift, shown)]
    if confidence is not None:
        columns.append(Column("confidence", np.round(confidence, 6)))
    write_table(path, columns, ids, overwrite, id_name, formulas=formulas)


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
    kind = written_format_of(path)
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
    write_table(path, columns, ensemble.object_ids, overwrite, id_column_of(ensemble), formulas=formulas)


def _label_vector(labels: Any) -> Array:
    values = np.asarray(labels)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"labels must be one label per object, got an array of shape {values.shape}.")
    if values.dtype.kind not in "iu":
        raise TypeError(
            f"labels must be integers, -1 where missing, or a Consensus, got {values.dtype}; "
            f"np.unique(labels, return_inverse=True)[1] makes integers of any labels."
        )
    if values.min() < -1:
        raise ValueError(f"labels must be -1 (missing) or larger, got {values.min()}.")
    return values


def _id_vector(ids: Any, n_objects: int) -> Array:
    return as_ids(ids, n_objects)

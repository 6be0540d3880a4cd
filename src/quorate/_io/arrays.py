"""Label tables as plain arrays: .npy, .npz and Zarr, read without ever unpickling."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.alignment import refuse_repeated
from quorate._data.ensemble import read_ensemble
from quorate._data.missing import MissingRule, missing_rule
from quorate._data.proof import vary
from quorate._data.selection import select_members
from quorate._data.tables import refuse_duplicates
from quorate._io.numpy_files import read_npy, read_npz
from quorate._io.paths import FilePath, format_of
from quorate._io.text import Choose
from quorate._io.zarr_store import need_zarr, read_zarr, writing_zarr
from quorate._types import Ensemble

Array = NDArray[Any]
_LABELS, _IDS, _WEIGHTS, _COUNTS, _NAMES, _CATEGORIES = "labels", "ids", "weights", "counts", "names", "categories_"
_ID_NAME = "id_name"


def read_arrays(path: FilePath) -> dict[str, Array]:
    """Return the arrays of a file by name; the array of a file that holds a single one is named "labels"."""
    kind = format_of(path)
    if kind == "zarr":
        return read_zarr(path)
    return {_LABELS: read_npy(path)} if kind == "npy" else read_npz(path)


def ensemble_from_arrays(
    arrays: Mapping[str, Array], name: str, choose: Choose, missing: Any, orientation: str | None, check: bool
) -> Ensemble:
    """Build an ensemble from the array of labels, and from ids, names, weights, counts and categories if present."""
    labels = _label_array(arrays, name)
    refuse_repeated(arrays.get(_IDS), name)
    categories = _saved_categories(arrays, labels, name)
    if labels.dtype.kind in "US":
        # an empty text counts as a missing label in every file format
        missing = MissingRule((*missing_rule(missing).values, ""))
    ensemble = read_ensemble(
        labels,
        weights=arrays.get(_WEIGHTS),
        # labels saved with their categories are codes, in which only -1 is missing, whatever the caller declares
        missing=-1 if categories else missing,
        orientation="objects" if categories else orientation,
        ids=arrays.get(_IDS),
        counts=arrays.get(_COUNTS),
        # labels saved with their categories were checked when their ensemble was made
        check=check and not categories,
    )
    if _ID_NAME in arrays and arrays[_ID_NAME].size == 1:
        ensemble = vary(ensemble, id_name=str(arrays[_ID_NAME].reshape(-1)[0]))
    if categories:
        meant = tuple(saved[codes] for saved, codes in zip(categories, ensemble.categories, strict=True))
        ensemble = vary(ensemble, categories=meant)
    if _NAMES in arrays:
        ensemble = _with_names(ensemble, arrays[_NAMES], name)
        members = choose(ensemble.member_names).members
        return select_members(ensemble, _check.places(members, ensemble.member_names))
    choose(())
    return ensemble


def arrays_of_ensemble(ensemble: Ensemble) -> dict[str, Array]:
    """Return the arrays from which `ensemble_from_arrays` builds the same ensemble again."""
    arrays = {_LABELS: ensemble.labels, _NAMES: np.array(ensemble.member_names, dtype=np.str_)}
    if not ensemble.unit_weights:
        arrays[_WEIGHTS] = ensemble.weights
    if ensemble.n_objects != ensemble.n_rows:
        arrays[_COUNTS] = ensemble.counts
    if ensemble.object_ids is not None:
        arrays[_IDS] = without_objects(ensemble.object_ids, "ids")
        if ensemble.id_name != "id":
            arrays[_ID_NAME] = np.array([ensemble.id_name])
    for member, categories in enumerate(ensemble.categories):
        arrays[f"{_CATEGORIES}{member}"] = without_objects(categories, ensemble.member_names[member])
    return arrays


def without_objects(values: Array, name: str) -> Array:
    """Convert an array of Python strings to a numpy array of texts, because Python objects could only be pickled."""
    if values.dtype.kind != "O":
        return values
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name} holds values of several types, which .npz and .zarr cannot keep; save it as .csv.")
    return values.astype(np.str_)


def write_npz(file: IO[bytes], arrays: Mapping[str, Array], *, packed: bool = True) -> None:
    """Write arrays as `np.savez_compressed` or, if they are not packed, `np.savez` does, byte for byte.

    Before numpy 2.1 these functions take allow_pickle for one more array, and after an error they leave the archive
    open, which Python then closes with a traceback on standard error.
    """
    archive = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED)
    try:
        for name, values in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asanyarray(values), allow_pickle=False)
        archive.close()
    except BaseException:
        # What was written is thrown away. Closing the archive would raise an error of its own if a signal arrived
        # while an entry was being opened, and without a file neither close nor the destructor do anything.
        archive.fp = None
        raise


@writing_zarr()
def write_zarr(folder: Path, arrays: Mapping[str, Array]) -> None:
    """Write the arrays as a Zarr group in format 2, the only format that specifies texts of fixed width.

    Chunks that hold only zeros are written as well, so that the reader knows that an absent chunk was lost.
    """
    zarr = need_zarr()
    options = {} if zarr.__version__.startswith("2.") else {"zarr_format": 2}
    group = zarr.open_group(os.fspath(folder), mode="w", **options)
    for name, values in arrays.items():
        if options:
            group.create_array(name, data=np.ascontiguousarray(values), config={"write_empty_chunks": True})
        else:
            group.create_dataset(name, data=values, write_empty_chunks=True)


def _label_array(arrays: Mapping[str, Array], name: str) -> Array:
    if _LABELS in arrays:
        return arrays[_LABELS]
    tables = [key for key, values in arrays.items() if values.ndim == 2]
    if len(tables) == 1:
        return arrays[tables[0]]
    held = ", ".join(f"{key} {values.shape}" for key, values in arrays.items()) or "none"
    raise ValueError(
        f"{name} must hold an array named 'labels' or exactly one 2-D array, found {held}; "
        f"save the labels as np.savez(path, labels=labels)."
    )


def _saved_categories(arrays: Mapping[str, Array], labels: Array, name: str) -> list[Array]:
    """Return, for each member, the values its codes stand for; an empty list if the file holds no categories.

    Raises ValueError if a member has codes without a value.
    """
    if f"{_CATEGORIES}0" not in arrays or labels.ndim != 2:
        return []
    categories = []
    for member in range(labels.shape[1]):
        values = arrays.get(f"{_CATEGORIES}{member}", np.empty(0))
        n_codes = 1 + int(labels[:, member].max(initial=-1)) if labels.dtype.kind in "iu" else -1
        if values.ndim != 1 or not 0 <= n_codes <= len(values):
            raise ValueError(
                f"{name}: the array '{_CATEGORIES}{member}' must hold one value for each code of member {member}, "
                f"{n_codes:,} in all, and the labels must be integers; it has the shape {values.shape}."
            )
        categories.append(values)
    return categories


def _with_names(ensemble: Ensemble, names: Array, name: str) -> Ensemble:
    if names.shape != (ensemble.n_members,):
        raise ValueError(
            f"{name} holds {ensemble.n_members} members and an array 'names' of shape {names.shape}; "
            f"it must have one name per member."
        )
    members = tuple(str(text) for text in names)
    try:
        refuse_duplicates(members)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    return vary(ensemble, member_names=members)

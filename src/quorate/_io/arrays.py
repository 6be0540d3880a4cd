"""Label tables as plain arrays: .npy, .npz and Zarr, read without ever unpickling."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from quorate._data.alignment import refuse_repeated
from quorate._data.ensemble import read_ensemble
from quorate._data.missing import MissingRule, missing_rule
from quorate._data.selection import select_members
from quorate._io.paths import FilePath, format_of, name_of, reading, refuse_content, refuse_unreadable
from quorate._io.text import Choose
from quorate._types import Ensemble

Array = NDArray[Any]
_LABELS, _IDS, _WEIGHTS, _COUNTS, _NAMES, _CATEGORIES = "labels", "ids", "weights", "counts", "names", "categories_"
_ID_NAME = "id_name"


def read_arrays(path: FilePath) -> dict[str, Array]:
    """The arrays of a file by name; a file of one array has it under "labels"."""
    kind = format_of(path)
    if kind == "zarr":
        return _read_zarr(path)
    with reading(path) as file:
        refuse_content(path, file.peek(8), b"\x93NUMPY" if kind == "npy" else b"PK\x03\x04")
        try:
            found = np.load(file, allow_pickle=False)
            return {_LABELS: found} if kind == "npy" else {name: found[name] for name in found.files}
        except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
            reason = str(error)
    if "pickle" in reason or "Object arrays" in reason:
        raise ValueError(
            f"{name_of(path)} holds Python objects, which could run code when read, so it is refused; "
            f"save labels as an array of numbers or texts: labels.astype(str)."
        )
    raise ValueError(f"{name_of(path)} could not be read as .{kind}: {reason}; it may be cut short.")


def _read_zarr(path: FilePath) -> dict[str, Array]:
    refuse_unreadable(path)
    zarr = need_zarr()
    try:
        found = zarr.open(os.fspath(path), mode="r")
        if hasattr(found, "shape"):
            return {_LABELS: np.asarray(found[...])}
        return {str(name): np.asarray(item[...]) for name, item in found.arrays()}
    except Exception as error:  # zarr's own errors have no common family
        raise ValueError(f"{name_of(path)} could not be read as Zarr: {error}.") from error


def need_zarr() -> Any:
    try:
        import zarr
    except ImportError as error:
        raise ImportError('.zarr files need zarr; install it with: pip install "quorate[zarr]"') from error
    return zarr


def ensemble_from_arrays(
    arrays: Mapping[str, Array], name: str, choose: Choose, missing: Any, orientation: str | None, check: bool
) -> Ensemble:
    """An ensemble from the array of labels and, where they are there, ids, names, weights, counts, categories."""
    labels = _label_array(arrays, name)
    refuse_repeated(arrays.get(_IDS), name)
    categories = _saved_categories(arrays, labels)
    if labels.dtype.kind in "US":
        # an empty text is no label in any kind of file
        missing = MissingRule((*missing_rule(missing).values, ""))
    ensemble = read_ensemble(
        labels,
        weights=arrays.get(_WEIGHTS),
        # labels with categories beside them are codes, whatever stood for missing before they were coded
        missing=-1 if categories else missing,
        orientation="objects" if categories else orientation,
        ids=arrays.get(_IDS),
        counts=arrays.get(_COUNTS),
        # what was saved with its categories was an ensemble already
        check=check and not categories,
    )
    if _ID_NAME in arrays and arrays[_ID_NAME].size == 1:
        ensemble = replace(ensemble, id_name=str(arrays[_ID_NAME].reshape(-1)[0]))
    if categories:
        meant = tuple(saved[codes] for saved, codes in zip(categories, ensemble.categories, strict=True))
        ensemble = replace(ensemble, categories=meant)
    if _NAMES in arrays:
        ensemble = _with_names(ensemble, arrays[_NAMES], name)
        members = choose(ensemble.member_names).members
        return select_members(ensemble, [ensemble.member_names.index(member) for member in members])
    choose(())
    return ensemble


def arrays_of_ensemble(ensemble: Ensemble) -> dict[str, Array]:
    """What `ensemble_from_arrays` needs to give the same ensemble back."""
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
    """Texts as an array of texts: an array of Python objects could only be pickled."""
    if values.dtype.kind != "O":
        return values
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name} holds values of several types, which .npz and .zarr cannot keep; save it as .csv.")
    return values.astype(np.str_)


def write_npz(file: IO[bytes], arrays: Mapping[str, Array]) -> None:
    # before numpy 2.1 allow_pickle would be one more array here; `without_objects` sees to it that none is pickled
    named: dict[str, Any] = dict(arrays)
    np.savez_compressed(file, **named)


def write_zarr(folder: Path, arrays: Mapping[str, Array]) -> None:
    """A group, in format 2: the only one in which texts of fixed width are specified."""
    zarr = need_zarr()
    options = {} if zarr.__version__.startswith("2.") else {"zarr_format": 2}
    group = zarr.open_group(os.fspath(folder), mode="w", **options)
    for name, values in arrays.items():
        if options:
            group.create_array(name, data=np.ascontiguousarray(values))
        else:
            group.create_dataset(name, data=values)


def _label_array(arrays: Mapping[str, Array], name: str) -> Array:
    if _LABELS in arrays:
        return arrays[_LABELS]
    tables = [key for key, values in arrays.items() if values.ndim == 2]
    if len(tables) == 1:
        return arrays[tables[0]]
    found = ", ".join(f"{key} {values.shape}" for key, values in arrays.items()) or "none"
    raise ValueError(
        f"{name} must hold an array named 'labels' or exactly one 2-D array, found {found}; "
        f"save the labels as np.savez(path, labels=labels)."
    )


def _saved_categories(arrays: Mapping[str, Array], labels: Array) -> list[Array]:
    if f"{_CATEGORIES}0" not in arrays or labels.ndim != 2:
        return []
    return [arrays[f"{_CATEGORIES}{member}"] for member in range(labels.shape[1])]


def _with_names(ensemble: Ensemble, names: Array, name: str) -> Ensemble:
    if names.shape != (ensemble.n_members,):
        raise ValueError(
            f"{name} holds {ensemble.n_members} members and an array 'names' of shape {names.shape}; "
            f"it must have one name per member."
        )
    return replace(ensemble, member_names=tuple(str(text) for text in names))

"""save_model and load_model: a fitted EnsembleClustering in one .npz file, which predicts without the training data."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from quorate._check import brief
from quorate._consensus.place import cluster_profiles
from quorate._data.mixed_columns import ColumnCode, MixedColumns
from quorate._data.proof import prove_compressed, proven
from quorate._data.rows import compress
from quorate._io.arrays import read_arrays, without_objects, write_npz
from quorate._io.aside import write_aside
from quorate._io.load import Measurements
from quorate._io.paths import FilePath, format_of, is_standard, name_of
from quorate._types import Consensus, Ensemble, Json
from quorate.estimators.ensemble_clustering import EnsembleClustering
from quorate.generation.features import Standard, View
from quorate.generation.gaussian import Densities, Gaussians
from quorate.generation.landmarks import Landmarks, SparseLandmarks
from quorate.generation.members import Centres
from quorate.generation.spectral import Embedded

Array = NDArray[Any]
MARK = "quorate_model"
VERSION = 1
_KINDS = ("number", "date", "yes/no", "category")


def save_model(path: FilePath, model: EnsembleClustering, *, overwrite: bool = False) -> None:
    """Write what a fitted EnsembleClustering needs to label new objects to one .npz file, without pickled objects.

    Parameters
    ----------
    path : str or path
        A name that ends in .npz. The file is written under another name and then renamed.
    model : EnsembleClustering
        A fitted one, whose members are k-means, spectral or Gaussian clusterings, as they are by default.
    overwrite : bool, default False
        Whether an existing file may be replaced.

    See Also
    --------
    load_model : Reads the file again.
    save_consensus : Writes the result for the objects that were clustered.

    Notes
    -----
    The file holds the centres, landmarks and Gaussians of the members, distinct rows of labels, and names and scales of
    the columns, but no object that was clustered; landmarks and centres are means or, for sparse measurements, objects.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from quorate import EnsembleClustering
    >>> X = np.concatenate([np.random.default_rng(0).normal(m, 1, size=(50, 2)) for m in (0, 9)])
    >>> model = EnsembleClustering(2, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(Path(folder) / "model.npz", model)
    ...     again = load_model(Path(folder) / "model.npz")
    >>> again.predict([[0.0, 0.0], [9.0, 9.0]]).tolist()
    [0, 1]
    """
    if not isinstance(model, EnsembleClustering):
        raise TypeError(f"model must be an EnsembleClustering, got {type(model).__name__}.")
    check_is_fitted(model)
    _refuse_format(path)
    arrays = _arrays_of(model)
    write_aside(path, lambda file: write_npz(file, arrays), overwrite=overwrite)


class FittedMembers(NamedTuple):
    """What the shell knows of members that it made: their models, the units and the columns of the measurements.

    `table` is what was read: names of columns, and how they became numbers.
    """

    models: list[Any]
    units: tuple[Any, float]
    n_columns: int
    table: Measurements


def model_of(fitted: FittedMembers, ensemble: Ensemble, result: Consensus) -> EnsembleClustering:
    """Return the EnsembleClustering that the shell has fitted step by step."""
    coding, standard = fitted.table.coding, fitted.table.standard
    model = EnsembleClustering(
        result.n_clusters, columns=1.0 if coding is None else "auto", scale=None if standard is None else "z"
    )
    model._models, model._units, model._standard = fitted.models, fitted.units, standard
    model.n_features_in_ = fitted.n_columns
    if coding is not None:
        model.columns_, model.n_features_in_ = coding, len(coding.columns) + len(coding.left_out)
    elif fitted.table.names is not None:
        model.feature_names_in_ = np.array(fitted.table.names, dtype=object)
    rows, inverse = compress(ensemble)
    labels = np.empty(rows.n_rows, dtype=np.int32)
    labels[inverse] = result.labels
    model.ensemble_, model.consensus_, model.n_clusters_ = ensemble, result, result.n_clusters
    model._rows, model._row_labels, model._profiles = rows, labels, cluster_profiles(rows, labels)
    return model


def _refuse_format(path: FilePath) -> None:
    if is_standard(path) or format_of(path) != "npz":
        raise ValueError(f"a model is kept in a .npz file, got {brief(str(path))}.")


def _arrays_of(model: EnsembleClustering) -> dict[str, Array]:
    """Return the arrays of the file by name; the one named MARK is a JSON text that says what they are."""
    rows: Ensemble = model._rows
    arrays: dict[str, Array] = {
        "rows": rows.labels,
        "counts": rows.counts,
        "n_clusters": rows.n_clusters,
        "weights": rows.weights,
        "labels": model._row_labels,
        "shift": np.asarray(model._units[0], dtype=np.float64),
    }
    for place, categories in enumerate(rows.categories):
        arrays[f"categories {place}"] = categories
    if model._standard is not None:
        arrays |= {"mean": model._standard.mean, "spread": model._standard.spread}
    members = [_of_member(member, place, arrays) for place, member in enumerate(model._models)]
    names = getattr(model, "feature_names_in_", None)
    mixed = getattr(model, "columns_", None) if model.columns == "auto" else None
    description = {
        "format": MARK,
        "version": VERSION,
        "scale": float(model._units[1]),
        "members": members,
        "n_features": int(model.n_features_in_),
        "n_columns": len(arrays["shift"]),
        "feature_names": None if names is None else [str(name) for name in names],
        "columns": None if mixed is None else [_of_code(code, i, arrays) for i, code in enumerate(mixed.columns)],
        "left_out": {} if mixed is None else dict(mixed.left_out),
        "n_gaps": 0 if mixed is None else mixed.n_gaps,
        "names": None if model.consensus_.cluster_names is None else list(model.consensus_.cluster_names),
    }
    arrays[MARK] = np.frombuffer(json.dumps(description).encode(), dtype=np.uint8)
    return {name: without_objects(values, name) for name, values in arrays.items()}


def _of_member(member: Any, place: int, arrays: dict[str, Array]) -> dict[str, Any]:
    """Add the arrays of one member, and return the other facts about it."""

    def keep(name: str, values: Array | None) -> None:
        if values is not None:
            arrays[f"{place} {name}"] = values

    if not isinstance(member, Centres | Embedded | Gaussians):
        raise ValueError(
            "members of other clusterers cannot be saved without pickling them; a model is saved if its members are "
            "k-means, spectral or Gaussian clusterings (base='auto', 'kmeans', 'spectral' or 'gaussian')."
        )
    keep("view columns", member.view.columns)
    keep("view matrix", member.view.matrix)
    if isinstance(member, Gaussians):
        keep("axes", member.directions)
        keep("centre", member.centre)
        for name, values in member.densities._asdict().items():
            keep(name, values)
        return {"kind": "gaussians"}
    keep("centres", member.centres)
    if isinstance(member, Centres):
        return {"kind": "centres"}
    landmarks = member.landmarks
    keep("table", member.table)
    facts: dict[str, Any] = {"width": float(member.width), "neighbours": int(landmarks.neighbours)}
    if isinstance(landmarks, SparseLandmarks):
        points = landmarks.points.tocsr()
        for name, values in (("data", points.data), ("indices", points.indices), ("indptr", points.indptr)):
            keep(name, values)
        return {"kind": "sparse landmarks", **facts}
    for name in ("points", "groups", "starts", "around", "directions"):
        keep(name, getattr(landmarks, name))
    return {"kind": "landmarks", **facts}


def _of_code(code: ColumnCode, place: int, arrays: dict[str, Array]) -> dict[str, Any]:
    arrays[f"column {place}"] = np.asarray(code.centre, dtype=np.float64)
    return {"name": code.name, "kind": code.kind, "unit": float(code.unit), "categories": list(code.categories)}


def load_model(path: FilePath) -> EnsembleClustering:
    """Read a model that `save_model` wrote: an EnsembleClustering that can `predict` and `transform`.

    Parameters
    ----------
    path : str or path
        A .npz file.

    Returns
    -------
    EnsembleClustering
        It has no `labels_`, `ensemble_` and `consensus_`, which belong to the objects that were clustered.

    Raises
    ------
    ValueError
        If the file was not written by `save_model`, is damaged, or is of another version.

    Examples
    --------
    >>> load_model("labels.csv")
    Traceback (most recent call last):
        ...
    ValueError: a model is kept in a .npz file, got 'labels.csv'.
    """
    _refuse_format(path)
    source = name_of(path)
    arrays = read_arrays(path)
    if MARK not in arrays:
        raise ValueError(f"{source} was not written by save_model.")
    try:
        description = json.loads(arrays[MARK].tobytes().decode())
        if description["format"] != MARK:
            raise ValueError("its description is not that of a model")
        version = description["version"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{source} is damaged: its description cannot be read.") from error
    if version != VERSION:
        raise ValueError(
            f"{source} was written by another version of quorate (format {brief(version)}); save it again."
        )
    try:
        return _model_of(description, arrays)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, OverflowError) as error:
        raise ValueError(f"{source} is damaged: {brief(str(error), most=200, quoted=False)}.") from error


def _require(holds: Any, fault: str) -> None:
    if not holds:
        raise ValueError(fault)


def _floats(arrays: Mapping[str, Array], name: str, n_dim: int, kind: Any = np.float64) -> Array:
    """Return an array of finite numbers of a type, with so many dimensions."""
    values = arrays[name]
    _require(
        values.dtype == kind and values.ndim == n_dim and np.isfinite(values).all(), f"{name} is not what it must be"
    )
    return np.ascontiguousarray(values)


def _whole(value: Any, low: int, high: int, name: str) -> int:
    _require(isinstance(value, int) and not isinstance(value, bool) and low <= value <= high, f"{name} is out of range")
    return int(value)


def _model_of(description: Json, arrays: Mapping[str, Array]) -> EnsembleClustering:
    """Return the model after everything that compiled code relies on was proven."""
    n_columns = _whole(description["n_columns"], 1, 1 << 40, "the number of columns")
    scale = description["scale"]
    _require(isinstance(scale, float) and 0 < scale < np.inf, "the scale is out of range")
    shift = _floats(arrays, "shift", 1)
    _require(len(shift) == n_columns, "shift does not fit the number of columns")
    coding = _coding_of(description, arrays)
    model = EnsembleClustering(columns=1.0 if coding is None else "auto")
    if coding is not None:
        _require(len(coding.names) == n_columns, "the codes of columns do not fit their number")
        model.columns_ = coding
    model._units = shift, scale
    model._models = [_member_of(facts, place, arrays, n_columns) for place, facts in enumerate(description["members"])]
    model.n_features_in_ = _whole(description["n_features"], 1, 1 << 40, "the number of columns")
    _require(
        coding is not None or model.n_features_in_ == n_columns, "the number of columns is not that of the members"
    )
    names = description["feature_names"]
    if names is not None:
        _require(len(names) == model.n_features_in_ and all(isinstance(n, str) for n in names), "names are no texts")
        model.feature_names_in_ = np.array(names, dtype=object)
    if "mean" in arrays:
        mean, spread = _floats(arrays, "mean", 1), _floats(arrays, "spread", 1)
        _require(len(mean) == len(spread) == n_columns, "means do not fit the number of columns")
        model._standard = Standard(mean, spread)
        model.scale = "z"
    _add_rows(model, arrays)
    return model


def _add_rows(model: EnsembleClustering, arrays: Mapping[str, Array]) -> None:
    """Add the distinct rows of labels with their clusters."""
    n_members = len(model._models)
    categories = tuple(arrays[f"categories {place}"] for place in range(n_members))
    for values, member in zip(categories, model._models, strict=True):
        _require(values.ndim == 1 and values.dtype.kind == "i" and len(values), "labels of a member are no integers")
        _require(values.min() >= 0 and values.max() < member.n_clusters, "labels of a member are out of range")
    rows = Ensemble(
        arrays["rows"],
        arrays["counts"],
        arrays["n_clusters"],
        arrays["weights"],
        tuple(f"member {place}" for place in range(n_members)),
        categories,
    )
    proven(rows)
    _require(rows.n_clusters.tolist() == [len(values) for values in categories], "labels do not fit their numbers")
    labels = arrays["labels"]
    _require(labels.dtype == np.int32 and labels.shape == (rows.n_rows,), "clusters do not fit the rows of labels")
    n_clusters = int(labels.max()) + 1
    _require(labels.min() >= 0 and n_clusters <= rows.n_rows, "clusters are out of range")
    _require(np.bincount(labels, minlength=n_clusters).all(), "a cluster has no row of labels")
    model._rows, model._row_labels = rows, labels
    model._profiles = cluster_profiles(rows, labels)
    model.n_clusters_ = model._n_features_out = model.n_clusters = n_clusters


def _coding_of(description: Json, arrays: Mapping[str, Array]) -> MixedColumns | None:
    if description["columns"] is None:
        return None
    codes = []
    for place, entry in enumerate(description["columns"]):
        centre = _floats(arrays, f"column {place}", 1)
        categories, unit = tuple(entry["categories"]), entry["unit"]
        _require(entry["kind"] in _KINDS and isinstance(entry["name"], str), "a column has no known kind")
        _require(all(isinstance(category, str) for category in categories), "categories are no texts")
        few = categories in ((), *((("day",), ("month",)) if entry["kind"] == "date" else ()))
        _require(bool(categories) if entry["kind"] == "category" else few, "a column does not fit its categories")
        n_values = len(categories) if entry["kind"] == "category" else 1
        _require(len(centre) == n_values, "a column does not fit its categories")
        _require(isinstance(unit, float) and 0 < unit < np.inf, "the unit of a column is out of range")
        codes.append(ColumnCode(entry["name"], entry["kind"], centre, unit, categories))
    left_out = {str(name): str(reason) for name, reason in description["left_out"].items()}
    return MixedColumns(tuple(codes), left_out, _whole(description["n_gaps"], 0, 1 << 60, "the number of gaps"))


def _member_of(facts: Json, place: int, arrays: Mapping[str, Array], n_columns: int) -> Centres | Embedded | Gaussians:
    view = _view_of(place, arrays, n_columns)
    width = view.width(n_columns)
    if facts["kind"] == "gaussians":
        return _gaussians_of(place, arrays, view, width)
    centres = _floats(arrays, f"{place} centres", 2, np.float32)
    _require(len(centres), "a member has no centres")
    if facts["kind"] == "centres":
        _require(centres.shape[1] == width, "centres do not fit the columns")
        return Centres(centres, view)
    read: Callable[..., Any] = {"landmarks": _landmarks_of, "sparse landmarks": _sparse_landmarks_of}[facts["kind"]]
    landmarks = read(facts, place, arrays, width)
    table = _floats(arrays, f"{place} table", 2)
    _require(len(table) == len(landmarks) and table.shape[1] == centres.shape[1], "points do not fit the landmarks")
    length = facts["width"]
    _require(isinstance(length, float) and 0 < length < np.inf, "the length of links is out of range")
    return Embedded(landmarks, length, table, centres, view, {})


def _gaussians_of(place: int, arrays: Mapping[str, Array], view: View, width: int) -> Gaussians:
    directions, centre = _floats(arrays, f"{place} axes", 2), _floats(arrays, f"{place} centre", 1)
    densities = Densities(
        *(_floats(arrays, f"{place} {name}", n) for name, n in zip(Densities._fields, (2, 2, 1), strict=True))
    )
    d, k = len(centre), len(densities.constant)
    _require(k and directions.shape == (width, d), "directions do not fit the columns")
    fits = densities.quadratic.shape == (d * (d + 1) // 2, k) and densities.linear.shape == (d, k)
    _require(fits, "Gaussians do not fit their directions")
    return Gaussians(directions, centre, densities, view, {})


def _view_of(place: int, arrays: Mapping[str, Array], n_columns: int) -> View:
    columns, matrix = arrays.get(f"{place} view columns"), arrays.get(f"{place} view matrix")
    if columns is not None:
        _require(
            columns.ndim == 1 and columns.dtype.kind == "i" and len(columns), "columns of a member are no integers"
        )
        _require(columns.min() >= 0 and columns.max() < n_columns, "columns of a member are out of range")
        columns = columns.astype(np.intp)
    if matrix is not None:
        matrix = _floats(arrays, f"{place} view matrix", 2)
        _require(len(matrix) == n_columns and matrix.shape[1], "a projection does not fit the columns")
    return View(columns, matrix)


def _landmarks_of(facts: Json, place: int, arrays: Mapping[str, Array], width: int) -> Landmarks:
    points = _floats(arrays, f"{place} points", 2, np.float32)
    directions = groups = None
    if f"{place} directions" in arrays:
        directions = _floats(arrays, f"{place} directions", 2, np.float32)
        _require(
            directions.shape[1] == -(-width // 4) * 4 and len(directions) % 4 == 0, "directions do not fit the columns"
        )
        width = len(directions)
    _require(len(points) and points.shape[1] == width, "landmarks do not fit the columns")
    starts, around = arrays[f"{place} starts"], arrays[f"{place} around"]
    _require(starts.dtype == np.int64 and starts.ndim == 1 and around.dtype == np.int32, "landmarks have other types")
    neighbours = _whole(facts["neighbours"], 1, 1 << 20, "the number of neighbours")
    if f"{place} groups" in arrays:
        groups = _floats(arrays, f"{place} groups", 2, np.float32)
        fits = len(starts) == len(groups) + 1 and starts[0] == 0 and starts[-1] == len(points)
        _require(fits and len(groups) and (np.diff(starts) > 0).all() and groups.shape[1] == width, "groups do not fit")
        fits = around.ndim == 2 and len(around) == len(points) and around.shape[1] >= min(neighbours, len(points))
        _require(fits and around.min() >= 0 and around.max() < len(points), "neighbours of landmarks are out of range")
    return Landmarks(points, neighbours, groups, starts, np.ascontiguousarray(around), directions)


def _sparse_landmarks_of(facts: Json, place: int, arrays: Mapping[str, Array], width: int) -> SparseLandmarks:
    data, indices, indptr = (arrays[f"{place} {name}"] for name in ("data", "indices", "indptr"))
    shape = (len(indptr) - 1, width)
    prove_compressed(indptr, indices, shape, "landmarks")
    _require(
        data.dtype == np.float32 and data.shape == indices.shape and np.isfinite(data).all(), "landmarks are damaged"
    )
    _require(shape[0], "a member has no landmarks")
    points = csr_array((data, indices, indptr), shape=shape)
    return SparseLandmarks(points, _whole(facts["neighbours"], 1, 1 << 20, "the number of neighbours"))

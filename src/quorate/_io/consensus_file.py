"""save_consensus and load_consensus: a whole result in one .npz file, read without ever unpickling."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._check import counted
from quorate._io.arrays import read_arrays, without_objects, write_npz
from quorate._io.aside import write_aside
from quorate._io.paths import FilePath, format_of, is_standard, name_of
from quorate._summaries import Candidate, Choice
from quorate._types import Consensus

Array = NDArray[Any]
MARK = "quorate_consensus"
"""The name of the array that holds the JSON text. Only files written by `save_consensus` have this array."""
VERSION = 1
_FACTS = ("objective", "n_iter", "converged", "method", "id_name")
_ARRAYS = {
    "labels": "labels",
    "confidence": "confidence",
    "runner_up": "runner_up",
    "tree": "tree",
    "rows": "rows",
    # load_labels looks for the ids under this name too
    "ids": "object_ids",
}
_PER_OBJECT = ("labels", "confidence", "runner_up", "rows", "ids")


class _NotPlainError(TypeError):
    """A value that JSON and arrays cannot hold."""


def save_consensus(path: FilePath, result: Consensus, *, overwrite: bool = False) -> None:
    """Write everything a Consensus holds to one .npz file, which `load_consensus` gives back.

    Parameters
    ----------
    path : str or path
        A name that ends in .npz. The file is written under another name and then renamed, so that an incomplete
        file never has this name.
    result : Consensus
        The result to save: its labels, confidence, runner-up, tree, rows, ids, names of clusters, method and
        objective, and its `info`, which includes the seed.
    overwrite : bool, default False
        Whether an existing file may be replaced.

    See Also
    --------
    load_consensus : Reads the file again.
    save_labels : Writes the labels as a table for other programs.

    Notes
    -----
    The file holds arrays of numbers and texts, and one JSON text; nothing in it is pickled, so that reading it
    cannot run code. Values of `info` are kept if they are plain (numbers, texts, arrays, lists and mappings of them,
    the `Choice` of `choose_k`); tuples come back as lists. Other values are left out, and their names are kept as
    ``info["left_out"]``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from quorate import consensus
    >>> result = consensus([[0, 0, 1], [0, 0, 1]], 2, method="kmeans", random_state=7)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_consensus(Path(folder) / "result.npz", result)
    ...     again = load_consensus(Path(folder) / "result.npz")
    >>> again.labels, again.method, again.info["seed"]
    (array([0, 0, 1], dtype=int32), 'kmeans', 7)
    """
    if not isinstance(result, Consensus):
        raise TypeError(f"result must be a Consensus, got {type(result).__name__}; save_labels writes plain labels.")
    _refuse_format(path)
    arrays = arrays_of_consensus(result)
    write_aside(path, lambda file: write_npz(file, arrays), overwrite=overwrite)


def arrays_of_consensus(result: Consensus) -> dict[str, Array]:
    """Return the arrays of the file that `save_consensus` writes, by name."""
    arrays = {name: getattr(result, attribute) for name, attribute in _ARRAYS.items()}
    arrays = {name: without_objects(values, name) for name, values in arrays.items() if values is not None}
    info, left_out = {}, []
    for name, value in result.info.items():
        try:
            info[name] = _encoded(value, arrays)
        except _NotPlainError:
            left_out.append(name)
    if left_out:
        info["left_out"] = left_out
    description = {
        "format": MARK,
        "version": VERSION,
        **{name: _encoded(getattr(result, name), arrays) for name in _FACTS},
        "cluster_names": None if result.cluster_names is None else list(result.cluster_names),
        "info": info,
    }
    arrays[MARK] = np.frombuffer(json.dumps(description).encode(), dtype=np.uint8)
    return arrays


def load_consensus(path: FilePath) -> Consensus:
    """Read a Consensus that `save_consensus` wrote.

    Parameters
    ----------
    path : str or path
        A .npz file.

    Returns
    -------
    Consensus
        The saved result, without the values of `info` that could not be kept (``info["left_out"]`` names them).

    Raises
    ------
    ValueError
        If the file was not written by `save_consensus`, is damaged, or is of a later version.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from quorate import consensus
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_consensus(Path(folder) / "result.npz", consensus([[0, 0, 1], [0, 0, 1]], 2, random_state=7))
    ...     load_consensus(Path(folder) / "result.npz").labels
    array([0, 0, 1], dtype=int32)
    """
    _refuse_format(path)
    arrays, source = read_arrays(path), name_of(path)
    if MARK not in arrays:
        raise ValueError(f"{source} was not written by save_consensus; load_labels reads tables of labels.")
    description = _read_description(arrays[MARK], source)
    names = description["cluster_names"]
    _refuse_arrays(arrays, names, source)
    try:
        held: dict[str, Any] = {
            **{attribute: arrays.get(name) for name, attribute in _ARRAYS.items()},
            **{name: description[name] for name in _FACTS},
            "cluster_names": None if names is None else tuple(names),
            "info": {name: _decoded(value, arrays) for name, value in description["info"].items()},
        }
        return Consensus(**held)
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(source, repr(error)) from error


def _read_description(text: Array, source: str) -> dict[str, Any]:
    """Parse the JSON text of a saved result, and raise if facts are missing or the version is another one."""
    try:
        description: dict[str, Any] = json.loads(text.tobytes().decode())
        version = description["version"]
        if description["format"] != MARK or not {*_FACTS, "cluster_names", "info"} <= set(description):
            raise ValueError("facts are missing")
    except (ValueError, TypeError, KeyError) as error:
        raise _damaged(source, "its description cannot be read") from error
    if version != VERSION:
        raise ValueError(
            f"{source} was written by another version of quorate (format {version}, this one reads {VERSION}); "
            f"{_advice(version)}."
        )
    return description


def _advice(version: Any) -> str:
    if isinstance(version, int) and version < VERSION:
        return "read it with that older version and write it again with save_labels, or repeat the consensus"
    return "install a newer quorate"


def _refuse_format(path: FilePath) -> None:
    if is_standard(path) or format_of(path) != "npz":
        raise ValueError(
            f"a Consensus is kept in a .npz file, got {str(Path(path))!r}; save_labels writes other kinds."
        )


def _refuse_arrays(arrays: Mapping[str, Array], names: list[str] | None, source: str) -> None:
    """Raise unless the arrays fit a Consensus, because a number out of range could cost any amount of memory."""
    labels = arrays.get("labels")
    if labels is None or labels.ndim != 1 or labels.dtype != np.int32 or not len(labels):
        raise _damaged(source, "it has no labels of at least one object")
    n_clusters = int(labels.max()) + 1
    if labels.min() < 0 or n_clusters > len(labels):
        raise _damaged(
            source, f"{counted(len(labels), 'object')} cannot have labels from {labels.min()} to {labels.max()}"
        )
    for name in _PER_OBJECT:
        if name in arrays and arrays[name].shape != labels.shape:
            raise _damaged(source, f"{counted(len(labels), 'label')}, but {name} of shape {arrays[name].shape}")
    for name, low, high in (("runner_up", -1, n_clusters), ("rows", 0, len(labels))):
        values = arrays.get(name)
        if values is not None and (values.dtype.kind != "i" or values.min() < low or values.max() >= high):
            raise _damaged(source, f"{name} must be integers from {low} to {high - 1:,}")
    tree = arrays.get("tree", np.empty((0, 4)))
    if tree.ndim != 2 or tree.shape[1] != 4 or tree.dtype.kind != "f" or len(tree) >= len(labels):
        raise _damaged(source, f"a tree of shape {tree.shape} does not belong to {counted(len(labels), 'object')}")
    if names is not None and (len(names) != n_clusters or not all(isinstance(name, str) for name in names)):
        raise _damaged(source, f"{counted(len(names), 'name')} for {counted(n_clusters, 'cluster')}")


def _damaged(source: str, what: str) -> ValueError:
    return ValueError(f"{source} is damaged: {what}; save the result again.")


def _encoded(value: Any, arrays: dict[str, Array]) -> Any:
    """Return a value in a form that JSON can hold; an array is added to `arrays` and replaced by its name there."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufUSmM":
        name = f"info_{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, Choice | Candidate):
        facts = {entry.name: getattr(value, entry.name) for entry in fields(value)}
        return {type(value).__name__: _encoded(facts, arrays)}
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {"map": [[_encoded(key, arrays), _encoded(entry, arrays)] for key, entry in value.items()]}
    if isinstance(value, list | tuple):
        return [_encoded(entry, arrays) for entry in value]
    raise _NotPlainError


def _decoded(value: Any, arrays: Mapping[str, Array]) -> Any:
    if isinstance(value, list):
        return [_decoded(entry, arrays) for entry in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "array":
        return arrays[content]
    if kind == "map":
        return {_decoded(key, arrays): _decoded(entry, arrays) for key, entry in content}
    facts = _decoded(content, arrays)
    made = {"Choice": Choice, "Candidate": Candidate}[kind]
    if made is Choice:
        facts = {**facts, "table": tuple(facts["table"]), "candidates": tuple(facts.get("candidates", ()))}
    known = {entry.name for entry in fields(made)}
    return made(**{name: fact for name, fact in facts.items() if name in known})

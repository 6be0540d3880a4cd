"""save_consensus and load_consensus: a whole result in one .npz file, read without ever unpickling."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._check import brief, counted
from quorate._data.proof import prove_tree
from quorate._io.arrays import read_arrays, without_objects, write_npz
from quorate._io.aside import write_aside
from quorate._io.paths import FilePath, format_of, is_standard, name_of, refuse_place
from quorate._summaries import Candidate, Choice
from quorate._types import Consensus, Json

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
    source = name_of(path)
    arrays = read_arrays(path, partial(_wanted, source))
    description = _read_description(arrays[MARK], source)
    names = description["cluster_names"]
    try:
        _prove_facts(description)
        _prove_arrays(arrays, names)
        held: dict[str, Any] = {
            **{attribute: arrays.get(name) for name, attribute in _ARRAYS.items()},
            **{name: description[name] for name in _FACTS},
            "cluster_names": None if names is None else tuple(names),
            "info": {name: _decoded(value, arrays) for name, value in description["info"].items()},
        }
        result = Consensus(**held)
        _prove_info(result)
        return result
    except _UnfitError as error:
        raise _damaged(source, str(error)) from error
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise _damaged(source, brief(repr(error), most=200, quoted=False)) from error


def _wanted(source: str, names: Sequence[str], read: dict[str, Array]) -> Iterator[str]:
    """The arrays that belong to the result; the description, which comes first, names those of `info`."""
    if MARK not in names:
        raise ValueError(f"{source} was not written by save_consensus; load_labels reads tables of labels.")
    yield MARK
    info = _read_description(read[MARK], source)["info"]
    named = set(_ARRAYS)
    try:
        open_values = [info]
        while open_values:
            value = open_values.pop()
            if isinstance(value, dict):
                named |= {entry for kind, entry in value.items() if kind == "array" and isinstance(entry, str)}
            if isinstance(value, dict | list):
                open_values += value.values() if isinstance(value, dict) else value
    except RecursionError as error:
        raise _damaged(source, "its description is too deep") from error
    yield from (name for name in names if name in named and name != MARK)


def _read_description(text: Array, source: str) -> dict[str, Any]:
    """Parse the JSON text of a saved result, and raise if facts are missing or the version is another one."""
    try:
        description: dict[str, Any] = json.loads(text.tobytes().decode())
        version = description["version"]
        if description["format"] != MARK or not {*_FACTS, "cluster_names", "info"} <= set(description):
            raise ValueError("facts are missing")
        if not isinstance(description["info"], dict):
            raise TypeError("info is no mapping")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
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


def refuse_consensus_output(path: FilePath, overwrite: bool) -> None:
    """Raise if `save_consensus` could not or must not write this file; called before any work is done for it."""
    _refuse_format(path)
    refuse_place(path, overwrite)


class _UnfitError(ValueError):
    """Something in the file does not fit a Consensus; the message says what."""


def _require(holds: Any, fault: str) -> None:
    if not holds:
        raise _UnfitError(fault)


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or _is_whole(value, -(2**62))


def _is_whole(value: Any, low: int = 0, high: int = 2**62) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _prove_facts(description: Json) -> None:
    """Raise unless the facts of a result are of the types that a Consensus has."""
    _require(_is_number(description["objective"]), "its objective is no number")
    _require(_is_whole(description["n_iter"]), "its number of iterations is no whole number")
    _require(isinstance(description["converged"], bool), "converged is neither true nor false")
    for name in ("method", "id_name"):
        _require(isinstance(description[name], str), f"{name} is no text")
    names = description["cluster_names"]
    _require(names is None or isinstance(names, list), "the names of clusters are no list")


def _prove_arrays(arrays: Mapping[str, Array], names: list[str] | None) -> None:
    """Raise unless the arrays fit a Consensus, because a number out of range could cost any amount of memory."""
    labels = arrays.get("labels")
    if labels is None or labels.ndim != 1 or labels.dtype != np.int32 or not len(labels):
        raise _UnfitError("it has no labels of at least one object")
    n_clusters = int(labels.max()) + 1
    if labels.min() < -1 or not 0 < n_clusters <= len(labels):
        raise _UnfitError(f"{counted(len(labels), 'object')} cannot have labels from {labels.min()} to {labels.max()}")
    empty = np.flatnonzero(np.bincount(labels[labels >= 0], minlength=n_clusters) == 0)
    _require(not len(empty), f"no object has the label {empty[0] if len(empty) else ''}")
    for name in _PER_OBJECT:
        fits = name not in arrays or arrays[name].shape == labels.shape
        _require(fits, f"{counted(len(labels), 'label')}, but {name} of shape {fits or arrays[name].shape}")
    for name, low, high in (("runner_up", -1, n_clusters), ("rows", -1, len(labels))):
        values = arrays.get(name)
        fits = values is None or (values.dtype.kind == "i" and values.min() >= low and values.max() < high)
        _require(fits, f"{name} must be integers from {low} to {high - 1:,}")
    confidence = arrays.get("confidence", np.ones(1))
    fits = confidence.dtype == np.float64 and bool(
        ((confidence >= 0) & (confidence <= 1))[_inside(labels, confidence)].all()
    )
    _require(fits, "confidence must be float64, from 0 to 1")
    ids = arrays.get("ids")
    _require(ids is None or ids.dtype.kind in "biufUSmM", "ids must be numbers, texts or times")
    if "tree" in arrays:
        _prove_tree(arrays["tree"], len(labels), arrays.get("rows"))
    if names is not None and (len(names) != n_clusters or not all(isinstance(name, str) for name in names)):
        raise _UnfitError(f"{counted(len(names), 'name')} for {counted(n_clusters, 'cluster')}")


def _inside(labels: Array, values: Array) -> Any:
    """The values that belong to objects in a cluster; objects outside have no confidence."""
    return slice(None) if values.shape != labels.shape else labels >= 0


def _prove_tree(tree: Array, n_objects: int, rows: Array | None) -> None:
    """Raise unless the tree is a linkage whose leaves are the rows of the objects, or the objects themselves."""
    fits = tree.ndim == 2 and tree.shape[1] == 4 and tree.dtype.kind == "f" and len(tree) < n_objects
    _require(fits, f"a tree of shape {tree.shape} does not belong to {counted(n_objects, 'object')}")
    n_leaves = len(tree) + 1
    highest = n_objects - 1 if rows is None else int(rows.max())
    _require(highest < n_leaves, f"a tree of {n_leaves:,} leaves does not belong to {highest + 1:,} rows")
    try:
        prove_tree(tree, n_leaves)
    except ValueError as error:
        raise _UnfitError(str(error)) from error


def _prove_info(result: Consensus) -> None:
    """Raise unless the entries of `info` that are read again are what the library writes there."""
    for name, fits in _KNOWN_INFO.items():
        if name in result.info:
            _require(fits(result.info[name]), f"{name} in its info is not what belongs there")
    if "confidence" in result.info:
        is_scale = _is_scale(result.info["confidence"], result.n_clusters)
        _require(is_scale, "the curves of its confidence are not valid")


def _is_plain_option(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain_option, value))
    return value is None or isinstance(value, bool | str | float | np.ndarray) or _is_whole(value, -(2**62))


def _has(value: Any, numbers: Sequence[str], whole: Sequence[str] = ()) -> bool:
    """Whether a value is a mapping with these entries: numbers, and whole numbers from 0 on."""
    return (
        isinstance(value, Mapping)
        and all(_is_number(value.get(name)) for name in numbers)
        and all(_is_whole(value.get(name)) for name in whole)
    )


def _is_choice(value: Any) -> bool:
    """Whether a value is a `Choice` with fields of the types that it has."""
    if not isinstance(value, Choice) or not _is_whole(value.n_clusters, 1) or not _is_whole(value.pairs_drawn):
        return False
    texts = isinstance(value.reason, str) and isinstance(value.method, str) and isinstance(value.undecided, bool)
    maps = all(isinstance(entry, Mapping) for entry in (value.votes, value.failed, value.chance))
    return (
        texts
        and maps
        and all(_is_whole(k, 1) for k in (*value.votes.values(), *value.failed, *value.candidates))
        and all(isinstance(name, str) for name in (*value.votes, *value.failed.values(), *value.chance))
        and all(map(_is_number, value.chance.values()))
        and all(map(_is_candidate, value.table))
    )


def _is_candidate(value: Any) -> bool:
    if not isinstance(value, Candidate) or not _is_whole(value.n_clusters, 1):
        return False
    scores = [getattr(value, entry.name) for entry in fields(value)[1:]]
    return all(score is None or _is_number(score) for score in scores)


_KNOWN_INFO: dict[str, Callable[[Any], bool]] = {
    "seed": lambda value: value is None or _is_whole(value, -(2**1024), 2**1024),
    "options": lambda value: isinstance(value, Mapping) and all(map(_is_plain_option, value.values())),
    "n_rows": _is_whole,
    "n_members": _is_whole,
    "auto": lambda value: isinstance(value, str),
    "collapsed": lambda value: isinstance(value, str),
    "choice": _is_choice,
    "coarsen": lambda value: (
        _has(value, ("theta", "keep"), ("n_rows", "n_distinct_rows")) and isinstance(value.get("why"), str)
    ),
    "refine": lambda value: _has(value, ("start_anmi",), ("n_moves",)),
    "reference_test": lambda value: value is None or _has(value, ("valley", "expected", "z", "p_value"), ("n_draws",)),
}
"""The entries of `info` that the library itself reads, for example when it writes a report."""

SCALE = {"levels": -1, "right_levels": -1, "right_slopes": 4, "again_levels": -1, "again_slopes": 2}
"""The arrays of a curve of confidence and their lengths; -1 stands for the number of clusters."""
SCALE_NUMBERS = ("slope", "divisions", "found_again")


def _is_scale(value: Any, n_clusters: int) -> bool:
    """Whether a value holds the fields of the curve that `quorate.place` computes confidence with."""
    if (
        not isinstance(value, Mapping)
        or not set(value) <= {*SCALE, *SCALE_NUMBERS, "stability"}
        or "levels" not in value
    ):
        return False
    stability = value.get("stability")
    if stability is not None:
        fits = isinstance(stability, np.ndarray) and stability.dtype == np.float64 and stability.shape == (n_clusters,)
        if not fits or (stability < 0).any() or (stability > 1).any():
            return False
    numbers = ("slope", "found_again") if "found_again" in value else ("slope",)
    if not _has(value, numbers, ("divisions",)) or not math.isfinite(value["slope"]):
        return False
    if not 0 <= value.get("found_again", 1.0) <= 1:
        return False
    fresh = [name for name in SCALE if name != "levels" and value.get(name) is not None]
    return len(fresh) in (0, len(SCALE) - 1) and all(
        isinstance(value[name], np.ndarray)
        and value[name].dtype == np.float64
        and value[name].shape == (n_clusters if SCALE[name] < 0 else SCALE[name],)
        and bool(np.isfinite(value[name]).all())
        for name in ("levels", *fresh)
    )


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

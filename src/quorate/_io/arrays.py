"""Label tables as plain arrays in .npy, .npz and Zarr; arrays, stores, texts and iterators as sources of blocks."""

from __future__ import annotations

import itertools
import json
import math
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._check import brief, no_mask
from quorate._data.blocks import Kind
from quorate._data.coding import MissingRule, missing_rule, wastes
from quorate._data.ensemble import read_ensemble
from quorate._data.ids import refuse_repeated
from quorate._data.outside import with_noise
from quorate._data.proof import vary
from quorate._data.rows import select_members
from quorate._data.tables import as_table, refuse_duplicates
from quorate._io.numpy_files import Wanted, map_npy, prove_texts, read_npy, read_npz
from quorate._io.paths import FilePath, format_of
from quorate._io.source import Block, Most, Part, Source, refuse_more_columns, stamp
from quorate._io.text import Choose
from quorate._io.zarr_store import open_zarr, read_zarr
from quorate._types import Ensemble, Reading

Array = NDArray[Any]
_LABELS, _IDS, _WEIGHTS, _COUNTS, _NAMES, _CATEGORIES = "labels", "ids", "weights", "counts", "names", "categories_"
_ID_NAME, _MADE = "id_name", "made_by"
_MADE_BY = ("k", "base", "seed")
"""The entries of the info of an ensemble that say how `generate` made it, and that are saved with it."""


def read_arrays(path: FilePath, wanted: Wanted | None = None) -> dict[str, Array]:
    """Return the arrays of a file by name; the array of a file that holds a single one is named "labels".

    `wanted` may choose from the arrays of an .npz file or a Zarr store, as `read_npz` says.
    """
    kind = format_of(path)
    if kind == "zarr":
        return read_zarr(path, wanted)
    return {_LABELS: read_npy(path)} if kind == "npy" else read_npz(path, wanted)


def of_labels(names: Sequence[str], read: dict[str, Array]) -> list[str]:
    """The arrays that `ensemble_from_arrays` needs; all of them if none is named "labels"."""
    own = (_LABELS, _IDS, _WEIGHTS, _COUNTS, _NAMES, _ID_NAME, _MADE)
    return [name for name in names if _LABELS not in names or name in own or name.startswith(_CATEGORIES)]


def ensemble_from_arrays(arrays: Mapping[str, Array], name: str, choose: Choose, how: Reading) -> Ensemble:
    """Build an ensemble from the array of labels, and from ids, names, weights, counts and categories if present."""
    labels = _label_array(arrays, name)
    refuse_repeated(arrays.get(_IDS), name)
    categories, missing = _saved_categories(arrays, labels, name), how.missing
    if categories and how.noise is not None:
        raise ValueError(
            f"{name} was written by save_ensemble, which does not keep which labels were noise; leave noise= (--noise) "
            f"out, or read the table that the ensemble was made from."
        )
    if labels.dtype.kind in "US":
        # an empty text counts as a missing label in every file format
        missing = MissingRule((*missing_rule(missing).values, ""))
    reading = Reading(
        # labels saved with their categories are codes, in which only -1 is missing, whatever the caller declares
        missing=-1 if categories else missing,
        weights=arrays.get(_WEIGHTS),
        # they were checked when their ensemble was made
        check=how.check and not categories,
        orientation="objects" if categories else how.orientation,
        ids=arrays.get(_IDS),
        noise=how.noise,
    )
    ensemble = read_ensemble(labels, reading, arrays.get(_COUNTS))
    if _ID_NAME in arrays and arrays[_ID_NAME].size == 1:
        ensemble = vary(ensemble, id_name=str(arrays[_ID_NAME].reshape(-1)[0]))
    if _MADE in arrays:
        ensemble = vary(ensemble, info={**ensemble.info, **_made_by(arrays[_MADE])})
    if categories:
        meant = tuple(saved[codes] for saved, codes in zip(categories, ensemble.categories, strict=True))
        ensemble = vary(ensemble, categories=meant)
    names = _names(arrays.get(_NAMES), ensemble.n_members, name)
    if names is None:
        choose(())
        return ensemble
    members = _check.places(choose(names).members, names)
    chosen = select_members(vary(ensemble, member_names=names), members)
    return with_noise(chosen, None if ensemble.noise is None else ensemble.noise[:, members])


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
    if isinstance(ensemble.info.get("k"), str):
        # so that the verdict on clusters of these members knows that they were made from the same measurements
        made = {name: ensemble.info[name] for name in _MADE_BY if isinstance(ensemble.info.get(name), str | int)}
        arrays[_MADE] = np.array([json.dumps(made)])
    for member, categories in enumerate(ensemble.categories):
        arrays[f"{_CATEGORIES}{member}"] = without_objects(categories, ensemble.member_names[member])
    return arrays


def _made_by(text: Array) -> dict[str, Any]:
    """Return how the members were made, of what a file says of it: texts and whole numbers alone."""
    try:
        made = json.loads(str(text.reshape(-1)[0])) if text.size == 1 and text.dtype.kind == "U" else {}
    except (ValueError, RecursionError):
        made = {}
    kept = made if isinstance(made, dict) else {}
    return {name: kept[name] for name in _MADE_BY if isinstance(kept.get(name), str | int)}


def without_objects(values: Array, name: str) -> Array:
    """Convert an array of Python strings to a numpy array of texts, because Python objects could only be pickled."""
    if values.dtype.kind != "O":
        return values
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name} holds values of several types, which .npz and .zarr cannot keep; save it as .csv.")
    if wastes(values.tolist()):
        raise ValueError(
            f"{name} holds long texts next to short ones, which .npz and .zarr keep as long; save it as .csv."
        )
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


def _label_array(arrays: Mapping[str, Any], name: str) -> Any:
    """Return the array of labels; it need not be in memory."""
    if _LABELS in arrays:
        return arrays[_LABELS]
    tables = [key for key, values in arrays.items() if len(values.shape) == 2]
    if len(tables) == 1:
        return arrays[tables[0]]
    held = ", ".join(f"{brief(key, quoted=False)} {tuple(values.shape)}" for key, values in arrays.items()) or "none"
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


def _names(stored: Any, n_members: int, title: str) -> tuple[str, ...] | None:
    if stored is None:
        return None
    if tuple(stored.shape) != (n_members,):
        raise ValueError(
            f"{title} holds {n_members:,} members and an array 'names' of shape {tuple(stored.shape)}; it must have "
            f"one name per member."
        )
    names = tuple(map(str, np.asarray(stored[...]).tolist()))
    try:
        refuse_duplicates(names)
    except ValueError as error:
        raise ValueError(f"{title}: {error}") from None
    return names


def npy_source(path: Path, choose: Choose) -> Source:
    """Take an .npy file of labels, which is mapped into memory and never read whole."""
    return array_source(_ProvenTexts(map_npy(path), path), choose, str(path), fingerprint=[stamp(path)])


class _ProvenTexts:
    """A memory map whose texts are proven when they are read, because Python cannot print any other."""

    def __init__(self, values: Array, path: Path) -> None:
        self._values, self._path = values, path
        self.shape, self.dtype = values.shape, values.dtype

    def __getitem__(self, place: Any) -> Array:
        return prove_texts(self._values[place], "it", self._path)


def zarr_source(store: Any, choose: Choose, title: str) -> Source:
    """Take a Zarr array, or a group with the array "labels" and perhaps "ids", "names" and categories of codes."""
    if isinstance(store, Path):
        arrays, fingerprint = open_zarr(store), [stamp(store)]
    else:
        arrays, fingerprint = ({"labels": store} if hasattr(store, "shape") else dict(store.arrays())), None
    for name in (_COUNTS, _WEIGHTS):
        if name in arrays:
            raise ValueError(
                f"{title} holds {name}, which are not read in blocks; leave out the options for blocks (memory=, "
                f"--memory, an output folder), or remove them from the store."
            )
    labels = _label_array(arrays, title)
    n_members = labels.shape[1] if len(labels.shape) == 2 else 1
    return array_source(
        labels,
        choose,
        title,
        names=_names(arrays.get("names"), n_members, title),
        ids=_ids(arrays.get("ids"), labels.shape[0], title),
        categories=_categories(arrays, n_members, title),
        fingerprint=fingerprint,
    )


def _ids(stored: Any, n_rows: int, title: str) -> Any:
    if stored is not None and tuple(stored.shape) != (n_rows,):
        raise ValueError(
            f"{title} holds {n_rows:,} objects and an array 'ids' of shape {tuple(stored.shape)}; it must have one id "
            f"per object."
        )
    return stored


def _categories(arrays: dict[str, Any], n_members: int, title: str) -> list[Array]:
    """Return the values of the codes of each member; an empty list if the labels are no codes."""
    saved = [arrays[name] for name in (f"categories_{place}" for place in range(n_members)) if name in arrays]
    if saved and (len(saved) < n_members or any(len(values.shape) != 1 for values in saved)):
        raise ValueError(f"{title} must hold one array of categories per member, each of one dimension, or none.")
    return [np.asarray(values[...]) for values in saved]


def array_source(
    labels: Any,
    choose: Choose,
    title: str,
    *,
    names: tuple[str, ...] | None = None,
    ids: Any = None,
    categories: list[Array] | None = None,
    fingerprint: list[Any] | None = None,
) -> Source:
    """Take an array of shape (n_objects, n_members), or (n_objects,), that is read by slices of rows.

    `categories` are the values that its numbers stand for, if they are codes of an ensemble that was saved.
    """
    if len(labels.shape) not in (1, 2):
        raise ValueError(f"{title} must be (n_objects, n_members), got shape {tuple(labels.shape)}.")
    n_rows, width = int(labels.shape[0]), int(labels.shape[1]) if len(labels.shape) == 2 else 1
    if not n_rows or not width:
        raise ValueError(f"{title} must hold at least one object and one member, got shape {tuple(labels.shape)}.")
    choice = choose(names or ())
    known = names or tuple(f"member {place}" for place in range(width))
    chosen = choice.members or known
    places = [known.index(name) for name in chosen]
    chunk = int(labels.chunks[0]) if hasattr(labels, "chunks") and labels.chunks else 1

    def read(start: int, stop: int) -> Block:
        rows = labels[start:stop]
        no_mask(rows, title)
        block = np.ascontiguousarray(np.asarray(rows)).reshape(stop - start, width)
        columns = [block[:, place] for place in places]
        if categories:
            pairs = zip(columns, places, strict=True)
            columns = [_named(codes, categories[place], known[place], title) for codes, place in pairs]
        return Block(columns, None if ids is None else np.asarray(ids[start:stop]))

    def parts(most: Most) -> Iterator[Part]:
        # whole chunks, so that none is unpacked twice
        step = max(1, most.rows // chunk) * chunk if chunk <= most.rows else most.rows
        for array in (labels, *(() if ids is None else (ids,))):
            most.refuse_text(array.dtype.itemsize if array.dtype.kind in "SUO" else 0, title)
            most.refuse_piece(array.dtype.itemsize * math.prod(getattr(array, "chunks", None) or (0,)), title)
        for start in range(0, n_rows, step):
            stop = min(start + step, n_rows)
            yield Part(f"{title}, rows {start:,} to {stop:,}", 0, partial(read, start, stop), stop - start)

    row_bytes = width * (2 * labels.dtype.itemsize + 2) + 48 + (0 if ids is None else 2 * ids.dtype.itemsize)
    id_name = None if ids is None else "id"
    files = (Path(title).stem if fingerprint else "labels",)
    return Source(title, chosen, id_name, ("values",) * len(chosen), files, parts, row_bytes, n_rows, fingerprint)


def _named(codes: Array, categories: Array, name: str, title: str) -> Array:
    """Return the values that codes stand for, None for code -1; other codes without a value are refused."""
    if codes.dtype.kind not in "iu" or codes.min() < -1 or codes.max() >= len(categories):
        raise ValueError(
            f"{title}: the labels of {brief(name)} must be codes from 0 to {len(categories) - 1:,}, one for each of "
            f"its categories, or -1; got {codes.dtype} from {codes.min()} to {codes.max()}."
        )
    # code -1, a missing label, reads the last place
    values = np.full(len(categories) + 1, None, dtype=object)
    values[:-1] = categories
    named: Array = values[codes]
    return named


def iterator_source(blocks: Iterable[Any], choose: Choose, ids: str | None) -> Source:
    """Take any iterable of blocks: arrays, data frames of any kind, or pyarrow tables and record batches.

    It is read once. The first block is read at once, because it has the names of the columns.
    """
    supply = iter(blocks)
    try:
        first = next(supply)
    except StopIteration:
        raise ValueError("the iterator yields no blocks; at least one is needed.") from None
    head = as_table(_frame(first), "objects", ids)
    named = hasattr(_frame(first), "columns") or hasattr(_frame(first), "column_names")
    choice = choose((head.names if ids is None else (*head.names, ids)) if named else ())
    members = choice.members or head.names
    has_ids = head.ids is not None
    # if the columns were chosen by name, blocks may have any others beside them
    known = head.names if set(members) == set(head.names) else None

    def parts(most: Most) -> Iterator[Part]:
        for number, block in enumerate(itertools.chain([first], supply)):
            yield Part(f"block {number}", number, partial(_read, block, number, members, ids, has_ids, known))

    id_name = choice.ids or (head.id_name if has_ids else None)
    kinds: tuple[Kind, ...] = ("values",) * len(members)
    return Source("the blocks", members, id_name, kinds, (), parts, 24 * len(members), None, None)


def _frame(block: Any) -> Any:
    """Return a record batch as a table; anything else as it is."""
    if type(block).__name__ == "RecordBatch":
        import pyarrow

        return pyarrow.Table.from_batches([block])
    return block


def _read(
    block: Any, number: int, members: tuple[str, ...], ids: str | None, has_ids: bool, known: tuple[str, ...] | None
) -> Block:
    frame = _frame(block)
    if len(getattr(frame, "shape", (1,))) and getattr(frame, "shape", (1,))[0] == 0:
        return Block([np.empty(0, dtype=np.int64) for _ in members], np.empty(0, dtype=object) if has_ids else None)
    table = as_table(frame, "objects", ids)
    missing = [name for name in members if name not in table.names]
    if missing:
        raise ValueError(
            f"block {number} has no column {missing[0]!r}, which the first block has; its columns are "
            f"{', '.join(map(repr, table.names[:10]))}."
        )
    if known is not None:
        refuse_more_columns(table.names, known, f"block {number}", "the first block")
    columns = table.columns if table.block is None else list(table.block.T)
    places = {name: place for place, name in enumerate(table.names)}
    if has_ids and table.ids is None:
        raise ValueError(f"block {number} has no ids, but the first block has; every block needs them.")
    return Block([np.ascontiguousarray(columns[places[name]]) for name in members], table.ids if has_ids else None)

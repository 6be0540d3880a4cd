"""Reading Zarr stores. They are checked before any chunk is read: no codec may run code, and no chunk may be lost."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._check import brief
from quorate._io.numpy_files import Wanted, prove_texts
from quorate._io.paths import FilePath, name_of, refuse_unreadable
from quorate._types import Json

Array = NDArray[Any]

# Codecs that only turn bytes into bytes or numbers. A codec such as "pickle" runs code that a chunk contains, and a
# codec of an unknown name may do anything, so that a list of forbidden names would not be enough.
_NUMCODECS = frozenset(
    [
        "adler32",
        "astype",
        "bitround",
        "blosc",
        "bz2",
        "crc32",
        "crc32c",
        "delta",
        "fixedscaleoffset",
        "fletcher32",
        "gzip",
        "jenkins_lookup3",
        "lz4",
        "lzma",
        "packbits",
        "quantize",
        "shuffle",
        "vlen-bytes",
        "vlen-utf8",
        "zfpy",
        "zlib",
        "zstd",
    ]
)
_VERSION_3 = frozenset(["blosc", "bytes", "crc32c", "gzip", "transpose", "vlen-bytes", "vlen-utf8", "zstd"])
_ATTRIBUTES = ".zattrs"
_DOCUMENTS = (".zarray", ".zgroup", ".zmetadata", "zarr.json", _ATTRIBUTES)
_BLOSC_HEADER = 16


def read_zarr(path: FilePath, wanted: Wanted | None = None) -> dict[str, Array]:
    """Return the arrays of a store by name, all or those that `wanted` chooses; a single array is named "labels".

    First the codecs in the metadata of all arrays and groups are checked, then the store is opened, then every chunk
    is looked for, and only then are chunks read.
    """
    stored, arrays = open_zarr(path), dict[str, Array]()
    for name in stored if wanted is None else wanted(list(stored), arrays):
        arrays[name] = stored[name][...]
    return arrays


class StoredArray:
    """An array of a Zarr store that is read by slices; a chunk that cannot be read is a one-line error."""

    def __init__(self, path: FilePath, name: str, item: Any) -> None:
        self._path, self._name, self._item = path, name, item
        self.shape: tuple[int, ...] = tuple(item.shape)
        self.chunks: tuple[int, ...] = tuple(item.chunks)
        self.dtype: np.dtype[Any] = np.dtype(item.dtype)

    def __getitem__(self, place: Any) -> Array:
        try:
            values = np.asarray(self._item[place])
        except MemoryError:
            raise
        except Exception as error:  # the errors of codecs have no common base class
            raise _unreadable(self._path, error) from error
        return prove_texts(values, self._name, self._path)


def open_zarr(path: FilePath) -> dict[str, StoredArray]:
    """Return the arrays of a store by name, checked as `read_zarr` checks them, but not read."""
    refuse_unreadable(path)
    prove_codecs(path)
    zarr = need_zarr()
    try:
        store = zarr.open(os.fspath(path), mode="r")
        arrays = {"labels": store} if hasattr(store, "shape") else {str(name): item for name, item in store.arrays()}
    except Exception as error:  # zarr's own errors have no common base class
        raise _unreadable(path, error) from error
    for item in arrays.values():
        _prove_chunks(path, item)
    return {name: StoredArray(path, name, item) for name, item in arrays.items()}


def need_zarr() -> Any:
    try:
        import zarr
    except ImportError as error:
        raise ImportError('.zarr files need zarr; install it with: pip install "quorate[zarr]"') from error
    return zarr


@contextmanager
def writing_zarr() -> Iterator[None]:
    """Raise errors of the system, such as that of a full disk, as they are: zarr 2 hides some behind a KeyError."""
    try:
        yield
    except KeyError as error:
        if isinstance(error.__cause__, OSError):
            raise error.__cause__ from None
        raise


def new_group(folder: Path) -> Callable[..., Any]:
    """Make a Zarr group in format 2, the only format that specifies texts of fixed width; return what adds an array.

    Chunks that hold only zeros are written as well, so that the reader knows that an absent chunk was lost.
    """
    zarr = need_zarr()
    is_second = zarr.__version__.startswith("2.")
    group = zarr.open_group(os.fspath(folder), mode="w", **({} if is_second else {"zarr_format": 2}))

    if is_second:
        return partial(group.create_dataset, write_empty_chunks=True)
    return partial(group.create_array, config={"write_empty_chunks": True})


@writing_zarr()
def write_zarr(folder: Path, arrays: Mapping[str, Array]) -> None:
    """Write arrays as a Zarr group."""
    create = new_group(folder)
    for name, values in arrays.items():
        create(name, data=np.ascontiguousarray(values))


def prove_codecs(path: FilePath) -> None:
    """Raise unless every codec that any metadata in the store names is on the list of harmless ones."""
    for place, content in _documents(Path(path)):
        try:
            document = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"{name_of(path)} could not be read as Zarr: {place.name} is no JSON ({brief(str(error))})."
            ) from error
        if place.name == _ATTRIBUTES:
            # they may say anything, but must be JSON: zarr would report others by traces of several tasks at once
            continue
        for metadata in _described(document):
            for chain in _codec_chains(metadata):
                _prove_chain(chain, path)


def _documents(store: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield every file of metadata in the store; links are followed, as zarr does, but no folder is entered twice."""
    entered = set()
    for folder, subfolders, files in os.walk(store, followlinks=True):
        entered.add(os.path.realpath(folder))
        subfolders[:] = [name for name in subfolders if os.path.realpath(os.path.join(folder, name)) not in entered]
        for name in _DOCUMENTS:
            if name in files:
                place = Path(folder) / name
                if not place.is_file():
                    raise ValueError(f"cannot read {store}: {place} is a pipe, a device or a link to nothing.")
                yield place, place.read_bytes()


def _described(document: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the metadata of each array or group in a document, including those in consolidated metadata."""
    if not isinstance(document, Mapping):
        return
    yield document
    inner: list[Any] = [document.get("metadata"), document.get("consolidated_metadata")]
    for part in inner:
        if isinstance(part, Mapping):
            yield from _described(part)
            for described in part.values():
                if isinstance(described, Mapping):
                    yield from _described(described)


def _codec_chains(metadata: Json) -> Iterator[list[Any]]:
    """Yield the lists of codecs of an array: filters and compressor (format 2), codecs (format 3)."""
    filters, compressor = metadata.get("filters"), metadata.get("compressor")
    chain = [*(filters if isinstance(filters, list) else [filters]), compressor]
    yield [("id", codec) for codec in chain if codec is not None]
    codecs = metadata.get("codecs")
    yield [("name", codec) for codec in (codecs if isinstance(codecs, list) else [codecs]) if codec is not None]
    transformers = metadata.get("storage_transformers")
    if transformers:
        yield [("name", transformers)]


def _prove_chain(chain: list[tuple[str, Any]], path: FilePath) -> None:
    for place, (key, codec) in enumerate(chain):
        name = codec.get(key) if isinstance(codec, Mapping) else codec
        known = isinstance(name, str) and (
            name in _NUMCODECS
            if key == "id"
            else name in _VERSION_3 or (name.startswith("numcodecs.") and name[10:] in _NUMCODECS)
        )
        if name == "sharding_indexed":
            raise ValueError(
                f"{name_of(path)} uses the Zarr codec 'sharding_indexed', and stores with shards are not read: a chunk "
                f"that is lost in a shard would be read as the fill value; write it without shards."
            )
        if not known:
            raise ValueError(
                f"{name_of(path)} uses the Zarr codec {brief(name)}, which may run code or is not known to be "
                f"harmless, so nothing of it is read; write it with zlib, zstd, lz4 or blosc."
            )
        if str(name).endswith("blosc") and place < len(chain) - 1:
            raise ValueError(f"{name_of(path)} uses the Zarr codec 'blosc' before others; it must be the last.")


def _prove_chunks(path: FilePath, item: Any) -> None:
    """Raise if a chunk is missing, which zarr would read as the fill value, or if it is cut short."""
    folder = Path(path) / item.path
    grid = [math.ceil(size / chunk) if chunk else 0 for size, chunk in zip(item.shape, item.chunks, strict=True)]
    # the files are counted first, because walking through a false shape of 10^12 chunks would take for ever
    n_files = sum(len(files) for _, _, files in os.walk(folder, followlinks=False))
    metadata = getattr(item, "metadata", None)
    key_of = item._chunk_key if metadata is None else metadata.encode_chunk_key
    base = Path(path) if metadata is None else folder
    by_blosc = "blosc" in type(_last_codec(item)).__name__.lower()
    if math.prod(grid) <= n_files:
        for place in itertools.product(*map(range, grid)):
            chunk = base / key_of(place)
            if not chunk.is_file():
                break
            if by_blosc:
                _prove_blosc(path, chunk)
        else:
            return
    raise ValueError(
        f"{name_of(path)}: array {brief(item.path or 'labels')} lacks some of its {math.prod(grid):,} chunks, and what "
        f"was in them is not known; write it again, with write_empty_chunks=True if chunks of zeros were left out."
    )


def _last_codec(item: Any) -> Any:
    """Return the last codec of an array, the one that wrote the bytes of its chunks."""
    described = getattr(item, "metadata", item)
    if hasattr(described, "codecs"):
        return described.codecs[-1]
    return described.compressor or (described.filters or (None,))[-1]


def _prove_blosc(path: FilePath, chunk: Path) -> None:
    """Raise if a chunk does not have the size that its header states.

    Blosc trusts that size, and would read beyond the end of a chunk that was cut short.
    """
    with open(chunk, "rb") as file:
        header = file.read(_BLOSC_HEADER)
    stated = int.from_bytes(header[12:], "little")
    if len(header) < _BLOSC_HEADER or stated != chunk.stat().st_size:
        raise ValueError(f"{name_of(path)}: chunk {chunk.name} is damaged or cut short; write the store again.")


def _unreadable(path: FilePath, error: Exception) -> ValueError:
    return ValueError(f"{name_of(path)} could not be read as Zarr: {brief(str(error), quoted=False)}.")

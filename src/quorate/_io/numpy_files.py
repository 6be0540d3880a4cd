"""Reading arrays from .npy and .npz files of any origin: nothing is unpickled, and any fault is a one-line error."""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._check import brief, size
from quorate._io.paths import FilePath, format_of, name_of, reading, refuse_content
from quorate._io.source import _machine_memory

Array = NDArray[Any]

Wanted = Callable[[Sequence[str], dict[str, Array]], Iterable[str]]
"""Yields the names of the arrays that are needed, from the names of all and, while they are read, those read so far."""

_LARGEST_CODE_POINT = 0x10FFFF
# two arrays saved to one file one after the other are a common mistake, and the second one would be lost silently
_MORE = "there is more in the file after its first array"


def read_npy(path: FilePath) -> Array:
    """Return the array of an .npy file."""
    with reading(path) as file, _wording_errors(path):
        refuse_content(path, file.peek(8), b"\x93NUMPY")
        _refuse_negative_shape(file)
        values = _array(np.load(file, allow_pickle=False), "labels")
        if file.read(1):
            raise ValueError(_MORE)
        return prove_texts(values, "it", path)


def map_npy(path: FilePath) -> Array:
    """Return the array of an .npy file as a memory map, without reading it."""
    with reading(path) as file:
        refuse_content(path, file.peek(8), b"\x93NUMPY")
    with _wording_errors(path):
        values = _array(np.load(path, mmap_mode="r", allow_pickle=False), "labels")
        offset = getattr(values, "offset", None)
        if offset is not None and offset + values.nbytes != os.path.getsize(path):
            raise ValueError(_MORE)
        return values


def read_npz(path: FilePath, wanted: Wanted | None = None) -> dict[str, Array]:
    """Return the arrays of an .npz file by name: all of them, or those that `wanted` chooses from what is there.

    Other entries are not unpacked, because a small file may hold any amount of zeros.
    """
    with reading(path) as file, _wording_errors(path):
        refuse_content(path, file.peek(8), b"PK\x03\x04")
        with np.load(file, allow_pickle=False) as archive:
            name, times = max(Counter(archive.files).items(), key=lambda item: item[1], default=("", 0))
            if times > 1:
                raise ValueError(f"it holds {times} arrays named {brief(name)}")
            arrays: dict[str, Array] = {}
            chosen = archive.files if wanted is None else wanted(archive.files, arrays)
            for name in chosen:
                _refuse_large(archive, name)
                arrays[name] = _array(archive[name], name)
    return {name: prove_texts(values, name, path) for name, values in arrays.items()}


def _refuse_large(archive: Any, name: str) -> None:
    """Raise if an entry of an archive states to be larger than the memory of this machine."""
    entry = name if name in archive.zip.namelist() else f"{name}.npy"
    stated = archive.zip.getinfo(entry).file_size
    if stated > _machine_memory():
        raise ValueError(f"its entry {brief(name)} states a size of {size(stated)}, more than this machine has")


def prove_texts(values: Array, name: str, path: FilePath) -> Array:
    """Raise if a text holds a code that is not a Unicode character, because Python can neither print nor write it."""
    if values.dtype.kind == "U" and values.size and values.dtype.itemsize:
        native = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("="), copy=False))
        points = native.reshape(-1).view(np.uint32)
        if points.max() > _LARGEST_CODE_POINT or ((points >= 0xD800) & (points <= 0xDFFF)).any():
            raise ValueError(f"{name_of(path)}: {brief(name)} holds texts with characters that do not exist.")
    return values


def _refuse_negative_shape(file: io.BufferedReader) -> None:
    """Raise if the header tells a negative length, which numpy before 2 takes for as much as the file holds."""
    start = file.tell()
    if np.lib.format.read_magic(file) == (1, 0):
        shape, _, _ = np.lib.format.read_array_header_1_0(file)
        if any(length < 0 for length in shape):
            raise ValueError(f"its shape is {shape}")
    file.seek(start)


def _array(entry: Any, name: str) -> Array:
    if not isinstance(entry, np.ndarray):
        raise ValueError(f"its entry {brief(name)} is no array")
    return entry


@contextmanager
def _wording_errors(path: FilePath) -> Iterator[None]:
    """Turn the errors that numpy and zipfile raise at a damaged file, which share no base class, into a ValueError."""
    try:
        yield
        return
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:
        if str(error).startswith(name_of(path)):
            raise
        reason = str(error) or type(error).__name__
        cause = error
    if "pickle" in reason or "Object arrays" in reason or "Python objects" in reason:
        raise ValueError(
            f"{name_of(path)} holds Python objects, which could run code when read, so it is refused; "
            f"save labels as an array of numbers or texts: labels.astype(str)."
        ) from cause
    raise ValueError(
        f"{name_of(path)} could not be read as .{format_of(path)}: {brief(reason, most=200, quoted=False)}; it may be "
        f"damaged or cut short."
    ) from cause

"""Making the files that a case describes, most of them damaged.

A file is described by a text, which is its content in UTF-8, or by an object with one of the keys

text, base64
    Its content; `encoding` is the encoding of a text, utf-8 by default, and `times` repeats it.
npy, npz
    The header of an .npy file as any text, or the arrays of an .npz file as lists.
copy
    The name of a good file. `damage` says what is done to it: the name of one of `DAMAGES`. Of a store or a
    checkpoint, which are folders, `inside` names the file that is damaged, a pattern of which the first match is
    taken.
folder, link, pipe
    true for an empty folder, the place that a symbolic link leads to, true for a named pipe.

`mode` are permissions, such as "000".
"""

from __future__ import annotations

import base64
import gzip
import io
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reliability.fixtures import put


def _flipped(place: float) -> Callable[[bytes], bytes]:
    def flip(content: bytes) -> bytes:
        at = min(int(place * len(content)), len(content) - 1)
        return content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :] if content else b"\xff"

    return flip


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "none": lambda content: content,
    "empty": lambda content: b"",
    "one byte": lambda content: content[:1],
    "cut at a tenth": lambda content: content[: len(content) // 10],
    "cut in the middle": lambda content: content[: len(content) // 2],
    "last byte lost": lambda content: content[:-1],
    "last 100 bytes lost": lambda content: content[:-100],
    "first byte lost": lambda content: content[1:],
    "first 100 bytes lost": lambda content: content[100:],
    "zeros in the middle": lambda content: (
        content[: len(content) // 3] + bytes(len(content) // 3) + content[len(content) // 3 * 2 :]
    ),
    "all zeros": lambda content: bytes(len(content)),
    "all ones": lambda content: b"\xff" * len(content),
    "backwards": lambda content: content[::-1],
    "twice": lambda content: content * 2,
    "text before": lambda content: b"hello\n" + content,
    "text after": lambda content: content + b"\nhello",
    "zeros after": lambda content: content + bytes(1000),
    "a page of HTML": lambda content: b"<!DOCTYPE html><html><body>404 Not Found</body></html>\n",
    "a Git pointer": lambda content: b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n",
    "packed": gzip.compress,
    "a pickle": lambda content: b"\x80\x04\x95\x1a\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x8c\x06system\x93.",
    "flip at 0": _flipped(0),
    "flip at 0.02": _flipped(0.02),
    "flip at 0.1": _flipped(0.1),
    "flip at 0.3": _flipped(0.3),
    "flip at 0.5": _flipped(0.5),
    "flip at 0.7": _flipped(0.7),
    "flip at 0.9": _flipped(0.9),
    "flip at the end": _flipped(1),
}


def make_files(files: dict[str, Any], folder: Path) -> None:
    """Make the files that a case describes in `folder`."""
    for name, described in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        _make(path, {"text": described} if isinstance(described, str) else described)


def _make(path: Path, facts: dict[str, Any]) -> None:
    if "link" in facts:
        path.symlink_to(facts["link"])
    elif "pipe" in facts:
        os.mkfifo(path)
    elif "folder" in facts:
        path.mkdir()
    elif "copy" in facts:
        _copy(path, facts)
    else:
        path.write_bytes(_content(facts))
    if "mode" in facts:
        path.chmod(int(facts["mode"], 8))


def _copy(path: Path, facts: dict[str, Any]) -> None:
    """Copy a good file under the name of `path` and damage it."""
    aside = path.parent / ".aside"
    aside.mkdir()
    put(facts["copy"], aside)
    os.replace(aside / facts["copy"], path)
    aside.rmdir()
    damaged = path
    if "inside" in facts:
        found = sorted(path.glob(facts["inside"]))
        if not found:
            raise ValueError(f"{facts['copy']} holds no file {facts['inside']!r}.")
        damaged = found[0]
    if facts.get("damage") == "lost":
        damaged.unlink()
    elif "content" in facts:
        damaged.write_bytes(base64.b64decode(facts["content"]))
    elif "damage" in facts:
        damaged.write_bytes(DAMAGES[facts["damage"]](damaged.read_bytes()))


def _content(facts: dict[str, Any]) -> bytes:
    if "base64" in facts:
        return base64.b64decode(facts["base64"])
    if "npy" in facts:
        return npy_with_header(facts["npy"])
    if "npz" in facts:
        return _npz(facts["npz"])
    text: str = facts["text"] * facts.get("times", 1)
    return text.encode(facts.get("encoding", "utf-8"), "surrogatepass")


def npy_with_header(header: str) -> bytes:
    """Return an .npy file with any text as its header, followed by 400 bytes of zeros."""
    encoded = header.encode("latin-1")
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(encoded)) + encoded + bytes(400)


def _npz(arrays: dict[str, Any]) -> bytes:
    """Return an .npz file; an array is a list, or an object with `values` and `dtype`; a text is an entry as it is."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, values in arrays.items():
            if isinstance(values, str):
                archive.writestr(name, values)
                continue
            dtype = values.get("dtype") if isinstance(values, dict) else None
            held = values["values"] if isinstance(values, dict) else values
            content = io.BytesIO()
            np.save(content, np.array(held, dtype=dtype), allow_pickle=False)
            archive.writestr(f"{name}.npy", content.getvalue())
    return file.getvalue()

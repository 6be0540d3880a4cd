"""Storing finished members in a folder, with a manifest that describes the run that they belong to."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import tokenize
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import __version__, _check
from quorate._io.aside import NAME, FolderLock, checksum, is_own_file, made_anew
from quorate._types import Json
from quorate.generation.features import Features
from quorate.generation.members import Member
from quorate.generation.plans import Request, entropy_of
from quorate.ops.coding import hash_words
from quorate.ops.threads import map_fixed_blocks

MANIFEST = "manifest.json"
FORMAT = 2
"""The format that is written, in which a member's checksum includes its number and the seed of the run."""
_READABLE = (1, FORMAT)
_STALE = re.compile(r"\.(member-\d{6,}|manifest\.json)\.\d+\.part")
"""The names of files that a killed process has not finished: the number of the process is in them."""
# the errors that numpy may raise if a file is damaged
_DAMAGED = (OSError, ValueError, EOFError, TypeError, SyntaxError, MemoryError, tokenize.TokenError, RecursionError)


class Checkpoint:
    """The folder of one run, in which members are stored by number; made by `open_checkpoint`.

    No other process can open the folder before `close`. In a folder of format 1, members with the checksum of that
    format are read as well. New members are always stored with the checksum of format 2.
    """

    def __init__(self, folder: Path, lock: FolderLock, manifest: Json, n_objects: int) -> None:
        self.folder = folder
        self.entropy = int(manifest["seed"])
        self.n_objects = n_objects
        self._lock = lock
        self._format = manifest["format"]

    def close(self) -> None:
        """Release the lock, so that other processes can open the folder."""
        self._lock.release()

    def load(self, number: int) -> Member | None:
        """Return a stored member, or None if it is absent or damaged, such as a file cut short by a crash."""
        path = self._path(number)
        if not path.exists():
            return None
        if not path.is_file():
            raise ValueError(f"{path} is no file; move it away, or name another folder for the checkpoint.")
        try:
            with open(path, "rb") as file:
                labels = np.load(file, allow_pickle=False)
                check, _, facts = file.read().partition(b"\n")
        except _DAMAGED:
            return None
        known = [self._checksum(number, labels, facts)]
        if self._format == 1:
            known.append(_plain_checksum(labels, facts))
        if check not in known:
            return None
        return self._proven(number, labels, facts)

    def _proven(self, number: int, labels: NDArray[Any], facts: bytes) -> Member | None:
        """Return the member if kernels can rely on its labels, otherwise None.

        There must be one label per object, and each must be -1 or a number below n_clusters.
        """
        try:
            parsed = json.loads(facts)
            n_clusters = _check.integer(parsed["n_clusters"], "n_clusters", low=1, high=self.n_objects)
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        right = labels.shape == (self.n_objects,) and labels.dtype.kind == "i" and labels.dtype.isnative
        if not right or labels.min() < -1 or labels.max() >= n_clusters:
            return None
        return Member(number, labels, parsed, None)

    def save(self, member: Member) -> None:
        """Write a member under another name, then rename the file, so that a killed process leaves no half of it.

        The file is not flushed to the disk, which would take longer than computing a member. If a power cut spoils it,
        its checksum is wrong and the member is computed again.
        """
        aside = self.folder / f".member-{member.number:06d}.{os.getpid()}.part"
        labels = np.ascontiguousarray(member.labels)
        facts = json.dumps(member.facts).encode()
        with _worded(self.folder), made_anew(aside) as file:
            np.save(file, labels)
            file.write(self._checksum(member.number, labels, facts) + b"\n" + facts)
            file.close()
            os.replace(aside, self._path(member.number))

    def _checksum(self, number: int, labels: NDArray[Any], facts: bytes) -> bytes:
        """Return the checksum of a member, which also depends on its number and on the seed of the run."""
        whose = b"member %d of seed %d\n" % (number, self.entropy)
        return b"2:%08x" % checksum(whose, labels.data, facts)

    def _path(self, number: int) -> Path:
        return self.folder / f"member-{number:06d}.npy"


def open_checkpoint(path: Any, features: Features, request: Request, random_state: Any) -> Checkpoint:
    """Open the checkpoint at `path`: a new one, or that of an earlier run of the same call; any other is refused.

    If random_state is None, the seed of the earlier run is used again. The folder is locked until the checkpoint is
    closed, so that two processes can neither mix their members nor delete what the other is writing.
    """
    folder = Path(path)
    _refuse_other_things(folder)
    folder.mkdir(parents=True, exist_ok=True)
    lock = FolderLock(folder)
    try:
        manifest = _manifest(folder, features, request, random_state)
        for stale in folder.glob(".*.part"):
            if _STALE.fullmatch(stale.name) and is_own_file(stale):
                stale.unlink(missing_ok=True)
        return Checkpoint(folder, lock, manifest, features.n_objects)
    except BaseException:
        lock.release()
        raise


def _manifest(folder: Path, features: Features, request: Request, random_state: Any) -> Json:
    """Return the manifest of the folder: that of an earlier run of the same call, or a new one."""
    entropy = None if random_state is None else entropy_of(random_state)
    wanted = {
        "format": FORMAT,
        "quorate": __version__,
        "data": fingerprint(features.data),
        "options": {name: describe(value) for name, value in request._asdict().items()},
        "seed": None if entropy is None else str(entropy),
    }
    stored = _read(folder)
    if stored is None:
        made = {**wanted, "seed": str(entropy_of(None) if entropy is None else entropy)}
        if _write(folder, made):
            return made
        # on a file system without locks, another process may have written it first
        stored = _read(folder) or {}
    _refuse_difference(folder, stored, wanted)
    return stored


def fingerprint(data: Any) -> str:
    """Return the shape, the type and a hash of the values, as a text.

    The values are read in blocks of 4 MB. The hash depends on this size.
    """
    parts = [data] if isinstance(data, np.ndarray) else [data.data, data.indices, data.indptr]
    digest = hashlib.sha256()
    for part in parts:
        width = max(1, part[:1].nbytes)
        for block in map_fixed_blocks(_hash_block(part), len(part), max(1, (1 << 22) // width)):
            digest.update(block)
    shape = " x ".join(str(size) for size in data.shape)
    return f"{shape} {data.dtype} {'' if isinstance(data, np.ndarray) else 'sparse '}{digest.hexdigest()[:32]}"


def _hash_block(part: NDArray[Any]) -> Any:
    def hashed(start: int, stop: int) -> bytes:
        values = np.ascontiguousarray(part[start:stop]).reshape(-1).view(np.uint8)
        state = np.arange(1, 5, dtype=np.uint64)
        n_words = values.size // 32 * 4
        hash_words(values[: 8 * n_words].view(np.uint64), state)
        return state.tobytes() + values[8 * n_words :].tobytes()

    return hashed


def _plain_checksum(labels: NDArray[Any], facts: bytes) -> bytes:
    """Return the checksum of format 1."""
    return b"%08x" % checksum(b"", labels.data, facts)


def describe(value: Any) -> str:
    """Describe an option by a text that changes whenever the option's meaning does."""
    if value is None or isinstance(value, str | int | float | bool | range):
        return repr(value)
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).data).hexdigest()[:16]
        return f"array{value.shape} {value.dtype} {digest}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(describe(item) for item in value)}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {describe(item)}' for key, item in sorted(value.items()))}}}"
    if is_dataclass(value) and not isinstance(value, type):
        return _call(value, {entry.name: getattr(value, entry.name) for entry in fields(value)})
    if hasattr(value, "get_params"):
        return _call(value, value.get_params(deep=False))
    if inspect.isfunction(value):
        code = hashlib.sha256(value.__code__.co_code + repr(value.__code__.co_consts).encode()).hexdigest()[:16]
        return f"{value.__module__}.{value.__qualname__} {code}"
    if isinstance(value, np.generic):
        return repr(value.item())
    return _call(value, getattr(value, "__dict__", {}))


def _call(value: Any, arguments: Mapping[str, object]) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}({describe(dict(arguments))[1:-1]})"


def _read(folder: Path) -> dict[str, Any] | None:
    path = folder / MANIFEST
    if not path.exists():
        return None
    if not path.is_file():
        raise ValueError(f"{path} is no file; delete the folder {folder} and start anew.")
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        if not 0 <= int(stored["seed"]) < 2**1024 or not isinstance(stored.get("options"), dict):
            raise ValueError("its seed or its options are not valid")
        return dict(stored)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        reason = _check.brief(error, quoted=False)
        raise ValueError(f"{path} is damaged ({reason}); delete the folder {folder} and start anew.") from error


def _write(folder: Path, manifest: Json) -> bool:
    """Write the manifest unless there is one already; return whether it was written."""
    aside = folder / f".{MANIFEST}.{os.getpid()}.part"
    is_written = True
    with _worded(folder), made_anew(aside) as file:
        file.write(json.dumps(manifest, indent=2).encode())
        file.close()
        try:
            # a link never replaces an existing file, while renaming does
            os.link(aside, folder / MANIFEST)
        except FileExistsError:
            is_written = False
        except OSError:
            # this file system has no links, so that only the lock prevents two processes from writing
            os.replace(aside, folder / MANIFEST)
        aside.unlink(missing_ok=True)
    return is_written


@contextmanager
def _worded(folder: Path) -> Iterator[None]:
    """Name the folder in errors of the system, for example if the disk is full."""
    try:
        yield
    except OSError as error:
        raise type(error)(f"cannot write to the checkpoint {folder}: {error.strerror or error}") from error


def _refuse_other_things(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"checkpoint {folder} is a file; name a folder, which is made if it does not exist.")
    if folder.is_dir() and not (folder / MANIFEST).exists():
        strange = [entry.name for entry in folder.iterdir() if not (_STALE.fullmatch(entry.name) or entry.name == NAME)]
        if strange:
            raise ValueError(
                f"the folder {folder} is no checkpoint: it has no {MANIFEST}, but {strange[0]!r}; name an empty folder."
            )


def _refuse_difference(folder: Path, stored: Json, wanted: Json) -> None:
    """Raise if the stored manifest is of other data, options or seed, and name all differences."""
    differences, brief = [], partial(_check.brief, most=200, quoted=False)
    if stored.get("format") not in _READABLE or stored.get("quorate") != wanted["quorate"]:
        differences.append(f"it was written by quorate {brief(stored.get('quorate'))}, this is {wanted['quorate']}")
    if stored.get("data") != wanted["data"]:
        differences.append(f"the data were {brief(stored.get('data'))} and are {wanted['data']}")
    old = stored.get("options", {})
    differences += [
        f"{name} was {brief(old.get(name))} and is {brief(now)}"
        for name, now in wanted["options"].items()
        if old.get(name) != now
    ]
    if wanted["seed"] is not None and stored["seed"] != wanted["seed"]:
        differences.append(f"random_state stood for seed {brief(stored['seed'])} and stands for {wanted['seed']}")
    if differences:
        raise ValueError(
            f"the checkpoint {folder} belongs to another run: {'; '.join(differences)}. Repeat the call that made it, "
            f"or name another folder."
        )

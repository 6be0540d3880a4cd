"""Finished members in a folder, each written aside and renamed, with a manifest that says whose they are."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import tokenize
import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import __version__, _check
from quorate.generation.features import Features
from quorate.generation.folder_lock import NAME, FolderLock
from quorate.generation.members import Member
from quorate.generation.plans import Request, entropy_of
from quorate.ops.hashing import hash_words
from quorate.ops.threads import map_fixed_blocks

MANIFEST = "manifest.json"
FORMAT = 2
"""In format 2 the number of a member and the seed of the run are part of the member's checksum."""
_READABLE = (1, FORMAT)
# what numpy may raise over a header that is not its own
_DAMAGED = (OSError, ValueError, EOFError, TypeError, SyntaxError, MemoryError, tokenize.TokenError, RecursionError)


class Checkpoint:
    """A folder of one run; `load` and `save` members by number. Made by `open_checkpoint`.

    Nobody else can open the folder before `close`. Where it has format 1, members with the checksum of that format are
    read as well; all that are stored have the checksum of format 2.
    """

    def __init__(self, folder: Path, lock: FolderLock, manifest: Mapping[str, Any], n_objects: int) -> None:
        self.folder = folder
        self.entropy = int(manifest["seed"])
        self.n_objects = n_objects
        self._lock = lock
        self._format = manifest["format"]

    def close(self) -> None:
        """Let others open the folder."""
        self._lock.release()

    def load(self, number: int) -> Member | None:
        """A stored member, or None where it is not there or cannot be read (a file cut short by a crash)."""
        path = self._path(number)
        if not path.exists():
            return None
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
        """The member, if its labels are what a kernel may follow: one per object, -1 or below its n_clusters."""
        try:
            told = json.loads(facts)
            n_clusters = _check.integer(told["n_clusters"], "n_clusters", low=1, high=self.n_objects)
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        right = labels.shape == (self.n_objects,) and labels.dtype.kind == "i" and labels.dtype.isnative
        if not right or labels.min() < -1 or labels.max() >= n_clusters:
            return None
        return Member(number, labels, told, None)

    def save(self, member: Member) -> None:
        """Write aside, then rename: after a kill the member is there whole, or not at all.

        Not flushed to the disk: that would cost more than a member, and a file that a power cut has spoilt fails
        its checksum and is made again.
        """
        aside = self.folder / f".member-{member.number:06d}.{os.getpid()}.part"
        labels = np.ascontiguousarray(member.labels)
        facts = json.dumps(member.facts).encode()
        with open(aside, "wb") as file:
            np.save(file, labels)
            file.write(self._checksum(member.number, labels, facts) + b"\n" + facts)
        os.replace(aside, self._path(member.number))

    def _checksum(self, number: int, labels: NDArray[Any], facts: bytes) -> bytes:
        """A member of another number or of another seed has another checksum."""
        whose = b"member %d of seed %d\n" % (number, self.entropy)
        return b"2:%08x" % zlib.crc32(facts, zlib.crc32(labels.data, zlib.crc32(whose)))

    def _path(self, number: int) -> Path:
        return self.folder / f"member-{number:06d}.npy"


def open_checkpoint(path: Any, features: Features, request: Request, random_state: Any) -> Checkpoint:
    """The checkpoint at `path`: a new one, or that of the same call; anything else is refused.

    Where random_state is None, the seed of an earlier run is taken up again. The folder is locked until the checkpoint
    is closed, so that two processes can neither mix their members nor delete what the other is writing.
    """
    folder = Path(path)
    _refuse_other_things(folder)
    folder.mkdir(parents=True, exist_ok=True)
    lock = FolderLock(folder)
    try:
        manifest = _manifest(folder, features, request, random_state)
        for stale in (*folder.glob(".member-*.part"), *folder.glob(f".{MANIFEST}.*.part")):
            stale.unlink(missing_ok=True)
        return Checkpoint(folder, lock, manifest, features.n_objects)
    except BaseException:
        lock.release()
        raise


def _manifest(folder: Path, features: Features, request: Request, random_state: Any) -> Mapping[str, Any]:
    """The manifest of the folder: that of an earlier run of the same call, or a new one."""
    entropy = None if random_state is None else entropy_of(random_state)
    wanted = {
        "format": FORMAT,
        "quorate": __version__,
        "data": fingerprint(features.data),
        "options": {name: describe(value) for name, value in request._asdict().items()},
        "seed": None if entropy is None else str(entropy),
    }
    found = _read(folder)
    if found is None:
        made = {**wanted, "seed": str(entropy_of(None) if entropy is None else entropy)}
        if _write(folder, made):
            return made
        # another process was first, on a file system without locks
        found = _read(folder) or {}
    _refuse_difference(folder, found, wanted)
    return found


def fingerprint(data: Any) -> str:
    """Shape, type and a hash of the values, read in blocks (of 4 MB: the hash depends on where they end)."""
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
    """That of format 1."""
    return b"%08x" % zlib.crc32(facts, zlib.crc32(labels.data))


def describe(value: Any) -> str:
    """An option in words that change whenever its meaning does."""
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


def _call(value: Any, arguments: Mapping[str, Any]) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}({describe(dict(arguments))[1:-1]})"


def _read(folder: Path) -> dict[str, Any] | None:
    path = folder / MANIFEST
    if not path.exists():
        return None
    if not path.is_file():
        raise ValueError(f"{path} is no file; delete the folder {folder} and start anew.")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if not 0 <= int(found["seed"]) < 2**1024 or not isinstance(found.get("options"), dict):
            raise ValueError("its seed or its options are not what we write")
        return dict(found)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = _check.brief(error, quoted=False)
        raise ValueError(f"{path} is damaged ({reason}); delete the folder {folder} and start anew.") from error


def _write(folder: Path, manifest: Mapping[str, Any]) -> bool:
    """Write the manifest whole, unless there is one; returns whether it was written."""
    aside = folder / f".{MANIFEST}.{os.getpid()}.part"
    aside.write_text(json.dumps(manifest, indent=2), encoding="utf-8")
    try:
        # unlike a renaming, a link never replaces a file
        os.link(aside, folder / MANIFEST)
    except FileExistsError:
        return False
    except OSError:
        # no links here: the lock alone must do
        os.replace(aside, folder / MANIFEST)
        return True
    finally:
        aside.unlink(missing_ok=True)
    return True


def _refuse_other_things(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"checkpoint {folder} is a file; name a folder, which is made if it is not there.")
    if folder.is_dir() and not (folder / MANIFEST).exists():
        ours = (".part", NAME)
        strange = [entry.name for entry in folder.iterdir() if not entry.name.endswith(ours)]
        if strange:
            raise ValueError(
                f"the folder {folder} is no checkpoint: it has no {MANIFEST}, but {strange[0]!r}; name an empty folder."
            )


def _brief(text: Any) -> str:
    return _check.brief(text, most=200, quoted=False)


def _refuse_difference(folder: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Raise with all that differs: a checkpoint of other data or options must not be mixed in."""
    told = []
    if found.get("format") not in _READABLE or found.get("quorate") != wanted["quorate"]:
        told.append(f"it was written by quorate {_brief(found.get('quorate'))}, this is {wanted['quorate']}")
    if found.get("data") != wanted["data"]:
        told.append(f"the data were {_brief(found.get('data'))} and are {wanted['data']}")
    old = found.get("options", {})
    told += [
        f"{name} was {_brief(old.get(name))} and is {_brief(now)}"
        for name, now in wanted["options"].items()
        if old.get(name) != now
    ]
    if wanted["seed"] is not None and found["seed"] != wanted["seed"]:
        told.append(f"random_state stood for seed {_brief(found['seed'])} and stands for {wanted['seed']}")
    if told:
        raise ValueError(
            f"the checkpoint {folder} belongs to another run: {'; '.join(told)}. Repeat the call that made it, or "
            f"name another folder."
        )

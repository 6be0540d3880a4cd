"""Faults of the file system: the n-th operation on a file fails, files may not grow beyond a size, the disk is full."""

from __future__ import annotations

import builtins
import contextlib
import errno
import gc
import io
import os
import resource
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.reliability.cases import Case
from benchmarks.reliability.shell import Outcome, faults, prepare, run_here, snapshot

_LABELS = ["consensus", "labels.csv", "--id", "id", "-k", "3", "-m", "kmeans", "--no-null", "--force", "-o"]
_MEMBERS = ["generate", "features.npy", "--members", "3", "--k", "3", "--base", "kmeans", "--force", "-o"]
_BLOCKS = ["consensus", "labels.parquet", *_LABELS[2:-2], "--memory", "100MB", "--force", "-o"]
_OLD = {"copy": "result.csv"}
# every kind of output, with a file of that name that must stay as it is if the new one cannot be written
WRITERS: dict[str, Case] = {
    **{
        f"labels as {suffix}": Case(
            suffix, [*_LABELS, f"old.{suffix}"], {f"old.{suffix}": {"copy": f"result.{suffix}"}}
        )
        for suffix in ("csv", "parquet", "npy", "npz", "zarr")
    },
    "labels as csv.gz": Case("csv.gz", [*_LABELS, "old.csv.gz"], {"old.csv.gz": {"copy": "labels.csv.gz"}}),
    **{
        f"ensemble as {suffix}": Case(
            suffix, [*_MEMBERS, f"old.{suffix}"], {f"old.{suffix}": {"copy": f"labels.{suffix}"}}
        )
        for suffix in ("csv", "npz", "zarr")
    },
    **{
        f"labels in blocks as {suffix}": Case(
            suffix, [*_BLOCKS, f"old.{suffix}"], {f"old.{suffix}": {"copy": f"result.{suffix}"}}
        )
        for suffix in ("csv", "parquet", "npy", "zarr")
    },
    "labels in blocks as folder": Case("folder", [*_BLOCKS, "old"], {"old": {"copy": "parts"}}),
    "members in blocks": Case(
        "members", [*_MEMBERS[:-1], "--memory", "100MB", "-o", "old.csv"], {"old.csv": {"copy": "labels.csv"}}
    ),
    "report": Case(
        "report", ["report", "labels.csv", "result.csv", "--id", "id", "--force", "-o", "old.html"], {"old.html": "old"}
    ),
    "checkpoint": Case(
        "checkpoint", [*_MEMBERS, "old.npz", "--checkpoint", "new"], {"old.npz": {"copy": "labels.npz"}}
    ),
    "checkpoint taken up": Case(
        "checkpoint",
        [*_MEMBERS, "old.npz", "--checkpoint", "half"],
        {
            "old.npz": {"copy": "labels.npz"},
            "half": {"copy": "run", "inside": "member-000001.npy", "damage": "lost"},
        },
    ),
}


class Broken:
    """Counts the operations that write below a folder, and makes one of them fail.

    Counted are the opening of files for writing, each write of Python's streams, and os.fsync, replace, rename, link
    and mkdir. Writes that C code makes by itself, as numpy's do, are not seen here but by `small_files`.
    """

    def __init__(self, folder: Path, at: int, code: int = errno.EIO) -> None:
        self.folder, self.at, self.code = str(folder), at, code
        self.count = 0

    def step(self) -> None:
        """Count one operation; raise if it is the one that fails."""
        self.count += 1
        if self.count == self.at:
            raise OSError(self.code, os.strerror(self.code))

    def within(self, path: Any) -> bool:
        """Whether a path lies in the folder."""
        try:
            return os.path.abspath(os.fspath(path)).startswith(self.folder)
        except TypeError:
            return False

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Replace the functions of the system until the end of the block."""
        with contextlib.ExitStack() as stack:
            opened = self._opening(builtins.open)
            stack.enter_context(mock.patch.object(builtins, "open", opened))
            stack.enter_context(mock.patch.object(io, "open", opened))
            for name in ("replace", "rename", "link", "mkdir"):
                stack.enter_context(mock.patch.object(os, name, self._counted(getattr(os, name))))
            stack.enter_context(mock.patch.object(os, "fsync", self._counted(os.fsync, always=True)))
            yield

    def _counted(self, real: Callable[..., Any], *, always: bool = False) -> Callable[..., Any]:
        def call(path: Any, *others: Any, **options: Any) -> Any:
            if always or self.within(path):
                self.step()
            return real(path, *others, **options)

        return call

    def _opening(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def open_(path: Any, mode: str = "r", buffering: int = -1, *others: Any, **options: Any) -> Any:
            if isinstance(path, int) or not set(mode) & set("wxa") or not self.within(path):
                return real(path, mode, buffering, *others, **options)
            self.step()
            stream = io.BufferedWriter(_Raw(path, mode.replace("b", "").replace("t", ""), self))
            return stream if "b" in mode else io.TextIOWrapper(stream, *others, **options)

        return open_


class _Raw(io.FileIO):
    """A file whose writes are counted."""

    def __init__(self, path: Any, mode: str, broken: Broken) -> None:
        super().__init__(path, mode)
        self._broken = broken

    def write(self, content: Any) -> int:
        self._broken.step()
        return super().write(content) or 0


def break_at(writer: str, at: int, code: int = errno.EIO) -> tuple[int, list[str]]:
    """Run a writer with its operation number `at` failing; return how many operations there were, and the faults."""
    with tempfile.TemporaryDirectory(prefix="quorate-fault-") as place:
        folder = Path(place)
        broken = Broken(folder, at, code)
        outcome = _run(writer, folder, broken.installed())
        return broken.count, _judge(writer, outcome, folder)


def small_files(writer: str, n_bytes: int) -> tuple[bool, list[str]]:
    """Run a writer while no file may grow beyond a size; return whether it succeeded, and the faults."""
    with tempfile.TemporaryDirectory(prefix="quorate-fault-") as place:
        outcome = _run(writer, Path(place), _file_size(n_bytes))
        return outcome.status == 0, _judge(writer, outcome, Path(place))


def full_disk(writer: str, kilobytes: int) -> tuple[bool, list[str]] | None:
    """Run a writer on a disk with so many free kB; return whether it succeeded, and the faults.

    None is returned if this process may not mount a disk.
    """
    with tempfile.TemporaryDirectory(prefix="quorate-disk-") as place:
        mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place]
        try:
            subprocess.run(mount, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        try:
            outcome = _run(writer, Path(place), contextlib.nullcontext(), free=kilobytes)
            return outcome.status == 0, _judge(writer, outcome, None)
        finally:
            # from Python 3.12 on, the frames of a failed call keep the memory map of its input until they are collected
            gc.collect()
            subprocess.run(["umount", place], check=True, capture_output=True)


def _run(
    writer: str, folder: Path, broken: contextlib.AbstractContextManager[Any], *, free: int | None = None
) -> Outcome:
    case = WRITERS[writer]
    prepare(case, folder)
    if free is not None:
        available = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
        (folder / "filler").write_bytes(bytes(available - 1024 * free))
    before = snapshot(folder)
    with broken:
        status, out, err = run_here(case.run, folder)
    after = snapshot(folder)
    changed = tuple(name for name in before if after.get(name) != before[name])
    return Outcome(status, out, err, 0.0, changed, tuple(name for name in after if name not in before))


def _judge(writer: str, outcome: Outcome, folder: Path | None) -> list[str]:
    """Return what is wrong; the same call is repeated without faults and must succeed.

    In blocks an unfinished run keeps its work beside the output, and a folder that was about to be replaced is kept
    there.
    """
    case, out = WRITERS[writer], WRITERS[writer].run[-1] if "checkpoint" not in writer else "old.npz"
    if "in blocks" in writer and outcome.status:
        made = tuple(name for name in outcome.made if Path(name).parts[0] != f".{out}.quorate")
        outcome = replace(outcome, made=made)
    found = faults(case, outcome)
    if folder is not None:
        status, _, err = run_here(case.run, folder)
        if status != 0:
            found.append(f"not taken up again: {err}")
        elif writer != "report" and _content(folder / out) != expected(writer, out):  # a report tells the time
            found.append("taken up again, the result differs")
        elif "in blocks" in writer and (folder / f".{out}.quorate").exists():
            found.append("the unfinished work is still there")
    return found


def _content(place: Path) -> dict[str, bytes]:
    return snapshot(place) if place.is_dir() else {"": place.read_bytes()}


_expected: dict[str, dict[str, bytes]] = {}


def expected(writer: str, out: str) -> dict[str, bytes]:
    """Return what a writer writes without faults."""
    if writer not in _expected:
        with tempfile.TemporaryDirectory(prefix="quorate-good-") as place:
            _run(writer, Path(place), contextlib.nullcontext())
            _expected[writer] = _content(Path(place) / out)
    return _expected[writer]


@contextlib.contextmanager
def _file_size(n_bytes: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

"""The invariant over files: nothing that was there before and that Quorate did not write is changed or gone.

Every path that a command writes, renames or deletes is listed by tracing one run. Then something strange is put there
before the run: a file, a folder, a link, a pipe. And the power is cut at every operation: all later ones fail, and what
was not flushed to the disk is lost. The next run of the same command succeeds or says why not in one line.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.reliability.faults import WRITERS, Broken, expected
from benchmarks.reliability.shell import prepare, run_here, snapshot

_EVENTS = {
    "open": 1,
    "os.rename": 2,
    "os.remove": 1,
    "os.mkdir": 1,
    "os.rmdir": 1,
    "os.truncate": 1,
    "os.link": 2,
    "os.symlink": 2,
    "os.chmod": 1,
    "os.chown": 1,
    "shutil.rmtree": 1,
}
"""Events of `sys.addaudithook` that change files, and how many of their first arguments are paths."""
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_seen: list[set[str]] = []
"""The paths of the trace that is being made; a hook cannot be taken away again, so that it looks here."""
_hooked: list[bool] = []


def _hook(event: str, given: tuple[Any, ...]) -> None:
    if not _seen or event not in _EVENTS or (event == "open" and not given[2] & _WRITING):
        return
    for path in given[: _EVENTS[event]]:
        with contextlib.suppress(TypeError, ValueError):
            _seen[-1].add(os.path.abspath(os.fsdecode(path)))


@contextlib.contextmanager
def same_names() -> Iterator[None]:
    """Let temporary files have the same names in every run."""
    with mock.patch.object(secrets, "token_hex", lambda n=4: "0" * 2 * n):
        yield


def touched(writer: str) -> list[str]:
    """Return the paths, relative to the folder, that a writer opens for writing, renames, makes or deletes."""
    if not _hooked:
        sys.addaudithook(_hook)
        _hooked.append(True)
    with tempfile.TemporaryDirectory(prefix="quorate-place-") as place, same_names():
        folder = Path(os.path.realpath(place))
        prepare(WRITERS[writer], folder)
        _seen.append(set())
        try:
            run_here(WRITERS[writer].run, folder)
        finally:
            found = _seen.pop()
        inside = sorted(path for path in found if path.startswith(f"{folder}{os.sep}"))
        return [os.path.relpath(path, folder) for path in inside]


def _file(path: Path, _: Path) -> None:
    path.write_bytes(b"mine")


def _folder(path: Path, _: Path) -> None:
    path.mkdir()
    (path / "thesis.txt").write_bytes(b"mine")


def _link(path: Path, victims: Path) -> None:
    path.symlink_to(victims / "thesis.txt")


def _link_to_folder(path: Path, victims: Path) -> None:
    path.symlink_to(victims)


def _pipe(path: Path, _: Path) -> None:
    os.mkfifo(path)


def _others(path: Path, _: Path) -> None:
    path.write_bytes(b"theirs")
    os.chown(path, 12345, 12345)


STRANGE: dict[str, Callable[[Path, Path], None]] = {
    "a file": _file,
    "a folder": _folder,
    "a link": _link,
    "a link to a folder": _link_to_folder,
    "a pipe": _pipe,
    **({"a file of another user": _others} if getattr(os, "geteuid", lambda: 1)() == 0 else {}),
}


def output_of(writer: str) -> str:
    """Return the name of the output that a writer replaces."""
    return "old.npz" if "checkpoint" in writer else WRITERS[writer].run[-1]


def may_be_replaced(writer: str, path: str, kind: str) -> bool:
    """Whether a strange file of this kind may be replaced: docs/reliability.md says so.

    These are the output itself, which `--force` names, what a link with its name leads to, and plain files of the
    user that have the name of a temporary file of the output, or of a file in a folder of one. A file with the name
    of a member of a checkpoint is a damaged member, which is made again.
    """
    is_file = kind.startswith("a file") or kind == "a link"
    is_temporary = any(part.endswith(".part") for part in Path(path).parts) and kind == "a file"
    is_member = is_file and re.fullmatch(r"half/member-\d{6}\.npy", path) is not None
    return (path == output_of(writer) and is_file) or is_temporary or is_member


def strange_at(writer: str, path: str, kind: str) -> list[str]:
    """Put something strange at a path, run the writer, and return what is wrong."""
    with tempfile.TemporaryDirectory(prefix="quorate-place-") as place, same_names():
        folder = Path(os.path.realpath(place)) / "work"
        victims = folder.parent / "victims"
        folder.mkdir()
        victims.mkdir()
        (victims / "thesis.txt").write_bytes(b"mine")
        prepare(WRITERS[writer], folder)
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(target):
            shutil.rmtree(target) if target.is_dir() and not target.is_symlink() else target.unlink()
        STRANGE[kind](target, victims)
        before = {**_strange(target), **{f"victims/{name}": held for name, held in snapshot(victims).items()}}
        status, _, err = run_here(WRITERS[writer].run, folder)
        after = {**_strange(target), **{f"victims/{name}": held for name, held in snapshot(victims).items()}}
        where = f"{writer}, {kind} at {path}"
        wrong = (
            [] if before == after or may_be_replaced(writer, path, kind) else [f"{where}: it was changed or deleted"]
        )
        wrong += [f"{where}: {fault}" for fault in _said(status, err)]
        if os.path.lexists(target) and status != 0:
            shutil.rmtree(target) if target.is_dir() and not target.is_symlink() else target.unlink()
            status, _, err = run_here(WRITERS[writer].run, folder)
            wrong += [f"{where}, taken away again: {fault}" for fault in _said(status, err)]
        return wrong


def _strange(target: Path) -> dict[str, bytes]:
    """Return what is at a path, and below it."""
    found = snapshot(target.parent) if target.parent.is_dir() else {}
    inside = f"{target.name}{os.sep}"
    return {name: held for name, held in found.items() if name == target.name or name.startswith(inside)}


def _said(status: int | None, err: str) -> list[str]:
    """Return what is wrong with how a run ended: it succeeds, or says why not in one line."""
    errors = [line for line in err.splitlines() if "warning" not in line and "continuing after" not in line]
    if status == 0 or (status == 2 and len(errors) == 1 and errors[0].startswith("quorate: error: ")):
        return []
    return [f"ended with {status}: {err[-300:]}"]


class PowerCut(Broken):
    """The operation `at` and all later ones fail, and files that were not flushed by then are empty afterwards."""

    def __init__(self, folder: Path, at: int) -> None:
        super().__init__(folder, at)
        self.unsafe: set[int] = set()

    def step(self) -> None:
        self.count += 1
        if self.at and self.count >= self.at:
            raise OSError(self.code, os.strerror(self.code))

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        with super().installed(), contextlib.ExitStack() as stack:
            for name in ("unlink", "remove", "rmdir"):
                stack.enter_context(mock.patch.object(os, name, self._counted(getattr(os, name))))
            flush = os.fsync

            def fsync(number: Any) -> None:
                flush(number)
                self.unsafe.discard(os.fstat(number if isinstance(number, int) else number.fileno()).st_ino)

            stack.enter_context(mock.patch.object(os, "fsync", fsync))
            yield

    def _opening(self, real: Callable[..., Any]) -> Callable[..., Any]:
        opened = super()._opening(real)

        def open_(path: Any, mode: str = "r", *others: Any, **options: Any) -> Any:
            stream = opened(path, mode, *others, **options)
            if not isinstance(path, int) and set(mode) & set("wxa") and self.within(path):
                self.unsafe.add(os.fstat(stream.fileno()).st_ino)
            return stream

        return open_

    def lose(self) -> None:
        """Empty all files that were not flushed."""
        for place, _, files in os.walk(self.folder):
            for name in files:
                path = Path(place) / name
                if not path.is_symlink() and path.is_file() and path.stat().st_ino in self.unsafe:
                    os.truncate(path, 0)


def cut_at(writer: str, at: int) -> tuple[int, list[str]]:
    """Cut the power at an operation of a writer and run it again; return the number of operations, and the faults."""
    out = output_of(writer)
    with tempfile.TemporaryDirectory(prefix="quorate-power-") as place:
        folder = Path(os.path.realpath(place))
        prepare(WRITERS[writer], folder)
        mine, old = _inputs(folder, writer), _content(folder / out)
        cut = PowerCut(folder, at)
        with cut.installed():
            run_here(WRITERS[writer].run, folder)
        cut.lose()
        wrong = []
        flushes = "zarr" not in writer and writer != "report"
        if flushes and _content(folder / out) not in (old, expected(writer, out), {}):
            wrong.append(f"{writer}, power cut at {at}: the output is neither the old one nor the new one")
        status, _, err = run_here(WRITERS[writer].run, folder)
        wrong += [f"{writer}, after a power cut at {at}: {fault}" for fault in _said(status, err)]
        if status == 0 and writer != "report" and _content(folder / out) != expected(writer, out):
            wrong.append(f"{writer}, power cut at {at}: the next run gives another result")
        if mine != _inputs(folder, writer):
            wrong.append(f"{writer}, power cut at {at}: a file that was there before is changed or gone")
        return cut.count, wrong


def _inputs(folder: Path, writer: str) -> dict[str, bytes]:
    """Return the files that the writer may not change."""
    own = {word for word in WRITERS[writer].run if word in WRITERS[writer].files} | {output_of(writer), "new"}
    return {
        name: held
        for name, held in snapshot(folder).items()
        if Path(name).parts[0] not in own and not name.startswith(".")
    }


def _content(place: Path) -> dict[str, bytes]:
    if not os.path.lexists(place):
        return {}
    return snapshot(place) if place.is_dir() else {"": place.read_bytes()}

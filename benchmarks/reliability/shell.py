"""Running a case, in this process or in one of its own, and judging what came of it."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from benchmarks.reliability import fixtures
from benchmarks.reliability.cases import Case
from benchmarks.reliability.files import make_files

SECONDS = 60
STATUSES = (0, 2)
_OUTPUTS = ("-o", "--output", "--report", "--ensemble", "--checkpoint")


@dataclass(frozen=True)
class Outcome:
    """What a run gave: its exit status (None if it raised), its streams, its seconds, and how the folder changed."""

    status: int | None
    out: str
    err: str
    seconds: float
    changed: tuple[str, ...]
    made: tuple[str, ...]


class TooSlowError(Exception):
    """A case did not end in time."""


def run_case(case: Case) -> Outcome:
    """Make the files of a case in a new folder, run it there, and remove the folder."""
    folder = Path(tempfile.mkdtemp(prefix="quorate-case-"))
    try:
        prepare(case, folder)
        before = snapshot(folder)
        start = time.perf_counter()
        run = run_in_process if case.process else run_here
        status, out, err = run(case.run, folder, case.input)
        seconds = time.perf_counter() - start
        after = snapshot(folder)
    finally:
        _writable(folder)
        shutil.rmtree(folder, ignore_errors=True)
    changed = tuple(name for name in before if after.get(name) != before[name])
    return Outcome(status, out, err, seconds, changed, tuple(name for name in after if name not in before))


def prepare(case: Case, folder: Path) -> None:
    """Put the good files that the case names, and the files that it describes, into a folder."""
    make_files(case.files, folder)
    for name in fixtures.names():
        if name in case.run and not os.path.lexists(folder / name):
            fixtures.put(name, folder)


def snapshot(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below a folder by its path; of links and pipes their kind."""
    found = {}
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place) / name
            if path.is_symlink():
                content = f"link to {os.readlink(path)}".encode()
            elif path.is_file():
                content = path.read_bytes()
            else:
                content = b"folder" if path.is_dir() else b"other"
            found[str(path.relative_to(folder))] = content
    return found


def run_here(run: Sequence[str], folder: Path, given: str = "") -> tuple[int | None, str, str]:
    """Call `quorate.cli.main` as the shell would; the status is None, and the trace is in err, if it raises."""
    from quorate.cli import main

    out, err = io.StringIO(), io.StringIO()
    status: int | None
    with _in_folder(folder), _streams(given, out, err), _limited(SECONDS):
        try:
            status = _load_consensus(run[1]) if run[:1] == ["load_consensus"] else main(list(run))
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 1
        except BaseException:
            status = None
            err.write(traceback.format_exc())
    return status, out.getvalue(), err.getvalue()


def _load_consensus(path: str) -> int:
    """Load a file of a whole result, which no command of the shell does, and report errors as the shell would."""
    from quorate import load_consensus

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            load_consensus(path)
    except (ValueError, TypeError, OSError, MemoryError) as error:
        sys.stderr.write(f"quorate: error: {error}\n")
        return 2
    return 0


def run_in_process(run: Sequence[str], folder: Path, given: str = "") -> tuple[int | None, str, str]:
    """Run `python -m quorate` in a process of its own; the status is None if it does not end in time."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "quorate", *run],
            cwd=folder,
            input=given.encode("utf-8", "surrogatepass"),
            capture_output=True,
            timeout=SECONDS,
            check=False,
            env={**os.environ, "PYTHONPATH": python_path()},
        )
    except subprocess.TimeoutExpired:
        return None, "", f"TooSlowError: not ended after {SECONDS} s"
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def python_path() -> str:
    """Return the search path by which another process in any folder imports the same package as this one."""
    import quorate

    ours = [str(Path(quorate.__file__).parents[1]), str(Path(__file__).parents[2])]
    return os.pathsep.join([*ours, *filter(None, [os.environ.get("PYTHONPATH", "")])])


def faults(case: Case, outcome: Outcome) -> list[str]:
    """Return everything about an outcome that must not be; an empty list if all is well."""
    found = []
    if outcome.status not in STATUSES:
        found.append(f"exit status {outcome.status}")
    if case.exit is not None and outcome.status != case.exit:
        found.append(f"exit status {outcome.status} instead of {case.exit}")
    if "Traceback" in outcome.err:
        found.append("a traceback")
    found += _faults_of_words(case, outcome)
    allowed = set() if outcome.status else _outputs(case.run)
    forced = allowed if "--force" in case.run else set()
    checkpoint = {word for option, word in _pairs(case.run) if option == "--checkpoint"}
    for name in outcome.changed:
        if Path(name).parts[0] not in forced | checkpoint:
            found.append(f"{name} was changed")
    for name in outcome.made:
        if Path(name).parts[0] not in allowed | checkpoint or name.endswith(".part"):
            found.append(f"{name} was left behind")
    if outcome.seconds > SECONDS:
        found.append(f"{outcome.seconds:.0f} s")
    return found


SAID = ("quorate: error: ", "quorate: warning: ", "quorate: continuing after an interruption: ")
"""How lines on standard error begin."""


def _faults_of_words(case: Case, outcome: Outcome) -> Iterator[str]:
    lines = outcome.err.splitlines()
    errors = [line for line in lines if line.startswith("quorate: error: ")]
    others = [line for line in lines if not line.startswith(SAID)]
    if outcome.status == 2 and len(errors) != 1:
        yield f"{len(errors)} lines of errors"
    if outcome.status == 0 and errors:
        yield "success and an error"
    # with -o - the summary goes to standard error, because the labels go to standard output
    if others and not (outcome.status == 0 and "-" in case.run):
        yield f"other lines on standard error: {others[0][:200]!r}"
    if outcome.status == 2 and outcome.out:
        yield "an error after output"
    if not all(c.isprintable() or c == "\n" for c in outcome.err):
        yield "control characters on standard error"
    if any(len(line) > 1300 for line in lines):
        yield "a line of more than 1300 characters"
    if case.says not in outcome.err:
        yield f"does not say {case.says!r}"


def _pairs(run: Sequence[str]) -> Iterator[tuple[str, str]]:
    return itertools.pairwise(run)


def _outputs(run: Sequence[str]) -> set[str]:
    """Return the names of the files that a run may write."""
    if run[:1] == ["demo"] and "--output" not in run:
        return {"quorate-demo"}
    return {Path(word).parts[0] if Path(word).parts else "." for option, word in _pairs(run) if option in _OUTPUTS}


@contextlib.contextmanager
def _in_folder(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def _streams(given: str, out: io.StringIO, err: io.StringIO) -> Iterator[None]:
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(
        io.BufferedReader(io.BytesIO(given.encode("utf-8", "surrogatepass"))), encoding="utf-8"
    )
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            yield
    finally:
        sys.stdin = before


@contextlib.contextmanager
def _limited(seconds: int) -> Iterator[None]:
    """Raise TooSlowError in this thread after so many seconds, if the thread can be interrupted."""

    def stop(_: int, __: FrameType | None) -> None:
        raise TooSlowError(f"not ended after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _writable(folder: Path) -> None:
    """Give back permissions that a case took away, so that the folder can be removed."""
    for place, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(place) / name
            if not path.is_symlink():
                path.chmod(0o700)

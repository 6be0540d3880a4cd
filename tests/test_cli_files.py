"""The shell and its files: two results in one place, results over inputs, links, left-overs, and signals."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quorate import save_labels
from quorate._io.aside import remove_left_over, remove_own, write_aside, write_folder_aside
from quorate.cli import main
from quorate.cli.entry import PATIENCE, EndedError, _report_interrupt, answered_signals

Output = pytest.CaptureFixture[str]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "labels.csv"
    path.write_text("a,b\n" + "".join(f"{i % 3},{i % 2}\n" for i in range(30)))
    return path


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    path = tmp_path / "features.csv"
    values = np.random.default_rng(0).normal(size=(30, 2))
    path.write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in values))
    return path


def refused(arguments: list[Any], capsys: Output) -> str:
    """Run the command, which must be refused in one line, and return that line."""
    capsys.readouterr()
    assert main([str(argument) for argument in arguments]) == 2
    out, line = capsys.readouterr()
    assert out == ""
    assert line.startswith("quorate: error: ")
    assert line.count("\n") == 1
    return line


# ---- one place for two results, and results over inputs


def test_two_results_in_one_file(numbers: Path, tmp_path: Path, capsys: Output) -> None:
    same = tmp_path / "f.csv"
    (tmp_path / "folder").mkdir()
    for other in (same, tmp_path / "folder" / ".." / "f.csv"):
        line = refused(["cluster", numbers, "-k", 2, "-o", same, "--ensemble", other, "--force"], capsys)
        assert "-o and --ensemble both write to" in line
        assert not same.exists()
    line = refused(["cluster", numbers, "-k", 2, "-o", "-", "--ensemble", "-"], capsys)
    assert "-o and --ensemble both write to standard output; name two files" in line
    line = refused(["cluster", numbers, "-k", 2, "--json", "--ensemble", "-"], capsys)
    assert "--json and --ensemble - both write to standard output" in line


def test_a_summary_is_not_mixed_with_an_ensemble(numbers: Path, capsys: Output) -> None:
    assert main(["cluster", str(numbers), "-k", "2", "--members", "3", "--no-null", "--ensemble", "-"]) == 0
    out, summary = capsys.readouterr()
    assert len(out.splitlines()) == 31
    assert "clusterings" in summary


@pytest.mark.parametrize("command", ["consensus", "report", "place", "generate"])
def test_inputs_are_never_replaced(table: Path, numbers: Path, tmp_path: Path, capsys: Output, command: str) -> None:
    save_labels(tmp_path / "c.csv", np.arange(30) % 2)
    link = tmp_path / "link.csv"
    link.symlink_to(table)
    lines = {
        "consensus": ["consensus", table, "-k", 2, "--force", "-o", link],
        "report": ["report", table, tmp_path / "c.csv", "--force", "-o", tmp_path / "c.csv"],
        "place": ["place", table, tmp_path / "c.csv", table, "--force", "-o", tmp_path / "c.csv"],
        "generate": ["generate", numbers, "--force", "-o", numbers],
    }
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert "which is read, and --force does not allow that; name another file" in refused(lines[command], capsys)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_link_stays_a_link(table: Path, tmp_path: Path) -> None:
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    link.symlink_to(real)
    assert main(["consensus", str(table), "-k", "2", "--no-null", "--quiet", "-o", str(link), "--force"]) == 0
    assert link.is_symlink()
    assert real.read_text().startswith("label")


# ---- what a killed process left


def left_over(target: Path, folder: bool = False) -> Path:
    path = target.with_name(f".{target.name}.0123abcd.part")
    path.mkdir() if folder else path.write_text("half")
    return path


def test_left_over_files_are_removed(tmp_path: Path) -> None:
    target = tmp_path / "out[1].csv"
    left = left_over(target)
    others = [tmp_path / ".out[1].csv.part", tmp_path / ".out1.csv.0123abcd.part"]
    for other in others:
        other.write_text("another's")
    save_labels(target, [0, 1])
    assert not left.exists()
    assert all(other.exists() for other in others)


def test_left_over_folders_are_removed_and_what_they_replaced_is_put_back(tmp_path: Path) -> None:
    target = tmp_path / "out.zarr"
    left = left_over(target, folder=True)
    (left / "new").mkdir()
    (left / "old").mkdir()
    (left / "old" / ".zgroup").write_text("{}")
    with pytest.raises(FileExistsError):
        save_labels(target, [0, 1])
    remove_left_over(target)
    assert not left.exists()
    assert (target / ".zgroup").exists()


def test_what_is_being_written_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"

    def write(file: Any) -> None:
        file.write(b"first")
        remove_left_over(target)
        assert len(list(tmp_path.glob(".out.csv.*.part"))) == 1

    write_aside(target, write, overwrite=False)
    assert target.read_bytes() == b"first"


def test_a_process_that_ends_at_once_removes_what_it_writes(tmp_path: Path) -> None:
    def write(folder: Path) -> None:
        folder.mkdir()
        remove_own()
        assert not list(tmp_path.iterdir())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_folder_aside(tmp_path / "out.zarr", write, overwrite=False)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_names_the_path(tmp_path: Path) -> None:
    def full(_: Any) -> None:
        raise OSError(28, "No space left on device")

    for write in (write_aside, write_folder_aside):
        with pytest.raises(OSError, match=r"cannot write .*out.csv: No space left on device"):
            write(tmp_path / "out.csv", full, overwrite=False)
        assert not list(tmp_path.iterdir())


# ---- signals

# the main thread computes in C without the interpreter lock, as kernels do, while an output is half-written
BUSY = """
import hashlib, sys
from quorate._io.aside import write_aside
from quorate.cli import main, work
def busy(*_, **__):
    def write(file):
        file.write(b"half")
        file.flush()
        print("busy", flush=True)
        hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000_000)
    write_aside(sys.argv[2], write, overwrite=False)
work.consensus = busy
sys.exit(main(["consensus", sys.argv[1], "-k", "2", "-o", sys.argv[2]]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("number", "told"),
    [
        (signal.SIGINT, "interrupted"),
        (signal.SIGTERM, "ended by SIGTERM"),
        (signal.SIGHUP, "ended by SIGHUP, because the terminal was closed"),
    ],
)
def test_compiled_code_does_not_delay_the_answer(table: Path, tmp_path: Path, number: int, told: str) -> None:
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("this signal is ignored here and in every process started from here, as nohup does with SIGHUP")
    command = [sys.executable, "-c", BUSY, str(table), str(tmp_path / "out.csv")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "busy\n"
    assert len(list(tmp_path.glob(".out.csv.*.part"))) == 1
    os.kill(process.pid, number)
    start = time.perf_counter()
    _, line = process.communicate(timeout=60)
    # the machine may be busy: the promise is a second on an idle one
    assert time.perf_counter() - start < PATIENCE + 5
    assert (process.returncode, line) == (128 + number, f"quorate: error: {told}\n")
    assert [path.name for path in tmp_path.iterdir()] == [table.name]


@pytest.mark.parametrize(("interrupt", "status"), [(KeyboardInterrupt(), 130), (EndedError(signal.SIGTERM), 143)])
def test_a_signal_while_answers_are_taken_down(
    interrupt: KeyboardInterrupt, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def late() -> Iterator[None]:
        yield
        raise interrupt

    monkeypatch.setattr("quorate.cli.entry.answered_signals", late)
    assert main(["methods"]) == status
    assert capsys.readouterr().err.count("\n") == 1


def test_an_interrupt_within_a_destructor_is_not_told_as_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    class Interrupted:
        def __init__(self, error: type[BaseException]) -> None:
            self.error = error

        def __del__(self) -> None:
            raise self.error("raised where nobody can catch it")

    told = []
    before, sys.unraisablehook = sys.unraisablehook, lambda unraisable: told.append(unraisable.exc_type)
    try:
        with answered_signals():
            Interrupted(KeyboardInterrupt)
            Interrupted(OSError)
        Interrupted(KeyboardInterrupt)
    finally:
        sys.unraisablehook = before
    assert told == [OSError, KeyboardInterrupt]
    assert capsys.readouterr().err == ""


def test_a_terminal_without_utf_8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "labels.csv").write_text("id,ä,b\nö1,x,0\nö2,y,1\nö3,x,0\nö4,y,1\n", encoding="utf-8")
    common = ["consensus", str(tmp_path / "labels.csv"), "--id", "id", "-k", "2", "-m", "kmeans", "--no-null"]
    written = {}
    for output in ([], ["-o", "-"]):
        terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        monkeypatch.setattr("sys.stdout", terminal)
        assert main([*common, *output]) == 0
        terminal.flush()
        written[len(output)] = terminal.buffer.getvalue()
    assert b"\\xe4 (2 clusters)" in written[0]
    assert "ö1,0,".encode() in written[2]


def test_an_error_that_cannot_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.StringIO):
        def write(self, _: str) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("sys.stderr", Full())
    assert main(["consensus", "nowhere.csv", "-k", "2"]) == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("arguments", [["--help"], ["score", "--help"], ["--version"], ["methods"]])
def test_help_that_cannot_be_written_is_an_error(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "quorate", *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode != 0
    assert "No space left" in done.stderr
    assert "Errno" not in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("setting", [{"NUMBA_NUM_THREADS": "abc"}, {"NUMBA_DISABLE_JIT": "1"}])
def test_settings_of_numba_cost_one_line_at_most(setting: dict[str, str], tmp_path: Path) -> None:
    """Kernels that are not compiled warned of each product of hashes: 2,280 times."""
    (tmp_path / "t.csv").write_text("id,a,b\n1,x,y\n2,x,y\n3,z,w\n4,z,w\n")
    command = [sys.executable, "-m", "quorate", "consensus", str(tmp_path / "t.csv"), "--id", "id", "-k", "2"]
    done = subprocess.run(
        [*command, "--no-null"], env={**os.environ, **setting}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stderr.count("\n") <= 1
    assert "Traceback" not in done.stderr


def test_objects_that_an_interrupt_left_half_made_are_passed_over(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event loop that is interrupted while it is made has no sockets that its destructor could close."""

    class HalfMade:
        def __init__(self) -> None:
            raise KeyboardInterrupt

        def __del__(self) -> None:
            raise AttributeError("_ssock")

    told: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", lambda unraisable: told.append(unraisable.exc_type))
    status = 0
    with answered_signals():
        try:
            HalfMade()
        except KeyboardInterrupt as interrupt:
            status = _report_interrupt(interrupt)
    assert status == 130
    assert told == []
    assert capsys.readouterr().err == "quorate: error: interrupted\n"

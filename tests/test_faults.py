"""Faults of the system: failing writes, full disks, signals at random moments, little memory.

`make soak` runs the same at more places and moments.
"""

from __future__ import annotations

import errno
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.reliability import faults, places, signals
from benchmarks.reliability.load import LIMITED, limited_memory
from benchmarks.reliability.server import Server
from benchmarks.reliability.shell import run_in_process

from quorate._io.arrays import write_npz
from quorate._io.aside import write_aside

MOST = 6
"""Operations of one writer that are made to fail here; a Zarr store has about a hundred."""


@pytest.mark.parametrize("writer", faults.WRITERS)
def test_every_operation_on_a_file_may_fail(writer: str) -> None:
    n_operations, wrong = faults.break_at(writer, 0)
    assert wrong == []
    assert n_operations >= 4
    places = sorted(
        {1 + place * (n_operations - 1) // (MOST - 1) for place in range(MOST)} & set(range(n_operations + 1))
    )
    assert [wrong for place in places for wrong in faults.break_at(writer, place)[1]] == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_every_reason_is_told(code: int) -> None:
    for writer in ("labels as csv", "labels as zarr", "report", "checkpoint"):
        assert faults.break_at(writer, 1, code)[1] == []


@pytest.mark.parametrize("writer", faults.WRITERS)
def test_files_that_must_not_grow(writer: str) -> None:
    """The kernel itself refuses to write beyond a size, so that writes of C code fail as well."""
    succeeded = [faults.small_files(writer, size) for size in (0, 60, 200, 10_000_000)]
    assert [wrong for _, wrong in succeeded] == [[], [], [], []]
    assert not succeeded[0][0]
    assert succeeded[-1][0]


@pytest.mark.parametrize("writer", ["labels as csv", "ensemble as zarr", "report", "checkpoint"])
def test_a_full_disk(writer: str) -> None:
    found = faults.full_disk(writer, 0)
    if found is None:
        pytest.skip("this process may not mount a disk")
    assert found == (False, [])


SHORT = ("labels as csv", "labels in blocks as csv", "checkpoint")
"""Writers that are tried here with something strange in their way and with power cuts; the others by `make soak`."""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
@pytest.mark.parametrize("writer", SHORT)
def test_nothing_strange_is_changed_or_deleted(writer: str) -> None:
    """Something is put at each path that the writer makes, renames or deletes: of all kinds, or kinds take turns."""
    paths, kinds = places.touched(writer), list(places.STRANGE)
    assert places.output_of(writer) in paths
    assert any(path.endswith(".part") for path in paths)
    assert [
        wrong
        for number, path in enumerate(paths)
        for kind in (kinds if len(paths) < 4 else [kinds[number % len(kinds)]])
        for wrong in places.strange_at(writer, path, kind)
    ] == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
@pytest.mark.parametrize("kind", places.STRANGE)
def test_what_has_the_name_of_an_unfinished_store_is_left_alone(kind: str) -> None:
    """A folder was deleted, and a pipe waited for."""
    assert places.strange_at("labels as zarr", ".old.zarr.00000000.part", kind) == []


@pytest.mark.parametrize("writer", SHORT)
def test_a_power_cut(writer: str) -> None:
    n_operations, wrong = places.cut_at(writer, 0)
    assert wrong == []
    cuts = {1 + place * (n_operations - 1) // 7 for place in range(8)}
    assert [wrong for place in sorted(cuts) for wrong in places.cut_at(writer, place)[1]] == []


def test_a_temporary_name_that_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that is there already is written through or deleted, whatever it is."""
    monkeypatch.setattr("secrets.token_hex", lambda n: "0" * 2 * n)
    (tmp_path / "thesis.txt").write_text("mine")
    (tmp_path / ".out.csv.00000000.part").symlink_to(tmp_path / "thesis.txt")
    with pytest.raises(OSError, match=r"cannot write .*out\.csv: File exists"):
        write_aside(tmp_path / "out.csv", lambda file: file.write(b"a"), overwrite=False)
    assert (tmp_path / ".out.csv.00000000.part").is_symlink()
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("the super user may write everywhere")
    (tmp_path / "a.csv").write_text("a,b\n1,1\n2,2\n")
    tmp_path.chmod(0o500)
    status, _, err = run_in_process(["consensus", "a.csv", "-k", "2", "--no-null", "-o", "out.csv"], tmp_path)
    tmp_path.chmod(0o700)
    assert (status, err.count("\n")) == (2, 1)
    assert "Permission denied" in err


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("job", "name"),
    [
        *((job, name) for job in ("generate", "save as csv") for name in ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT")),
        ("report", "SIGKILL"),
        ("save as zarr", "SIGINT"),
    ],
)
def test_signals(server: Server, job: str, name: str) -> None:
    found = signals.send_signals(server, job, name, 3, seed=1)
    assert found.wrong == []
    assert found.sent == 3


@pytest.mark.parametrize("megabytes", [300, 900, 1300])
def test_little_memory(megabytes: int) -> None:
    """Below a gigabyte the shell says at once that this is too little, because OpenBLAS would never end."""
    succeeded, wrong = limited_memory("consensus", megabytes)
    assert wrong == []
    assert succeeded == (megabytes > 1000)
    assert set(LIMITED) >= {"consensus", "report"}


def test_a_signal_while_an_entry_of_an_archive_is_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The signal is told, not that the archive cannot be closed; a warning of the destructor would fail the test."""
    opened, entries = zipfile.ZipFile.open, []

    def interrupted(archive: zipfile.ZipFile, *given: Any, **options: Any) -> None:
        entries.append(opened(archive, *given, **options))
        raise KeyboardInterrupt

    monkeypatch.setattr(zipfile.ZipFile, "open", interrupted)
    with (tmp_path / "a.npz").open("wb") as file, pytest.raises(KeyboardInterrupt):
        write_npz(file, {"labels": np.zeros(3)})

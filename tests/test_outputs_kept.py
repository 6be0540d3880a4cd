"""Outputs follow links and keep modes; unfinished work that is damaged is made again."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmarks.reliability.shell import snapshot
from command_lines import COMMANDS, CONSENSUS, IN_BLOCKS, run, tables

import quorate
from quorate import stream
from quorate._io import aside
from quorate.cli import main

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links and modes of files")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tables(tmp_path)


@pytest.mark.parametrize("blocks", [False, True], ids=["in memory", "in blocks"])
@pytest.mark.parametrize("suffix", ["csv", "parquet", "npy", "zarr"])
def test_a_link_is_followed_and_modes_stay(blocks: bool, suffix: str, here: Path) -> None:
    command = [*COMMANDS["consensus"], *(("--memory", "100MB") if blocks else ()), "--force"]
    (here / "store").mkdir()
    real, link = here / "store" / "kept", here / f"out.{suffix}"
    link.symlink_to(real)
    assert run(command, here, "-o", link.name)[0] == 0
    first = real.stat().st_ino
    real.chmod(0o700 if suffix == "zarr" else 0o600)
    status, err = run(command, here, "-o", link.name)
    assert (status, err) == (0, "")
    assert link.is_symlink()
    assert real.stat().st_ino != first
    assert real.stat().st_mode & 0o077 == 0
    assert [path.name for path in (here / "store").iterdir()] == ["kept"]


@pytest.mark.parametrize("name", ["report", "generate", "place", "place in blocks", "generate in blocks"])
def test_every_output_keeps_the_mode_of_what_it_replaces(name: str, here: Path) -> None:
    kind = name.removesuffix(" in blocks")
    out = here / ("out.html" if kind == "report" else "out.csv")
    out.write_text("secret")
    out.chmod(0o640)
    assert run((COMMANDS if kind == name else IN_BLOCKS)[kind], here, "-o", out.name, "--force")[0] == 0
    assert out.read_text() != "secret"
    assert out.stat().st_mode & 0o777 == 0o640


def test_save_consensus_and_folders_keep_modes(here: Path) -> None:
    result = quorate.consensus(quorate.load_labels(here / "labels.csv", ids="id"), 3, method="kmeans")
    for _ in range(2):
        quorate.save_consensus(here / "whole.npz", result, overwrite=True)
        (here / "whole.npz").chmod(0o600)
    quorate.save_consensus(here / "whole.npz", result, overwrite=True)
    assert (here / "whole.npz").stat().st_mode & 0o777 == 0o600
    assert run(CONSENSUS, here, "-o", "out")[0] == 0
    (here / "out").chmod(0o750)
    (here / "out" / "p1.parquet").chmod(0o600)
    assert run(CONSENSUS, here, "-o", "out", "--force")[0] == 0
    assert (here / "out").stat().st_mode & 0o777 == 0o750
    assert (here / "out" / "p1.parquet").stat().st_mode & 0o777 == 0o600


def test_a_group_that_cannot_be_kept_gets_no_more_than_everybody(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError

    old, new = here / "old", here / "new"
    for place, mode in ((old, 0o664), (new, 0o600)):
        place.write_text("")
        place.chmod(mode)
    monkeypatch.setattr(os, "chown", refuse)
    aside.keep_access(old, new)
    assert new.stat().st_mode & 0o777 == 0o644


def test_the_new_file_is_never_more_open_than_the_old_one(here: Path) -> None:
    (here / "old").write_text("secret")
    (here / "old").chmod(0o600)
    modes = []

    def write(file: Any) -> None:
        modes.append(os.fstat(file.fileno()).st_mode & 0o777)

    aside.write_aside(here / "old", write, overwrite=True)
    assert modes == [0o600]


# ---- unfinished work that is damaged


def unfinished(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a workspace with the finished pass, the solution, and one of two files of labels."""
    from quorate._stream import store

    real = store.write_file

    def write(path: Path, content: Any) -> None:
        if path.name == "p1.parquet":
            raise RuntimeError("here it ends")
        real(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(store, "write_file", write)
        with pytest.raises(RuntimeError, match="here it ends"):
            stream.consensus(here / "src", 3, ids="id", out=here / "out", method="kmeans", random_state=0)
    return here / ".out.quorate"


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))


def lost(path: Path) -> None:
    path.unlink()


KEPT = ["blocks.json", "info.json", "rows.npz", "solution.npz", "numbers-000001.npy", "ids-000000.npy"]
KEPT += ["labels/p0.parquet", "checks.jsonl", "plan.json"]


@pytest.mark.parametrize("damage", [cut, emptied, flipped, lost], ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", KEPT)
def test_damaged_work_is_made_again(
    name: str, damage: Callable[[Path], None], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream.consensus(here / "src", 3, ids="id", out=here / "wanted", method="kmeans", random_state=0)
    work = unfinished(here, monkeypatch)
    matching = sorted(work.glob(f"{name.partition('.')[0]}.*"))
    damage(matching[0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stream.consensus(here / "src", 3, ids="id", out=here / "out", method="kmeans", random_state=0)
        said = [str(warning.message) for warning in caught]
    assert snapshot(here / "out") == snapshot(here / "wanted")
    assert not work.exists()
    # a plan in which a letter is another one is that of another command
    expects_words = damage is not lost and (name, damage) != ("plan.json", flipped)
    assert not expects_words or [text for text in said if "made again" in text]


def test_an_entry_less_is_noticed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = unfinished(here, monkeypatch)
    facts = json.loads((work / "blocks.json").read_bytes())
    (work / "blocks.json").write_text(json.dumps(facts[:-1]))
    with pytest.warns(UserWarning, match=r"blocks.json is damaged; it is made again"):
        result = stream.consensus(here / "src", 3, ids="id", out=here / "out", method="kmeans", random_state=0)
    assert result.n_objects == 80


def test_damage_is_one_line_of_the_shell(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from quorate._stream import running

    def stop(*_: Any) -> None:
        raise OSError(5, "here it ends")

    monkeypatch.chdir(here)
    with monkeypatch.context() as patch:
        patch.setattr(running, "write_labels", stop)
        assert main([*CONSENSUS, "-o", "out"]) == 2
    cut(here / ".out.quorate" / "rows.npz")
    capsys.readouterr()
    assert main([*CONSENSUS, "-o", "out"]) == 0
    assert len(capsys.readouterr().err.splitlines()) == 1

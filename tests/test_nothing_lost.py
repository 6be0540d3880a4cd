"""No file that was there before and that Quorate did not write is changed or gone, whatever stands in the way."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import zarr
from benchmarks.reliability.shell import snapshot
from command_lines import COMMANDS, CONSENSUS, IN_BLOCKS, assert_refused, run, tables

from quorate import stream
from quorate._stream.store import ABOUT

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links, pipes and modes of files")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tables(tmp_path)


# ---- a folder for unfinished work that is not ours


def link_to_folder(place: Path) -> None:
    victim = place.with_name("victim")
    victim.mkdir()
    (victim / "thesis.txt").write_text("years")
    place.symlink_to(victim)


def folder_of_notes(place: Path) -> None:
    place.mkdir()
    (place / "notes.txt").write_text("dear")


def folder_of_work_of_others(place: Path) -> None:
    place.mkdir()
    (place / "rows.npz").write_text("my own rows")


def marked_folder_with_notes(place: Path) -> None:
    place.mkdir()
    (place / "about.txt").write_bytes(
        b"Quorate keeps unfinished work in this folder, and deletes the folder when the work is done.\n"
    )
    (place / "notes.txt").write_text("dear")


def marked_folder_with_a_letter_below(place: Path) -> None:
    marked_folder_with_notes(place)
    (place / "notes.txt").unlink()
    (place / "labels").mkdir()
    (place / "labels" / "letter.txt").write_text("dear")


def plain_file(place: Path) -> None:
    place.write_text("dear")


def pipe(place: Path) -> None:
    os.mkfifo(place)


def folder_with_a_linked_lock(place: Path) -> None:
    place.with_name("precious").write_text("dear")
    place.mkdir()
    (place / ".lock").symlink_to(place.with_name("precious"))


WORKSPACES = [
    link_to_folder,
    folder_of_notes,
    folder_of_work_of_others,
    marked_folder_with_notes,
    marked_folder_with_a_letter_below,
    plain_file,
    pipe,
    folder_with_a_linked_lock,
]


@pytest.mark.parametrize("make", WORKSPACES, ids=lambda make: make.__name__)
@pytest.mark.parametrize("out", ["out", "out.csv"])
def test_a_workspace_that_is_not_ours_is_refused(make: Callable[[Path], None], out: str, here: Path) -> None:
    make(here / f".{out}.quorate")
    assert_refused(CONSENSUS, here, "-o", out, says="cannot keep unfinished work in")


@pytest.mark.parametrize("name", IN_BLOCKS)
def test_every_command_in_blocks_refuses_it(name: str, here: Path) -> None:
    link_to_folder(here / ".out.quorate")
    assert_refused(IN_BLOCKS[name], here, "-o", "out", says="it is a link")


def test_a_workspace_of_another_user_is_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / ".out.quorate").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert_refused(CONSENSUS, here, "-o", "out", says="belongs to another user")


def test_what_is_put_into_the_workspace_meanwhile_stays(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from quorate._stream import running

    real = running.write_labels

    def write(*given: Any) -> None:
        (here / ".out.quorate" / "notes.txt").write_text("dear")
        real(*given)

    monkeypatch.setattr(running, "write_labels", write)
    assert run(CONSENSUS, here, "-o", "out")[0] == 0
    assert [path.name for path in (here / ".out.quorate").iterdir() if path.suffix == ".txt"] == ["notes.txt"]


def test_a_killed_run_that_had_only_made_its_folder_is_no_obstacle(here: Path) -> None:
    (here / ".out.quorate").mkdir()
    (here / ".out.quorate" / ".about.txt.part").write_text("Quor")
    assert run(CONSENSUS, here, "-o", "out")[0] == 0
    assert not (here / ".out.quorate").exists()


def test_a_part_that_zarr_left_is_no_obstacle(here: Path) -> None:
    """A thread of zarr may write a part while the folder is tidied up after an error."""
    labels = here / ".out.zarr.quorate" / "labels"
    labels.mkdir(parents=True)
    (labels.parent / "about.txt").write_bytes(ABOUT)
    (labels / "zarr.json").write_text("{}")
    (labels / f"zarr.{'0a' * 16}.partial").write_text("{")
    assert run(CONSENSUS, here, "-o", "out.zarr")[0] == 0
    assert not labels.parent.exists()


def test_others_cannot_read_unfinished_work(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any) -> None:
        raise RuntimeError("here it ends")

    monkeypatch.setattr("quorate._stream.running.write_labels", stop)
    with pytest.raises(RuntimeError, match="here it ends"):
        stream.consensus(here / "src", 3, ids="id", out=here / "out")
    assert (here / ".out.quorate").stat().st_mode & 0o077 == 0


# ---- inputs


@pytest.mark.parametrize(
    ("source", "out"),
    [
        ("src/*.parquet", "src"),
        ("src", "src"),
        ("src", "src/p0.parquet"),
        ("src", "."),
        ("src", "linked"),
        ("src", "hard.parquet"),
        ("src/*.parquet", "src/../src/p1.parquet"),
        ("linked/*.parquet", "src"),
    ],
)
def test_force_never_replaces_what_is_read(source: str, out: str, here: Path) -> None:
    (here / "linked").symlink_to("src")
    os.link(here / "src" / "p0.parquet", here / "hard.parquet")
    command = [CONSENSUS[0], source, *CONSENSUS[2:]]
    assert_refused(command, here, "-o", out, "--force")
    before = snapshot(here)
    with pytest.raises((ValueError, OSError), match=r"cannot write|would replace"):
        stream.consensus(str(here / source), 3, ids="id", out=here / out, overwrite=True)
    assert snapshot(here) == before


@pytest.mark.parametrize("name", ["place", "generate", "cluster"])
def test_force_never_replaces_what_other_commands_read(name: str, here: Path) -> None:
    read = next(word for word in IN_BLOCKS[name] if Path(word).suffix)
    os.link(here / read, here / f"hard{Path(read).suffix}")
    (here / f"soft{Path(read).suffix}").symlink_to(read)
    for kind in ("hard", "soft"):
        assert_refused(IN_BLOCKS[name], here, "-o", f"{kind}{Path(read).suffix}", "--force", says="would replace")


def test_the_library_compares_files_of_every_kind_of_source(here: Path) -> None:
    import pyarrow.dataset

    labels = np.random.default_rng(0).integers(3, size=(60, 4))
    np.save(here / "table.npy", labels)
    zarr.save(str(here / "table.zarr"), labels)
    before = snapshot(here)
    mapped = np.load(here / "table.npy", mmap_mode="r")
    dataset = pyarrow.dataset.dataset(here / "src")
    for source, out in (
        (here / "table.npy", "table.npy"),
        (mapped, "table.npy"),
        (here / "table.zarr", "table.zarr"),
        (zarr.open(str(here / "table.zarr"), mode="r"), "table.zarr"),
        ([here / "src" / "p0.parquet", here / "src" / "p1.parquet"], "src"),
        (dataset, "src"),
        (here / "table.zarr", "table.zarr/out.csv"),
    ):
        options = {"ids": "id"} if out == "src" else {}
        with pytest.raises(ValueError, match="which is read"):
            stream.consensus(source, 3, method="kmeans", out=here / out, overwrite=True, **options)
    with pytest.raises(ValueError, match="which is read"):
        stream.generate(here / "features.npy", 3, out=here / "features.npy", overwrite=True, k=3, base="kmeans")
    with pytest.raises(ValueError, match="which is read"):
        stream.cluster(here / "features.npy", 3, out=here / "features.npy", overwrite=True, k=3, base="kmeans")
    placed = stream.consensus(here / "src", 3, ids="id", method="kmeans")
    with pytest.raises(ValueError, match="which is read"):
        stream.place(placed, here / "src", ids="id", out=here / "src", overwrite=True)
    assert snapshot(here) == before


# ---- folders of labels


def test_force_replaces_only_folders_that_quorate_wrote(here: Path) -> None:
    assert run(CONSENSUS, here, "-o", "out")[0] == 0
    assert run(CONSENSUS, here, "-o", "out", "--force")[0] == 0
    (here / "other").mkdir()
    pyarrow.parquet.write_table(pyarrow.table({"dear": [1]}), here / "other" / "mine.parquet")
    assert_refused(CONSENSUS, here, "-o", "other", "--force", says="which Quorate did not write")
    shutil.copy(here / "out" / "p0.parquet", here / "out" / "copy.parquet")
    assert_refused(CONSENSUS, here, "-o", "out", "--force", says="holds 'copy.parquet'")
    (here / "out" / "copy.parquet").unlink()
    (here / "out" / "p1.parquet").unlink()
    (here / "out" / "p1.parquet").symlink_to(here / "src" / "p1.parquet")
    assert_refused(CONSENSUS, here, "-o", "out", "--force", says="holds 'p1.parquet'")


def test_folders_of_version_0_2_are_refused_with_advice(here: Path) -> None:
    """They have no mark, so that a table of the user with the columns id and label cannot be told from them."""
    (here / "out").mkdir()
    pyarrow.parquet.write_table(pyarrow.table({"id": [1], "label": [0]}), here / "out" / "p0.parquet")
    assert_refused(CONSENSUS, here, "-o", "out", "--force", says="move it away, or choose another name")


def test_what_comes_into_the_output_while_the_work_runs_stays(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from quorate._stream import running

    assert run(CONSENSUS, here, "-o", "out")[0] == 0
    real = running.write_labels

    def write(*given: Any) -> None:
        (here / "out" / "notes.txt").write_text("dear")
        real(*given)

    with monkeypatch.context() as patch:
        patch.setattr(running, "write_labels", write)
        assert run(CONSENSUS, here, "-o", "out", "--force")[0] == 2
    assert (here / "out" / "notes.txt").read_text() == "dear"
    (here / "out" / "notes.txt").unlink()
    assert run(CONSENSUS, here, "-o", "out", "--force")[0] == 0


def test_neighbours_of_an_output_stay(here: Path) -> None:
    assert run(CONSENSUS, here, "-o", "out")[0] == 0
    for name in (".out.old", "out.old", ".out.part"):
        folder_of_notes(here / name)
    before = snapshot(here)
    assert run(CONSENSUS, here, "-o", "out", "--force")[0] == 0
    assert {name: snapshot(here)[name] for name in before} == before


@pytest.mark.parametrize("memory", [(), ("--memory", "100MB")], ids=["in memory", "in blocks"])
def test_a_zarr_store_with_a_letter_in_it_stays(memory: tuple[str, ...], here: Path) -> None:
    command = [*COMMANDS["consensus"], *memory, "-o", "out.zarr", "--force"]
    assert run(command, here)[0] == 0
    assert run(command, here)[0] == 0
    (here / "out.zarr" / "letter.txt").write_text("dear")
    assert_refused(command, here, says="letter.txt")


def test_the_old_folder_comes_back_if_a_run_was_killed_between_two_renamings(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(CONSENSUS, here, "-o", "out")[0] == 0
    before = snapshot(here / "out")
    real, calls = os.replace, []

    def replace(source: Any, target: Any) -> None:
        if Path(source).name == "labels":
            calls.append(source)
            raise KeyboardInterrupt
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        with pytest.raises(KeyboardInterrupt):
            stream.consensus(here / "src", 3, ids="id", out=here / "out", overwrite=True, random_state=5)
    assert calls
    assert not (here / "out").exists()
    with pytest.raises(FileExistsError, match="exists already"):
        stream.consensus(here / "src", 3, ids="id", out=here / "out", random_state=5)
    assert snapshot(here / "out") == before
    stream.consensus(here / "src", 3, ids="id", out=here / "out", overwrite=True, random_state=5)
    assert not (here / ".out.quorate").exists()


# ---- what stands in the way of an output


def dangling_link(place: Path) -> None:
    place.symlink_to("nowhere/at/all")


def link_to_itself(place: Path) -> None:
    place.symlink_to(place.name)


def link_to_pipe(place: Path) -> None:
    """It stands for a link to a device, which no test may risk."""
    os.mkfifo(place.with_name("a pipe"))
    place.symlink_to("a pipe")


OBSTACLES = [link_to_folder, dangling_link, link_to_itself, link_to_pipe, folder_of_notes, pipe]


@pytest.mark.parametrize("make", OBSTACLES, ids=lambda make: make.__name__)
@pytest.mark.parametrize("name", [*COMMANDS, *(f"{name} in blocks" for name in IN_BLOCKS)])
def test_whatever_has_the_name_of_the_output_stays(name: str, make: Callable[[Path], None], here: Path) -> None:
    kind = name.removesuffix(" in blocks")
    command = COMMANDS[kind] if kind == name else IN_BLOCKS[kind]
    out = "out.html" if kind == "report" else "out.csv"
    make(here / out)
    for more in ((), ("--force",)):
        assert_refused(command, here, "-o", out, *more)


@pytest.mark.parametrize("make", [*OBSTACLES, plain_file], ids=lambda make: make.__name__)
def test_whatever_has_the_name_of_an_output_folder_stays(make: Callable[[Path], None], here: Path) -> None:
    make(here / "out")
    assert_refused(CONSENSUS, here, "-o", "out")
    if make is not plain_file:
        assert_refused(CONSENSUS, here, "-o", "out", "--force")


@pytest.mark.parametrize("make", [pipe, link_to_folder, folder_of_notes], ids=lambda make: make.__name__)
@pytest.mark.parametrize("name", ["consensus", "report"])
def test_names_like_those_of_temporary_files_do_no_harm(name: str, make: Callable[[Path], None], here: Path) -> None:
    out = "out.html" if name == "report" else "out.csv"
    make(here / f".{out}.0123abcd.part")
    before = snapshot(here)
    assert run(COMMANDS[name], here, "-o", out)[0] == 0
    assert {path: snapshot(here)[path] for path in before} == before


@pytest.mark.parametrize("make", [pipe, folder_of_notes, link_to_folder], ids=lambda make: make.__name__)
@pytest.mark.parametrize("entry", ["manifest.json", ".lock", "member-000000.npy", ".member-mine.part"])
def test_whatever_lies_in_a_checkpoint_stays(entry: str, make: Callable[[Path], None], here: Path) -> None:
    command = [*COMMANDS["generate"], "--checkpoint", "run", "-o", "out.npz", "--force"]
    assert run(command, here)[0] == 0
    (here / "run" / entry).unlink(missing_ok=True)
    make(here / "run" / entry)
    before = snapshot(here)
    assert run(command, here)[0] == (0 if entry.endswith(".part") else 2)
    after = snapshot(here)
    assert {path: after[path] for path in before if path != "out.npz"} == {
        path: before[path] for path in before if path != "out.npz"
    }

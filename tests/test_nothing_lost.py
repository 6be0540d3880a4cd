"""No file that was there before and that Quorate did not write is changed or gone, whatever stands in the way."""

from __future__ import annotations

import json
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
from benchmarks.reliability.shell import run_here, snapshot

import quorate
from quorate import stream
from quorate._io import aside
from quorate.cli import main

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links, pipes and modes of files")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with tables of labels, in memory and in blocks, measurements, and new objects."""
    (tmp_path / "src").mkdir()
    rng = np.random.default_rng(0)
    for place in range(2):
        labels = rng.integers(3, size=(40, 4))
        columns = {f"m{number}": labels[:, number] for number in range(4)}
        table = pyarrow.table({"id": np.arange(40 * place, 40 * place + 40), **columns})
        pyarrow.parquet.write_table(table, tmp_path / "src" / f"p{place}.parquet")
    names = ["id", *(f"m{number}" for number in range(4))]
    table = pyarrow.parquet.read_table(tmp_path / "src")
    rows = [",".join(map(str, row)) for row in zip(*(table[name].to_pylist() for name in names), strict=True)]
    (tmp_path / "labels.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
    (tmp_path / "new.csv").write_text("\n".join([",".join(names), *rows[:5]]) + "\n")
    (tmp_path / "labelling.csv").write_text("id,label\n" + "".join(f"{row},{row % 3}\n" for row in range(80)))
    np.save(tmp_path / "features.npy", rng.normal(size=(80, 3)))
    return tmp_path


CONSENSUS = ["consensus", "src", "--id", "id", "-k", "3", "-m", "kmeans", "--no-null", "--quiet"]
MEMBERS = ["--members", "3", "--k", "3", "--base", "kmeans", "--quiet"]
COMMANDS = {
    "consensus": [CONSENSUS[0], "labels.csv", *CONSENSUS[2:]],
    "place": ["place", "labels.csv", "labelling.csv", "new.csv", "--id", "id", "--quiet"],
    "generate": ["generate", "features.npy", *MEMBERS],
    "cluster": ["cluster", "features.npy", "-k", "3", "--no-null", "--no-reference", *MEMBERS],
    "report": ["report", "labels.csv", "labelling.csv", "--id", "id", "--quiet"],
}
IN_BLOCKS = {name: [*COMMANDS[name], "--memory", "100MB"] for name in ("place", "generate", "cluster")} | {
    "consensus": CONSENSUS
}


def run(command: list[str], folder: Path, *more: str) -> tuple[int | None, str]:
    status, _, err = run_here([*command, *more], folder)
    errors = [line for line in err.splitlines() if line.startswith("quorate: error: ")]
    assert status in (0, 2), err
    assert len(errors) == (status == 2), err
    assert "Traceback" not in err
    return status, err


def assert_refused(command: list[str], folder: Path, *more: str, says: str = "") -> None:
    before = snapshot(folder)
    status, err = run(command, folder, *more)
    assert status == 2
    assert says in err
    assert snapshot(folder) == before


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


# ---- links and modes


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
    command = [*CONSENSUS, "--seed", "0", "-o", "out"]
    said: list[str] = []
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stream.consensus(here / "src", 3, ids="id", out=here / "out", method="kmeans", random_state=0)
        said = [str(warning.message) for warning in caught]
    assert command
    assert snapshot(here / "out") == snapshot(here / "wanted")
    assert not work.exists()
    expects_words = damage is not lost and name != "plan.json"
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

"""Tables in blocks when something goes wrong: damaged files, repeated ids, full disks, killed processes."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from quorate import stream
from quorate._data import ids
from quorate._io import source
from quorate._stream import labels_out, store
from quorate.cli import main

N = 400


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A folder of four Parquet files with 100 objects each."""
    folder = tmp_path / "in"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(4):
        write(folder / f"{number}.parquet", rng.integers(4, size=(100, 5)), np.arange(100 * number, 100 * number + 100))
    return folder


def write(path: Path, labels: Any, names: Any) -> None:
    columns = {f"m{place}": labels[:, place] for place in range(labels.shape[1])}
    pyarrow.parquet.write_table(pyarrow.table({"id": names, **columns}), path, row_group_size=30)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def run(folder: Path, out: Path, **more: Any) -> stream.BlockConsensus:
    return stream.consensus(folder, 3, ids="id", random_state=0, method="kmeans", out=out, **more)


def test_a_file_that_is_cut_short_is_named_before_any_work(table: Path, tmp_path: Path) -> None:
    path = table / "2.parquet"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ValueError, match=r"2\.parquet could not be read as Parquet.*cut short"):
        run(table, tmp_path / "out")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in"]


def test_a_damaged_page_is_named(table: Path, tmp_path: Path) -> None:
    path = table / "2.parquet"
    content = bytearray(path.read_bytes())
    content[4:400] = b"\xff" * 396
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match=r"2\.parquet could not be read as Parquet"):
        run(table, tmp_path / "out")


def test_other_columns_and_other_kinds_are_refused(table: Path, tmp_path: Path) -> None:
    other = pyarrow.parquet.read_table(table / "3.parquet")
    pyarrow.parquet.write_table(other.drop_columns(["m1"]), table / "3.parquet")
    with pytest.raises(ValueError, match=r"3\.parquet has no column 'm1', which .*0\.parquet has"):
        run(table, tmp_path / "out")
    texts = other.set_column(1, "m0", other["m0"].cast(pyarrow.string()))
    pyarrow.parquet.write_table(texts, table / "3.parquet")
    with pytest.raises(ValueError, match=r"column 'm0' holds string in .*3\.parquet and int64 in"):
        run(table, tmp_path / "out")


def test_columns_in_another_order_are_matched_by_name(table: Path, tmp_path: Path) -> None:
    run(table, tmp_path / "out")
    other = pyarrow.parquet.read_table(table / "3.parquet")
    pyarrow.parquet.write_table(other.select(["m3", "m1", "id", "m0", "m4", "m2"]), table / "3.parquet")
    run(table, tmp_path / "again")
    assert pyarrow.parquet.read_table(tmp_path / "again") == pyarrow.parquet.read_table(tmp_path / "out")


@pytest.mark.parametrize("kind", ["numbers", "texts"])
def test_ids_that_repeat_across_blocks_are_named(kind: str, table: Path, tmp_path: Path) -> None:
    for number in range(4):
        part = pyarrow.parquet.read_table(table / f"{number}.parquet")
        names = part["id"].to_numpy().copy()
        names[5] = 77 if number in (1, 3) else names[5]
        if number == 0:
            names = names[::-1]
        values = pyarrow.array(names) if kind == "numbers" else pyarrow.array([f"x{name}" for name in names])
        pyarrow.parquet.write_table(part.set_column(0, "id", values), table / f"{number}.parquet")
    found = "77" if kind == "numbers" else "'x77'"
    with pytest.raises(ValueError, match=rf"the id {found} is there twice: in .*0\.parquet.*1\.parquet"):
        run(table, tmp_path / "out")


def test_ids_with_one_hash_are_no_repeated_ids(monkeypatch: pytest.MonkeyPatch, table: Path, tmp_path: Path) -> None:
    monkeypatch.setattr(ids, "keys_of", lambda names, name, **_: np.zeros(len(names), dtype=np.uint64))
    monkeypatch.setattr(ids.IdLedger, "_rises", lambda self, names: False)
    assert run(table, tmp_path / "out").n_objects == N


def test_an_object_without_an_id_is_refused(tmp_path: Path) -> None:
    names = pyarrow.array(["a", None, "c"])
    pyarrow.parquet.write_table(pyarrow.table({"id": names, "m": [1, 2, 1]}), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"row 1 .* has no id"):
        stream.consensus(tmp_path / "t.parquet", 2, ids="id", memory="100MB")


def test_too_many_distinct_rows_are_refused_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "LEAST", 1)
    monkeypatch.setattr(source, "SMALLEST_BLOCK", 1_000)
    blocks = (np.random.default_rng(seed).integers(50, size=(2_000, 10)) for seed in range(50))
    with pytest.raises(MemoryError, match=r"distinct rows after [\d,]+ objects need .* more than the 500 kB"):
        stream.consensus(blocks, 3, memory=1_000_000)


@pytest.mark.parametrize("memory", ["lots", "0GB", -3, "1e3"])
def test_a_budget_must_be_a_number_of_bytes(memory: Any) -> None:
    with pytest.raises(ValueError, match=r"memory must"):
        stream.compress([np.array([[0], [1]])], memory=memory)


@pytest.mark.parametrize("text", ["2GB", "2e9", "2000MB", " 2 gb "])
def test_texts_of_a_budget(text: str) -> None:
    assert source.as_budget(text).n_bytes == 2_000_000_000
    assert source.as_bytes("1GiB") == 2**30


@pytest.mark.parametrize("place", [0, 3, 9, 12])
def test_a_full_disk_ends_with_the_name_of_the_file_and_the_same_call_continues(
    place: int, monkeypatch: pytest.MonkeyPatch, table: Path, tmp_path: Path
) -> None:
    run(table, tmp_path / "wanted")
    calls: Iterator[int] = iter(range(1_000))
    real = store.write_file

    def full(path: Path, write: Any) -> None:
        if next(calls) == place:
            raise OSError(errno.ENOSPC, f"cannot write {path}: No space left on device")
        real(path, write)

    with monkeypatch.context() as patch:
        for module in (store, labels_out, sys.modules["quorate._stream.store"]):
            patch.setattr(module, "write_file", full)
        with pytest.raises(OSError, match=r"cannot write .*No space left on device"):
            run(table, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    run(table, tmp_path / "out")
    assert contents(tmp_path / "out") == contents(tmp_path / "wanted")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out", "wanted"]


KILLED = """
import itertools, os, signal, sys
from quorate._stream import labels_out, store
calls, real = itertools.count(), store.write_file
def killing(path, write):
    if next(calls) == {place}:
        os.kill(os.getpid(), signal.{signal})
        import time; time.sleep(5)
    real(path, write)
store.write_file = labels_out.write_file = killing
from quorate.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize(("place", "name"), [(2, "SIGKILL"), (12, "SIGKILL"), (5, "SIGTERM")])
def test_a_killed_command_continues_to_the_same_bytes(place: int, name: str, table: Path, tmp_path: Path) -> None:
    def command(out: str) -> list[str]:
        return [
            "consensus",
            str(table),
            "--id",
            "id",
            "-k",
            "3",
            "-m",
            "kmeans",
            "--no-null",
            "-o",
            str(tmp_path / out),
        ]

    assert main([*command("wanted"), "--quiet"]) == 0
    script = KILLED.format(place=place, signal=name)
    killed = subprocess.run(
        [sys.executable, "-c", script, *command("out")], capture_output=True, text=True, check=False, timeout=120
    )
    assert killed.returncode == (-signal.SIGKILL if name == "SIGKILL" else 143), killed.stderr
    if name == "SIGTERM":
        assert killed.stderr.startswith("quorate: error:")
        assert "SIGTERM" in killed.stderr
    assert (tmp_path / ".out.quorate").is_dir()
    assert not (tmp_path / "out").exists()
    assert main([*command("out"), "--quiet"]) == 0
    assert contents(tmp_path / "out") == contents(tmp_path / "wanted")
    assert not (tmp_path / ".out.quorate").exists()


def test_work_of_another_plan_is_thrown_away(monkeypatch: pytest.MonkeyPatch, table: Path, tmp_path: Path) -> None:
    def fails(*_: Any) -> None:
        raise RuntimeError("here it ends")

    with monkeypatch.context() as patch:
        patch.setattr("quorate._stream.running.write_labels", fails)
        with pytest.raises(RuntimeError, match="here it ends"):
            run(table, tmp_path / "out")
    labels = np.random.default_rng(9).integers(4, size=(100, 5))
    time.sleep(0.01)
    write(table / "1.parquet", labels, np.arange(100, 200))
    run(table, tmp_path / "out")
    run(table, tmp_path / "wanted")
    assert contents(tmp_path / "out") == contents(tmp_path / "wanted")


@pytest.mark.parametrize("kind", ["numbers", "ids", "rows", "solution", "blocks"])
def test_work_of_which_a_part_is_gone_is_made_again(
    monkeypatch: pytest.MonkeyPatch, table: Path, tmp_path: Path, kind: str
) -> None:
    """So it is after a power cut while the folder is tidied up: its files go one after the other."""

    def fails(*_: Any) -> None:
        raise RuntimeError("here it ends")

    with monkeypatch.context() as patch:
        patch.setattr("quorate._stream.running.write_labels", fails)
        with pytest.raises(RuntimeError, match="here it ends"):
            run(table, tmp_path / "out")
    gone = sorted((tmp_path / ".out.quorate").glob(f"{kind}*"))
    assert gone
    for path in gone:
        path.unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        run(table, tmp_path / "out")
    run(table, tmp_path / "wanted")
    assert contents(tmp_path / "out") == contents(tmp_path / "wanted")


def test_a_seed_that_was_not_given_stays_when_work_continues(
    monkeypatch: pytest.MonkeyPatch, table: Path, tmp_path: Path
) -> None:
    def fails(*_: Any) -> None:
        raise RuntimeError("here it ends")

    with monkeypatch.context() as patch:
        patch.setattr("quorate._stream.running.write_labels", fails)
        with pytest.raises(RuntimeError, match="here it ends"):
            stream.consensus(table, 3, ids="id", out=tmp_path / "out")
    import json

    seed = json.loads((tmp_path / ".out.quorate" / "plan.json").read_bytes())["seed"]
    assert stream.consensus(table, 3, ids="id", out=tmp_path / "out").solution.info["seed"] == seed


def test_results_are_not_replaced_unasked(table: Path, tmp_path: Path) -> None:
    run(table, tmp_path / "out")
    with pytest.raises(FileExistsError, match=r"exists already.*--force"):
        run(table, tmp_path / "out")
    run(table, tmp_path / "out", overwrite=True)
    with pytest.raises(ValueError, match=r"labels are written in blocks to a folder"):
        run(table, tmp_path / "out.npz")


def test_two_processes_cannot_share_unfinished_work(table: Path, tmp_path: Path) -> None:
    from quorate._io.aside import FolderLock

    (tmp_path / ".out.quorate").mkdir()
    lock = FolderLock(tmp_path / ".out.quorate")
    with pytest.raises(ValueError, match=r"in use by another process"):
        run(table, tmp_path / "out")
    lock.release()


def test_labels_in_another_order_are_refused(table: Path, tmp_path: Path) -> None:
    run(table, tmp_path / "out")
    first = pyarrow.parquet.read_table(tmp_path / "out" / "0.parquet")
    pyarrow.parquet.write_table(first.take(list(range(99, -1, -1))), tmp_path / "out" / "0.parquet")
    with pytest.raises(ValueError, match=r"not in the same order"):
        stream.evaluate(tmp_path / "out", table, ids="id")
    pyarrow.parquet.write_table(first.slice(0, 50), tmp_path / "out" / "3.parquet")
    pyarrow.parquet.write_table(first, tmp_path / "out" / "0.parquet")
    with pytest.raises(ValueError, match=r"labels fewer objects|not in the same order"):
        stream.evaluate(tmp_path / "out", table, drop=["id"])


def test_only_partition_folders_are_entered(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = stream.compress(table, ids="id")
    for place, file in enumerate(sorted(table.glob("*.parquet"))):
        part = tmp_path / "parts" / f"year={2020 + place}" / "region=north"
        part.mkdir(parents=True)
        file.rename(part / file.name)
        (part / "_SUCCESS.parquet").write_text("a summary")
    (tmp_path / "parts" / "notes.csv").write_text("no part of the table")
    np.testing.assert_array_equal(stream.compress(tmp_path / "parts", ids="id").labels, wanted.labels)
    (tmp_path / "above").mkdir()
    (tmp_path / "parts").rename(tmp_path / "above" / "parts")
    with pytest.raises(FileNotFoundError, match=r"holds no files of a table \(.csv.*year=2026.*labels/\*\*/\*.parquet"):
        stream.compress(tmp_path / "above", ids="id")
    pattern = str(tmp_path / "above" / "parts" / "*" / "*" / "[!_]*.parquet")
    np.testing.assert_array_equal(stream.compress(pattern, ids="id").labels, wanted.labels)
    monkeypatch.setattr("quorate._io.opening.MOST_ENTRIES", 3)
    with pytest.raises(ValueError, match=r"more than 3 files and folders were looked at"):
        stream.compress(tmp_path / "above" / "parts", ids="id")


def test_folders_and_patterns_without_files(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"holds no files of a table"):
        stream.compress(tmp_path / "empty")
    with pytest.raises(FileNotFoundError, match=r"no file matches"):
        stream.compress(str(tmp_path / "*.parquet"))
    with pytest.raises(TypeError, match=r"a source of blocks must be"):
        stream.compress(3)
    with pytest.raises(TypeError, match=r"a lazy frame cannot be read in blocks; write it with sink_parquet"):
        stream.compress(pytest.importorskip("polars").LazyFrame({"a": [0, 1], "b": [0, 1]}))

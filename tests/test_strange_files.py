"""Files that are no plain files, have very long names, or change while they are read."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from quorate import load_consensus, load_labels, stream
from quorate._io import source as sources
from quorate._io.load import load_features
from quorate.cli import main

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
KINDS = ("csv", "tsv", "parquet", "npy", "npz", "xlsx", "csv.gz")
RNG = np.random.default_rng(0)


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raise if the work, such as opening a pipe that nobody writes to, takes longer."""

    def stop(*_: object) -> None:
        raise TimeoutError("it waits for a pipe")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def table(path: Path, n: int = 60, seed: int = 0) -> Path:
    """Write a table of three members with ids, which always has the same size."""
    labels = np.random.default_rng(seed).integers(0, 3, (n, 3))
    rows = "".join(f"{1000 + row},{a},{b},{c}\n" for row, (a, b, c) in enumerate(labels.tolist()))
    path.write_text("id,a,b,c\n" + rows)
    return path


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "read",
    [load_labels, load_features, lambda path: stream.compress(path), lambda path: stream.compress(path.parent)],
    ids=["labels", "measurements", "blocks", "folder"],
)
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, kind: str, read: Callable[[Path], object]) -> None:
    os.mkfifo(tmp_path / f"t.{kind}")
    with (
        within(5),
        pytest.raises(
            (ValueError, OSError), match=r"is a pipe or a device|cannot be read in blocks|no files of a table"
        ),
    ):
        read(tmp_path / f"t.{kind}")


def test_other_readers_do_not_wait_for_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "saved.npz")
    with within(5), pytest.raises(ValueError, match="is a pipe or a device"):
        load_consensus(tmp_path / "saved.npz")
    store = tmp_path / "t.zarr"
    store.mkdir()
    (store / ".zgroup").write_text('{"zarr_format": 2}')
    os.mkfifo(store / ".zattrs")
    with within(5), pytest.raises(ValueError, match="is a pipe, a device or a link to nothing"):
        load_labels(store)


def test_the_shell_refuses_a_pipe_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table(tmp_path / "a.csv")
    os.mkfifo(tmp_path / "b.csv")
    with within(20):
        assert main(["consensus", str(tmp_path), "--id", "id", "-k", "3", "-o", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "b.csv: it is a pipe or a device, and a .csv file was expected" in error
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.csv", "b.csv"]


@pytest.mark.parametrize("name", ["n" * 245, "n" * 241 + ".csv", "n" * 255])
def test_names_of_all_lengths_in_blocks(tmp_path: Path, name: str) -> None:
    pytest.importorskip("pyarrow")
    stream.consensus(table(tmp_path / "t.csv"), 3, ids="id", out=tmp_path / name, confidence=False)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [name, "t.csv"]


def _replaced(path: Path) -> None:
    """Put another file of the same size and the same time in its place."""
    facts = path.stat()
    table(path.with_name("other"), seed=1)
    os.utime(path.with_name("other"), ns=(facts.st_atime_ns, facts.st_mtime_ns))
    os.replace(path.with_name("other"), path)


def _rewritten(path: Path) -> None:
    facts = path.stat()
    table(path, seed=1)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns + 1))


@pytest.mark.parametrize("change", [_replaced, _rewritten, Path.unlink])
@pytest.mark.parametrize("work", ["consensus", "cluster"])
def test_a_file_that_changes_between_two_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: str, change: Callable[[Path], None]
) -> None:
    path = table(tmp_path / "t.csv")
    text_source = sources.given
    changed = []

    def read(block: sources.Block) -> sources.Block:
        # the file changes after its first block was read
        if not changed:
            changed.append(change(path))
        return text_source(block)

    monkeypatch.setattr("quorate._io.text.given", read)
    out = tmp_path / "out.csv"
    run = stream.consensus if work == "consensus" else partial(stream.cluster, n_members=3, base="kmeans")
    with pytest.raises(ValueError, match=r"t\.csv was changed, replaced or removed while it was read"):
        run(path, 3, ids="id", out=out, confidence=False)
    assert not out.exists()
    assert not (tmp_path / ".out.csv.quorate").exists()


def test_the_stamp_of_a_folder_is_that_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "t.zarr" / "c").mkdir(parents=True)
    path = table(tmp_path / "t.zarr" / "c" / "0")
    before = sources.stamp(tmp_path / "t.zarr")
    assert sources.stamp(tmp_path / "t.zarr") == before
    _replaced(path)
    assert sources.stamp(tmp_path / "t.zarr") != before

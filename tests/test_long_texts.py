"""Long texts in blocks: a budget of memory counts their bytes, not the rows alone."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from quorate import stream
from quorate._data.coding import as_array, wastes
from quorate._io.opening import Columns, by_columns, open_source
from quorate._io.source import Budget, Most
from quorate._stream.store import BlockFacts, MemoryStore

pyarrow = pytest.importorskip("pyarrow")
N = 600
LABELS = {name: np.random.default_rng(0).integers(0, 3, N) for name in "abc"}


def write(path: Path, ids: list[str], **more: object) -> Path:
    """Write a table of three members as its suffix says."""
    import pyarrow.parquet

    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.table({"id": ids, **LABELS}), path, compression="zstd", **more)
        return path
    rows = zip(ids, *(values.tolist() for values in LABELS.values()), strict=True)
    with gzip.open(path, "wt") if path.suffix == ".gz" else path.open("w") as file:
        file.write("id,a,b,c\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    return path


def long_ids(size: int) -> list[str]:
    return ["x" * size + f"{row:06d}" for row in range(N)]


PEAK = """
import resource, sys
from quorate import stream
peaks = []
for path in sys.argv[1:]:
    stream.consensus(path, 3, ids="id", memory="64MB", confidence=False)
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
print(*peaks)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is measured in the kilobytes of Linux")
def test_the_peak_keeps_to_the_budget(tmp_path: Path) -> None:
    short = [str(write(tmp_path / f"short.{kind}", long_ids(0))) for kind in ("csv", "parquet")]
    long = [
        str(write(tmp_path / "long.csv.gz", long_ids(120_000))),
        str(write(tmp_path / "long.parquet", long_ids(120_000), row_group_size=60)),
    ]
    command = [sys.executable, "-c", PEAK, *short, *long]
    peaks = list(map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()))
    # 72 MB of ids: the peak rises by 90 MB, and rose by 220 MB when rows alone were counted
    assert peaks[-1] - peaks[1] < 140


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_parts_are_bounded_by_texts(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / f"t.{kind}", long_ids(1000), **({} if kind == "csv" else {"row_group_size": 100}))
    source = open_source(str(path), by_columns(Columns("id")))
    sizes = [part.read().n_rows for part in source.parts(Most(500, 20_000, 10_000_000))]
    assert sum(sizes) == N
    assert max(sizes[1:]) <= 20
    few = [part.read().n_rows for part in source.parts(Most(500, 10_000_000, 10_000_000))]
    assert len(few) <= 3


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_one_text_beyond_the_budget_is_refused(tmp_path: Path, kind: str) -> None:
    source = open_source(str(write(tmp_path / f"t.{kind}", long_ids(5000))), by_columns(Columns("id")))
    with pytest.raises(MemoryError, match=r"holds more than 2 kB of text in one row.*raise memory="):
        list(source.parts(Most(500, 2000, 10_000_000)))


def test_a_page_beyond_the_budget_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", long_ids(5000))
    source = open_source(str(path), by_columns(Columns("id")))
    with pytest.raises(
        MemoryError, match=r"column 'id' of .* is written in pieces of 3.01 MB, which are unpacked whole"
    ):
        list(source.parts(Most(500, 100_000, 2_000_000)))


def test_chunks_and_texts_of_an_array(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "t.zarr"), mode="w")
    labels = group.create_array("labels", shape=(400, 2), dtype="int32", chunks=(200, 2))
    labels[:] = np.arange(800).reshape(400, 2) % 3
    source = open_source(str(tmp_path / "t.zarr"), by_columns(Columns()))
    with pytest.raises(MemoryError, match=r"is written in pieces of 1.6 kB"):
        list(source.parts(Most(100, 1000, 1000)))
    wide = open_source(np.full((5, 2), "x" * 1000), by_columns(Columns()))
    with pytest.raises(MemoryError, match=r"holds more than 1 kB of text in one row"):
        list(wide.parts(Most(100, 1000, 1000)))


def test_blocks_of_wide_rows_have_fewer_rows() -> None:
    budget = Budget(64_000_000)
    assert budget.block(200, 6).rows == 1 << 14
    assert budget.block(100_000, 6).rows == 42
    assert budget.block(10**9, 6).rows == 1


def test_ids_that_do_not_fit_are_kept_on_the_disk() -> None:
    store = MemoryStore(1000)
    blocks = [np.array([f"{block}-{row}" for row in range(50)], dtype=object) for block in range(6)]
    for number, ids in enumerate(blocks):
        store.put(BlockFacts(f"block {number}", 0, len(ids)), np.zeros(len(ids), dtype=np.uint32), ids)
    assert store._disk is not None
    folder = store._disk.folder
    assert len(list(folder.iterdir())) == 5
    for number, ids in enumerate(blocks):
        assert store.ids(number).tolist() == ids.tolist()
    del store
    assert not folder.exists()


def test_texts_of_many_labels_are_refused() -> None:
    blocks = [np.array([[f"{'y' * 30_000}{block}{row}", "b"] for row in range(100)]) for block in range(5)]
    with pytest.raises(MemoryError, match=r"the texts of the labels of .* objects need .* write short labels"):
        stream.consensus(blocks, 2, memory=64_000_000, check=False)


def test_one_long_label_does_not_make_all_labels_wide() -> None:
    texts = ["x" * 1_000_000, *map(str, range(100))]
    assert wastes(texts)
    assert as_array(texts).dtype == object
    assert not wastes(texts[1:])
    assert as_array(texts[1:]).dtype.kind == "U"

"""Tables in blocks: the same results as for tables in memory, from every kind of source to every kind of output."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from zarr_files import zarr_array

import quorate
from quorate import Ensemble, stream
from quorate._data.blocks import RowTable, code_block
from quorate.ops.coding import hash_texts
from quorate.ops.distinct_rows import as_words, fill_slots, insert_rows

Array = np.ndarray[Any, np.dtype[Any]]
N = 3_000


@pytest.fixture
def labels() -> Array:
    """Noisy labels of a planted partition, some of them missing, and a member that labels nothing for a long time."""
    rng = np.random.default_rng(0)
    truth = rng.integers(4, size=N)
    table = np.stack([np.where(rng.random(N) < 0.2, rng.integers(6, size=N), truth + 1) for _ in range(6)], axis=1)
    table[rng.random(table.shape) < 0.1] = -1
    table[: N // 2, 5] = -1
    table[table.max(axis=1) < 0, 0] = 0
    return table


def write_parts(folder: Path, frame: pd.DataFrame, edges: tuple[int, ...] = (0, 700, 700, 2_500, N)) -> Path:
    """Write a frame as Parquet files of different sizes, one of them empty, in row groups of 300 rows."""
    folder.mkdir()
    for number, (start, stop) in enumerate(pairwise(edges)):
        part = frame.iloc[start:stop]
        table = pyarrow.Table.from_pandas(part, preserve_index=False)
        pyarrow.parquet.write_table(table, folder / f"part{number}.parquet", row_group_size=300)
    return folder


def as_frame(labels: Array) -> pd.DataFrame:
    return pd.DataFrame({f"m{place}": labels[:, place] for place in range(labels.shape[1])})


def sources(labels: Array, folder: Path) -> dict[str, Any]:
    """The same table in every form."""
    frame = as_frame(labels)
    frame.to_csv(folder / "labels.csv", index=False)
    np.save(folder / "labels.npy", labels)
    array = zarr_array(folder / "labels.zarr", labels, (400, 6))
    parts = write_parts(folder / "parts", frame)
    return {
        "folder": parts,
        "pattern": str(parts / "part*.parquet"),
        "list": sorted(parts.iterdir()),
        "dataset": pyarrow.dataset.dataset(parts),
        "csv": folder / "labels.csv",
        "npy": folder / "labels.npy",
        "zarr": folder / "labels.zarr",
        "zarr array": array,
        "array": labels,
        "arrays": [labels[:10], labels[10:10], labels[10:]],
        "frames": (frame.iloc[start : start + 999] for start in range(0, N, 999)),
        "batches": pyarrow.Table.from_pandas(frame).to_batches(700),
    }


KINDS = (
    "folder",
    "pattern",
    "list",
    "dataset",
    "csv",
    "npy",
    "zarr",
    "zarr array",
    "array",
    "arrays",
    "frames",
    "batches",
)


def assert_same_rows(found: Ensemble, wanted: Ensemble) -> None:
    assert found.labels.dtype == wanted.labels.dtype
    np.testing.assert_array_equal(found.labels, wanted.labels)
    np.testing.assert_array_equal(found.counts, wanted.counts)
    np.testing.assert_array_equal(found.weights, wanted.weights)
    for mine, theirs in zip(found.categories, wanted.categories, strict=True):
        # a column of truth values with nulls has categories of objects in memory
        assert mine.dtype == theirs.dtype or theirs.dtype == bool
        assert mine.tolist() == theirs.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_consensus_of_the_table_in_memory(kind: str, labels: Array, tmp_path: Path) -> None:
    whole = quorate.consensus(labels, 4, random_state=1)
    result = stream.consensus(sources(labels, tmp_path)[kind], 4, random_state=1, memory="100MB")
    found = result.in_memory()
    np.testing.assert_array_equal(found.labels, whole.labels)
    np.testing.assert_array_equal(found.rows, whole.rows)
    np.testing.assert_array_equal(found.confidence, whole.confidence)
    np.testing.assert_array_equal(found.runner_up, whole.runner_up)
    assert found.objective == whole.objective
    assert result.sizes.tolist() == whole.sizes.tolist()
    assert_same_rows(result.ensemble, quorate.compress(quorate.as_ensemble(labels))[0])


def test_scores_equal_those_of_the_table_in_memory(labels: Array, tmp_path: Path) -> None:
    frame = as_frame(labels).assign(id=np.arange(N)[::-1], truth=np.arange(N) % 3)
    write_parts(tmp_path / "in", frame)
    result = stream.consensus(tmp_path / "in", 4, random_state=1, ids="id", drop=["truth"], out=tmp_path / "out")
    whole = quorate.consensus(labels, 4, random_state=1)
    wanted = quorate.evaluate(whole, labels, null=3)
    assert stream.evaluate(result, null=3).as_dict() == wanted.as_dict()
    read = stream.evaluate(tmp_path / "out", tmp_path / "in", ids="id", truth="truth", null=3, memory="100MB")
    plain = quorate.evaluate(whole.labels, labels, truth=frame["truth"].to_numpy(), null=3)
    assert read.as_dict() == plain.as_dict()


def test_few_objects_are_scored_alike() -> None:
    labels = np.random.default_rng(3).integers(3, size=(60, 5))
    whole = quorate.consensus(labels, 2, random_state=0)
    result = stream.consensus([labels[:7], labels[7:]], 2, random_state=0)
    assert stream.evaluate(result, null=2).as_dict() == quorate.evaluate(whole, labels, null=2).as_dict()


def test_placing_equals_that_of_the_table_in_memory(labels: Array, tmp_path: Path) -> None:
    frame = as_frame(labels)
    result = stream.consensus(write_parts(tmp_path / "in", frame), 4, random_state=1)
    new = as_frame(np.random.default_rng(5).integers(-1, 9, size=(500, 6))).assign(more=1)
    write_parts(tmp_path / "new", new, (0, 100, 500))
    members = list(frame.columns)
    whole = quorate.consensus(labels, 4, random_state=1)
    with pytest.warns(UserWarning, match="no label that the ensemble knows"):
        wanted = quorate.place(whole, frame, new[members])
    with pytest.warns(UserWarning, match="no label that the ensemble knows"):
        placed = stream.place(result, tmp_path / "new", out=tmp_path / "placed")
    found = pyarrow.parquet.read_table(tmp_path / "placed").to_pandas()
    assert found["label"].fillna(-1).astype(int).tolist() == wanted.labels.tolist()
    np.testing.assert_array_equal(found["confidence"], np.round(wanted.confidence, 6))
    assert placed.n_known == int(wanted.known.sum())
    assert dict(placed.placed.unknown_labels) == dict(wanted.unknown_labels)
    assert placed.sizes.tolist() == wanted.sizes.tolist()


@pytest.mark.parametrize("name", ["out", "out.parquet", "out.npy", "out.zarr", "out.csv"])
@pytest.mark.parametrize("texts", [False, True])
def test_every_output_holds_the_labels_in_order(name: str, texts: bool, labels: Array, tmp_path: Path) -> None:
    ids = [f"object {n:05d}" for n in range(N)] if texts else list(range(10, N + 10))
    write_parts(tmp_path / "in", as_frame(labels).assign(key=ids))
    whole = quorate.consensus(labels, 3, random_state=0)
    stream.consensus(tmp_path / "in", 3, random_state=0, ids="key", out=tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", name], "the workspace is gone"
    if name == "out.npy":
        np.testing.assert_array_equal(np.load(tmp_path / name), whole.labels)
        return
    if name == "out.zarr":
        group = zarr.open(str(tmp_path / name))
        found = {part: group[part][:].tolist() for part in ("ids", "labels", "confidence")}
    elif name == "out.csv":
        with open(tmp_path / name, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        found = {"ids": [row["key"] if texts else int(row["key"]) for row in rows]}
        found |= {"labels": [int(r["label"]) for r in rows], "confidence": [float(r["confidence"]) for r in rows]}
    else:
        table = pyarrow.parquet.read_table(tmp_path / name)
        found = {"ids": table["key"].to_pylist(), "labels": table["label"].to_pylist()}
        found["confidence"] = table["confidence"].to_pylist()
    assert found["ids"] == ids
    assert found["labels"] == whole.labels.tolist()
    assert whole.confidence is not None
    assert found["confidence"] == np.round(whole.confidence, 6).tolist()


def test_output_files_are_named_as_those_of_the_source(labels: Array, tmp_path: Path) -> None:
    write_parts(tmp_path / "in", as_frame(labels))
    stream.consensus(tmp_path / "in", 3, random_state=0, out=tmp_path / "out")
    sizes = {path.name: pyarrow.parquet.read_metadata(path).num_rows for path in (tmp_path / "out").iterdir()}
    assert sizes == {"part0.parquet": 700, "part1.parquet": 0, "part2.parquet": 1_800, "part3.parquet": 500}


CELLS = st.sampled_from(["1", "01", "2", "2.0", "x", "", "nan", "-1", "7", "None"])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=30), st.integers(1, 5))
def test_text_tables_mean_what_they_mean_in_memory(rows: list[tuple[str, str]], size: int) -> None:
    """A column is settled by all blocks: numbers in the first one may turn out to be texts."""
    import tempfile
    import warnings

    import quorate._io.source as budget

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        path = Path(folder) / "t.csv"
        path.write_text("a,b\n" + "".join(f"{one},{two}\n" for one, two in rows))
        small, budget.SMALLEST_BLOCK, large, budget.LARGEST_BLOCK = budget.SMALLEST_BLOCK, 1, budget.LARGEST_BLOCK, size
        try:
            try:
                wanted = quorate.compress(quorate.load_labels(path, orientation="objects", check=False))[0]
            except ValueError:
                wanted = None
            if wanted is None:
                with pytest.raises(ValueError, match=r"label|row"):
                    stream.compress(path, check=False)
            else:
                assert_same_rows(stream.compress(path, check=False), wanted)
        finally:
            budget.SMALLEST_BLOCK, budget.LARGEST_BLOCK = small, large


COLUMNS = [
    pyarrow.array(["a", None, "b", "", "a", "c"]),
    pyarrow.array(["a", None, "b", "b", "a", "c"]).dictionary_encode(),
    pyarrow.array([1, None, 2, -1, 1, 300], pyarrow.int16()),
    pyarrow.array([1.0, None, 2.0, float("nan"), 1.0, 3.0]),
    pyarrow.array([True, False, None, True, True, False]),
    pyarrow.array([5, 4, 3, 5, 4, 10**12]),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: str(column.type))
@pytest.mark.parametrize("edge", range(7))
def test_arrow_columns_mean_what_they_mean_in_memory(column: Any, edge: int, tmp_path: Path) -> None:
    table = pyarrow.table({"a": column, "b": pyarrow.array([1, 1, 2, 2, 2, 2])})
    folder = tmp_path / "in"
    folder.mkdir()
    pyarrow.parquet.write_table(table, tmp_path / "whole.parquet")
    pyarrow.parquet.write_table(table.slice(0, edge), folder / "0.parquet")
    pyarrow.parquet.write_table(table.slice(edge), folder / "1.parquet")
    wanted = quorate.compress(quorate.load_labels(tmp_path / "whole.parquet"))[0]
    assert_same_rows(stream.compress(folder), wanted)


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: str(column.type))
@pytest.mark.parametrize("empty", [0, 1])
def test_a_column_without_values_agrees_with_every_kind(column: Any, empty: int, tmp_path: Path) -> None:
    """pandas writes a column of texts as null if a file has no rows, or if all of its cells are missing."""
    known = pyarrow.table({"a": column, "b": pyarrow.array([1, 1, 2, 2, 2, 2])})
    nothing = pyarrow.table({"a": pyarrow.nulls(3), "b": pyarrow.array([1, 2, 2])})
    parts = [nothing, known] if empty == 0 else [known, nothing]
    folder = tmp_path / "in"
    folder.mkdir()
    for place, part in enumerate([*parts, nothing.slice(3)]):
        pyarrow.parquet.write_table(part, folder / f"{place}.parquet")
    whole = pyarrow.concat_tables([part.cast(known.schema) for part in parts]).unify_dictionaries()
    pyarrow.parquet.write_table(whole, tmp_path / "whole.parquet")
    wanted = quorate.compress(quorate.load_labels(tmp_path / "whole.parquet"))[0]
    assert_same_rows(stream.compress(folder), wanted)


def test_options_of_reading(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 9, 9, 2], "b": [9, 9, 1, 1], "c": [1, 2, 3, 4], "name": list("wxyz")})
    write_parts(tmp_path / "in", frame, (0, 1, 3, 4))
    options: dict[str, Any] = {"ids": "name", "drop": ["c"], "missing": [9], "weights": {"a": 2.0}}
    with pytest.raises(ValueError, match=r"1 of 4 objects has no label.*skip_empty"):
        stream.compress(tmp_path / "in", **options)
    result = stream.consensus(tmp_path / "in", 2, random_state=0, skip_empty=True, out=tmp_path / "out", **options)
    path = tmp_path / "whole.parquet"
    frame.to_parquet(path)
    wanted = quorate.load_labels(path, skip_empty=True, **options)
    assert_same_rows(result.ensemble, quorate.compress(wanted)[0])
    assert result.n_skipped == 1
    written = pyarrow.parquet.read_table(tmp_path / "out").to_pandas()
    assert written["name"].tolist() == ["w", "y", "z"]


@pytest.mark.parametrize("n_labels", [3, 200, 40_000])
def test_codes_widen_as_labels_are_met(n_labels: int) -> None:
    labels = np.random.default_rng(0).integers(n_labels, size=(50_000, 2))
    wanted = quorate.compress(quorate.as_ensemble(labels, check=False))[0]
    blocks = [labels[:100] % 3, labels[100:20_000], labels[20_000:]]
    labels[:100] %= 3
    wanted = quorate.compress(quorate.as_ensemble(labels, check=False))[0]
    assert_same_rows(stream.compress(blocks, check=False), wanted)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_table_of_rows_against_a_dictionary(data: st.DataObject) -> None:
    """The kernels and their twin: a dictionary of tuples."""
    width = data.draw(st.integers(1, 3))
    table, seen = RowTable(width), dict[tuple[int, ...], int]()
    counts: list[int] = []
    for _ in range(data.draw(st.integers(1, 4))):
        rows = data.draw(st.lists(st.tuples(*[st.integers(-1, 2)] * width), max_size=8))
        block = np.array(rows, dtype=np.int64).reshape(len(rows), width)
        coded = code_block(list(block.T), tuple(map(str, range(width))))
        numbers = table.add(coded)[coded.inverse] if len(rows) else np.empty(0)
        for row, number in zip(rows, numbers.tolist(), strict=True):
            if seen.setdefault(row, len(seen)) == len(counts):
                counts.append(0)
            counts[seen[row]] += 1
            assert number == seen[row]
    assert table.n_rows == len(seen)
    assert table.counts.tolist() == counts
    values = [part.array() for part in table.values]
    found = [tuple(int(v[code]) for v, code in zip(values, row, strict=True)) for row in table.labels.tolist()]
    assert found == list(seen)


def test_insertion_kernel_keeps_rows_through_growth() -> None:
    rng = np.random.default_rng(0)
    rows, sums = np.empty((4_000, 2), dtype=np.int16), np.empty(4_000, dtype=np.int64)
    slots = np.full(8_192, -1, dtype=np.int64)
    rows = rows.view(np.uint32)
    block = as_words(rng.integers(-1, 40, size=(2_000, 2)).astype(np.int16))
    numbers = np.empty(2_000, dtype=np.int64)
    n_rows = insert_rows(block, np.ones(2_000, dtype=np.int64), rows, sums, slots, 0, numbers)
    again = np.full(16_384, -1, dtype=np.int64)
    fill_slots(rows, n_rows, again)
    assert sorted(again[again >= 0] & 0xFFFFFFFF) == list(range(n_rows))
    other = np.empty(2_000, dtype=np.int64)
    assert insert_rows(block, np.ones(2_000, dtype=np.int64), rows, sums, again, n_rows, other) == n_rows
    np.testing.assert_array_equal(numbers, other)
    assert sums[:n_rows].sum() == 4_000


def test_hashes_of_texts() -> None:
    def twin(text: bytes) -> int:
        multiplier, mask = 0x9E3779B97F4A7C15, 2**64 - 1
        value = multiplier ^ len(text)
        for byte in text:
            value = ((value ^ byte) * multiplier) & mask
            value = ((value << 29) | (value >> 35)) & mask
        return value ^ (value >> 35)

    texts = [b"", b"a", b"ab", b"ba", bytes(range(256))]
    ends = np.cumsum([0, *map(len, texts)]).astype(np.int64)
    keys = np.empty(len(texts), dtype=np.uint64)
    hash_texts(np.frombuffer(b"".join(texts), dtype=np.uint8), ends, keys)
    assert keys.tolist() == [twin(text) for text in texts]

"""Tables in blocks with columns of every type, and files that are not what they seem: as in memory, or refused."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr

from quorate import as_ensemble, compress, load_labels, save_ensemble, stream

N = 24
PICK = np.random.default_rng(0).integers(3, size=N)
DAYS = [datetime.datetime(2020, 1, 1) + datetime.timedelta(days=day) for day in range(N)]
TYPES: dict[str, tuple[list[Any], Any]] = {
    "int8": ([1, 2, 3], pa.int8()),
    "uint64": ([1, 2, 2**63 - 1], pa.uint64()),
    "decimals": ([Decimal("1.10"), Decimal("2.20"), Decimal("3.30")], pa.decimal128(10, 2)),
    "timestamps": (DAYS[:3], pa.timestamp("us", "Europe/Berlin")),
    "durations": ([datetime.timedelta(days=day) for day in (1, 2, 30)], pa.duration("us")),
    "texts": (["a", "b", "c"], pa.string()),
    "views of texts": (["a", "b", "c"], getattr(pa, "string_view", pa.large_string)()),
    "bytes": ([b"a", b"b", b"\xff"], pa.binary()),
}
EXTENSIONS = hasattr(pa, "uuid")


def _column(kind: str, *, nulls: bool = False) -> pa.Array:
    values, arrow = TYPES[kind]
    return pa.array([None if nulls and not place % 7 else values[pick] for place, pick in enumerate(PICK)], arrow)


def _written(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table({"other": pa.array(["u", "v"] * (N // 2)), **columns}), path, row_group_size=7)
    return path


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("kind", TYPES)
def test_labels_of_every_type_are_those_in_memory(tmp_path: Path, kind: str, nulls: bool) -> None:
    path = _written(tmp_path / "labels.parquet", x=_column(kind, nulls=nulls))
    if kind == "decimals":
        for read in (load_labels, stream.compress):
            with pytest.raises(ValueError, match=r"column 'x' holds numbers such as .*, which are measurements"):
                read(path)
    whole, rows = load_labels(path, check=False), stream.compress(path, check=False)
    assert rows.n_objects == N
    assert sorted(map(str, rows.categories[1].tolist())) == sorted(map(str, whole.categories[1].tolist()))
    assert sorted(rows.counts.tolist()) == sorted(compress(whole)[0].counts.tolist())


@pytest.mark.skipif(not EXTENSIONS, reason="this pyarrow has no extension types")
def test_extension_types_are_read_as_what_they_store(tmp_path: Path) -> None:
    stored = pa.array([bytes([pick]) * 16 for pick in PICK], pa.uuid())
    rows = stream.compress(_written(tmp_path / "labels.parquet", x=stored))
    assert rows.n_clusters.tolist() == [2, 3]


def test_numbers_too_large_for_labels_are_refused_beside_nulls(tmp_path: Path) -> None:
    path = _written(tmp_path / "labels.parquet", x=pa.array([2**63 + 1, None, 5] * (N // 3), pa.uint64()))
    with pytest.raises(ValueError, match=r"x holds a label beyond 2\*\*63 - 1"):
        stream.compress(path)


@pytest.mark.parametrize(
    "ids",
    [
        pa.array(DAYS, pa.timestamp("us", "Europe/Berlin")),
        pa.array([day - DAYS[0] for day in DAYS], pa.duration("us")),
        pa.array([bytes([200 + place]) for place in range(N)], pa.binary()),
        pa.array([Decimal(place) for place in range(N)], pa.decimal128(10, 2)),
        pa.array([f"object {place}" for place in range(N)]).dictionary_encode(),
    ],
    ids=["timestamps", "durations", "bytes", "decimals", "dictionary"],
)
def test_ids_of_every_type_are_written_as_in_memory(tmp_path: Path, ids: pa.Array) -> None:
    from quorate.cli import main

    path = _written(tmp_path / "labels.parquet", x=_column("texts"), id=ids)
    common = ["consensus", str(path), "--id", "id", "-k", "2", "-m", "kmeans", "--no-null", "--seed", "0", "-o"]
    assert main([*common, str(tmp_path / "whole.csv")]) == 0
    assert main([*common, str(tmp_path / "blocks.csv"), "--memory", "1GB"]) == 0
    assert (tmp_path / "blocks.csv").read_text() == (tmp_path / "whole.csv").read_text()


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (pa.array([[place] for place in range(N)]), "a single id per object"),
        (pa.array([float("nan"), *map(float, range(1, N))]), "row 0 .* has no id"),
        (pa.array(["", *map(str, range(1, N))]), "row 0 .* has no id"),
    ],
    ids=["lists", "NaN", "empty text"],
)
def test_ids_that_name_no_object_are_refused(tmp_path: Path, ids: pa.Array, words: str) -> None:
    path = _written(tmp_path / "labels.parquet", x=_column("texts"), id=ids)
    with pytest.raises(ValueError, match=words):
        stream.compress(path, ids="id")


@pytest.mark.parametrize(("first", "second"), [([1, 2, 3], ["1", "x", "y"]), (["x", "1", "z"], [3, 2, 1])])
def test_a_number_and_its_text_are_one_id(first: list[Any], second: list[Any]) -> None:
    blocks = [pd.DataFrame({"id": ids, "a": [0, 1, 0]}) for ids in (first, second)]
    with pytest.raises(ValueError, match="the id '1' is there twice"):
        stream.compress(iter(blocks), ids="id")
    with pytest.raises(ValueError, match="the id '1' twice"):
        as_ensemble(pd.DataFrame({"id": [1, "1", 2], "a": [0, 1, 0]}), ids="id")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npy"])
def test_a_column_that_only_a_later_file_has_is_not_lost(tmp_path: Path, suffix: str) -> None:
    for number, names in enumerate(("ab", "abc")):
        frame = pd.DataFrame(np.arange(4 * len(names)).reshape(4, -1) % 3, columns=list(names))
        path = tmp_path / f"{number}.{suffix}"
        if suffix == "npy":
            np.save(path, frame.to_numpy())
        else:
            getattr(frame, f"to_{suffix}")(path, index=False)
    with pytest.raises(ValueError, match=r"1\.\w+ has the column '.*', which .*0\.\w+ has not"):
        stream.compress(tmp_path)
    if suffix != "npy":
        assert stream.compress(tmp_path, columns=["a", "b"]).n_members == 2


@pytest.mark.parametrize("shape", [(4, 0), (0, 4)])
def test_arrays_without_rows_or_columns_are_refused(tmp_path: Path, shape: tuple[int, int]) -> None:
    np.save(tmp_path / "labels.npy", np.zeros(shape, dtype=np.int8))
    with pytest.raises(ValueError, match="at least one object and one member"):
        stream.compress(tmp_path / "labels.npy")


def test_a_later_block_with_more_columns_is_refused() -> None:
    with pytest.raises(ValueError, match="block 1 has the column 'member 2'"):
        stream.compress(iter([np.eye(4, 2), np.eye(4, 3)]))


def _code(value: int) -> Any:
    def change(group: Any) -> None:
        labels = group["labels"][...]
        labels[0, 0] = value
        group["labels"][...] = labels

    return change


def _replaced(name: str, values: Any) -> Any:
    def change(group: Any) -> None:
        if name in group:
            del group[name]
        if values is not None:
            stored = np.asarray(values)
            (group.create_array if hasattr(group, "create_array") else group.create_dataset)(name, data=stored)

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_code(9), "codes from 0 to 1"),
        (_code(-3), "codes from 0 to 1"),
        (_replaced("names", ["a", "b", "c"]), "one name per member"),
        (_replaced("names", ["a", "a"]), "names must be unique"),
        (_replaced("ids", [1, 2, 3]), "one id per object"),
        (_replaced("categories_1", None), "one array of categories per member"),
        (_replaced("counts", [1, 2, 3, 4]), "holds counts, which are not read in blocks"),
        (_replaced("weights", [1, 2]), "holds weights, which are not read in blocks"),
    ],
)
def test_stores_that_contradict_themselves_are_refused(tmp_path: Path, change: Any, words: str) -> None:
    path = tmp_path / "labels.zarr"
    save_ensemble(path, as_ensemble({"a": ["x", "y", "x", "y"], "b": [1, 2, 2, 1]}))
    change(zarr.open_group(str(path), mode="r+"))
    with pytest.raises(ValueError, match=words):
        stream.compress(path)


def test_an_error_of_the_input_leaves_nothing_beside_the_output(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("a,b\n1,2\n2,1\n3\n")
    with pytest.raises(ValueError, match="has 1 cell"):
        stream.consensus(tmp_path / "labels.csv", 2, out=tmp_path / "out.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["labels.csv"]


def test_masked_values_are_missing_or_refused() -> None:
    dask_array = pytest.importorskip("dask.array")
    from quorate import dask

    mask = np.array([[1, 0], [0, 0], [0, 0], [0, 1]], dtype=bool)
    labels = np.ma.masked_array([[0, 1], [1, 0], [1, 1], [0, 0]], mask=mask)
    lazy = dask_array.ma.masked_array(dask_array.from_array(labels.data), mask=mask)
    expected = as_ensemble(labels).labels.tolist()
    assert stream.compress(iter([labels])).labels.tolist() == expected
    assert dask.compress(lazy).labels.tolist() == expected
    with pytest.raises(ValueError, match="the array has 2 masked values"):
        stream.compress(labels)
    with pytest.raises(ValueError, match="X has 2 masked values"):
        dask.generate(lazy.astype(float), 2, k=2, base="kmeans", random_state=0)

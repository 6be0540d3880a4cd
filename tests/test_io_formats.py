"""Parquet, NumPy and Zarr files, and what is told of spoilt ones."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from test_io import NAMED, assert_same, values, write

from quorate import Ensemble, as_ensemble, compress, load_labels, save_ensemble

# ---- other formats


def example(*, ids: bool = True) -> Ensemble:
    return as_ensemble(
        {"sales": ["gold", None, "tin", "gold"], "web": [2, 2, 7, 10**12], "size": [0.5, 1.5, None, 0.5]},
        ids=["a", "b", "c, d", "é"] if ids else None,
    )


@pytest.mark.parametrize("suffix", NAMED)
@pytest.mark.parametrize("ids", [True, False])
def test_an_ensemble_comes_back(tmp_path: Path, suffix: str, ids: bool) -> None:
    path = tmp_path / f"labels.{suffix}"
    save_ensemble(path, example(ids=ids))
    tabular = suffix not in ("npz", "zarr")
    assert_same(load_labels(path, ids="id" if ids and tabular else None), example(ids=ids))
    picked = load_labels(path, columns=["size", "web"])
    assert picked.member_names == ("size", "web")
    assert values(picked) == [[row[2], row[1]] for row in values(example())]
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_npy_keeps_the_codes(tmp_path: Path) -> None:
    save_ensemble(tmp_path / "labels.npy", example())
    ensemble = load_labels(tmp_path / "labels.npy")
    assert np.array_equal(ensemble.labels, example().labels)
    with pytest.raises(ValueError, match="its columns have no names"):
        load_labels(tmp_path / "labels.npy", ids="id")


@pytest.mark.parametrize("suffix", ["npz", "zarr"])
def test_weights_and_counts_come_back(tmp_path: Path, suffix: str) -> None:
    rows, _ = compress(as_ensemble([[3, 3, 1, 1], [0, 0, 1, 0]], weights=[1, 2.5]))
    save_ensemble(tmp_path / f"rows.{suffix}", rows)
    back = load_labels(tmp_path / f"rows.{suffix}")
    assert_same(back, rows)
    assert back.weights.tolist() == [1, 2.5]
    assert load_labels(tmp_path / f"rows.{suffix}", weights=[1, 1]).unit_weights


def test_codes_out_of_order_come_back(tmp_path: Path) -> None:
    rows, _ = compress(example(ids=False))
    shuffled = Ensemble(
        rows.labels[::-1], rows.counts, rows.n_clusters, rows.weights, rows.member_names, rows.categories
    )
    save_ensemble(tmp_path / "rows.npz", shuffled)
    assert values(load_labels(tmp_path / "rows.npz")) == values(shuffled)


def test_what_csv_cannot_keep_is_refused(tmp_path: Path) -> None:
    rows, _ = compress(as_ensemble([[3, 3, 1], [0, 0, 1]]))
    with pytest.raises(ValueError, match="this ensemble is compressed"):
        save_ensemble(tmp_path / "a.csv", rows)
    for labels in ([1, -5, 2], ["1", "01", "x"], ["1", "1.0", "2"], ["nan", "x", "y"], ["inf", "1", "2"]):
        ensemble = as_ensemble({"a": labels}, missing=[])
        if labels == ["1", "01", "x"]:
            save_ensemble(tmp_path / "a.csv", ensemble)
            continue
        with pytest.raises(ValueError, match=r"use \.npz or \.zarr"):
            save_ensemble(tmp_path / "b.csv", ensemble)
    with pytest.raises(ValueError, match=r"use \.npz or \.zarr"):
        save_ensemble(tmp_path / "b.parquet", as_ensemble({"a": [1, -5, 2]}, missing=[]))
    for suffix in ("csv", "parquet"):
        with pytest.raises(ValueError, match=r"use \.npz or \.zarr"):
            save_ensemble(tmp_path / f"b.{suffix}", as_ensemble({"a": ["", "x", "y"]}))
    with pytest.raises(ValueError, match="a member is named 'id'"):
        save_ensemble(tmp_path / "b.csv", as_ensemble({"id": [1, 2], "b": [1, 2]}))
    with pytest.warns(UserWarning, match="do not keep member weights"):
        save_ensemble(tmp_path / "c.csv", as_ensemble([[1, 2], [1, 2]], weights=[1, 2]))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "c.csv"]


def test_labels_of_several_types(tmp_path: Path) -> None:
    mixed = as_ensemble({"a": [1, "x", 1], "b": [1, 1, 2]})
    for suffix in ("npz", "zarr", "parquet"):
        with pytest.raises(ValueError, match="holds values of several types"):
            save_ensemble(tmp_path / f"a.{suffix}", mixed)
    assert list(tmp_path.iterdir()) == []
    save_ensemble(tmp_path / "a.csv", mixed)
    assert np.array_equal(load_labels(tmp_path / "a.csv").labels, mixed.labels)


def test_dates_come_back_as_texts(tmp_path: Path) -> None:
    dates = np.array(["2020-01-02", "2020-01-03", "NaT"], dtype="datetime64[D]")
    ensemble = as_ensemble({"a": dates, "b": [1, 2, 2]})
    save_ensemble(tmp_path / "a.csv", ensemble)
    assert values(load_labels(tmp_path / "a.csv")) == [["2020-01-02", 1], ["2020-01-03", 2], [None, 2]]


def test_arrays_of_other_people(tmp_path: Path) -> None:
    table = np.array([[1, 2], [1, 3], [4, -1]])
    np.save(tmp_path / "a.npy", table)
    assert values(load_labels(tmp_path / "a.npy")) == [[1, 2], [1, 3], [4, None]]
    assert load_labels(tmp_path / "a.npy", orientation="members", missing=[]).n_members == 3
    np.savez(tmp_path / "a.npz", anything=table, vector=np.arange(3))
    assert values(load_labels(tmp_path / "a.npz")) == [[1, 2], [1, 3], [4, None]]
    np.savez(tmp_path / "b.npz", labels=table.astype(str), ids=np.array(["x", "y", "z"]), weights=[1, 2])
    ensemble = load_labels(tmp_path / "b.npz", missing="-1")
    assert ensemble.object_ids is not None
    assert ensemble.object_ids.tolist() == ["x", "y", "z"]
    assert ensemble.weights.tolist() == [1, 2]
    np.savez(tmp_path / "c.npz", one=table, two=table)
    with pytest.raises(ValueError, match=r"array named 'labels' or exactly one 2-D array, found one \(3, 2\), two"):
        load_labels(tmp_path / "c.npz")
    np.savez(tmp_path / "d.npz", labels=table, ids=np.array(["x", "y", "x"]))
    with pytest.raises(ValueError, match="has the id 'x' twice, in rows 0 and 2"):
        load_labels(tmp_path / "d.npz")
    np.savez(tmp_path / "e.npz", labels=table, names=np.array(["x", "y", "z"]))
    with pytest.raises(ValueError, match="one name per member"):
        load_labels(tmp_path / "e.npz")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npz"])
def test_an_empty_text_is_missing_in_any_file(tmp_path: Path, suffix: str) -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": ["x", "", "y"], "b": ["1", "2", ""]})
    path = tmp_path / f"a.{suffix}"
    if suffix == "csv":
        frame.to_csv(path, index=False)
    elif suffix == "parquet":
        frame.to_parquet(path, index=False)
    else:
        np.savez(path, labels=frame.to_numpy().astype(str))
    assert load_labels(path).labels.tolist() == [[0, 0], [-1, 1], [1, -1]]


def test_zarr_of_other_people(tmp_path: Path) -> None:
    import zarr

    table = np.array([[1, 2], [1, 3], [4, -1]])
    zarr.save_array(str(tmp_path / "a.zarr"), table)
    assert values(load_labels(tmp_path / "a.zarr")) == [[1, 2], [1, 3], [4, None]]
    zarr.save_group(str(tmp_path / "b.zarr"), labels=table, weights=np.array([1.0, 2.0]))
    assert load_labels(tmp_path / "b.zarr").weights.tolist() == [1, 2]
    (tmp_path / "c.zarr").mkdir()
    with pytest.raises(ValueError, match="is no Zarr store"):
        load_labels(tmp_path / "c.zarr")
    write(tmp_path, "{ not json", "c.zarr/zarr.json")
    with pytest.raises(ValueError, match="could not be read as Zarr"):
        load_labels(tmp_path / "c.zarr")


def test_parquet_of_other_people(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"id": [7, 8, 9], "a": ["x", None, "y"], "b": [1, -1, 2], "c": [1.5, 2.5, None]})
    pq.write_table(table.set_column(1, "a", table["a"].dictionary_encode()), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="column named 'id'"):
        load_labels(tmp_path / "a.parquet")
    ensemble = load_labels(tmp_path / "a.parquet", ids="id")
    assert values(ensemble) == [["x", 1, 1.5], [None, None, 2.5], ["y", 2, None]]
    assert ensemble.object_ids is not None
    assert ensemble.object_ids.tolist() == [7, 8, 9]
    pq.write_table(pa.table({"id": ["x", None], "a": [1, 2]}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"row 1 .* has no id"):
        load_labels(tmp_path / "b.parquet", ids="id")
    pq.write_table(pa.table([[1, 2], [1, 2]], names=["a", "a"]), tmp_path / "c.parquet")
    with pytest.raises(ValueError, match="'a' more than once"):
        load_labels(tmp_path / "c.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    with pytest.raises(ValueError, match="could not be read as Parquet"):
        load_labels(write(tmp_path, whole[:100], "d.parquet"))


def test_parquet_of_texts_equals_the_same_table_in_memory(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    words = np.array(["x", "y", "lost", None, "w"], dtype=object)
    plain = pa.array(words[rng.integers(0, 5, 300)].tolist())
    dictionary = pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, 3, 300)), ["c", "a", "b", "unused"])
    table = pa.table(
        {
            "plain": plain,
            "large": plain.cast(pa.large_string()),
            "dictionary": dictionary,
            "bool": rng.integers(0, 2, 300).astype(bool),
            "date": pa.array(rng.integers(0, 4, 300)).cast(pa.timestamp("s")),
            "number": rng.integers(0, 4, 300),
        }
    )
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, row_group_size=70)
    for missing in (-1, ["lost", 3], []):
        assert_same(load_labels(path, missing=missing), as_ensemble(table, missing=missing))
    ids = pa.array([str(number) for number in range(300)])
    pq.write_table(table.append_column("id", ids).take(list(range(4))), path)
    assert load_labels(path, ids="id", orientation="objects", columns=["number"]).n_objects == 4


def test_parquet_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    for table, message in (
        (pa.table({"a": pa.array([], pa.string())}), "at least one object and one member, got 0 objects"),
        (pa.table({"a": [[1], [2]]}), "single label was expected"),
        (pa.table({"a": pa.array([None, None], pa.string()), "b": [1, 2]}), "'a' labels no object at all"),
        (pa.table({"a": [1, 2], "__index_level_0__": ["x", "y"]}), "looks like the objects' ids"),
        (pa.table({"a": [1], "b": [1]}), "1 row and 2 columns"),
    ):
        pq.write_table(table, path)
        with pytest.raises(ValueError, match=message):
            load_labels(path)
    pq.write_table(pa.table({"a": [1, 5], "b": [1, 6], "c": [2, 6]}), path)
    assert load_labels(path, orientation="members").n_objects == 3


@pytest.mark.parametrize("suffix", ["npy", "npz", "parquet"])
@pytest.mark.parametrize(("content", "found"), [("a,b\n1,2\n", "something else, perhaps text"), ("", "empty")])
def test_content_that_does_not_match_the_suffix(tmp_path: Path, suffix: str, content: str, found: str) -> None:
    with pytest.raises(ValueError, match=f"should be a .{suffix} file by its name, but its content is {found}"):
        load_labels(write(tmp_path, content, f"labels.{suffix}"))


def test_pickles_are_refused(tmp_path: Path) -> None:
    table = np.array([["a", None], [1, 2]], dtype=object)
    np.save(tmp_path / "a.npy", table, allow_pickle=True)
    np.savez(tmp_path / "a.npz", labels=table)
    for name in ("a.npy", "a.npz"):
        with pytest.raises(ValueError, match="holds Python objects, which could run code when read, so it is refused"):
            load_labels(tmp_path / name)
    with pytest.raises(ValueError, match="its content is a Python pickle"):
        load_labels(write(tmp_path, pickle.dumps([[1, 2]]), "b.npy"))


def test_cut_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((100, 3)))
    np.savez(tmp_path / "a.npz", labels=np.ones((100, 3)))
    for name in ("a.npy", "a.npz"):
        whole = (tmp_path / name).read_bytes()
        with pytest.raises(ValueError, match="could not be read as"):
            load_labels(write(tmp_path, whole[:200], name))


def test_arrays_of_the_wrong_shape(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 2, 2), dtype=int))
    with pytest.raises(ValueError, match="3 dimensions"):
        load_labels(tmp_path / "a.npy")


@pytest.mark.parametrize(("module", "extra", "suffix"), [("pyarrow", "parquet", "parquet"), ("zarr", "zarr", "zarr")])
def test_a_library_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, extra: str, suffix: str
) -> None:
    save_ensemble(tmp_path / f"a.{suffix}", example())
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf'pip install "quorate\[{extra}\]"'):
        load_labels(tmp_path / f"a.{suffix}", ids="id")
    with pytest.raises(ImportError, match="pip install"):
        save_ensemble(tmp_path / f"b.{suffix}", example())
    assert [p.name for p in tmp_path.iterdir()] == [f"a.{suffix}"]


def test_a_chart_sheet_is_not_a_table(tmp_path: Path) -> None:
    """openpyxl cannot read a chart sheet without a chart: 'list' object has no attribute 'find'."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["id", "a", "b"], [1, "x", "y"], [2, "x", "y"], [3, "z", "w"]):
        book.active.append(row)
    book.create_chartsheet("chart", 0)
    book.save(tmp_path / "book.xlsx")
    assert load_labels(tmp_path / "book.xlsx", ids="id").n_objects == 3
    del book["Sheet"]
    book.active = 0
    book.save(tmp_path / "chart.xlsx")
    with pytest.raises(ValueError, match="it has no sheet with cells"):
        load_labels(tmp_path / "chart.xlsx")

"""Label tables in files: every format in and out, and every way a file can be wrong."""

from __future__ import annotations

import gzip
import io
import pickle
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate import Consensus, Ensemble, as_ensemble, compress, load_labels, save_labels
from quorate._io import save_ensemble, write_aside
from quorate._io import text as text_module
from quorate._io.files import write_folder_aside

FORMATS = ("csv", "tsv", "txt", "csv.gz", "parquet", "npy", "npz", "zarr")
NAMED = tuple(suffix for suffix in FORMATS if suffix != "npy")


def write(folder: Path, content: str | bytes, name: str = "labels.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def values(ensemble: Ensemble) -> list[list[Any]]:
    """The labels behind the codes, None where missing."""
    columns = [
        [None if code < 0 else known[code] for code in column.tolist()]
        for column, known in zip(ensemble.labels.T, [c.tolist() for c in ensemble.categories], strict=True)
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def assert_same(one: Ensemble, other: Ensemble) -> None:
    assert values(one) == values(other)
    assert one.labels.dtype == other.labels.dtype
    assert np.array_equal(one.labels, other.labels)
    assert one.member_names == other.member_names
    assert np.array_equal(one.counts, other.counts)
    if one.object_ids is None or other.object_ids is None:
        assert one.object_ids is other.object_ids
    else:
        assert one.object_ids.tolist() == other.object_ids.tolist()


# ---- reading CSV


def test_a_plain_table(tmp_path: Path) -> None:
    ensemble = load_labels(write(tmp_path, "a,b\n1,x\n1,y\n2,\n"))
    assert values(ensemble) == [[1, "x"], [1, "y"], [2, None]]
    assert ensemble.member_names == ("a", "b")
    assert ensemble.categories[0].dtype == np.int64
    assert ensemble.object_ids is None


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfa,b\n1,x\n2,y\n",
        b"a,b\r\n1,x\r\n2,y\r\n",
        b"a,b\r1,x\r2,y\r",
        b"a,b\n1,x\n2,y",
        b"\na,b\n\n1,x\n2,y\n\n\n",
        b'"a","b"\n"1","x"\n"2","y"\n',
    ],
    ids=["BOM", "CRLF", "CR", "no last line end", "blank lines", "quoted"],
)
def test_one_table_spelled_in_many_ways(tmp_path: Path, content: bytes) -> None:
    ensemble = load_labels(write(tmp_path, content))
    assert ensemble.member_names == ("a", "b")
    assert values(ensemble) == [[1, "x"], [2, "y"]]


def test_quoted_commas_quotes_and_line_ends(tmp_path: Path) -> None:
    ensemble = load_labels(write(tmp_path, '"a, b",c\n"x, y","say ""no"""\nz,"two\nlines"\n'))
    assert ensemble.member_names == ("a, b", "c")
    assert values(ensemble) == [["x, y", 'say "no"'], ["z", "two\nlines"]]


def test_numbers_spelled_differently_are_one_label(tmp_path: Path) -> None:
    ensemble = load_labels(write(tmp_path, "a,b,c\n1,1.5,1_2\n01,2,12\n1.0, 2 ,3\n2,1.50,3\n"))
    assert values(ensemble) == [[1, 1.5, "1_2"], [1, 2.0, "12"], [1, 2.0, "3"], [2, 1.5, "3"]]


def test_texts_stay_as_they_are(tmp_path: Path) -> None:
    ensemble = load_labels(write(tmp_path, "a,b\n01,x\n1,X\nseven, x\n"))
    assert values(ensemble) == [["01", "x"], ["1", "X"], ["seven", " x"]]


def test_large_numbers_and_long_texts(tmp_path: Path) -> None:
    long = "l" * 10_000
    ensemble = load_labels(write(tmp_path, f"a,b,c\n{10**12},{10**30},{long}\n5,{10**30 + 1},s\n5,1,{'9' * 5_000}\n"))
    assert values(ensemble)[0] == [10**12, str(10**30), long]
    assert ensemble.n_clusters.tolist() == [2, 3, 3]


def test_missing_by_default(tmp_path: Path) -> None:
    ensemble = load_labels(write(tmp_path, "a,b\n-1,x\n1,\n2,  \nnan,y\nNaN,x\n-1.0,x\n"))
    assert values(ensemble) == [[None, "x"], [1, None], [2, None], [None, "y"], [None, "x"], [None, "x"]]


@pytest.mark.parametrize("missing", [0, "0", [0], [0, "none"]])
def test_missing_as_declared(tmp_path: Path, missing: Any) -> None:
    ensemble = load_labels(write(tmp_path, "a,b\n0,1\n1,0\n2,1\n"), missing=missing)
    assert values(ensemble) == [[None, 1], [1, None], [2, 1]]


def test_missing_texts(tmp_path: Path) -> None:
    ensemble = load_labels(write(tmp_path, "a,b\nNA,1\n1,2\n?,1\n"), missing=["NA", "?"])
    assert values(ensemble) == [[None, 1], [1, 2], [None, 1]]


@pytest.mark.parametrize("word", ["NA", "N/A", "null", "NULL", "None", "none", "<NA>"])
def test_a_text_that_looks_missing_is_warned_of(tmp_path: Path, word: str) -> None:
    path = write(tmp_path, f"a,b\n1,1\n{word},2\n2,2\n")
    with pytest.warns(UserWarning, match=f"column 'a' holds the text '{word}' as a label; pass missing="):
        ensemble = load_labels(path)
    assert values(ensemble)[1] == [word, 2]


def test_negative_and_infinite_numbers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"column 'a' holds the label -2"):
        load_labels(write(tmp_path, "a,b\n-2,1\n1,1\n"))
    assert values(load_labels(tmp_path / "labels.csv", missing=[]))[0] == [-2, 1]
    with pytest.raises(ValueError, match="column 'a' holds the infinite label 'inf'"):
        load_labels(write(tmp_path, "a,b\ninf,1\n1,1\n"))


def test_ids_are_kept_verbatim(tmp_path: Path) -> None:
    path = write(tmp_path, 'a,who\n1,007\n2," x"\n2,"a,b"\n')
    ensemble = load_labels(path, ids="who")
    assert ensemble.object_ids is not None
    assert ensemble.object_ids.tolist() == ["007", " x", "a,b"]
    assert ensemble.member_names == ("a",)


def test_one_long_id_does_not_widen_all(tmp_path: Path) -> None:
    ensemble = load_labels(write(tmp_path, f"a,id\n1,{'x' * 1000}\n2,y\n"), ids="id")
    assert ensemble.object_ids is not None
    assert ensemble.object_ids.dtype == object


def test_an_id_twice(tmp_path: Path) -> None:
    path = write(tmp_path, 'id,a\nx,1\n"y\nz",2\n\nu,1\nx,2\n')
    with pytest.raises(ValueError, match=r"has the id 'x' twice, on lines 2 and 7"):
        load_labels(path, ids="id")


def test_an_id_twice_in_different_blocks(tmp_path: Path) -> None:
    n = 2 * text_module.BLOCK
    rows = [f"{number},{number % 3}" for number in range(n)] + ["5,0"]
    with pytest.raises(ValueError, match=rf"has the id '5' twice, on lines 7 and {n + 2};"):
        load_labels(write(tmp_path, "\n".join(["id,a", *rows])), ids="id")


def test_an_empty_id(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="line 3 has no id"):
        load_labels(write(tmp_path, "id,a\nx,1\n,2\n"), ids="id")


def test_columns(tmp_path: Path) -> None:
    path = write(tmp_path, "id,a,b,c\nx,1,2,3\ny,1,2,4\nz,1,1,1\n")
    ensemble = load_labels(path, columns=["c", "a"])
    assert ensemble.member_names == ("c", "a")
    assert values(ensemble) == [[3, 1], [4, 1], [1, 1]]
    with pytest.raises(ValueError, match="has no column 'd', 'e'; its columns are 'id', 'a', 'b', 'c'"):
        load_labels(path, columns=["a", "d", "e"])
    with pytest.raises(ValueError, match="has no column 'name'"):
        load_labels(path, ids="name")
    with pytest.raises(ValueError, match="'a' is named as a member and as the ids"):
        load_labels(path, ids="a", columns=["a"])
    with pytest.raises(ValueError, match="'a' more than once"):
        load_labels(path, columns=["a", "a"])
    with pytest.raises(ValueError, match="columns must name at least one column"):
        load_labels(path, columns=[])
    with pytest.raises(ValueError, match="has no column beside the ids 'id'"):
        load_labels(write(tmp_path, "id\nx\n"), ids="id")


@pytest.mark.parametrize("name", ["id", "ID", ""])
def test_a_column_named_like_ids_is_not_taken_for_a_member(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, f"{name},a\n1,1\n2,2\n")
    with pytest.raises(
        ValueError, match=rf"column named '{name}', which looks like the objects' ids; pass ids='{name}'"
    ):
        load_labels(path)
    assert load_labels(path, ids=name).member_names == ("a",)
    assert load_labels(path, columns=[name, "a"]).member_names == (name, "a")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_column_of_distinct_labels_is_not_taken_for_a_member(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"labels.{suffix}"
    save_ensemble(path, as_ensemble({"who": np.arange(21), "a": np.arange(21) % 2}))
    with pytest.raises(ValueError, match="column 'who' has a label of its own for each of the 21 objects"):
        load_labels(path)
    assert load_labels(path, ids="who").member_names == ("a",)
    assert load_labels(path, columns=["who", "a"]).member_names == ("who", "a")


def test_orientation(tmp_path: Path) -> None:
    path = write(tmp_path, "x,y,z\n1,1,2\na,,b\n")
    with pytest.raises(ValueError, match="2 rows and 3 columns"):
        load_labels(path)
    ensemble = load_labels(path, orientation="members")
    assert values(ensemble) == [[1, "a"], [1, None], [2, "b"]]
    assert ensemble.object_ids is not None
    assert ensemble.object_ids.tolist() == ["x", "y", "z"]
    assert ensemble.member_names == ("member 0", "member 1")
    assert load_labels(path, orientation="objects").n_members == 3
    with pytest.raises(ValueError, match="orientation must be one of"):
        load_labels(path, orientation="rows")


def test_members_as_rows_may_have_names(tmp_path: Path) -> None:
    path = write(tmp_path, "who,0,1,2\nann,1,1,2\nbob,3,4,4\n")
    ensemble = load_labels(path, orientation="members", ids="who")
    assert ensemble.member_names == ("ann", "bob")
    assert values(ensemble) == [[1, 3], [1, 4], [2, 4]]
    assert ensemble.object_ids is None


def test_weights(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b\n1,1\n2,1\n")
    assert load_labels(path, weights=[1, 3]).weights.tolist() == [1, 3]
    with pytest.raises(ValueError, match="one value a member, 2 in all"):
        load_labels(path, weights=[1])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b\n", "holds a header but no rows"),
        ("a,b", "holds a header but no rows"),
        ("a,b\n1,2\n1\n", "line 3 has 1 cells, but the header has 2"),
        ("a,b\n1,2\n\n1,2,3\n", "line 4 has 3 cells"),
        ("a,b,a,b\n1,2,1,2\n", "'a', 'b' more than once"),
        ("a;b\n1;2\n", r"one column 'a;b'; columns must be separated by commas"),
        ("a\tb\n1\t2\n", r"columns must be separated by commas"),
        ("a,b\n1,\n2,\n", "'b' labels no object at all"),
        ("a,b\n1,2\n,\n", r"1 of 2 objects have no label in any member \(rows 1"),
        ("a\n1\n\n2\n", "line 3 is blank"),
        ('a,b\n1,"2\n3,4\n', "is a quotation mark left open"),
        (b"a,b\n\xe9,1\n2,2\n", "is not UTF-8 text"),
        ("a,b\n1,2\n".encode("utf-16"), "content is UTF-16 text"),
        (b"a,b\n1,\x00\n2,2\n", "NUL"),
        (b"PAR1" + bytes(50) + b"PAR1", "content is a Parquet file"),
        (b"\x93NUMPY" + bytes(50), "content is a NumPy .npy file"),
        (b"PK\x03\x04" + bytes(50), "content is a zip archive"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "content is a gzip file"),
    ],
)
def test_csv_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        load_labels(write(tmp_path, content))
    assert "labels.csv" in str(caught.value) or "label" in str(caught.value)


def test_a_header_that_looks_like_labels_is_warned_of(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="column names 2, 1; the first line must be a header"):
        load_labels(write(tmp_path, "2,1\n1,1\n2,2\n"))
    with pytest.warns(UserWarning, match="column names 3;"):
        load_labels(write(tmp_path, "3\n1\n1\n"))
    assert load_labels(write(tmp_path, "0,1\n1,1\n2,2\n")).member_names == ("0", "1")
    assert load_labels(write(tmp_path, "0\n1\n2\n")).member_names == ("0",)


def test_trailing_blank_lines_in_one_column(tmp_path: Path) -> None:
    assert load_labels(write(tmp_path, "a\n1\n2\n\n\n")).n_objects == 2


def test_tabs(tmp_path: Path) -> None:
    for name in ("labels.tsv", "labels.txt"):
        assert values(load_labels(write(tmp_path, "a\tb\n1\tx,y\n2\tz\n", name))) == [[1, "x,y"], [2, "z"]]


def test_damaged_gzip(tmp_path: Path) -> None:
    rows = "\n".join(f"{n % 7},{n % 5}" for n in range(5000))
    packed = gzip.compress(f"a,b\n{rows}\n".encode())
    with pytest.raises(ValueError, match="damaged or cut short"):
        load_labels(write(tmp_path, packed[: len(packed) // 2], "labels.csv.gz"))
    with pytest.raises(ValueError, match="content is something else, perhaps text"):
        load_labels(write(tmp_path, "a,b\n1,2\n", "labels.csv.gz"))


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("a,b\n1,x\n2,y\n"))
    assert values(load_labels("-")) == [[1, "x"], [2, "y"]]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"\xef\xbb\xbfa\n1\n"))))
    assert load_labels("-").member_names == ("a",)
    assert not sys.stdin.closed
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    with pytest.raises(ValueError, match="standard input is empty"):
        load_labels("-")


def test_many_blocks_equal_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(-1, 200, size=(3000, 3))
    table[0] = 5
    lines = [",".join("" if v < 0 else str(v) for v in row) for row in table if row.max() >= 0]
    path = write(tmp_path, "\n".join(["a,b,c", *lines]))
    whole = load_labels(path)
    assert_same(load_labels(path), as_ensemble(dict(zip("abc", table[table.max(axis=1) >= 0].T, strict=True))))
    monkeypatch.setattr(text_module, "BLOCK", 7)
    assert_same(load_labels(path), whole)


def test_memory_stays_small(tmp_path: Path) -> None:
    n = 40_000
    rng = np.random.default_rng(0)
    table = rng.integers(0, 9, size=(n, 10))
    path = tmp_path / "labels.csv"
    np.savetxt(path, table, fmt="cluster %d", delimiter=",", header=",".join("abcdefghij"), comments="")
    load_labels(path)
    tracemalloc.start()
    load_labels(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # 400,000 Python strings alone would take 23 MB
    assert peak < 6_000_000


cells = st.one_of(st.none(), st.integers(0, 12), st.sampled_from(["x", "y, z", 'q"', "two\nlines", "é", "1_0"]))


@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(cells, min_size=width, max_size=width), min_size=width, max_size=12)
    )
)
def test_csv_gives_back_what_was_written(rows: list[list[Any]]) -> None:
    texts = [[None if cell is None else str(cell) for cell in row] for row in rows if any(c is not None for c in row)]
    columns = {f"m{place}": [row[place] for row in texts] for place in range(len(rows[0]))}
    columns = {name: column for name, column in columns.items() if any(text is not None for text in column)}
    if not columns or len(texts) < len(columns):
        return
    ensemble = as_ensemble(columns)
    buffer = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", buffer)
        save_ensemble("-", ensemble)
        patch.setattr(sys, "stdin", io.StringIO(buffer.getvalue()))
        back = load_labels("-")
    assert np.array_equal(back.labels, ensemble.labels)
    assert [[str(v) for v in found.tolist()] for found in back.categories] == [c.tolist() for c in ensemble.categories]


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
    with pytest.raises(ValueError, match="one name a member"):
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
    words = np.array(["x", "y", "NA", None, "w"], dtype=object)
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
    for missing in (-1, ["NA", 3], []):
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
        (pa.table({"a": [1], "b": [1]}), "1 rows and 2 columns"),
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


# ---- paths


def test_paths_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        load_labels(tmp_path / "nothing.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(IsADirectoryError, match=r"it is a folder, and a \.csv file was expected"):
        load_labels(tmp_path / "folder.csv")
    write(tmp_path, "a\n1\n", "file")
    for name in ("file", "labels.xlsx", "labels.npy.gz", ".csv"):
        with pytest.raises(ValueError, match=r"must end in \.csv"):
            load_labels(tmp_path / name)


def test_a_path_the_system_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "a\n1\n")

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(PermissionError, match=r"cannot read .*labels.csv: Permission denied"):
        load_labels(path)
    with pytest.raises(PermissionError, match=r"cannot write .*out.csv: Permission denied"):
        save_labels(tmp_path / "out.csv", [0, 1])


# ---- writing


def a_consensus() -> Consensus:
    return Consensus(
        labels=np.array([0, 1, 0], dtype=np.int32),
        objective=1.0,
        confidence=np.array([1.0, 2 / 3, 0.5]),
        object_ids=np.array(["x", "y, z", "é"]),
    )


def test_a_consensus_as_csv(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    save_labels(path, a_consensus())
    assert path.read_bytes().decode() == 'id,label,confidence\nx,0,1.0\n"y, z",1,0.666667\né,0,0.5\n'


@pytest.mark.parametrize("suffix", NAMED)
def test_a_consensus_comes_back(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out.{suffix}"
    save_labels(path, a_consensus(), name="segment")
    back = load_labels(path, ids=None if suffix in ("npz", "zarr") else "id", columns=["segment"])
    assert back.labels[:, 0].tolist() == [0, 1, 0]
    assert back.member_names == ("segment",)
    assert back.object_ids is not None
    assert back.object_ids.tolist() == ["x", "y, z", "é"]


def test_labels_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_labels("-", [0, -1, 10**12])
    assert capsys.readouterr().out == 'label\n0\n""\n1000000000000\n'
    save_labels(tmp_path / "a.npy", np.array([0, 1, 1]))
    assert load_labels(tmp_path / "a.npy").labels[:, 0].tolist() == [0, 1, 1]
    save_labels(tmp_path / "a.parquet", np.array([0, -1, 3]), ids=[10, 20, 30])
    with pytest.raises(ValueError, match="1 of 3 objects have no label"):
        load_labels(tmp_path / "a.parquet", ids="id")


@pytest.mark.parametrize(
    ("labels", "options", "error", "message"),
    [
        ([[0, 1]], {}, ValueError, "one label an object, got an array of shape"),
        ([], {}, ValueError, "one label an object"),
        ([0.5, 1], {}, TypeError, "labels must be integers"),
        (["a", "b"], {}, TypeError, "labels must be integers"),
        ([0, -2], {}, ValueError, r"-1 \(missing\) or larger, got -2"),
        ([0, 1], {"ids": ["a"]}, ValueError, "one value an object, 2 in all"),
        ([0, 1], {"ids": ["a", "a"]}, ValueError, "has the id 'a' twice"),
        ([0, 1], {"name": "id"}, ValueError, "name must differ"),
    ],
)
def test_labels_refused(
    tmp_path: Path, labels: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        save_labels(tmp_path / "a.csv", labels, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", FORMATS)
def test_an_existing_file_is_left_alone(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    save_labels(path, [0, 1, 1])
    with pytest.raises(FileExistsError, match=r"exists already .* overwrite=True"):
        save_labels(path, [0, 1, 2])
    assert load_labels(path).n_clusters.tolist() == [2]
    save_labels(path, [0, 1, 2], overwrite=True)
    assert load_labels(path).n_clusters.tolist() == [3]
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", FORMATS)
def test_places_that_cannot_be_written(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(FileNotFoundError, match=r"the folder .*nowhere does not exist; make it first"):
        save_labels(tmp_path / "nowhere" / f"a.{suffix}", [0, 1])
    write(tmp_path, "", "file")
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        save_labels(tmp_path / "file" / f"a.{suffix}", [0, 1])
    (tmp_path / f"a.{suffix}").mkdir()
    write(tmp_path, "dear", f"a.{suffix}/photograph")
    with pytest.raises(IsADirectoryError, match="a folder of that name is there"):
        save_labels(tmp_path / f"a.{suffix}", [0, 1], overwrite=True)
    assert (tmp_path / f"a.{suffix}" / "photograph").read_text() == "dear"


def test_a_failing_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = write(tmp_path, "old", "a.csv")

    def fail(file: Any) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match=r"cannot write .*a.csv: No space left on device"):
        write_aside(path, fail, overwrite=True)
    assert path.read_text() == "old"
    with pytest.raises(OSError, match="No space left"):
        write_aside(tmp_path / "b.csv", fail, overwrite=False)
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


def test_an_interrupted_write_leaves_the_old_folder(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    save_labels(path, [0, 1])

    def interrupt(folder: Path) -> None:
        folder.mkdir()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_folder_aside(path, interrupt, overwrite=True)
    assert load_labels(path).n_objects == 2
    with pytest.raises(FileNotFoundError):
        write_folder_aside(path, lambda folder: None, overwrite=True)
    assert load_labels(path).n_objects == 2
    assert [p.name for p in tmp_path.iterdir()] == ["a.zarr"]


def test_a_link_is_written_through(tmp_path: Path) -> None:
    real, link = write(tmp_path, "old", "real.csv"), tmp_path / "link.csv"
    link.symlink_to(real)
    save_labels(link, [0, 1], overwrite=True)
    assert link.is_symlink()
    assert real.read_text() == "label\n0\n1\n"


def test_a_new_file_has_ordinary_permissions(tmp_path: Path) -> None:
    save_labels(tmp_path / "a.csv", [0, 1])
    plain = write(tmp_path, "", "plain")
    assert (tmp_path / "a.csv").stat().st_mode == plain.stat().st_mode


def test_the_same_labels_make_the_same_file(tmp_path: Path) -> None:
    for name in ("a.csv.gz", "b.csv.gz"):
        save_labels(tmp_path / name, [0, 1])
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()

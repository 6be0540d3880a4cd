"""Label tables in files: every format in and out, and every way a file can be wrong."""

from __future__ import annotations

import gzip
import io
import re
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate import Ensemble, as_ensemble, load_labels, save_ensemble
from quorate._io import text as text_module

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


@pytest.mark.parametrize("word", ["NA", "N/A", "null", "NULL", "None", "none", "<NA>", "k.A.", "unknown"])
def test_a_text_that_looks_missing_is_warned_of(tmp_path: Path, word: str) -> None:
    path = write(tmp_path, f"a,b\n1,1\n{word},2\n2,2\n")
    with pytest.warns(UserWarning, match=f"column 'a' holds the text '{re.escape(word)}' as a label; pass missing="):
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
    with pytest.raises(ValueError, match="has no column other than the ids 'id'"):
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
    save_ensemble(path, as_ensemble({"who": np.arange(21), "a": np.arange(21) % 2}, check=False))
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
    with pytest.raises(ValueError, match="one value per member, 2 in all"):
        load_labels(path, weights=[1])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b\n", "holds a header but no rows"),
        ("a,b", "holds a header but no rows"),
        ("a,b\n1,2\n1\n", "line 3 has 1 cell, but the header has 2"),
        ("a,b\n1,2\n\n1,2,3\n", "line 4 has 3 cells"),
        ("a,b,a,b\n1,2,1,2\n", "'a', 'b' more than once"),
        ("a,b\n1,\n2,\n", "'b' labels no object at all"),
        ("a,b\n1,2\n,\n", r"1 of 2 objects has no label in any member \(row 1"),
        ("a\n1\n\n2\n", "line 3 is blank"),
        ('a,b\n1,"2\n3,4\n', "is a quotation mark left open"),
        (b"a,b\n\x81,1\n2,2\n", "is not UTF-8 or UTF-16 text"),
        ("a,b\n1,2\n".encode("utf-16")[:-1], "is not UTF-8 or UTF-16 text"),
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
    # what is wrong with the labels themselves is told by the door, which does not know of files
    assert ("labels.csv" in str(caught.value)) == ("label" not in message)


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

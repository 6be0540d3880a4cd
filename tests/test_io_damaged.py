"""Files that lost something, or were made to break a reader: refused in one short line, never read by half."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quorate import Ensemble, as_ensemble, load_labels, save_ensemble
from quorate._check import brief
from quorate._io.load import Measurements, load_features
from quorate.cli import main
from quorate.cli.options import names

Read = Callable[[Path], Ensemble | Measurements]
READERS: list[Read] = [load_labels, load_features]
TABLE = np.array([[0, 0], [0, 1], [1, 1], [1, 1]])


def refused(read: Read, path: Path, words: str | None = None) -> str:
    """The message, which must be one short line that names the file and has nothing a terminal would obey."""
    with pytest.raises(ValueError, match=words) as caught:
        read(path)
    message = str(caught.value)
    assert path.name in message
    assert len(message) < 700
    assert all(character.isprintable() for character in message)
    return message


def npy(values: Any = TABLE) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def header(text: str, content: bytes = b"\0" * 64) -> bytes:
    """An .npy file with any text as its header."""
    encoded = text.encode("latin-1")
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(encoded)) + encoded + content


def entry(name: str, content: bytes, method: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr(name, content)
    return file.getvalue()


HEADERS = {
    "unbalanced": "{'descr': '<i8', 'fortran_order': False, 'shape': (4, 2)",
    "unclosed text": "{'descr': '<i8",
    "token error": "{'descr': (((((",
    "no dictionary": "7",
    "code": "__import__('os').system('touch marker')",
    "no shape": "{'descr': '<i8', 'fortran_order': False}",
    "shape of texts": "{'descr': '<i8', 'fortran_order': False, 'shape': ('a', 2)}",
    "negative shape": "{'descr': '<i8', 'fortran_order': False, 'shape': (-4, 2)}",
    "huge shape": "{'descr': '<i8', 'fortran_order': False, 'shape': (10000000000, 2)}",
    "type that is none": "{'descr': 'q9', 'fortran_order': False, 'shape': (4, 2)}",
    "objects": "{'descr': '|O', 'fortran_order': False, 'shape': (4, 2)}",
    "escape": "{'descr': '\x1b[2J', 'fortran_order': False, 'shape': (4, 2)}",
    "long": "{" * 9000,
    "empty": "",
}


@pytest.mark.parametrize("kind", HEADERS)
@pytest.mark.parametrize("read", READERS)
def test_headers_of_npy(tmp_path: Path, read: Read, kind: str) -> None:
    (tmp_path / "a.npy").write_bytes(header(HEADERS[kind]))
    try:
        refused(read, tmp_path / "a.npy")
    except MemoryError:
        assert kind == "huge shape"
    (tmp_path / "a.npz").write_bytes(entry("labels.npy", header(HEADERS[kind])))
    try:
        refused(read, tmp_path / "a.npz")
    except MemoryError:
        assert kind == "huge shape"


@pytest.mark.parametrize("read", READERS)
def test_every_truncation_of_npy_and_npz(tmp_path: Path, read: Read) -> None:
    np.savez_compressed(tmp_path / "b.npz", labels=TABLE)
    for name, content in (("a.npy", npy()), ("a.npz", (tmp_path / "b.npz").read_bytes())):
        for size in range(0, len(content), 3):
            (tmp_path / name).write_bytes(content[:size])
            refused(read, tmp_path / name)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
@pytest.mark.parametrize("read", READERS)
def test_packed_entries_that_are_spoilt(tmp_path: Path, read: Read, method: int) -> None:
    """A bit that nobody reads, such as the version of LZMA, may differ; the array may not."""
    values = np.random.default_rng(0).integers(7, size=(400, 2))
    content = bytearray(entry("labels.npy", npy(values), method))
    start, n_refused = content.index(b"labels.npy") + 10, 0
    for place in range(start, start + 300, 5):
        spoilt = content.copy()
        spoilt[place] ^= 0xFF
        (tmp_path / "a.npz").write_bytes(bytes(spoilt))
        try:
            found = read(tmp_path / "a.npz")
        except ValueError:
            refused(read, tmp_path / "a.npz")
            n_refused += 1
        else:
            assert not isinstance(found, Measurements) or np.array_equal(found.values, values)
    assert n_refused > 50


@pytest.mark.parametrize("read", READERS)
def test_entries_that_are_no_arrays(tmp_path: Path, read: Read) -> None:
    path = tmp_path / "a.npz"
    for name, content in {"labels.npy": b"", "labels": b"some text", "readme.txt": b"", "x.npy": b"\x93NUMPY"}.items():
        path.write_bytes(entry(name, content))
        refused(read, path)
    path.write_bytes(b"PK\x05\x06" + b"\0" * 18)
    refused(read, path)
    # the bit that says that an entry is encrypted
    content = bytearray(entry("labels.npy", npy()))
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + place] |= 1
    path.write_bytes(bytes(content))
    refused(read, path, "encrypted")


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("read", READERS)
def test_two_arrays_of_one_name(tmp_path: Path, read: Read) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("labels.npy", npy())
        archive.writestr("labels.npy", npy(1 - TABLE))
    refused(read, tmp_path / "a.npz", "2 arrays named 'labels'")


@pytest.mark.parametrize(
    "categories",
    [
        {"categories_0": np.arange(2)},
        {"categories_0": np.arange(2), "categories_1": np.arange(1)},
        {"categories_0": np.arange(2), "categories_1": np.arange(4).reshape(2, 2)},
        {"categories_0": np.arange(2), "categories_1": np.array(3)},
        {"categories_0": np.arange(2), "categories_1": np.arange(2), "labels": TABLE.astype(float)},
        {"categories_0": np.arange(2), "categories_1": np.arange(2), "labels": TABLE.astype(str)},
    ],
)
def test_categories_that_do_not_fit(tmp_path: Path, categories: dict[str, Any]) -> None:
    np.savez(tmp_path / "a.npz", **{"labels": TABLE, **categories})
    refused(load_labels, tmp_path / "a.npz", "must hold one value for each code")


@pytest.mark.parametrize("point", [0x110000, 0xFFFFFFFF, 0xD800])
def test_characters_that_do_not_exist(tmp_path: Path, point: int) -> None:
    texts = np.array(["a", "b", "c", "d"])
    texts.view(np.uint32)[1] = point
    for arrays in ({"labels": texts}, {"labels": TABLE, "ids": texts}):
        np.savez(tmp_path / "a.npz", **arrays)
        refused(load_labels, tmp_path / "a.npz", "characters that do not exist")


def test_an_empty_table_of_a_billion_members_is_refused_at_once(tmp_path: Path) -> None:
    for shape in ((0, 10**9), (10**9, 0)):
        (tmp_path / "a.npy").write_bytes(npy(np.empty(shape, dtype=np.int8)))
        with pytest.raises(ValueError, match="at least one object and one member"):
            load_labels(tmp_path / "a.npy")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x,y\n1,5,2,5\n", "data row 1 has 4 cells, but the header has 2; .* decimal commas"),
        ("x,y\n1,2\n1,2,3\n", "data row 2 has 3 cells"),
        ("x,y\n1,2\n1\n", "data row 2 has 1 cell,"),
        ('x,y\n"1,5","2,5"\n', "column 'x' holds '1,5' in data row 1.* decimal points"),
        ('x,y\n1,2\n"1\n5",2\n', r"column 'x' holds '1\\n5' in data row 2"),
        ('x,y\n1,2\n"1,2\n', "quotation mark left open"),
        ('x,y\n1,2\n"1"2,2\n', "quotation mark left open"),
        ("x\n1\n\n2\n", "blank line after data row 1"),
        ("x,y\n1," + "9" * 200_000 + "z\n", "which is no number"),
        ("x," + "y" * 200_000 + "\n1,2\n", "field larger than field limit"),
    ],
)
def test_measurements_that_do_not_fit_the_header(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    refused(load_features, tmp_path / "a.csv", words)


def test_tabs(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("x\ty\n1,5\t2,5\n")
    assert load_features(path).values.tolist() == [[1.5, 2.5]]
    path.write_text("x\ty\n1,500\t2,500\n")
    refused(load_features, path, "holds '1,500' in data row 1.* decimal points")
    path.write_text("x\ty\n1\t2\n\t\n3\t4\n")
    refused(load_features, path, "holds '' in data row 2")


def test_quoted_cells_are_read_as_they_are_meant(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,x,note,y\n"a\nb",1,"5,6",2\n"c ""d""","3",,4\n\ne,5,"\n",6\n')
    found = load_features(path, ids="id", drop=["note"])
    assert found.values.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert found.ids is not None
    assert found.ids.tolist() == ["a\nb", 'c "d"', "e"]
    assert load_features(path, columns=["y", "x"]).values.tolist() == [[2, 1], [4, 3], [6, 5]]


def test_a_new_line_in_an_id_comes_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f'"object\n{row}",{row % 3},{row}\n' for row in range(40))
    (tmp_path / "X.csv").write_text("id,x,y\n" + rows)
    for suffix in ("npz", "zarr", "csv"):
        out = tmp_path / f"e.{suffix}"
        assert (
            main(["generate", str(tmp_path / "X.csv"), "--id", "id", "--members", "3", "--k", "2", "-o", str(out)]) == 0
        )
        back = load_labels(out, ids="id") if suffix == "csv" else load_labels(out)
        assert back.object_ids is not None
        assert back.object_ids.tolist() == [f"object\n{row}" for row in range(40)]


def test_a_column_named_twice(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,x,y\na,1,2\nb,3,4\n")
    for chosen in ({"columns": ["x", "x"]}, {"columns": ["id"], "ids": "id"}, {"drop": ["id"], "ids": "id"}):
        with pytest.raises(ValueError, match=r"more than once|named as the ids"):
            load_features(tmp_path / "a.csv", **chosen)


@pytest.mark.parametrize("text", ['a,"b', 'a,"b"c', "a\nb", 'a,b"\n"'])
def test_names_of_columns(text: str) -> None:
    with pytest.raises(ValueError, match="column names must be separated by commas"):
        names(text)


def test_no_column_is_no_share(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{row},{row % 3}\n" for row in range(20)))
    assert main(["generate", str(tmp_path / "a.csv"), "--column-share", "0", "-o", str(tmp_path / "e.csv")]) == 2
    assert "columns must be above 0" in capsys.readouterr().err


LARGE = 2**53


@pytest.mark.parametrize(
    "texts",
    [
        [str(LARGE), str(LARGE + 1), "0.5"],
        [f"{LARGE}.0", f"{LARGE + 1}.0", "1"],
        [f"{LARGE}.0", f"{LARGE + 1}", "1.5"],
        [str(LARGE), str(LARGE + 1), "1"],
    ],
)
def test_large_labels_stay_apart(tmp_path: Path, texts: list[str]) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "".join(f"{text},1\n" for text in texts))
    ensemble = load_labels(path)
    assert ensemble.n_clusters.tolist() == [3, 1]
    assert ensemble.categories[0].tolist()[:2] == [LARGE, LARGE + 1]
    save_ensemble(tmp_path / "b.csv", ensemble)
    assert load_labels(tmp_path / "b.csv").labels.tolist() == ensemble.labels.tolist()
    assert as_ensemble([[LARGE, LARGE + 1, 0.5], [1, 1, 1]]).n_clusters.tolist() == [3, 1]


def test_brief_is_short_and_harmless() -> None:
    assert brief("\x1b[2J\n") == "'\\x1b[2J\\n'"
    assert brief("\x1b[2J\n", quoted=False) == "\\x1b[2J\\n"
    assert len(brief("x" * 10**6)) <= 80


def test_a_long_complaint_about_a_workbook_becomes_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What openpyxl says of a list of parts that it cannot read has three lines; `make fuzz-guided` found that."""
    openpyxl = pytest.importorskip("openpyxl")
    path = tmp_path / "book.xlsx"
    openpyxl.Workbook().save(path)

    def read(_: Any) -> None:
        raise ValueError("Unable to read workbook\nThis is most probably\x1b[2J\nPlease see")

    monkeypatch.setattr(openpyxl.reader.excel.ExcelReader, "read", read)
    with pytest.raises(ValueError, match=r"read as \.xlsx: Unable to read workbook\\nThis") as caught:
        load_labels(path)
    assert str(caught.value).isprintable()

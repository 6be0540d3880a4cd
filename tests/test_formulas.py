"""Cells that a spreadsheet would take for formulas: made harmless if asked for, and given back when read again."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate import as_ensemble, consensus, load_labels, save_ensemble, save_labels
from quorate._io.text import quoted, unquoted
from quorate.cli import main

HOSTILE = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-x",
    "@sum(A1)",
    "\tx",
    "\rx",
    "'=1",
    "''-x",
    "'x",
    "-3",
    "+2.5e3",
    "plain",
    "1-2",
]
HARMLESS = {"=1+1": "'=1+1", "'=1": "''=1", "-3": "-3", "+2.5e3": "+2.5e3", "plain": "plain", "'x": "'x", "1-2": "1-2"}


@given(st.text(alphabet="'=+-@\t\r\n1.ex ", max_size=6) | st.text())
def test_every_text_comes_back(text: str) -> None:
    safe = quoted(text)
    assert unquoted(safe) == text
    assert not safe.startswith(("=", "@", "\t", "\r", "\n"))
    if safe.startswith(("+", "-")):
        float(safe)


def test_what_is_written() -> None:
    assert {text: quoted(text) for text in HARMLESS} == HARMLESS


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz"])
def test_labels_and_ensembles_come_back(tmp_path: Path, suffix: str) -> None:
    # "\r" alone would be a new line for other programs too, but the csv module quotes it
    table = {"=a": np.array(HOSTILE), "b": np.arange(len(HOSTILE)) % 3}
    ensemble = as_ensemble(table, ids=np.array(HOSTILE)[::-1], check=False)
    path = tmp_path / f"e.{suffix}"
    save_ensemble(path, ensemble, formulas="quote")
    back = load_labels(path, ids="id", formulas="quote", columns=["=a", "b"])
    assert back.object_ids is not None
    assert back.object_ids.tolist() == HOSTILE[::-1]
    assert back.categories[0].tolist() == HOSTILE
    kept = load_labels(path, ids="id", columns=["'=a", "b"])
    assert kept.object_ids is not None
    assert "'=1+1" in kept.object_ids.tolist()
    labels = tmp_path / f"l.{suffix}"
    save_labels(labels, np.arange(len(HOSTILE)) % 3, ids=HOSTILE, formulas="quote")
    again = load_labels(labels, ids="id", formulas="quote").object_ids
    assert again is not None
    assert again.tolist() == HOSTILE


def test_members_as_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("who,'=x,y\n'=m,'=1,b\nn,'=1,c\n")
    found = load_labels(tmp_path / "a.csv", ids="who", orientation="members", formulas="quote")
    assert found.member_names == ("=m", "n")
    assert found.object_ids is not None
    assert found.object_ids.tolist() == ["=x", "y"]
    assert found.categories[0].tolist() == ["=1", "b"]


@pytest.mark.parametrize("suffix", ["npy", "npz", "zarr", "parquet"])
def test_only_text_files_are_quoted(tmp_path: Path, suffix: str) -> None:
    for save, value in ((save_labels, np.array([0, 1])), (save_ensemble, as_ensemble([[0, 1], [0, 1]]))):
        with pytest.raises(ValueError, match="is for text files"):
            save(tmp_path / f"a.{suffix}", value, formulas="quote")  # type: ignore[operator]
        with pytest.raises(ValueError, match="formulas must be one of 'keep', 'quote'"):
            save(tmp_path / f"a.{suffix}", value, formulas="yes")  # type: ignore[operator]
    assert list(tmp_path.iterdir()) == []


def test_an_id_twice_after_the_apostrophe_is_gone(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,a\n=x,1\n'=x,2\n")
    assert load_labels(tmp_path / "a.csv", ids="id").n_objects == 2
    with pytest.raises(ValueError, match="twice"):
        load_labels(tmp_path / "a.csv", ids="id", formulas="quote")


def test_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"=id{row},{'@' if row % 2 else 'x'},{row % 2}\n" for row in range(8))
    Path("labels.csv").write_text(f"who,a,b\n{rows}")
    how = ["--id", "who", "--safe-cells"]
    assert main(["consensus", "labels.csv", *how, "-k", "2", "--no-null", "-o", "out.csv"]) == 0
    written = list(csv.reader(Path("out.csv").read_text().splitlines()))
    assert [row[0] for row in written[1:]] == [f"'=id{row}" for row in range(8)]
    assert main(["score", "labels.csv", "out.csv", *how, "--no-null"]) == 0
    assert main(["score", "labels.csv", "out.csv", "--id", "who", "--no-null"]) == 2
    assert "no label for 8 of 8 objects" in capsys.readouterr().err
    assert main(["place", "labels.csv", "out.csv", "labels.csv", *how, "-o", "placed.csv"]) == 0
    assert "'=id3" in Path("placed.csv").read_text()
    assert main(["consensus", "labels.csv", *how, "-k", "2", "--no-null", "-o", "out.npz"]) == 0
    Path("X.csv").write_text("who,x\n" + "".join(f"=id{row},{row % 2}.5\n" for row in range(8)))
    assert main(["generate", "X.csv", *how, "--members", "2", "--k", "2", "--base", "kmeans", "-o", "e.csv"]) == 0
    assert "'=id3" in Path("e.csv").read_text()


def test_the_default_keeps_cells_as_they_are(tmp_path: Path) -> None:
    result = consensus([[0, 0, 1], [0, 0, 1]], 2, random_state=0)
    save_labels(tmp_path / "a.csv", result, ids=["=x", "y", "z"])
    assert (tmp_path / "a.csv").read_text().splitlines()[1].startswith("=x,")

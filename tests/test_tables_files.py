"""Tables in files as Excel and other people write them, and what a shell run tells about them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from quorate import (
    as_ensemble,
    consensus,
    load_labels,
    save_ensemble,
    save_labels,
)
from quorate._io.load import load_features
from quorate.cli import main

N = 90
TRUTH = np.arange(N) % 3
Output = pytest.CaptureFixture[str]


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    columns = {name: np.where(rng.random(N) < 0.2, rng.integers(0, 3, N), TRUTH) for name in "abcd"}
    return pd.DataFrame(columns, index=pd.Index([f"o{place}" for place in range(N)], name="object"))


# ---- as Excel writes them


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le-bom"])
@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
@pytest.mark.parametrize("suffix", ["csv", "tsv", "txt"])
def test_separators_and_encodings(frame: pd.DataFrame, tmp_path: Path, encoding: str, sep: str, suffix: str) -> None:
    text = frame.rename(columns={"a": "größe; in m, etwa"}).to_csv(sep=sep)
    data = b"\xff\xfe" + text.encode("utf-16-le") if encoding == "utf-16-le-bom" else text.encode(encoding)
    path = tmp_path / f"table.{suffix}"
    path.write_bytes(data)
    ensemble = load_labels(path, ids="object")
    assert ensemble.member_names[0] == "größe; in m, etwa"
    assert np.array_equal(ensemble.labels, as_ensemble(frame).labels)
    names = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
    assert np.array_equal(load_labels(path, ids="object", sep=names[sep]).labels, ensemble.labels)


def test_decimal_commas(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(30, 2)).round(3)
    table = pd.DataFrame(values, columns=["x", "y"]).assign(who=[f"a.b,{place}" for place in range(30)])
    for sep in (";", "\t", "|"):
        path = tmp_path / "table.csv"
        table.to_csv(path, sep=sep, decimal=",", index=False)
        found = load_features(path, ids="who")
        assert np.array_equal(found.values, values)
        assert found.ids is not None
        assert found.ids.tolist() == table.who.tolist()
    table.to_csv(path, sep=";", index=False)
    assert np.array_equal(load_features(path, ids="who").values, values)


def test_sheets(frame: pd.DataFrame, tmp_path: Path, capsys: Output) -> None:
    pytest.importorskip("openpyxl")
    path, gaps = tmp_path / "table.xlsx", frame.astype(object)
    gaps.iloc[0, 0], gaps.iloc[1, 1] = None, "NA"
    gaps.to_excel(path)
    with pytest.warns(UserWarning, match="column 'b' holds the text 'NA' as a label"):
        told = load_labels(path, ids="object")
    assert told.n_clusters.tolist() == [3, 4, 3, 3]
    ensemble = load_labels(path, ids="object", missing=[-1, "NA"])
    expected = as_ensemble(gaps.replace("NA", None))
    assert np.array_equal(ensemble.labels, expected.labels)
    assert ensemble.object_ids is not None
    assert ensemble.object_ids.tolist() == frame.index.tolist()
    assert main(["consensus", str(path), "--id", "object", "--missing", "NA", "-k", "3"]) == 0
    assert "b (3 clusters, 1.1% missing)" in capsys.readouterr().out
    measured = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=list("xyz"))
    measured.to_excel(path, index=False)
    assert np.allclose(load_features(path).values, measured.to_numpy())
    with pytest.raises(ValueError, match="measurement"):
        load_labels(path)
    measured.assign(x="low").to_excel(path, index=False)
    with pytest.raises(ValueError, match="column 'x' holds 'low' in data row 1"):
        load_features(path)


def test_a_second_sheet_is_told(frame: pd.DataFrame, tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter(tmp_path / "two.xlsx") as book:
        frame.to_excel(book, sheet_name="labels")
        frame.to_excel(book, sheet_name="more")
    with pytest.warns(UserWarning, match="the sheet 'labels' was read; not read: 'more'"):
        assert load_labels(tmp_path / "two.xlsx", ids="object").n_objects == N


def test_null_words_in_parquet(frame: pd.DataFrame, tmp_path: Path) -> None:
    words = frame.astype(str).where(frame.a > 0, "null")
    words.reset_index().to_parquet(tmp_path / "words.parquet")
    with pytest.warns(UserWarning, match="holds the text 'null' as a label"):
        load_labels(tmp_path / "words.parquet", ids="object")


def test_missing_in_the_shell_adds_to_minus_one(frame: pd.DataFrame, tmp_path: Path, capsys: Output) -> None:
    table = frame.astype(object)
    table.iloc[0, 0], table.iloc[:2, 1] = "NA", -1
    table.to_csv(tmp_path / "table.csv")
    shell = ["consensus", str(tmp_path / "table.csv"), "--id", "object", "-k", "3", "--missing", "NA", "--json"]
    assert main(shell) == 0
    members = json.loads(capsys.readouterr().out)["clusterings"]
    assert [round(member["missing"] * N) for member in members] == [1, 2, 0, 0]


def test_skip_empty(frame: pd.DataFrame, tmp_path: Path, capsys: Output) -> None:
    table = frame.astype(object)
    table.iloc[[3, 7]] = None
    table.to_csv(tmp_path / "table.csv")
    ensemble = load_labels(tmp_path / "table.csv", ids="object", skip_empty=True)
    assert ensemble.n_objects == N - 2
    assert ensemble.info["skipped"] == {"n": 2, "first": ["o3", "o7"]}
    out = tmp_path / "out.csv"
    shell = ["--id", "object", "--skip-empty"]
    assert main(["consensus", str(tmp_path / "table.csv"), *shell, "-k", "3", "-o", str(out)]) == 0
    assert "left out     2 objects without any label: o3, o7" in capsys.readouterr().out
    assert len(out.read_text().splitlines()) == N - 1
    assert main(["score", str(tmp_path / "table.csv"), str(out), *shell]) == 0


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npz", "zarr"])
def test_the_name_of_the_ids_is_kept(frame: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"table.{suffix}"
    save_ensemble(path, as_ensemble(frame))
    back = load_labels(path, ids="object" if suffix in ("csv", "parquet") else None)
    assert back.id_name == "object"
    save_labels(tmp_path / "labels.csv", consensus(back, 3, random_state=0))
    assert (tmp_path / "labels.csv").read_text().startswith("object,label,confidence\n")
    clash = as_ensemble(frame.rename(columns={"a": "object"}))
    save_ensemble(tmp_path / "clash.csv", clash)
    assert (tmp_path / "clash.csv").read_text().startswith("id,object,b,c,d\n")


def test_many_members_are_told_short(frame: pd.DataFrame, tmp_path: Path, capsys: Output) -> None:
    pd.concat([frame.add_suffix(str(place)) for place in range(5)], axis=1).to_csv(tmp_path / "wide.csv")
    assert main(["consensus", str(tmp_path / "wide.csv"), "--id", "object", "-k", "3"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("clusterings"))
    assert line == "clusterings  20: " + ", ".join(f"{n}0 (3 clusters)" for n in "abcd") + ", ... with 3 clusters"


@pytest.mark.parametrize("suffix", ["csv", "parquet", "xlsx"])
def test_a_row_per_member_keeps_the_names(frame: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    frame.iloc[3, 1] = None
    wide = frame.T.rename_axis("run").reset_index()
    path = tmp_path / f"wide.{suffix}"
    {"csv": wide.to_csv, "parquet": wide.to_parquet, "xlsx": wide.to_excel}[suffix](path, index=False)
    found, expected = load_labels(path, ids="run", orientation="members"), as_ensemble(frame)
    assert found.member_names == ("a", "b", "c", "d")
    assert found.object_ids is not None
    assert found.object_ids.tolist() == expected.object_ids.tolist()
    assert np.array_equal(found.labels, expected.labels)


def test_a_frame_with_a_row_per_member_keeps_the_names(frame: pd.DataFrame) -> None:
    expected = as_ensemble(frame)
    for wide, ids in ((frame.T, None), (frame.T.rename_axis("run").reset_index(), "run")):
        found = as_ensemble(wide, orientation="members", ids=ids)
        assert found.member_names == ("a", "b", "c", "d")
        assert found.object_ids.tolist() == frame.index.tolist()
        assert np.array_equal(found.labels, expected.labels)
    numbered = as_ensemble(frame.T.to_numpy().tolist(), orientation="members")
    assert numbered.object_ids is None
    with pytest.raises(ValueError, match="column 'run' has the id 'a' twice"):
        as_ensemble(pd.DataFrame({"run": ["a", "a"], "x": [0, 1], "y": [0, 1]}), orientation="members", ids="run")

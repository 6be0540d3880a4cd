"""A model in a file: it predicts as the fitted one, and a damaged or forged file is refused."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.cluster import Birch
from test_mixed import customers

from quorate import EnsembleClustering, load_model, save_model
from quorate.cli import main


def measured(n: int = 240, d: int = 3, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 4 * (np.arange(n) % 3)[:, None]


def sparse() -> Any:
    return scipy.sparse.random_array((200, 40), density=0.2, format="csr", rng=np.random.default_rng(0))


CASES: dict[str, tuple[dict[str, Any], Any]] = {
    "k-means": ({"base": "kmeans"}, measured()),
    "spectral": ({"base": "spectral"}, measured()),
    "many columns": ({"base": "spectral"}, measured(700, 150)),
    "many objects": ({"base": "spectral", "n_members": 1}, measured(5000)),
    "default": ({}, measured()),
    "views": ({"columns": 0.5, "rows": 0.7}, measured(240, 8)),
    "scaled": ({"scale": "z"}, measured()),
    "named": ({}, pd.DataFrame(measured(), columns=["x", "y", "z"])),
    "sparse, k-means": ({"base": "kmeans"}, sparse()),
    "sparse, spectral": ({"base": "spectral"}, sparse()),
    "mixed": ({"columns": "auto"}, customers()[1]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_model_that_was_read_predicts_as_the_fitted_one(name: str, tmp_path: Path) -> None:
    options, X = CASES[name]
    model = EnsembleClustering(3, **{"n_members": 4, "random_state": 0, **options}).fit(X)
    save_model(tmp_path / "model.npz", model)
    again = load_model(tmp_path / "model.npz")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.transform(X[:9]) == pytest.approx(model.transform(X[:9]))
    assert again.n_clusters_ == 3
    assert not hasattr(again, "labels_")
    with pytest.raises(ValueError, match=r"column|feature"):
        again.predict(X.drop(columns=list(X)[:1]) if isinstance(X, pd.DataFrame) else X[:, :2])


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.npz"
    options, X = CASES["many objects"]
    save_model(path, EnsembleClustering(3, random_state=0, **options).fit(X))
    return path


def changed(saved: Path, change: Any) -> io.BytesIO:
    """The file with its arrays changed by a function."""
    with np.load(saved) as file:
        arrays = dict(file)
    change(arrays)
    made = io.BytesIO()
    np.savez(made, **arrays)
    return made


def described(arrays: dict[str, Any], **entries: Any) -> None:
    text = json.loads(arrays["quorate_model"].tobytes())
    text.update(entries)
    arrays["quorate_model"] = np.frombuffer(json.dumps(text).encode(), dtype=np.uint8)


FORGED = {
    "neighbours out of range": lambda a: a.update({"0 around": a["0 around"] + 10_000}),
    "groups out of range": lambda a: a.update({"0 starts": a["0 starts"] + 1_000_000}),
    "an empty group": lambda a: a["0 starts"].__setitem__(1, 0),
    "fewer points": lambda a: a.update({"0 points": a["0 points"][:9]}),
    "narrow points": lambda a: a.update({"0 points": np.ascontiguousarray(a["0 points"][:, :1])}),
    "narrow groups": lambda a: a.update({"0 groups": np.ascontiguousarray(a["0 groups"][:, :1])}),
    "other floats": lambda a: a.update({"0 centres": a["0 centres"].astype(np.float64)}),
    "not a number": lambda a: a["0 table"].__setitem__((0, 0), np.nan),
    "labels out of range": lambda a: a.update({"rows": a["rows"] + 100}),
    "clusters out of range": lambda a: a.update({"labels": a["labels"] + 100}),
    "negative clusters": lambda a: a.update({"labels": a["labels"] - 1}),
    "categories of another number": lambda a: a.update({"categories 0": a["categories 0"][:-1]}),
    "huge categories": lambda a: a.update({"categories 0": a["categories 0"].astype(np.int64) + 2**40}),
    "categories that no centre has": lambda a: a.update({"categories 0": a["categories 0"] + 2**30}),
    "a short shift": lambda a: a.update({"shift": a["shift"][:1]}),
    "without rows": lambda a: a.pop("rows"),
    "without centres": lambda a: a.pop("0 centres"),
    "a huge number of columns": lambda a: described(a, n_columns=10**12),
    "columns that are a text": lambda a: described(a, n_columns="3"),
    "an infinite scale": lambda a: described(a, scale=float("inf")),
    "an unknown kind": lambda a: described(a, members=[{"kind": "code"}]),
    "no members": lambda a: described(a, members=[]),
    "another version": lambda a: described(a, version=99),
    "another format": lambda a: described(a, format="pickle"),
    "another length of links": lambda a: described(a, members=[{"kind": "landmarks", "width": -1.0, "neighbours": 5}]),
    "too many neighbours": lambda a: described(a, members=[{"kind": "landmarks", "width": 1.0, "neighbours": 900}]),
    "names of fewer columns": lambda a: described(a, feature_names=["x"]),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_model_is_refused(name: str, saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "forged.npz"
    path.write_bytes(changed(saved, FORGED[name]).getvalue())
    with pytest.raises(ValueError, match=r"is damaged|another version"):
        load_model(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "arrays.npz", a=np.zeros(3))
    with pytest.raises(ValueError, match="was not written by save_model"):
        load_model(tmp_path / "arrays.npz")
    with pytest.raises(ValueError, match=r"a model is kept in a .npz file, got 'model.csv'"):
        load_model("model.csv")
    (tmp_path / "cut.npz").write_bytes(b"PK\x03\x04" + bytes(30))
    with pytest.raises((ValueError, zipfile.BadZipFile)):
        load_model(tmp_path / "cut.npz")


def test_what_cannot_be_saved_is_refused(tmp_path: Path) -> None:
    X = measured(60)
    foreign = EnsembleClustering(3, base=Birch(), n_members=2, k=3, random_state=0).fit(X)
    with pytest.raises(ValueError, match="members of other clusterers cannot be saved without pickling"):
        save_model(tmp_path / "model.npz", foreign)
    with pytest.raises(TypeError, match="model must be an EnsembleClustering, got int"):
        save_model(tmp_path / "model.npz", 3)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_the_shell_predicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    frame = customers()[1]
    model = EnsembleClustering(3, columns="auto", n_members=4, random_state=0).fit(frame)
    save_model("model.npz", model)
    frame[list(frame)[::-1]].to_csv("new.csv", index_label="customer")
    call = ["predict", "model.npz", "new.csv", "--id", "customer"]
    assert main([*call, "-o", "labels.csv"]) == 0
    found = pd.read_csv("labels.csv", index_col="customer")["label"]
    assert found.tolist() == model.labels_.tolist()
    frame.drop(columns="town").to_csv("less.csv", index_label="customer")
    numbers = pd.DataFrame(measured(), columns=["x", "y", "z"])
    save_model("numbers.npz", EnsembleClustering(3, n_members=2, random_state=0).fit(numbers))
    numbers[["z", "y", "x"]].assign(note=1).to_csv("numbers.csv", index=False)
    assert main(["predict", "numbers.npz", "numbers.csv", "-o", "numbers-labels.csv"]) == 0
    capsys.readouterr()
    for arguments, message in (
        (["predict", "model.npz", "less.csv", "--id", "customer", "-o", "x.csv"], "less.csv has no column 'town'"),
        (["predict", "numbers.npz", "new.csv", "-o", "x.csv"], "has no column 'x'"),
        (["predict", "new.csv", "new.csv", "-o", "x.csv"], "a model is kept in a .npz file"),
        ([*call, "-o", "model.npz", "--force"], "-o would replace model.npz"),
    ):
        assert main(arguments) == 2
        assert message in capsys.readouterr().err
    assert not Path("x.csv").exists()


@pytest.mark.parametrize("options", [[], ["--scale", "z"], ["--mixed"], ["--base", "kmeans", "--row-share", "0.7"]])
def test_the_shell_saves_the_model_of_its_labels(options: list[str], tmp_path: Path) -> None:
    _, frame = customers()
    table = frame.rename_axis("id") if "--mixed" in options else pd.DataFrame(measured(), columns=["x", "y", "z"])
    table.rename_axis("id").to_csv(tmp_path / "table.csv")
    files = {name: str(tmp_path / name) for name in ("table.csv", "a.csv", "b.csv", "c.csv", "model.npz")}
    line = ["cluster", files["table.csv"], "--id", "id", "-k", "3", "--members", "6", "--no-null", "--quiet", *options]
    assert main([*line, "-o", files["a.csv"]]) == 0
    assert main([*line, "-o", files["b.csv"], "--model", files["model.npz"]]) == 0
    labels = pd.read_csv(files["a.csv"])["label"]
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
    assert main(["predict", files["model.npz"], files["table.csv"], "--id", "id", "-o", files["c.csv"], "--quiet"]) == 0
    assert pd.read_csv(files["c.csv"])["label"].tolist() == labels.tolist()


def test_a_model_that_the_shell_cannot_save_is_refused_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, model = tmp_path / "table.csv", tmp_path / "model.npz"
    pd.DataFrame(measured(), columns=["x", "y", "z"]).to_csv(table, index=False)
    line = ["cluster", str(table), "-k", "3", "--members", "3"]
    for more, message in (
        (["--model", "model.csv"], "must end in .npz"),
        (["--model", str(model), "--base", "birch"], "needs members of kmeans, spectral, gaussian"),
        (["--model", str(model), "--memory", "1GB"], "without --memory"),
        (["--model", str(model), "-o", str(tmp_path / "folder/")], "needs measurements in memory"),
        (["--model", str(model), "--checkpoint", str(tmp_path / "kept")], "leave --checkpoint out"),
        (["--model", str(model), "-o", str(model)], "both write to"),
    ):
        assert main([*line, *more]) == 2
        assert message in capsys.readouterr().err
    assert main(["cluster", str(tmp_path / "tab*.csv"), "-k", "3", "--model", str(model)]) == 2, "in blocks, too"
    assert "needs measurements in memory" in capsys.readouterr().err
    assert not model.exists()


def test_a_model_keeps_how_its_dates_are_written(tmp_path: Path) -> None:
    """03/04/2020 alone says nothing; the column that the model was made from did."""
    frame = pd.DataFrame(
        {
            "since": [f"{1 + place % 28:02}/{1 + place % 12:02}/{2010 + 5 * (place % 2)}" for place in range(60)],
            "abo": ["ja", "nein"] * 30,
        }
    )
    model = EnsembleClustering(2, columns="auto", n_members=3, random_state=0).fit(frame)
    save_model(tmp_path / "model.npz", model)
    again = load_model(tmp_path / "model.npz")
    assert again.columns_.kinds == model.columns_.kinds
    assert again.columns_.kinds["since"] == ("date", ("day",))
    rows = [again.predict(frame.iloc[[place]])[0] for place in range(12)]
    assert rows == model.labels_[:12].tolist()

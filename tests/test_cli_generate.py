"""quorate generate and quorate cluster, and the tables of numbers they read."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix, save_npz
from sklearn.metrics import adjusted_rand_score

from quorate import generate, load_labels
from quorate._io.load import load_features
from quorate.cli import main

X = np.concatenate([np.random.default_rng(0).normal(m, 1, size=(60, 3)) for m in (0, 8, 16)]).round(6)
TRUTH = np.repeat(["a", "b", "c"], 60)


@pytest.fixture
def table(tmp_path):
    frame = pd.DataFrame(X, columns=["x", "y", "z"])
    frame.insert(0, "name", [f"object {place}" for place in range(180)])
    frame["truth"] = TRUTH
    path = tmp_path / "X.csv"
    frame.to_csv(path, index=False)
    return path


COLUMNS = ["--id", "name", "--drop", "truth"]


@pytest.mark.parametrize("suffix", ["zarr", "npz", "csv"])
def test_generate_writes_the_ensemble(table, tmp_path, capsys, suffix):
    output = tmp_path / f"ensemble.{suffix}"
    command = ["generate", str(table), *COLUMNS, "--members", "6", "--k", "3:9", "--seed", "4", "-o", str(output)]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "k            k = 3 to 9 (given)" in out
    expected = generate(X, 6, k=(3, 9), random_state=4)
    assert f"base         {expected.info['base']}" in out
    read = load_labels(output, ids="name") if suffix == "csv" else load_labels(output)
    assert np.array_equal(read.labels, expected.labels)
    assert read.object_ids[1] == "object 1"
    assert main(command) == 2
    assert "exists already" in capsys.readouterr().err
    assert main([*command, "--force", "--quiet"]) == 0


def test_cluster_in_one_go(table, tmp_path, capsys):
    labels, ensemble = tmp_path / "labels.csv", tmp_path / "ensemble.npz"
    command = ["cluster", str(table), *COLUMNS, "-k", "3", "--scale", "z", "-o", str(labels)]
    assert main([*command, "--ensemble", str(ensemble)]) == 0
    out = capsys.readouterr().out
    assert "base         gaussian: the judge of labellings rates their consensus by lwgp " in out
    assert "members      k = 3 to 8 (rule gaussian with k0 = 3, 180 objects)" in out
    assert "clusters     3" in out
    frame = pd.read_csv(labels)
    assert adjusted_rand_score(TRUTH, frame["label"]) > 0.98
    assert load_labels(ensemble).n_members == 20


@pytest.mark.parametrize("verb", ["generate", "cluster"])
def test_columns_on_other_scales_are_reported(table, tmp_path, capsys, verb):
    wide = tmp_path / "wide.csv"
    frame = pd.read_csv(table)
    frame["z"] *= 1000
    frame.to_csv(wide, index=False)
    command = [verb, str(wide), *COLUMNS, *(["-k", "3"] if verb == "cluster" else ["--k", "3"])]
    assert main([*command, "-o", str(tmp_path / "plain.csv")]) == 0
    told = capsys.readouterr().err
    assert told.count("the columns differ in scale: column 'z' varies") == 1
    assert "--scale z in the shell" in told
    assert main([*command, "--scale", "z", "-o", str(tmp_path / "scaled.csv")]) == 0
    assert "differ in scale" not in capsys.readouterr().err


def test_json_and_checkpoint(table, tmp_path, capsys):
    folder = tmp_path / "run"
    command = ["generate", str(table), *COLUMNS, "--k", "sqrt", "--checkpoint", str(folder), "--json", "--jobs", "1"]
    assert main([*command, "-o", str(tmp_path / "a.npz")]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["k"] == "k = 7 to 13 (rule sqrt, 180 objects)"
    assert facts["members"][0]["n_objects"] == 180
    assert len(list(folder.glob("member-*.npy"))) == 20
    assert main([*command, "-o", str(tmp_path / "b.npz")]) == 0
    assert (tmp_path / "a.npz").read_bytes()[:20] == (tmp_path / "b.npz").read_bytes()[:20]
    assert main([*command, "-o", str(tmp_path / "c.npz"), "--seed", "9"]) == 2
    assert "belongs to another run: random_state" in capsys.readouterr().err


def test_shares_and_rules_reach_generate(table, tmp_path, capsys):
    command = ["generate", str(table), *COLUMNS, "--row-share", "0.5", "--column-share", "0.5", "--k", "linear:60:30"]
    assert main([*command, "-o", str(tmp_path / "a.npz"), "--json", "--base", "kmeans"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["k"] == "k = 3 to 6 (rule linear with A = 60, B = 30, 180 objects)"
    assert {len(member["columns"]) for member in facts["members"]} == {2}
    assert facts["members"][0]["n_objects"] == 90


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--id", "name"], "column 'truth' holds 'a' in data row 1, which is no number"),
        (["--id", "nobody"], "has no column 'nobody'; its columns are 'name', 'x'"),
        (["--columns", "x,y", "--drop", "x,y"], "no column of measurements is left"),
        ([*COLUMNS, "--k", "cube"], "k must be one of 'sqrt'"),
        ([*COLUMNS, "--members", "0"], "n_members must be at least 1"),
        ([*COLUMNS, "--base", "nothing"], "base must be one of 'kmeans'"),
        ([*COLUMNS, "--scale", "robust"], "invalid choice: 'robust'"),
        ([*COLUMNS, "--row-share", "2"], "rows must lie in"),
    ],
)
def test_refusals_are_one_line(table, tmp_path, capsys, arguments, words):
    assert main(["generate", str(table), *arguments, "-o", str(tmp_path / "a.npz")]) == 2
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1
    assert not (tmp_path / "a.npz").exists()


def test_numbers_are_checked_before_the_table_is_read(tmp_path, capsys):
    """A large table takes long to read, and a misspelt number should not wait for it."""
    for option, wanted in (
        ("--members", "an integer"),
        ("--jobs", "an integer"),
        ("--row-share", "a number"),
        ("--column-share", "a number"),
    ):
        assert main(["generate", "nowhere.csv", option, "0.5,0.7", "-o", str(tmp_path / "a.npz")]) == 2
        assert capsys.readouterr().err == f"quorate: error: {option} must be {wanted}, got '0.5,0.7'\n"


def test_features_from_every_kind_of_file(table, tmp_path):
    read = load_features(table, ids="name", drop=["truth"])
    assert np.array_equal(read.values, X)
    assert read.names == ("x", "y", "z")
    frame = pd.read_csv(table)
    frame.to_parquet(tmp_path / "X.parquet")
    frame.to_csv(tmp_path / "X.tsv.gz", sep="\t", index=False)
    np.save(tmp_path / "X.npy", X)
    np.savez(tmp_path / "X.npz", X=X, y=TRUTH)
    save_npz(tmp_path / "S.npz", csr_matrix(X))
    parquet = load_features(tmp_path / "X.parquet", ids="name", columns=["x", "y", "z"])
    assert np.array_equal(generate(parquet.values, 2, random_state=0).labels, generate(X, 2, random_state=0).labels)
    assert parquet.ids.tolist() == read.ids.tolist()
    assert np.array_equal(load_features(tmp_path / "X.tsv.gz", columns=["y"]).values[:, 0], X[:, 1])
    mapped = load_features(tmp_path / "X.npy").values
    assert isinstance(mapped, np.memmap)
    assert np.array_equal(load_features(tmp_path / "X.npz").values, X)
    assert np.array_equal(load_features(tmp_path / "S.npz").values.toarray(), X)
    with pytest.raises(ValueError, match="has no column names"):
        load_features(tmp_path / "X.npy", columns=["x"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x,y\n1,2\n3,\n", "column 'y' holds '' in data row 2"),
        ("x,y\n1,2\n3\n", "data row 2 has 1 cell, but the header has 2"),
        ("x,y\n", "a header but no rows"),
        ("", "is empty"),
        ("x,x\n1,2\n", "'x' more than once"),
        ("name,x\na,1\na,2\n", "has the id 'a' twice"),
    ],
)
def test_bad_tables(tmp_path, text, words):
    path = tmp_path / "X.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=words):
        load_features(path, ids="name" if text.startswith("name") else None)


def test_constant_columns_and_sparse_tables_under_scaling(tmp_path, capsys):
    path = tmp_path / "X.csv"
    path.write_text("x,c\n" + "".join(f"{place % 7},5\n" for place in range(40)))
    assert main(["cluster", str(path), "-k", "2", "--scale", "z"]) == 0
    save_npz(tmp_path / "S.npz", csr_matrix(X))
    assert main(["cluster", str(tmp_path / "S.npz"), "-k", "3", "--scale", "z"]) == 2
    assert "would make the sparse table dense" in capsys.readouterr().err

"""`quorate score --members --profiles`, `quorate place` and `quorate compare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_cli import MEMBERS, Output, fails, write_table

import quorate
from quorate import consensus, load_labels
from quorate.cli import main


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_table(tmp_path)


@pytest.fixture
def labelled(table: Path, tmp_path: Path) -> Path:
    out = tmp_path / "out.csv"
    assert main(["consensus", str(table), *MEMBERS, "-k", "3", "-o", str(out), "--quiet"]) == 0
    return out


def ensemble_of(table: Path) -> quorate.Ensemble:
    return load_labels(table, ids="name", columns=list("abcd"))


def told(capsys: Output, *arguments: Any) -> dict[str, Any]:
    assert main([*map(str, arguments), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_score_tells_members_and_profiles(table: Path, labelled: Path, capsys: Output) -> None:
    ensemble = ensemble_of(table)
    result = consensus(ensemble, 3, random_state=0)
    found = told(capsys, "score", table, labelled, *MEMBERS, "--members", "--profiles")
    assert found["members"] == json.loads(json.dumps(result.members(ensemble).as_dict()["members"]))
    assert [entry["name"] for entry in found["clusterings"]] == list("abcd")
    assert found["clusters"] == json.loads(json.dumps(result.profiles(ensemble).as_dict()["clusters"]))
    assert main(["score", str(table), str(labelled), *MEMBERS, "--members", "--profiles"]) == 0
    shown = capsys.readouterr().out
    assert str(result.members(ensemble)) in shown
    assert str(result.profiles(ensemble)) in shown
    plain = told(capsys, "score", table, labelled, *MEMBERS)
    assert "clusters" not in plain
    assert "members" not in plain


def test_profiles_call_clusters_as_the_file_does(table: Path, tmp_path: Path, capsys: Output) -> None:
    ensemble = ensemble_of(table)
    result = consensus(ensemble, 3, random_state=0).renamed({0: "bargain hunters"})
    quorate.save_labels(tmp_path / "named.csv", result)
    found = told(capsys, "score", table, tmp_path / "named.csv", *MEMBERS, "--profiles")
    assert [cluster["name"] for cluster in found["clusters"]] == ["bargain hunters", "1", "2"]


def test_place_writes_the_clusters_of_new_objects(table: Path, labelled: Path, tmp_path: Path, capsys: Output) -> None:
    ensemble = ensemble_of(table)
    result = consensus(ensemble, 3, random_state=0)
    head, *lines = table.read_text().splitlines()
    (tmp_path / "new.csv").write_text("\n".join([head, *lines[::7]]) + "\n")
    out = tmp_path / "placed.csv"
    found = told(capsys, "place", table, labelled, tmp_path / "new.csv", *MEMBERS, "-o", out)
    assert found["n_objects"] == found["n_known_rows"] == len(lines[::7])
    assert found["unknown_labels"] == {}
    placed = load_labels(out, ids="name", columns=["label"])
    assert [int(placed.categories[0][code]) for code in placed.labels[:, 0]] == result.labels[::7].tolist()
    assert placed.object_ids.tolist() == ensemble.object_ids[::7].tolist()


def test_place_counts_what_the_table_does_not_know(table: Path, tmp_path: Path, capsys: Output) -> None:
    ensemble = ensemble_of(table)
    names = np.array(["gold", "tin", "lead"])
    # the file has another order of objects, and its first cluster is not the first of the table
    result = consensus(ensemble, 3, random_state=0)
    order = np.arange(len(result.labels))[::-1]
    rows = [f"{ensemble.object_ids[i]},{names[result.labels[i]]}" for i in order]
    (tmp_path / "named.csv").write_text("\n".join(["name,label", *rows]) + "\n")
    a, b = (ensemble.categories[member][ensemble.labels[0, member]] for member in (0, 1))
    (tmp_path / "new.csv").write_text(f"name,a,b\nnew1,{a},{b}\nnew2,{a},zzz\n")
    out = tmp_path / "placed.csv"
    arguments = ["place", str(table), str(tmp_path / "named.csv"), str(tmp_path / "new.csv"), *MEMBERS, "-o", str(out)]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "labels that the table does not have count as missing" in shown
    assert "b 1 ('zzz')" in shown
    assert "absent       c, d" in shown
    wanted = quorate.place(result, ensemble, load_labels(tmp_path / "new.csv", ids="name")).labels
    assert [line.split(",")[1] for line in out.read_text().splitlines()[1:]] == names[wanted].tolist()


def test_place_reads_a_table_in_which_a_clustering_labels_nothing(
    table: Path, labelled: Path, tmp_path: Path, capsys: Output
) -> None:
    (tmp_path / "new.csv").write_text("name,a,b,c,d\nnew1,s0,1,,x\n")
    out = tmp_path / "placed.csv"
    found = told(capsys, "place", table, labelled, tmp_path / "new.csv", *MEMBERS, "-o", out)
    assert found["absent_members"] == ["c"]
    assert found["n_unplaced"] == 0


def test_place_refuses(table: Path, labelled: Path, tmp_path: Path, capsys: Output) -> None:
    (tmp_path / "other.csv").write_text("name,x,y\nnew1,1,2\n")
    (tmp_path / "noid.csv").write_text("a,b\n0,0\n")
    out = str(tmp_path / "placed.csv")
    start = ["place", str(table), str(labelled)]
    assert "has none of the columns" in fails(capsys, *start, str(tmp_path / "other.csv"), *MEMBERS, "-o", out)
    assert "has no column 'name'" in fails(capsys, *start, str(tmp_path / "noid.csv"), *MEMBERS, "-o", out)
    assert "no such file" in fails(capsys, *start, str(tmp_path / "gone.csv"), *MEMBERS, "-o", out)
    assert "-o/--output" in fails(capsys, *start, str(table), *MEMBERS)
    assert "exists already" in fails(capsys, *start, str(table), *MEMBERS, "-o", str(tmp_path / "noid.csv"))
    assert "which is read" in fails(capsys, *start, str(table), *MEMBERS, "-o", str(labelled))
    assert not Path(out).exists()


def test_compare_prints_the_table(table: Path, capsys: Output) -> None:
    found = told(capsys, "compare", table, *MEMBERS, "-m", "kmeans,eac", "-k", "2:3", "--repeats", "2")
    wanted = quorate.compare(ensemble_of(table), ["kmeans", "eac"], (2, 3), n_repeats=2, random_state=0)
    assert [row["agreement"] for row in found["comparison"]] == pytest.approx([row.agreement for row in wanted.rows])
    assert main(["compare", str(table), *MEMBERS, "-m", "kmeans", "-k", "3", "--repeats", "0"]) == 0
    head = capsys.readouterr().out.splitlines()[0].split()
    assert head == ["method", "k", "anmi", "density", "agreement", "null", "stability", "seconds"]


def test_compare_refuses(table: Path, capsys: Output) -> None:
    start = ["compare", str(table), *MEMBERS]
    assert "a method must be one of" in fails(capsys, *start, "-m", "kmean")
    assert "n_clusters must be a number, a range" in fails(capsys, *start, "-k", "auto")
    assert "-k must be an integer" in fails(capsys, *start, "-k", "x")
    assert "--repeats must be an integer" in fails(capsys, *start, "--repeats", "many")
    assert "n_repeats must be at least 0" in fails(capsys, *start, "--repeats", "-1")


def test_the_summary_names_the_label_of_each_size_and_how_stable_clusters_are(tmp_path: Path, capsys: Output) -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [20, 80, 60])
    table = np.where(rng.random((160, 9)) < 0.15, rng.integers(3, size=(160, 9)), truth[:, None])
    path = tmp_path / "table.csv"
    path.write_text("\n".join([",".join("abcdefghi"), *(",".join(map(str, row)) for row in table.tolist())]))
    assert main(["consensus", str(path), "-k", "3"]) == 0
    told = capsys.readouterr().out
    assert "sizes        0: 20, 1: 80, 2: 60\n" in told
    assert "stability    3 highly stable; lowest " in told
    assert main(["consensus", str(path), "-k", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["meaning"] for row in found["stability"]] == ["highly stable"] * 3

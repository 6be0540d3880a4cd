"""`quorate score`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_cli import MEMBERS, Output, fails, write_table

from quorate import consensus, evaluate, load_labels
from quorate.cli import main


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_table(tmp_path)


# ---- score


@pytest.fixture
def labelled(table: Path, tmp_path: Path) -> Path:
    out = tmp_path / "out.csv"
    assert main(["consensus", str(table), *MEMBERS, "-k", "3", "-o", str(out), "--quiet"]) == 0
    return out


def scores_of(capsys: Output, *arguments: Any) -> dict[str, Any]:
    assert main(["score", *map(str, arguments), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert [member["name"] for member in found.pop("clusterings")] == list("abcd")
    assert [sorted(row) for row in found["stability"]] == [["cluster", "meaning", "objects", "stability"]] * 3
    return found


def test_score(table: Path, labelled: Path, capsys: Output) -> None:
    ensemble = load_labels(table, ids="name", columns=list("abcd"))
    labels = consensus(ensemble, 3, random_state=0).labels
    expected = evaluate(labels, ensemble).as_dict()
    found = scores_of(capsys, table, labelled, *MEMBERS, "--no-null")
    assert found.pop("verdict")["grade"] is None
    table_of_clusters = evaluate(labels, ensemble).stability
    assert table_of_clusters is not None
    assert found == {**expected, **table_of_clusters.as_dict()}
    assert main(["score", str(table), str(labelled), *MEMBERS, "--no-null"]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"{evaluate(labels, ensemble)}\nclusterings  4: a (")
    assert "verdict      The agreement was not compared with chance" in told
    assert f"{table_of_clusters}\n(of halves of the clusterings" in told


def test_score_compares_with_chance(table: Path, labelled: Path, capsys: Output) -> None:
    ensemble = load_labels(table, ids="name", columns=list("abcd"))
    labels = consensus(ensemble, 3, random_state=0).labels
    for null, asked in (("auto", "auto"), (7, "7")):
        expected = evaluate(labels, ensemble, null=null)
        found = scores_of(capsys, table, labelled, *MEMBERS, "--null", asked)
        assert found.pop("verdict") == expected.verdict._asdict()
        del found["stability"]
        assert found == expected.as_dict()
    assert expected.n_permutations == 7
    assert main(["score", str(table), str(labelled), *MEMBERS]) == 0
    assert "verdict      The members agree" in capsys.readouterr().out
    assert "--null must be" in fails(capsys, "score", table, labelled, *MEMBERS, "--null", "many")


def test_the_truth_is_no_member(table: Path, labelled: Path, capsys: Output) -> None:
    ensemble = load_labels(table, ids="name", columns=list("abcd"))
    labels = consensus(ensemble, 3, random_state=0).labels
    expected = evaluate(labels, ensemble, truth=np.repeat([0, 1, 2], 20)).as_dict()
    for columns in ([], ["--columns", "a,b,c,d"], ["--columns", "a,b,c,d,truth"]):
        found = scores_of(capsys, table, labelled, "--id", "name", "--truth", "truth", "--no-null", *columns)
        del found["verdict"], found["stability"]
        assert found == expected
    assert expected["accuracy"] is not None
    assert expected["accuracy"] > 0.9


def test_the_truth_beside_the_labelling(table: Path, labelled: Path, capsys: Output) -> None:
    lines = labelled.read_text().splitlines()
    kinds = ["kind", *np.repeat(["p", "q", "r"], 20).tolist()]
    labelled.write_text("\n".join(f"{line},{kind}" for line, kind in zip(lines, kinds, strict=True)))
    found = scores_of(capsys, table, labelled, *MEMBERS, "--truth", "kind")
    again = scores_of(capsys, table, labelled, *MEMBERS, "--truth", "truth")
    assert found == again
    assert found["nmi"] > 0.8
    message = fails(capsys, "score", table, labelled, *MEMBERS, "--truth", "nothing")
    assert f"neither {table} nor {labelled} has a column 'nothing'" in message


def test_rows_are_matched_by_id(table: Path, labelled: Path, capsys: Output) -> None:
    expected = scores_of(capsys, table, labelled, *MEMBERS)
    header, *rows = labelled.read_text().splitlines()
    labelled.write_text("\n".join([header, *rows[::-1]]))
    assert scores_of(capsys, table, labelled, *MEMBERS) == expected
    by_order = scores_of(capsys, table, labelled, "--columns", "a,b,c,d")
    assert by_order["anmi"] < expected["anmi"]
    labelled.write_text("\n".join([header, *rows[3:]]))
    message = fails(capsys, "score", table, labelled, *MEMBERS)
    assert "there is no label for 3 of 60 objects: 'o0', 'o1', 'o2'." in message
    assert "labels 57 objects, but the table" in fails(capsys, "score", table, labelled, "--columns", "a,b")
    labelled.write_text("\n".join([header, *rows, "stranger,1,0.5"]))
    assert "there are labels for 1 object that is not in the table of labels: 'stranger'." in fails(
        capsys, "score", table, labelled, *MEMBERS
    )


def test_labellings_of_other_people(table: Path, tmp_path: Path, capsys: Output) -> None:
    expected = scores_of(capsys, table, table, *MEMBERS, "--label", "truth")
    np.save(tmp_path / "truth.npy", np.repeat([3, 5, 4], 20))
    found = scores_of(capsys, table, tmp_path / "truth.npy", *MEMBERS)
    # the table has the names of the file
    assert [row.pop("cluster") for row in found["stability"]] == ["3", "5", "4"]
    assert [row.pop("cluster") for row in expected["stability"]] == ["A", "B", "C"]
    assert found == expected
    path = tmp_path / "named.csv"
    path.write_text("\n".join(["segment", *np.repeat(["x", "y", "z"], 20)]))
    found = scores_of(capsys, table, path, *MEMBERS)
    assert [row.pop("cluster") for row in found["stability"]] == ["x", "y", "z"]
    assert found == expected
    path.write_text("\n".join(["one,two", *["1,2"] * 60]))
    assert "Name the column that holds the labelling with --label" in fails(capsys, "score", table, path, *MEMBERS)
    np.save(tmp_path / "two.npy", np.ones((60, 2), dtype=int))
    assert "2 labellings without names" in fails(capsys, "score", table, tmp_path / "two.npy", *MEMBERS)
    path.write_text("\n".join(["label,k", ",1", *["1,2"] * 59]))
    # an object without a label is outside, and left out
    assert main(["score", str(table), str(path), *MEMBERS, "--truth", "k", "--no-null", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["outside"], found["n_objects"]) == (1, 60)
    message = fails(capsys, "score", table, path, *MEMBERS, "--memory", "1GB")
    assert "leaves 1 object without a label" in message
    assert "without --memory" in message
    assert "only one of the files" in fails(capsys, "score", "-", "-")


BLOCKS = ("--memory", "1GB")
# an unusual separator of the labels is recognised only in memory
SEPARATORS = [(";", ",", ()), (";", ";", ()), ("~", ",", ()), ("~", "~", ()), (";", ",", BLOCKS), ("~", ",", BLOCKS)]


@pytest.mark.parametrize(("mark", "labels_mark", "memory"), SEPARATORS)
def test_sep_is_that_of_the_table(table: Path, tmp_path: Path, mark: str, labels_mark: str, memory: Any) -> None:
    other, out, page = tmp_path / "other.csv", tmp_path / "out.csv", tmp_path / "page.html"
    other.write_text(table.read_text().replace(",", mark))
    how = [*MEMBERS, "--sep", mark, "--quiet"]
    assert main(["consensus", str(other), *how, "-k", "3", "-o", str(out), *memory]) == 0
    assert out.read_text().startswith("name,label")
    out.write_text(out.read_text().replace(",", labels_mark))
    assert main(["score", str(other), str(out), *how, "--no-null", *memory]) == 0
    assert main(["place", str(other), str(out), str(other), *how, "-o", str(tmp_path / "new.csv"), *memory]) == 0
    assert len((tmp_path / "new.csv").read_text().splitlines()) == len(table.read_text().splitlines())
    if not memory:
        assert main(["report", str(other), str(out), *how, "-o", str(page)]) == 0


def test_names_reach_the_terminal_without_control_characters(tmp_path: Path, capsys: Output) -> None:
    """A name of a column or a label could clear the screen, or write to the clipboard."""
    table, out = tmp_path / "table.csv", tmp_path / "out.csv"
    table.write_text("id,a,b\x1b[2Jx\n1,\x1b]0;title\x07,y\n2,x,y\n3,z,w\n4,z,w\n")
    assert main(["consensus", str(table), "--id", "id", "-k", "2", "--no-null", "-o", str(out)]) == 0
    assert main(["score", str(table), str(out), "--id", "id", "--no-null", "--members", "--profiles"]) == 0
    printed = capsys.readouterr().out
    assert "\\x1b[2Jx" in printed
    assert "\\x1b]0;title\\x07" in printed
    assert all(character == "\n" or character.isprintable() for character in printed)

"""The report as a file: how to make it again, errors, and the shell."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ensembles import noisy_with_truth
from test_report import Page, unpack

from quorate import as_ensemble, consensus, report
from quorate._trust.subject import subject_of
from quorate.cli import main
from quorate.reporting.writing import facts, redo


@pytest.mark.filterwarnings("ignore:merging rows")
def test_how_to_do_it_again() -> None:
    _, labels = noisy_with_truth(0, 60, 3, 4)
    result = consensus(labels, 3, random_state=7, coarsen={"theta": 0.3, "keep": 0.9}, refine=True)
    told = facts(subject_of(result, labels), None, 7)
    assert told["Coarsened"].startswith("theta 0.3, keep 0.9: ")
    assert "starting from an ANMI of" in told["Refined"]
    code = redo(subject_of(result, labels), 7, None)["In Python"]
    line = next(line for line in code.splitlines() if line.startswith("result = "))
    known: dict[str, Any] = {"consensus": consensus, "ensemble": labels}
    exec(line, known)
    assert np.array_equal(known["result"].labels, result.labels)
    assert "In Python" not in redo(subject_of(result.labels, labels), None, "quorate")


def test_the_same_bytes_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    _, labels = noisy_with_truth(0, 60, 3, 4)
    result = consensus(labels, 3, random_state=0)
    one, other = (report(result, labels, tmp_path / name).read_bytes() for name in ("1.html", "2.html"))
    assert one == other
    assert b"1970-01-01 00:00 UTC" in one


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    members = [[0, 0, 1], [0, 1, 1]]
    path = report([0, 0, 1], members, tmp_path / "r.html")
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="exists already"):
        report([0, 0, 1], members, path)
    with pytest.raises(FileNotFoundError, match="make it first"):
        report([0, 0, 1], members, tmp_path / "nowhere" / "r.html")
    with pytest.raises(ValueError, match=r"must end in \.html"):
        report([0, 0, 1], members, tmp_path / "r.csv", overwrite=True)

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("quorate.reporting.writing._write", fail)
    with pytest.raises(OSError, match="No space left"):
        report([0, 0, 1], members, path, overwrite=True)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["r.html"]


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"result": [0, 1]}, ValueError, "3 in all, got 2"),
        ({"result": [None, None, None]}, ValueError, "all of its 3 labels are missing"),
        ({"result": np.zeros((3, 2), dtype=int)}, ValueError, "table of 2 columns"),
        ({"truth": [0, 1]}, ValueError, "truth must have one label per row"),
        ({"numbers": "many"}, ValueError, "numbers must be one of 'auto'"),
        ({"numbers": [2.5]}, TypeError, "must be an integer"),
        ({"numbers": {2: [0, 1]}}, ValueError, "numbers[2] must have one label per row"),
        ({"choice": 3}, TypeError, "choice must be what choose_k returns"),
        ({"random_state": "x"}, TypeError, "random_state must be an integer"),
    ],
)
def test_errors(tmp_path: Path, options: dict[str, Any], error: type[Exception], told: str) -> None:
    arguments = {"result": [0, 0, 1], **options}
    with pytest.raises(error, match=re.escape(told)):
        report(arguments.pop("result"), [[0, 0, 1], [0, 1, 1]], tmp_path / "r.html", **arguments)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def table(tmp_path: Path) -> Path:
    truth, labels = noisy_with_truth(0, 60, 3, 4)
    lines = ["name,a,b,c,d,kind"]
    lines += [f"x{row},{','.join(map(str, labels[row]))},{truth[row]}" for row in range(60)]
    path = tmp_path / "labels.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_in_a_shell(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = table.parent
    common = [str(table), "--id", "name", "--columns", "a,b,c,d"]
    made = folder / "made.html"
    command = ["consensus", *common, "-k", "3", "-o", str(folder / "out.csv"), "--report", str(made)]
    assert main(command) == 0
    assert f"report       in {made}" in capsys.readouterr().out
    assert f"quorate consensus {table} --id name" in Page(made).words
    assert main(command) == 2
    assert main([*command, "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"] == str(made)
    page = folder / "page.html"
    told = ["report", str(table), str(folder / "out.csv"), "--id", "name", "-o", str(page), "--truth", "kind"]
    assert main([*told, "--title", "<Mine>"]) == 0
    told_lines = capsys.readouterr().out.splitlines()
    assert told_lines[0] == f"report       in {page} ({page.stat().st_size:,} bytes)"
    assert told_lines[1].startswith("clusterings  4: a (3 clusters")
    text = Page(page)
    assert "<title>&lt;Mine&gt;</title>" in text.text
    assert "of the objects are placed right" in text.words
    assert unpack(text.data["download"]["ids"])[:2] == ["x0", "x1"]
    # estimated anew for labels from a file, whose seed is not known, it is close to what the result has
    again, given = (np.array(unpack(Page(p).data["download"]["confidence"]), dtype=float) for p in (page, made))
    assert abs(again - given).mean() < 0.1 * given.mean()
    assert main(told) == 2
    assert "exists already" in capsys.readouterr().err
    assert main([*told, "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"] == str(page)


def test_names_of_clusters_are_those_of_the_file(table: Path) -> None:
    labelling = table.parent / "named.csv"
    lines = [f"x{row},{'gold' if row % 2 else 'tin'}" for row in range(60)]
    labelling.write_text("\n".join(["name,label", *lines]) + "\n")
    page = table.parent / "page.html"
    arguments = [str(table), str(labelling), "--id", "name", "--columns", "a,b,c,d", "-o", str(page)]
    assert main(["report", *arguments, "--quiet"]) == 0
    assert Page(page).data["names"][:2] == ["tin", "gold"]


def test_cluster_writes_one_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    features = tmp_path / "x.npy"
    np.save(features, np.concatenate([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 9]))
    page = tmp_path / "page.html"
    assert main(["cluster", str(features), "-k", "2", "--members", "6", "--report", str(page), "--quiet"]) == 0
    assert "quorate.generate, k = " in Page(page).words


def test_a_report_on_very_many_clusters_is_refused_before_memory_is_taken(tmp_path: Path) -> None:
    ensemble = as_ensemble({"a": np.arange(60_000), "b": np.arange(60_000) % 50_000}, check=False)
    with pytest.raises(MemoryError, match="a report on 50,000 clusters and the 110,000 clusters of the members"):
        report(np.arange(60_000) % 50_000, ensemble, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []

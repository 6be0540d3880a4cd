"""The peers page: recipes that need no peer, limits, and the page from invented records and from none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.papers.records import Record, Results
from benchmarks.peers.__main__ import EVIDENCE, PAGE, RESULTS, SIZES, all_cases, gave_up, version
from benchmarks.peers.features import HEAD, ROWS
from benchmarks.peers.inputs import objects, read, stored
from benchmarks.peers.page import measured, page
from benchmarks.peers.peers import PEERS
from benchmarks.peers.worker import _scores, run

import quorate

ROOT = Path(__file__).parents[1]


def test_recipes_agree_with_quorate(tmp_path: Path) -> None:
    found = read(stored("easy", 200, tmp_path))
    assert np.array_equal(found.labels, objects("easy", 200).labels)
    for recipe in ("scikit-learn KMeans, one-hot rows", "scikit-learn KMeans, np.unique rows"):
        ours = quorate.consensus(found.labels, 10, random_state=0)
        assert quorate.anmi(PEERS[recipe].call(found), found.labels) == pytest.approx(
            quorate.anmi(ours, found.labels), abs=0.03
        )
    theirs = PEERS["scipy average link, dense matrix"].call(found)
    assert quorate.nmi(theirs, PEERS["quorate eac"].call(found)) > 0.9


def test_a_call_is_measured_and_a_missing_peer_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{ROOT / 'src'}")
    path = stored("easy", 100, tmp_path)
    told = run("scikit-learn KMeans, np.unique rows", path, seconds=60, gigabytes=4)
    assert told["clusters"] == 10
    assert told["seconds"] > 0
    if version("multicons") == "not installed":
        assert run("multicons", path, seconds=5, gigabytes=4)["error"] == (
            "ModuleNotFoundError: No module named 'multicons'"
        )


def test_labels_of_another_length_are_an_error() -> None:
    found = objects("hard", 60)
    assert "59 labels for 60 objects" in _scores(found.classes[:-1], found)["error"]


def test_who_gave_up_is_not_asked_again(tmp_path: Path) -> None:
    results = Results(tmp_path / "peers.jsonl")
    small, large = ({"data": "easy", "n": n, "peer": "multicons"} for n in (2_000, 10_000))
    assert gave_up(results, large) is None
    results.measure("peers", small, lambda case: {"error": "more than 60 s"})
    assert gave_up(results, large) == 2_000
    assert gave_up(results, small) is None
    assert gave_up(results, {**small, "data": "hard"}) == 2_000


def test_page_with_and_without_records() -> None:
    assert page([]).count("Not measured.") == 1
    assert measured([]).count("Not measured.") == 4
    assert all(len(row) == len(HEAD) for row in ROWS)
    good = {"seconds": 0.5, "gigabytes": 0.1, "nmi": 0.9, "anmi": 0.8, "clusters": 10, "version": "1"}
    records = [Record("peers", dict(case), {**good, "limits": [60, 8]}, 1.0) for case in all_cases((2_000,))]
    records[0].values.clear()
    records[0].values["error"] = "MemoryError: Unable to allocate"
    text = measured(records)
    assert "**fails**" in text
    assert "`MemoryError: Unable to allocate`" in text
    assert "| 0.50 s, 0.10 GB, 0.900 / 0.800 |" in text


def test_the_pages_are_those_of_the_stored_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    records = Results(RESULTS).of("peers", all_cases(SIZES))
    assert PAGE.read_text(encoding="utf-8") == page(records)
    assert EVIDENCE.read_text(encoding="utf-8") == measured(records)

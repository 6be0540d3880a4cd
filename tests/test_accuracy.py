"""The accuracy benchmark: its groups of sets, its records, its limits, and that the page tells what they hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.accuracy import page, published, tables
from benchmarks.accuracy.__main__ import RESULTS
from benchmarks.accuracy.algorithms import ALGORITHMS, DEFAULT
from benchmarks.accuracy.runs import Case, Results, Worker, cases
from benchmarks.accuracy.sets import GROUPS, SETS, development_sets, group_of, prepared

ROOT = Path(__file__).parents[1]


def _results(tmp_path: Path, scores: dict[str, dict[str, float]]) -> Results:
    """One seed, the same score for every measure: algorithm -> set -> score."""
    results = Results(tmp_path / "results.jsonl")
    for algorithm, column in scores.items():
        for name, score in column.items():
            results.write(Case(name, algorithm, 0), {"values": [score, score, score, 1.0, 3]})
    return results


def test_the_halves_are_those_of_decision_11() -> None:
    sets = development_sets()
    assert len(sets) == 56
    assert [group_of(name) for name in sets[:4]] == ["half A", "half B", "half A", "half B"]
    assert {group_of(name) for name in SETS} == set(GROUPS)
    assert group_of("pendigits") == group_of("text_k1a") == "neither"


def test_every_case_stands_once_and_useful_ones_come_first() -> None:
    every = cases()
    assert len(set(every)) == len(every)
    assert {case.set for case in every} == set(SETS)
    assert {case.seed for case in every[: 56 * len(ALGORITHMS)]} == {0}
    seeds = {name: {case.seed for case in every if case.algorithm == name} for name in ALGORITHMS}
    assert all(seeds[name] == (set(range(5)) if a.stochastic else {0}) for name, a in ALGORITHMS.items())


def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    results = _results(tmp_path, {DEFAULT: {"iris": 0.5}})
    results.write(Case("iris", "Ward", 0), {"not": "over 60 s"})
    with results.path.open("a") as file:
        file.write('{"set": "wine", "algo')  # killed while writing
    again = Results(results.path)
    assert not again.is_missing(Case("iris", DEFAULT, 0))
    assert again.is_missing(Case("iris", DEFAULT, 1))
    assert not again.is_missing(Case("iris", "Ward", 3))  # too slow with one seed, too slow with the next
    again.write(Case("wine", DEFAULT, 0), {"values": [0.9, 0.9, 0.9, 1.0, 3]})
    assert Results(results.path).values("nmi") == {("iris", DEFAULT): [0.5], ("wine", DEFAULT): [0.9]}
    assert tables.not_run(again) == {("Ward", "over 60 s"): ["iris"]}


def test_ranks_and_means_are_over_sets_that_all_have(tmp_path: Path) -> None:
    first, second, third = [name for name in development_sets() if group_of(name) == "half A"][:3]
    scores = {name: {first: 0.5, second: 0.5} for name in ALGORITHMS}
    scores[DEFAULT] = {first: 0.9, second: 0.9, third: 0.1}
    results = _results(tmp_path, scores)
    ranks, n_sets = tables.mean_ranks(results)["half A"]
    assert n_sets == 2
    assert ranks[DEFAULT] == 1
    assert {ranks[name] for name in ALGORITHMS if name != DEFAULT} == {(len(ALGORITHMS) + 2) / 2}
    table = tables.means(results, "nmi")
    assert tables.common_sets(table, "half A") == sorted([first, second])


def test_wins_and_losses_are_counted(tmp_path: Path) -> None:
    names = [name for name in SETS if group_of(name) == "neither"][:4]
    own = dict(zip(names, (0.50, 0.50, 0.50, 0.50), strict=True))
    rival = dict(zip(names, (0.40, 0.505, 0.52, 0.54), strict=True))
    table = tables.means(_results(tmp_path, {DEFAULT: own, "KMeans": rival}), "nmi")
    assert tables.balance(table, "KMeans", "neither") == (1, 1, 2)
    assert tables.losses(table) == [(names[3], ["KMeans"])]


def test_seeds_are_averaged_and_kinds_counted(tmp_path: Path) -> None:
    results = Results(tmp_path / "results.jsonl")
    for seed, (score, kind) in enumerate([(0.4, "kmeans"), (0.6, "spectral"), (0.8, "spectral")]):
        results.write(Case("iris", DEFAULT, seed), {"values": [score, 0, 0, 1, 3], "note": kind})
    assert tables.means(results, "nmi")[DEFAULT]["iris"] == pytest.approx(0.6)
    assert tables.seeds_of(results, DEFAULT) == {"iris": 3}
    assert published.kinds(results) == {"iris": "1 kmeans, 2 spectral"}


def test_means_by_seed_need_all_sets(tmp_path: Path) -> None:
    results = _results(tmp_path, {DEFAULT: dict.fromkeys(development_sets(), 0.25)})
    results.write(Case("iris", DEFAULT, 1), {"values": [0.9, 0.9, 0.9, 1.0, 3]})
    assert published.means_by_seed(results) == [0.25]


def test_sets_that_suit_k_means_members_are_named(tmp_path: Path) -> None:
    scores = {DEFAULT: {"iris": 0.5, "wine": 0.5}, "20 k-means members": {"iris": 0.515, "wine": 0.53}}
    told = published.k_means_text(_results(tmp_path, scores))
    assert told.endswith(": wine (0.500, 0.530).")


def test_features_are_prepared_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "iris.csv").write_text("f0,f1,label\n1,5,a\n3,5,b\n,5,b\n")
    (tmp_path / "pendigits.csv").write_text("f0,label\n1,a\n3,b\n")
    monkeypatch.setenv("QUORATE_DATA", str(tmp_path))
    found = prepared("iris")
    assert found.X[:, 0] == pytest.approx([-np.sqrt(1.5), np.sqrt(1.5), 0])  # the missing value is the mean
    assert (found.X[:, 1] == 0).all()
    assert (found.y.tolist(), found.n_classes) == ([0, 1, 1], 2)
    assert prepared("pendigits").X.tolist() == [[-1], [1]]
    assert prepared("pendigits_raw").X.tolist() == [[1], [3]]


def test_a_worker_scores_and_ends_what_takes_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{x:.3f},{y:.3f},{c}" for c in range(3) for x, y in rng.normal(9 * c, 1, size=(300, 2))]
    (tmp_path / "iris.csv").write_text("f0,f1,label\n" + "\n".join(lines) + "\n")
    monkeypatch.setenv("QUORATE_DATA", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}:{ROOT}")
    worker = Worker()
    try:
        for name in (DEFAULT, "Ward"):
            answer = worker.measure(Case("iris", name, 0))
            assert answer["values"][:3] == [1, 1, 1]
            assert answer["values"][4] == 3
        monkeypatch.setattr("benchmarks.accuracy.runs.SECONDS", -1000.0)  # it has used them up already
        # the system looks at its clock some hundred times per second, and KMeans would end before it does
        assert worker.measure(Case("iris", DEFAULT, 1)) == {"not": "over -20000 s"}
    finally:
        worker.close()


def test_the_page_tells_what_the_results_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that was not written anew after a measurement, or was edited by hand, is not true."""
    monkeypatch.chdir(ROOT)
    results = Results(RESULTS)
    assert page.PAGE.read_text(encoding="utf-8") == page.text(results)
    behind = page.PAGE.parent / page.EVIDENCE
    assert behind.read_text(encoding="utf-8") == page.evidence(results)
    assert "make accuracy" not in page.text(results)
    assert "](decisions/" not in page.evidence(results)
    assert {case.algorithm for case in results.found} <= set(ALGORITHMS)
    assert {case.set for case in results.found} <= set(SETS)

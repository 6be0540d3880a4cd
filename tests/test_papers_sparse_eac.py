"""The reproduction of the sparse-co-association paper, on tiny inputs without a data folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.papers import sparse_eac, sparse_eac_example, sparse_eac_sets
from benchmarks.papers.paper import write_page
from benchmarks.papers.records import Record, Results

import quorate


def test_no_records_no_verdicts(tmp_path: Path) -> None:
    claims = write_page(sparse_eac.PAPER, Results(tmp_path / "none.jsonl"), tmp_path, quick=False)
    assert {claim.verdict for claim in claims} == {"not tested"}
    assert "Not measured" in (tmp_path / "sparse-eac.md").read_text()


def test_cases_are_told_apart() -> None:
    for experiment in sparse_eac.PAPER.experiments:
        for quick in (True, False):
            cases = [tuple(sorted(case.items())) for case in experiment.cases(quick)]
            assert len(set(cases)) == len(cases) > 0


def test_growth_counts_what_is_stored() -> None:
    values = sparse_eac.growth({"n": 200, "rule": "linear", "members": 5, "repeat": 0})
    assert 0 < values["pairs"] < 200 * 199 / 2
    assert values["kmin"] == 4
    assert values["uneven"] >= 1
    assert sparse_eac.estimate("linear", 200) == 20_000
    assert sparse_eac.estimate("sqrt", 10_000) == 4_000_000


def test_the_matrix_of_the_cigar_set(tmp_path: Path) -> None:
    values = sparse_eac_example.measure({"set": "cigar", "members": 10, "repeat": 0})
    pairs = [[int(value) > 0 for value in row.split()] for row in values["rows"]]
    assert [len(row) for row in pairs] == list(range(249, -1, -1))
    assert sum(map(sum, pairs)) == values["pairs"]
    assert values["between"] < values["density"] < values["blocks"]
    record = Record("cigar", {"set": "cigar", "members": 10, "repeat": 0}, dict(values), 0.0)
    assert "10 k-means members" in sparse_eac_example.page([record], tmp_path)
    assert (tmp_path / "sparse-eac-cigar.png").exists()


def test_equal_clusters_are_not_uneven() -> None:
    assert sparse_eac.uneven(quorate.as_ensemble([[0, 0, 1, 1], [0, 1, 0, 1]])) == 1.0


def test_a_set_of_table_one() -> None:
    values = sparse_eac_sets.measure({"set": "rings", "choice": "var", "members": 10, "repeat": 0})
    assert 0.3 < values["ci"] <= 1
    assert 0 < values["density"] < 1
    with pytest.raises(FileNotFoundError):
        sparse_eac_sets.features("textures", 0)


def test_a_page_of_invented_records(tmp_path: Path) -> None:
    results = Results(tmp_path / "sparse_eac.jsonl")
    paper = sparse_eac.PAPER
    cases = {experiment.name: experiment.cases(True) for experiment in paper.experiments}
    for case in cases["growth"]:
        share = 1.5 if case["rule"] == "linear" else 1.2
        pairs = int(share * sparse_eac.estimate(case["rule"], case["n"]) / 2)
        results.measure("growth", case, lambda _, p=pairs: {"pairs": p, "kmin": 9, "uneven": 1.2})
    for case in cases["causes"]:
        results.measure("causes", case, lambda _: {"pairs": 100_000, "kmin": 40, "uneven": 1.3})
    for case in cases["table1"]:
        results.measure("table1", case, lambda _: {"ci": 0.9, "density": 0.1, "pairs": 9, "kmin": 9, "told": ""})
    for case in cases["settings"]:
        results.measure("settings", case, lambda _: {"ci": 0.9, "density": 0.1, "pairs": 9, "kmin": 9, "told": ""})
    for case in cases["times"]:
        taken = dict.fromkeys(("member_seconds", "matrix_seconds", "link_seconds"), case["n"] / 1000)
        results.measure("times", case, lambda _, t=taken: t)
    claims = {claim.text: claim for claim in write_page(paper, results, tmp_path, quick=True)}
    assert claims["Under the linear rule the space is linear in n"].verdict == "holds"
    assert claims["The time is linear in n, too (members not counted)"].verdict == "holds"
    assert claims["All three choices stay below perfect blocks"].verdict == "holds"
    assert claims["More clusters may raise the index"].verdict == "does not hold"
    text = (tmp_path / "sparse-eac.md").read_text()
    assert "| iris, var, k 10-20 | 0.91 | 0.90" in text
    assert "textures" in text

"""The reproduction of the normalized-edges paper, without a data folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.papers import ca_hne, ca_hne_claims, ca_hne_sets
from benchmarks.papers.paper import write_page
from benchmarks.papers.records import Results


def test_no_records_no_verdicts(tmp_path: Path) -> None:
    claims = write_page(ca_hne.PAPER, Results(tmp_path / "none.jsonl"), tmp_path, quick=False)
    assert {claim.verdict for claim in claims} == {"not tested"}
    assert "Not measured" in (tmp_path / "ca-hne.md").read_text()


def test_cases_are_told_apart() -> None:
    for experiment in ca_hne.PAPER.experiments:
        for quick in (True, False):
            cases = [tuple(sorted(case.items())) for case in experiment.cases(quick)]
            assert len(set(cases)) == len(cases) > 0


def test_error_ignores_noise_and_names() -> None:
    y = np.array([0, 0, 1, 1, -1])
    assert ca_hne_sets.error(np.array([5, 5, 2, 2, 5]), y) == 0
    assert ca_hne_sets.error(np.array([0, 1, 2, 2, 2]), y) == pytest.approx(0.25)
    assert ca_hne.impurity(np.array([0, 1, 2, 2, 2]), y) == 0


def test_complex_image_has_seven_clusters() -> None:
    X, y = ca_hne_sets.complex_image(0)
    assert X.shape == (700, 2)
    assert np.bincount(y).tolist() == [180, 80, 110, 110, 110, 50, 60]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """One run of every experiment of normalized edges on the 2-spirals."""
    results = Results(tmp_path_factory.mktemp("hne") / "ca_hne.jsonl")
    for experiment in ca_hne.PAPER.experiments:
        for case in experiment.cases(True):
            if case["set"] == "2-spirals" and case.get("what", "theta") == "theta":
                results.measure(experiment.name, case, experiment.measure)
    return results


def test_normalized_edges_find_the_spirals(measured: Results, tmp_path: Path) -> None:
    found = measured.of("errors")[0].values
    assert set(found) == set(ca_hne_claims.ROWS)
    assert found["HNE"] == 0
    assert found["KM"] > 0.2
    claims = write_page(ca_hne.PAPER, measured, tmp_path, quick=True)
    assert claims[0].verdict == "holds"
    assert (tmp_path / "images" / "ca-hne-co-association.png").stat().st_size < 120_000
    assert "| HNE | **0.000" in (tmp_path / "ca-hne.md").read_text()

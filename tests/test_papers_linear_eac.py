"""Candel's page: the measured pieces on tiny inputs, claims and sections from invented records and from none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.papers import linear_eac_runs as runs
from benchmarks.papers.compare import Claim
from benchmarks.papers.linear_eac import PAPER
from benchmarks.papers.linear_eac_claims import claims, exponent
from benchmarks.papers.linear_eac_pages import comparisons
from benchmarks.papers.linear_eac_printed import COLUMNS, PRINTED, PRINTED_BEST
from benchmarks.papers.records import Record


@pytest.fixture
def blobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any data set is three small Gaussians."""

    def load(name: str) -> tuple[Any, Any]:
        rng = np.random.default_rng(len(name))
        y = np.repeat(np.arange(3), 40)
        return 6.0 * y[:, None] + rng.standard_normal((120, 2)), y

    monkeypatch.setattr(runs, "load", load)


def test_printed_figures() -> None:
    assert PRINTED["nmi"]["glass"]["MCLA"] == 84.3
    assert PRINTED["density"]["yeast"]["E-ML"] == 51.2
    assert "R-AL" not in PRINTED["nmi"]["musk"]
    assert [len(table) for table in PRINTED.values()] == [15, 15]
    assert PRINTED_BEST["nmi"]["abalone"] == {"Best-NH": 81.02, "Best-H": 81.31}
    assert PRINTED_BEST["density"]["musk"] == {"Best-NH": 51.8}
    assert set(COLUMNS) == {"Max", "Mean", *runs.METHODS}


@pytest.mark.usefixtures("blobs")
def test_every_experiment_measures_its_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("N_CLUSTERS", 4), ("N_MEMBERS", 5), ("BASE", "++1")):
        monkeypatch.setattr(runs, name, value)
    case = {"set": "glass", "form": "raw", "base": "++1", "repeat": 0}
    found = runs.measure_tables(case)
    assert all(f"{column} {measure}" in found for column in COLUMNS for measure in PRINTED)
    assert set(runs.measure_bases({**case, "base": "one seed"})) >= {"Mean nmi", "KM density"}
    assert -1 <= runs.measure_loss({"set": "glass", "starts": 3, "repeat": 0})["correlation"] <= 1
    assert len(runs.measure_ties({"set": "glass", "repeat": 0})["ours nmi"]) == 5


def test_the_matrix_gives_the_density() -> None:
    found = runs.measure_times({"data": "hard", "n": 300, "dense": 300, "linked": 300, "repeat": 0})
    assert found["difference"] < 1e-6
    assert found["scipy R-AL seconds"] > 0


def _invented(set_name: str, repeat: int) -> Record:
    values = {f"{c} {m}": PRINTED[m][set_name].get(c, 50.0) / 100 for c in COLUMNS for m in PRINTED}
    case = {"set": set_name, "form": "raw", "base": "++10", "repeat": repeat}
    return Record("tables", case, {**values, "rows": 10, **{f"{m} seconds": 0.1 for m in runs.METHODS}}, 1.0)


def test_claims_with_and_without_records(tmp_path: Path) -> None:
    none: dict[str, list[Record]] = {experiment.name: [] for experiment in PAPER.experiments}
    assert {claim.verdict for claim in claims(none)} == {"not tested"}
    tables = [_invented(name, repeat) for name in PRINTED["nmi"] for repeat in range(2)]
    judged = claims({**none, "tables": tables})
    assert isinstance(judged[0], Claim)
    assert judged[0].verdict == "holds"  # by the printed figures themselves
    assert {row.verdict for row in comparisons(tables, "raw").values()} == {"agrees"}
    page = PAPER.experiments[0].page(tables, tmp_path)
    assert "= |" in page
    assert (tmp_path / "linear-eac-density.png").exists()


def test_exponent() -> None:
    records = [Record("times", {"n": n}, {"KM seconds": 1e-4 * n**2}, 0.0) for n in (100, 200, 400)]
    assert exponent(records, "KM seconds") == pytest.approx(2)

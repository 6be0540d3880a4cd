"""The comparison of methods: its halves, its records, and that the page tells what they hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.methods import page
from benchmarks.methods.__main__ import RESULTS
from benchmarks.methods.runs import PROTOCOLS, Case, Results, cases
from benchmarks.methods.sets import SETS, half_of

from quorate import METHODS


def test_halves_alternate_and_cover_forty_sets() -> None:
    assert len(SETS) >= 40
    assert sorted(set(SETS)) == SETS
    assert [half_of(name) for name in SETS[:4]] == ["choice", "report", "choice", "report"]


def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    results = Results(tmp_path / "results.jsonl")
    case = cases(1, 0, quick=True)[0]
    results.write(case, {"lwgp": [0.5, 0.4, 0.3, 0.1], "cspa": "more than 3,000 distinct rows"})
    with results.path.open("a") as file:
        file.write('{"set": "iris", "prot')  # killed while writing
    again = Results(results.path)
    assert set(METHODS) - set(again.missing(case)) == {"lwgp", "cspa"}
    again.write(case, {"eac": [0.1, 0.1, 0.1, 0.1]})
    found = Results(results.path).values[case]
    assert found["lwgp"]["nmi"] == 0.5
    assert found["eac"]["ari"] == 0.1
    assert "nmi" not in found["cspa"]


def test_ranks_count_cases_that_all_methods_were_run_on(tmp_path: Path) -> None:
    results = Results(tmp_path / "results.jsonl")
    first, second = (name for name in SETS[:3] if half_of(name) == "choice")
    results.write(Case(first, PROTOCOLS[0], 0), {"lwgp": [0.9, 0, 0, 0], "eac": [0.5, 0, 0, 0], "cspa": [0.9, 0, 0, 0]})
    results.write(Case(second, PROTOCOLS[0], 0), {"lwgp": [0.1, 0, 0, 0], "eac": [0.5, 0, 0, 0], "cspa": "too many"})
    assert page.mean_ranks(results, "choice") == ({"cspa": 1.5, "eac": 3.0, "lwgp": 1.5}, 1)


def test_the_critical_difference_is_nemenyis() -> None:
    # Demsar 2006, table 5: q = 2.569 for four classifiers
    assert page.critical_difference(4, 14) == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 14)), abs=1e-3)


def test_the_page_tells_what_the_results_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that was not written anew after a measurement, or was edited by hand, is not true."""
    monkeypatch.chdir(Path(__file__).parents[1])
    results = Results(RESULTS)
    assert page.PAGE.read_text(encoding="utf-8") == page.text()
    assert page.EVIDENCE.read_text(encoding="utf-8") == page.measured(results)
    measured = {method for found in results.values.values() for method in found}
    assert measured <= set(METHODS)

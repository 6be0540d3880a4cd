"""The corpus of bad, odd and good cases: one line of error or success, nothing half-written, no input changed.

The cases are data: tests/corpus/*.cases, explained in benchmarks/reliability/cases.py.
"""

from __future__ import annotations

import pytest
from benchmarks.reliability.cases import Case, read_corpus
from benchmarks.reliability.shell import faults, run_case

CASES = read_corpus()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case) -> None:
    outcome = run_case(case)
    assert faults(case, outcome) == [], f"quorate {case.run} with {case.files}: {outcome.err[-3000:]}"

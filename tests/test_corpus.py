"""The corpus of bad, odd and good cases: one line of error or success, nothing half-written, no input changed.

The cases are data: tests/corpus/*.cases, explained in benchmarks/reliability/cases.py.
"""

from __future__ import annotations

import pytest
import zarr
from benchmarks.reliability.cases import Case, read_corpus
from benchmarks.reliability.shell import faults, run_case

CASES = read_corpus()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case) -> None:
    inside = [str(made.get("inside", "")) for made in case.files.values() if isinstance(made, dict)]
    if "zarr.json" in inside and zarr.__version__.startswith("2."):
        pytest.skip("zarr 2, the last one for Python 3.10, writes no store that has such a file")
    outcome = run_case(case)
    assert faults(case, outcome) == [], f"quorate {case.run} with {case.files}: {outcome.err[-3000:]}"

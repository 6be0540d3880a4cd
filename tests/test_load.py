"""Load: threads and processes at once, many calls, first imports at once. `make soak` does the same for longer."""

from __future__ import annotations

import pytest
from benchmarks.reliability import load


def test_eight_threads_at_once() -> None:
    assert load.in_threads(8, 16) == []


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("kind", ["fork", "spawn", "joblib"])
def test_processes(kind: str) -> None:
    assert load.in_processes(kind, 4) == []


def test_many_calls_do_not_grow() -> None:
    """A table of labels is 20 kB; the 10,000 calls of make soak are judged more strictly."""
    assert load.growth(150) < 40_000


def test_two_first_imports_at_once() -> None:
    """Both compile and store two kernels; `make soak` does it with those of a whole consensus, which take long."""
    assert load.first_imports(2, "as_ensemble(table).labels.tolist()") == []

"""What methods say they need, compared with what they take; refusals before anything is allocated."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from memory_peaks import shapes

from quorate import METHODS, as_ensemble, compress, consensus, solve
from quorate._consensus.run_method import bytes_beyond_linear
from quorate._types import no_tables
from quorate.solvers.sizes import linear_bytes, size_of

LIMIT = 200_000_000
"""The limit under which methods are run here; those that say they need more must refuse."""
# methods that take long on one of the shapes, and those that only run others
SLOW = {("correlation", "fine"), ("correlation", "gaps"), ("lwea", "gaps"), ("greedy", "fine"), ("greedy", "gaps")}


def test_every_method_states_its_tables() -> None:
    assert [name for name, method in METHODS.items() if method.tables is no_tables] == []


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory can be set back on Linux alone")
def test_statements_bound_the_measured_peaks() -> None:
    """Under a limit of 200 MB no method takes more than it states, also with a member of 20,000 clusters."""
    script = Path(__file__).with_name("memory_peaks.py")
    # memory that is given back goes to the system at once, so that the next peak is not hidden in it
    settings = {"MALLOC_TRIM_THRESHOLD_": "0", "MALLOC_MMAP_THRESHOLD_": "65536", "NUMBA_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", str(script), str(LIMIT)]
    paths = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        command, env={**os.environ, **settings, "PYTHONPATH": paths}, capture_output=True, text=True, check=True
    )
    measured = [json.loads(line) for line in done.stdout.splitlines()]
    tables = shapes()
    assert {entry["method"] for entry in measured} == {name for name, method in METHODS.items() if not method.combines}
    broken = []
    for entry in measured:
        rows, k = tables[entry["shape"]]
        number = None if entry["method"] == "best" else k
        beyond = bytes_beyond_linear(METHODS[entry["method"]], rows, {}, number)
        if (entry["peak"] is None) != (beyond > LIMIT) and entry["peak"] is not None:
            broken.append(entry)
        if entry["peak"] is not None and entry["peak"] > beyond + linear_bytes(size_of(rows, number)):
            broken.append({**entry, "stated": beyond + linear_bytes(size_of(rows, number))})
    assert broken == []


@pytest.mark.parametrize("method", ["correlation", "cumulative", "kmeans", "mixture"])
def test_tables_over_many_clusters_are_refused_at_once(method: str) -> None:
    labels = np.column_stack([np.arange(30_000) % 7, np.arange(30_000)])
    rows, _ = compress(as_ensemble(labels, orientation="objects", check=False))
    with pytest.raises(
        MemoryError, match=r"30,000 distinct rows and 30,007 clusters of members would need .* max_bytes"
    ):
        solve(rows, 20_000, method=method, max_bytes=LIMIT)


def test_best_returns_a_member_of_very_many_clusters() -> None:
    """The confidence of 20,000 clusters would need a table of 3.2 GB."""
    fine = np.arange(20_000)
    labels = np.column_stack([fine % 9, fine, fine])
    result = consensus(as_ensemble(labels, orientation="objects", check=False), method="best", max_bytes=LIMIT)
    assert result.n_clusters == 20_000
    assert result.confidence is not None
    assert (result.confidence > 0.5).all()

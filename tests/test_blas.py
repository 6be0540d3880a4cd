"""BLAS has one thread while members are made: its sums, and with them the members, depend on the number of threads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.linalg  # noqa: F401, loads its BLAS library
from threadpoolctl import threadpool_info

from quorate.ops.threads import one_blas_thread
from quorate.solvers.spectral import embedding


def numbers() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_the_limit_holds_while_any_thread_needs_it() -> None:
    """Threads enter and leave in an order in which the first is not the last, and new threads come afterwards."""
    before = numbers()
    if max(before, default=1) == 1:
        pytest.skip("BLAS has one thread on this machine anyway")
    for _ in range(3):
        entered, may_leave = threading.Event(), threading.Event()

        def first(entered: threading.Event = entered, may_leave: threading.Event = may_leave) -> set[int]:
            with one_blas_thread():
                entered.set()
                may_leave.wait()
                return numbers()

        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(first)
            entered.wait()
            with one_blas_thread():
                assert numbers() == {1}
                may_leave.set()
                assert other.result() == {1}
                assert numbers() == {1}
        assert numbers() == before


@pytest.mark.parametrize(("size", "limited"), [(300, True), (embedding.MANY_ROWS, False)])
def test_small_eigenproblems_are_solved_by_one_thread(
    size: int, limited: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More threads of BLAS spin while they wait: on a busy machine that took a hundred times as long."""
    seen = []
    real = embedding._part
    monkeypatch.setattr(embedding, "_part", lambda matrix, wanted: (seen.append(numbers()), real(matrix, wanted))[1])
    before = numbers()
    embedding.leading_eigenvectors(np.eye(size), 2)
    assert seen == [{1} if limited else before]
    assert numbers() == before

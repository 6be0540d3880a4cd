"""The greedy search that goes on after its first optimum."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest
from benchmarks.ensembles import planted

from quorate import anmi, consensus


def test_a_longer_search_finds_a_higher_anmi() -> None:
    labels = planted(9, 300, 5, 8, 0.57)
    plain = consensus(labels, 5, method="greedy", random_state=0, confidence=False)
    supra = consensus(labels, 5, method="supra", random_state=0, confidence=False)
    found = consensus(labels, 5, method="greedy", random_state=0, confidence=False, tries=60)
    assert found.info["tries"] == 60
    assert found.info["improved"] >= 1
    assert found.info["first_anmi"] == pytest.approx(plain.objective, abs=1e-12)
    assert found.objective > max(plain.objective, anmi(supra.labels, labels)) + 1e-6
    assert found.objective == pytest.approx(anmi(found.labels, labels), abs=1e-12)
    assert found.n_clusters == 5
    again = consensus(labels, 5, method="greedy", random_state=0, confidence=False, tries=60)
    assert np.array_equal(again.labels, found.labels)


def test_the_search_ends_in_time() -> None:
    labels = planted(2, 200, 4, 6, 0.5)
    start = time.monotonic()
    result = consensus(labels, 4, method="greedy", random_state=0, confidence=False, seconds=0.2)
    assert result.info["tries"] > 0
    assert time.monotonic() - start < 20


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer that interrupts a process")
def test_an_interrupted_search_gives_the_best_so_far() -> None:
    labels = planted(2, 200, 4, 6, 0.5)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.warns(UserWarning, match=r"was interrupted; this is the best labelling of [\d,]+ tries"):
            result = consensus(labels, 4, method="greedy", random_state=0, confidence=False, seconds=600)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert result.objective >= result.info["first_anmi"]


def test_nothing_is_searched_where_there_is_one_answer() -> None:
    for k in (1, 3):
        assert "tries" not in consensus([[0, 1, 2], [0, 1, 2]], k, method="greedy", tries=5, confidence=False).info
    with pytest.raises(ValueError, match="tries must be at least 0"):
        consensus([[0, 1, 2], [0, 1, 2]], 2, method="greedy", tries=-1)
    with pytest.raises(TypeError, match="seconds must be a number"):
        consensus([[0, 1, 2], [0, 1, 2]], 2, method="greedy", seconds="long")

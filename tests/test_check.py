"""Options are checked alike, and refused with words that help."""

from __future__ import annotations

import numpy as np
import pytest
from ensembles import noisy

from quorate import METHODS, Method, _check, consensus
from quorate.methods.kmeans import kmeans


def test_a_quadratic_method_is_refused_before_it_allocates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "pairs", Method(kmeans, "for this test", "doi:none", memory="quadratic"))
    assert consensus(noisy(0), 3, method="pairs", random_state=0).n_clusters == 3
    with pytest.raises(
        MemoryError,
        match=r"'pairs' on \d+ distinct rows and \d+ clusters of members would need .* more than max_bytes = 100 B",
    ):
        consensus(noisy(0), 3, method="pairs", max_bytes=100)


def test_generators_are_local_and_follow_the_seed() -> None:
    draws = [_check.generator(7).random() for _ in range(2)]
    assert draws[0] == draws[1]
    own = np.random.default_rng(7)
    assert _check.generator(own) is own
    states = [np.random.RandomState(7) for _ in range(2)]
    assert _check.generator(states[0]).random() == _check.generator(states[1]).random()


def test_fractions() -> None:
    assert _check.fraction(1, "theta") == 1.0
    with pytest.raises(ValueError, match=r"theta must lie in \[0, 1\], got 8; it is a share\."):
        _check.fraction(8, "theta", advice="it is a share.")
    with pytest.raises(TypeError, match="theta must be a number, got '8' of type str"):
        _check.fraction("8", "theta")
    with pytest.raises(ValueError, match="theta must lie"):
        _check.fraction(float("nan"), "theta")


@pytest.mark.parametrize(("size", "words"), [(12, "12 B"), (4_000_000_000, "4 GB"), (40 * 10**12, "40 TB")])
def test_sizes_for_people(size: int, words: str) -> None:
    assert _check.size(size) == words

"""Leading eigenvectors: what LAPACK gets wrong is noticed and computed in another way."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import as_ensemble, consensus
from quorate.solvers.spectral.embedding import leading_eigenvectors, with_signs


def symmetric(seed: int, size: int, rank: int) -> np.ndarray:
    """With repeated eigenvalues: a projection times 2 plus a little."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(size, size)))[0]
    values = np.zeros(size)
    values[:rank] = 2.0
    return (basis * values) @ basis.T


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 12), st.integers(1, 14))
def test_they_are_eigenvectors(seed: int, size: int, rank: int, wanted: int) -> None:
    matrix = symmetric(seed, size, min(rank, size))
    values, vectors = leading_eigenvectors(matrix, wanted)
    assert vectors.shape == (size, min(wanted, size))
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-8)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(vectors.shape[1]), atol=1e-8)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix)[::-1][: len(values)], atol=1e-8)


def _nothing(matrix, **options):
    return np.empty(0), np.empty((len(matrix), 0))


def _fails(matrix, **options):
    raise scipy.linalg.LinAlgError("Internal Error.")


def _wrong(matrix, **options):
    low, high = options["subset_by_index"]
    return np.ones(high - low + 1), np.eye(len(matrix))[:, low : high + 1]


def _not_finite(matrix, **options):
    low, high = options["subset_by_index"]
    return np.ones(high - low + 1), np.full((len(matrix), high - low + 1), np.nan)


@pytest.mark.parametrize("answer", [_nothing, _fails, _wrong, _not_finite])
def test_wrong_answers_are_replaced(answer, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = symmetric(3, 6, 2) + np.diag(np.arange(6.0))
    expected = leading_eigenvectors(matrix, 3)
    monkeypatch.setattr(scipy.linalg, "eigh", answer)
    for found, right in zip(leading_eigenvectors(matrix, 3), expected, strict=True):
        np.testing.assert_allclose(found, right, atol=1e-10)


def test_signs_make_the_largest_entry_positive() -> None:
    assert with_signs(np.array([[1.0, 0.5], [-2.0, 0.1]])).tolist() == [[-1.0, 0.5], [2.0, 0.1]]


@pytest.mark.parametrize("method", ["transfer", "lwgp", "spectral", "ecpcs", "auto"])
def test_ensembles_on_which_a_part_of_the_eigenvectors_was_missing(method: str) -> None:
    """SciPy issue 13913: the first gave no eigenvector at all, the second "Internal Error."."""
    assert consensus([[0] * 12, [1, 1, 4, 3, 1, 0, 1, 2, 4, 4, 0, 0]], 1, method=method).labels.tolist() == [0] * 12
    labels = [[0] * 12, [1, 1, 0, 3, 2, 2, 3, 2, 3, 3, 2, 2]]
    weighted = as_ensemble(labels, weights=[210.87453568, 0.62995689])
    assert consensus(weighted, 4, method=method, random_state=0).n_clusters == 4

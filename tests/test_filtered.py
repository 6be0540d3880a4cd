"""Chebyshev-filtered subspace iteration: the kernels beside their twins, and eigenvectors beside LAPACK's."""

from __future__ import annotations

import numpy as np
import oracle_landmarks as oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from quorate.ops import landmarks as kernels
from quorate.solvers.spectral import embedding
from quorate.solvers.spectral.embedding import FILTER_TOLERANCE, SparseMatrix, block_size, filtered_eigenvectors


def graph(n_rows, n_landmarks, seed=0, n_parts=1):
    """B' Dx^-1 B scaled by degrees, for rows linked with landmarks that lie on a line; n_parts of them do not touch."""
    rng = np.random.default_rng(seed)
    size = n_landmarks // n_parts
    part, place = rng.integers(n_parts, size=n_rows), rng.uniform(2, size - 2, n_rows)
    near = np.clip(place[:, None].astype(int) + np.arange(-2, 3), 0, size - 1) + size * part[:, None]
    folded = oracle.folded(near, rng.uniform(0.1, 1.0, near.shape), n_landmarks)
    degree = folded.sum(axis=1)
    root = 1 / np.sqrt(np.where(degree > 0, degree, 1))
    return folded * root[:, None] * root


def as_sparse(matrix):
    form = csr_array(matrix)
    return SparseMatrix(form.indptr.astype(np.int64), form.indices.astype(np.int32), form.data)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**31), st.integers(1, 12), st.integers(1, 9))
def test_recurrence(seed, size, width):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(size, size)) * (rng.random((size, size)) < 0.4)
    current, previous = rng.normal(size=(2, size, width))
    factors = rng.normal(size=3)
    expected = oracle.recurrence(matrix, current, previous, factors)
    kernels.recurrence(*as_sparse(matrix), current, previous, factors, previous)
    assert np.allclose(previous, expected, atol=1e-12)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**31), st.integers(1, 12))
def test_sparse_form(seed, size):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(size, size)) * (rng.random((size, size)) < 0.4)
    scale = rng.uniform(0.5, 2, size)
    indptr = np.empty(size + 1, dtype=np.int64)
    kernels.count_nonzeros(matrix, indptr)
    indices, values = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
    kernels.scaled_nonzeros(matrix, scale, indptr, indices, values)
    found = csr_array((values, indices, indptr), shape=(size, size)).toarray()
    assert np.allclose(found, matrix * scale[:, None] * scale, atol=1e-12)


@pytest.mark.parametrize(("n_landmarks", "wanted", "n_parts"), [(300, 12, 1), (400, 25, 4), (300, 1, 3)])
def test_vectors_are_those_of_lapack(n_landmarks, wanted, n_parts):
    matrix = graph(6 * n_landmarks, n_landmarks, n_parts=n_parts)
    values, vectors = filtered_eigenvectors(as_sparse(matrix), wanted, np.random.default_rng(0))
    assert vectors.shape == (n_landmarks, wanted)
    assert np.allclose(vectors.T @ vectors, np.eye(wanted), atol=1e-10)
    expected, right = (found[..., ::-1] for found in np.linalg.eigh(matrix))
    assert np.allclose(values, expected[:wanted], atol=1e-3)
    # the last vectors may be mixed with the next ones, whose eigenvalues are almost the same
    inside = np.linalg.norm(right[:, : wanted + 4].T @ vectors, axis=0)
    assert inside.min() > 1 - FILTER_TOLERANCE


def test_more_parts_than_vectors_are_left_to_lapack():
    """All wanted eigenvalues and those of the block are 1, so that nothing tells the wanted vectors from others."""
    assert filtered_eigenvectors(as_sparse(graph(4000, 400, n_parts=40)), 10, np.random.default_rng(0)) is None


def test_eigenvalues_that_are_nearly_equal_are_left_to_lapack(monkeypatch):
    """A long chain of landmarks has very many eigenvalues near 1; one round is not enough for it."""
    monkeypatch.setattr(embedding, "MOST_ROUNDS", 1)
    assert filtered_eigenvectors(as_sparse(graph(4000, 800)), 10, np.random.default_rng(0)) is None


def test_a_matrix_of_zeros_is_left_to_lapack():
    assert filtered_eigenvectors(as_sparse(np.zeros((200, 200))), 3, np.random.default_rng(0)) is None


def test_the_basis_depends_on_nothing_but_the_space():
    rng = np.random.default_rng(0)
    vectors, rotation = (np.linalg.qr(rng.normal(size=(size, 5)))[0] for size in (40, 5))
    basis = embedding.turned(vectors)
    assert np.allclose(embedding.turned(vectors @ rotation), basis, atol=1e-12)
    assert np.allclose(basis.T @ basis, np.eye(5), atol=1e-12)
    assert np.allclose(basis @ (basis.T @ vectors), vectors, atol=1e-12)


def test_a_choice_among_equal_eigenvalues_depends_on_their_space_alone():
    rng = np.random.default_rng(0)
    vectors, rotation = (np.linalg.qr(rng.normal(size=(size, size)))[0] for size in (8, 4))
    values = np.array([1.0, 0.9, 0.5, 0.5, 0.5, 0.5, 0.2, 0.1])
    other = vectors.copy()
    other[:, 2:6] = vectors[:, 2:6] @ rotation
    for wanted in range(1, 9):
        found, again = (embedding.untied(values, basis, wanted) for basis in (vectors, other))
        assert np.array_equal(found[0], values[:wanted])
        assert np.allclose(found[1].T @ found[1], np.eye(wanted), atol=1e-12)
        whole, whole_again = found[1] @ found[1].T, again[1] @ again[1].T
        assert np.allclose(whole, whole_again, atol=1e-12)
    assert np.array_equal(embedding.untied(values, vectors, 2)[1], vectors[:, :2])


def test_blocks_are_larger_than_what_is_wanted():
    assert [block_size(n) for n in (1, 8, 40, 60)] == [16, 24, 64, 88]

"""Landmarks: the kernels against their slow obvious twins, and where landmarks are placed."""

from __future__ import annotations

import numpy as np
import oracle_landmarks as oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from quorate.generation import landmarks as module
from quorate.generation.landmarks import (
    Landmarks,
    find_landmarks,
    principal_directions,
    projected,
    shares,
    unit_rows,
)
from quorate.ops import landmarks as kernels
from quorate.ops.euclidean import pad_columns
from quorate.ops.threads import Stop


def whole_numbers(seed, n_rows, width):
    """Whole numbers, so that float32 is exact and ties abound."""
    return np.random.default_rng(seed).integers(-3, 4, size=(n_rows, width)).astype(np.float32)


def empty(n_rows, n_near):
    return np.empty((n_rows, n_near), dtype=np.int32), np.empty((n_rows, n_near), dtype=np.float32)


def links(seed, n_rows, n_landmarks, n_near):
    """Different landmarks for each row, and weights."""
    rng = np.random.default_rng(seed)
    near = np.argsort(rng.random((n_rows, n_landmarks)), axis=1)[:, :n_near].astype(np.int32)
    return near, rng.uniform(0.1, 1, size=near.shape).astype(np.float32)


@given(seed=st.integers(0, 1000), n_rows=st.integers(1, 600), width=st.integers(1, 11), n_landmarks=st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_nearest_landmarks(seed, n_rows, width, n_landmarks):
    rows, landmarks = whole_numbers(seed, n_rows, width), whole_numbers(seed + 1, n_landmarks, width)
    n_near = min(5, n_landmarks)
    near, squared = empty(n_rows, n_near)
    kernels.nearest_landmarks(rows, landmarks, near, squared)
    expected, distances = oracle.nearest(rows, landmarks, n_near)
    assert np.array_equal(near, expected)
    assert np.array_equal(squared, distances)


@pytest.mark.parametrize("width", [1, 3, 4, 17])
def test_a_row_has_the_same_landmarks_wherever_it_stands(width):
    rng = np.random.default_rng(width)
    rows, landmarks = (rng.normal(size=(size, width)).astype(np.float32) for size in (700, 90))
    near, squared = empty(700, 4)
    kernels.nearest_landmarks(rows, landmarks, near, squared)
    for row in (0, 255, 256, 511, 699):
        one = empty(1, 4)
        kernels.nearest_landmarks(rows[row : row + 1], landmarks, *one)
        assert np.array_equal(one[0][0], near[row])
        assert np.array_equal(one[1][0], squared[row])


@given(seed=st.integers(0, 1000), width=st.integers(1, 20))
@settings(max_examples=25, deadline=None)
def test_nearest_landmarks_by_groups(seed, width):
    rows, landmarks = whole_numbers(seed, 200, width), whole_numbers(seed + 1, 60, width)
    groups = whole_numbers(seed + 2, 4, width)
    starts = np.array([0, 10, 31, 32, 60])
    around = oracle.nearest(landmarks, landmarks, 12)[0].astype(np.int32)
    near, squared = empty(200, 3)
    kernels.nearest_landmarks_by_groups(rows, landmarks, groups, starts, around, near, squared)
    expected = oracle.nearest_by_groups(rows, landmarks, groups, starts, around, 3)
    assert np.array_equal(near, expected)
    distances = oracle.squared_distances(rows, landmarks)
    assert np.array_equal(squared, np.take_along_axis(distances, near.astype(int), axis=1))


def test_most_similar_landmarks():
    rng = np.random.default_rng(0)
    similarity = rng.integers(0, 6, size=(50, 20)).astype(np.float32) / 5
    near, squared = empty(50, 4)
    kernels.most_similar_landmarks(similarity, near, squared)
    expected = np.argsort(-similarity, axis=1, kind="stable")[:, :4]
    assert np.array_equal(near, expected)
    assert np.allclose(squared, 2 - 2 * np.take_along_axis(similarity, expected, axis=1), atol=1e-6)


def test_weigh():
    squared = np.array([[0.0, 1.0, 9.0], [4.0, 1e6, 1e30]], dtype=np.float32)
    weight = np.empty_like(squared)
    kernels.weigh(squared, 1.5, weight)
    assert np.allclose(weight, oracle.weights(squared, 1.5, kernels.LEAST_WEIGHT), rtol=1e-6)
    assert weight.min() > 0


@given(seed=st.integers(0, 1000), n_rows=st.integers(1, 600), width=st.integers(1, 20), quads=st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_project(seed, n_rows, width, quads):
    rows, directions = whole_numbers(seed, n_rows, width), whole_numbers(seed + 1, 4 * quads, width)
    result = np.empty((n_rows, 4 * quads), dtype=np.float32)
    kernels.project(rows, pad_columns(directions), result)
    assert np.array_equal(result, rows @ directions.T)


def test_principal_directions_hold_what_varies():
    """Rows that vary in 64 directions of 300, and hardly in the others, keep their distances."""
    rng = np.random.default_rng(0)
    rows = 100 + rng.normal(size=(500, 64)) @ np.linalg.qr(rng.normal(size=(300, 64)))[0].T
    rows = (rows + 1e-3 * rng.normal(size=rows.shape)).astype(np.float32)
    directions = principal_directions(rows, rng)
    assert np.allclose(directions @ directions.T, np.eye(64), atol=1e-4)
    found = projected(rows, directions)
    assert np.allclose(oracle.squared_distances(found, found), oracle.squared_distances(rows, rows), atol=0.1)


@given(seed=st.integers(0, 1000), n_near=st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_fold_and_points(seed, n_near):
    near, weight = links(seed, 80, 12, n_near)
    folded = np.zeros((12, 12))
    kernels.add_landmark_pairs(near, weight, folded)
    assert np.allclose(folded, oracle.folded(near, weight, 12))
    table = np.random.default_rng(seed).normal(size=(12, 5))
    points = np.empty((80, 5), dtype=np.float32)
    kernels.points_of_rows(near, weight, table, points)
    assert np.allclose(points, oracle.points(near, weight, table), rtol=0, atol=0.5 / kernels.GRID + 1e-5)
    assert np.array_equal(points * kernels.GRID, np.round(points * kernels.GRID))


def test_a_point_of_zeros_stays_one():
    points = np.full((1, 3), 7, dtype=np.float32)
    near = np.array([[0, 1]], dtype=np.int32)
    kernels.points_of_rows(near, np.ones((1, 2), dtype=np.float32), np.zeros((2, 3)), points)
    assert points.tolist() == [[0, 0, 0]]


@given(sizes=st.lists(st.integers(1, 50), min_size=1, max_size=12), part=st.floats(0, 1))
def test_shares_of_groups(sizes, part):
    sizes = np.array(sizes)
    total = max(len(sizes), int(part * sizes.sum()))
    found = shares(sizes, total)
    assert found.sum() >= total
    assert (found >= 1).all()
    assert (found <= sizes).all()
    assert found.sum() <= total + len(sizes)


@pytest.mark.parametrize("n_landmarks", [1, 2, 7, 100, 300])
def test_landmarks_are_as_many_as_asked_for(n_landmarks):
    sample = np.random.default_rng(0).normal(size=(1000, 3)).astype(np.float32)
    found = find_landmarks(sample, n_landmarks, 5, 3, np.random.default_rng(1), Stop())
    assert isinstance(found, Landmarks)
    assert 0.95 * n_landmarks <= len(found) <= n_landmarks
    assert (found.groups is None) == (n_landmarks <= module.EXACT_LANDMARKS)
    near, squared = found.search(sample)
    assert near.shape == (1000, min(5, len(found)))
    assert (np.diff(squared, axis=1) >= 0).all()


def test_the_search_by_groups_finds_nearly_all():
    """In the plane the two steps lose next to nothing."""
    sample = np.random.default_rng(0).normal(size=(4000, 2)).astype(np.float32)
    found = find_landmarks(sample, 500, 5, 3, np.random.default_rng(1), Stop())
    near, _ = found.search(sample)
    expected, _ = oracle.nearest(sample, found.points, 5)
    shared = [len(set(row) & set(other)) for row, other in zip(near.tolist(), expected.tolist(), strict=True)]
    assert np.mean(shared) > 4.95


def test_landmarks_of_duplicates_are_distinct():
    sample = np.repeat(np.arange(8, dtype=np.float32), 50)[:, None]
    found = find_landmarks(sample, 200, 5, 3, np.random.default_rng(1), Stop())
    assert sorted(set(found.points[:, 0].tolist())) == sorted(found.points[:, 0].tolist())
    assert len(found) <= 8


def test_sparse_landmarks_are_compared_by_cosine():
    rng = np.random.default_rng(0)
    rows = csr_array(rng.integers(0, 3, size=(60, 12)).astype(np.float32))
    found = find_landmarks(rows, 20, 4, 3, np.random.default_rng(1), Stop())
    near, squared = found.search(rows)
    assert np.array_equal(near, found.search(csr_array(7 * rows))[0])
    dense, points = unit_rows(rows).toarray(), found.points.toarray()
    expected = -np.sort(-(dense @ points.T), axis=1)[:, :4]
    assert np.allclose(squared, 2 - 2 * expected, atol=1e-5)


def test_a_sparse_row_of_zeros_has_landmarks():
    rows = csr_array(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], dtype=np.float32))
    found = find_landmarks(rows, 3, 2, 3, np.random.default_rng(1), Stop())
    near, squared = found.search(rows)
    assert np.isfinite(squared).all()
    assert near.min() >= 0

"""The kernels of the built-in k-means against their slow obvious twins."""

from __future__ import annotations

import numpy as np
import oracle_euclidean as oracle
import pytest
from scipy.sparse import csr_array

from quorate.generation.features import View, as_features
from quorate.ops import euclidean
from quorate.ops.coding import hash_words

WIDTHS = [1, 2, 7, 8, 9, 33]


def rows_and_centres(seed, n_rows, width, sizes):
    """Whole numbers, so that float32 is exact and ties abound."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-3, 4, size=(n_rows, width)).astype(np.float32)
    centres = rng.integers(-3, 4, size=(sum(sizes), width)).astype(np.float32)
    return rows, centres, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n_rows", [1, 255, 256, 257, 600])
def test_nearest_centres(width, n_rows):
    rows, centres, starts = rows_and_centres(width, n_rows, width, [1, 5, 3])
    labels = np.empty((n_rows, 3), dtype=np.int8)
    euclidean.nearest_centres(rows, euclidean.pad_columns(centres), starts, labels)
    assert np.array_equal(labels, oracle.nearest_centres(rows, centres, starts))


def test_a_row_is_labelled_alike_wherever_it_stands():
    """Lanes of a tile and leftovers do the same sums in the same order."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(700, 11)).astype(np.float32)
    centres = euclidean.pad_columns(rng.normal(size=(300, 11)))
    starts = np.array([0, 300])
    whole, single = np.empty((700, 1), dtype=np.int16), np.empty((1, 1), dtype=np.int16)
    euclidean.nearest_centres(rows, centres, starts, whole)
    for row in (0, 255, 256, 511, 699):
        euclidean.nearest_centres(rows[row : row + 1], centres, starts, single)
        assert single[0, 0] == whole[row, 0]


@pytest.mark.parametrize("width", WIDTHS)
def test_nearest_centres_csr(width):
    rows, centres, starts = rows_and_centres(width, 300, width, [4, 2, 6])
    sparse = csr_array(rows)
    labels = np.empty((300, 3), dtype=np.int8)
    bias = (centres**2).sum(axis=1)
    table = np.ascontiguousarray(centres.T)
    euclidean.nearest_centres_csr(sparse.data, sparse.indices, sparse.indptr, table, bias, starts, labels)
    assert np.array_equal(labels, oracle.nearest_centres(rows, centres, starts))


@pytest.mark.parametrize("sparse", [False, True])
def test_cluster_sums(sparse):
    rows, _, _ = rows_and_centres(1, 400, 6, [1])
    labels = np.random.default_rng(2).integers(-1, 5, size=400)
    sums, counts = np.zeros((5, 6)), np.zeros(5, dtype=np.int64)
    if sparse:
        stored = csr_array(rows)
        euclidean.add_to_clusters_csr(stored.data, stored.indices, stored.indptr, labels, sums, counts)
    else:
        euclidean.add_to_clusters(rows, labels, sums, counts)
    expected_sums, expected_counts = oracle.cluster_sums(rows, labels, 5)
    assert np.array_equal(sums, expected_sums)
    assert np.array_equal(counts, expected_counts)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.int64, bool])
@pytest.mark.parametrize("order", ["C", "F"])
def test_prepared_blocks(dtype, order):
    rng = np.random.default_rng(3)
    X = np.asarray(rng.integers(0, 2 if dtype is bool else 50, size=(90, 5)), dtype=dtype, order=order)
    features = as_features(X)
    assert np.allclose(features.shift, X.mean(axis=0))
    columns, matrix = np.array([4, 1]), rng.normal(size=(5, 2))
    for view, options in [
        (View(), {}),
        (View(columns), {"columns": columns}),
        (View(matrix=matrix), {"matrix": matrix}),
    ]:
        expected = oracle.prepared(X, features.shift, features.scale, **options)
        assert np.allclose(features.prepared(slice(None), view), expected, rtol=1e-6)
        blocks = [block for _, _, block in features.blocks(np.arange(0, 90, 2), view)]
        assert np.array_equal(np.concatenate(blocks), features.prepared(slice(None), view)[::2])


def test_sparse_views_equal_dense_ones():
    rng = np.random.default_rng(4)
    X = rng.integers(0, 3, size=(60, 8)) * (rng.random((60, 8)) < 0.3)
    features, matrix = as_features(csr_array(X.astype(np.float64))), rng.normal(size=(8, 2))
    assert np.allclose(features.prepared(slice(None), View()).toarray(), X * features.scale)
    assert np.allclose(features.prepared(slice(None), View(np.array([3, 0]))).toarray(), X[:, [3, 0]] * features.scale)
    assert np.allclose(features.prepared(slice(None), View(matrix=matrix)), X @ matrix * features.scale, rtol=1e-5)


def test_hash_words():
    words = np.random.default_rng(0).integers(2**64, size=400, dtype=np.uint64)
    state = np.arange(1, 5, dtype=np.uint64)
    hash_words(words, state)
    assert state.tolist() == oracle.hash_words(words, np.arange(1, 5))
    words[17] ^= np.uint64(1)
    other = np.arange(1, 5, dtype=np.uint64)
    hash_words(words, other)
    assert np.flatnonzero(state != other).tolist() == [1]

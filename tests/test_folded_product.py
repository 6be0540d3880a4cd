"""Products with the folded graph, and the spectral cut that is solved by them where clusters are many."""

from __future__ import annotations

import numpy as np
import oracle_graphs
import pytest
from ensembles import rows_of

from quorate.ops.bipartite import fold_product
from quorate.solvers.spectral import transfer_cut
from quorate.solvers.weights import cluster_weights


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_product_equals_the_matrix(missing: float) -> None:
    rows = rows_of(2, 150, members=7, k=5, noise=0.5, missing=missing)
    rng = np.random.default_rng(0)
    mass, vector = rng.random(rows.n_rows), rng.standard_normal(int(rows.offsets[-1]))
    result = np.zeros(len(vector))
    # two blocks of rows add up to the whole
    fold_product(rows.labels, rows.offsets, mass, vector, 0, 40, result)
    fold_product(rows.labels, rows.offsets, mass, vector, 40, rows.n_rows, result)
    expected = oracle_graphs.fold_product(rows.labels, rows.offsets, mass, vector)
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_lanczos_finds_the_eigenvalues_and_points_of_the_dense_matrix(
    missing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_of(3, 300, members=9, k=6, noise=0.4, missing=missing)
    weights = cluster_weights(rows)
    points, values = transfer_cut.transfer_embedding(rows, weights, 4, np.random.default_rng(0))
    monkeypatch.setattr(transfer_cut, "DENSE_CLUSTERS", 3)
    monkeypatch.setattr(transfer_cut, "PRODUCT_ROWS", 70)
    monkeypatch.setattr(transfer_cut, "_leading", _with_few_dense(transfer_cut._leading))
    sparse_points, sparse_values = transfer_cut.transfer_embedding(rows, weights, 4, np.random.default_rng(0))
    np.testing.assert_allclose(sparse_values, values, atol=1e-10)
    every = np.arange(rows.n_rows)
    np.testing.assert_allclose(
        sparse_points[every] @ sparse_points[every].T, points[every] @ points[every].T, atol=1e-8
    )


def _with_few_dense(leading):  # type: ignore[no-untyped-def]
    return lambda *arguments: leading(*arguments, most_dense=3)

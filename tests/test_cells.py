"""Clustering of cells from counts or an embedding, beside slow twins."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import rankdata

from quorate import anndata, ari, evaluate
from quorate.anndata import cluster_cells

pd = pytest.importorskip("pandas", reason="pandas is not installed: adata.obs is a data frame")


def counts(seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    means = np.repeat(rng.gamma(1, 3, (3, 40)), 25, axis=0)
    return rng.poisson(means) + np.eye(75, 40, dtype=int)


def cells(X: Any, **more: Any) -> Any:
    names = [f"cell {place}" for place in range(X.shape[0])]
    return SimpleNamespace(X=X, obs=pd.DataFrame(index=names), uns={}, layers={}, obsm={}, **more)


TRUTH = np.repeat([0, 1, 2], 25)


def test_counts_become_clusters_confidence_and_markers() -> None:
    adata = cells(sparse.csr_matrix(counts()), var_names=[f"gene {place}" for place in range(40)])
    result = cluster_cells(adata, 3, random_state=0)
    assert ari(result.labels, TRUTH) > 0.95
    assert adata.obs.columns.tolist() == ["consensus", "consensus_confidence", "consensus_runner_up"]
    assert adata.obs["consensus"].tolist() == [str(label) for label in result.labels]
    found = adata.uns["consensus"]
    assert len(found["stability"]) == found["n_clusters"] == 3
    assert len(found["keys"]) == anndata.RUNS
    assert "choice" not in found
    first = found["markers"]["0"][0]
    own = counts()[result.labels == 0, int(first.split()[1])].mean()
    assert own > 1.5 * counts()[result.labels != 0, int(first.split()[1])].mean()


def test_the_clusterings_are_kept_if_that_is_said() -> None:
    """What `evaluate` and `report` compare the clusters with."""
    adata, plain = cells(counts()), cells(counts())
    result = cluster_cells(adata, 3, keep_members=True, random_state=0)
    members = adata.obsm["consensus_members"]
    assert members.shape == (75, anndata.RUNS)
    assert (evaluate(result, members).agreement or 0) > 0.5
    assert cluster_cells(plain, 3, random_state=0).labels.tolist() == result.labels.tolist()
    assert plain.obsm == {}


def test_the_number_is_chosen_and_its_reason_kept() -> None:
    adata = cells(counts())
    result = cluster_cells(adata, random_state=0)
    assert result.n_clusters == 3
    assert adata.uns["consensus"]["choice"].startswith("3 clusters")


def test_one_seed_gives_one_answer_for_dense_sparse_and_logarithms() -> None:
    dense, thin = (cluster_cells(cells(X), 3, random_state=1).labels for X in (counts(), sparse.csr_array(counts())))
    assert np.array_equal(dense, thin)
    totals = counts().sum(axis=1, keepdims=True)
    logs = np.log2(1 + counts() * np.median(totals) / totals)
    assert ari(cluster_cells(cells(logs), 3, random_state=1).labels, dense) == 1


def test_an_embedding_a_layer_and_columns_of_obs() -> None:
    adata = cells(np.zeros((75, 2)))
    adata.obsm["X_pca"] = counts().astype(float)
    adata.layers["counts"] = counts()
    adata.obs["leiden"] = pd.Categorical(TRUTH.astype(str))
    by_embedding = cluster_cells(adata, 3, use_rep="X_pca", keys=["leiden"], random_state=0)
    assert ari(by_embedding.labels, TRUTH) > 0.95
    assert adata.uns["consensus"]["keys"][0] == "leiden"
    assert "markers" not in adata.uns["consensus"]
    assert ari(cluster_cells(adata, 3, layer="counts", random_state=0).labels, TRUTH) > 0.95


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"use_rep": "X_umap"}, KeyError, "obsm has no 'X_umap'"),
        ({"layer": "raw"}, KeyError, "layers has no 'raw'"),
        ({"keys": ["leiden"]}, KeyError, "obs has no column 'leiden'"),
        ({"key_added": ""}, TypeError, "key_added must be the name"),
    ],
)
def test_names_that_are_not_there(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        cluster_cells(cells(counts()), 3, **options)


@pytest.mark.parametrize(("value", "message"), [(-1.0, "not negative"), (np.nan, "finite")])
def test_values_that_are_no_expression(value: float, message: str) -> None:
    X = counts().astype(float)
    X[3, 4] = value
    with pytest.raises(ValueError, match=message):
        cluster_cells(cells(X), 3)


def test_cells_without_counts_are_refused() -> None:
    X = counts()
    X[[2, 5]] = 0
    with pytest.raises(ValueError, match="2 of 75 cells have no counts"):
        cluster_cells(cells(X), 3)


def test_components_are_those_of_the_dense_matrix() -> None:
    matrix = sparse.csr_array(counts(2).astype(float))
    dense = matrix.toarray()
    mean, scale = anndata._standardising(matrix)
    unit = dense - dense.mean(axis=1, keepdims=True)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    for found, expected in (
        (anndata._components(matrix, mean, scale), unit),
        (anndata._components(matrix, 0 * mean, 0 * scale + 1), dense),
    ):
        left, values, _ = np.linalg.svd(expected - expected.mean(axis=0), full_matrices=False)
        number = found.shape[1]
        assert number == 30
        assert np.allclose(np.abs(found), np.abs(left * values)[:, :number], atol=1e-6)


def test_ranks_of_a_sparse_matrix_differ_from_those_of_the_dense_one_by_one_number_per_cell() -> None:
    matrix = sparse.csr_array(counts(3).astype(float))
    apart = np.apply_along_axis(rankdata, 1, matrix.toarray()) - anndata._ranked(matrix).toarray()
    assert np.ptp(apart, axis=1).max() < 1e-9

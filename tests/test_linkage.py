"""Single, complete, weighted and Ward's linkage; average and single link on sparse matrices; trees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import oracle_link
import pandas as pd
import pytest
from ensembles import noisy, rows_of
from scipy.cluster.hierarchy import fcluster, is_valid_linkage, linkage
from scipy.spatial.distance import pdist, squareform

from quorate import ari, as_ensemble, compress, consensus, load_consensus, save_consensus, solve
from quorate.cli import main
from quorate.solvers.linkage.average_link import average_link_tree
from quorate.solvers.linkage.co_association import dense_co_association, shared_pairs
from quorate.solvers.linkage.dendrogram import cut, expand_tree, lifetimes, longest_lifetime, row_counts
from quorate.solvers.linkage.trees import dense_tree, single_link_tree, sparse_tree


def same_partition(first, second) -> bool:
    return len(set(zip(first.tolist(), second.tolist(), strict=True))) == len(set(first)) == len(set(second))


@pytest.mark.parametrize("normalization", ["ensemble", "pairwise"])
@pytest.mark.parametrize("missing", [0.0, 0.25])
@pytest.mark.parametrize("weights", [None, [1, 2, 3, 1, 2, 1], [0.3, 0.7, 1.1, 1.3, 0.9, 0.6]])
def test_dense_and_sparse_matrices_are_the_definition(normalization: str, missing: float, weights: object) -> None:
    rows = rows_of(3, weights=weights, missing=missing)
    expected = oracle_link.co_association(rows, normalization)
    matrix, scale = dense_co_association(rows, normalization)
    np.testing.assert_allclose(matrix / scale, expected, atol=1e-14)
    assert np.array_equal(matrix, matrix.T)
    for threshold in (None, 0.3):
        pairs = shared_pairs(rows, normalization, threshold)
        above = np.triu(expected, 1)
        above[above <= (threshold or 0)] = 0
        found = np.zeros_like(above)
        row = np.repeat(np.arange(rows.n_rows), np.diff(pairs.start))
        found[row, pairs.columns] = pairs.values / pairs.scale
        np.testing.assert_allclose(found, above, atol=1e-14)
        assert all((np.diff(part) > 0).all() for part in np.split(pairs.columns, pairs.start[1:-1]))
        if weights is None or weights[0] == 1:
            assert np.array_equal(pairs.values, np.round(pairs.values))


@pytest.mark.parametrize("linkage_name", ["complete", "weighted", "ward", "average"])
@pytest.mark.parametrize("seed", range(4))
def test_dense_equals_brute_force(linkage_name: str, seed: int) -> None:
    rows = rows_of(seed, 45, missing=0.2 * (seed % 2))
    matrix, scale = dense_co_association(rows, "pairwise")
    if linkage_name == "average":
        expected = oracle_link.average(matrix, rows.counts)
        expected[:, 2] = 1 - expected[:, 2] / scale
    elif linkage_name == "ward":
        expected = oracle_link.ward(scale - matrix, rows.counts)
        expected[:, 2] = np.sqrt(expected[:, 2] / scale)
    else:
        expected = oracle_link.lance_williams(matrix, rows.counts, linkage_name)
        expected[:, 2] = 1 - expected[:, 2] / scale
    tree = dense_tree(matrix, scale, rows.counts, linkage_name)
    np.testing.assert_allclose(tree, expected, atol=1e-12)


@pytest.mark.parametrize("linkage_name", ["single", "complete", "weighted", "average"])
def test_dense_equals_scipy_where_nothing_ties(linkage_name: str) -> None:
    weights = np.random.default_rng(0).uniform(0.5, 2, size=40)
    rows = rows_of(0, 120, weights=weights, members=40, noise=0.6)
    matrix, scale = dense_co_association(rows, "ensemble")
    distance = squareform(np.maximum(1 - matrix / scale, 0), checks=False)
    expected = linkage(distance, linkage_name)
    tree = dense_tree(matrix, scale, rows.counts, linkage_name)
    np.testing.assert_allclose(row_counts(tree), expected, atol=1e-12)


def test_ward_is_that_of_one_hot_rows_with_counts() -> None:
    raw = as_ensemble(noisy(1, 150, members=30, noise=0.6), weights=np.random.default_rng(1).uniform(0.5, 2, 30))
    rows, inverse = compress(raw)
    codes = raw.labels + raw.offsets[:-1]
    features = np.zeros((150, int(raw.offsets[-1])))
    np.put_along_axis(features, codes, np.sqrt(raw.weights / (2 * raw.weights.sum())), axis=1)
    expected = linkage(features, "ward")
    matrix, scale = dense_co_association(rows, "ensemble")
    tree = expand_tree(dense_tree(matrix, scale, rows.counts, "ward"), inverse)
    np.testing.assert_allclose(tree[:, 2], expected[:, 2], atol=1e-7)
    assert pdist(features).max() == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weights", [None, [1, 2, 3, 1, 2, 1], [0.3, 0.7, 1.1, 1.3, 0.9, 0.6]])
def test_single_link_three_ways_and_scipy(seed: int, weights: object) -> None:
    rows = rows_of(seed, 90, weights=weights, missing=0.2 * (seed % 2), k=4)
    matrix, scale = dense_co_association(rows, "ensemble")
    tree = single_link_tree(rows)
    sparse = sparse_tree(shared_pairs(rows, "ensemble", None), rows.counts, "single")
    np.fill_diagonal(matrix, scale)
    expected = linkage(squareform(1 - matrix / scale, checks=False), "single")
    np.testing.assert_allclose(tree[:, 2], expected[:, 2], atol=1e-12)
    for height in np.unique(expected[:, 2].round(9)):
        k = rows.n_rows - int((expected[:, 2] <= height + 1e-9).sum())
        assert same_partition(cut(tree, k), fcluster(expected, height + 1e-9, "distance"))
    if weights is None or weights[0] == 1:
        assert np.array_equal(tree, dense_tree(matrix, scale, rows.counts, "single"))
        assert np.array_equal(tree, sparse)


def test_single_link_merges_only_what_is_linked_at_that_height() -> None:
    """Also inside of a run of equal heights: every merge has a pair of rows at exactly its height."""
    rows = rows_of(4, 80, k=4)
    matrix, scale = dense_co_association(rows, "ensemble")
    tree = single_link_tree(rows)
    members = {leaf: [leaf] for leaf in range(rows.n_rows)}
    for step, (left, right, height, _) in enumerate(tree):
        strongest = matrix[np.ix_(members[left], members[right])].max() / scale
        assert 1 - strongest == pytest.approx(height)
        members[rows.n_rows + step] = members[left] + members[right]


@pytest.mark.parametrize("seed", range(6))
def test_average_link_on_the_sparse_matrix_equals_the_other(seed: int) -> None:
    rows = rows_of(seed, 300, k=8, noise=0.5, missing=0.1 * (seed % 3))
    sparse = sparse_tree(shared_pairs(rows, "ensemble", None), rows.counts, "average")
    assert np.array_equal(sparse, average_link_tree(rows))
    matrix, scale = dense_co_association(rows, "pairwise")
    sparse = sparse_tree(shared_pairs(rows, "pairwise", None), rows.counts, "average")
    np.testing.assert_allclose(sparse, dense_tree(matrix, scale, rows.counts, "average"), atol=1e-14)


def test_average_link_above_a_threshold_treats_the_rest_as_zeros() -> None:
    rows = rows_of(2, 60, k=4)
    matrix, scale = dense_co_association(rows, "ensemble")
    matrix[matrix / scale <= 0.4] = 0
    expected = oracle_link.average(matrix, rows.counts)
    expected[:, 2] = 1 - expected[:, 2] / scale
    tree = sparse_tree(shared_pairs(rows, "ensemble", 0.4), rows.counts, "average")
    np.testing.assert_allclose(tree, expected, atol=1e-14)


def test_cut_and_lifetimes() -> None:
    rows = rows_of(0, 60)
    tree = average_link_tree(rows)
    for k in range(1, rows.n_rows + 1):
        assert len(set(cut(tree, k).tolist())) == k
    for k in range(2, rows.n_rows):
        if tree[-k, 2] + 1e-12 < tree[-k + 1, 2]:
            assert same_partition(cut(tree, k), fcluster(row_counts(tree), tree[-k, 2], "distance"))
    spans = lifetimes(tree)
    k = longest_lifetime(tree)
    assert spans[k - 1] == spans[1:-1].max()
    assert spans[1:].sum() == pytest.approx(tree[-1, 2])
    assert longest_lifetime(np.empty((0, 4))) == 1


def test_expanded_tree_is_one_over_objects() -> None:
    raw = as_ensemble(noisy(0, 80))
    rows, inverse = compress(raw)
    tree = average_link_tree(rows)
    whole = expand_tree(tree, inverse)
    assert is_valid_linkage(whole)
    assert whole[-1, 3] == 80
    for k in (2, 5, rows.n_rows):
        assert np.array_equal(cut(whole, k), cut(tree, k)[inverse])
    assert is_valid_linkage(row_counts(tree))


@pytest.mark.parametrize("method", ["eac", "hne"])
@pytest.mark.parametrize("seed", range(6))
def test_a_linkage_is_valid_in_scipy(method: str, seed: int) -> None:
    from scipy.cluster.hierarchy import cut_tree, dendrogram, fcluster, is_valid_linkage

    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=90)
    table = np.where(rng.random((90, 5)) < 0.25, rng.integers(3, size=(90, 5)), truth[:, None])
    result = consensus(table, 3, method=method, orientation="objects")
    if result.tree is None:
        with pytest.raises(ValueError, match="Consensus with a tree"):
            result.linkage()
        return
    over_rows, over_objects = result.linkage(), result.linkage(objects=True)
    assert len(over_rows) + 1 == len(np.unique(table, axis=0)) < 90
    assert len(over_objects) == 89
    for tree, labels in ((over_rows, None), (over_objects, result.labels)):
        assert is_valid_linkage(tree, throw=True)
        dendrogram(tree, no_plot=True)
        found = cut_tree(tree, 3).ravel()
        found = found[result.rows] if labels is None else found
        assert ari(found, result) == 1.0
        # SciPy cuts at a height
        if tree[-3, 2] < tree[-2, 2]:
            flat = fcluster(tree, 3, "maxclust")
            assert ari(flat[result.rows] if labels is None else flat, result) == 1.0
    np.testing.assert_allclose(np.sort(over_objects[:, 2])[-len(over_rows) :], np.sort(over_rows[:, 2]))


def test_a_linkage_over_objects_needs_the_objects() -> None:
    rows = compress(as_ensemble([[0, 0, 1, 1, 2], [0, 0, 1, 1, 1]]))[0]
    result = solve(rows, 2, method="eac")
    assert len(result.linkage()) == 2
    with pytest.raises(ValueError, match="rows that stand for several objects"):
        result.linkage(objects=True)
    with pytest.raises(ValueError, match="Consensus with a tree"):
        consensus([[0, 0, 1]], 2, method="kmeans").linkage()
    assert consensus([[0, 0, 0, 0]], 1, method="eac").linkage(objects=True)[:, 3].tolist() == [2.0, 3.0, 4.0]


TREES = [("eac", {}), ("eac", {"linkage": "single"}), ("eac", {"linkage": "complete"}), ("eac", {"linkage": "ward"})]
TREES += [("lwea", {}), ("ecpcs", {"variant": "hc"}), ("bisecting", {"grow": 9})]


@pytest.mark.parametrize(("method", "options"), TREES)
def test_a_tree_cut_again_gives_what_the_method_gives(method: str, options: dict[str, Any], tmp_path: Path) -> None:
    labels = noisy(1, n=120, k=5, members=8, missing=0.1)
    settings = {"method": method, "random_state": 0, "confidence": False, "check": False, **options}
    result = consensus(labels, 4, **settings)
    save_consensus(tmp_path / "result.npz", result)
    assert result.cut(4) is result
    finer = None
    for k in range(9, 0, -1):
        again = load_consensus(tmp_path / "result.npz").cut(k)
        own = consensus(labels, k, **settings)
        assert np.array_equal(again.labels, own.labels)
        assert again.objective == pytest.approx(own.objective)
        assert again.confidence is None
        if finer is not None:  # every cluster is a union of clusters of the finer cut
            assert len(set(zip(finer.labels.tolist(), again.labels.tolist(), strict=True))) == k + 1
        finer = again
    sizes = [sorted((split.left, split.right)) for split in result.splits(3)]
    for k, parts in enumerate(sizes, start=2):
        assert sum(parts) in result.cut(k - 1).sizes
        assert set(parts) <= set(result.cut(k).sizes.tolist())


def test_a_tree_is_cut_only_where_it_grew() -> None:
    labels = noisy(1, n=60, k=4, members=6)
    with pytest.raises(ValueError, match="with a tree"):
        consensus(labels, 3, method="kmeans", random_state=0).cut(2)
    with pytest.raises(ValueError, match="make it larger with the option grow"):
        consensus(labels, 3, method="bisecting", random_state=0).cut(4)
    gains = [split.gain for split in consensus(labels, 3, method="bisecting", random_state=0).splits()]
    assert len(gains) == 2
    lifetimes = [split.lifetime for split in consensus(labels, 3, method="eac").splits(4)]
    assert len(lifetimes) == 4


def test_the_shell_cuts_a_saved_tree(tmp_path: Path, capsys: Any) -> None:
    labels = noisy(1, n=60, k=4, members=6)
    pd.DataFrame(labels, columns=list("abcdef")).to_csv(tmp_path / "table.csv", index=False)
    table, saved, out = (str(tmp_path / name) for name in ("table.csv", "result.npz", "labels.csv"))
    assert main(["consensus", table, "-k", "3", "-m", "eac", "--no-null", "--save", saved, "--quiet"]) == 0
    capsys.readouterr()
    assert main(["cut", saved, "-k", "5", "-o", out, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["n_clusters"] == 5
    assert len(facts["splits"]) == 10
    assert pd.read_csv(out)["label"].nunique() == 5
    assert main(["cut", saved, "-k", "5", "-o", out]) == 2
    assert "exists already" in capsys.readouterr().err

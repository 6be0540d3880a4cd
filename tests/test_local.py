"""Local weights, transfer cut and propagated similarities against the formulas of their papers, object by object."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import oracle_link
import oracle_local
import pytest
from ensembles import WEIGHTS, noisy, rows_of
from sklearn.metrics import adjusted_rand_score

from quorate import as_ensemble, compress, consensus
from quorate.ops.euclidean import add_points, nearest_points
from quorate.solvers import local_weights
from quorate.solvers.linkage import average_link
from quorate.solvers.linkage.average_link import average_link_tree
from quorate.solvers.local_weights import cluster_certainty, edge_weights, local_weighting
from quorate.solvers.spectral import embedding, transfer_cut
from quorate.solvers.spectral.embedding import propagated_similarity
from quorate.solvers.weights import WEIGHT_UNIT


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_certainty_is_the_papers(missing: float, weighted: bool) -> None:
    rows = rows_of(1, missing=missing, weights=WEIGHTS if weighted else None, k=4)
    np.testing.assert_allclose(cluster_certainty(rows, 0.4), oracle_local.certainty(rows, 0.4), rtol=1e-12)


def test_a_cluster_nobody_splits_is_certain_and_one_split_evenly_by_all_others_is_not() -> None:
    halves = [0, 0, 1, 1, 2, 2, 2]
    whole = [0, 0, 0, 0, 1, 1, 1]
    certainty = cluster_certainty(as_ensemble([whole, halves, halves]), 0.4)
    # of three members two split the first of the 2 + 3 + 3 clusters by one bit each
    np.testing.assert_allclose(certainty, [np.exp(-2 / 3 / 0.4), 1, 1, 1, 1, 1, 1, 1])


@pytest.fixture(params=["lists", "dense"])
def stage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in test_average_link: small inputs also take the way of large ones."""
    if request.param == "lists":
        monkeypatch.setattr(average_link, "DENSE_CLUSTERS", 1)
        monkeypatch.setattr(average_link, "CANDIDATES", 3)
        monkeypatch.setattr(average_link, "LIST_WIDTH", 4)


@pytest.mark.usefixtures("stage")
@pytest.mark.parametrize("seed", range(6))
def test_lwea_equals_brute_force(seed: int) -> None:
    """The locally weighted co-association written out, agglomerated over all pairs with the tie rule of eac."""
    rows = rows_of(seed, weights=WEIGHTS if seed > 3 else None, missing=0.15 * (seed % 2), k=3 + seed % 3)
    weighting = local_weighting(rows, oracle_local.certainty(rows, 0.4))
    shared = np.zeros((rows.n_rows, rows.n_rows))
    for weight, (member, cluster) in zip(weighting.columns, oracle_local.clusters(rows), strict=True):
        inside = rows.labels[:, member] == cluster
        shared += weight * np.outer(inside, inside)
    expected = oracle_link.average(shared, rows.counts)
    tree = average_link_tree(rows, local_weighting(rows, cluster_certainty(rows, 0.4)))
    assert np.array_equal(tree[:, [0, 1, 3]], expected[:, [0, 1, 3]])
    np.testing.assert_allclose(tree[:, 2], 1 - expected[:, 2] / weighting.total, atol=1e-12)
    np.testing.assert_allclose(weighting.total, WEIGHTS.sum() * WEIGHT_UNIT if seed > 3 else 6 * WEIGHT_UNIT)


@pytest.mark.parametrize("seed", range(3))
def test_uncertainty_that_does_not_count_leaves_eac_and_transfer(seed: int) -> None:
    labels = noisy(seed, 200, k=4, missing=0.1)
    local, plain = (consensus(labels, 4, method=m, **o) for m, o in (("lwea", {"theta": 1e6}), ("eac", {})))
    assert adjusted_rand_score(local.labels, plain.labels) > 0.99
    cuts = [
        consensus(labels, 4, method=m, random_state=0, **o) for m, o in (("lwgp", {"theta": 1e6}), ("transfer", {}))
    ]
    assert np.array_equal(cuts[0].labels, cuts[1].labels)


def test_lwea_on_large_counts_is_the_same_tree() -> None:
    """Sums past 2^53 round, and still nothing but the unit of the sizes changes."""
    rows = rows_of(3, 200, k=4, missing=0.1)
    many = replace(rows, counts=rows.counts * 2**22)
    small, large = (consensus(e, 4, method="lwea") for e in (rows, many))
    assert np.array_equal(small.labels, large.labels)
    np.testing.assert_allclose(np.sort(small.tree[:, 2]), np.sort(large.tree[:, 2]), rtol=1e-12)


def test_info_speaks_of_members_in_their_order() -> None:
    labels = noisy(0, k=3, members=5)
    order = [3, 1, 4, 0, 2]
    plain, mixed = (consensus(as_ensemble(x), 3, method="lwea").info["certainty"] for x in (labels, labels[:, order]))
    for place, member in enumerate(order):
        assert np.array_equal(mixed[f"member {place}"], plain[f"member {member}"])


@pytest.mark.parametrize("way", ["dense", "sparse"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_embedding_is_that_of_the_graph_over_objects(
    missing: float, weighted: bool, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inner products of points, which no choice of signs or of a basis of equal eigenvalues changes."""
    if way == "sparse":
        monkeypatch.setattr(transfer_cut, "DENSE_CLUSTERS", 1)
    rows = rows_of(2, 90, missing=missing, weights=WEIGHTS if weighted else None, k=4)
    weights = edge_weights(rows, cluster_certainty(rows, 0.4))
    found, values = transfer_cut.transfer_embedding(rows, weights, 4, np.random.default_rng(0))
    expected, expected_values = oracle_local.transfer_points(rows, weights, 4)
    np.testing.assert_allclose(values, expected_values, atol=1e-10)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-8)


def test_fold_counts_pairs_of_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(4, 300, missing=0.2, k=5)
    mass = rows.counts.astype(np.float64)
    one_hot = oracle_local.bipartite(rows, np.ones(int(rows.offsets[-1])))
    expected = one_hot.T @ (mass[:, None] * one_hot)
    for least in (10**6, 16):
        monkeypatch.setattr(local_weights, "FOLD_ROWS", least)
        assert np.array_equal(local_weights.fold(rows, mass), expected)


def test_more_directions_than_the_graph_has_are_left_out() -> None:
    rows = compress(as_ensemble(np.repeat(np.arange(4), 5)[:, None].repeat(3, axis=1)))[0]
    points, values = transfer_cut.transfer_embedding(rows, np.ones(12), 9, np.random.default_rng(0))
    assert points.shape == (4, 4)
    np.testing.assert_allclose(values, 1.0)


def test_nearest_points_and_sums() -> None:
    rng = np.random.default_rng(0)
    points, centres, mass = rng.standard_normal((50, 3)), rng.standard_normal((4, 3)), rng.random(50)
    squared = ((points[:, None] - centres[None]) ** 2).sum(axis=2)
    nearest, distance = np.empty(50, dtype=np.intp), np.empty(50)
    nearest_points(points, np.ascontiguousarray(centres.T), 0, 50, nearest, distance)
    assert np.array_equal(nearest, squared.argmin(axis=1))
    np.testing.assert_allclose(distance, squared.min(axis=1))
    sums, sizes = np.zeros((4, 3)), np.zeros(4)
    add_points(points, mass, nearest, sums, sizes)
    for cluster in range(4):
        inside = nearest == cluster
        np.testing.assert_allclose(sums[cluster], (mass[inside, None] * points[inside]).sum(axis=0))
        np.testing.assert_allclose(sizes[cluster], mass[inside].sum())


def test_restarts_on_a_sample_end_on_all_points(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(5, size=4000)
    points = rng.standard_normal((5, 2))[truth] * 20 + rng.standard_normal((4000, 2))
    counts = rng.integers(1, 5, size=4000)
    runs = []
    for size in (500, 10**6):
        monkeypatch.setattr(embedding, "SAMPLE_POINTS", size)
        runs.append(embedding.euclidean_kmeans(points, counts, 5, np.random.default_rng(1), n_init=5, max_iter=99))
    assert adjusted_rand_score(runs[0].labels, runs[1].labels) == 1.0
    np.testing.assert_allclose(runs[0].inertia, runs[1].inertia)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_propagated_similarity_follows_the_walks(missing: float, weighted: bool) -> None:
    rows = rows_of(5, missing=missing, weights=WEIGHTS if weighted else None)
    np.testing.assert_allclose(propagated_similarity(rows, 6), oracle_local.propagated(rows, 6), atol=2**-20)


def test_clusters_that_hold_the_same_objects_are_alike_also_with_two_members() -> None:
    partition = [0, 0, 1, 1, 2]
    np.testing.assert_allclose(
        propagated_similarity(as_ensemble([partition, partition]), 20), np.tile(np.eye(3), (2, 2))
    )


@pytest.mark.parametrize("seed", range(3))
def test_ecpcs_hc_is_average_link_on_the_enriched_matrix(seed: int) -> None:
    rows = rows_of(seed, 50, missing=0.1 * seed)
    similarity = propagated_similarity(rows, 20)
    matrix = np.zeros((rows.n_rows, rows.n_rows))
    for member, start in enumerate(rows.offsets[:-1]):
        for i in range(rows.n_rows):
            for j in range(rows.n_rows):
                a, b = rows.labels[i, member], rows.labels[j, member]
                if a >= 0 and b >= 0:
                    matrix[i, j] += similarity[start + a, start + b]
    expected = oracle_link.average(matrix * 2**20, rows.counts)
    tree = consensus(rows, 3, method="ecpcs", variant="hc").tree
    assert tree is not None
    np.testing.assert_allclose(np.sort(tree[:, 2]), np.sort(1 - expected[:, 2] / 2**20 / 6), atol=1e-12)


def test_ecpcs_refuses_what_it_cannot_do() -> None:
    labels = np.random.default_rng(0).integers(2, size=(200, 8))
    with pytest.raises(ValueError, match=r"n_clusters = 20 is more than the 16 clusters of all members"):
        consensus(labels, 20, method="ecpcs")
    with pytest.raises(MemoryError, match="variant='mc'"):
        consensus(labels, 3, method="ecpcs", variant="hc", max_bytes=50_000)
    with pytest.raises(ValueError, match="variant must be one of 'mc', 'hc'"):
        consensus(labels, 3, method="ecpcs", variant="ward")


@pytest.mark.parametrize("method", ["lwea", "lwgp"])
@pytest.mark.parametrize("theta", [0, -1, "x"])
def test_bad_theta_is_refused(method: str, theta: object) -> None:
    with pytest.raises((ValueError, TypeError), match="theta must"):
        consensus(noisy(0), 3, method=method, theta=theta)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_certainty_without_a_dense_table_is_the_same(
    missing: float, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_of(2, missing=missing, weights=WEIGHTS if weighted else None, k=4)
    expected = cluster_certainty(rows, 0.4)
    monkeypatch.setattr(local_weights, "DENSE_ENTRIES", 0)
    np.testing.assert_allclose(cluster_certainty(rows, 0.4), expected, rtol=1e-12)

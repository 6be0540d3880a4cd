"""Local weights, transfer cut and propagated similarities against the formulas of their papers, object by object."""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import oracle_link
import oracle_local
import pytest
from benchmarks.ensembles import planted
from ensembles import WEIGHTS, noisy, rows_of
from sklearn.metrics import adjusted_rand_score

from quorate import as_ensemble, compress, consensus, solve
from quorate.ops.euclidean import move_point
from quorate.solvers import local_weights
from quorate.solvers.label_rows import fill_empty
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
    points, values = transfer_cut.transfer_embedding(rows, weights, 4, np.random.default_rng(0))
    found = points[np.arange(rows.n_rows)]
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


def _plain_lloyd(points: Any, counts: Any, centres: Any, max_iter: int) -> tuple[Any, float, int, bool]:
    """Lloyd's algorithm, every distance of every sweep computed anew; its mean of a cluster is an exact sum."""
    labels, n_iter, converged = np.full(len(points), -1), 0, False
    while not converged and n_iter < max_iter:
        n_iter += 1
        squared = ((points[:, None] - centres[None]) ** 2).sum(axis=2)
        nearest = squared.argmin(axis=1)
        fill_empty(nearest, counts * squared.min(axis=1), len(centres))
        converged = bool(np.array_equal(nearest, labels))
        labels = nearest
        centres = np.array(
            [
                [math.fsum(counts[inside] * column) / counts[inside].sum() for column in points[inside].T]
                for inside in (labels == cluster for cluster in range(len(centres)))
            ]
        )
    return labels, float(counts @ ((points - centres[labels]) ** 2).sum(axis=1)), n_iter, converged


@pytest.mark.parametrize("kind", ["noisy", "tied", "far", "empty"])
def test_lloyd_reads_few_points_again_and_ends_where_the_plain_algorithm_does(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "BLOCK_NUMBERS", 200)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        points = rng.standard_normal((300, 3)) * (1e-3 if kind == "far" else 1) + (50 if kind == "far" else 0)
        if kind == "tied":
            points = rng.integers(4, size=(300, 2)).astype(np.float64)
        counts, centres = rng.integers(1, 5, size=300), points[rng.choice(300, 7, replace=False)]
        if kind == "empty":
            centres[2:5] += 100
        for max_iter in (1, 2, 100):
            run = embedding._lloyd(points, counts, centres, max_iter)
            labels, inertia, n_iter, converged = _plain_lloyd(points, counts, centres, max_iter)
            assert np.array_equal(run.labels, labels)
            assert (run.n_iter, run.converged) == (n_iter, converged)
            assert run.inertia == pytest.approx(inertia, rel=1e-9)


def test_most_points_are_read_in_few_sweeps() -> None:
    class Counted:
        """Points that count how many of them are read."""

        n_read = 0

        def __init__(self, points: Any) -> None:
            self.points, self.shape = points, points.shape

        def __len__(self) -> int:
            return len(self.points)

        def __getitem__(self, rows: Any) -> Any:
            self.n_read += len(rows)
            return self.points[rows]

    rng = np.random.default_rng(0)
    points = rng.standard_normal((5, 4))[rng.integers(5, size=4000)] + 0.2 * rng.standard_normal((4000, 4))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    read = Counted(points)
    run = embedding._lloyd(read, np.ones(4000, dtype=np.int64), points[:5], 300)
    assert run.n_iter > 5
    assert read.n_read < 0.5 * run.n_iter * 4000


def test_a_point_that_moves_changes_both_sums() -> None:
    sums, sizes = np.zeros((2, 2), dtype=np.int64), np.zeros(2, dtype=np.int64)
    point = np.array([0.5, -0.25])
    move_point(point, 3, 8.0, -1, 1, sums, sizes)
    assert (sums.tolist(), sizes.tolist()) == ([[0, 0], [12, -6]], [0, 3])
    move_point(point, 3, 8.0, 1, 0, sums, sizes)
    assert (sums.tolist(), sizes.tolist()) == ([[12, -6], [0, 0]], [3, 0])


@pytest.mark.parametrize("method", ["lwgp", "transfer"])
def test_a_spectral_cut_holds_no_points_of_rows(method: str) -> None:
    """On 60,000 rows of 20 labels, a table of their points alone would take 64 bytes for each."""
    rows = compress(as_ensemble(planted(0, 60_000, 8, 20, 0.3)))[0]
    solve(rows, 8, method=method, random_state=0, confidence=False)
    tracemalloc.start()
    try:
        solve(rows, 8, method=method, random_state=1, confidence=False)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # the sample on which restarts run, and the graph of the clusters, do not grow with the rows
    assert peak < 60 * rows.n_rows + 5_000_000


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

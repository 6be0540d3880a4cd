"""eac, hne, spectral and co_association: options, laws under every option, brute force, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import oracle_link
import pytest
from ensembles import noisy, rows_of
from scipy.cluster.hierarchy import is_valid_linkage
from sklearn.metrics import adjusted_rand_score

from quorate import METHODS, Consensus, as_ensemble, co_association, compress, consensus, nmi, solve
from quorate.solvers.linkage.co_association import (
    cluster_similarities,
    common_scale,
    enhanced_co_association,
    estimated_pairs,
    shared_pairs,
)
from quorate.solvers.linkage.dendrogram import cut, expand_tree, lifetimes
from quorate.solvers.spectral.embedding import euclidean_kmeans, root_weighted_rows, spectral_embedding

LINKAGES = ["average", "single", "complete", "weighted", "ward"]
OPTIONS = [
    *({"linkage": linkage} for linkage in LINKAGES),
    *({"linkage": linkage, "normalization": "pairwise"} for linkage in LINKAGES),
    *({"linkage": linkage, "enhanced": True} for linkage in LINKAGES),
    *({"linkage": linkage, "threshold": 0.3} for linkage in LINKAGES[:2]),
    {"threshold": 0.2, "normalization": "pairwise"},
]
EACH_OPTION = pytest.mark.parametrize("options", OPTIONS, ids=str)


@EACH_OPTION
@pytest.mark.parametrize("seed", range(2))
def test_laws_hold_under_every_option(options: dict[str, object], seed: int) -> None:
    labels = noisy(seed, n=70, missing=0.15)

    def run(table: np.ndarray) -> np.ndarray:
        return consensus(table, 4, method="eac", confidence=False, **options).labels

    found = run(labels)
    assert len(set(found.tolist())) == 4
    assert np.array_equal(found, run(labels[:, np.random.default_rng(seed).permutation(6)]))
    assert np.array_equal(np.tile(found, 3), run(np.tile(labels, (3, 1))))
    rows, inverse = compress(as_ensemble(labels))
    raw, light = (
        METHODS["eac"].solve(part, 4, rng=np.random.default_rng(0), **options) for part in (as_ensemble(labels), rows)
    )
    assert np.array_equal(light.labels[inverse], raw.labels)
    assert is_valid_linkage(raw.tree)
    assert raw.tree[-1, 3] == 70


@EACH_OPTION
def test_unanimity_and_lifetime_under_every_option(options: dict[str, object]) -> None:
    partition = np.repeat(np.arange(4), 6)
    result = consensus(np.repeat(partition[:, None], 5, axis=1), method="eac", **options)
    assert result.labels.tolist() == partition.tolist()


@pytest.mark.parametrize("linkage", ["average", "complete", "ward"])
def test_longest_lifetime_finds_the_planted_number(linkage: str) -> None:
    labels = noisy(0, n=200, k=4, members=20, noise=0.15)
    truth = noisy(0, n=200, k=4, members=20, noise=0.0)[:, 0]
    result = consensus(labels, method="eac", linkage=linkage)
    assert adjusted_rand_score(truth, result.labels) > 0.97
    assert result.info["lifetimes"][3] == max(result.info["lifetimes"][1:])


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_every_row_apart_is_not_the_longest_lifetime(missing: float) -> None:
    labels = noisy(0, n=300, k=6, members=20, noise=0.3)
    labels[np.random.default_rng(0).random(labels.shape) < missing] = -1
    assert consensus(labels, method="eac").n_clusters < 30
    # members that agree but for one that is coarser: nothing should be merged
    fine = np.repeat(np.arange(3), 10)
    assert consensus([fine] * 9 + [np.minimum(fine, 1)], method="eac").n_clusters == 3


def test_tree_and_objective() -> None:
    labels = noisy(3, n=90)
    result = consensus(labels, 5, method="eac")
    rows, inverse = compress(as_ensemble(labels))
    assert np.array_equal(cut(result.tree, 5)[inverse], result.labels)
    assert result.tree[-1, 3] == 90
    assert result.objective == result.tree[rows.n_rows - 6, 2]
    assert is_valid_linkage(expand_tree(result.tree, result.rows))
    assert np.allclose(result.info["lifetimes"], lifetimes(result.tree))
    everything = consensus(labels, rows.n_rows, method="eac")
    assert everything.objective == 0.0


def test_pairwise_and_ensemble_agree_where_nothing_is_missing() -> None:
    labels = noisy(1, n=90)
    for linkage in LINKAGES:
        first, second = (
            consensus(labels, 4, method="eac", linkage=linkage, normalization=name) for name in ("ensemble", "pairwise")
        )
        assert np.array_equal(first.tree, second.tree)


def test_pairwise_is_the_mean_of_ratios() -> None:
    rows = rows_of(5, 60, missing=0.3)
    expected = oracle_link.average(oracle_link.co_association(rows, "pairwise"), rows.counts)
    tree = METHODS["eac"].solve(rows, 3, rng=np.random.default_rng(0), normalization="pairwise").tree
    np.testing.assert_allclose(tree[:, 2], 1 - expected[:, 2], atol=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"linkage": "centroid"}, "linkage must be one of 'average', 'single'"),
        ({"normalization": "rows"}, "normalization must be one of"),
        ({"enhanced": 1}, "enhanced must be one of False, True"),
        ({"threshold": 30}, r"threshold must lie in \[0, 1\]"),
        ({"threshold": 0.1, "linkage": "ward"}, "threshold must be None with linkage='ward'"),
        ({"threshold": 0.1, "enhanced": True}, "threshold must be None with enhanced=True"),
    ],
)
def test_eac_refuses(options: dict[str, object], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        consensus(noisy(0), 3, method="eac", **options)


def test_options_decide_on_memory() -> None:
    labels = noisy(0, n=200, members=10, missing=0.1)
    consensus(labels, 3, method="eac", max_bytes=1)
    consensus(labels, 3, method="eac", linkage="single", max_bytes=1)
    for options in ({"linkage": "complete"}, {"enhanced": True}, {"normalization": "pairwise"}, {"threshold": 0.1}):
        with pytest.raises(
            MemoryError,
            match=r"method 'eac', .* on 1\d\d distinct rows and 30 clusters of members would need .* coarsen='auto'",
        ):
            consensus(labels, 3, method="eac", max_bytes=1000, **options)
    with pytest.raises(MemoryError, match="raise theta"):
        consensus(labels, 3, method="hne", max_bytes=1000)
    with pytest.raises(MemoryError, match="pairs would need"):
        co_association(labels, max_bytes=1000)


def test_enhanced_is_the_definition() -> None:
    rows = rows_of(2, 50, missing=0.1, weights=[1, 2, 1, 1, 3, 1])
    sets = [
        {(row, copy) for row in np.flatnonzero(rows.labels[:, q] == c) for copy in range(rows.counts[row])}
        for q in range(rows.n_members)
        for c in range(rows.n_clusters[q])
    ]
    member = np.repeat(np.arange(rows.n_members), rows.n_clusters)
    jaccard = np.array([[len(a & b) / len(a | b) for b in sets] for a in sets])
    triples = np.array(
        [[sum(min(jaccard[a, c], jaccard[b, c]) for c in range(len(sets)) if member[c] != member[a])
          for b in range(len(sets))] for a in range(len(sets))]
    )  # fmt: skip
    triples[member[:, None] != member] = 0
    np.fill_diagonal(triples, 0)
    similarity = 0.9 * triples / triples.max()
    np.fill_diagonal(similarity, 1)
    for q, found in enumerate(cluster_similarities(rows)):
        own = slice(rows.offsets[q], rows.offsets[q + 1])
        np.testing.assert_allclose(found, similarity[own, own], atol=1e-12)
    matrix, scale = enhanced_co_association(rows, "pairwise")
    for i, j in [(0, 1), (3, 17), (20, 5)]:
        both = (rows.labels[i] >= 0) & (rows.labels[j] >= 0)
        codes = rows.labels + rows.offsets[:-1]
        shared = sum(rows.weights[q] * similarity[codes[i, q], codes[j, q]] for q in range(rows.n_members) if both[q])
        assert matrix[i, j] / scale == pytest.approx(shared / rows.weights[both].sum())


def test_enhanced_without_other_members_changes_nothing() -> None:
    labels = np.array([0, 0, 1, 2, 2, 1])
    plain, enhanced = (consensus(labels, 2, method="eac", enhanced=flag) for flag in (False, True))
    assert np.array_equal(plain.tree, enhanced.tree)


def brute_hne(rows, theta, k):
    """Every pair of clusters every time, straight from the definition."""
    tied = oracle_link.co_association(rows) > theta
    clusters = [[row] for row in range(rows.n_rows)]
    power = 1 + (1 - theta) / (1 + theta)
    while len(clusters) > k:
        best = (0.0, 0, 0)
        for a in range(len(clusters)):
            for b in range(a + 1, len(clusters)):
                edges = sum(
                    float(rows.counts[i]) * float(rows.counts[j])
                    for i in clusters[a]
                    for j in clusters[b]
                    if tied[i, j]
                )
                first, second = (float(rows.counts[clusters[c]].sum()) for c in (a, b))
                expected = (math.pow(first + second, power) - math.pow(first, power) - math.pow(second, power)) / 2
                if edges / expected > best[0]:
                    best = (edges / expected, a, b)
        if best[0] == 0.0:
            break
        clusters[best[1]] = clusters[best[1]] + clusters.pop(best[2])
        clusters.sort(key=min)
    labels = np.empty(rows.n_rows, dtype=int)
    for cluster, members in enumerate(clusters):
        labels[members] = cluster
    return labels


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("theta", [0.3, 0.5, 0.7])
def test_hne_equals_brute_force(seed: int, theta: float) -> None:
    rows = rows_of(seed, 45, k=4, missing=0.1 * (seed % 2))

    def hne(k: int | None) -> Consensus:
        """In the given order of the rows, in which the brute force breaks ties."""
        return METHODS["hne"].solve(rows, k, rng=np.random.default_rng(0), theta=theta)

    free = hne(None)
    assert np.array_equal(free.labels, brute_hne(rows, theta, 1))
    assert free.n_clusters == free.info["n_components"]
    for k in (free.n_clusters + 1, free.n_clusters + 4):
        if k <= rows.n_rows:
            assert np.array_equal(hne(k).labels, brute_hne(rows, theta, k))


def test_hne_joins_components_by_average_link_when_fewer_are_wanted() -> None:
    labels = np.repeat(np.arange(6), 5)[:, None] * np.ones(6, dtype=int)
    labels[:, 0] //= 2
    result = consensus(labels, 3, method="hne")
    assert result.info["n_components"] == 6
    assert adjusted_rand_score(np.repeat(np.arange(3), 10), result.labels) == 1.0
    assert consensus(labels, method="hne").n_clusters == 6


def half_random(n_good: int, n_random: int, of: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 5, 400)
    good = np.where(rng.random((400, n_good)) < 0.15, rng.integers(0, 5, (400, n_good)), truth[:, None])
    return np.hstack([good, rng.integers(0, of, (400, n_random))]), truth


def test_hne_chooses_theta_where_random_members_of_two_clusters_join_everything() -> None:
    labels, truth = half_random(10, 10, of=2)
    with pytest.warns(UserWarning, match="Nearly all objects are in one cluster"):
        fixed = consensus(labels, 5, method="hne")
    chosen = consensus(labels, 5, method="hne", theta="auto")
    assert nmi(fixed.labels, truth) < 0.1
    assert nmi(chosen.labels, truth) > 0.95
    assert chosen.info["theta"] == 0.5
    assert consensus(labels, method="hne", theta="auto").n_clusters <= 5


def test_hne_keeps_the_usual_theta_where_members_are_alike() -> None:
    labels, _ = half_random(10, 0, of=5)
    chosen = consensus(labels, 5, method="hne", theta="auto")
    assert chosen.info["theta"] == 0.3
    assert np.array_equal(chosen.labels, consensus(labels, 5, method="hne").labels)


def test_hne_refuses() -> None:
    with pytest.raises(ValueError, match="theta must be one of 'auto'"):
        consensus(noisy(0), 3, method="hne", theta="best")
    with pytest.raises(ValueError, match="theta must be below 1"):
        consensus(noisy(0), 3, method="hne", theta=1)
    with pytest.raises(ValueError, match=r"theta must lie in \[0, 1\]"):
        consensus(noisy(0), 3, method="hne", theta=30)


@pytest.mark.parametrize("triangle", ["upper", "full"])
@pytest.mark.parametrize("threshold", [None, 0.5])
def test_co_association(triangle: str, threshold: float | None) -> None:
    ensemble = as_ensemble(noisy(2, n=80, missing=0.1))
    found = co_association(ensemble, threshold, triangle=triangle, normalization="pairwise")
    expected = oracle_link.co_association(ensemble, "pairwise")
    expected[expected <= (threshold or 0)] = 0
    np.fill_diagonal(expected, 1 if triangle == "full" else 0)
    np.testing.assert_allclose(found.matrix.toarray(), expected if triangle == "full" else np.triu(expected, 1))
    assert found.n_pairs == np.count_nonzero(np.triu(expected, 1))
    assert found.density == (2 * found.n_pairs + 80) / 80**2
    assert found.estimates["sqrt"] == pytest.approx(4 * 80**1.5)
    assert found.estimates["linear"] == 100 * 80
    assert found.estimates["members"] == pytest.approx(2 * 80**2 / 3)
    assert estimated_pairs(ensemble, "pairwise", threshold) == found.n_pairs


def test_blocks_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(0, 500, k=5, members=10)
    whole = shared_pairs(rows, "ensemble", 0.2)
    monkeypatch.setattr("quorate.solvers.linkage.co_association.BLOCK_ROWS", 37)
    monkeypatch.setattr("quorate.ops.threads.BLOCK", 16)
    monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", 2)
    for one, other in zip(whole, shared_pairs(rows, "ensemble", 0.2), strict=True):
        assert np.array_equal(one, other)


def test_common_scale() -> None:
    assert common_scale(np.array([2.0, 3.0, 4.0])) == 12
    assert common_scale(np.array([2.5, 3.0])) == 1
    assert common_scale(np.arange(1.0, 60.0)) == 1


def test_spectral_embedding_is_that_of_the_matrix_over_objects() -> None:
    raw = as_ensemble(noisy(1, n=60, k=3, noise=0.2), weights=[1, 2, 1, 1, 0.5, 1])
    rows, inverse = compress(raw)
    shared = (root_weighted_rows(raw) @ root_weighted_rows(raw).T).toarray()
    degree = shared.sum(axis=1)
    values, vectors = np.linalg.eigh(shared / np.sqrt(np.outer(degree, degree)))
    expected = vectors[:, ::-1][:, :3]
    expected = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    embedded, singular = spectral_embedding(rows, 3, np.random.default_rng(0))
    points = embedded[np.arange(rows.n_rows)]
    np.testing.assert_allclose(singular**2, values[::-1][:3], atol=1e-9)
    np.testing.assert_allclose((points @ points.T)[np.ix_(inverse, inverse)], expected @ expected.T, atol=1e-7)


def test_spectral_lanczos_equals_the_whole_decomposition(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(4, 200, members=10, k=4, noise=0.3)
    whole, values = spectral_embedding(rows, 4, np.random.default_rng(0))
    monkeypatch.setattr("quorate.solvers.spectral.embedding.DENSE_SIDE", 1)
    lanczos, other = spectral_embedding(rows, 4, np.random.default_rng(0))
    np.testing.assert_allclose(values, other, atol=1e-9)
    found = whole[np.arange(rows.n_rows)]
    np.testing.assert_allclose(found @ found.T, lanczos @ lanczos.T, atol=1e-6)


def test_spectral_takes_fewer_directions() -> None:
    labels = noisy(0, n=200, k=4, members=12, noise=0.2)
    truth = noisy(0, n=200, k=4, members=12, noise=0.0)[:, 0]
    result = consensus(labels, 4, method="spectral", n_components=3, random_state=0)
    assert len(result.info["singular_values"]) == 3
    assert adjusted_rand_score(truth, result.labels) > 0.9
    for wrong in ({"n_components": 0}, {"n_init": 0}, {"max_iter": 0}):
        with pytest.raises(ValueError, match=r"must be (at least 1|between 1 and 1,000,000)"):
            consensus(labels, 4, method="spectral", **wrong)


def test_euclidean_kmeans_counts_and_fills() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 2))
    counts = rng.integers(1, 5, size=40)
    run = euclidean_kmeans(points, counts, 5, rng, n_init=5, max_iter=50)
    assert run.converged
    means = np.stack([np.average(points[run.labels == c], axis=0, weights=counts[run.labels == c]) for c in range(5)])
    assert run.inertia == pytest.approx(counts @ ((points - means[run.labels]) ** 2).sum(axis=1))
    same = euclidean_kmeans(np.zeros((6, 2)), np.ones(6, dtype=np.int64), 4, rng, n_init=1, max_iter=10)
    assert len(set(same.labels.tolist())) == 4


def test_counts_stand_for_objects_in_every_method() -> None:
    rows = rows_of(0, 40, k=3)
    heavy = replace(rows, counts=rows.counts * 1000)
    for method in ("eac", "hne", "spectral"):
        first, second = (solve(part, 3, method=method, random_state=0).labels for part in (rows, heavy))
        assert np.array_equal(first, second)

"""What the laws do not say: each method's own objective, options and results."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from ensembles import noisy, noisy_with_truth
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from quorate import METHODS, Ensemble, as_ensemble, compress, consensus, density
from quorate.solvers.label_rows import take
from quorate.solvers.label_space import lookup
from quorate.solvers.label_space.lookup import LookupRun, Sums, best_of_restarts, means_rule, row_sums, seed_rows, sweep
from quorate.solvers.label_space.models import euclidean
from quorate.solvers.local_weights import cluster_certainty, cluster_overlap
from quorate.solvers.spectral.transfer_cut import leading_values, transfer_embedding


def lloyd(rows: Ensemble, start: Sums, max_iter: int) -> LookupRun:
    return sweep(rows, euclidean(rows), means_rule(rows, start), max_iter)


def one_hot(ensemble):
    """The matrix the library never forms."""
    matrix = np.zeros((ensemble.n_rows, ensemble.offsets[-1]))
    for row, member in zip(*np.nonzero(ensemble.labels >= 0), strict=True):
        matrix[row, ensemble.offsets[member] + ensemble.labels[row, member]] = np.sqrt(ensemble.weights[member])
    return matrix


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_lloyd_equals_scikit_learn(seed: int, weighted: bool) -> None:
    """Same centres, same sweeps, same inertia and, ties aside, the same labels as KMeans on the one-hot matrix."""
    weights = np.random.default_rng(seed).uniform(0.5, 2, size=6) if weighted else None
    rows, _ = compress(as_ensemble(noisy(seed, n=300, k=4, missing=0.1), weights=weights))
    seeds = seed_rows(rows, 4, np.random.default_rng(seed))
    ours = lloyd(rows, row_sums(rows, seeds), max_iter=100)
    matrix = one_hot(rows)
    theirs = KMeans(4, init=matrix[seeds], n_init=1, max_iter=100, tol=0).fit(matrix, sample_weight=rows.counts)
    assert ours.cost == pytest.approx(theirs.inertia_, rel=0.02)
    means = np.stack(
        [np.average(matrix[ours.labels == c], axis=0, weights=rows.counts[ours.labels == c]) for c in range(4)]
    )
    distances = ((matrix[:, None] - means[None]) ** 2).sum(axis=2)
    assert ours.cost == pytest.approx(rows.counts @ distances[np.arange(rows.n_rows), ours.labels])
    assert (distances[np.arange(rows.n_rows), ours.labels] <= distances.min(axis=1) + 1e-9).all()


def test_inertia_never_rises() -> None:
    rows, _ = compress(as_ensemble(noisy(3, n=500, k=5, missing=0.2)))
    start = row_sums(rows, np.arange(5))
    path = [lloyd(rows, start, max_iter=sweeps).cost for sweeps in range(1, 15)]
    assert all(later <= earlier + 1e-9 for earlier, later in itertools.pairwise(path))


def test_lloyd_on_raw_objects_equals_rows_with_counts() -> None:
    """The exactness law for k-means itself: the same seeds give the same partition, counted or not."""
    for seed in range(12):
        raw = as_ensemble(noisy(seed, n=120, missing=0.1 * (seed % 2)))
        rows, inverse = compress(raw)
        seeds = seed_rows(rows, 4, np.random.default_rng(seed))
        objects = np.array([int(np.flatnonzero(inverse == row)[0]) for row in seeds])
        counted = lloyd(rows, row_sums(rows, seeds), max_iter=100)
        plain = lloyd(raw, row_sums(raw, objects), max_iter=100)
        assert np.array_equal(plain.labels, counted.labels[inverse])
        assert plain.cost == counted.cost
        assert plain.n_iter == counted.n_iter


def test_empty_clusters_are_filled() -> None:
    """Started from one and the same row, all clusters but the first are empty; all k come out, each with a row."""
    for seed in range(5):
        rows, _ = compress(as_ensemble(noisy(seed, n=100, missing=0.1)))
        run = lloyd(rows, row_sums(rows, np.zeros(6, dtype=np.intp)), max_iter=100)
        assert run.converged
        assert (run.sums.mass > 0).all()
        assert np.array_equal(np.bincount(run.labels, weights=rows.counts), run.sums.mass)


def test_as_many_clusters_as_rows_are_filled() -> None:
    rows, _ = compress(as_ensemble(noisy(2, n=30)))
    run = lloyd(rows, row_sums(rows, np.zeros(rows.n_rows, dtype=np.intp)), max_iter=100)
    assert sorted(run.labels.tolist()) == list(range(rows.n_rows))
    assert run.cost == pytest.approx(0.0)


def test_restarts_on_a_sample_end_on_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, _ = compress(as_ensemble(noisy(1, n=3000, members=8, k=4)))
    monkeypatch.setattr(lookup, "SAMPLE_ROWS", 400)
    run = best_of_restarts(rows, euclidean, 4, np.random.default_rng(0), n_init=5, max_iter=100)
    monkeypatch.setattr(lookup, "SAMPLE_ROWS", 10**6)
    whole = best_of_restarts(rows, euclidean, 4, np.random.default_rng(0), n_init=5, max_iter=100)
    assert len(run.labels) == rows.n_rows
    assert run.cost == euclidean(rows).cost(run.sums)
    assert run.cost <= whole.cost * 1.02


@pytest.mark.parametrize("method", ["kmeans", "kcc", "kmodes", "qmi"])
def test_wide_tables_equal_narrow_ones(method: str) -> None:
    """Sums past 2**31 need the 64-bit table; with it the partition is the same and the objective scales."""
    labels = noisy(4, n=200)
    small, large = (
        consensus(as_ensemble(labels, counts=np.full(200, count)), 3, method=method, random_state=0)
        for count in (1, 10**9)
    )
    assert np.array_equal(small.labels, large.labels)
    assert large.objective == pytest.approx(small.objective * 1e9)


def test_kmeans_reports_convergence() -> None:
    labels = noisy(0, n=400, k=6, noise=0.6)
    assert consensus(labels, 6, method="kmeans", random_state=0).converged
    cut = consensus(labels, 6, method="kmeans", random_state=0, max_iter=1)
    assert not cut.converged
    assert cut.n_iter == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_init": 0}, "n_init must be between 1 and 1,000,000"),
        ({"max_iter": 1.5}, "max_iter must be an integer"),
        ({"init": "random"}, "init must be one of 'k-means\\+\\+'"),
        ({"init": [0, 1]}, "3 different row numbers"),
        ({"init": [0, 1, 10**6]}, "init must name rows"),
        ({"random_state": -1}, "random_state must be at least 0"),
        ({"random_state": "today"}, "random_state must be an integer"),
        ({"method": "magic"}, "method must be one of 'auto', 'best'"),
    ],
)
def test_kmeans_refuses(options: dict[str, object], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        consensus(noisy(0), 3, **{"method": "kmeans", **options})


def test_bisecting_tree_tells_the_partition() -> None:
    labels = noisy(2, n=300, k=6, members=10, noise=0.2)
    result = consensus(labels, 5, method="bisecting", random_state=0)
    splits = result.info["splits"]
    assert len(splits) == 4
    assert [(split.left, split.right) for split in splits] == [(1, 2), (3, 4), (5, 6), (7, 8)]
    sizes = {0: 300} | {side: size for s in splits for side, size in ((s.left, s.left_size), (s.right, s.right_size))}
    assert all(sizes[split.node] == split.left_size + split.right_size for split in splits)
    leaves = sorted(size for node, size in sizes.items() if node not in {split.node for split in splits})
    assert leaves == sorted(np.bincount(result.labels).tolist())
    assert result.objective == pytest.approx(density(result.labels, labels))


def test_bisecting_gain_is_the_change_of_density() -> None:
    labels = noisy(5, n=200, k=5, missing=0.1)
    path = [consensus(labels, k, method="bisecting", random_state=0) for k in range(1, 6)]
    values = [density(step.labels, labels) for step in path]
    assert [split.gain for split in path[-1].info["splits"]] == pytest.approx(np.diff(values))


@pytest.mark.parametrize("k", [3, 5, 8])
def test_bisecting_finds_k(k: int) -> None:
    labels = noisy(k, n=400, k=k, members=12, noise=0.15)
    assert consensus(labels, method="bisecting", random_state=0).n_clusters == k


def test_bisecting_minimum_gain() -> None:
    labels = noisy(9, n=400, k=6, members=12, noise=0.1)
    free = consensus(labels, method="bisecting", random_state=0, min_gain=0.02)
    gains = [split.gain for split in free.info["splits"]]
    assert all(gain >= 0.02 for gain in gains[: free.n_clusters - 1])
    assert gains[free.n_clusters - 1] < 0.02
    with pytest.raises(ValueError, match="min_gain"):
        consensus(labels, 3, method="bisecting", min_gain=0.02)
    with pytest.raises(ValueError, match="min_gain must lie in"):
        consensus(labels, method="bisecting", min_gain=7)


def test_best_takes_the_member_of_the_wanted_size() -> None:
    table = {"two": [0, 0, 1, 1, 1], "three": [0, 0, 1, 1, 2], "odd": [0, 1, 0, 1, 2]}
    assert consensus(table, 2, method="best").info["member"] == "two"
    assert consensus(table, 3, method="best").info["member"] == "three"
    with pytest.raises(ValueError, match="no member has n_clusters = 4"):
        consensus(table, 4, method="best")


def test_best_comes_near_a_planted_partition_in_spite_of_gaps() -> None:
    """The law about missing labels asks more than a single member can give; this is what it can give."""
    truth, labels = noisy_with_truth(11, 200, 3, 10, noise=0.1, missing=0.3)
    assert adjusted_rand_score(truth, consensus(labels, method="best").labels) > 0.5


def test_best_completes_gaps() -> None:
    table = {"a": [0, 0, 0, 1, 1, None], "b": [5, 5, 5, 6, 6, 6], "c": [0, 0, 1, 2, 2, 2]}
    result = consensus(table, method="best")
    assert result.labels.tolist() == [0, 0, 0, 1, 1, 1]


def _without_one_cluster() -> Ensemble:
    """Rows of an ensemble of which none is in the third cluster of its first member, as in a sample of rows."""
    whole = as_ensemble(np.random.default_rng(0).integers(4, size=(60, 5)), orientation="objects")
    kept = np.flatnonzero(whole.labels[:, 0] != 2)
    return take(whole, kept, whole.counts[kept])


@pytest.mark.parametrize("method", sorted(name for name, entry in METHODS.items() if not entry.combines))
def test_a_cluster_without_members_is_no_fault(method: str) -> None:
    """Warnings are errors in the tests: nothing may divide by the size of such a cluster."""
    rows = _without_one_cluster()
    result = METHODS[method].solve(rows, None if method == "best" else 3, rng=np.random.default_rng(0))
    assert np.isfinite(result.objective)
    assert len(result.labels) == rows.n_rows


def test_what_a_cluster_without_members_weighs() -> None:
    rows = _without_one_cluster()
    assert cluster_certainty(rows, 0.4)[2] == 1.0
    assert cluster_overlap(rows)[2].tolist() == [0.0] * 20
    points, values = transfer_embedding(rows, np.ones(20), 3, np.random.default_rng(0))
    assert np.isfinite(points[np.arange(rows.n_rows)]).all()
    sparse = leading_values(rows, np.ones(20), 3, np.random.default_rng(0), dense=False)
    np.testing.assert_allclose(values, sparse, rtol=1e-9)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_info_has_the_keys_that_the_method_documents(method: str) -> None:
    entry, labels = METHODS[method], noisy(0, n=80, members=6)
    keys = set(re.findall(r'``info\["(\w+)"\]', entry.solve.__doc__ or ""))
    numbers = [3, None] if entry.finds_k else [3]
    further = {"greedy": {"tries": 2}, "hne": {"theta": "auto"}}.get(method, {})
    info = [
        consensus(labels, k, method=method, random_state=0, confidence=False, **options).info
        for k in numbers
        for options in ({}, further)
    ]
    assert keys - set().union(*info) == set()


@pytest.mark.parametrize("seed", range(60))
def test_sec_is_the_normalized_cut_of_the_weighted_co_association_graph(seed: int) -> None:
    """Slow twin: the matrix S of shared weights, its degrees, and the share of each cluster's degree that leaves it."""
    rng = np.random.default_rng(seed)
    n, k, m = int(rng.integers(12, 40)), int(rng.integers(2, 5)), int(rng.integers(3, 8))
    truth = rng.integers(0, k, n)
    table = np.where(rng.random((n, m)) < 0.4, rng.integers(0, k, (n, m)), truth[:, None])
    table[rng.random((n, m)) < 0.1] = -1
    table[:, 0] = truth
    weights = rng.choice([0.25, 1.0, 2.0, 3.5], m) if seed % 2 else rng.uniform(0.5, 2.0, m)
    weights[-1] = 0.25  # the others are multiples of it, which are not rounded
    ensemble = as_ensemble(table, weights=weights)
    result = consensus(ensemble, k, method="sec", random_state=0, confidence=False)
    known = table >= 0
    shared = ((table[:, None] == table[None]) & known[:, None] & known[None]) @ weights
    degree = shared.sum(axis=1)
    parts = [np.flatnonzero(result.labels == c) for c in range(k)]
    cut = sum(shared[np.ix_(part, np.setdiff1d(np.arange(n), part))].sum() / degree[part].sum() for part in parts)
    constant = (np.diag(shared) / degree).sum()
    assert result.objective == pytest.approx(constant - k + cut, abs=1e-12 if seed % 2 else 1e-5)


@pytest.mark.parametrize("method", ["kmeans", "lwgp", "spectral", "transfer", "voting", "kcc", "cspa", "sec", "eac"])
def test_a_weight_of_two_is_a_copy(method: str) -> None:
    """As docs/how-to/weights.md says: for `eac` where no two merges are equally good, so that all weights differ."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, k, m = int(rng.integers(12, 60)), int(rng.integers(2, 5)), int(rng.integers(3, 8))
        truth = rng.integers(0, k, n)
        table = np.where(rng.random((n, m)) < 0.4, rng.integers(0, k, (n, m)), truth[:, None])
        weights = rng.uniform(0.5, 1.5, m) if method == "eac" else np.ones(m)
        options = {"method": method, "random_state": 0, "orientation": "objects", "confidence": False, "check": False}
        heavy = consensus(table, k, weights=[2 * weights[0], *weights[1:]], **options)
        copied = consensus(np.column_stack([table[:, 0], table]), k, weights=[weights[0], *weights], **options)
        assert heavy.labels.tolist() == copied.labels.tolist()

"""The median partition: its objective against every pair counted, its moves against what they leave undone."""

from __future__ import annotations

import numpy as np
import oracle_local
import pytest
from ensembles import WEIGHTS, noisy, rows_of

from quorate import as_ensemble, compress, consensus
from quorate.ops.moves import merge_attracted
from quorate.solvers.label_space import median
from quorate.solvers.label_space.median import descend_from, disagreements, leaders, lower_bound, settle_rows
from quorate.solvers.weights import integer_member_weights


@pytest.mark.parametrize("weights", [None, WEIGHTS, WEIGHTS + np.pi])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_objective_and_bound_count_every_pair(missing: float, weights: object) -> None:
    rows = rows_of(1, 40, missing=missing, weights=weights)
    _, unit = integer_member_weights(rows)
    for k in (1, 3, rows.n_rows):
        labels = np.arange(rows.n_rows, dtype=np.int32) % k
        expected = oracle_local.disagreements(rows, labels)
        np.testing.assert_allclose(disagreements(rows, labels) * unit, expected, rtol=1e-6 if unit < 1 else 1e-14)
    found = lower_bound(rows)
    assert found is not None
    np.testing.assert_allclose(found * unit, oracle_local.lower_bound(rows), rtol=1e-5 if unit < 1 else 1e-14)


@pytest.mark.parametrize("k", [None, 2, 3, 9])
@pytest.mark.parametrize("seed", range(6))
def test_costs_never_rise_but_where_a_number_is_forced(seed: int, k: int | None) -> None:
    rows = rows_of(seed, 120, missing=0.2 * (seed % 2), k=4, noise=0.5, weights=WEIGHTS if seed > 3 else None)
    start = np.random.default_rng(seed).integers(20, size=rows.n_rows).astype(np.int32)
    for run in (descend_from(rows, start, k, 100), descend_from(rows, leaders(rows), k, 100)):
        rises = np.flatnonzero(np.diff(run.costs) > 0) + 1
        assert set(rises.tolist()) <= {run.forced}
        assert run.converged
        assert run.costs[-1] == disagreements(rows, run.labels)
        assert k in (None, int(run.labels.max()) + 1)
    kept = settle_rows(rows, start % 5, 100)
    assert np.all(np.diff(kept.costs) <= 0)
    assert int(kept.labels.max()) == 4


@pytest.mark.parametrize("seed", range(4))
def test_no_move_of_a_row_and_no_merge_lowers_the_end(seed: int) -> None:
    rows = rows_of(seed, 40, missing=0.2 * (seed % 2), noise=0.5, weights=WEIGHTS if seed > 1 else None)
    result = consensus(rows, method="correlation")
    k, labels = result.n_clusters, result.labels
    assert result.objective == oracle_local.disagreements(rows, labels)
    for row in range(rows.n_rows):
        for target in range(k + 1):
            moved = labels.copy()
            moved[row] = target
            assert oracle_local.disagreements(rows, moved) >= result.objective
    for a in range(k):
        for b in range(a):
            assert oracle_local.disagreements(rows, np.where(labels == a, b, labels)) >= result.objective


def test_the_best_of_all_partitions_is_found_on_most_small_cases() -> None:
    found = 0
    for seed in range(12):
        rows = as_ensemble(noisy(seed, 7, noise=0.5))
        best = min(oracle_local.disagreements(rows, labels) for labels in oracle_local.partitions(7))
        result = consensus(rows, method="correlation")
        assert result.info["lower_bound"] <= best <= result.objective
        found += result.objective == best
    assert found >= 11


@pytest.mark.parametrize("init", ["best", "member", "leaders"])
def test_every_start_finds_a_clear_partition(init: str) -> None:
    result = consensus(noisy(2, 200, k=4, noise=0.1, members=15), method="correlation", init=init)
    assert result.n_clusters == 4
    assert result.info["start"] == ("leaders" if init == "leaders" else "member 4")


def test_the_best_start_is_the_one_that_ends_lowest() -> None:
    winners = set()
    for seed in range(8):
        labels = noisy(seed, 120, k=4, noise=0.5)
        both, *single = (consensus(labels, method="correlation", init=name) for name in ("best", "member", "leaders"))
        lowest = min(single, key=lambda result: result.objective)
        assert (both.objective, both.info["start"]) == (lowest.objective, lowest.info["start"])
        winners.add(both.info["start"] == "leaders")
    assert winners == {True, False}


def test_best_pairs_are_merged_first() -> None:
    attraction = np.array([[0.0, 2, -5, 1], [2, 0, 1, -9], [-5, 1, 0, 3], [1, -9, 3, 0]])
    merged = np.empty(4, dtype=np.int64)
    assert merge_attracted(attraction.copy(), 0, merged) == 2
    assert merged.tolist() == [0, 0, 2, 2]
    assert merge_attracted(attraction.copy(), 3, merged) == 1
    assert merged.tolist() == [0, 1, 2, 2]
    assert merge_attracted(attraction.copy(), 1, merged) == 3
    assert merged.tolist() == [0, 0, 0, 0]


def test_the_bound_is_left_out_on_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = noisy(0, 100)
    assert consensus(labels, method="correlation").info["lower_bound"] is not None
    monkeypatch.setattr(median, "BOUND_ROWS", 10)
    assert consensus(labels, method="correlation").info["lower_bound"] is None


def test_few_clusters_may_be_founded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all columns are taken, rows join the best cluster however little it attracts them."""
    monkeypatch.setattr(median, "MOST_CLUSTERS", 2)
    rows = as_ensemble(np.arange(40)[:, None].repeat(3, axis=1) // 2, orientation="objects")
    assert int(leaders(rows).max()) < 40
    labels = noisy(0, 100, k=3)
    assert int(leaders(compress(as_ensemble(labels))[0]).max()) < 6


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("k", [None, 4, 6])
def test_a_sample_serves_for_the_start(k: int | None, missing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = noisy(3, 1500, k=4, noise=0.15, members=12, missing=missing)
    whole = consensus(labels, k, method="correlation")
    monkeypatch.setattr(median, "SAMPLE_ROWS", 700)
    part = consensus(labels, k, method="correlation")
    assert part.info["start"].endswith("on a sample")
    assert part.objective <= 1.001 * whole.objective
    assert k in (None, part.n_clusters)


def test_bad_options_are_refused() -> None:
    with pytest.raises(ValueError, match="init must be one of"):
        consensus(noisy(0), method="correlation", init="kmeans")
    with pytest.raises(ValueError, match="max_iter must be"):
        consensus(noisy(0), method="correlation", max_iter=0)
    assert not consensus(noisy(0, 200, noise=0.6), method="correlation", max_iter=1).converged

"""Counts that stand for 10^8 objects and more, up to the cap: no sum overflows, and no method falls apart."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import numpy as np
import pytest

from quorate import METHODS, Ensemble, ari, as_ensemble, choose_k, compress, evaluate, merge, solve
from quorate._data.proof import MAX_OBJECTS
from quorate._evaluation.consensus_index import ambiguity, index_distribution

SMALL = 256
TOTALS = [10**8, 10**12, MAX_OBJECTS]


@functools.cache
def table(weighted: bool, n_members: int = 9) -> Ensemble:
    """About forty noisy rows of four clusters with gaps, for 256 objects in all, which divides every total."""
    rng = np.random.default_rng(3)
    truth = np.arange(40) % 4
    noisy = rng.random((40, n_members)) < 0.2
    labels = np.where(noisy, rng.integers(5, size=noisy.shape), truth[:, None])
    labels[rng.random(labels.shape) < 0.08] = -1
    rows, _ = compress(as_ensemble(labels, orientation="objects"))
    counts = rng.integers(1, 9, size=rows.n_rows)
    counts[-1] += SMALL - counts.sum()
    assert counts.min() > 0
    weights = np.sqrt(1.0 + np.arange(n_members)) if weighted else np.ones(n_members)
    return as_ensemble(replace(rows, counts=counts, weights=weights))


def scaled(ensemble: Ensemble, total: int) -> Ensemble:
    assert total % SMALL == 0
    return as_ensemble(ensemble, counts=ensemble.counts * (total // SMALL))


@functools.cache
def labels_of(method: str, weighted: bool, total: int) -> tuple[int, ...]:
    result = solve(scaled(table(weighted), total), 4, method=method, random_state=0)
    assert math.isfinite(result.objective)
    assert result.confidence is None or (result.confidence.min() >= 0 and result.confidence.max() <= 1)
    return tuple(result.labels.tolist())


@pytest.mark.parametrize("total", TOTALS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_a_common_factor_of_all_counts_changes_no_label(method: str, weighted: bool, total: int) -> None:
    assert labels_of(method, weighted, total) == labels_of(method, weighted, SMALL)


@pytest.mark.parametrize("method", METHODS)
def test_one_row_of_nearly_all_objects(method: str) -> None:
    """Counts without a common factor that add up to the cap: 2^53 less 39, and one each."""
    rows = table(False)
    counts = np.ones(rows.n_rows, dtype=np.int64)
    counts[0] = MAX_OBJECTS - counts[1:].sum()
    result = solve(as_ensemble(rows, counts=counts), 4, method=method, random_state=0)
    assert sorted(set(result.labels.tolist())) == [0, 1, 2, 3]
    assert math.isfinite(result.objective)


@pytest.mark.parametrize(("n_objects", "n_members"), [(180_000_000, 1000), (420_000_000, 200), (5_600_000_000, 7)])
def test_sec_finds_a_planted_partition_where_it_fell_apart(n_objects: int, n_members: int) -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 25)
    noisy = rng.random((100, n_members)) < 0.15
    labels = np.where(noisy, rng.integers(4, size=noisy.shape), truth[:, None])
    counts = np.full(100, n_objects // 100)
    for factor in (1, 10):
        ensemble = as_ensemble(labels, orientation="objects", counts=counts * factor)
        rows, inverse = compress(ensemble)
        assert ari(solve(rows, 4, method="sec", random_state=0).labels[inverse], truth) > 0.9


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("total", TOTALS[1:])
def test_scores_of_many_objects(weighted: bool, total: int) -> None:
    """Beside those of 25.6 million objects: pairs of different objects weigh less among few."""
    rows = table(weighted)
    labels, truth = np.arange(rows.n_rows) % 4, np.arange(rows.n_rows) % 3
    few = evaluate(labels, scaled(rows, 100_000 * SMALL), truth=truth).as_dict()
    many = evaluate(labels, scaled(rows, total), truth=truth).as_dict()
    assert many.pop("n_objects") == total
    known = {name: value for name, value in few.items() if value is not None and name != "n_objects"}
    assert {name: many[name] for name in known} == pytest.approx(known, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("total", TOTALS)
def test_pairs_of_many_objects(total: int) -> None:
    rng = np.random.default_rng(0)
    few, many = scaled(table(False), 100_000 * SMALL), scaled(table(False), total)
    members = np.arange(many.n_members)
    assert ambiguity(many, members, rng).proportion == pytest.approx(ambiguity(few, members, rng).proportion, rel=1e-6)
    assert index_distribution(many, rng).shares == pytest.approx(index_distribution(few, rng).shares, rel=1e-5)
    chosen = [choose_k(found, (2, 6), method="kmeans", random_state=0) for found in (few, many)]
    # stability is measured on objects that are drawn, so that other counts give another draw
    votes = [{name: k for name, k in found.votes.items() if name != "stability"} for found in chosen]
    assert votes[0] == votes[1]


def test_no_object_is_lost() -> None:
    """Up to 2^53 a sum of float64 is exact; one object more is refused at the door, see test_proof."""
    labels = np.array([[0, 0], [1, 1], [0, 0], [1, 1], [0, 0]])
    counts = np.array([MAX_OBJECTS // 2 - 1, 3, MAX_OBJECTS // 2 - 5, 1, 2])
    ensemble = as_ensemble(labels, counts=counts)
    rows, _ = compress(ensemble)
    assert ensemble.n_objects == MAX_OBJECTS
    assert rows.counts.tolist() == [MAX_OBJECTS - 4, 4]
    halves = [as_ensemble(labels[part], counts=counts[part]) for part in (slice(0, 2), slice(2, 5))]
    assert merge(halves)[0].n_objects == MAX_OBJECTS
    assert evaluate([0, 1, 0, 1, 0], ensemble).anmi == 1.0

"""Confidence: what it estimates, what it does not depend on, and what it costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import oracle_link
import pandas as pd
import pytest
from ensembles import noisy, noisy_with_truth
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit

from quorate import (
    METHODS,
    Consensus,
    as_ensemble,
    compress,
    consensus,
    evaluate,
    harden,
    load_consensus,
    place,
    refine,
    save_consensus,
    save_labels,
    solve,
)
from quorate._consensus import confidence as module
from quorate._consensus import drawn_labels
from quorate._trust.subject import subject_of
from quorate.cli import main
from quorate.solvers.cluster_means import own_shares
from quorate.solvers.contingency import matched


def same_places(result: Consensus, other: Consensus) -> np.ndarray:
    """Whether each object is in the cluster matched with its own."""
    labels = result.labels.astype(np.int64)
    return matched(labels, other.labels.astype(np.int64), np.ones(len(labels), dtype=np.int64)) == labels


def slow_confidence(curve: dict[str, Any], share: float, cluster: int, known: float) -> float:
    """One value, step by step: by halves, by fresh labels, and the mean of their log odds."""
    x, chance = 2 * share - 1, 1 / len(curve["levels"])
    halves = expit(curve["levels"][cluster] + curve["slope"] * x)
    features = np.array([x, np.log(known), x * np.log(known), x * known])
    right = expit(curve["right_levels"][cluster] + curve["right_slopes"] @ features)
    again = expit(curve["again_levels"][cluster] + curve["again_slopes"] @ np.array([np.log(known), known]))
    fresh = right * again + (1 - right) * (1 - again) / (len(curve["levels"]) - 1)
    fresh = chance + (fresh - chance) * curve["found_again"]
    fresh, halves = np.clip([fresh, halves], module.NEARLY, 1 - module.NEARLY)
    return float(expit((1 - known**2 / 2) * logit(fresh) + known**2 / 2 * logit(halves)))


@pytest.mark.parametrize("method", sorted(METHODS))
def test_confidence_of_every_method_follows_the_curve_of_its_result(method: str) -> None:
    rows, _ = compress(as_ensemble(noisy(4, members=8, missing=0.1)))
    result = solve(rows, None if method == "best" else 3, method=method, random_state=0)
    if result.confidence is None:
        assert method == "best"  # its halves do not always have a member of that many clusters
        return
    curve = result.info["confidence"]
    known = (rows.labels >= 0).mean(axis=1)
    shares = own_shares(rows, result.labels)
    slow = [slow_confidence(curve, *each) for each in zip(shares, result.labels, known, strict=True)]
    assert result.confidence == pytest.approx(slow)
    assert 0 <= curve["found_again"] <= 1
    assert curve["slope"] >= 0
    assert curve["divisions"] in (1, 2)


def test_the_confidence_of_a_method_itself_is_kept() -> None:
    result = consensus(noisy(0, members=8), 3, method="mixture", random_state=0)
    own = result.info["method_confidence"][result.rows]
    assert own.shape == result.confidence.shape
    assert not np.allclose(own, result.confidence)


def test_it_can_be_left_out() -> None:
    labels = noisy(0, members=8)
    result, plain = (consensus(labels, 3, random_state=0, confidence=given) for given in (True, False))
    assert plain.confidence is None
    assert "confidence" not in plain.info
    assert np.array_equal(plain.labels, result.labels)
    assert np.array_equal(plain.runner_up, result.runner_up)
    with pytest.raises(ValueError, match="no confidence"):
        plain.ambiguous()
    with pytest.raises(ValueError, match="confidence must be one of True, False"):
        consensus(labels, 3, confidence="yes")


def test_a_single_member_has_no_confidence_and_a_single_cluster_is_certain() -> None:
    assert consensus([[0, 0, 1, 1]], 2).confidence is None
    assert consensus(noisy(0), 1, random_state=0).confidence.tolist() == [1.0] * 60
    one = subject_of(consensus([[0, 0, 1, 1]], 2), as_ensemble([[0, 0, 1, 1]]))
    assert one.confidence.tolist() == [1.0] * 4


@pytest.mark.parametrize(("noise", "seed"), [(0.1, 0), (0.4, 1), (0.6, 2), (1.0, 3)])
def test_it_is_about_the_share_of_objects_that_fresh_members_place_alike(noise: float, seed: int) -> None:
    labels = noisy(seed, n=400, k=4, members=48, noise=noise)
    parts = [consensus(as_ensemble(labels[:, at : at + 12]), 4, random_state=at) for at in range(0, 48, 12)]
    same = np.mean([same_places(parts[0], fresh) for fresh in parts[1:]], axis=0)
    assert parts[0].confidence.mean() == pytest.approx(same.mean(), abs=0.12)


def test_a_tight_group_that_halves_do_not_find_again_is_not_the_most_confident() -> None:
    _, labels = noisy_with_truth(0, 300, 2, 20, noise=0.25)
    group = np.arange(12)
    labels[group] = labels[0]
    # eight members tell the group from its cluster, so that the third cluster is this group or some other
    labels[np.ix_(group, np.arange(8))] = 2
    result = consensus(labels, 3, method="eac")
    cluster = result.labels[0]
    assert (result.labels[group] == cluster).all()
    assert (result.labels == cluster).sum() < 40
    shares = own_shares(as_ensemble(labels, orientation="objects"), result.labels)
    assert shares[group].mean() > 0.6
    assert result.confidence[group].mean() < result.confidence[result.labels != cluster].mean()


@pytest.mark.parametrize("method", ["lwgp", "eac", "kmeans"])
def test_names_and_order_of_members_change_nothing(method: str) -> None:
    labels, rng = noisy(1, n=90, members=9, missing=0.1), np.random.default_rng(0)
    other = np.where(labels < 0, -1, rng.permutation(9)[labels])[:, rng.permutation(9)]
    one, two = (consensus(as_ensemble(table), 3, method=method, random_state=0) for table in (labels, other))
    assert one.confidence == pytest.approx(two.confidence, abs=1e-9)


def test_the_order_of_objects_changes_nothing_for_a_deterministic_method() -> None:
    labels, order = noisy(2, n=90, members=9, missing=0.1), np.random.default_rng(0).permutation(90)
    one, two = (
        consensus(as_ensemble(table, orientation="objects"), 3, method="eac") for table in (labels, labels[order])
    )
    assert one.confidence[order] == pytest.approx(two.confidence, abs=1e-9)


def test_counts_stand_for_objects() -> None:
    labels = noisy(3, n=80, members=6)
    rows, inverse = compress(as_ensemble(labels))
    assert np.array_equal(
        solve(rows, 3, random_state=0).confidence[inverse], consensus(labels, 3, random_state=0).confidence
    )


def test_places_have_the_same_scale_before_and_after_saving(tmp_path: Path) -> None:
    labels = noisy(2, members=8, missing=0.2)
    result = consensus(labels, 3, random_state=0)
    save_consensus(tmp_path / "result.npz", result)
    for known in (result, load_consensus(tmp_path / "result.npz")):
        assert place(known, labels, labels).confidence == pytest.approx(result.confidence)


def test_labels_of_unknown_origin_get_the_confidence_of_the_default_method() -> None:
    truth, labels = noisy_with_truth(0, 200, 3, 12, noise=0.2)
    shuffled = np.random.default_rng(0).permutation(truth)
    good, bad = (subject_of(given, as_ensemble(labels)).confidence.mean() for given in (truth, shuffled))
    assert good > 0.9
    assert bad < 0.5
    assert place(truth, labels, labels).confidence.mean() == pytest.approx(good)
    assert refine(truth, labels).confidence.mean() > 0.9


def test_soft_members_are_halved_as_their_likeliest_labels() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=60)
    members = [np.eye(3)[truth] * 0.8 + rng.dirichlet(np.ones(3), size=60) * 0.2 for _ in range(6)]
    soft, hard = consensus(members, 3, random_state=0), consensus(harden(members), 3, method="kmeans", random_state=0)
    assert soft.confidence.mean() == pytest.approx(hard.confidence.mean(), abs=0.05)


def test_it_costs_four_runs_on_at_most_2000_objects_and_two_on_half_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    entry, sizes = METHODS["eac"], []

    def counting(ensemble, n_clusters, **options):
        sizes.append((ensemble.n_objects, ensemble.n_members))
        return entry.solve(ensemble, n_clusters, **options)

    monkeypatch.setitem(METHODS, "eac", replace(entry, solve=counting, time="linear"))
    truth = np.random.default_rng(0).integers(3, size=(5_000, 1))
    consensus(as_ensemble((truth + np.random.default_rng(1).integers(2, size=(5_000, 7))) % 3), 3, method="eac")
    assert sizes == [(5_000, 7), (2_000, 4), (2_000, 3), (2_000, 4), (2_000, 3), (1_000, 7), (1_000, 7)]


def test_the_stability_of_clusters_tells_real_ones_from_others() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [120, 80, 60])
    labels = np.where(rng.random((260, 12)) < 0.3, rng.integers(3, size=(260, 12)), truth[:, None])
    good, poor = (consensus(labels, k, orientation="objects", random_state=0) for k in (3, 5))
    assert good.stability is not None
    assert good.stability.min() > 0.85
    assert poor.stability is not None
    assert poor.stability.min() < 0.5
    # nothing is repeated again
    scores = evaluate(poor, as_ensemble(labels, orientation="objects"))
    assert scores.stability is not None
    assert [row.stability for row in scores.stability.rows] == poor.stability.tolist()
    words = {row.meaning for row in scores.stability.rows}
    assert words >= {"dissolves"}
    assert str(scores.stability).splitlines()[0].split() == ["cluster", "objects", "stability"]
    # labels of unknown origin: the default method stands for the procedure
    other = evaluate(good.labels, labels.T.tolist()).stability
    assert other is not None
    assert min(row.stability or 0.0 for row in other.rows) > 0.8
    swapped = evaluate(np.array(["b", "c", "a"])[good.labels], labels.T.tolist()).stability
    assert swapped is not None
    assert [(row.objects, row.stability) for row in swapped.rows] == [
        (row.objects, row.stability) for row in other.rows
    ]
    assert [row.cluster for row in swapped.rows] == ["b", "c", "a"]


def test_stability_is_none_where_nothing_can_be_repeated() -> None:
    labels = [[0, 0, 1, 1], [0, 0, 1, 1]]
    assert consensus(labels[:1], 2).stability is None
    assert consensus(labels, 1).stability is None
    assert consensus(labels, 2, confidence=False).stability is None
    assert evaluate([0, 0, 1, 1], labels[:1]).stability is None
    assert evaluate([0, 0, 0, 0], labels).stability is None


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 6), st.sampled_from([1, 3]))
def test_the_fit_is_the_best_one(seed: int, n_rows: int, n_clusters: int, n_features: int) -> None:
    rng = np.random.default_rng(seed)
    x, counts = rng.uniform(-1, 1, (n_rows, n_features)), rng.integers(1, 9, n_rows)
    clusters = rng.integers(n_clusters, size=n_rows).astype(np.int32)
    seen, kept = rng.integers(0, 3, n_rows), rng.random(n_rows)
    begin, last = [module.LEVEL, module.SLOPE, *[0.0] * (n_features - 1)], 1 + n_features
    weights = counts * seen / 2
    levels, slopes = module._fit(x, clusters, kept, weights, n_clusters, begin)

    def loss(values: np.ndarray) -> float:
        odds = values[0] + x @ values[1:last] + values[last:][clusters]
        fit = (weights * (kept * log_expit(odds) + (1 - kept) * log_expit(-odds))).sum()
        start = ((values[:last] - begin) ** 2).sum()
        return float(-fit + module.PULL * start / 2 + module.PULL_OF_CLUSTER * (values[last:] ** 2).sum() / 2)

    bounds = [(None, None), (0, None), *[(None, None)] * (n_clusters + n_features - 1)]
    best = minimize(loss, np.r_[begin, np.zeros(n_clusters)], bounds=bounds).fun
    # of a level and the clusters only the sum is known: the best division is the one that costs least
    level = (module.PULL * begin[0] + module.PULL_OF_CLUSTER * levels.sum()) / (
        module.PULL + module.PULL_OF_CLUSTER * n_clusters
    )
    assert slopes[0] >= 0
    assert loss(np.r_[level, slopes, levels - level]) <= best + 1e-4


def with_gaps(seed: int, table: int, gaps: float, errors: float = 0.3, n_members: int = 6) -> np.ndarray:
    """Members that err independently on 3,000 objects in 4 clusters; which labels are missing follows from the seed."""
    rng, fresh = np.random.default_rng(seed), np.random.default_rng((seed, table))
    truth, missing = rng.integers(4, size=(3_000, 1)), rng.random((3_000, n_members)) < gaps
    missing[missing.all(axis=1), 0] = False
    wrong = fresh.random((3_000, n_members)) < errors
    return np.where(missing, -1, np.where(wrong, fresh.integers(4, size=(3_000, n_members)), truth))


@pytest.mark.parametrize(("seed", "gaps", "n_members"), [(0, 0.55, 6), (1, 0.3, 8), (2, 0.7, 12)])
def test_confidence_knows_how_much_is_known(seed: int, gaps: float, n_members: int) -> None:
    tables = [with_gaps(seed, table, gaps, n_members=n_members) for table in range(4)]
    results = [consensus(as_ensemble(t), 4, random_state=0, confidence=n == 0) for n, t in enumerate(tables)]
    stays = np.mean([same_places(results[0], fresh) for fresh in results[1:]], axis=0)
    n_labels, confidence = (tables[0] >= 0).sum(axis=1), results[0].confidence
    for number in np.unique(n_labels):
        of_number = n_labels == number
        if of_number.sum() >= 200:
            assert confidence[of_number].mean() == pytest.approx(stays[of_number].mean(), abs=0.1)
    single = n_labels == 1
    if single.any():
        right = 0.7 + 0.3 / 4  # a wrong label is right by chance
        assert confidence[single].max() < right


def test_fresh_labels_of_clusters_that_every_member_knows_exactly_stay() -> None:
    truth = np.repeat(np.arange(3), 200)
    members = as_ensemble(np.column_stack([truth, truth, (truth + 1) % 3]), orientation="objects")
    rows, _ = compress(members)
    single = [np.array([member]) for member in range(3)]
    fresh = drawn_labels.fresh_labels(rows, np.arange(3, dtype=np.int32), 3, seed=0, groups=single)
    assert fresh.right == pytest.approx(np.ones(3), abs=1e-3)
    assert fresh.again == pytest.approx(np.ones(3), abs=0.1)
    assert fresh.likeness > 0.8


def copied(seed: int, table: int, sizes: tuple[int, ...]) -> np.ndarray:
    """Groups of copies, 4% of whose labels were changed; the members that were copied err in 40% of 4 clusters."""
    truth = np.random.default_rng(seed).integers(4, size=1_500)
    rng, columns = np.random.default_rng((seed, table)), []
    for size in sizes:
        first = np.where(rng.random(1_500) < 0.4, rng.integers(4, size=1_500), truth)
        columns += [np.where(rng.random(1_500) < 0.04, rng.integers(4, size=1_500), first) for _ in range(size)]
    return np.stack(columns, axis=1)


@pytest.mark.parametrize(("seed", "sizes"), [(0, (3, 4, 2, 3)), (1, (5, 2, 2)), (3, (5, 2, 2))])
def test_confidence_counts_copies_once(seed: int, sizes: tuple[int, ...]) -> None:
    """It was .19, .49 and .43 too high."""
    results = [consensus(as_ensemble(copied(seed, table, sizes)), 4, random_state=0) for table in range(6)]
    stays = np.mean([same_places(results[0], fresh) for fresh in results[1:]])
    assert results[0].confidence.mean() == pytest.approx(stays, abs=0.12)


def of_parts(seed: int, table: int, n_members: int, errors: float) -> np.ndarray:
    """Members that know 40% of 2,000 objects in 4 clusters each, one part after another round a circle."""
    truth = np.random.default_rng(seed).integers(4, size=(2_000, 1))
    rng = np.random.default_rng((seed, table))
    place = np.arange(2_000)[:, None] / 2_000
    missing = (place - np.arange(n_members) / n_members) % 1 > 0.4
    shape = (2_000, n_members)
    return np.where(missing, -1, np.where(rng.random(shape) < errors, rng.integers(4, size=shape), truth))


@pytest.mark.parametrize(("seed", "n_members", "errors"), [(1, 12, 0.3), (1, 8, 0.2), (1, 16, 0.4)])
def test_confidence_of_members_that_know_parts(seed: int, n_members: int, errors: float) -> None:
    """Halves of such members hardly overlap, and the confidence was .33 and .13 too low, and .26 too high."""
    tables = [of_parts(seed, table, n_members, errors) for table in range(6)]
    results = [consensus(as_ensemble(table), 4, random_state=0) for table in tables]
    stays = np.mean([same_places(results[0], fresh) for fresh in results[1:]])
    assert results[0].confidence.mean() == pytest.approx(stays, abs=0.1)


def test_a_row_of_the_same_cluster_is_drawn_as_often_as_it_has_objects() -> None:
    clusters, counts = np.array([0, 1, 0, 1, 1]), np.array([3, 1, 1, 2, 5])
    rng, drawn = np.random.default_rng(0), np.zeros((5, 5))
    for _ in range(4_000):
        drawn[np.arange(5), drawn_labels._drawn_rows(counts, clusters, rng)] += 1 / 4_000
    same = (clusters[:, None] == clusters) * counts
    np.testing.assert_allclose(drawn, same / same.sum(axis=1, keepdims=True), atol=0.04)


def test_random_labels_have_the_confidence_of_chance() -> None:
    labels = np.random.default_rng(0).integers(4, size=(2_000, 8))
    result = consensus(as_ensemble(labels), 4, random_state=0)
    assert result.info["confidence"]["found_again"] < 0.3
    assert 0.2 < result.confidence.mean() < 0.4


def test_own_shares_are_those_of_the_co_association_matrix() -> None:
    rows, _ = compress(as_ensemble(noisy(3, n=90)))
    labels = solve(rows, 5, method="eac").labels
    matrix = oracle_link.co_association(rows)
    weights = [rows.counts * (labels == cluster) for cluster in range(5)]
    means = np.stack([np.average(matrix, axis=1, weights=weight) for weight in weights], axis=1)
    own = means[np.arange(rows.n_rows), labels]
    means[np.arange(rows.n_rows), labels] = 0
    np.testing.assert_allclose(own_shares(rows, labels), own / (own + means.max(axis=1)))


def test_the_confidence_of_mcla_itself_has_a_value_for_each_object(tmp_path: Path) -> None:
    members = [[0, 0, 0, 1, 1, 2, 2], [1, 1, 1, 2, 2, 0, 0], [0, 0, 1, 1, 2, 2, 2], [0, 1, None, 0, 1, None, None]]
    result = consensus(members, 3, method="mcla", random_state=0)
    expected = [3 / 4, 1, 2 / 3, 1, 1 / 2, 1, 1]
    assert result.method_confidence.tolist() == expected
    assert consensus(members, 3, method="kmeans", random_state=0).method_confidence is None
    save_labels(tmp_path / "labels.csv", result, method_confidence=True)
    saved = pd.read_csv(tmp_path / "labels.csv")
    assert saved.columns.tolist() == ["label", "confidence", "method_confidence"]
    assert saved["method_confidence"].tolist() == pytest.approx(expected, abs=1e-6)
    with pytest.raises(ValueError, match="mcla, ecpcs and mixture have one"):
        save_labels(tmp_path / "other.csv", consensus(members, 3, method="kmeans"), method_confidence=True)
    table, out = str(tmp_path / "table.csv"), str(tmp_path / "out.csv")
    pd.DataFrame(noisy(1, n=60, k=3, members=5), columns=list("abcde")).to_csv(table, index=False)
    command = ["consensus", table, "-k", "3", "-m", "mcla", "--no-null", "--quiet", "-o", out, "--method-confidence"]
    assert main(command) == 0
    assert pd.read_csv(out)["method_confidence"].between(0, 1).all()

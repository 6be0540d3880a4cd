"""Members that agree nearly exactly decide where the others do not err independently, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from parts import cut_rows
from sklearn.cluster import KMeans

from quorate import ari, as_ensemble, as_soft_ensemble, camps, compress, consensus, evaluate, generate, solve
from quorate._data.ensemble import with_evident_weights
from quorate.solvers import members
from quorate.solvers.members import evident_weights
from quorate.solvers.spectral import embedding

QUICK = {"random_state": 0, "confidence": False}


def rings_and_halves(n: int = 400, finders: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two rings: some members find them but for one object, seven cut the plane in halves of several directions."""
    rng = np.random.default_rng(seed)
    angle, ring = rng.uniform(0, 2 * np.pi, n), rng.integers(2, size=n)
    found = [np.where(np.arange(n) == place, 1 - ring, ring) for place in range(finders)]
    halves = [np.cos(angle - turn) > 0 for turn in (0, 0.4, 0.8, 0.2, 1.2, 0.1, 0.6)]
    return np.column_stack([*found, *halves]).astype(int), ring


def crowd(n: int, copies: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Seven members with errors of their own, and copies of one that is wrong about half of the objects."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(4, size=n)
    wrong = rng.random((n, 8)) < np.r_[rng.uniform(0.1, 0.35, 7), 0.6]
    labels = np.where(wrong, rng.integers(4, size=(n, 8)), truth[:, None])
    return np.column_stack([labels[:, :7], *[labels[:, 7]] * copies]), truth


def test_members_that_agree_nearly_exactly_decide() -> None:
    labels, truth = rings_and_halves()
    assert ari(consensus(labels, 2, method="lwgp", **QUICK).labels, truth) < 0.2
    for weights in (None, "auto"):
        result = consensus(labels, 2, weights=weights, **QUICK)
        assert ari(result.labels, truth) > 0.97
        told = list(result.info["weights"].values())
        assert [entry["weight"] > 0.9 for entry in told] == [True] * 3 + [False] * 7
        assert told[-1]["reason"].startswith("stands apart from 3 that agree nearly exactly")
    assert "weights" not in consensus(labels, 2, method="lwgp", **QUICK).info
    # the more agree, the less count the others, but none is left out unless weights are to be learnt
    labels, _ = rings_and_halves(finders=8)
    assert (
        list(consensus(labels, 2, **QUICK).info["weights"].values())[8:]
        == [{"weight": 0.05, "reason": "stands apart from 8 that agree nearly exactly"}] * 7
    )
    assert as_ensemble(labels, weights="auto").n_members == 8


def test_two_are_enough_and_the_number_may_be_open() -> None:
    labels, truth = rings_and_halves(finders=2)
    assert ari(consensus(labels, 2, **QUICK).labels, truth) > 0.97
    result = consensus(labels, (2, 4), **QUICK)
    assert result.n_clusters == result.info["choice"].n_clusters
    assert "weights" in result.info


@pytest.mark.parametrize("n", [60, 200, 1000])
@pytest.mark.parametrize("copies", [2, 4])
def test_copies_of_a_poor_member_decide_nothing_where_errors_are_independent(n: int, copies: int) -> None:
    for seed in range(5):
        labels, _ = crowd(n, copies, seed)
        ensemble = as_ensemble(labels)
        assert evident_weights(ensemble) is None
        learnt = as_ensemble(labels, weights="auto")
        assert not any("nearly exactly" in entry["reason"] for entry in learnt.info["weights"].values())


def test_members_that_do_not_show_it_keep_their_weights() -> None:
    labels, _ = rings_and_halves()
    assert evident_weights(as_ensemble(labels)) is not None
    # fewer than four others; weights of the caller; members of other numbers of clusters; a single finder
    assert evident_weights(as_ensemble(labels[:, :6])) is None
    assert evident_weights(as_ensemble(labels, weights=np.r_[2, np.ones(9)])) is None
    finer = labels.copy()
    finer[:, 3:] = 2 * finer[:, 3:] + np.random.default_rng(0).integers(2, size=(400, 7))
    assert evident_weights(as_ensemble(finer)) is None
    assert evident_weights(as_ensemble(labels[:, 2:])) is None
    # the group is what all mean: the others agree with it better than with one another
    rng = np.random.default_rng(1)
    truth = rng.integers(3, size=400)
    poorer = np.where(rng.random((400, 6)) < 0.3, rng.integers(3, size=(400, 6)), truth[:, None])
    assert evident_weights(as_ensemble(np.column_stack([*[truth] * 3, poorer]))) is None


def test_members_of_generate_keep_their_weights() -> None:
    X = np.random.default_rng(0).normal(size=(300, 2))
    made = generate(X, 12, k=4, base=KMeans(n_init=1), random_state=0)
    assert evident_weights(made) is None
    assert "weights" not in consensus(made, 4, **QUICK).info


def test_order_names_and_repetition_change_nothing() -> None:
    labels, _ = rings_and_halves()
    rng = np.random.default_rng(2)
    rows, columns = rng.permutation(400), rng.permutation(10)
    given = consensus(labels, 2, **QUICK)
    mixed = consensus(labels[rows][:, columns], 2, **QUICK)
    weights, again = (np.array([w["weight"] for w in one.info["weights"].values()]) for one in (given, mixed))
    assert again == pytest.approx(weights[columns], abs=1e-12)
    assert ari(mixed.labels, given.labels[rows]) == 1.0
    assert np.array_equal(consensus(1 - labels, 2, **QUICK).labels, given.labels)
    twice = consensus(np.repeat(labels, 2, axis=0), 2, **QUICK)
    assert ari(twice.labels[::2], given.labels) == 1.0
    # weights that are all the same say nothing, but the objective is theirs
    heavy = consensus(labels, 2, weights=np.full(10, 3.0), **QUICK)
    assert np.array_equal(heavy.labels, given.labels)


def test_gaps_are_no_agreement() -> None:
    labels, truth = rings_and_halves()
    labels[:300, 0] = labels[100:, 1] = -1
    weights = evident_weights(as_ensemble(labels))
    assert weights is None, "two finders know less than half of the objects, so that one is left"
    labels, truth = rings_and_halves()
    labels[:60, 1] = -1
    assert ari(consensus(labels, 2, **QUICK).labels, truth) > 0.97


def test_draws_from_a_soft_member_are_no_witnesses() -> None:
    labels, _ = rings_and_halves(finders=1)
    soft = [np.eye(2)[labels[:, 0]] * 0.98 + 0.01, *labels[:, 1:].T]
    for options in ({"refine": True}, {"coarsen": "auto"}):
        assert "weights" not in consensus(soft, 2, **options, **QUICK).info
    assert "weights" not in solve(as_soft_ensemble(soft), 2, **QUICK).info


def test_many_rows_are_compared_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    labels, _ = rings_and_halves(3000)
    rng = np.random.default_rng(0)
    distinct = np.column_stack([labels, rng.integers(500, size=3000)])
    monkeypatch.setattr(members, "FEWEST", 500)
    monkeypatch.setattr(members, "GLANCE", 1)
    found = evident_weights(as_ensemble(distinct))
    assert found is not None
    assert found.weights[:3].min() > 0.6 > 0.3 > found.weights[3:].max()


def test_camps_are_those_of_all_members() -> None:
    labels, truth = rings_and_halves()
    first, second = camps(labels, 2, random_state=0)
    assert len(first.members) == 7
    assert ari(second.consensus.labels, truth) > 0.97


def test_the_verdict_follows_the_weights() -> None:
    """The clusters agree little with most members, which is no fault: these count little."""
    labels, _ = rings_and_halves()
    for weights in (None, "auto"):
        result = consensus(labels, 2, weights=weights, random_state=0)
        scores = evaluate(result, labels)
        assert scores.problem is None
        assert "camps" in str(scores.verdict)
        # the same labels without what is known of the members' weights
        forged = replace(result, info={**result.info, "weights": {"member 0": None}})
        assert "much less than their method" in str(evaluate(forged, labels).problem)


def test_rows_on_a_card_stay_there(card: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "SAMPLE_POINTS", 10)
    labels, _ = rings_and_halves()
    labels = np.column_stack([labels, np.random.default_rng(1).integers(300, size=(len(labels), 2))])
    found, wanted = (consensus(labels, 2, device=device, **QUICK) for device in ("cuda", None))
    assert found.info["device"] == card.name
    assert found.info["weights"] == wanted.info["weights"]
    assert ari(found.labels, wanted.labels) == 1


def test_rows_in_parts_stay_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows came back to be compared, and weights could not be given to parts."""
    monkeypatch.setattr(members, "GLANCE", 0)
    monkeypatch.setattr(members, "FEWEST", 100)
    sent = []
    for n in (2_000, 8_000):
        labels, _ = rings_and_halves(n)
        fine = np.random.default_rng(1).integers(300, size=(n, 2))
        rows, _ = compress(as_ensemble(np.column_stack([labels, fine]), check=False))
        parted = cut_rows(rows, (rows.n_rows // 3,))
        weighed = with_evident_weights(parted)
        sent.append(parted.holder.most)
        assert weighed.pieces is not None
        assert weighed.info["weights"] == with_evident_weights(rows).info["weights"]
        found, wanted = (solve(one, 2, **QUICK) for one in (parted, rows))
        np.testing.assert_array_equal(found.labels.whole(), wanted.labels)
        assert found.info["weights"] == wanted.info["weights"]
    assert sent[1] < 1.1 * sent[0]

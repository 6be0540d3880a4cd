"""Agreement of pairs of members: the kernel, the way for many clusters, and the choice among very many members."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import oracle
import pandas as pd
import pytest
from hypothesis import given
from strategies import labelled_tables

from quorate import (
    METHODS,
    ConsensusClustering,
    as_ensemble,
    as_soft_ensemble,
    compress,
    consensus,
    evaluate,
    generate,
    load_labels,
    nmi,
    stream,
)
from quorate.cli import main
from quorate.generation import KMeans, Share
from quorate.solvers import cluster_means, members
from quorate.solvers.members import member_pairs, some_members


@given(labelled_tables())
def test_pairs_are_those_of_the_oracle(case: tuple) -> None:
    table, _, weights, _ = case
    ensemble = as_ensemble(table, weights=weights, orientation="objects")
    for average in ("geometric", "arithmetic"):
        values, shared = member_pairs(ensemble, average)
        for first in range(ensemble.n_members):
            for second in range(ensemble.n_members):
                both = (table[:, first] >= 0) & (table[:, second] >= 0)
                assert shared[first, second] == both.sum()
                if not both.any():
                    assert np.isnan(values[first, second])
                    continue
                wanted = oracle.nmi(table[both, first].tolist(), table[both, second].tolist(), average)
                assert values[first, second] == pytest.approx(wanted, abs=1e-9)


@given(labelled_tables())
def test_few_and_many_clusters_are_counted_alike(case: tuple) -> None:
    table, labels, weights, _ = case
    rows, inverse = compress(as_ensemble(table, weights=weights, orientation="objects"))
    with pytest.MonkeyPatch.context() as patch:
        dense = member_pairs(rows, "geometric")
        patch.setattr(members, "SMALL_TABLE", 0)
        assert all(
            np.allclose(a, b, equal_nan=True) for a, b in zip(dense, member_pairs(rows, "geometric"), strict=True)
        )
        row_labels = np.array(labels, dtype=np.int32)[np.unique(inverse, return_index=True)[1]]
        known = np.maximum(row_labels, 0)
        before = (*cluster_means.standing(rows, known, 5), cluster_means.completed(rows, row_labels, 5))
        patch.setattr(cluster_means, "DENSE_ENTRIES", 0)
        after = (*cluster_means.standing(rows, known, 5), cluster_means.completed(rows, row_labels, 5))
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))


def test_of_very_many_members_some_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = np.random.default_rng(0).integers(3, size=(40, 30))
    ensemble = as_ensemble(labels, orientation="objects")
    order = np.random.default_rng(1).permutation(30)
    permuted = as_ensemble(labels[:, order], orientation="objects")
    assert some_members(ensemble).tolist() == list(range(30))
    result = consensus(ensemble, 3, random_state=0)
    whole = evaluate(result, ensemble)
    monkeypatch.setattr(members, "MOST_MEMBERS", 10)
    chosen = some_members(ensemble)
    assert len(set(chosen.tolist())) == 10
    assert set(chosen.tolist()) == {int(order[place]) for place in some_members(permuted)}
    part = evaluate(result, ensemble)
    assert part.anmi == whole.anmi
    assert part.mean_member == pytest.approx(whole.mean_member, abs=0.1)
    assert part.mean_member == pytest.approx(evaluate(result, permuted).mean_member)
    assert part.agreement == whole.agreement
    assert part.agreement_mean_member != whole.agreement_mean_member


def test_members_that_are_compared_are_not_all_left_out_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """With five times as many members as are compared, every fifth of them was taken, and so was every fifth judge."""
    ensemble = as_ensemble(np.random.default_rng(0).integers(2, size=(12, 50)), orientation="objects")
    monkeypatch.setattr(members, "MOST_MEMBERS", 10)
    scores = evaluate(consensus(ensemble, 2, random_state=0), ensemble)
    assert scores.agreement_best_member is not None
    assert 0 <= scores.agreement_best_member <= 1


# weights learnt from how members agree


def _pool(seed: int, n: int, good: int, random: int, copies: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Members that see a planted partition under noise, members that are random, and copies of a random one."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(5, size=n)
    right = np.where(rng.random((n, good)) < 0.1, rng.integers(5, size=(n, good)), truth[:, None])
    wrong = [rng.integers(int(rng.integers(2, 10)), size=n) for _ in range(random + (copies > 0))]
    return np.column_stack([right, *wrong, *wrong[-1:] * max(0, copies - 1)]), truth


LINEAR = sorted(name for name, method in METHODS.items() if method.memory == "linear")


@pytest.mark.parametrize("method", sorted(METHODS))
def test_random_members_change_nothing_with_learnt_weights(method: str) -> None:
    """Most members are random; without weights mcla has an NMI of .07, eac one of .88 (of 2,000 objects)."""
    labels, truth = _pool(0, 600, 6, 54)
    k = None if METHODS[method].finds_k and method != "hne" else 5
    result = consensus(labels, k, method=method, weights="auto", random_state=0, confidence=False)
    assert nmi(truth, result.labels) > 0.93
    weights = result.info["weights"]
    assert [entry["weight"] for entry in weights.values()] == [1.0] * 6 + [0.0] * 54
    assert weights["member 6"]["reason"] == "agrees with no other member beyond chance; is left out"


def test_copies_of_a_bad_member_are_no_witnesses() -> None:
    labels, truth = _pool(1, 600, 5, 0, copies=20)
    assert nmi(truth, consensus(labels, 5, random_state=0, confidence=False).labels) < 0.3
    result = consensus(labels, 5, weights="auto", random_state=0, confidence=False)
    assert nmi(truth, result.labels) > 0.95
    reason = result.info["weights"]["member 5"]["reason"]
    assert reason == (
        "agrees with no other member beyond chance; says the same as 19 others, which count once together; is left out"
    )


def test_copies_of_a_good_member_share_its_weight() -> None:
    labels, _ = _pool(2, 400, 5, 0)
    ensemble = as_ensemble(np.column_stack([labels, labels[:, 0], (labels[:, 0] + 2) % 5]), weights="auto")
    assert ensemble.weights == pytest.approx([1 / 3, 1, 1, 1, 1, 1 / 3, 1 / 3])


def test_the_best_optimum_that_many_runs_found_keeps_its_count() -> None:
    """Six runs that found the truth beside eight poorer ones that agree with it better than with one another."""
    rng = np.random.default_rng(3)
    truth = rng.integers(5, size=500)
    poorer = np.where(rng.random((500, 8)) < 0.3, rng.integers(5, size=(500, 8)), truth[:, None])
    ensemble = as_ensemble(np.column_stack([*[truth] * 6, poorer]), weights="auto")
    assert ensemble.weights[:6] == pytest.approx(4 / 6)
    assert np.array_equal(ensemble.weights[6:], np.ones(8))
    reason = ensemble.info["weights"]["member 0"]["reason"]
    assert reason == "says the same as 5 others, which count as 4 members together"
    # a poor member that was handed in six times is not central, and counts once
    copied = as_ensemble(np.column_stack([poorer, *[poorer[:, 0]] * 5]), weights="auto")
    assert copied.weights[0] == pytest.approx(1 / 6)
    # with fewer than four others nothing can be told
    assert np.array_equal(
        as_ensemble(np.column_stack([*[truth] * 9, poorer[:, :3]]), weights="auto").weights, np.ones(12)
    )


def test_where_members_are_alike_little_is_lost() -> None:
    """k-means members of shapes of several kinds: the mean loss of NMI is at most .005 for each method."""
    gains: dict[str, list[float]] = {name: [] for name in (*LINEAR, "eac")}
    for X, truth in _shapes(6):
        k = int(truth.max()) + 1
        for how in ({"k": (k, 3 * k)}, {"k": k}, {"k": (k, 2 * k), "rows": Share(0.7)}):
            plain = generate(X, n_members=16, random_state=6, base=KMeans(), **how)
            learnt = as_ensemble(plain, weights="auto")
            for method, gain in gains.items():
                wanted = None if method == "best" and how["k"] != k else k
                pair = [
                    consensus(one, wanted, method=method, random_state=0, confidence=False) for one in (plain, learnt)
                ]
                gain.append(nmi(truth, pair[1].labels) - nmi(truth, pair[0].labels))
    assert {name: np.mean(gain) for name, gain in gains.items() if np.mean(gain) < -0.005} == {}


def _shapes(seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blobs, clusters of unequal sizes, and stretched ones."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(4, size=400)
    yield 3 * rng.normal(size=(4, 6))[truth] + rng.normal(size=(400, 6)), truth
    truth = np.repeat([0, 1, 2], [250, 100, 50])
    spread = np.array([1, 0.6, 1.5])[truth][:, None]
    yield 3.5 * rng.normal(size=(3, 4))[truth] + spread * rng.normal(size=(400, 4)), truth
    truth = rng.integers(3, size=400)
    stretch = rng.normal(size=(3, 5, 5))[truth]
    yield 4 * rng.normal(size=(3, 5))[truth] + np.einsum("ni,nij->nj", rng.normal(size=(400, 5)), stretch), truth


def test_moves_follow_methods_that_weights_do_not_help() -> None:
    labels, truth = _pool(7, 400, 6, 20)
    for method in ("best", "hgpa"):
        alone = consensus(labels, 5, method=method, random_state=0, confidence=False)
        assert "refine" not in alone.info
        result = consensus(labels, 5, method=method, weights="auto", random_state=0)
        assert result.info["refine"]["n_moves"] > 0
        assert nmi(truth, result.labels) > 0.93 > nmi(truth, alone.labels)
        assert result.confidence is not None
    # members that all count in full need none
    assert "refine" not in consensus(labels[:, :6], 5, method="best", weights="auto", confidence=False).info


def test_members_alike_keep_their_weights() -> None:
    labels, _ = _pool(3, 400, 8, 0)
    assert np.array_equal(as_ensemble(labels, weights="auto").weights, np.ones(8))
    nothing = np.random.default_rng(0).integers(4, size=(300, 6))
    assert np.array_equal(as_ensemble(nothing, weights="auto").weights, np.ones(6))
    few = as_ensemble([[0, 0, 1, 1, 2], [0, 0, 1, 2, 2]], weights="auto")
    assert np.array_equal(few.weights, [1, 1])


def test_no_object_loses_its_last_label() -> None:
    labels, _ = _pool(4, 400, 6, 2)
    labels[:7, :6] = -1
    ensemble = as_ensemble(labels, weights="auto")
    assert ensemble.n_members == 8
    assert ensemble.weights[6:] == pytest.approx([0.05, 0.05])
    assert ensemble.info["weights"]["member 6"]["reason"].endswith("an object has no other label")


def test_weights_are_learnt_alike_at_every_door(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels, _ = _pool(5, 500, 5, 3)
    names = tuple(f"m{member}" for member in range(8))
    table = pd.DataFrame(labels, columns=names)
    ensemble = as_ensemble(table, weights="auto")
    assert ensemble.member_names == names[:5]
    expected = consensus(ensemble, 5, random_state=0)
    assert np.array_equal(consensus(table, 5, weights="auto", random_state=0).labels, expected.labels)
    assert as_ensemble(as_ensemble(table), weights="auto").member_names == names[:5]
    table.to_csv(tmp_path / "t.csv", index=False)
    assert load_labels(tmp_path / "t.csv", weights="auto").member_names == names[:5]
    streamed = stream.consensus(tmp_path / "t.csv", 5, weights="auto", random_state=0, out=tmp_path / "s.csv")
    assert np.array_equal(pd.read_csv(tmp_path / "s.csv").iloc[:, 0], expected.labels)
    assert streamed.ensemble.member_names == names[:5]
    fitted = ConsensusClustering(5, weights="auto", random_state=0).fit(table)
    assert np.array_equal(fitted.labels_, expected.labels)
    assert (
        main(["consensus", str(tmp_path / "t.csv"), "-k", "5", "--weights", "auto", "-o", str(tmp_path / "o.csv")]) == 0
    )
    said = "5 of 8 clusterings count in full; 3 agrees with no other member beyond chance, left out"
    assert said in capsys.readouterr().out


def test_soft_members_have_learnt_weights() -> None:
    labels, _ = _pool(6, 300, 4, 3)
    soft = [np.eye(10)[column] * 0.9 + 0.01 for column in labels.T]
    ensemble = as_soft_ensemble([member / member.sum(axis=1, keepdims=True) for member in soft], weights="auto")
    assert ensemble.n_members == 4
    assert list(ensemble.info["weights"]) == [f"member {q}" for q in range(7)]


def test_weights_that_are_no_weights_are_refused() -> None:
    with pytest.raises(TypeError, match=r'weights must be numbers, one per member, or "auto", got \'equal\''):
        as_ensemble([[0, 1], [0, 1]], weights="equal")

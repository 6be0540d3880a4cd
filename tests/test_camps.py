"""Camps: planted ones are found, members with one truth are one camp, and results say so."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from quorate import as_ensemble, camps, consensus, evaluate, generate, nmi
from quorate._verdict import LOOK_AT_CAMPS
from quorate.solvers.camps import between, camps_within, copies_within, shared_beside, within
from quorate.solvers.members import information_beyond_chance


def noisy(truth: np.ndarray, errors: float, rng: np.random.Generator) -> np.ndarray:
    """The truth, with a share of the labels drawn anew."""
    wrong = rng.random(len(truth)) < errors
    return np.where(wrong, rng.integers(0, truth.max() + 1, len(truth)), truth)


def planted(n_objects: int, sizes: tuple[int, ...], errors: float, seed: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """A table of members that see as many truths as there are sizes, and these truths."""
    rng = np.random.default_rng(seed)
    truths = [rng.integers(0, 4, n_objects) for _ in sizes]
    members = [
        noisy(truth, rng.uniform(0, errors), rng) for truth, n in zip(truths, sizes, strict=True) for _ in range(n)
    ]
    return np.array(members).T, truths


@pytest.mark.parametrize("sizes", [(2, 2), (7, 3), (4, 4, 4)])
@pytest.mark.parametrize("seed", range(3))
def test_planted_camps_are_found_with_their_clusters(sizes: tuple[int, ...], seed: int) -> None:
    table, truths = planted(400, sizes, 0.3, seed)
    found = camps(table, 4, random_state=0)
    edges = np.cumsum([0, *sizes])
    names = as_ensemble(table).member_names
    expected = {tuple(names[q] for q in range(a, b)) for a, b in pairwise(edges)}
    assert {camp.members for camp in found} == expected
    for camp in found:
        assert max(nmi(camp.consensus.labels, truth) for truth in truths) > 0.5
        assert camp.others is not None
        assert camp.others < 0.1 < camp.agreement


@pytest.mark.parametrize("n_objects", [60, 500])
@pytest.mark.parametrize("seed", range(5))
def test_members_with_one_truth_are_one_camp_however_much_they_err(n_objects: int, seed: int) -> None:
    table, _ = planted(n_objects, (12,), 0.7, seed)
    (camp,) = camps(table, 4, random_state=0)
    assert len(camp.members) == 12
    assert camp.others is None


def test_members_of_other_numbers_of_clusters_are_one_camp() -> None:
    """Clusters within clusters are no disagreement."""
    X = np.random.default_rng(0).normal(size=(400, 3)) + 5 * np.eye(3)[np.arange(400) % 3]
    assert len(camps_within(generate(X, 20, k=(2, 20), base="kmeans", random_state=0))) == 1
    fine = np.arange(240) % 12
    nested = [fine, fine // 2, fine // 4, fine // 6]
    assert len(camps(np.array(nested).T, 2)) == 1


def test_random_members_belong_to_no_camp() -> None:
    table, _ = planted(500, (3, 3), 0.2, 0)
    rng = np.random.default_rng(1)
    mixed = np.column_stack([table, rng.integers(0, 4, (500, 4))])
    assert [list(camp) for camp in camps_within(as_ensemble(mixed))] == [[0, 1, 2], [3, 4, 5]]
    assert len(camps_within(as_ensemble(rng.integers(0, 4, (500, 8))))) == 1


def test_camps_do_not_depend_on_the_order_of_objects_or_members() -> None:
    table, _ = planted(300, (3, 5), 0.3, 2)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(300), rng.permutation(8)
    plain = {frozenset(camp.tolist()) for camp in camps_within(as_ensemble(table))}
    shuffled = camps_within(as_ensemble(table[rows][:, columns]))
    assert {frozenset(columns[camp].tolist()) for camp in shuffled} == plain


def test_agreement_equals_a_slow_twin() -> None:
    """Mutual information beyond its mean under chance, of the lower entropy, and means over pairs."""
    table, _ = planted(300, (2, 2), 0.3, 3)
    ensemble = as_ensemble(table)
    agreement, noise = information_beyond_chance(ensemble)
    for first, second in combinations(range(4), 2):
        joint = np.zeros((4, 4))
        np.add.at(joint, (ensemble.labels[:, first], ensemble.labels[:, second]), 1 / 300)
        rows, columns = joint.sum(axis=1), joint.sum(axis=0)
        filled = joint > 0
        information = (joint[filled] * np.log(joint[filled] / np.outer(rows, columns)[filled])).sum()
        lower = min(-(share * np.log(share)).sum() for share in (rows, columns))
        chance = 9 / 600
        wanted = max(0.0, (information - chance) / (lower - chance))
        assert agreement[first, second] == pytest.approx(wanted, abs=1e-9)
        assert noise[first, second] == pytest.approx(np.sqrt(18) / 600 / (lower - chance))
    assert within(np.array([0, 1]), agreement) == pytest.approx(agreement[0, 1])
    pairs = [agreement[q, other] for q in (0, 1) for other in (2, 3)]
    assert between(np.array([0, 1]), np.array([2, 3]), agreement) == pytest.approx(np.mean(pairs))


def test_objects_that_a_camp_does_not_know_have_no_label() -> None:
    table, _ = planted(200, (2, 2), 0.1, 0)
    table[:5, :2] = -1
    first, second = sorted(camps(table, 4, random_state=0), key=lambda camp: camp.members)
    assert (first.consensus.labels[:5] == -1).all()
    assert (first.consensus.labels[5:] >= 0).all()
    assert (second.consensus.labels >= 0).all()


def test_verdict_and_result_tell_of_camps() -> None:
    table, _ = planted(300, (3, 3), 0.2, 0)
    result = consensus(table, 4, random_state=0)
    scores = evaluate(result, table)
    assert len(scores.camps) == 2
    assert "form 2 groups (camps)" in scores.verdict.reason
    assert scores.verdict.next_step.startswith(LOOK_AT_CAMPS)
    assert [camp.members for camp in result.camps(table)] == list(scores.camps)
    alone, _ = planted(300, (6,), 0.2, 0)
    assert evaluate(consensus(alone, 4, random_state=0), alone).camps is None


def test_too_many_members_are_refused() -> None:
    with pytest.raises(ValueError, match=r"at most 500 members .* got 501"):
        camps(np.tile(np.arange(600)[:, None] % 2, (1, 501)), 2)


def test_copies_of_members_that_err_are_no_camps() -> None:
    """Four members with errors of their own, each there five times: copies agree, which says nothing about errors."""
    rng = np.random.default_rng(11)
    truth = rng.permutation(np.arange(1_200) % 4)
    seen = np.stack([np.where(rng.random(1_200) < 0.15, rng.integers(4, size=1_200), truth) for _ in range(4)], axis=1)
    assert len(camps(np.repeat(seen, 5, axis=1), 4, random_state=0)) == 1
    strangers = np.stack([rng.integers(4, size=1_200) for _ in range(2)], axis=1)
    assert len(camps(np.repeat(strangers, 5, axis=1), 4, random_state=0)) == 2


def slow_information(one: np.ndarray, other: np.ndarray, clusters: np.ndarray) -> tuple[float, float]:
    """Mutual information within clusters times objects, less what chance gives, and the standard deviation of that."""
    total, degrees = 0.0, 0
    for cluster in set(clusters.tolist()):
        a, b = one[clusters == cluster], other[clusters == cluster]
        degrees += (len(set(a.tolist())) - 1) * (len(set(b.tolist())) - 1)
        for x in set(a.tolist()):
            for y in set(b.tolist()):
                both = np.sum((a == x) & (b == y))
                if both:
                    total += both * np.log(both * len(a) / (np.sum(a == x) * np.sum(b == y)))
    return total - degrees / 2, float(np.sqrt(degrees / 2))


def test_what_members_share_beside_clusters_is_the_conditional_mutual_information() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 300)
    table = np.column_stack([noisy(truth, errors, rng) for errors in (0.2, 0.5, 0.8)])
    table = np.where(rng.random(table.shape) < 0.2, -1, table)
    table[(table < 0).all(axis=1), 0] = 0
    clusters = noisy(truth, 0.1, rng)
    found = shared_beside(as_ensemble(table, orientation="objects"), clusters)
    for one, other in combinations(range(3), 2):
        both = (table[:, one] >= 0) & (table[:, other] >= 0)
        pair, within_clusters = (table[both, one], table[both, other]), clusters[both]
        assert found.objects[one, other] == both.sum()
        expected = slow_information(*pair, within_clusters)
        assert (found.beside[one, other], found.noise[one, other]) == pytest.approx(expected)
        assert found.in_all[one, other] == pytest.approx(slow_information(*pair, np.zeros(both.sum()))[0])


def groups_of(table: np.ndarray, clusters: np.ndarray) -> list[list[int]]:
    found = shared_beside(as_ensemble(table, orientation="objects"), clusters)
    return sorted(sorted(group.tolist()) for group in copies_within(found))


@pytest.mark.parametrize("changed", [0.0, 0.05, 0.1])
def test_copies_are_recognised_also_those_that_the_clusters_follow(changed: float) -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 4, 1_500)
    first = [noisy(truth, errors, rng) for errors in (0.3, 0.4, 0.5)]
    table = np.column_stack([noisy(first[which], changed, rng) for which in (0, 0, 0, 1, 1, 2, 2)])
    expected = [[0, 1, 2], [3, 4], [5, 6]]
    assert groups_of(table, noisy(truth, 0.1, rng)) == expected
    assert groups_of(table, first[0]) == expected


def test_members_that_err_by_themselves_or_come_from_measurements_are_no_copies() -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 4, 1_500)
    table = np.column_stack([noisy(truth, errors, rng) for errors in (0.05, 0.05, 0.2, 0.4, 0.6, 0.6)])
    assert groups_of(table, truth) == [[member] for member in range(6)]
    X = truth[:, None] * 5 + rng.normal(size=(1_500, 3))
    made = generate(X, 12, base="kmeans", random_state=0)
    assert groups_of(made.labels, truth) == [[member] for member in range(12)]

"""Scores against the definitions, against scikit-learn, and against exact arithmetic where numbers are large."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import oracle
import oracle_results
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import labelled_tables, labelling_pairs

from quorate import (
    Consensus,
    accuracy,
    ami,
    anmi,
    ari,
    as_ensemble,
    density,
    element_similarities,
    element_similarity,
    evaluate,
    fowlkes_mallows,
    jaccard,
    nmi,
    variation_of_information,
)
from quorate._evaluation.scores import cluster_density, inter_density, member_anmi, member_nmi_matrix

CLOSE = {"rel": 1e-10, "abs": 1e-12}
AVERAGES = ("geometric", "arithmetic")


def _ensemble(table, **options):
    return as_ensemble(table, orientation="objects", **options)


# two labellings


@given(labelling_pairs(), st.sampled_from(AVERAGES))
def test_nmi(pair, average):
    assert nmi(*pair, average=average) == pytest.approx(oracle.nmi(*pair, average), **CLOSE)


@given(labelling_pairs())
def test_ari(pair):
    assert ari(*pair) == pytest.approx(oracle.ari(*pair), **CLOSE)


@given(labelling_pairs())
def test_accuracy(pair):
    assert accuracy(*pair) == oracle.accuracy(*pair)


@pytest.mark.parametrize(("n", "k"), [(60, 3), (500, 17), (400, 400)])
@pytest.mark.filterwarnings("ignore:The number of unique classes")  # older scikit-learn suspects a regression
def test_scores_agree_with_scikit_learn(n, k):
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    rng = np.random.default_rng(n)
    first = rng.integers(0, k, n)
    second = np.where(rng.random(n) < 0.4, rng.integers(0, k + 2, n), first)
    for average in AVERAGES:
        expected = normalized_mutual_info_score(first, second, average_method=average)
        assert nmi(first, second, average=average) == pytest.approx(expected, **CLOSE)
    assert ari(first, second) == pytest.approx(adjusted_rand_score(first, second), **CLOSE)


@given(labelling_pairs())
def test_scores_of_pairs_and_objects(pair):
    one, other, both = oracle_results.pairs_together(*pair)
    either = one + other - both
    assert jaccard(*pair) == pytest.approx(both / either if either else 1.0, **CLOSE)
    expected = both / math.sqrt(one * other) if one * other else float(one == other)
    assert fowlkes_mallows(*pair) == pytest.approx(expected, **CLOSE)
    assert variation_of_information(*pair) == pytest.approx(oracle_results.variation(*pair), **CLOSE)
    similar = element_similarities(*pair)
    known = (np.asarray(pair[0]) >= 0) & (np.asarray(pair[1]) >= 0)
    np.testing.assert_array_equal(np.isnan(similar), ~known)
    np.testing.assert_allclose(similar[known], oracle_results.element_similarities(*pair), atol=1e-10)
    assert element_similarity(*pair) == pytest.approx(similar[known].mean(), **CLOSE)


@pytest.mark.parametrize(("n", "k"), [(12, 3), (60, 3), (500, 17), (400, 400), (20_000, 150)])
@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_ami_and_fowlkes_mallows_agree_with_scikit_learn(n, k):
    from sklearn.metrics import adjusted_mutual_info_score, fowlkes_mallows_score

    rng = np.random.default_rng(n)
    first = rng.integers(0, k, n)
    second = np.where(rng.random(n) < 0.4, rng.integers(0, k + 2, n), first)
    for average in AVERAGES:
        expected = adjusted_mutual_info_score(first, second, average_method=average)
        assert ami(first, second, average=average) == pytest.approx(expected, abs=1e-9)
        assert ami(first, first, average=average) == 1.0
        assert ami(first, np.zeros(n, dtype=int), average=average) == 0.0
        assert ami(first, np.arange(n), average=average) == pytest.approx(0.0, abs=1e-9)
    assert fowlkes_mallows(first, second) == pytest.approx(fowlkes_mallows_score(first, second), abs=1e-9)


def test_labels_without_partner_are_left_out_of_the_other_scores():
    first, second = [0, 0, 1, 1, 1, None], ["a", "a", "b", "c", None, "c"]
    for score in (ami, jaccard, fowlkes_mallows, variation_of_information, element_similarity):
        assert score(first, second) == score(first[:4], second[:4])
    with pytest.raises(ValueError, match="no labelled object in common"):
        jaccard([0, None], [None, 0])
    assert np.isnan(element_similarities([0, None], [None, 0])).all()


def test_truth_gives_all_scores_of_two_labellings():
    labels, truth = [0, 0, 1, 1], [0, 0, 1, 2]
    scores = evaluate(labels, [[0, 0, 1, 1], [0, 0, 1, 2]], truth=truth)
    for score in (ami, jaccard, fowlkes_mallows, variation_of_information, element_similarity):
        assert getattr(scores, score.__name__) == score(labels, truth)


@pytest.mark.parametrize(("n", "k"), [(200, 12), (900, 40)])
def test_accuracy_agrees_with_linear_sum_assignment(n, k):
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(k)
    first, second = rng.integers(0, k, n), rng.integers(0, k + 5, n)
    table = np.zeros((k, k + 5))
    np.add.at(table, (first, second), 1)
    expected = table[linear_sum_assignment(table, maximize=True)].sum() / n
    assert accuracy(first, second) == accuracy(second, first) == expected


@given(labelling_pairs(), st.randoms(use_true_random=False))
def test_scores_are_exactly_symmetric_and_blind_to_names_and_order(pair, random):
    first, second = pair
    names = random.sample(["x", "y", "z", "u"], 4)
    renamed = [None if label == -1 else names[label] for label in first]
    order = random.sample(range(len(first)), len(first))
    shuffled = [renamed[i] for i in order], [second[i] for i in order]
    for score in (nmi, ari, accuracy, lambda a, b: nmi(a, b, average="arithmetic")):
        assert score(first, second) == score(second, first) == score(*shuffled)
        if score is not ari:
            assert score(first * 3, second * 3) == score(first, second)


def test_trivial_labellings():
    one, two, alone = [0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]
    for average in AVERAGES:
        assert nmi(one, one, average=average) == nmi(alone, alone, average=average) == 1.0
        assert nmi(one, two, average=average) == nmi(alone, one, average=average) == 0.0
    assert ari(one, one) == ari(alone, alone) == ari([3], [4]) == 1.0
    assert ari(one, two) == ari(one, alone) == 0.0
    assert accuracy(one, one) == accuracy(alone, alone) == 1.0
    assert accuracy(one, alone) == 0.25


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["a", "a", "b", None], [1, 1, 2, 2]),
        (np.array([0.0, 0.0, 1.5, np.nan]), np.array([True, True, False, False])),
        ([10**12, 10**12, 5, -1], np.array(["p", "p", "q", "q"])),
        (Consensus(labels=np.array([0, 0, 1, 1], dtype=np.int32), objective=0.0), ["a", "a", "b", "b"]),
    ],
)
def test_labels_of_any_type(first, second):
    assert nmi(first, second) == ari(first, second) == accuracy(first, second) == 1.0


@pytest.mark.parametrize("score", [nmi, ari, accuracy])
def test_bad_labellings_are_refused(score):
    with pytest.raises(ValueError, match="same objects, got 2 and 3 labels"):
        score([0, 1], [0, 1, 1])
    with pytest.raises(ValueError, match="no labelled object in common"):
        score([0, -1], [-1, 0])
    with pytest.raises(ValueError, match="second must label at least one object"):
        score([0, 1], [None, None])
    with pytest.raises(ValueError, match="first must be one label per object, got a table of 2 columns"):
        score(np.zeros((3, 2), dtype=int), [0, 1, 1])
    with pytest.raises(ValueError, match="at least one object"):
        score([], [])
    with pytest.raises(TypeError, match="must be an array"):
        score("ab", "ab")


def test_average_is_checked():
    ensemble = as_ensemble([[0, 0, 1], [0, 1, 1]])
    for call in (
        lambda: nmi([0, 1], [0, 1], average="max"),
        lambda: anmi([0, 1, 1], ensemble, average="max"),
        lambda: member_anmi(ensemble, average="max"),
        lambda: member_nmi_matrix(ensemble, average="max"),
    ):
        with pytest.raises(ValueError, match="average must be one of 'geometric', 'arithmetic', got 'max'"):
            call()


# a labelling and an ensemble


@given(labelled_tables(max_objects=8, max_members=4))
def test_anmi_and_densities(case):
    table, labels, weights, _ = case
    ensemble = _ensemble(table, weights=weights)
    for average in AVERAGES:
        expected = oracle.anmi(labels, table, weights, average)
        assert anmi(labels, ensemble, average=average) == pytest.approx(expected, **CLOSE)
    assert cluster_density(labels, ensemble) == pytest.approx(oracle.cluster_density(labels, table, weights), **CLOSE)
    assert density(labels, ensemble) == pytest.approx(oracle.density(labels, table, weights), **CLOSE)
    between = inter_density(labels, ensemble)
    assert between == pytest.approx(oracle.inter_density(labels, table, weights), **CLOSE)
    assert np.array_equal(between, between.T)


@given(labelled_tables(max_objects=8, max_members=4))
def test_evaluate_against_definitions(case):
    table, labels, weights, _ = case
    scores = evaluate(labels, _ensemble(table, weights=weights), truth=table[:, 0] if table[:, 0].min() >= 0 else None)
    assert scores.n_objects == sum(label != -1 for label in labels)
    assert scores.n_clusters == len(set(labels) - {-1})
    assert scores.anmi == pytest.approx(oracle.anmi(labels, table, weights), **CLOSE)
    assert scores.anmi_arithmetic == pytest.approx(oracle.anmi(labels, table, weights, "arithmetic"), **CLOSE)
    assert scores.density == pytest.approx(oracle.density(labels, table, weights), **CLOSE)
    assert scores.inter_density == pytest.approx(oracle.mean_inter_density(labels, table, weights), **CLOSE)
    if scores.nmi is not None:
        truth = table[:, 0].tolist()
        assert scores.nmi == pytest.approx(oracle.nmi(labels, truth), **CLOSE)
        assert scores.nmi_arithmetic == pytest.approx(oracle.nmi(labels, truth, "arithmetic"), **CLOSE)
        assert scores.ari == pytest.approx(oracle.ari(labels, truth), **CLOSE)
        assert scores.accuracy == oracle.accuracy(labels, truth)


@given(labelled_tables(max_objects=8, max_members=4))
def test_counts_stand_for_objects(case):
    table, labels, weights, counts = case
    rows = _ensemble(table, weights=weights, counts=counts)
    objects = _ensemble(oracle.repeat(table, counts), weights=weights)
    spread = oracle.repeat(labels, counts)
    assert evaluate(labels, rows, truth=labels) == evaluate(spread, objects, truth=spread)
    assert np.array_equal(inter_density(labels, rows), inter_density(spread, objects))
    assert np.array_equal(member_nmi_matrix(rows), member_nmi_matrix(objects), equal_nan=True)


@given(labelled_tables(max_objects=8, max_members=4))
def test_members_against_each_other(case):
    table, _, weights, _ = case
    ensemble = _ensemble(table, weights=weights)
    matrix = member_nmi_matrix(ensemble)
    n_members = table.shape[1]
    columns = table.T.tolist()
    for i in range(n_members):
        for j in range(n_members):
            shares = any(a >= 0 and b >= 0 for a, b in zip(columns[i], columns[j], strict=True))
            expected = oracle.nmi(columns[i], columns[j]) if shares else math.nan
            assert matrix[i, j] == pytest.approx(expected, **CLOSE, nan_ok=True)
    assert np.array_equal(matrix, matrix.T, equal_nan=True)
    assert np.all(np.diag(matrix) == 1.0)
    for i, found in enumerate(member_anmi(ensemble)):
        others = [j for j in range(n_members) if j != i and not np.isnan(matrix[i, j])]
        expected = oracle.anmi(columns[i], table[:, others], weights[others]) if others else math.nan
        assert found == pytest.approx(expected, **CLOSE, nan_ok=True)


@given(labelled_tables(max_members=4))
def test_mean_and_best_member(case):
    """Candel 2023, 5.4.3, each pair by the objects it shares and the weights of its members."""
    table, labels, weights, _ = case
    ensemble = _ensemble(table, weights=weights)
    scores = evaluate(labels, ensemble)
    columns = table.T.tolist()
    known = [[sum(a >= 0 and b >= 0 for a, b in zip(x, y, strict=True)) for y in columns] for x in columns]
    pairs = [(i, j) for i in range(len(columns)) for j in range(len(columns)) if i != j and known[i][j]]
    if not pairs:
        assert (scores.mean_member, scores.best_member) == (None, None)
        return
    values = [oracle.nmi(columns[i], columns[j]) for i, j in pairs]
    importance = [known[i][j] * weights[i] * weights[j] for i, j in pairs]
    assert scores.mean_member == pytest.approx(np.average(values, weights=importance), **CLOSE)
    assert scores.best_member == np.nanmax(member_anmi(ensemble))


def test_mean_and_best_member_without_missing_labels_are_plain_means():
    members = np.array([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 2], [0, 1, 0, 1, 2, 2]])
    matrix = member_nmi_matrix(members.T)
    off = matrix[~np.eye(3, dtype=bool)].reshape(3, 2)
    scores = evaluate(members[0], members.T)
    assert scores.mean_member == pytest.approx(off.mean())
    assert scores.best_member == pytest.approx(off.mean(axis=1).max())


def test_one_member_has_no_peers():
    scores = evaluate([0, 0, 1, 1], as_ensemble([0, 0, 1, 1]))
    assert scores.mean_member is None
    assert scores.best_member is None
    assert np.isnan(member_anmi(as_ensemble([0, 0, 1]))).all()
    assert (scores.anmi, scores.density, scores.inter_density) == (1.0, 1.0, 0.0)


def test_unanimity_scores_exactly_one():
    labels = np.arange(30) % 7
    scores = evaluate(labels, [labels] * 10, truth=labels)
    assert (scores.anmi, scores.anmi_arithmetic, scores.density, scores.inter_density) == (1.0, 1.0, 1.0, 0.0)
    assert (scores.mean_member, scores.best_member, scores.accuracy) == (1.0, 1.0, 1.0)


def test_one_cluster_and_singletons():
    table = np.array([[0, 0], [0, 1], [1, 1]])
    assert evaluate([0, 0, 0], table).inter_density == 0.0
    assert cluster_density([0, 1, 2], table).tolist() == [0.0, 0.0, 0.0]
    assert evaluate([0, 1, 2], table).density == 0.0
    assert evaluate([0], as_ensemble([[1, 2]], orientation="objects")).n_objects == 1


def test_unlabelled_objects_are_left_out():
    table = np.array([[0, 0], [0, 1], [1, 1], [1, 0], [0, 1]])
    labels = np.array([0, 0, 1, 1, -1])
    part = evaluate(labels[:4], table[:4])
    whole = evaluate(labels, table)
    members = {"mean_member": None, "best_member": None}
    assert replace(whole, **members) == replace(part, **members)


def test_consensus_is_taken_as_labels():
    table = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
    labels = np.array([0, 0, 1, 1], dtype=np.int32)
    result = Consensus(labels=labels, objective=0.0)
    assert evaluate(result, table, truth=result) == evaluate(labels, table, truth=labels)
    assert anmi(result, table) == anmi(labels, table)


def test_wrong_lengths_are_refused():
    table = np.array([[0, 0], [0, 1], [1, 1]])
    for score in (anmi, density, cluster_density, inter_density, evaluate):
        with pytest.raises(ValueError, match="one label per row of the ensemble, 3 in all, got 2"):
            score([0, 1], table)
    with pytest.raises(ValueError, match="truth must have one label per row of the ensemble, 3 in all, got 4"):
        evaluate([0, 1, 1], table, truth=[0, 1, 1, 1])
    with pytest.raises(ValueError, match="labels and truth have no labelled object in common"):
        evaluate([0, 1, -1], table, truth=[-1, -1, 1])
    with pytest.raises(ValueError, match="labels must label at least one object"):
        evaluate([-1, -1, -1], table)


def test_scores_print_and_convert():
    scores = evaluate([0, 0, 1, 1], [[0, 0, 1, 1], [0, 1, 1, 1]], truth=["a", "a", "b", "c"])
    assert str(scores).splitlines()[0].split() == ["n", "objects", "4"]
    known = {name: value for name, value in scores.as_dict().items() if value is not None}
    assert len(str(scores).splitlines()) == len(known) == 17
    assert all(type(value) in (int, float) for value in known.values())
    assert "\nnmi" not in str(evaluate([0, 0, 1, 1], [[0, 0, 1, 1]]))


def test_input_is_untouched_and_global_random_state_too():
    table = np.array([[0, 5], [3, -1], [3, 5]])
    labels = np.array([2, 0, 2])
    before = table.copy(), labels.copy(), np.random.get_state()[1].copy()  # noqa: NPY002
    evaluate(labels, table, truth=labels)
    assert np.array_equal(table, before[0])
    assert np.array_equal(labels, before[1])
    assert np.array_equal(np.random.get_state()[1], before[2])  # noqa: NPY002

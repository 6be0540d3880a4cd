"""Trust: one fair scale of agreement, the comparison with chance, reproducibility, and the verdict in words."""

from __future__ import annotations

import json
import math
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ensembles import noisy_with_truth
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import METHODS, Consensus, as_ensemble, consensus, evaluate, generate, nmi, plot, refine
from quorate._data.rows import permuted, select_members
from quorate._evaluation.scores import code_beside
from quorate._solve import procedure
from quorate._solve.procedure import Drawn, draw_objects, procedure_of, repeat
from quorate._summaries import AMBIGUOUS
from quorate._trust import agreement
from quorate._trust.agreement import evaluate_within, folds, held_out_agreement
from quorate._trust.subject import subject_of
from quorate._verdict import (
    CLEAR,
    GRADES,
    NO_STRUCTURE,
    STRONG,
    WEAK,
    Evidence,
    beyond_chance,
    grade_of,
    verdict_of,
)
from quorate.cli import main
from quorate.reporting.points import headline, points

PRAISE = ("strong", "clear", "better than", "represents")


def random_labels(seed: int, n_objects: int, n_members: int, k: int, missing: float = 0.0) -> Any:
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=(n_objects, n_members))
    gaps = rng.random(labels.shape) < missing
    gaps[np.arange(n_objects), rng.integers(n_members, size=n_objects)] = False
    return as_ensemble(np.where(gaps, -1, labels), orientation="objects", check=False)


def drawn_from(labels: Any, k: int, **options: Any) -> tuple[Drawn, Any]:
    ensemble = as_ensemble(labels, orientation="objects", check=False)
    result = consensus(ensemble, k, random_state=0, **options)
    return draw_objects(ensemble, code_beside(result, "labels", ensemble), 0), procedure_of(result, k)


# ---- one fair scale


def test_agreement_is_the_mean_nmi_with_members_left_out() -> None:
    _, labels = noisy_with_truth(0, 120, 3, 4, missing=0.0)
    result = consensus(labels, 3, method="eac", random_state=0)
    found = evaluate(result, labels)
    without = [consensus(np.delete(labels, member, axis=1), 3, method="eac") for member in range(4)]
    assert found.agreement == pytest.approx(np.mean([nmi(without[j], labels[:, j]) for j in range(4)]))
    pairs = np.array([[nmi(labels[:, i], labels[:, j]) for i in range(4)] for j in range(4)])
    off = pairs[~np.eye(4, dtype=bool)].reshape(4, 3)
    assert found.agreement_mean_member == pytest.approx(off.mean())
    assert found.mean_member == pytest.approx(off.mean())
    judged = []
    for judge in range(4):
        rest = [member for member in range(4) if member != judge]
        scores = [np.mean([pairs[i, j] for j in rest if j != i]) for i in rest]
        judged.append(pairs[rest[int(np.argmax(scores))], judge])
    assert found.agreement_best_member == pytest.approx(np.mean(judged))


def test_weights_count_in_the_mean() -> None:
    _, labels = noisy_with_truth(1, 90, 3, 3, missing=0.0)
    weights = np.array([1.0, 2.0, 5.0])
    ensemble = as_ensemble(labels, weights=weights)
    found = evaluate(consensus(ensemble, 3, method="eac"), ensemble).agreement
    parts = [select_members(ensemble, [m for m in range(3) if m != judge]) for judge in range(3)]
    values = [nmi(consensus(part, 3, method="eac"), labels[:, j]) for j, part in enumerate(parts)]
    assert found == pytest.approx(np.average(values, weights=weights))


def test_folds_hold_each_member_once_whatever_the_order() -> None:
    for n_members in (2, 3, 5, 6, 23):
        ensemble = random_labels(0, 50, n_members, 4)
        groups = folds(ensemble)
        assert len(groups) == min(n_members, 5)
        assert sorted(np.concatenate(groups).tolist()) == list(range(n_members))
        turned = folds(select_members(ensemble, np.arange(n_members)[::-1]))
        assert [sorted((n_members - 1 - group).tolist()) for group in turned] == [g.tolist() for g in groups]


@pytest.mark.parametrize("method", [name for name, entry in METHODS.items() if not entry.combines])
def test_every_method_is_judged_by_members_left_out(method: str) -> None:
    _, labels = noisy_with_truth(2, 80, 3, 5, missing=0.1)
    found = evaluate(consensus(labels, 3, method=method, random_state=0), labels)
    assert found.agreement is not None
    assert 0.2 < found.agreement < found.anmi


def test_only_a_consensus_of_a_known_method_is_compared() -> None:
    ensemble = random_labels(0, 60, 4, 3)
    plain = evaluate(ensemble.labels[:, 0], ensemble)
    assert plain.agreement is plain.agreement_mean_member is plain.agreement_best_member is None
    assert procedure_of(consensus(ensemble, 3, refine=True), 3).refine
    # moves after a consensus of unknown options are not a procedure that could be repeated
    assert not procedure_of(refine(consensus(ensemble, 3), ensemble), 3).is_known
    single = evaluate(consensus([[0, 0, 1, 1]], 2), [[0, 0, 1, 1]], null="auto")
    assert single.agreement is single.p_value is single.verdict.grade is None


@settings(max_examples=15, deadline=None)
@given(st.integers(3, 30), st.integers(2, 12), st.integers(0, 2**20), st.sampled_from([0.0, 0.25]))
def test_on_random_labels_a_consensus_is_no_better_than_a_member(n: int, k: int, seed: int, missing: float) -> None:
    ensemble = random_labels(seed, 300, n, k, missing)
    found = evaluate(consensus(ensemble, k, random_state=0), ensemble)
    assert found.anmi > (found.best_member or 0)  # the comparison that was unfair
    # no better, but for the spread of the mean of several values of NMI of independent labellings
    assert found.agreement < 0.02 + 1.1 * found.agreement_mean_member


@pytest.mark.parametrize(("n_members", "k"), [(3, 2), (3, 50), (100, 2), (20, 20)])
def test_random_labels_are_called_random(n_members: int, k: int) -> None:
    ensemble = random_labels(n_members + k, 300, n_members, k)
    found = evaluate(consensus(ensemble, k, random_state=0), ensemble, null="auto")
    assert found.verdict.grade == NO_STRUCTURE
    assert abs(found.adjusted or 0) < 0.08
    assert abs(found.reproducibility or 0) < 0.05
    assert not any(word in found.verdict.text for word in PRAISE)


# ---- what is repeated


def test_few_objects_are_drawn_by_count() -> None:
    ensemble = as_ensemble([[0, 0], [0, 1], [1, 1]], orientation="objects", counts=np.array([10**11, 10**10, 5]))
    result = consensus(ensemble, 2, random_state=0)
    drawn = draw_objects(ensemble, code_beside(result, "labels", ensemble), 0)
    assert drawn.ensemble.n_objects == procedure.MOST_OBJECTS
    assert drawn.ensemble.counts[0] / drawn.ensemble.n_objects == pytest.approx(10 / 11, abs=0.03)
    assert drawn.is_part
    all_of_them, _ = drawn_from([[0, 0], [0, 0], [1, 1]], 2)
    assert all_of_them.ensemble.n_objects == 3
    assert not all_of_them.is_part


def test_unlabelled_rows_are_not_drawn() -> None:
    ensemble = random_labels(0, 50, 3, 3)
    labels = np.where(np.arange(50) < 20, -1, ensemble.labels[:, 0])
    assert draw_objects(ensemble, code_beside(labels, "labels", ensemble), 0).ensemble.n_objects == 30


def test_a_row_that_no_member_labels_stays_unlabelled() -> None:
    drawn, procedure = drawn_from([[0, 0, -1], [0, -1, 0], [1, -1, 1], [1, -1, 1], [-1, 1, -1]], 2)
    labels = repeat(procedure, select_members(drawn.ensemble, [0, 2]), 0)
    assert (labels < 0).tolist() == [False, False, False, False, True][: len(labels)]


def test_a_method_that_refuses_is_not_measured() -> None:
    """The method `best` takes a member with exactly so many clusters, and without it there is none."""
    objects = np.arange(30)
    # of any two halves, one has only members of two clusters, which together make four distinct rows
    labels = np.stack([objects % 3, objects % 2, objects // 15, objects // 2 % 2], axis=1)
    drawn, procedure = drawn_from(labels, 3, method="best")
    assert held_out_agreement(drawn, procedure).mean_member is not None
    found = evaluate(consensus(labels, 3, method="best", random_state=0), labels, null=3)
    assert found.reproducibility is None
    assert found.verdict.grade in (NO_STRUCTURE, WEAK)


def test_scores_of_one_seed_are_the_same() -> None:
    ensemble = random_labels(3, 3_000, 4, 4)
    result = consensus(ensemble, 4, random_state=5)
    assert evaluate(result, ensemble, null=5) == evaluate(result, ensemble, null=5)


# ---- the comparison with chance


@given(st.integers(0, 2**20), st.sampled_from([0.0, 0.3]))
def test_permuting_keeps_gaps_and_sizes(seed: int, missing: float) -> None:
    ensemble = random_labels(seed, 40, 4, 3, missing)
    mixed = permuted(ensemble, np.random.default_rng(seed))
    assert np.array_equal(mixed.labels < 0, ensemble.labels < 0)
    assert np.array_equal(np.sort(mixed.labels, axis=0), np.sort(ensemble.labels, axis=0))
    assert not np.array_equal(mixed.labels, ensemble.labels)


def test_unanimous_members_have_an_adjusted_agreement_of_one() -> None:
    truth = np.arange(60) % 3
    found = evaluate(consensus([truth] * 5, 3, random_state=0), [truth] * 5, null="auto")
    assert (found.adjusted, found.reproducibility, found.agreement) == (1.0, 1.0, 1.0)
    assert found.verdict.grade == STRONG


def test_one_cluster_tells_nothing() -> None:
    found = evaluate(consensus([[0] * 9] * 3, 1), [[0] * 9] * 3, null="auto")
    assert (found.adjusted, found.p_value) == (0.0, 1.0)
    assert found.verdict.grade == NO_STRUCTURE


def test_the_number_of_permutations() -> None:
    ensemble = random_labels(0, 60, 3, 3)
    result = consensus(ensemble, 3, random_state=0)
    assert evaluate(result, ensemble, null=4).n_permutations == 4
    assert agreement.FEWEST <= (evaluate(result, ensemble, null=True).n_permutations or 0) <= agreement.MOST
    assert evaluate(result, ensemble, null=None).p_value is None
    for wrong in (0, -3, "many", 2.5):
        with pytest.raises((ValueError, TypeError), match="null must be"):
            evaluate(result, ensemble, null=wrong)


def test_p_value_and_z_by_hand() -> None:
    found = agreement._compared(0.5, 0.5, np.array([0.1, 0.2, 0.3, 0.5]))
    assert found.p_value == 2 / 5
    assert found.expected == pytest.approx(0.275)
    assert found.z == pytest.approx((0.5 - 0.275) / np.std([0.1, 0.2, 0.3, 0.5], ddof=1))
    assert found.adjusted == pytest.approx((0.5 - 0.275) / (1 - 0.275))
    assert agreement._compared(0.5, 0.5, np.array([0.2, 0.2])).z == math.inf


def test_too_slow_a_comparison_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    ensemble = random_labels(0, 60, 3, 3)
    result = consensus(ensemble, 3, random_state=0)
    found = evaluate_within(result, ensemble, 1e-9, null="auto")
    assert found.p_value is None
    assert found.agreement is not None
    assert found.verdict.grade is None
    assert "not compared with chance" in found.verdict.text


def test_a_labelling_that_ignores_the_members_is_not_praised() -> None:
    truth, labels = noisy_with_truth(0, 300, 3, 8, missing=0.0)
    good = evaluate(truth, labels, null="auto").verdict
    assert good.grade == STRONG
    poor = evaluate(np.random.default_rng(0).permutation(truth), labels, null="auto").verdict
    assert poor.grade == NO_STRUCTURE
    assert "agree with them no more than by chance" in poor.text


def test_a_member_of_random_labels_is_not_praised() -> None:
    """It agrees fully with itself, so that its ANMI is higher than that of any consensus."""
    ensemble = random_labels(1, 300, 3, 4)
    assert evaluate(ensemble.labels[:, 0], ensemble, null="auto").verdict.grade == NO_STRUCTURE


# ---- the verdict


def test_grades_follow_the_limits() -> None:
    assert grade_of(1.0, 0.4, 0.1, 0.9) == NO_STRUCTURE
    assert grade_of(9.0, 0.05, -0.1, 0.9) == NO_STRUCTURE
    assert grade_of(9.0, 0.05, 0.1, None) == WEAK
    assert [grade_of(9.0, 0.05, 0.1, value) for value in (0.19, 0.2, 0.49, 0.5)] == [WEAK, CLEAR, CLEAR, STRONG]
    assert not beyond_chance(5.9, 0.02)
    assert beyond_chance(2.0, 0.01)
    assert len(set(GRADES)) == 4


SAID_OF_RANDOM_LABELS = "Random labels would agree about as well"


@pytest.mark.parametrize("n_permutations", [19, 39, 60, 99])
def test_the_verdict_says_what_so_many_permutations_can_show(n_permutations: int) -> None:
    least = 1 / (1 + n_permutations)
    for z, above, grade in ((3.5, 0, WEAK), (7.0, 0, WEAK), (1.0, 8, NO_STRUCTURE), (2.0, 1, NO_STRUCTURE)):
        verdict = verdict_of(evidence(z, (1 + above) * least, n_permutations))
        assert verdict.grade == grade
        assert (SAID_OF_RANDOM_LABELS in verdict.text) == (above == 8)
    unsure = verdict_of(evidence(2.5, least, n_permutations))
    assert SAID_OF_RANDOM_LABELS not in unsure.text
    assert (unsure.grade, "null=999" in unsure.next_step) == (
        (WEAK, False) if n_permutations == 99 else (NO_STRUCTURE, True)
    )


def test_a_z_of_a_handful_of_permutations_says_nothing() -> None:
    assert verdict_of(evidence(4.0, 1 / 5, 4)).grade == NO_STRUCTURE
    assert "too few" in verdict_of(evidence(4.0, 1 / 5, 4)).text


def evidence(z: float, p_value: float, n_permutations: int) -> Evidence:
    scores = dict.fromkeys(Evidence._fields)
    known = {"mean_member": 0.1, "expected": 0.1, "z": z, "p_value": p_value, "adjusted": 0.1, "reproducibility": 0.1}
    return Evidence(**{**scores, **known, "n_permutations": n_permutations, "from_measurements": False})


@pytest.mark.parametrize("n_permutations", [19, 39, 60, 99])
def test_few_permutations_find_what_was_planted_and_nothing_in_random_labels(n_permutations: int) -> None:
    for seed in range(2):
        rng = np.random.default_rng(seed)
        labels = np.repeat(rng.integers(3, size=(150, 1)), 6, axis=1)
        wrong = rng.random(labels.shape) < 0.55
        labels[wrong] = rng.integers(3, size=int(wrong.sum()))
        for name, table in (("planted", labels), ("random", rng.integers(3, size=labels.shape))):
            ensemble = as_ensemble(table, orientation="objects", check=False)
            result = consensus(ensemble, 3, random_state=seed, confidence=False)
            verdict = evaluate(result, ensemble, null=n_permutations).verdict
            assert (verdict.grade == NO_STRUCTURE) == (name == "random"), (name, seed, str(verdict))
            assert not (name == "planted" and SAID_OF_RANDOM_LABELS in verdict.text)


def test_members_of_measurements_are_not_praised() -> None:
    points_without_clusters = np.random.default_rng(0).normal(size=(300, 2))
    ensemble = generate(points_without_clusters, 8, base="kmeans", random_state=0)
    verdict = evaluate(consensus(ensemble, 4, random_state=0), ensemble, null="auto").verdict
    assert "does not show that there are clusters" in verdict.text
    assert "same measurements" in verdict.cannot_tell
    assert not any(word in verdict.text for word in PRAISE)


def test_the_report_says_the_same_as_the_scores() -> None:
    _, labels = noisy_with_truth(0, 200, 3, 8, missing=0.1)
    result = consensus(labels, 3, random_state=0)
    subject = subject_of(result, labels)
    verdict = evaluate(result, labels, null="auto").verdict
    assert headline(subject) == verdict.text
    told = {point.heading: point.text for point in points(subject)}
    assert (told["Why"], told["What to do"]) == (verdict.reason, verdict.next_step)
    noise = random_labels(0, 200, 4, 4)
    assert headline(subject_of(consensus(noise, 4, random_state=0), noise)).endswith(
        "no evidence of structure beyond chance."
    )


def test_one_threshold_of_ambiguity(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for verb, name in ((Consensus.ambiguous, "below"), (plot.confidence_histogram, "ambiguous")):
        assert signature(verb).parameters[name].default == AMBIGUOUS
    table = tmp_path / "labels.csv"
    _, labels = noisy_with_truth(0, 100, 3, 5, missing=0.0)
    np.savetxt(table, labels, fmt="%d", delimiter=",", header="a,b,c,d,e", comments="")
    result = consensus(labels, 3, random_state=0)
    for options, below in (([], AMBIGUOUS), (["--ambiguous", "0.8"], 0.8)):
        assert main(["consensus", str(table), "-k", "3", "--no-null", "--json", *options]) == 0
        assert json.loads(capsys.readouterr().out)["ambiguous"] == {"n": len(result.ambiguous(below)), "below": below}
    assert main(["consensus", str(table), "-k", "3", "--ambiguous", "7"]) != 0
    assert "--ambiguous must be a number from 0 to 1" in capsys.readouterr().err


def test_the_verdict_is_about_the_labels_that_are_delivered() -> None:
    """Coarsening that lost much, and a linkage that put nearly all objects into one cluster, are not praised."""
    _, labels = noisy_with_truth(0, 1_500, 8, 20, noise=0.3)
    good = consensus(labels, 8, method="eac", random_state=0)
    with pytest.warns(UserWarning, match="of the agreement with the members"):
        bad = consensus(labels, 8, method="eac", coarsen=0.9, random_state=0)
    verdict = evaluate(good, labels, null=19).verdict
    assert verdict.grade == "strong structure"
    assert "use the clusters" in str(verdict).lower()
    scores = evaluate(bad, labels, null=19)
    assert "much less than their method when it is run again" in (scores.problem or "")
    assert scores.verdict.grade == "weak structure"
    assert "Do not use these clusters" in str(scores.verdict)
    unknown = evaluate(bad.labels, labels, null=19)
    assert "much less than a consensus with as many clusters" in (unknown.problem or "")
    assert "Do not use these clusters" in str(unknown.verdict)
    assert evaluate(bad, labels).verdict.text == scores.problem, "also if chance is not asked for"


def test_labels_that_have_collapsed_are_said_to_have() -> None:
    _, labels = noisy_with_truth(1, 600, 4, 20, noise=0.45)
    with pytest.warns(UserWarning, match="Nearly all objects are in one cluster"):
        result = consensus(labels, 4, method="eac", linkage="single", random_state=0)
    assert result.info["collapsed"].startswith("Nearly all objects are in one cluster (597 of 600)")
    assert result.info["options"] == {"linkage": "single"}
    for collapsed in (result, result.labels):
        scores = evaluate(collapsed, labels, null=19)
        assert scores.problem == result.info["collapsed"]
        assert "use the clusters" not in str(scores.verdict).lower().replace("do not use", "")
    assert evaluate(consensus(labels, 4, method="eac", random_state=0), labels).problem is None


def test_words_for_p_values_and_members_of_many_clusters() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(3), 60)
    fine = 8 * truth + rng.integers(8, size=180)
    table = np.column_stack([np.where(rng.random(180) < 0.1, rng.integers(24, size=180), fine) for _ in range(8)])
    result = consensus(table, 3, orientation="objects", random_state=0)
    scores = evaluate(result, as_ensemble(table, orientation="objects"), null="auto")
    assert scores.p_value == 0.05
    assert "0.050000  (the least that 19 permutations can give)" in str(scores)
    assert scores.agreement < scores.agreement_best_member
    assert "members have 8 times as many clusters as the consensus" in scores.verdict.reason
    few = evaluate(consensus(table // 8, 3, orientation="objects"), as_ensemble(table // 8, orientation="objects"))
    assert "times as many clusters" not in few.verdict.reason


def test_clusters_that_are_not_found_again_are_not_recommended() -> None:
    """Twenty clusters of a table with five: most dissolve when the consensus is repeated, and the verdict says so."""
    _, labels = noisy_with_truth(3, 1_200, 5, 4, noise=0.35)
    many = evaluate(consensus(labels, 20, random_state=0), labels, null=19)
    assert many.dissolving > 0.5
    assert "use the clusters as a hint only" in str(many.verdict).lower()
    right = evaluate(consensus(labels, 5, random_state=0), labels, null=19)
    assert right.dissolving == 0
    assert "use the clusters" in str(right.verdict).lower()

"""What the constants that steer decisions stand for: what is decided on each side of a limit, a little away from it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from ensembles import noisy

from quorate import Ensemble, ari, as_ensemble, join, members, merge
from quorate._choose_k import choose_k
from quorate._choose_k.choose_k import Shared, halves_agree, shared_structure
from quorate._choose_k.criteria import decide, speaking
from quorate._consensus import confidence
from quorate._data import blocks
from quorate._data.coding import missing_rule
from quorate._data.labelling import code_labelling
from quorate._solve.procedure import drawn_places, procedure_of
from quorate._solve.run_method import pick
from quorate._trust import agreement, reference
from quorate._trust.separation import Separation
from quorate._types import Solving
from quorate._verdict import Evidence, rounded_down, verdict_of

# ---- the method that "auto" takes


def with_gaps(share: float, k: int) -> Ensemble:
    """Twenty members of k clusters, which label 400 objects; of each object the same share of labels is missing."""
    missing = np.tile(np.arange(20) < round(20 * share), (400, 1))
    gone = np.random.default_rng(0).permuted(missing, axis=1)
    return as_ensemble(np.where(gone, -1, noisy(0, n=400, k=k, members=20, noise=0.3)))


@pytest.mark.parametrize(
    ("share", "k", "method"), [(0.75, 20, "lwgp"), (0.8, 20, "supra"), (0.8, 14, "supra"), (0.8, 12, "lwgp")]
)
def test_small_clusters_with_many_gaps_need_several_methods(share: float, k: int, method: str) -> None:
    """Four of five labels must be missing, and fewer than six be left per cluster."""
    assert pick(with_gaps(share, k), 4, 10**9).method == method


@pytest.mark.parametrize(
    ("sizes", "max_bytes", "method"),
    [
        ([950, 950], 10**9, "lwgp"),
        ([1050, 1050], 10**9, "transfer"),
        ([9_500, 9_500], 10**9, "transfer"),
        ([10_500, 10_500], 10**9, "hbgf"),
        ([10_500, 10_500], 230 * 30_000 * 2, "kmeans"),
        ([10_500, 10_500], 250 * 30_000 * 2, "hbgf"),
        ([1900, 1, 1, 29_000], 10**9, "transfer"),
        ([2100, 1, 1, 29_000], 10**9, "hbgf"),
    ],
)
def test_members_of_many_clusters_need_a_method_that_ends(sizes: list[int], max_bytes: int, method: str) -> None:
    labels = [np.random.default_rng(k).permutation(30_000) % k for k in sizes]
    assert pick(as_ensemble(labels, orientation="members", check=False), 2, max_bytes).method == method


# ---- on what a procedure is repeated


@pytest.mark.parametrize(
    ("n_members", "n_clusters", "most"),
    [(5, 10, 2000), (20, 10, 1000), (100, 10, 500), (100, 40, 800), (100, 200, 2000)],
)
def test_a_procedure_is_repeated_on_some_objects(n_members: int, n_clusters: int, most: int) -> None:
    """20,000 labels, but at least 500 objects, 20 for each cluster, and 2,000 objects at most."""
    assert drawn_places(most, n_members, n_clusters, 0) is None
    drawn = drawn_places(most + 1, n_members, n_clusters, 0)
    assert drawn is not None
    assert len(set(drawn.tolist())) == most


def test_an_unknown_procedure_of_many_clusters_is_taken_for_kmeans() -> None:
    labels = np.arange(1000)
    assert [procedure_of(labels, k).method for k in (480, 520)] == ["auto", "kmeans"]


# ---- the number of clusters


@pytest.mark.parametrize(
    ("share", "is_candidate", "is_close"),
    [(0.3, False, False), (0.37, True, False), (0.82, True, False), (0.88, True, True)],
)
def test_the_next_number_is_a_candidate_or_nearly_as_good(share: float, is_candidate: bool, is_close: bool) -> None:
    found = decide({"eigengap": {2: 1.0, 3: share, 4: 0.0}}, [2, 3, 4], {}, [2, 3, 4])
    assert found.candidates == ((2, 3) if is_candidate else (2,))
    assert found.undecided is is_close


@pytest.mark.parametrize(("share", "is_close"), [(0.2, False), (0.33, True)])
def test_many_numbers_of_little_support_make_a_choice_undecided(share: float, is_close: bool) -> None:
    """None of them is a candidate by its support, but 120 of them together may be a third as probable as the best."""
    part = {2: 1.0, **dict.fromkeys(range(3, 123), share), 123: 0.0}
    found = decide({"eigengap": part}, [*part], {}, [*part])
    assert found.undecided is is_close
    assert found.candidates == ((2, 3) if is_close else (2,))


def test_three_candidates_at_most() -> None:
    values = {"eigengap": {2: 1.0, 3: 0.9, 4: 0.8, 5: 0.7, 6: 0.0}}
    assert decide(values, [2, 3, 4, 5, 6], {}, [2, 3, 4, 5, 6]).candidates == (2, 3, 4)


def test_differences_by_rounding_are_ties() -> None:
    assert speaking({"eigengap": {2: 1.0, 3: 1.0 + 1e-14}}) == {}
    assert set(speaking({"eigengap": {2: 1.0, 3: 1.0 + 1e-6}})) == {"eigengap"}


@pytest.mark.parametrize(("z", "above", "is_beyond"), [(2.7, 0, False), (3.3, 0, True), (3.3, 1, False)])
def test_members_share_something_if_no_permutation_comes_near(z: float, above: int, is_beyond: bool) -> None:
    assert Shared(0.5, 0.1, z, (1 + above) / 20, 19).is_beyond is is_beyond


@pytest.mark.parametrize(("noise", "n_permutations"), [(0.1, 5), (1.0, 19), (0.8, 5)])
def test_permutations_end_when_the_answer_is_clear(noise: float, n_permutations: int) -> None:
    """As much or as little in common as these members have is clear soon: z is far from 3, at 1.0 it is 2.2."""
    found = shared_structure(as_ensemble(noisy(0, n=60, noise=noise)), 0)
    assert found is not None
    assert found.n_permutations == n_permutations


def test_halves_have_two_members_at_least() -> None:
    solving = Solving("kmeans", random_state=0)
    assert halves_agree(as_ensemble(noisy(0, members=3)), [3], solving) == {}
    assert set(halves_agree(as_ensemble(noisy(0, members=4)), [3], solving)) == {3}


# ---- whether it is beyond chance


@pytest.mark.parametrize(
    ("observed", "n_above", "is_clear"),
    [(2.5, 0, False), (5.5, 0, False), (6.5, 0, True), (2.5, 4, False), (2.5, 5, True)],
)
def test_a_comparison_with_chance_ends_when_it_is_clear(observed: float, n_above: int, is_clear: bool) -> None:
    """Far above all permuted values, or not above five of them."""
    values = [-1.0, 1.0] * 500 + [3.0] * n_above
    assert agreement._is_clear(observed, values) is is_clear


@pytest.mark.parametrize(
    ("valley", "cut", "is_clear"),
    [(0.2, 1.0, True), (0.5, 1.0, False), (1.7, 1.0, False), (2.0, 1.0, True), (0.0, 0.55, True), (0.0, 0.35, False)],
)
def test_a_comparison_with_the_reference_ends_when_it_is_clear(valley: float, cut: float, is_clear: bool) -> None:
    """By the valley, or by links if there are less than half as many of them."""
    drawn = [Separation(0.0, 1.0, 0.5)] * 5
    assert reference._is_clear(Separation(valley, cut, 0.5), drawn) is is_clear


@pytest.mark.parametrize(("n_draws", "valley", "is_clear"), [(1, -0.25, False), (1, -0.35, True), (2, -0.1, False)])
def test_a_comparison_ends_after_few_draws_if_the_clusters_are_far_below(
    n_draws: int, valley: float, is_clear: bool
) -> None:
    """One draw is enough for what lies a standard deviation below it, two for half of one, three for any."""
    observed = Separation(valley, 2.5, -1.0)
    for number, expected in ((n_draws, is_clear), (3, True)):
        assert reference._is_clear(observed, [Separation(0.0, 1.0, 0.5)] * number) is expected


@pytest.mark.parametrize(("share", "stands_apart"), [(0.09, False), (0.13, True)])
def test_a_member_with_half_of_the_usual_nmi_stands_apart(share: float, stands_apart: bool) -> None:
    truth = np.repeat([0, 1], 500)
    other = truth ^ (np.arange(1000) % 100 < 100 * share)
    rows = members(truth, as_ensemble([truth] * 6 + [other]))
    assert [row.stands_apart for row in rows.rows] == [False] * 6 + [stands_apart]


# ---- how sure a place is


@pytest.mark.parametrize(("share", "least", "most"), [(1.0, 0.19, 0.21), (0.7, 0.4, 0.49), (0.1, 0.5, 0.5)])
def test_an_object_that_one_half_keeps_counts_by_how_alike_the_halves_are(
    share: float, least: float, most: float
) -> None:
    """A fifth if they have nothing in common, and at most a half."""
    clusters = np.repeat([0, 1], 1000)
    other = np.where(np.arange(2000) % 10 < 10 * share, np.arange(2000) % 2, clusters).astype(np.int32)
    halves = [clusters.astype(np.int32), other]
    worth = confidence._kept(clusters, halves, np.ones(2000, dtype=np.int64), ari(clusters, other))
    assert set(worth[other == clusters].tolist()) == {1.0}
    assert ((worth[other != clusters] >= least) & (worth[other != clusters] <= most)).all()


# ---- what is a table of labels


@pytest.mark.parametrize(("n_objects", "n_labels", "is_refused"), [(20, 20, False), (21, 21, True), (49, 48, False)])
@pytest.mark.parametrize("kind", [int, str])
def test_columns_in_which_all_labels_differ_are_ids(
    n_objects: int, n_labels: int, is_refused: bool, kind: type
) -> None:
    _refused([kind(100 + min(i, n_labels - 1)) for i in range(n_objects)], is_refused)


@pytest.mark.parametrize(("n_labels", "is_refused"), [(44, False), (47, True)])
def test_columns_in_which_nearly_all_labels_differ_are_ids(n_labels: int, is_refused: bool) -> None:
    _refused([min(i, n_labels - 1) for i in range(50)], is_refused)


@pytest.mark.parametrize(
    ("column", "is_refused"),
    [
        ([0.5, 1.5, 0.5, 2.5], False),
        ([0.5, 1.5, 0.5, 2.5, 1.5, 0.5], True),
        ([1.0, 2.0, 1.0, 2.0, 1.0, 2.5], True),
        ([1.0, 2.0, 1.0, 2.0, 1.0, 2.0], False),
    ],
)
def test_columns_of_decimals_are_measurements(column: list[object], is_refused: bool) -> None:
    _refused(column, is_refused)


def _refused(column: list[object], is_refused: bool) -> None:
    table = {"a": column, "b": [i % 2 for i in range(len(column))]}
    if is_refused:
        with pytest.raises(ValueError, match=r"'a'"):
            as_ensemble(table)
    else:
        assert as_ensemble(table).n_objects == len(column)


def test_merged_labels_keep_their_type() -> None:
    numbers, texts = as_ensemble([[1, 2], [2, 1]]), as_ensemble([["1", "2"], ["2", "1"]])
    assert merge([numbers, numbers])[0].categories[0].dtype.kind == "i"
    assert merge([numbers, texts])[0].n_clusters.tolist() == [2, 2]  # the number 1 and the text "1" are one label


def test_one_table_is_joined_with_nothing() -> None:
    """Two tables must have objects in common, and one table needs no other."""
    table = pd.DataFrame({"a": [1, 1, 2], "b": [1, 2, 2]}, index=["x", "y", "z"])
    assert join(table).labels.tolist() == as_ensemble(table).labels.tolist()
    with pytest.raises(ValueError, match="none of the 3 objects"):
        join(table, table.set_axis(["u", "v", "w"]))


# ---- what is left out or refused because of its size, and what a table's cells mean


@pytest.mark.parametrize(("max_bytes", "is_run"), [(24 * 300 * 40 - 1, False), (10**9, True)])
def test_merges_start_from_many_clusters_if_their_vectors_fit(max_bytes: int, is_run: bool) -> None:
    ran: list[int] = []
    choose_k._fine(as_ensemble(noisy(0, n=300, k=4)), 40, lambda _, size: ran.append(size), max_bytes)  # type: ignore[arg-type,func-returns-value]
    assert bool(ran) == is_run


def test_more_distinct_rows_than_can_be_numbered_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = blocks.RowTable(1)
    monkeypatch.setattr(blocks, "MOST_ROWS", 3)
    assert rows.add(blocks.code_block([np.array([0, 1, 2])], ("a",))).tolist() == [0, 1, 2]
    with pytest.raises(MemoryError, match="can be numbered"):
        rows.add(blocks.code_block([np.array([3])], ("a",)))


def test_an_empty_cell_is_a_missing_label() -> None:
    codes, kept = blocks._meaning(np.array(["a", "", "b"], dtype=object), "x", "cells", missing_rule(-1))
    assert codes.tolist() == [0, -1, 1]
    assert kept.tolist() == ["a", "b"]


def test_only_labels_of_pandas_have_a_default_index() -> None:
    assert not code_labelling(np.array([0, 1, 1]), "labels", None).default_index
    assert code_labelling(pd.Series([0, 1, 1]), "labels", None).default_index


def test_a_reference_is_drawn_three_times_if_it_is_hopeless_and_five_times_if_it_is_clear() -> None:
    drawn = [Separation(value, 0.1, 0.0) for value in (4.0, 5.0, 6.0)]
    below, little, far = (Separation(valley, 0.9, -9.0) for valley in (4.5, 5.5, 30.0))
    assert reference._is_clear(below, drawn)
    for one in (little, far):
        assert not reference._is_clear(one, drawn)
        assert reference._is_clear(one, [*drawn, *drawn[:2]])


def test_a_stability_below_a_limit_does_not_look_as_if_it_had_reached_it() -> None:
    assert [rounded_down(value) for value in (0.7499, 0.75, 0.29, 1.0)] == ["0.74", "0.75", "0.29", "1.00"]


def test_single_clusters_that_are_not_found_again_are_named() -> None:
    facts = Evidence(0.5, 0.5, 0.5, 0.1, 90.0, 0.01, 0.5, 0.8, 99, False)
    assert "dissolve" not in verdict_of(facts._replace(dissolving=0.0)).next_step
    some = verdict_of(facts._replace(dissolving=0.12))
    assert some.grade == "strong structure"
    assert "do not rely on the clusters that dissolve (12% of the objects)" in some.next_step
    assert verdict_of(facts._replace(dissolving=0.51)).grade == "weak structure"

"""Choosing the number of clusters of a table of labels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from ensembles import noisy
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import METHODS, ConsensusClustering, anmi, as_ensemble, choose_k, compress, consensus, solve
from quorate._choose_k.choose_k import COMPARED_OBJECTS, Candidate, Choice, halves_agree, shared_structure
from quorate._choose_k.criteria import (
    WEIGHTS,
    decide,
    eigengaps,
    falls,
    highest_number,
    merge_gaps,
    merged_similarities,
    shares_of_best,
    shortlist,
    supports,
    tree_lifetimes,
    voted,
)
from quorate._data.rows import side_by_side
from quorate._types import Solving
from quorate.cli import main


@pytest.mark.parametrize("k", [2, 3, 6, 9])
def test_planted_numbers_are_found(k: int) -> None:
    labels = noisy(k, n=500, k=k, members=12, noise=0.2)
    choice = choose_k(labels, random_state=0)
    assert choice.n_clusters == k == choice.candidates[0]
    assert not choice.undecided
    assert set(choice.votes.values()) == {k}
    assert {"eigengap", "merge_gap", "density_gain", "anmi", "stability"} <= set(choice.votes)
    assert [entry.n_clusters for entry in choice.table] == list(range(2, 21))
    assert choice.reason.startswith(f"{k} clusters: ")
    assert choice.evidence(k)
    assert choice.chance["z"] > 3


@pytest.mark.parametrize("n_members", [2, 5, 20])
def test_random_labels_have_one_cluster(n_members: int) -> None:
    ones = [
        choose_k(np.random.default_rng(seed).integers(4, size=(300, n_members)), random_state=seed) for seed in range(4)
    ]
    assert sum(choice.n_clusters == 1 for choice in ones) >= 3
    choice = next(choice for choice in ones if choice.n_clusters == 1)
    assert choice.candidates == choice.table == ()
    assert choice.reason.startswith("1 cluster: the members have no more in common than permuted labels have")
    assert "k" in str(choice)


def test_one_cluster_is_a_whole_result() -> None:
    labels = np.random.default_rng(0).integers(4, size=(300, 20))
    result = consensus(labels, random_state=0)
    assert result.n_clusters == 1
    assert "in 1 cluster by" in repr(result)
    assert result.info["choice"].n_clusters == 1
    within = choose_k(labels, (2, 5), random_state=0)
    assert within.n_clusters >= 2
    assert within.reason.endswith("so there may be no clusters at all.")
    assert choose_k(labels, null=False, random_state=0).n_clusters >= 2


def test_every_door_gives_the_same_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = noisy(0, n=300, k=4, members=10, noise=0.2)
    chosen = consensus(labels, "auto", random_state=7)
    assert chosen.n_clusters == 4
    rows, inverse = compress(as_ensemble(labels))
    others = {
        "no number": consensus(labels, random_state=7).labels,
        "None": consensus(labels, None, random_state=7).labels,
        "the number": consensus(labels, 4, random_state=7).labels,
        "solve": solve(rows, random_state=7).labels[inverse],
        "estimator": ConsensusClustering("auto", random_state=7).fit(labels).labels_,
        "estimator, None": ConsensusClustering(None, random_state=7).fit(labels).labels_,
    }
    table, output = tmp_path / "labels.csv", tmp_path / "result.csv"
    np.savetxt(table, labels, fmt="%d", delimiter=",", header=",".join("abcdefghij"), comments="")
    for options in ([], ["-k", "auto"]):
        call = ["consensus", str(table), "--seed", "7", "-o", str(output), "--force", "--no-null", *options]
        assert main(call) == 0
        others[f"shell {options}"] = np.loadtxt(output, delimiter=",", skiprows=1, ndmin=2)[:, 0]
    capsys.readouterr()
    for door, found in others.items():
        assert np.array_equal(found, chosen.labels), door
    choice = chosen.info["choice"]
    by_k = {entry.n_clusters: entry for entry in choice.table}
    assert by_k[4].anmi == pytest.approx(anmi(chosen, labels), abs=1e-12)
    assert "*" in str(choice)
    assert choice.as_dict()["table"][0]["n_clusters"] == 2


def test_a_named_method_that_finds_the_number_still_does() -> None:
    labels = noisy(0, n=200, k=4, members=10, noise=0.2)
    own = consensus(labels, None, method="eac", random_state=0)
    assert "choice" not in own.info
    assert METHODS["eac"].finds_k
    assert consensus(labels, "auto", method="eac", random_state=0).info["choice"].method == "eac"
    assert not METHODS["mcla"].finds_k
    assert consensus(labels, None, method="mcla", random_state=0).info["choice"].method == "mcla"


def test_members_for_each_number() -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(200) % 3
    stable = [np.where(rng.random(200) < 0.02, rng.integers(3, size=200), truth) for _ in range(6)]
    unstable = {k: [rng.integers(k, size=200) for _ in range(6)] for k in (2, 4)}
    by_number = {2: np.column_stack(unstable[2]), 3: np.column_stack(stable), 4: np.column_stack(unstable[4])}
    choice = choose_k(by_number, random_state=0)
    assert [entry.n_clusters for entry in choice.table] == [2, 3, 4]
    assert choice.votes["pac"] == 3
    assert choice.n_clusters == 3
    narrow = choose_k(by_number, bounds=(0.4, 0.6), random_state=0)
    assert narrow.table[0].pac < choice.table[0].pac
    with pytest.raises(ValueError, match="same number of objects"):
        choose_k({2: [[0, 0, 1, 1]] * 2, 3: [[0, 1, 2]] * 2})
    with pytest.raises(ValueError, match="a number of clusters, must be at least 2"):
        choose_k({1: [[0, 0, 0]] * 2})
    with pytest.raises(ValueError, match="upper bound of PAC"):
        choose_k(by_number, bounds=(0.5, 0.1))


def test_a_criterion_that_is_tied_everywhere_abstains() -> None:
    values = {"anmi": {2: 0.5, 3: 0.6}, "lifetime": {2: 0.25, 3: 0.25}, "pac": {2: 0.0, 3: 0.0}, "eigengap": {}}
    assert voted(values) == {"anmi": 3}
    assert supports(values) == {2: 0.0, 3: 1.0}
    assert voted({**values, "pac": {2: 0.1, 3: 0.3}}) == {"anmi": 3, "pac": 2}
    nothing = decide({"anmi": {3: 0.5, 4: 0.5}}, [3, 4], {5: "too many"}, [3, 4, 5])
    assert nothing.n_clusters == 3
    assert nothing.reason.startswith("3 clusters: all criteria are the same for every number.")
    assert nothing.reason.endswith("The method gave no answer for 5.")
    assert decide({"anmi": {3: 0.5}}, [3], {}, [3]).reason == "3 clusters: it is the only number to choose from."


def test_narrow_gaps_of_links_weigh_less() -> None:
    eigenvalues = {2: 0.5, 3: 0.1}
    wide = supports({"eigengap": eigenvalues, "link_gap": {2: 0.2, 3: 1.6}})
    assert wide == pytest.approx({2: (0.5 + 1.5 * 0.125) / 2, 3: (0.5 * 0.2 + 1.5) / 2})
    narrow = supports({"eigengap": eigenvalues, "link_gap": {2: 0.025, 3: 0.2}})
    assert narrow == pytest.approx({2: (0.5 + 0.3 * 0.125) / 0.8, 3: (0.5 * 0.2 + 0.3) / 0.8})
    # labels alone are weighed as they are
    assert supports({"eigengap": eigenvalues}) == pytest.approx({2: 1.0, 3: 0.2})


def test_a_number_with_nearly_the_most_modularity_has_nearly_as_much_support() -> None:
    found = supports({"modularity": {2: 0.4, 9: 0.845, 10: 0.85, 20: 0.81}})
    assert found == pytest.approx({2: 0.0, 9: np.exp(-0.5), 10: 1.0, 20: np.exp(-4)}, abs=1e-12)
    # a wide gap at 2 counts less than modularity, and decides between numbers whose modularity is alike
    choice = decide(
        {"eigengap": {2: 1.5, 9: 0.8, 10: 0.1}, "modularity": {2: 0.4, 9: 0.849, 10: 0.85}}, [2, 9, 10], {}, [2, 9, 10]
    )
    assert choice.candidates == (9, 10, 2)


def test_close_candidates_are_undecided() -> None:
    values = {"eigengap": {2: 1.0, 3: 0.95, 4: 0.8, 5: 0.1}, "merge_gap": {2: 1.0, 3: 1.0, 4: 0.0, 5: 0.1}}
    close = decide(values, [2, 3, 4, 5], {}, [2, 3, 4, 5])
    assert (close.n_clusters, close.candidates, close.undecided) == (2, (2, 3, 4), True)
    assert sum(close.probability.values()) == pytest.approx(1.0)
    shares = [f"{close.probability[k]:.0%}" for k in (2, 3, 4)]
    told = f"The choice is not clear: 2 has a probability of {shares[0]}, 3 of {shares[1]} and 4 of {shares[2]}."
    assert told in close.reason
    values["eigengap"][3] = values["merge_gap"][3] = 0.2
    clear = decide(values, [2, 3, 4, 5], {}, [2, 3, 4, 5])
    assert (clear.candidates, clear.undecided) == ((2, 4), False)


@settings(max_examples=50, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(sorted(WEIGHTS)),
        st.dictionaries(st.integers(2, 9), st.floats(-5, 5), min_size=1, max_size=8),
        min_size=1,
    )
)
def test_supports_are_shares(values: dict[str, dict[int, float]]) -> None:
    support = supports(values)
    assert all(0 <= value <= 1 + 1e-12 for value in support.values())
    assert set(support) == {k for part in values.values() for k in part}
    assert shortlist(support, 3) == sorted(shortlist(support, 3))
    decision = decide(values, sorted(support), {}, sorted(support))
    assert sum(decision.probability.values()) == pytest.approx(1.0)
    assert decision.probability[decision.n_clusters] == max(decision.probability.values())
    assert support[decision.n_clusters] == max(support.values())
    assert len(decision.candidates) <= 3


def test_shares_of_the_best_value() -> None:
    assert shares_of_best({2: 1.0, 3: -1.0, 4: 0.5}) == {2: 1.0, 3: 0.0, 4: 0.5}
    assert shares_of_best({2: 0.5, 3: 0.75}, from_lowest=True) == {2: 0.0, 3: 1.0}
    assert shares_of_best({2: -1.0}) == {}


def test_similarities_of_merges_by_hand() -> None:
    sums = np.array([[4.0, 2.0, 0.0], [2.0, 1.0, 1.0], [0.0, 1.0, 9.0]])

    def similarity(part: np.ndarray) -> np.ndarray:
        return part / np.sqrt(np.outer(np.diag(part), np.diag(part)))

    # 0 and 1 have 2 / sqrt(4 * 1) = 1; then 0 and 1 together have 9 within, and 1 / sqrt(9 * 9) with 2
    assert merged_similarities(sums, similarity) == pytest.approx([0.0, 0.0, 1 / 9, 1.0])


def test_gaps_of_unanimous_members_are_widest_at_their_number() -> None:
    truth = np.repeat(np.arange(4), 10)
    other = np.where(np.arange(40) % 10 == 0, (truth + 1) % 4, truth)
    rows, _ = compress(as_ensemble([truth, truth, other], orientation="members"))
    gaps = eigengaps(rows, range(2, 8), np.random.default_rng(0))
    assert max(gaps, key=lambda k: gaps[k]) == 4
    fine = solve(rows, rows.n_rows, random_state=0)
    merges = merge_gaps(rows, fine.labels, range(2, 8))
    assert max(merges, key=lambda k: merges[k]) == 4


def test_what_members_share() -> None:
    labels = noisy(0, n=300, k=4, members=6, noise=0.3)
    found = shared_structure(as_ensemble(labels), 0)
    assert found is not None
    assert found.is_beyond
    assert found.observed > found.expected
    assert shared_structure(as_ensemble(labels[:, :1]), 0) is None
    alike, _ = compress(as_ensemble(np.column_stack([labels[:, 0]] * 3)))
    assert shared_structure(alike, 0) is None


def test_halves_of_the_members() -> None:
    labels = as_ensemble(noisy(0, n=1500, k=4, members=10, noise=0.2))
    found = halves_agree(labels, [2, 4, 7], Solving("lwgp", random_state=0))
    assert max(found, key=lambda k: found[k]) == 4
    assert halves_agree(as_ensemble(noisy(0, members=3)), [2, 3], Solving("lwgp", random_state=0)) == {}


def test_halves_keep_to_the_memory_that_the_method_may_take() -> None:
    """A method that would need more for a half has no stability; it used to run within the default limit."""
    labels = as_ensemble(noisy(0, n=400, k=4, members=10, noise=0.4))
    assert 4 in halves_agree(labels, [4], Solving("cspa", random_state=0))
    assert halves_agree(labels, [4], Solving("cspa", random_state=0, max_bytes=10_000)) == {}


def test_ensembles_side_by_side() -> None:
    one, other = as_ensemble([[0, 0, 1]] * 2, orientation="members"), as_ensemble([[2, 1, 0]], orientation="members")
    both = side_by_side([one, other])
    assert both.labels.tolist() == [[0, 0, 0], [0, 0, 1], [1, 1, 2]]
    assert both.n_clusters.tolist() == [2, 2, 3]


def test_more_numbers_are_tried_if_members_have_more_clusters() -> None:
    ensemble = as_ensemble(np.column_stack([np.arange(300) % 35, np.arange(300) % 36, np.arange(300) % 35]))
    assert highest_number(compress(ensemble)[0]) == 35
    assert highest_number(compress(as_ensemble(noisy(0, n=300)))[0]) == 20


def test_falls_and_lifetimes() -> None:
    assert falls({2: 0.5, 3: 0.4, 4: 0.1}, [2, 3, 4]) == pytest.approx({2: 0.1, 3: 0.3, 4: 0.1})
    assert falls({}, [2, 3]) == {}
    rows, _ = compress(as_ensemble([[0, 0, 1, 1], [0, 0, 1, 2], [0, 1, 2, 2]], orientation="members"))
    own = consensus(rows, 2, method="eac")
    assert tree_lifetimes(rows, own, lambda name, k: own) == tree_lifetimes(rows, None, lambda name, k: own)


def test_a_printed_choice_shows_every_criterion_that_has_values() -> None:
    table = (Candidate(2, 0.5, density_gain=0.0), Candidate(3, 0.6, density_gain=0.0, pac=0.25))
    told = str(Choice(3, "3 clusters.", {"anmi": 3}, table, "kmeans", candidates=(3, 2))).splitlines()
    assert told[0].split() == ["k", "density", "gain", "ANMI", "PAC"]
    assert told[1].split() == ["2", "0.0000", "0.5000", "-", "?"]
    assert told[2].split() == ["3", "0.0000", "0.6000", "0.2500", "*"]
    assert told[3] == "3 clusters."


@pytest.mark.parametrize("wanted", [(3, 6), range(3, 7), [3, 6]])
def test_ranges(wanted: object) -> None:
    labels = noisy(0, n=300, k=4, members=10, noise=0.2)
    choice = consensus(labels, wanted, method="mcla", random_state=0).info["choice"]
    assert [entry.n_clusters for entry in choice.table] == [3, 4, 5, 6]
    assert all(entry.anmi is not None for entry in choice.table)
    assert choice.method == "mcla"


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ((1, 5), "lowest n_clusters must be at least 2"),
        ((5, 3), "highest n_clusters must be at least 5"),
        ((2, 10**6), "n_clusters up to 1,000,000 were asked for"),
        ((2, 3, 4), "n_clusters must be a number, 'auto', or"),
        (range(2, 2), "n_clusters must be a range"),
        (range(2, 9, 2), "n_clusters must be a range"),
    ],
)
def test_bad_ranges_are_refused(wanted: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        consensus(noisy(0), wanted)
    with pytest.raises(ValueError, match=message):
        choose_k(noisy(0), wanted)


def test_choose_k_refuses_a_number_and_unknown_options() -> None:
    with pytest.raises(ValueError, match="to choose from, got 3"):
        choose_k(noisy(0), 3)
    with pytest.raises(TypeError, match="no option 'colour'"):
        choose_k(noisy(0), (2, 4), colour="red")


def test_numbers_without_an_answer_are_told() -> None:
    labels = np.column_stack([np.arange(60) % 3, np.arange(60) % 3, np.arange(60) % 5])
    choice = choose_k(labels, (2, 6), method="best")
    assert [entry.n_clusters for entry in choice.table] == [3, 5]
    assert set(choice.failed) == {2, 4, 6}
    assert "The method gave no answer for 2, 4, 6." in choice.reason
    with pytest.raises(ValueError, match="answered for no n_clusters"):
        choose_k(labels, (7, 9), method="best")


def test_smallest_cases() -> None:
    assert consensus(np.zeros((5, 2), dtype=int), "auto").labels.tolist() == [0] * 5
    assert consensus(np.array([0, 1, 0, 1]), "auto").n_clusters == 2
    assert consensus([[0, 0, 1, 2], [0, 0, 1, 2]]).n_clusters == 3


def test_refined_and_estimated() -> None:
    labels = noisy(0, n=300, k=4, members=10, noise=0.2)
    assert "refine" in consensus(labels, (2, 5), refine=True, random_state=0).info
    assert ConsensusClustering("auto", random_state=0).fit(labels).labels_.max() == 3


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "labels.csv"
    labels = noisy(0, n=300, k=4, members=10, noise=0.2)
    np.savetxt(path, labels, fmt="%d", delimiter=",", header=",".join("abcdefghij"), comments="")
    return str(path)


@pytest.mark.parametrize("k", ["auto", "2:6"])
def test_shell_tool_chooses(table: str, k: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["consensus", table, "-k", k, "--refine", "--no-null"]) == 0
    assert "chosen       4 clusters: " in capsys.readouterr().out
    assert main(["consensus", table, "-k", k, "--json", "--no-null"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["n_clusters"] == told["choice"]["n_clusters"] == 4
    assert told["choice"]["candidates"][0] == 4
    assert told["choice"]["table"][0]["n_clusters"] == 2


def test_shell_tool_refuses_bad_ranges(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong, message in (("2:x", "-k must be an integer, auto, or a range such as 2:20"), ("6:2", "at least 6")):
        assert main(["consensus", table, "-k", wrong]) == 2
        assert message in capsys.readouterr().err


def test_the_number_is_chosen_on_some_objects_and_the_answer_is_of_all() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(4, size=6_000)
    labels = np.stack([np.where(rng.random(6_000) < 0.3, rng.integers(4, size=6_000), truth) for _ in range(8)], axis=1)
    assert len(labels) > COMPARED_OBJECTS
    chosen = consensus(labels, random_state=0)
    assert chosen.n_clusters == 4
    assert chosen.labels.tolist() == consensus(labels, 4, random_state=0).labels.tolist()


def test_the_number_of_all_clusters_together_is_no_gap() -> None:
    """Four members with five clusters each, and gaps: 20 clusters, the rank of their graph, were the answer."""
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 5, 900)
    labels = np.stack([np.where(rng.random(900) < 0.25, rng.integers(0, 5, 900), truth) for _ in range(4)], axis=1)
    labels[rng.random(labels.shape) < 0.25] = -1
    labels = labels[labels.max(axis=1) >= 0]
    found = choose_k(labels, "auto", random_state=0)
    assert found.n_clusters == 5
    assert max(found.candidates) < 17

"""Choosing the number of clusters."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from ensembles import noisy

from quorate import ConsensusClustering, anmi, as_ensemble, choose_k, consensus
from quorate._consensus.choose_k import Candidate, Choice, _leader, _lifetimes, _recommend, _votes
from quorate.cli import main


@pytest.mark.parametrize("k", [2, 3, 6, 9])
def test_planted_numbers_are_found(k: int) -> None:
    labels = noisy(k, n=500, k=k, members=12, noise=0.2)
    choice = choose_k(labels, random_state=0)
    assert choice.n_clusters == k
    assert choice.votes == {"anmi": k, "density_gain": k} | ({"lifetime": k} if "lifetime" in choice.votes else {})
    assert [entry.n_clusters for entry in choice.table] == list(range(2, 21))
    assert str(k) in choice.reason


def test_consensus_with_auto_is_the_consensus_with_that_number() -> None:
    labels = noisy(0, n=300, k=4, members=10, noise=0.2)
    chosen = consensus(labels, "auto", random_state=7)
    assert chosen.n_clusters == 4
    assert np.array_equal(chosen.labels, consensus(labels, 4, random_state=7).labels)
    choice = chosen.info["choice"]
    assert choice.n_clusters == 4
    by_k = {entry.n_clusters: entry for entry in choice.table}
    assert by_k[4].anmi == pytest.approx(anmi(chosen, labels), abs=1e-12)
    assert "*" in str(choice)
    assert choice.as_dict()["table"][0]["n_clusters"] == 2


def test_a_clear_lifetime_decides_where_criteria_disagree() -> None:
    members = as_ensemble(np.array([[0, 1], [0, 2], [1, 3], [1, 4]]), orientation="objects")

    def leader(*lifetimes: float) -> str:
        table = tuple(Candidate(k + 3, 0.5 + 0.01 * k, lifetime=lasts) for k, lasts in enumerate(lifetimes))
        return _leader(_votes(table, {4: 0.1}), table, members)[0]

    assert [leader(0.1, 0.35, 0.2), leader(0.1, 0.3, 0.25), leader(0.0, 0.0)] == ["lifetime", "anmi", "anmi"]
    table = tuple(Candidate(k, 0.5 + 0.01 * k, lifetime=0.1 * (k == 4)) for k in (3, 4, 5))
    best, reason = _recommend({"anmi": 5, "density_gain": 3, "lifetime": 4}, table, members, {})
    assert best == 4
    assert "the lifetime, at least 1.5 times the next one, decides" in reason


def test_a_criterion_that_is_tied_everywhere_abstains() -> None:
    table = tuple(Candidate(k, 0.5 + 0.01 * k, lifetime=0.25, pac=0.0) for k in (2, 3, 4))
    assert _votes(table, {}) == {"anmi": 4}
    nearly = tuple(Candidate(k, 0.5 + 1e-15 * k, pac=0.1 * (k != 3)) for k in (2, 3, 4))
    assert _votes(nearly, {2: 0.3, 3: 0.2, 4: 0.1}) == {"pac": 3}
    assert _votes(nearly, {2: 0.3, 3: 0.1}) == {"density_gain": 2, "pac": 3}


def test_tied_criteria_do_not_outvote_the_others() -> None:
    """Each group of five members agrees with itself, so no pair is ambiguous, whatever the number of clusters."""
    truth = np.repeat(np.arange(8), 15)
    members = np.column_stack([truth] * 5 + [truth // 2] * 5)
    choice = choose_k(members, (4, 8), method="best")
    assert [entry.pac for entry in choice.table] == [0.0, 0.0]
    assert "pac" not in choice.votes
    assert "ambiguous" not in choice.reason
    assert "0.0000" in str(choice)


def test_the_reason_says_which_criterion_decides_when_anmi_is_tied() -> None:
    members = as_ensemble(np.array([[0, 1], [0, 2], [1, 3], [1, 4]]), orientation="objects")
    table = tuple(Candidate(k, 0.5, lifetime=0.02 * k) for k in (3, 4, 5))
    best, reason = _recommend({"density_gain": 4, "pac": 3}, table, members, {})
    assert best == 4
    assert "so the density gain, for ANMI is tied, decides" in reason
    best, reason = _recommend({"lifetime": 5, "pac": 3}, table, members, {})
    assert best == 5
    assert "so the lifetime, for ANMI and the density gain are tied, decides" in reason


def test_without_any_vote_the_smallest_number_is_taken() -> None:
    members = as_ensemble(np.array([[0, 1], [0, 2], [1, 3], [1, 4]]), orientation="objects")
    best, reason = _recommend({}, tuple(Candidate(k, 0.5) for k in (3, 4)), members, {5: "too many"})
    assert best == 3
    assert reason == "3 clusters: no criterion tells the numbers apart, so the smallest is taken. No answer for 5."
    choice = choose_k([[0, 0, 1, 2], [0, 0, 1, 2]], (2, 2))
    assert choice.votes == {}
    assert choice.reason == "2 clusters: it is the only number to choose from."


def test_a_printed_choice_shows_every_criterion_that_has_values() -> None:
    table = (Candidate(2, 0.5, density_gain=0.0), Candidate(3, 0.6, density_gain=0.0, pac=0.25))
    told = str(Choice(3, "3 clusters.", {"anmi": 3}, table, "kmeans")).splitlines()
    assert told[0].split() == ["k", "anmi", "density", "gain", "pac"]
    assert told[1].split() == ["2", "0.5000", "0.0000", "-"]
    assert told[2].split() == ["3", "0.6000", "0.0000", "0.2500", "*"]
    assert told[3] == "3 clusters."


@pytest.mark.parametrize("wanted", [(3, 6), range(3, 7), [3, 6]])
def test_ranges(wanted: object) -> None:
    labels = noisy(0, n=300, k=4, members=10, noise=0.2)
    choice = consensus(labels, wanted, method="mcla", random_state=0).info["choice"]
    assert [entry.n_clusters for entry in choice.table] == [3, 4, 5, 6]
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
    assert "No answer for 2, 4, 6." in choice.reason
    with pytest.raises(ValueError, match="answered for no n_clusters"):
        choose_k(labels, (7, 9), method="best")


def test_ambiguous_pairs_speak_where_several_members_have_the_number() -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(200) % 3
    stable = [np.where(rng.random(200) < 0.02, rng.integers(3, size=200), truth) for _ in range(6)]
    unstable = [rng.integers(4, size=200) for _ in range(6)]
    choice = choose_k([*stable, *unstable], (2, 5), random_state=0)
    by_k = {entry.n_clusters: entry.pac for entry in choice.table}
    assert by_k[2] is by_k[5] is None
    assert by_k[3] < 0.2 < by_k[4]
    assert choice.votes["pac"] == 3
    assert choice.n_clusters == 3
    assert choice.pairs_drawn == 0


def test_lifetimes() -> None:
    tree = np.array([[0, 1, 0.1, 2], [2, 3, 0.2, 2], [4, 5, 0.9, 4]])
    assert _lifetimes(tree) == pytest.approx({2: 0.7, 3: 0.1, 4: 0.1})
    assert _lifetimes(None) == {}


def test_smallest_cases() -> None:
    assert consensus(np.zeros((5, 2), dtype=int), "auto").labels.tolist() == [0] * 5
    assert consensus(np.array([0, 1, 0, 1]), "auto").n_clusters == 2


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
    assert main(["consensus", table, "-k", k, "--refine"]) == 0
    assert "chosen       4 clusters: ANMI is highest" in capsys.readouterr().out
    assert main(["consensus", table, "-k", k, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["n_clusters"] == told["choice"]["n_clusters"] == 4
    assert told["choice"]["table"][0]["n_clusters"] == 2


def test_shell_tool_refuses_bad_ranges(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong, message in (("2:x", "-k must be an integer, auto, or a range such as 2:20"), ("6:2", "at least 6")):
        assert main(["consensus", table, "-k", wrong]) == 2
        assert message in capsys.readouterr().err

"""Voting, cumulative voting and the mixture: matching, merging and likelihood against written-out definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from ensembles import noisy
from numpy.typing import NDArray
from scipy.special import logsumexp

from quorate import Ensemble, accuracy, as_ensemble, compress, consensus
from quorate.methods.cumulative import column_information, merge_columns
from quorate.methods.voting import _matching
from quorate.solvers.label_space.mixture import maximise, parameters


@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (4, 3), (5, 2)])
def test_matching_has_the_largest_agreement(shape: tuple[int, int]) -> None:
    """All maps tried: one to one where labels suffice, onto all labels where clusters abound."""
    n_clusters, n_labels = shape
    for seed in range(20):
        overlap = np.random.default_rng(seed).integers(0, 6, size=shape).astype(float)
        found = _matching(overlap)
        allowed = [
            choice
            for choice in itertools.product(range(n_labels), repeat=n_clusters)
            if len(set(choice)) == min(n_clusters, n_labels)
        ]
        best = max(overlap[np.arange(n_clusters), list(choice)].sum() for choice in allowed)
        assert tuple(found.tolist()) in allowed
        assert overlap[np.arange(n_clusters), found].sum() == best


def test_one_vote_is_plurality_after_matching() -> None:
    members = np.array([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 2], [1, 1, 2, 2, 0, 1], [0, 1, 1, 1, 2, 2]]).T
    result = consensus(members, 3, method="voting", max_iter=1)
    assert result.labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert result.info["reference"] == "member 0"
    assert result.objective == 2.0  # the third member's last label, and the fourth's second, are outvoted


def test_voting_ends_no_worse_than_it_began() -> None:
    for seed in range(5):
        labels = noisy(seed, n=200, k=4, members=9, noise=0.4, missing=0.2)
        path = [consensus(labels, 4, method="voting", max_iter=votes).objective for votes in (1, 2, 3, 50)]
        assert path == sorted(path, reverse=True)


def test_voting_without_a_member_of_that_size() -> None:
    labels = noisy(1, n=100, k=3)
    assert consensus(labels, 2, method="voting", random_state=0).info["reference"] == "kmeans"
    with pytest.raises(ValueError, match="reference must be one of 'best', 'kmeans'"):
        consensus(labels, 2, method="voting", reference="me")


def information(shares: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """I(X; C) from its definition."""
    total = weights @ shares
    joint = weights[:, None] * shares
    filled = joint > 0
    return float((joint * np.log(np.where(filled, shares, 1.0) / total))[filled].sum())


def test_merging_loses_the_least_information_at_each_step() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        shares = rng.dirichlet(np.full(5, 0.5), size=30)
        counts = rng.integers(1, 5, size=30)
        weights = counts / counts.sum()
        group = merge_columns(shares, counts, 4)
        merged = np.stack([shares[:, group == c].sum(axis=1) for c in range(4)], axis=1)
        kept = information(merged, weights)
        assert sum(column_information(column, weights) for column in merged.T) == pytest.approx(kept)
        pairs = itertools.combinations(range(5), 2)
        options = [
            information(np.column_stack([np.delete(shares, [a, b], axis=1), shares[:, a] + shares[:, b]]), weights)
            for a, b in pairs
        ]
        assert kept == pytest.approx(max(options))


def test_cumulative_takes_members_of_any_size() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 50)
    members = [np.where(rng.random(200) < 0.1, rng.integers(k, size=200), truth * (k // 4)) for k in (4, 8, 12, 16, 8)]
    members.append(truth // 2)
    result = consensus(members, 4, method="cumulative")
    assert accuracy(result, truth) > 0.95
    with pytest.raises(ValueError, match="reference must be 'information' or a member's name"):
        consensus(members, 4, method="cumulative", reference="nobody")
    with pytest.raises(ValueError, match="has 2 clusters, fewer than n_clusters = 4"):
        consensus(members, 4, method="cumulative", reference="member 5")
    named = consensus(members, 4, method="cumulative", reference="member 0")
    assert named.info["reference"] == ["member 0"]


def test_cumulative_crosses_members_where_none_is_large_enough() -> None:
    labels = noisy(2, n=100, k=3)
    result = consensus(labels, 7, method="cumulative")
    assert result.n_clusters == 7
    assert len(result.info["reference"]) > 1


def likelihood(ensemble: Ensemble, logarithms: NDArray[np.float64], bias: NDArray[np.float64]) -> float:
    """From the definition: log sum_c share_c prod_q P(label | c), known labels only, over objects."""
    total = 0.0
    for row in range(ensemble.n_rows):
        values = bias.copy()
        for member, label in enumerate(ensemble.labels[row]):
            if label >= 0:
                values += ensemble.weights[member] * logarithms[ensemble.offsets[member] + label]
        total += ensemble.counts[row] * float(logsumexp(values))
    return total


@pytest.mark.parametrize("weighted", [False, True])
def test_likelihood_is_the_definition_and_never_falls(weighted: bool) -> None:
    weights = np.random.default_rng(0).uniform(0.5, 2, size=6) if weighted else None
    rows, _ = compress(as_ensemble(noisy(3, n=200, k=4, missing=0.2), weights=weights))
    rng = np.random.default_rng(1)
    expected = rng.random((int(rows.offsets[-1]), 4)) * 10
    mass = expected.sum(axis=0)
    path = []
    for _ in range(30):
        step = maximise(rows, expected, mass, 1, 0.1)
        assert step.likelihood == pytest.approx(likelihood(rows, *parameters(rows, expected, mass, 0.1)), rel=1e-9)
        expected, mass = step.expected, step.mass
        assert mass.sum() == pytest.approx(rows.n_objects, rel=1e-9)
        path.append(step.value)
    assert all(later >= earlier - 1e-4 for earlier, later in itertools.pairwise(path))


@pytest.mark.parametrize("criterion", ["bic", "icl"])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_mixture_finds_k(criterion: str, k: int) -> None:
    labels = noisy(k, n=500, k=max(k, 2), members=10, noise=0.2)
    if k == 1:
        labels = np.random.default_rng(0).integers(5, size=(500, 10))
    result = consensus(labels, method="mixture", criterion=criterion, random_state=0)
    assert result.n_clusters == k
    scores = result.info["criterion"]
    assert scores[k] == max(scores.values())


def test_mixture_confidence_is_the_posterior() -> None:
    labels = noisy(0, n=300, k=3, members=10, noise=0.2)
    result = consensus(labels, 3, method="mixture", random_state=0)
    sure = result.info["method_confidence"][result.rows]
    right = result.labels == consensus(noisy(0, n=300, k=3, members=10, noise=0.0), 3, random_state=0).labels
    assert sure[right].mean() > sure[~right].mean() if (~right).any() else sure.min() > 1 / 3
    with pytest.raises(ValueError, match="criterion must be one of"):
        consensus(labels, 3, method="mixture", criterion="aic")

"""The models of the look-up loop against the formulas of their papers, written out object by object."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from ensembles import noisy, under_noise
from numpy.typing import NDArray

from quorate import Ensemble, as_ensemble, compress, consensus
from quorate.solvers.label_rows import look_up
from quorate.solvers.label_space.lookup import Model, count, means_rule, row_sums, sweep
from quorate.solvers.label_space.models import additive, centred, euclidean, modes, spectral_model, utility_gain

Distance = Callable[[Ensemble, NDArray[np.int32], int], NDArray[np.float64]]


def shares(ensemble: Ensemble, labels: NDArray[np.int32], k: int, member: int) -> NDArray[np.float64]:
    """(k_q, K) shares of a member's labels among the objects of each cluster that it knows."""
    table = np.zeros((int(ensemble.n_clusters[member]), k))
    for row, label in enumerate(ensemble.labels[:, member]):
        if label >= 0:
            table[label, labels[row]] += ensemble.counts[row]
    return table / np.maximum(table.sum(axis=0), 1)


def utility_distance(cost: Callable[..., float], normaliser: Callable[[NDArray[np.float64]], float]) -> Distance:
    """Sum over the members that know a row of weight * cost(label, shares of the cluster), as Wu et al. define it."""

    def distance(ensemble: Ensemble, labels: NDArray[np.int32], k: int) -> NDArray[np.float64]:
        result = np.zeros((ensemble.n_rows, k))
        for member in range(ensemble.n_members):
            mean = shares(ensemble, labels, k, member)
            whole = shares(ensemble, np.zeros_like(labels), 1, member)[:, 0]
            for row, label in enumerate(ensemble.labels[:, member]):
                if label >= 0:
                    result[row] += (
                        ensemble.weights[member] / normaliser(whole) * np.array([cost(label, m) for m in mean.T])
                    )
        return result

    return distance


def one_hot(ensemble: Ensemble) -> NDArray[np.float64]:
    matrix = np.zeros((ensemble.n_rows, int(ensemble.offsets[-1])))
    for row, member in zip(*np.nonzero(ensemble.labels >= 0), strict=True):
        matrix[row, ensemble.offsets[member] + ensemble.labels[row, member]] = 1.0
    return matrix


def to_means(matrix: NDArray[np.float64], weights: NDArray[np.float64]) -> Distance:
    """Squared Euclidean distances to weighted means, columns by member weight."""

    def distance(ensemble: Ensemble, labels: NDArray[np.int32], k: int) -> NDArray[np.float64]:
        columns = np.repeat(ensemble.weights, ensemble.n_clusters)
        means = np.stack([np.average(matrix[labels == c], axis=0, weights=weights[labels == c]) for c in range(k)])
        return np.asarray((columns * (matrix[:, None] - means[None]) ** 2).sum(axis=2))

    return distance


def sec_distance(ensemble: Ensemble, labels: NDArray[np.int32], k: int) -> NDArray[np.float64]:
    matrix = one_hot(ensemble)
    unit = 1.0 if ensemble.unit_weights else ensemble.weights.max() / 2**20
    weights = np.rint(ensemble.weights / unit) * unit
    relevance = matrix @ (np.repeat(weights, ensemble.n_clusters) * (ensemble.counts @ matrix))
    return relevance[:, None] * to_means(matrix / relevance[:, None], ensemble.counts * relevance)(ensemble, labels, k)


def qmi_distance(ensemble: Ensemble, labels: NDArray[np.int32], k: int) -> NDArray[np.float64]:
    matrix = one_hot(ensemble)
    known = np.repeat(ensemble.labels >= 0, ensemble.n_clusters, axis=1)
    frequency = (ensemble.counts @ matrix) / (ensemble.counts @ known)
    return to_means(np.where(known, matrix - frequency, 0.0), ensemble.counts.astype(float))(ensemble, labels, k)


def kmeans_distance(ensemble: Ensemble, labels: NDArray[np.int32], k: int) -> NDArray[np.float64]:
    return to_means(one_hot(ensemble), ensemble.counts.astype(float))(ensemble, labels, k)


def kcc(utility: str, power: float = 2.0, normalised: bool = False) -> Callable[[Ensemble], Model]:
    return lambda rows: additive(
        rows, utility_gain(rows, utility, power=power, smoothing=1e-9, normalised=normalised), prior=0.0
    )


def norm(m: NDArray[np.float64], p: float) -> float:
    return float((m**p).sum() ** (1 / p))


def lp_cost(p: float) -> Callable[..., float]:
    return lambda label, m: 1 - (m[label] / norm(m, p)) ** (p - 1)


ONE = lambda whole: 1.0  # noqa: E731
CASES: dict[str, tuple[Callable[[Ensemble], Model], Distance]] = {
    "kmeans": (euclidean, kmeans_distance),
    "sec": (spectral_model, sec_distance),
    "qmi": (centred, qmi_distance),
    "kmodes": (modes, utility_distance(lambda label, m: float(label != np.argmax(m)), ONE)),
    "category": (kcc("category"), utility_distance(lambda label, m: 1 - 2 * m[label] + (m**2).sum(), ONE)),
    "cosine": (kcc("lp", 2.0), utility_distance(lp_cost(2.0), ONE)),
    "l5": (kcc("lp", 5.0), utility_distance(lp_cost(5.0), ONE)),
    "normalised category": (
        kcc("category", normalised=True),
        utility_distance(lambda label, m: 1 - 2 * m[label] + (m**2).sum(), lambda whole: (whole**2).sum()),
    ),
    "normalised l8": (kcc("lp", 8.0, True), utility_distance(lp_cost(8.0), lambda whole: norm(whole, 8.0))),
}


def setting(seed: int, weighted: bool) -> tuple[Ensemble, NDArray[np.int32]]:
    weights = np.random.default_rng(seed).uniform(0.5, 2, size=6) if weighted else None
    rows, _ = compress(as_ensemble(noisy(seed, n=150, missing=0.15), weights=weights))
    labels = np.random.default_rng(seed).integers(4, size=rows.n_rows).astype(np.int32)
    return rows, labels


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_rules_are_the_papers_distances(name: str, weighted: bool) -> None:
    """Differences between clusters, which are all that an assignment sees, agree with the formulas."""
    make, naive = CASES[name]
    for seed in range(3):
        rows, labels = setting(seed, weighted)
        model = make(rows)
        sums = count(rows, labels, 4)
        sums = sums._replace(mass=np.bincount(labels, model.masses, 4).astype(np.int64))
        nearest, score = np.empty(rows.n_rows, dtype=np.int32), np.empty(rows.n_rows)
        look_up(rows, model.rule(sums), model.factor, nearest, score)
        expected = naive(rows, labels, 4)
        assert expected[np.arange(rows.n_rows), nearest] == pytest.approx(expected.min(axis=1), abs=1e-8)


@pytest.mark.parametrize("name", ["kmeans", "sec", "qmi", "kmodes", "category", "cosine", "l5"])
def test_costs_are_the_distances_to_ones_own_cluster(name: str) -> None:
    make, naive = CASES[name]
    rows, labels = setting(1, weighted=True)
    model = make(rows)
    sums = count(rows, labels, 4)._replace(mass=np.bincount(labels, model.masses, 4).astype(np.int64))
    own = naive(rows, labels, 4)[np.arange(rows.n_rows), labels]
    assert model.cost(sums) == pytest.approx(float(rows.counts @ own), rel=1e-9)


def test_entropy_costs_minus_the_logarithm_of_the_share() -> None:
    rows, labels = setting(2, weighted=False)
    model = additive(rows, utility_gain(rows, "entropy", power=2.0, smoothing=1e-12, normalised=False))
    naive = utility_distance(lambda label, m: -np.log(m[label]) if m[label] else 0.0, ONE)
    own = naive(rows, labels, 4)[np.arange(rows.n_rows), labels]
    known = float(rows.counts @ (rows.labels >= 0).sum(axis=1))
    assert model.cost(count(rows, labels, 4)) - known == pytest.approx(float(rows.counts @ own))


SMOOTHED: dict[str, Callable[[Ensemble], Model]] = {
    **{name: make for name, (make, _) in CASES.items()},
    "entropy": lambda rows: additive(
        rows, utility_gain(rows, "entropy", power=2.0, smoothing=0.01, normalised=False), prior=0.01
    ),
}


@pytest.mark.parametrize("name", SMOOTHED)
@pytest.mark.parametrize("seed", range(3))
def test_costs_never_rise(name: str, seed: int) -> None:
    rows, _ = compress(as_ensemble(noisy(seed, n=500, k=5, missing=0.2)))
    model = SMOOTHED[name](rows)
    start = means_rule(rows, row_sums(rows, np.arange(6)))
    path = [sweep(rows, model, start, max_iter=sweeps).cost for sweeps in range(1, 15)]
    assert all(later <= earlier + 1e-7 for earlier, later in itertools.pairwise(path))


def test_qmi_is_kmeans_where_nothing_is_missing() -> None:
    for seed in range(4):
        labels = noisy(seed, n=200, k=4)
        one, other = (consensus(labels, 4, method=method, random_state=seed) for method in ("kmeans", "qmi"))
        assert one.objective == pytest.approx(other.objective)


def test_kcc_category_is_kmeans_where_nothing_is_missing() -> None:
    labels = noisy(3, n=200, k=4)
    assert consensus(labels, 4, method="kcc", random_state=0).objective == pytest.approx(
        consensus(labels, 4, method="kmeans", random_state=0).objective
    )


@pytest.mark.parametrize("utility", ["category", "entropy", "cosine", "l5", "l8"])
@pytest.mark.parametrize("normalised", [False, True])
def test_every_utility_finds_a_planted_partition(utility: str, normalised: bool) -> None:
    truth = np.repeat(np.arange(4), 50)
    labels = under_noise(truth, 9, 0.2)
    result = consensus(labels, 4, method="kcc", utility=utility, normalised=normalised, random_state=0)
    assert np.mean(result.labels == truth) > 0.97


@pytest.mark.parametrize(
    ("method", "options", "words"),
    [
        ("kcc", {"utility": "magic"}, "utility must be one of 'category'"),
        ("kcc", {"normalised": "yes"}, "normalised must be one of False, True"),
        ("ecc", {"smoothing": 0}, "smoothing must lie in"),
        ("sec", {"n_init": 0}, "n_init must be between 1 and 1,000,000"),
    ],
)
def test_options_are_checked(method: str, options: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        consensus(noisy(0), 3, method=method, **options)

"""Other ways to find the number of clusters, on at most 2,000 objects each."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_OBJECTS = 2_000
NUMBERS = (*range(2, 21), 22, 25, 28, 30, 31, 33, 35, 38, 40, 45, 50, 55, 60)
"""The numbers that are tried; every true number is among them, which favours the peers."""
GAP_DRAWS = 5
PAC_MEMBERS = 20

Matrix = NDArray[np.float64]


def sampled(X: Matrix, seed: int = 0) -> Matrix:
    """Draw at most 2,000 objects."""
    if len(X) <= MOST_OBJECTS:
        return X
    return X[np.random.default_rng(seed).choice(len(X), MOST_OBJECTS, replace=False)]


def _numbers(X: Matrix) -> list[int]:
    return [k for k in NUMBERS if k <= max(2, len(X) // 5)]


def silhouette(X: Matrix) -> int:
    """k-means with the highest mean silhouette width."""
    from sklearn.metrics import silhouette_score

    return max(_numbers(X), key=lambda k: float(silhouette_score(X, _kmeans(X, k).labels_)))


def calinski_harabasz(X: Matrix) -> int:
    """k-means with the highest ratio of variances between and within clusters."""
    from sklearn.metrics import calinski_harabasz_score

    return max(_numbers(X), key=lambda k: float(calinski_harabasz_score(X, _kmeans(X, k).labels_)))


def gap_statistic(X: Matrix) -> int:
    """Return the smallest k with Gap(k) >= Gap(k + 1) - s(k + 1); the reference is uniform in the box of the axes."""
    rng = np.random.default_rng(0)
    numbers = [1, *_numbers(X)]
    centred = X - X.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    turned = centred @ axes.T
    low, high = turned.min(axis=0), turned.max(axis=0)
    draws = [rng.uniform(low, high, size=turned.shape) for _ in range(GAP_DRAWS)]
    gaps, spreads = [], []
    for k in numbers:
        expected = [np.log(_kmeans(draw, k, 1).inertia_) for draw in draws]
        gaps.append(float(np.mean(expected) - np.log(_kmeans(X, k).inertia_)))
        spreads.append(float(np.std(expected) * np.sqrt(1 + 1 / GAP_DRAWS)))
    for place in range(len(numbers) - 1):
        if gaps[place] >= gaps[place + 1] - spreads[place + 1]:
            return numbers[place]
    return numbers[-1]


def bic_of_mixtures(X: Matrix) -> int:
    """Return the number of Gaussians with the lowest BIC; covariances are full up to 8 columns, diagonal above."""
    from sklearn.mixture import GaussianMixture

    kind = "full" if X.shape[1] <= 8 else "diag"

    def bic(k: int) -> float:
        model = GaussianMixture(k, covariance_type=kind, random_state=0, reg_covar=1e-4 * float(X.var()), max_iter=50)
        return float(model.fit(X).bic(X))

    return min([1, *_numbers(X)], key=bic)


def hdbscan(X: Matrix) -> int:
    """Return the number of clusters that HDBSCAN finds with its defaults; 1 if it finds none."""
    from sklearn.cluster import HDBSCAN

    return max(1, int(HDBSCAN(copy=True).fit_predict(X).max()) + 1)


def eigengap(X: Matrix) -> int:
    """Return the number after which the eigenvalues of the graph of ten nearest neighbours have the widest gap."""
    from scipy.sparse.csgraph import laplacian
    from sklearn.neighbors import kneighbors_graph

    graph = kneighbors_graph(X, min(10, len(X) - 1))
    values = np.linalg.eigvalsh(laplacian(graph.maximum(graph.T), normed=True).toarray())
    most = max(_numbers(X))
    return int(np.argmax(np.diff(values[: most + 1])[1:]) + 2)


def pac_alone(X: Matrix) -> int:
    """Return the k of the lowest PAC, of 20 k-means members of 80% of the objects for each k."""
    from quorate import generate
    from quorate._evaluation.consensus_index import ambiguity

    def pac(k: int) -> float:
        members = generate(X, PAC_MEMBERS, k=k, base="kmeans", rows=0.8, random_state=0)
        return ambiguity(members, np.arange(PAC_MEMBERS), np.random.default_rng(0)).proportion

    return min(_numbers(X), key=pac)


def anmi_alone(X: Matrix) -> int:
    """Return the k whose consensus of 20 k-means members of 2 to sqrt(n) clusters has the highest ANMI."""
    from quorate import anmi, consensus, generate

    members = generate(X, 20, base="kmeans", random_state=0)
    return max(_numbers(X), key=lambda k: anmi(consensus(members, k, random_state=0), members))


def _kmeans(X: Matrix, k: int, n_init: int = 3) -> Any:
    return _kmeans_of(X.tobytes(), X.shape, k, n_init)


@functools.lru_cache(maxsize=512)
def _kmeans_of(data: bytes, shape: tuple[int, int], k: int, n_init: int) -> Any:
    from sklearn.cluster import KMeans

    return KMeans(k, n_init=n_init, random_state=0).fit(np.frombuffer(data).reshape(shape))


PEERS: dict[str, Callable[[Matrix], int]] = {
    "HDBSCAN": hdbscan,
    "eigengap": eigengap,
    "silhouette": silhouette,
    "Calinski-Harabasz": calinski_harabasz,
    "BIC of Gaussian mixtures": bic_of_mixtures,
    "gap statistic": gap_statistic,
    "ANMI alone": anmi_alone,
    "PAC alone": pac_alone,
}

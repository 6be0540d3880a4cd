"""Posteriors of Gaussian mixtures as soft members, against the labels of their likeliest clusters (CE, footnotes 3-5).

The paper only says that memberships may take the place of indicators; it prints no figure, so ours stand alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from quorate import METHODS, as_soft_ensemble, consensus, harden, nmi

N_MEMBERS, N_REPEATS = 10, 10
Matrix = NDArray[np.float64]


def main() -> None:
    methods = [name for name, method in METHODS.items() if method.soft]
    print(f"NMI with the classes, soft / hardened, mean of {N_REPEATS} ensembles of {N_MEMBERS} mixtures")
    print(f"{'':8}" + "".join(f"{method:>16}" for method in methods))
    for name, features, truth in data_sets():
        scores = np.array([[scored(features, truth, method, seed) for method in methods] for seed in range(N_REPEATS)])
        cells = [f"{soft:.3f} / {hard:.3f}" for soft, hard in scores.mean(axis=0)]
        print(f"{name:8}" + "".join(f"{cell:>16}" for cell in cells), flush=True)


def data_sets() -> Iterator[tuple[str, Matrix, NDArray[np.int64]]]:
    for name, load in (("iris", load_iris), ("wine", load_wine)):
        data = load()
        yield name, StandardScaler().fit_transform(data.data), data.target
    blobs, truth, *_ = make_blobs(600, centers=5, cluster_std=2.2, random_state=3, n_features=2)
    yield "blobs", blobs, truth


def scored(features: Matrix, truth: NDArray[np.int64], method: str, seed: int) -> tuple[float, float]:
    members = as_soft_ensemble(mixtures(features, len(set(truth)), np.random.default_rng(seed)))
    k = len(set(truth))
    soft = consensus(members, k, method=method, random_state=0)
    hard = consensus(harden(members), k, method=method, random_state=0)
    return nmi(soft, truth), nmi(hard, truth)


def mixtures(features: Matrix, k: int, rng: np.random.Generator) -> list[Matrix]:
    """Posteriors of short runs with k to 2 k spherical Gaussians, each on half of the features."""
    posteriors = []
    for _ in range(N_MEMBERS):
        n_components = int(rng.integers(k, 2 * k + 1))
        part = features[:, rng.permutation(features.shape[1])[: max(2, features.shape[1] // 2)]]
        model = GaussianMixture(
            n_components,
            covariance_type="spherical",
            random_state=int(rng.integers(2**30)),
            init_params="random_from_data",
            max_iter=30,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            posteriors.append(model.fit(part).predict_proba(part))
    return posteriors


if __name__ == "__main__":
    main()

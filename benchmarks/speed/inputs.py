"""Label ensembles to measure on: easy (few distinct rows) and hard (half of the rows distinct)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree


def nearest_point_members(
    n: int, *, n_members: int = 20, spread: float = 1.0, n_dims: int = 2, seed: int = 0
) -> NDArray[np.int8]:
    """Members that look like k-means runs with random starts: nearest of k in [10, 40] data points, ten Gaussians."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(0, 40, size=(10, n_dims))
    X = centres[rng.integers(10, size=n)] + spread * rng.standard_normal((n, n_dims))
    labels = np.empty((n, n_members), dtype=np.int8)
    for member in range(n_members):
        points = X[rng.choice(n, size=int(rng.integers(10, 41)), replace=False)]
        for _ in range(3):
            owner = cKDTree(points).query(X[:: max(1, n // 20_000)])[1]
            sample = X[:: max(1, n // 20_000)]
            points = np.stack(
                [sample[owner == c].mean(axis=0) if (owner == c).any() else points[c] for c in range(len(points))]
            )
        labels[:, member] = cKDTree(points).query(X)[1]
    return labels


def with_noise(labels: NDArray[np.int8], noise: float, seed: int = 1) -> NDArray[np.int8]:
    """The same with a share of labels replaced at random, member by member."""
    rng = np.random.default_rng(seed)
    result = labels.copy()
    for member in range(labels.shape[1]):
        wrong = rng.random(len(labels)) < noise
        result[wrong, member] = rng.integers(labels[:, member].max() + 1, size=int(wrong.sum()))
    return result


def half_distinct(labels: NDArray[np.int8], seed: int = 1) -> NDArray[np.int8]:
    """10% label noise on just over half of the objects, so that about half of all rows are distinct."""
    rng = np.random.default_rng(seed)
    touched = rng.random(len(labels)) < 0.57
    result = labels.copy()
    result[touched] = with_noise(labels[touched], 0.10, seed)
    return result

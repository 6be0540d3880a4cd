"""The ensembles that tests are run on: planted partitions under label noise, as labels and as memberships."""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.ensembles import planted
from numpy.typing import NDArray

from quorate import Ensemble, as_ensemble, compress

WEIGHTS = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 2.0])
"""Unequal weights for the six members that `noisy` makes by default."""


def noisy(
    seed: int, n: int = 60, k: int = 3, members: int = 6, noise: float = 0.3, missing: float = 0.0
) -> NDArray[np.int64]:
    """A planted partition under label noise, one row per object; few labels and members, so there are many ties."""
    return planted(seed, n, k, members, noise, missing)


def noisy_with_truth(
    seed: int, n: int, k: int, members: int, noise: float = 0.2, missing: float = 0.0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The planted partition, and what the members made of it."""
    return noisy(seed, n, k, members, noise=0.0)[:, 0], noisy(seed, n, k, members, noise, missing)


def rows_of(seed: int, n: int = 70, *, weights: Any = None, **options: Any) -> Ensemble:
    """The distinct rows of `noisy`, with counts."""
    return compress(as_ensemble(noisy(seed, n, **options), weights=weights))[0]


def under_noise(truth: NDArray[np.int64], members: int, noise: float) -> NDArray[np.int64]:
    """Members that know a given partition, each label replaced by any label with probability `noise`."""
    rng = np.random.default_rng(0)
    labels = np.repeat(truth[:, None], members, axis=1)
    wrong = rng.random(labels.shape) < noise
    labels[wrong] = rng.integers(int(truth.max()) + 1, size=int(wrong.sum()))
    return labels


def one_hot_members(labels: NDArray[np.int64], seed: int = 0) -> list[NDArray[np.float64]]:
    """Each member as a 0/1 matrix, columns shuffled, one of them empty; a missing label is a row of zeros or NaN."""
    rng = np.random.default_rng(seed)
    members = []
    for column in labels.T:
        matrix = np.zeros((len(labels), column.max() + 2))
        known = np.flatnonzero(column >= 0)
        matrix[known, rng.permutation(matrix.shape[1])[column[known]]] = 1.0
        matrix[(column < 0) & (rng.random(len(labels)) < 0.5)] = np.nan
        members.append(matrix)
    return members


def soft_members(
    seed: int, n: int = 60, k: int = 3, members: int = 6, missing: float = 0.0
) -> list[NDArray[np.float64]]:
    """Noisy labels made soft, with few different shares, so that rows repeat and there are many ties."""
    rng = np.random.default_rng(seed)
    labels = noisy(seed, n=n, k=k, members=members, missing=missing)
    matrices = []
    for column in labels.T:
        second = rng.integers(k, size=n)
        share = rng.choice([0.0, 0.0, 0.25, 0.375], size=n)
        matrix = np.zeros((n, k))
        known = np.flatnonzero(column >= 0)
        matrix[known, column[known]] += 1 - share[known]
        matrix[known, second[known]] += share[known]
        matrices.append(matrix)
    return matrices


def random_members(seed: int, n: int, sizes: tuple[int, ...] = (3, 4, 5)) -> list[NDArray[np.float64]]:
    """Memberships drawn without any planted partition; no two rows are equal."""
    rng = np.random.default_rng(seed)
    return [rng.dirichlet(np.full(k, 0.4), size=n) for k in sizes]

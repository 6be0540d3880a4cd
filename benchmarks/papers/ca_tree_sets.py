"""The six data sets of the CA-tree paper, ensembles of k-means runs on them, and average link on few rows.

The paper prints sizes, dimensions and pictures of the synthetic sets, no parameters. Those here were chosen, among
about 40, so that the number of nodes grows as printed; each docstring says which. Nothing in the library depends on
them. Only the two digit sets are the paper's own data.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.data import load
from quorate import Ensemble, as_ensemble, solve

Points = tuple[NDArray[np.float64], NDArray[np.int64]]
ITERATIONS = 20
"""Sweeps of a k-means run: with this many the growth rates on the two real sets are the printed ones."""


@dataclass(frozen=True)
class PaperSet:
    """One line of the paper's Table II and, for each theta / H = 0, .1, ..., .6, the printed growth rates.

    variant : another guess at a set the paper only shows; compared with the same printed figures, tallied apart.
    """

    name: str
    make: Callable[[int, np.random.Generator], Points]
    sizes: tuple[int, ...]
    base: int
    k: tuple[int, int]
    n_clusters: int
    beta: tuple[float, ...]
    beta_kept: tuple[float, ...]
    ratio: float
    nodes_at_half: int | None = None
    variant: bool = False


def spherical5(n: int, rng: np.random.Generator) -> Points:
    """Five clusters in 16 dimensions around a pentagon of side 4.5 in a plane; any direction, any radius up to 6.93.

    The radius is uniform, so every coordinate has a standard deviation of 1. With round Gaussians instead, either the
    growth rates are too low or the accuracy is: at a side of 4.5, EAC-AL reaches the printed 0.95.
    """
    angles = 2 * np.pi * np.arange(5) / 5
    centres = np.zeros((5, 16))
    centres[:, :2] = 4.5 / (2 * np.sin(np.pi / 5)) * np.column_stack([np.sin(angles), np.cos(angles)])
    labels = np.arange(n) % 5
    directions = rng.normal(size=(n, 16))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    return centres[labels] + directions * rng.uniform(0, 48**0.5, size=(n, 1)), labels


def half_rings(n: int, rng: np.random.Generator, noise: float = 0.2) -> Points:
    """A quarter of the objects on an upper half circle with noise of 0.2, the others on a lower one with 0.1."""
    labels = np.repeat([0, 1], [n // 4, n - n // 4])
    angle = rng.uniform(0, np.pi, size=n) + np.pi * labels
    spread = np.array([noise, noise / 2])[labels][:, None] * rng.normal(size=(n, 2))
    return np.column_stack([np.cos(angle), np.sin(angle)]) + labels[:, None] * np.array([1.1, 0.1]) + spread, labels


def thin_half_rings(n: int, rng: np.random.Generator) -> Points:
    """The same half circles with half the noise."""
    return half_rings(n, rng, noise=0.1)


def three_rings(n: int, rng: np.random.Generator) -> Points:
    """Concentric rings of radius 0.5, 2 and 3.5, each 0.4 wide; objects 1 to 4 to 4, angles drawn at random.

    With radii 1, 2.5 and 4 the numbers of nodes are the same, but EAC-AL finds the rings in three of four ensembles
    only; the paper prints an accuracy of 1.
    """
    labels = _ring_labels(n)
    return _rings(labels, rng.uniform(0, 2 * np.pi, size=n), rng), labels


def even_rings(n: int, rng: np.random.Generator) -> Points:
    """The same rings with angles spread evenly: one object a sector of its ring, moved on by up to three sectors.

    Moved by one sector the growth rates are too low (mean difference .04), by ten too high (.03), by three .01. With
    angles at random, as above, it is .02.
    """
    labels = _ring_labels(n)
    sizes = np.bincount(labels)
    place = np.concatenate([(np.arange(size) + 3 * rng.uniform(size=size)) / size for size in sizes])
    return _rings(labels, 2 * np.pi * place, rng), labels


def _ring_labels(n: int) -> NDArray[np.int64]:
    return np.repeat(np.arange(3), [n // 9, 4 * n // 9, n - n // 9 - 4 * n // 9])


def _rings(labels: NDArray[np.int64], angle: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    radius = np.array([0.5, 2.0, 3.5])[labels] + rng.uniform(-0.2, 0.2, size=len(labels))
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def eight_d_five_k(n: int, rng: np.random.Generator) -> Points:
    """n of 1000 objects of five Gaussians of standard deviation 0.1 (see quorate.datasets), means from a fixed seed."""
    fixed = np.random.default_rng(0)
    labels = np.repeat(np.arange(5), 200)
    X = fixed.random((5, 8))[labels] + fixed.normal(scale=0.1, size=(1000, 8))
    chosen = rng.choice(1000, size=n, replace=False)
    return X[chosen], labels[chosen]


def from_folder(name: str) -> Callable[[int, np.random.Generator], Points]:
    """Random subsets of a set in the user's folder."""

    def make(n: int, rng: np.random.Generator) -> Points:
        X, y = _read(name)
        chosen = rng.choice(len(X), size=n, replace=False)
        return X[chosen], y[chosen]

    return make


_read = cache(load)


def _doubled(low: int, times: int = 5) -> tuple[int, ...]:
    return tuple(low * 2**power for power in range(times))


SETS = (
    PaperSet(
        "Spherical5", spherical5, _doubled(250), 250, (4, 10), 5,
        (0.73, 0.64, 0.55, 0.46, 0.42, 0.38, 0.32), (0.65, 0.42, 0.25, 0.20, 0.17, 0.16, 0.12), 0.433,
    ),
    PaperSet(
        "Half-rings", half_rings, _doubled(400), 800, (8, 20), 2,
        (0.40, 0.23, 0.18, 0.17, 0.16, 0.16, 0.12), (0.22, 0.12, 0.09, 0.06, 0.06, 0.06, 0.04), 0.557, 21,
    ),
    PaperSet(
        "3Rings", three_rings, _doubled(450), 900, (20, 50), 3,
        (0.40, 0.18, 0.10, 0.07, 0.05, 0.03, 0.02), (0.26, 0.13, 0.07, 0.05, 0.03, 0.02, 0.02), 0.671, 55,
    ),
    PaperSet(
        "8d5k", eight_d_five_k, (63, 125, 250, 500, 1000), 1000, (4, 10), 5,
        (0.63, 0.42, 0.18, 0.08, 0.03, 0.01, 0.01), (0.51, 0.28, 0.13, 0.08, 0.04, 0.02, 0.02), 0.506,
    ),
    PaperSet(
        "Opt-digits", from_folder("optdigits_train"), (239, 478, 956, 1912, 3823), 3823, (10, 40), 10,
        (0.63, 0.50, 0.42, 0.38, 0.35, 0.32, 0.28), (0.54, 0.26, 0.07, 0.00, 0.00, 0.00, 0.01), 0.267,
    ),
    PaperSet(
        "Pen-digits", from_folder("pendigits"), (687, 1374, 2748, 5496, 10992), 10992, (10, 40), 10,
        (0.57, 0.52, 0.47, 0.43, 0.40, 0.37, 0.34), (0.28, 0.14, 0.10, 0.09, 0.09, 0.09, 0.08), 0.189,
    ),
)  # fmt: skip


VARIANTS = (
    replace(SETS[1], name="Half-rings, thin", make=thin_half_rings, variant=True),
    replace(SETS[2], name="3Rings, even", make=even_rings, variant=True),
)
"""Guesses that fit the numbers of nodes less or as well; they are there to find causes."""

BY_NAME = {entry.name: entry for entry in SETS + VARIANTS}


def kmeans_ensemble(
    X: NDArray[Any], k: tuple[int, int], rng: np.random.Generator, n_members: int = 20, max_iter: int = ITERATIONS
) -> Ensemble:
    """k-means runs from random objects, k uniform in [k[0], k[1]]."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    members = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a run was stopped is what was asked for
        for _ in range(n_members):
            clusters = min(int(rng.integers(k[0], k[1] + 1)), len(X))
            seed = int(rng.integers(2**31))
            model = KMeans(clusters, init="random", n_init=1, max_iter=max_iter, tol=0, random_state=seed)
            members.append(model.fit_predict(X))
    return as_ensemble(np.column_stack(members))


def average_link(rows: Ensemble, n_clusters: int) -> NDArray[np.int64]:
    """The library's average link on 1 - co-association, each row as heavy as its count."""
    n_clusters = min(n_clusters, rows.n_rows)
    return solve(rows, n_clusters, method="eac", random_state=0).labels.astype(np.int64)

"""Simulated tables of labels: independent random labels, and planted clusters whose members agree less and less."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MEMBERS = (3, 4, 5, 8, 12, 20, 40, 100)
CLUSTERS = (2, 3, 5, 8, 12, 20, 50)


class Table(NamedTuple):
    """Labels of the members, -1 where missing; the planted clusters, or None; and the share of right labels."""

    labels: NDArray[Any]
    truth: NDArray[Any] | None
    right: float
    n_clusters: int


def random_table(rng: np.random.Generator, *, times: int = 1) -> Table:
    """Make a table of independent random labels, with so many times the members."""
    n_members, k, n_objects = _shape(rng, times)
    sizes = _sizes(rng, k)
    labels = np.stack([rng.choice(k, size=n_objects, p=sizes) for _ in range(n_members)], axis=1)
    return Table(_with_gaps(labels, rng), None, 0.0, k)


def planted_table(rng: np.random.Generator, *, times: int = 1) -> Table:
    """Make a table in which each label is that of a planted cluster with the same probability, random otherwise.

    Every third table has members that join or divide planted clusters, so that their numbers of clusters differ.
    """
    n_members, k, n_objects = _shape(rng, times)
    right = float(rng.uniform(0.15, 0.95))
    truth = rng.choice(k, size=n_objects, p=_sizes(rng, k))
    coarse_or_fine = rng.random() < 1 / 3
    columns = []
    for _ in range(n_members):
        n_own = int(rng.integers(max(2, k // 2), 2 * k + 1)) if coarse_or_fine else k
        seen = _joined_or_divided(truth, k, n_own, rng)
        columns.append(np.where(rng.random(n_objects) < right, seen, rng.integers(n_own, size=n_objects)))
    return Table(_with_gaps(np.stack(columns, axis=1), rng), truth, right, k)


def _shape(rng: np.random.Generator, times: int) -> tuple[int, int, int]:
    n_members, k = int(rng.choice(MEMBERS)), int(rng.choice(CLUSTERS))
    return times * n_members, k, int(rng.integers(max(100, 10 * k), 1_501))


def _sizes(rng: np.random.Generator, k: int) -> NDArray[Any]:
    """Shares of the clusters: equal in half of the tables, uneven in the others."""
    shares = np.ones(k) if rng.random() < 0.5 else 0.3 + rng.exponential(size=k)
    return shares / shares.sum()


def _joined_or_divided(truth: NDArray[Any], k: int, n_own: int, rng: np.random.Generator) -> NDArray[Any]:
    if n_own <= k:
        return rng.permutation(np.arange(k) % n_own)[truth]
    parts = rng.permutation(np.arange(n_own) % k)
    return np.array([rng.choice(np.flatnonzero(parts == cluster)) for cluster in truth.tolist()])


def _with_gaps(labels: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """In every third table a share of up to 30% of the labels is missing; each object keeps one label at least."""
    if rng.random() < 2 / 3:
        return labels
    missing = rng.random(labels.shape) < rng.uniform(0.05, 0.3)
    missing[np.arange(len(labels)), rng.integers(labels.shape[1], size=len(labels))] = False
    return np.where(missing, -1, labels)

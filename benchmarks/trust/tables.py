"""Simulated tables of labels: independent random labels, and planted clusters whose members agree less and less."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MEMBERS = (3, 4, 5, 8, 12, 20, 40, 100)
CLUSTERS = (2, 3, 5, 8, 12, 20, 50)
GAP_CLUSTERS = (3, 4, 5, 8)


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


GAPS = ("at random", "departments", "parts", "unequal members")
"""Why labels are missing: by chance, because a member knows some clusters only, because each member knows a part of the
objects (as when data lie in several places), or by chance for members of unequal quality, size and coverage."""


def gap_table(rng: np.random.Generator, kind: str, *, times: int = 1) -> Table:
    """Make a table with planted clusters of which labels are missing.

    With `times`, so many tables stand side by side: their labels are independent, and the same ones are missing.
    """
    n_objects, k, n_members = (
        int(rng.integers(1_000, 2_501)),
        int(rng.choice(GAP_CLUSTERS)),
        int(rng.choice(MEMBERS[2:6])),
    )
    truth = rng.choice(k, size=n_objects, p=_sizes(rng, k))
    errors, own = np.full(n_members, rng.choice((0.15, 0.3, 0.4, 0.5))), np.full(n_members, k)
    if kind == "unequal members":
        errors = rng.uniform(0.05, 0.7, n_members)
        own = np.where(rng.random(n_members) < 0.4, np.maximum(2, k - rng.integers(1, 3, n_members)), k)
    maps = [np.arange(k) if size == k else rng.permutation(np.arange(k) % size) for size in own]
    missing = _missing(rng, kind, truth, n_members)
    kept = ~missing.all(axis=1)
    columns = [
        np.where(rng.random(n_objects) < errors[q], rng.integers(own[q], size=n_objects), maps[q][truth])
        for _ in range(times)
        for q in range(n_members)
    ]
    labels = np.where(np.tile(missing, times), -1, np.stack(columns, axis=1))[kept]
    return Table(labels, truth[kept], float(1 - errors.mean()), k)


def _missing(rng: np.random.Generator, kind: str, truth: NDArray[Any], n_members: int) -> NDArray[np.bool_]:
    shape = (len(truth), n_members)
    if kind == "departments":
        known = rng.random((truth.max() + 1, n_members)) < 0.6
        known[rng.integers(len(known), size=n_members), np.arange(n_members)] = True
        return ~known[truth] | (rng.random(shape) < 0.15)
    if kind == "parts":
        place = rng.permutation(len(truth))[:, None] / len(truth)
        return (place - np.arange(n_members) / n_members) % 1 > rng.choice((0.35, 0.5))
    share = rng.uniform(0.1, 0.8, n_members) if kind == "unequal members" else rng.uniform(0.2, 0.7)
    return np.asarray(rng.random(shape) < share)


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

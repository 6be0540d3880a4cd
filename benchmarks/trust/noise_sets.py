"""Sets without clusters and sets with planted clusters of falling separation: measurements, and tables of labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.trust.tables import planted_table, random_table

KINDS = ("gaussian", "uniform", "correlated", "heavy tails")
"""The clouds without clusters."""
DIMENSIONS = (2, 5, 10, 20, 50)
CLUSTERS = (2, 3, 5, 8)
MEASURED, TABLES = 60, 40
"""Sets of measurements and tables of labels, without clusters and as many with clusters: 200 in all."""
SEED = 41
"""Other seeds were used to choose limits (1), and to check them before (2 and 3)."""


class NoiseSet(NamedTuple):
    """Measurements or a table of labels, the planted clusters (None without any), and a number of clusters to ask for.

    `level` tells how far apart the clusters are: the distance of neighbouring centres in standard deviations, or the
    share of right labels in a table.
    """

    X: NDArray[Any] | None
    labels: NDArray[Any] | None
    truth: NDArray[Any] | None
    n_clusters: int
    level: float


def names() -> list[str]:
    """All cases; "measured" or "table", "without" or "with" clusters, and a number."""
    return [
        f"{kind} / {clusters} / {number}"
        for kind, count in (("measured", MEASURED), ("table", TABLES))
        for clusters in ("without", "with")
        for number in range(count)
    ]


def make(name: str) -> NoiseSet:
    """Make the set of a case; the same case gives the same set."""
    kind, clusters, text = name.split(" / ")
    number = int(text)
    rng = np.random.default_rng((SEED, number, kind == "table", clusters == "with"))
    if kind == "table":
        table = random_table(rng) if clusters == "without" else planted_table(rng)
        return NoiseSet(None, table.labels, table.truth, table.n_clusters, table.right)
    dimensions = DIMENSIONS[number % len(DIMENSIONS)]
    n_objects = int(rng.integers(300, 1_001))
    if clusters == "without":
        kind_of_cloud = KINDS[number // len(DIMENSIONS) % len(KINDS)]
        return NoiseSet(cloud(kind_of_cloud, n_objects, dimensions, rng), None, None, CLUSTERS[number % 4], 0.0)
    return _planted(number, n_objects, dimensions, rng)


def kind_of(name: str) -> str:
    """What a case without clusters is drawn from."""
    kind, _, text = name.split(" / ")
    return "random labels" if kind == "table" else KINDS[int(text) // len(DIMENSIONS) % len(KINDS)]


def cloud(kind: str, n_objects: int, dimensions: int, rng: np.random.Generator) -> NDArray[Any]:
    """Draw a cloud without clusters."""
    if kind == "uniform":
        return rng.random((n_objects, dimensions))
    if kind == "heavy tails":
        return rng.standard_t(4, size=(n_objects, dimensions))
    points = rng.normal(size=(n_objects, dimensions))
    return points @ rng.normal(size=(dimensions, dimensions)) if kind == "correlated" else points


def _planted(number: int, n_objects: int, dimensions: int, rng: np.random.Generator) -> NoiseSet:
    """Gaussian clusters of equal or uneven sizes; the distance of neighbouring centres falls from 10 to 2."""
    k = CLUSTERS[number // len(DIMENSIONS) % len(CLUSTERS)]
    level = 10.0 - 8.0 * number / (MEASURED - 1)
    centres = _centres(k, dimensions, rng) * level
    shares = np.ones(k) if rng.random() < 0.5 else 0.3 + rng.exponential(size=k)
    truth = rng.choice(k, size=n_objects, p=shares / shares.sum())
    return NoiseSet(centres[truth] + rng.normal(size=(n_objects, dimensions)), None, truth, k, level)


def _centres(k: int, dimensions: int, rng: np.random.Generator) -> NDArray[Any]:
    """Random centres whose nearest two are one unit apart; of many draws the one with the widest such gap."""
    draws = rng.normal(size=(200, k, dimensions))
    gaps = np.linalg.norm(draws[:, :, None] - draws[:, None], axis=-1) + 1e9 * np.eye(k)
    nearest = gaps.min(axis=(1, 2))
    best = int((nearest / np.linalg.norm(draws, axis=(1, 2))).argmax())
    return np.asarray(draws[best] / nearest[best])

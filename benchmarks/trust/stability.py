"""How often clusters of a stability are found again in fresh ensembles: the figures behind the words for stability.

Planted tables with objects of 2 to 8 groups of unequal size, members that err by 5 to 80%, too few, enough or too many
clusters asked for, labels missing in a third of the tables, and no groups at all in a tenth. For each cluster of a
consensus: its stability, and the Jaccard similarity with the nearest cluster of the consensus of ten fresh ensembles
of the same objects. Run it with ``python -m benchmarks.trust.stability [TABLES]``.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import consensus
from quorate._solve.procedure import jaccard_with

FRESH = 10
FOUND = 0.75
EDGES = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.01)


def draw(
    rng: np.random.Generator, truth: NDArray[Any], k: int, errors: NDArray[Any], missing: float
) -> NDArray[np.int64]:
    """Draw the labels of all members anew, for the same objects."""
    wrong = rng.random((len(truth), len(errors))) < errors
    labels = np.where(wrong, rng.integers(0, k, wrong.shape), truth[:, None])
    labels[rng.random(wrong.shape) < missing] = -1
    empty = (labels < 0).all(axis=1)
    labels[empty, 0] = truth[empty]
    return labels


def clusters_of(number: int) -> list[tuple[float, float, float]]:
    """For each cluster of one table: its stability, its mean Jaccard in fresh ensembles, and how often it is found."""
    rng = np.random.default_rng(number)
    n, k = int(rng.integers(60, 1500)), int(rng.integers(2, 9))
    truth = rng.choice(k, size=n, p=rng.dirichlet(np.full(k, 4.0)))
    if number % 10 == 0:
        truth = np.zeros(n, dtype=np.int64)
    errors = np.clip(rng.uniform(0.05, 0.8) + rng.normal(0, 0.08, int(rng.integers(5, 31))), 0.02, 0.98)
    missing = float(rng.uniform(0.1, 0.5)) if number % 3 == 0 else 0.0
    asked = max(2, k + int(rng.integers(-2, 3)))
    method = ("auto", "kmeans", "eac", "transfer")[number % 4]

    def solve(labels: NDArray[np.int64], seed: int, **options: Any) -> Any:
        return consensus(labels, asked, method=method, random_state=seed, orientation="objects", check=False, **options)

    result = solve(draw(rng, truth, k, errors, missing), 0)
    if result.stability is None:
        return []
    counts = np.ones(n, dtype=np.int64)
    fresh = np.array(
        [
            jaccard_with(
                result.labels,
                solve(draw(rng, truth, k, errors, missing), seed, confidence=False).labels,
                counts,
                result.n_clusters,
            )
            for seed in range(FRESH)
        ]
    )
    return list(zip(result.stability.tolist(), fresh.mean(axis=0), (fresh >= FOUND).mean(axis=0), strict=True))


def main(tables: int) -> None:
    """Print a line for each interval of stability."""
    values = np.array([line for number in range(tables) for line in clusters_of(number)])
    lines = ["stability      clusters  mean Jaccard  found again"]
    for low, high in pairwise(EDGES):
        part = values[(values[:, 0] >= low) & (values[:, 0] < high)]
        if len(part):
            lines.append(
                f"{low:.2f} to {high:.2f} {len(part):>9,} {part[:, 1].mean():>13.2f} {part[:, 2].mean():>12.2f}"
            )
    sys.stdout.write("\n".join([*lines, ""]))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)

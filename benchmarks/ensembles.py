"""Makers of ensembles that benchmarks and tests share.

They live here because tests import the benchmarks that they test anyway, while benchmarks import nothing from the
tests: so the benchmarks stand alone, and imports point one way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def planted(
    seed: int, n: int, k: int, members: int, noise: float, missing: float = 0.0, sizes: tuple[int, int] | None = None
) -> NDArray[np.int64]:
    """A planted partition seen by members under label noise; with `sizes` each member splits or joins the parts."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    labels = np.repeat(truth[:, None], members, axis=1)
    if sizes is not None:
        for member in range(members):
            parts = int(rng.integers(sizes[0], sizes[1] + 1))
            labels[:, member] = (truth * parts + rng.integers(0, max(1, parts // k), size=n)) % parts
    wrong = rng.random(labels.shape) < noise
    labels[wrong] = rng.integers(int(labels.max()) + 1, size=int(wrong.sum()))
    gaps = rng.random(labels.shape) < missing
    gaps[np.arange(n), rng.integers(members, size=n)] = False
    gaps[: min(n, k), :] = False
    labels[gaps] = -1
    return labels


def memberships(seed: int, n: int, members: int) -> list[NDArray[np.float64]]:
    """Soft clusterings around a planted partition, some of them sharp, all with exact sums of 1."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n)
    matrices = []
    for member in range(members):
        k = 3 + member % 3
        matrix = rng.integers(0, 4, size=(n, k)).astype(np.float64)
        matrix[np.arange(n), truth % k] += 6
        matrices.append(matrix / matrix.sum(axis=1, keepdims=True))
    return matrices

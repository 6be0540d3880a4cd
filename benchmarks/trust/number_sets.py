"""The data sets on which numbers of clusters are compared: sets whose classes are clusters, and planted ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.sets import SHAPES, prepared

DIGITS = [
    "mfeat_fac", "mfeat_fou", "mfeat_kar", "mfeat_pix", "mfeat_zer", "optdigits_test", "optdigits_train", "pendigits",
]  # fmt: skip
N_PLANTED = 15
PLANTED = [f"planted_{number:02d}" for number in range(N_PLANTED)]
SETS = sorted([*SHAPES, *DIGITS, *PLANTED])
NOISE_CLASS = ("shape_chameleon_t4_8k", "shape_chameleon_t5_8k", "shape_chameleon_t7_10k", "shape_chameleon_t8_8k")
"""Sets in which class 0 is background noise over the whole plane, which is no cluster and is not counted."""
HALVES = ("tuning half", "other half")
_CLUSTERS = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30)
_COLUMNS = (2, 3, 5, 10, 20, 50)


class Labelled(NamedTuple):
    """Measurements, classes 0, 1, ..., and the number of those that are clusters."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    n_classes: int


def half_of(name: str) -> str:
    """Weights were chosen on every second set in alphabetical order, the tuning half."""
    return HALVES[SETS.index(name) % 2]


def load(name: str) -> Labelled:
    """Load a data set, or draw a planted one; real measurements are z-normalised, shapes are as they come."""
    if name in PLANTED:
        return _planted(PLANTED.index(name))
    data = prepared(name)
    return Labelled(np.asarray(data.X, dtype=np.float64), data.y, data.n_classes - (name in NOISE_CLASS))


def _planted(number: int) -> Labelled:
    """Draw Gaussian clusters whose means are at least 4 to 8 standard deviations apart; every other set has unequal
    widths, and every third one unequal sizes."""
    rng = np.random.default_rng((15, number))
    k = _CLUSTERS[number % len(_CLUSTERS)]
    d = _COLUMNS[(number // 2) % 6] if k <= 8 else _COLUMNS[1 + (number // 2) % 5]
    n_objects = int(rng.integers(max(300, 40 * k), 3_000))
    shares = rng.dirichlet(np.full(k, 4.0)) if number % 3 == 0 else np.full(k, 1 / k)
    apart = float(rng.uniform(4, 8))
    width, means = apart * max(1.0, k ** (1 / d)), []
    while len(means) < k:
        mean = rng.uniform(-width / 2, width / 2, size=d)
        if all(np.linalg.norm(mean - other) >= apart for other in means):
            means.append(mean)
        else:
            width *= 1.002
    y = np.unique(rng.choice(k, size=n_objects, p=shares), return_inverse=True)[1]
    widths = rng.uniform(0.7, 1.3, size=k) if number % 2 else np.ones(k)
    return Labelled(np.array(means)[y] + widths[y][:, None] * rng.normal(size=(n_objects, d)), y, int(y.max()) + 1)

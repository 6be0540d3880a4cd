"""The same objects for everybody: features, classes and twenty members, easy and hard."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

N_CLUSTERS, N_MEMBERS, SEED = 10, 20, 0
SPREADS = {"easy": (2, 1.0), "hard": (8, 9.0)}
"""Dimensions and standard deviation of ten Gaussians whose means are uniform in a cube of side 40."""


class Objects(NamedTuple):
    X: NDArray[np.float64]
    classes: NDArray[np.int64]
    labels: NDArray[Any]


def objects(data: str, n: int) -> Objects:
    """Ten Gaussians, and k-means members with k drawn from 10 to 40, by Quorate's generate."""
    import quorate

    n_dims, spread = SPREADS[data]
    rng = np.random.default_rng(SEED)
    means = rng.uniform(0, 40, size=(N_CLUSTERS, n_dims))
    classes = rng.integers(N_CLUSTERS, size=n)
    X = means[classes] + spread * rng.standard_normal((n, n_dims))
    labels = quorate.generate(X, N_MEMBERS, k=(10, 40), base="kmeans", random_state=SEED, n_jobs=1).labels
    return Objects(X, classes.astype(np.int64), np.asarray(labels))


def stored(data: str, n: int, folder: Path) -> Path:
    """The file of these objects, made where it is not there."""
    path = folder / f"{data}-{n}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(path, **objects(data, n)._asdict())
    return path


def read(path: Path) -> Objects:
    with np.load(path) as file:
        return Objects(file["X"], file["classes"], file["labels"])

"""Data sets as the papers use them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate import datasets


def load(name: str, *, normalise: bool = False) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Features and classes 0, 1, ... of a set in the user's folder; FileNotFoundError where it is not there."""
    if name not in datasets.names():
        raise FileNotFoundError(f"no data set {name!r} in the folder that QUORATE_DATA names")
    data = datasets.load(name)
    X = np.asarray(data.X.todense() if hasattr(data.X, "todense") else data.X, dtype=np.float64)
    return (z_normalised(X) if normalise else X), np.unique(data.y, return_inverse=True)[1].astype(np.int64)


def z_normalised(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean 0 and deviation 1 in every column that varies."""
    spread = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))

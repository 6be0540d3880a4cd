"""Weights as the integers that partitioners require, with as little rounding as possible."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LARGEST = 2**24
"""Real weights are scaled so that the largest becomes this: METIS compares gains as 32-bit floats, whose integers
are exact up to here, so finer steps would be lost anyway."""


class Parts(NamedTuple):
    """What a partitioner returns.

    `labels` (n_vertices,) int32 use every part 0..k-1; `cut` is the weight of what was cut, in the caller's own
    weights; `n_repaired` counts the parts the partitioner left empty and we filled.
    """

    labels: NDArray[np.int32]
    cut: float
    n_repaired: int


def integer_weights(weights: NDArray[Any], *, largest: int = LARGEST, total: int = 2**62) -> NDArray[np.int64]:
    """Positive weights as positive integers of at most `largest` each and about `total` in all; zeros stay zero.

    Integers that fit are only divided by their greatest common divisor, so nothing is lost. Everything else is
    scaled and rounded; what is above zero stays above zero, and equal weights stay equal.
    """
    if not len(weights):
        return np.zeros(0, dtype=np.int64)
    if not (np.isfinite(weights).all() and weights.min() >= 0):
        raise ValueError(f"weights must be finite and not negative, got {weights.min()} to {weights.max()}.")
    top, sum_ = float(weights.max()), float(weights.sum(dtype=np.float64))
    if top == 0:
        return np.zeros(len(weights), dtype=np.int64)
    if top < 2**53 and np.array_equal(weights, np.floor(weights)):
        whole = weights.astype(np.int64)
        divisor = int(np.gcd.reduce(whole))
        if top / divisor <= largest and sum_ / divisor <= total:
            return whole // divisor
    scale = min(largest / top, total / sum_)
    scaled: NDArray[np.int64] = np.rint(weights * scale).astype(np.int64)
    return np.where(weights > 0, np.maximum(scaled, 1), 0)


def capped(mass: NDArray[Any], k: int) -> NDArray[Any]:
    """Vertex weights limited to the mean weight of a part, where the mean is that of the limited weights.

    Without the limit, a vertex as heavy as several parts leaves so much room in the others that some stay empty.
    """
    descending = np.sort(mass)[::-1].astype(np.float64)
    light = descending.sum() - np.concatenate([[0.0], np.cumsum(descending[: k - 1])])
    # with the h heaviest alone in their parts, the others' mean; right for the first h whose next vertex fits
    means = light / np.arange(k, 0, -1)
    fits = np.flatnonzero(descending[:k] <= means * (1 + 1e-12))
    # fewer vertices of positive weight than parts: nothing fits, nothing is too heavy
    return np.minimum(mass, means[fits[0]]) if len(fits) and means[fits[0]] > 0 else mass

"""k-means of the points of an embedding on a card: the run over all points, after the restarts on a sample."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._device.card import Card

FloatArray = NDArray[np.float64]
WHOLE_BITS = 61
"""Sums of coordinates are kept as whole numbers below 2 to this power."""


class PointRun(NamedTuple):
    """Where a run ended: labels on the card, and the weighted sum of squared distances to the means."""

    labels: Any
    inertia: float
    n_iter: int
    converged: bool


def lloyd(card: Card, points: Any, counts: Any, centres: FloatArray, max_iter: int, repair: Any) -> PointRun:
    """Run Lloyd's algorithm from these centres (k, d) on points (d, n) of length at most 1 that stand for counts (n,).

    `repair(labels, cost, k)` fills empty clusters of host labels in place; it is called only if there are any.
    """
    xp = card.xp
    n_columns, n_rows = points.shape
    k = len(centres)
    unit = 2.0 ** (WHOLE_BITS - int(np.ceil(np.log2(float(counts.sum()) + 1.0))))
    old, fresh = xp.full(n_rows, -1, dtype=xp.int32), xp.empty(n_rows, dtype=xp.int32)
    distance = xp.empty(n_rows)
    sums, sizes = xp.zeros((k, n_columns), dtype=xp.uint64), xp.zeros(k, dtype=xp.uint64)
    converged, n_iter = False, 0
    while not converged and n_iter < max_iter:
        shape = (points, n_rows, n_columns)
        table = xp.asarray(np.ascontiguousarray(centres))
        card.launch("nearest_points", (*shape, table, k, fresh, distance), source="points", types={}, n=n_rows)
        _fill(card, fresh, counts, distance, k, repair)
        moved = xp.zeros(1, dtype=xp.uint64)
        arguments = (*shape, counts, unit, old, fresh, sums, sizes, moved)
        card.launch("move_points", arguments, source="points", types={}, n=n_rows)
        converged = int(moved[0]) == 0
        mass = card.to_host(sizes).view(np.int64).astype(np.float64)
        centres = card.to_host(sums).view(np.int64) / unit / mass[:, None]
        n_iter += 1
    spread = xp.empty(n_rows)
    table = xp.asarray(np.ascontiguousarray(centres))
    arguments = (points, n_rows, n_columns, counts, table, old, spread)
    card.launch("own_distances", arguments, source="points", types={}, n=n_rows)
    return PointRun(old, float(spread.sum()), n_iter, converged)


def _fill(card: Card, labels: Any, counts: Any, distance: Any, k: int, repair: Any) -> None:
    """Fill empty clusters on the processor, which happens rarely."""
    xp = card.xp
    if bool((xp.bincount(labels, minlength=k) > 0).all()):
        return
    repaired = card.to_host(labels).copy()
    repair(repaired, card.to_host(counts).astype(np.float64) * card.to_host(distance), k)
    labels[:] = card.to_card(repaired)

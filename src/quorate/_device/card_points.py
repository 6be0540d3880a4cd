"""The graph of rows and base clusters on a card, points carried from clusters to rows, and k-means of points."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._device.card import Card, padded
from quorate._device.card_tables import launch_on_rows, launch_with_table, row_sums_on_card, widened

FloatArray = NDArray[np.float64]

WHOLE_BITS = 61
"""Sums of masses are kept as whole numbers below 2 to this power."""


def shared_objects_on_card(ensemble: Any) -> NDArray[np.int64]:
    """Return the number of objects that any two base clusters share, (d, d)."""
    return _both_sides(_pairs(ensemble, ensemble.counts_beside_rows()))


def fold_on_card(ensemble: Any, weights: FloatArray) -> FloatArray:
    """Return the sum over the rows that any two base clusters share of the row's mass, (d, d).

    The mass of a row is its count, without a common factor of all counts, divided by the sum of the weights (d,) of
    its base clusters. Masses are rounded to whole numbers of a small unit, so that their sums depend on no order.
    """
    xp = ensemble.card.xp
    counts = ensemble.counts_beside_rows()
    common = common_factor_of_counts(ensemble)
    mass = (counts // common) / row_sums_on_card(ensemble, weights)
    unit = 2.0 ** (WHOLE_BITS - int(np.ceil(np.log2(float(mass.sum()) + 1.0))))
    whole = xp.rint(mass * unit).astype(xp.int64)
    return _both_sides(_pairs(ensemble, whole)) / unit


def unit_points(ensemble: Any, table: FloatArray) -> Any:
    """Return the sum of table (d, k) over the base clusters of each row, scaled to length 1, of shape (k, n_rows)."""
    xp = ensemble.card.xp
    wide = widened(ensemble, table, table.shape[1])
    points = xp.empty((table.shape[1], ensemble.n_rows))
    launch_with_table(ensemble, "unit_sums", wide, table.shape[1], points)
    return points


def _pairs(ensemble: Any, mass: Any) -> NDArray[np.int64]:
    xp = ensemble.card.xp
    n_clusters = int(ensemble.offsets[-1])
    table = xp.zeros((n_clusters, n_clusters), dtype=xp.uint64)
    launch_on_rows(ensemble, "add_pairs", mass, n_clusters, table)
    counted: NDArray[np.int64] = ensemble.card.to_host(table).view(np.int64)
    return counted


def _both_sides(upper: NDArray[np.int64]) -> NDArray[np.int64]:
    both: NDArray[np.int64] = upper + upper.T - np.diag(np.diag(upper))
    return both


def common_factor_of_counts(ensemble: Any) -> int:
    """Return the greatest common divisor of all counts; 1 is by far the most frequent, and found at once."""
    counts = ensemble.counts_beside_rows()
    if int(counts.min()) == 1:
        return 1
    return int(np.gcd.reduce(ensemble.card.to_host(counts)))


"""Sums of coordinates are kept as whole numbers below 2 to this power."""

BLOCK, TILE, ADDING_BLOCKS = 256, 64, 132 * 16
"""Threads in a block, rows in its tile, and blocks of the kernel that adds up all points."""


class PointRun(NamedTuple):
    """Where a run ended: labels on the card, and the weighted sum of squared distances to the means."""

    labels: Any
    inertia: float
    n_iter: int
    converged: bool


def lloyd_on_card(card: Card, points: Any, counts: Any, centres: FloatArray, max_iter: int, repair: Any) -> PointRun:
    """Run Lloyd's algorithm from these centres (k, d) on points (d, n) of length at most 1 that stand for counts (n,).

    `repair(labels, cost, k)` fills empty clusters of host labels in place; it is called only if there are any.
    """
    run = _Run(card, points, counts, len(centres))
    converged, n_iter = False, 0
    while not converged and n_iter < max_iter:
        converged = run.sweep(centres, repair) == 0
        centres = run.means()
        n_iter += 1
    return PointRun(run.labels, run.inertia(centres), n_iter, converged)


class _Run:
    """The labels of all points, and the sums of the points of each cluster in whole numbers of a small unit."""

    def __init__(self, card: Card, points: Any, counts: Any, n_clusters: int) -> None:
        xp = card.xp
        self._card, self._points, self._counts, self._k = card, points, counts, n_clusters
        self._d, self._n = points.shape
        self._unit = 2.0 ** (WHOLE_BITS - int(np.ceil(np.log2(float(counts.sum()) + 1.0))))
        self.labels = xp.full(self._n, -1, dtype=xp.int32)
        self._spare, self._distance = xp.empty(self._n, dtype=xp.int32), xp.empty(self._n)
        self._sums = xp.zeros((n_clusters, self._d), dtype=xp.uint64)
        self._sizes = xp.zeros(n_clusters, dtype=xp.uint64)
        self._is_new = True

    def sweep(self, centres: FloatArray, repair: Any) -> int:
        """Give each point the nearest centre, leave no cluster empty, and return how many points changed."""
        table = self._card.xp.asarray(np.ascontiguousarray(centres))
        self._launch("nearest_points", table, self._k, self._spare, self._distance)
        before = self.labels
        moved = self._begin(self._spare) if self._is_new else self._move(self._spare)
        if not self._host_sizes().all():
            moved = self._repaired(before, repair)
        self._spare = before
        return moved

    def _begin(self, fresh: Any) -> int:
        """Take the first labels; if sums are few, each block of threads adds up its points before they are shared."""
        self._is_new = False
        if self._k * self._d > 4 * BLOCK or self._k > BLOCK:
            return self._move(fresh)
        rows_each = padded(-(-self._n // ADDING_BLOCKS), TILE)
        self._card.launch(
            "add_all_points",
            (
                *(self._points, self._n, self._d, self._counts, self._unit, fresh, self._k, rows_each),
                *(self._sums, self._sizes),
            ),
            source="points",
            types={},
            n=self._n,
            block=BLOCK,
            grid=(-(-self._n // rows_each),),
            shared=TILE * (8 * self._d + 12),
        )
        self.labels = fresh
        return int(self._n)

    def _move(self, fresh: Any) -> int:
        moved = self._card.xp.zeros(1, dtype=self._card.xp.uint64)
        fixed = self._counts, self._unit, self.labels, fresh
        self._launch("move_points", *fixed, self._sums, self._sizes, moved)
        self.labels = fresh
        return int(moved[0])

    def _repaired(self, before: Any, repair: Any) -> int:
        """Fill empty clusters in host memory, which happens rarely; return how many points differ from before."""
        card = self._card
        labels = card.to_host(self.labels).copy()
        repair(labels, card.to_host(self._counts).astype(np.float64) * card.to_host(self._distance), self._k)
        self._move(card.to_card(labels))
        return int((self.labels != before).sum())

    def means(self) -> FloatArray:
        """Return the mean of each cluster, (k, d) in host memory."""
        sums: NDArray[np.int64] = self._card.to_host(self._sums).view(np.int64)
        means: FloatArray = sums / self._unit / self._host_sizes().astype(np.float64)[:, None]
        return means

    def inertia(self, centres: FloatArray) -> float:
        """Return the weighted sum of squared distances to the centres."""
        spread = self._card.xp.empty(self._n)
        table = self._card.xp.asarray(np.ascontiguousarray(centres))
        self._launch("own_distances", self._counts, table, self.labels, spread)
        return float(spread.sum())

    def _host_sizes(self) -> NDArray[np.int64]:
        sizes: NDArray[np.int64] = self._card.to_host(self._sizes).view(np.int64)
        return sizes

    def _launch(self, kernel: str, *arguments: Any) -> None:
        shape = self._points, self._n, self._d
        self._card.launch(kernel, (*shape, *arguments), source="points", types={}, n=self._n)

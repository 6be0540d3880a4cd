"""The graph of rows and base clusters on a card: what clusters share, and points carried from clusters to rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._device.card_tables import in_shared, looping, row_sums, start_of, widened

FloatArray = NDArray[np.float64]

WHOLE_BITS = 61
"""Sums of masses are kept as whole numbers below 2 to this power."""


def shared_objects(ensemble: Any) -> NDArray[np.int64]:
    """Return the number of objects that any two base clusters share, (d, d)."""
    return _both_sides(_pairs(ensemble, ensemble.counts_beside_rows()))


def fold(ensemble: Any, weights: FloatArray) -> FloatArray:
    """Return the sum over the rows that any two base clusters share of the row's mass, (d, d).

    The mass of a row is its count, without a common factor of all counts, divided by the sum of the weights (d,) of
    its base clusters. Masses are rounded to whole numbers of a small unit, so that their sums depend on no order.
    """
    xp = ensemble.card.xp
    counts = ensemble.counts_beside_rows()
    common = common_factor_of_counts(ensemble)
    mass = (counts // common) / row_sums(ensemble, weights)
    unit = 2.0 ** (WHOLE_BITS - int(np.ceil(np.log2(float(mass.sum()) + 1.0))))
    whole = xp.rint(mass * unit).astype(xp.int64)
    return _both_sides(_pairs(ensemble, whole)) / unit


def unit_points(ensemble: Any, table: FloatArray) -> Any:
    """Return the sum of table (d, k) over the base clusters of each row, scaled to length 1, of shape (k, n_rows)."""
    xp = ensemble.card.xp
    wide = widened(ensemble, table, table.shape[1])
    points = xp.empty((table.shape[1], ensemble.n_rows))
    kept, shared = in_shared(wide)
    ensemble.card.launch(
        "unit_sums",
        (*start_of(ensemble), wide, wide.shape[1], kept, table.shape[1], points),
        source="tables",
        types={"LABEL": ensemble.card_labels.dtype, "TABLE": np.float64},
        n=ensemble.n_rows,
        grid=looping(ensemble),
        shared=shared,
    )
    return points


def _pairs(ensemble: Any, mass: Any) -> NDArray[np.int64]:
    xp = ensemble.card.xp
    n_clusters = int(ensemble.offsets[-1])
    table = xp.zeros((n_clusters, n_clusters), dtype=xp.uint64)
    ensemble.card.launch(
        "add_pairs",
        (*start_of(ensemble), mass, n_clusters, table),
        source="tables",
        types={"LABEL": ensemble.card_labels.dtype, "TABLE": np.int64},
        n=ensemble.n_rows,
    )
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

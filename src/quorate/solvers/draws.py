"""Random draws by weight, and the repair of clusters that end up empty: what every k-means here has in common."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._types import FloatArray


def drawn_by_weight(weights: NDArray[Any], uniform: FloatArray) -> NDArray[np.intp]:
    """Places drawn with probability proportional to their weights, one for each number of `uniform` in [0, 1).

    At least one weight must be above 0; a place of weight 0 is never drawn.
    """
    edges = np.cumsum(weights)
    places = np.searchsorted(edges, uniform * edges[-1], side="right")
    drawn: NDArray[np.intp] = np.minimum(places, np.flatnonzero(weights)[-1])
    return drawn


def rows_of_objects(counts: NDArray[np.int64], objects: NDArray[np.int64]) -> NDArray[np.intp]:
    """The row each object is in, if the objects are numbered row after row."""
    rows: NDArray[np.intp] = np.searchsorted(np.cumsum(counts), objects, side="right")
    return rows


def rows_drawn_by_count(counts: NDArray[np.int64], size: int, rng: np.random.Generator) -> tuple[NDArray[np.intp], Any]:
    """The rows of `size` objects drawn with replacement, each row once, and how often each was drawn."""
    drawn = rng.integers(int(counts.sum()), size=size)
    rows, times = np.unique(rows_of_objects(counts, drawn), return_counts=True)
    return rows, times


def fill_empty(labels: NDArray[Any], cost: FloatArray, n_clusters: int, *, least: float | None = None) -> int:
    """Give each empty cluster the row that costs most where it is, as long as its cluster keeps another row.

    Labels are changed in place; ties go to the lowest row. With `least`, rows that cost no more than that stay where
    they are, so that clusters may remain empty. Returns the number of clusters that were empty.
    """
    sizes = np.bincount(labels, minlength=n_clusters)
    empty = np.flatnonzero(sizes == 0)
    if not len(empty):
        return 0
    costly = iter(np.argsort(-cost, kind="stable"))
    for cluster in empty:
        row = next((row for row in costly if sizes[labels[row]] > 1 and (least is None or cost[row] > least)), None)
        if row is None:
            break
        sizes[labels[row]] -= 1
        labels[row] = cluster
        sizes[cluster] = 1
    return len(empty)

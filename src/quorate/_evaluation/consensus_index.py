"""The consensus index of two objects, and its distribution over all pairs of objects.

The index is the share of the members that put the two objects together, among the members that label both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._data.compression import compress
from quorate._data.ensemble import as_ensemble
from quorate._data.selection import select_members
from quorate._types import Ensemble, FloatArray
from quorate.ops.ambiguity import pair_shares
from quorate.solvers.contingency import squarable
from quorate.solvers.draws import rows_of_objects

EXACT_ROWS = 1_500
"""Up to this many rows all pairs are counted; above, pairs of objects are drawn."""
DRAWN_PAIRS = 1_000_000
"""The number of pairs drawn: the standard error of a proportion among so many pairs is at most 0.0005."""
MEMBERS_OF_A_SIZE = 5
"""The least number of members with the same number of clusters that get a distribution of their own."""


class IndexDistribution(NamedTuple):
    """The values of the consensus index in increasing order, and the share of pairs of objects with each value.

    `n_drawn` is the number of pairs drawn, or 0 if all pairs were counted.
    """

    values: FloatArray
    shares: FloatArray
    n_drawn: int

    @property
    def area(self) -> float:
        """The area under the cumulative distribution from 0 to 1, which is 1 minus the mean index."""
        return float(1 - self.values @ self.shares)


def index_distribution(ensemble: Ensemble, rng: np.random.Generator) -> IndexDistribution:
    """Return the distribution of the consensus index over pairs of different objects.

    The index of a pair is the share of the members that put both objects together, among the members that label both
    [Monti et al. 2003]. Pairs that no member labels are left out.
    """
    rows, _ = compress(ensemble)
    exact = rows.n_rows <= EXACT_ROWS
    first, second = np.triu_indices(rows.n_rows, 1) if exact else draw_pairs(rows, rng)
    counts = squarable(rows.counts)
    pairs = counts[first] * counts[second] if exact else np.ones(len(first), dtype=np.int64)
    shares = np.empty(len(first))
    pair_shares(rows.labels, rows.weights, first, second, shares)
    if exact:
        # the objects of one row agree in every member that labels them
        alike = counts[(rows.labels >= 0).any(axis=1)]
        shares, pairs = np.append(shares, 1.0), np.append(pairs, (alike * (alike - 1)).sum() // 2)
    known = (shares >= 0) & (pairs > 0)
    if not known.any():
        raise ValueError("no member labels two objects, so there is no consensus index to draw.")
    values, place = np.unique(np.round(shares[known], 12), return_inverse=True)
    pairs_of_value = np.bincount(place.reshape(-1), weights=pairs[known])
    return IndexDistribution(values, pairs_of_value / pairs_of_value.sum(), 0 if exact else DRAWN_PAIRS)


def draw_pairs(rows: Ensemble, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draw DRAWN_PAIRS pairs of different objects, all pairs equally likely, and return the rows of both objects."""
    one = rng.integers(rows.n_objects, size=DRAWN_PAIRS)
    # the second object is any but the first
    other = (one + rng.integers(1, rows.n_objects, size=DRAWN_PAIRS)) % rows.n_objects
    return rows_of_objects(rows.counts, one), rows_of_objects(rows.counts, other)


def by_size(labels: Any) -> dict[Any, Ensemble]:
    """Return the ensembles of a mapping, or the members of one ensemble grouped by their number of clusters.

    Groups of fewer than five members are left out; if no group is left, all members stay together.
    """
    if isinstance(labels, Mapping) and labels and all(isinstance(part, Ensemble) for part in labels.values()):
        return dict(labels)
    ensemble = as_ensemble(labels)
    numbers, times = np.unique(ensemble.n_clusters, return_counts=True)
    enough = numbers[times >= MEMBERS_OF_A_SIZE]
    parts = {int(k): select_members(ensemble, np.flatnonzero(ensemble.n_clusters == k)) for k in enough}
    return parts or {"all members": ensemble}


def relative_gains(areas: Sequence[float]) -> FloatArray:
    """Return the first area, then the relative growth of each area over the one before, which is 0 if both are 0."""
    values = np.asarray(areas, dtype=np.float64)
    before = np.where(values[:-1] > 0, values[:-1], 1.0)
    return np.concatenate([values[:1], np.diff(values) / before])

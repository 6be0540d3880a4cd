"""Whether members have anything in common: the second eigenvalue of their graph, compared with permuted labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quorate._data.permutation import as_objects, permuted
from quorate._data.selection import select_rows
from quorate._types import Ensemble
from quorate.solvers.spectral.transfer_cut import leading_values
from quorate.solvers.weights import cluster_weights

MOST_OBJECTS = 1_000
"""Objects that are drawn for the comparison at most."""
FEWEST, MOST = 5, 19
"""Permutations before a clear answer may end the comparison, and after which it ends in any case."""
BEYOND = 3.0
"""From this z on, members have something in common, provided that no permutation had as much."""
CLEAR = (1.0, 8.0)
"""Below the first or above the second z the answer is clear, and no further permutations are made."""
LEAST_SPREAD = 1e-3
"""The least standard deviation: few permutations may be alike by chance."""


class Shared(NamedTuple):
    """The second eigenvalue of the graph of objects and clusters, observed and expected by chance."""

    observed: float
    expected: float
    z: float
    p_value: float
    n_permutations: int

    @property
    def is_beyond(self) -> bool:
        """Whether permuted labels hardly ever have as much in common."""
        return self.z >= BEYOND and self.p_value <= 1 / (1 + self.n_permutations)


def shared_structure(ensemble: Ensemble, seed: int) -> Shared | None:
    """Compare the second eigenvalue of the graph of objects and clusters with that of permuted labels.

    The eigenvalue is 1 if the objects can be divided into two parts that no member mixes, and small if the members
    have nothing in common. No number of clusters is needed. None is returned if there is nothing to compare: fewer
    than two members that divide the objects, or members that are all the same partition.
    """
    dividing = ensemble.n_clusters > 1
    if dividing.sum() < 2 or _are_alike(ensemble):
        return None
    objects = _drawn_objects(ensemble, np.random.default_rng((seed, 0)))
    if objects.n_members < 2 or objects.n_rows < 4:
        return None
    observed = _second_value(objects, seed)
    values: list[float] = []
    while len(values) < FEWEST or (len(values) < MOST and CLEAR[0] < _z(observed, values) < CLEAR[1]):
        values.append(_second_value(permuted(objects, np.random.default_rng((seed, len(values) + 1))), seed))
    above = sum(value >= observed - 1e-12 for value in values)
    expected = float(np.mean(values))
    return Shared(observed, expected, _z(observed, values), (1 + above) / (1 + len(values)), len(values))


def _are_alike(ensemble: Ensemble) -> bool:
    """Whether all members are the same partition: then there are as many rows as any of them has clusters."""
    return not ensemble.has_missing and bool((ensemble.n_clusters == ensemble.n_rows).all())


def _drawn_objects(ensemble: Ensemble, rng: np.random.Generator) -> Ensemble:
    ends = np.cumsum(ensemble.counts)
    if ends[-1] <= MOST_OBJECTS:
        return as_objects(ensemble)
    places = rng.choice(int(ends[-1]), size=MOST_OBJECTS, replace=False, shuffle=False)
    rows, drawn = np.unique(np.searchsorted(ends, places, side="right"), return_counts=True)
    return as_objects(select_rows(ensemble, rows, drawn.astype(np.int64)))


def _second_value(objects: Ensemble, seed: int) -> float:
    rng = np.random.default_rng(seed)
    values = leading_values(objects, cluster_weights(objects), 2, rng, dense=False)
    return float(values[1]) if len(values) > 1 else 0.0


def _z(observed: float, values: list[float]) -> float:
    return (observed - float(np.mean(values))) / max(float(np.std(values, ddof=1)), LEAST_SPREAD)

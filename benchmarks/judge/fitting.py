"""Fitting the judge's weights, and how often it is right on sets, pools and geometries that it was not fitted on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.judge.pools import POOLS
from quorate.generation.judge import WEIGHTS

Floats = NDArray[np.float64]
TERMS = tuple(WEIGHTS)
LOWEST_CUT = TERMS.index("cut, 10 neighbours")
PENALTY = 0.0003
"""Times half the sum of squares of the weights (of terms of equal spread), in units of ARI."""
REAL_COUNTS = 4.0
"""A public set counts as much as so many generated ones."""


FIXED = {"neighbours' labels, many directions": 80.0}
"""Weights that are not fitted: generated sets lack the tight groups inside clusters that this term is for."""


class Table(NamedTuple):
    """Candidates of one set: names, ARI and NMI with the classes, and terms of the judge, (n_candidates, n_terms)."""

    set: str
    seed: int
    group: str
    candidates: tuple[str, ...]
    ari: Floats
    nmi: Floats
    terms: Floats

    def pool(self, name: str) -> Table:
        """The candidates of a pool; all of them under a name that is none."""
        kept = [place for place, other in enumerate(self.candidates) if other in POOLS.get(name, self.candidates)]
        names = tuple(self.candidates[place] for place in kept)
        return self._replace(candidates=names, ari=self.ari[kept], nmi=self.nmi[kept], terms=self.terms[kept])


class _Stacked(NamedTuple):
    terms: Floats
    fixed: Floats
    ari: Floats
    owner: NDArray[np.intp]
    counts: Floats


def fitted(tables: Sequence[Table]) -> Floats:
    """Return weights that make the mean ARI of a candidate highest that is drawn with chances exp(mark).

    Every set appears once with each pool, so that the judge does not lean on a certain set of rivals.
    """
    stacked, spread = _stacked(tables)

    def loss(weights: Floats) -> tuple[float, Floats]:
        value, slope = _expected(stacked, weights)
        return -value + PENALTY * float(weights @ weights) / 2, PENALTY * weights - slope

    start = _ridge(stacked)
    weights = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 300}).x / spread
    weights[[TERMS.index(name) for name in FIXED]] = list(FIXED.values())
    return np.asarray(weights)


def _stacked(tables: Sequence[Table]) -> tuple[_Stacked, Floats]:
    """All candidates of all pools below one another, terms as differences from their mean in units of their spread."""
    parts = [table.pool(pool) for table in tables for pool in (*POOLS, "all")]
    parts = [part for part in parts if len(part.candidates) > 1]
    terms = np.concatenate([part.terms - part.terms.mean(axis=0) for part in parts])
    places = [TERMS.index(name) for name in FIXED]
    fixed = terms[:, places] @ np.array(list(FIXED.values()))
    terms[:, places] = 0.0
    ari = np.concatenate([part.ari - part.ari.mean() for part in parts])
    sizes = [len(part.candidates) for part in parts]
    counts = np.array([1.0 if part.group == "generated" else REAL_COUNTS for part in parts])
    counts /= counts.sum()
    owner = np.repeat(np.arange(len(parts)), sizes)
    share = (counts / sizes)[owner]
    spread = np.sqrt(share @ terms**2) + 1e-12
    return _Stacked(terms / spread, fixed, ari, owner, counts), spread


def _ridge(stacked: _Stacked) -> Floats:
    """Where the search starts: ten times the weights of a ridge regression."""
    share = (stacked.counts / np.bincount(stacked.owner))[stacked.owner]
    weighted = stacked.terms * share[:, None]
    matrix = weighted.T @ stacked.terms + 0.03 * np.eye(stacked.terms.shape[1])
    return 10 * np.linalg.solve(matrix, weighted.T @ stacked.ari)


def _expected(stacked: _Stacked, weights: Floats) -> tuple[float, Floats]:
    """The mean ARI of a candidate drawn with chances exp(mark), and its slope."""
    mark = stacked.terms @ weights + stacked.fixed
    top = np.full(len(stacked.counts), -np.inf)
    np.maximum.at(top, stacked.owner, mark)
    chance = np.exp(mark - top[stacked.owner])
    chance /= np.bincount(stacked.owner, chance)[stacked.owner]
    mean = np.bincount(stacked.owner, chance * stacked.ari)
    slope = (chance * (stacked.ari - mean[stacked.owner]) * stacked.counts[stacked.owner]) @ stacked.terms
    return float(mean @ stacked.counts), slope


def chosen_by(weights: Floats | None) -> Callable[[Table], int]:
    """The candidate with the highest mark, or with the lowest cut if there are no weights."""
    if weights is None:
        return lambda table: int(np.argmin(table.terms[:, LOWEST_CUT]))
    return lambda table: int(np.argmax(table.terms @ weights))


def mean_ari(tables: Iterable[Table], pool: str, choose: Callable[[Table], int]) -> float:
    """The mean ARI of what is chosen from a pool."""
    parts = [table.pool(pool) for table in tables]
    return float(np.mean([part.ari[choose(part)] for part in parts if len(part.candidates)]))


def left_out(tables: Sequence[Table], key: Callable[[Table], Any], n_folds: int) -> list[tuple[Table, Floats]]:
    """Each table that has a key with the weights fitted on those of other folds of keys; None is never left out."""
    keys = sorted({key(table) for table in tables} - {None})
    found = []
    for fold in range(n_folds):
        out = set(keys[fold::n_folds])
        weights = fitted([table for table in tables if key(table) not in out])
        found.extend((table, weights) for table in tables if key(table) in out)
    return found


def mean_left_out(judged: Sequence[tuple[Table, Floats]], pool: str) -> float:
    """The mean ARI of what weights choose that were fitted without the set."""
    values = [mean_ari([table], pool, chosen_by(weights)) for table, weights in judged]
    return float(np.nanmean(values))

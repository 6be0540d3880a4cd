"""PAC: the proportion of ambiguous pairs of objects."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._evaluation.consensus_index import DRAWN_PAIRS, draw_pairs
from quorate._types import Ensemble, read_only
from quorate.ops.ambiguity import ambiguous_drawn, ambiguous_pairs
from quorate.solvers.contingency import squarable

EXACT_ROWS = 3_000
"""Rows up to which all pairs are counted; above, pairs of objects are drawn."""


class Ambiguity(NamedTuple):
    """The proportion, and how many pairs were drawn for it; 0 where all were counted."""

    proportion: float
    n_drawn: int


def ambiguity(
    ensemble: Ensemble,
    members: NDArray[np.intp],
    rng: np.random.Generator,
    *,
    low: float = 0.1,
    high: float = 0.9,
) -> Ambiguity:
    """Share of pairs of objects whose co-association in the given members lies strictly between low and high.

    Co-association among the members that know both objects; pairs no member knows are left out. All pairs of
    rows on few rows, a sample of pairs of objects on many.
    """
    labels, weights = read_only(ensemble.labels[:, members]), read_only(ensemble.weights[members])
    if ensemble.n_rows <= EXACT_ROWS:
        counts = read_only(squarable(ensemble.counts))
        ambiguous, known = ambiguous_pairs(labels, counts, weights, low, high, 0, ensemble.n_rows)
        alike = counts[(labels >= 0).any(axis=1)]
        # objects of one row agree in all members, which is ambiguous only where high lies above 1
        known += int((alike * (alike - 1)).sum()) // 2
        return Ambiguity(ambiguous / known if known else 0.0, 0)
    ambiguous, known = ambiguous_drawn(labels, weights, low, high, *draw_pairs(ensemble, rng))
    return Ambiguity(ambiguous / known if known else 0.0, DRAWN_PAIRS)

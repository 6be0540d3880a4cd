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
"""Up to this many rows all pairs are counted; above, pairs of objects are drawn."""


class Ambiguity(NamedTuple):
    """The proportion, and the number of pairs drawn for it, which is 0 if all pairs were counted."""

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
    """Return the share of pairs of objects whose co-association lies strictly between low and high.

    The co-association of a pair is taken over those of the given members that label both objects; pairs that no member
    labels are left out. All pairs are counted if there are few rows, and a sample of pairs of objects is drawn if there
    are many.
    """
    labels, weights = read_only(ensemble.labels[:, members]), read_only(ensemble.weights[members])
    if ensemble.n_rows <= EXACT_ROWS:
        counts = read_only(squarable(ensemble.counts))
        ambiguous, known = ambiguous_pairs(labels, counts, weights, low, high, 0, ensemble.n_rows)
        alike = counts[(labels >= 0).any(axis=1)]
        # Objects of one row agree in all members, so their co-association is 1, which is below `high` only if high > 1.
        known += int((alike * (alike - 1)).sum()) // 2
        return Ambiguity(ambiguous / known if known else 0.0, 0)
    ambiguous, known = ambiguous_drawn(labels, weights, low, high, *draw_pairs(ensemble, rng))
    return Ambiguity(ambiguous / known if known else 0.0, DRAWN_PAIRS)

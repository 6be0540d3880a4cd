"""What members and their clusters weigh, in the forms that sums, graphs and trees need; sums in whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._types import AnyEnsemble, E, Ensemble, FloatArray
from quorate.solvers.label_rows import counts_divisor, divided, reweighted

WEIGHT_UNIT = 2**20
"""Real weights and similarities are rounded to whole numbers of 1 / WEIGHT_UNIT: sums are exact, and ties stay ties."""


MOST_WEIGHT = 2.0**21
"""The most that all members weigh together, if the least of them weighs 1: sums of weights times logarithms in units of
`TABLE_UNIT` then fit into 64 bits. If they weigh more, members of little weight are given a little more: they could
decide nothing but ties in any case."""
LEAST_SPREAD = 64.0


def in_proportion(ensemble: E) -> E:
    """The ensemble with weights of which the least is 1 and the sum at most `MOST_WEIGHT`, in the same proportions.

    Ratios that are multiples of 2^-20 but for the rounding of the division become just that, so that the same weights
    times any constant are the same problem to the last bit.
    """
    weights = ensemble.weights
    if float(weights.min()) == 1.0 and float(weights.sum()) <= MOST_WEIGHT:
        return ensemble
    ratios = weights / weights.min()
    if float(ratios.sum()) > MOST_WEIGHT:
        spread = max(MOST_WEIGHT / len(weights), LEAST_SPREAD)
        ratios = np.maximum(weights / weights.max(), 1 / spread)
        ratios /= ratios.min()
    near = np.rint(ratios * WEIGHT_UNIT) / WEIGHT_UNIT
    return reweighted(ensemble, np.where(np.abs(ratios - near) <= 2.0**-50 * ratios, near, ratios))


def cluster_weights(ensemble: AnyEnsemble) -> FloatArray:
    """The weight of the member each base cluster belongs to, (d,)."""
    return np.repeat(ensemble.weights, ensemble.n_clusters)


def cluster_weights_whole(ensemble: AnyEnsemble) -> NDArray[Any]:
    """`cluster_weights` as integers if all of them are whole numbers, so that sums stay exact; as floats if not."""
    weights = cluster_weights(ensemble)
    whole = weights.astype(np.int64)
    return whole if np.array_equal(whole, weights) else weights


def cluster_weight_shares(ensemble: Ensemble) -> FloatArray:
    """The weight of the member each base cluster belongs to, as a share of all members' weight, (d,)."""
    shares: FloatArray = np.repeat(ensemble.weights / ensemble.weights.sum(), ensemble.n_clusters)
    return shares


def relative_weights(ensemble: AnyEnsemble) -> FloatArray:
    """Member weights divided by the least of them: whole numbers where that is possible, whose sums are exact."""
    scaled: FloatArray = ensemble.weights / ensemble.weights.min()
    return scaled


def with_relative_weights(ensemble: E) -> E:
    """The ensemble with member weights divided by the least of them, for tables that round them to a fixed unit."""
    if float(ensemble.weights.min()) == 1.0:
        return ensemble
    return reweighted(ensemble, relative_weights(ensemble))


def without_common_factor(ensemble: E) -> E:
    """The ensemble with counts divided by their greatest common divisor and weights by the least of them.

    As many objects of each row again, and larger weights in the same proportions, then are the same problem to the
    last bit.
    """
    divisor = counts_divisor(ensemble)
    light = with_relative_weights(ensemble)
    return light if divisor == 1 else divided(light, divisor)


def common_factor(ensemble: AnyEnsemble) -> float:
    """What `without_common_factor` divides by: the greatest common divisor of counts times the least weight."""
    return counts_divisor(ensemble) * float(ensemble.weights.min())


def integer_member_weights(ensemble: Ensemble) -> tuple[NDArray[np.int64], float]:
    """Member weights as integers, and the weight that one of them stands for.

    Weights that are not multiples of the least one are rounded to 1 / WEIGHT_UNIT of the largest; more coarsely if
    there are so many objects that twice the weight of all labels would not fit into 64 bits.
    """
    largest = min(WEIGHT_UNIT, 2**61 // (ensemble.n_objects * ensemble.n_members))
    scaled = relative_weights(ensemble)
    if scaled.max() <= largest and np.array_equal(scaled, np.floor(scaled)):
        return scaled.astype(np.int64), float(ensemble.weights.min())
    unit = float(ensemble.weights.max()) / largest
    return np.maximum(np.rint(ensemble.weights / unit), 1).astype(np.int64), unit


TABLE_UNIT = 2.0**36
"""Tables of logarithms, shares and gains that rows are looked up in are kept as integers in units of 2^-36."""


def whole(values: FloatArray) -> NDArray[np.int64]:
    """The values as integers in units of 2^-36."""
    return np.rint(values * TABLE_UNIT).astype(np.int64)

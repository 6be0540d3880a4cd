"""Whether members agree beyond chance: their labels are permuted and the whole consensus is repeated."""

from __future__ import annotations

import logging
import math
import time
from typing import NamedTuple

import numpy as np

from quorate._consensus.procedure import Drawn, Procedure, repeat
from quorate._data.permutation import as_objects, permuted
from quorate._types import Ensemble
from quorate.solvers.anmi import anmi

logger = logging.getLogger("quorate")
FEWEST, MOST = 19, 99
"""Permutations before a clear answer may end the test, and permutations after which it ends in any case."""
CLEAR_Z = 6.0
"""Standard deviations above the permuted values at which the answer is clear."""
ENOUGH_ABOVE = 5
"""Permuted values at least as high as the observed one after which the answer is clear: not beyond chance."""


class Chance(NamedTuple):
    """What permuted labels say about the agreement that was observed.

    `observed` and `expected` are the ANMI of the repeated consensus with the members and with permuted members, `z` is
    their difference in standard deviations, `p_value` the rank of the observed value among the permuted ones, and
    `adjusted` is 0 for what is expected by chance and 1 for unanimous members.
    """

    observed: float
    expected: float
    z: float
    p_value: float
    adjusted: float
    n_permutations: int


def chance_agreement(
    drawn: Drawn, procedure: Procedure, n_permutations: int, *, seconds: float | None = None
) -> Chance | None:
    """Compare the agreement of a consensus with that of the same procedure on permuted labels.

    Parameters
    ----------
    drawn : Drawn
        The objects on which the procedure is repeated.
    procedure : Procedure
    n_permutations : int
        How often to permute; 0 for 19 to 99 times, until the answer is clear.
    seconds : float, optional
        Give up and return None if the shortest test would take longer than this.

    Returns
    -------
    Chance or None
        None if there is only one member, or if the test would take too long or too much memory.
    """
    if drawn.ensemble.n_members < 2:
        return None
    start = time.perf_counter()
    try:
        found = anmi(drawn.ensemble, repeat(procedure, drawn.ensemble, 0), procedure.n_clusters)
    except MemoryError:
        return None
    if seconds is not None and time.perf_counter() - start > seconds / FEWEST:
        start = time.perf_counter()  # the first run may have loaded compiled code
        repeat(procedure, drawn.ensemble, 0)
        if time.perf_counter() - start > seconds / FEWEST:
            return None
    objects = as_objects(drawn.ensemble)
    values: list[float] = []
    while not _is_enough(found, values, n_permutations):
        values.append(_permuted_anmi(objects, procedure, len(values) + 1))
        logger.info("permuting labels", extra={"share": len(values) / (n_permutations or MOST)})
    own = found if procedure.is_known else min(found, anmi(drawn.ensemble, drawn.codes, int(drawn.codes.max()) + 1))
    return _compared(found, own, np.array(values))


def _permuted_anmi(objects: Ensemble, procedure: Procedure, number: int) -> float:
    rows = permuted(objects, np.random.default_rng((procedure.seed, number)))
    return anmi(rows, repeat(procedure, rows, number), procedure.n_clusters)


def _is_enough(observed: float, values: list[float], n_permutations: int) -> bool:
    """Whether the number asked for is reached or, if none was asked for, the answer is clear."""
    if n_permutations or len(values) >= MOST:
        return len(values) >= (n_permutations or MOST)
    if len(values) < FEWEST:
        return False
    above = sum(value >= observed for value in values)
    return above >= ENOUGH_ABOVE or (above == 0 and _z(observed, np.array(values)) >= CLEAR_Z)


def _z(observed: float, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Return how many standard deviations the observed value lies above the mean; a single value has none."""
    difference = observed - float(values.mean())
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    if spread < 1e-12:
        return 0.0 if difference <= 1e-12 else math.inf
    return difference / spread


def _compared(found: float, own: float, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Chance:
    expected = float(values.mean())
    # the tolerance lets values tie that are equal on paper
    above = int((values >= found - 1e-12).sum())
    return Chance(
        observed=found,
        expected=expected,
        z=_z(found, values),
        p_value=(1 + above) / (1 + len(values)),
        adjusted=(own - expected) / (1 - expected) if expected < 1 - 1e-12 else 0.0,
        n_permutations=len(values),
    )

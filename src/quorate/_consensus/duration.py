"""How long a method will take: it is tried on a few of the rows, and the estimate is told by logging."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from weakref import WeakKeyDictionary

import numpy as np

from quorate import _check
from quorate._data.selection import select_rows
from quorate._types import Ensemble

logger = logging.getLogger("quorate")
TRIED_FROM = 10_000
"""Rows from which a method whose time grows faster than the rows is tried on a part of them first."""
LINEAR_TRIED_FROM = 1_000_000
"""Rows from which a method whose time grows as the rows do is tried on parts of them first."""
LINEAR_PARTS = 10_000, 20_000
"""Rows of the two parts; the difference tells apart what a row costs and what a run costs for any number of rows."""
PART = 8
"""The larger of the two trials has at most the n-th part of the rows, so that trying costs little beside the work."""
MOST_TRIED = 16_000
WARM_UP = 500
SHORT = 0.3
"""Seconds below which a trial is run twice, because other work on the machine shows in it."""
LEAST_POWER, MOST_POWER = 1.5, 2.5
SLOW = 60.0
"""Seconds from which the estimate is a warning, so that it is seen where nobody listens to information."""

# an ensemble never changes, and a second run of the same method on it, for another number of clusters, needs no trial
_tried: WeakKeyDictionary[Ensemble, set[str]] = WeakKeyDictionary()


def tell_duration(name: str, ensemble: Ensemble, run: Callable[[Ensemble], object]) -> None:
    """Estimate how long `run` will take on all rows and log it, as information or, above a minute, as a warning.

    `run` is called with three small samples of the rows: the first one compiles and warms up, and the other two show
    how the time grows with the number of rows. The record has the estimate as its attribute ``seconds``.
    """
    tried = _tried.setdefault(ensemble, set())
    if ensemble.n_rows < TRIED_FROM or name in tried:
        return
    tried.add(name)
    large = min(ensemble.n_rows // PART, MOST_TRIED)
    _seconds(ensemble, WARM_UP, run)
    first, second = _seconds(ensemble, large // 2, run), _seconds(ensemble, large, run)
    _tell(name, ensemble, extrapolate(first, second, ensemble.n_rows / large))


def tell_linear_duration(name: str, ensemble: Ensemble, run: Callable[[Ensemble], object]) -> None:
    """Estimate and log, as `tell_duration` does, how long a method will take whose time grows as the rows do.

    Such a method rarely takes so long that a warning is due, so that it is tried only if somebody listens.
    """
    tried = _tried.setdefault(ensemble, set())
    if ensemble.n_rows < LINEAR_TRIED_FROM or name in tried or not logger.isEnabledFor(logging.INFO):
        return
    tried.add(name)
    _seconds(ensemble, WARM_UP, run)
    small, large = LINEAR_PARTS
    first, second = _seconds(ensemble, small, run), _seconds(ensemble, large, run)
    per_row = max(second - first, 0.0) / (large - small)
    _tell(name, ensemble, second + per_row * (ensemble.n_rows - large))


def _tell(name: str, ensemble: Ensemble, estimate: float) -> None:
    level = logging.WARNING if estimate >= SLOW else logging.INFO
    logger.log(
        level,
        "%s on %s distinct rows will take about %s",
        name,
        f"{ensemble.n_rows:,}",
        _check.duration(estimate),
        extra={"seconds": estimate},
    )


def extrapolate(first: float, second: float, times: float) -> float:
    """The time for `times` as many rows, where `second` was for twice as many rows as `first`; a power law."""
    power = math.log2(max(second, 1e-6) / max(first, 1e-6))
    # other work on the machine may make the powers of two short runs absurd
    return float(second * times ** min(max(power, LEAST_POWER), MOST_POWER))


def _seconds(ensemble: Ensemble, n_rows: int, run: Callable[[Ensemble], object]) -> float:
    rows = np.sort(np.random.default_rng(0).choice(ensemble.n_rows, size=n_rows, replace=False))
    part = select_rows(ensemble, rows, ensemble.counts[rows])
    part.remember(is_distinct=True)
    start = time.perf_counter()
    run(part)
    seconds = time.perf_counter() - start
    if seconds < SHORT:
        start = time.perf_counter()
        run(part)
        seconds = min(seconds, time.perf_counter() - start)
    return seconds

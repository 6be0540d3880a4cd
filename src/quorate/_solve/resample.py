"""Resampling: some of the objects, two halves of the members, and draws that go on until the answer is clear."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from quorate._data.selection import select_rows
from quorate._types import Ensemble

logger = logging.getLogger("quorate")
Value = TypeVar("Value")


def some_objects(ensemble: Ensemble, most: int, rng: np.random.Generator) -> Ensemble:
    """Draw objects without replacement, each with the same probability; all of them if they are no more than `most`."""
    if ensemble.n_objects <= most:
        return ensemble
    return select_rows(ensemble, *some_rows(ensemble, most, rng))


def some_rows(ensemble: Ensemble, most: int, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Draw objects as `some_objects` does; return their rows, in order, and how many objects of each were drawn."""
    ends = np.cumsum(ensemble.counts)
    if ends[-1] <= most:
        return np.arange(ensemble.n_rows), ensemble.counts
    places = rng.choice(int(ends[-1]), size=most, replace=False, shuffle=False)
    rows, drawn = np.unique(np.searchsorted(ends, places, side="right"), return_counts=True)
    return rows, drawn.astype(np.int64)


def two_halves(order: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Divide members that are in a random order into two halves, each sorted; the second one has the odd member."""
    return np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])


def until_clear(
    draw: Callable[[int], Value],
    is_clear: Callable[[list[Value]], bool],
    *,
    limits: tuple[int, int],
    wanted: int = 0,
    step: str = "",
) -> list[Value]:
    """Draw values one after another, a sequential test: until the answer is clear, or as often as is `wanted`.

    Parameters
    ----------
    draw : callable
        Returns the value of a draw; it gets its number, counted from 1, as part of its seed.
    is_clear : callable
        Whether the values that were drawn so far are enough.
    limits : (int, int)
        The least number of draws before a clear answer ends the test, and the number after which it ends in any case.
    wanted : int
        A number of draws that the user wants; then neither the limits nor `is_clear` count.
    step : str
        What is said in the log while values are drawn, with the share that is done; nothing if it is empty.
    """
    fewest, most = limits
    values: list[Value] = []
    while len(values) < (wanted or most) and (wanted or len(values) < fewest or not is_clear(values)):
        values.append(draw(len(values) + 1))
        if step:
            logger.info(step, extra={"share": len(values) / (wanted or most)})
    return values

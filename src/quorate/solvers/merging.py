"""Merge the columns of a soft assignment, losing as little information about the objects as possible."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from quorate._types import FloatArray


def merge_columns(shares: FloatArray, counts: NDArray[np.int64], n_columns: int) -> tuple[NDArray[np.intp], float]:
    """Group the columns of shares (m, k), rows summing to 1, into n_columns; returns groups and the information kept.

    Agglomerative information bottleneck: merging columns r and s loses
    sum_i p_i [x(r_i) + x(s_i) - x(r_i + s_i)] - [x(R) + x(S) - x(R + S)], where x(z) = z log z and R, S are the
    columns' total shares. Losses are compared to 12 digits, so that equal ones are equal; ties go to the first pair.
    """
    weights = counts / counts.sum()
    columns = [shares[:, column] for column in range(shares.shape[1])]
    groups = [[column] for column in range(shares.shape[1])]
    loss = np.full((len(columns), len(columns)), np.inf)
    for column in range(len(columns)):
        _fill(loss, columns, weights, column, range(column))
    alive = list(range(len(columns)))
    while len(alive) > n_columns:
        within = loss[np.ix_(alive, alive)]
        place, other = divmod(int(np.argmin(np.round(within, 12))), len(alive))
        kept, gone = sorted((alive[place], alive[other]))
        columns[kept] = columns[kept] + columns[gone]
        groups[kept] += groups[gone]
        alive.remove(gone)
        _fill(loss, columns, weights, kept, [column for column in alive if column != kept])
    label = np.empty(shares.shape[1], dtype=np.intp)
    for place, column in enumerate(alive):
        label[groups[column]] = place
    return label, _information([columns[column] for column in alive], weights)


def _fill(
    loss: FloatArray, columns: list[FloatArray], weights: FloatArray, column: int, others: list[int] | range
) -> None:
    own, total = _parts(columns[column], weights)
    for other in others:
        theirs, their_total = _parts(columns[other], weights)
        both, both_total = _parts(columns[column] + columns[other], weights)
        value = (own + theirs - both) - (total + their_total - both_total)
        # information never grows by merging: a negative loss is rounding
        loss[column, other] = loss[other, column] = max(value, 0.0)


def _parts(column: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Weighted sum of x log x, and x log x of the weighted sum."""
    total = float(weights @ column)
    return float(weights @ xlogy(column, column)), float(xlogy(total, total))


def _information(columns: list[FloatArray], weights: FloatArray) -> float:
    parts = [_parts(column, weights) for column in columns]
    return sum(part[0] - part[1] for part in parts)

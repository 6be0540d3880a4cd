"""Merge the columns of a soft assignment, losing as little information about the objects as possible."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from quorate._types import FloatArray
from quorate.solvers.label_rows import weighted_total


def merge_columns(shares: FloatArray, counts: NDArray[np.int64], n_columns: int) -> NDArray[np.intp]:
    """Group the columns of shares (m, k), rows summing to 1, into n_columns; the group of each column.

    Agglomerative information bottleneck: merging columns r and s loses
    sum_i p_i [x(r_i) + x(s_i) - x(r_i + s_i)] - [x(R) + x(S) - x(R + S)], where x(z) = z log z and R, S are the
    columns' total shares. Losses are compared to 12 digits, so that equal ones are equal; ties go to the first pair.
    """
    weights = counts / counts.sum()
    columns = list(np.ascontiguousarray(shares.T))
    kept_by = np.array([column_information(column, weights) for column in columns])
    groups = [[column] for column in range(len(columns))]
    loss = np.full((len(columns), len(columns)), np.inf)

    def fill(column: int, others: list[int] | range) -> None:
        for other in others:
            joined = column_information(columns[column] + columns[other], weights)
            # information never grows by merging: a negative loss is rounding
            loss[column, other] = loss[other, column] = max(kept_by[column] + kept_by[other] - joined, 0.0)

    for column in range(len(columns)):
        fill(column, range(column))
    alive = list(range(len(columns)))
    while len(alive) > n_columns:
        within = loss[np.ix_(alive, alive)]
        place, other = divmod(int(np.argmin(np.round(within, 12))), len(alive))
        kept, gone = sorted((alive[place], alive[other]))
        columns[kept] = columns[kept] + columns[gone]
        kept_by[kept] = column_information(columns[kept], weights)
        groups[kept] += groups[gone]
        alive.remove(gone)
        fill(kept, [column for column in alive if column != kept])
    label = np.empty(shares.shape[1], dtype=np.intp)
    for place, column in enumerate(alive):
        label[groups[column]] = place
    return label


def column_information(column: FloatArray, weights: FloatArray) -> float:
    """What a column of shares tells about the objects, in nats: sum of p x log x, less the same of its total."""
    total = weighted_total(weights, column)
    return weighted_total(weights, xlogy(column, column)) - float(xlogy(total, total))

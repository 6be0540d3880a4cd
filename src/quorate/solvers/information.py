"""Mutual information from count tables."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quorate._types import Ensemble, FloatArray
from quorate.ops.tables import cluster_counts

Average = Literal["geometric", "arithmetic"]


def table_nmi(table: NDArray[np.int64], average: Average = "geometric") -> float:
    """NMI of a contingency table. Two trivial labellings agree (1); one trivial labelling tells nothing (0)."""
    total = float(table.sum())
    rows, columns = table.sum(axis=1).astype(np.float64), table.sum(axis=0).astype(np.float64)
    first, second = _entropy(rows, total), _entropy(columns, total)
    if (rows > 0).sum() <= 1 or (columns > 0).sum() <= 1:
        return 1.0 if (rows > 0).sum() == (columns > 0).sum() else 0.0
    mean = np.sqrt(first * second) if average == "geometric" else (first + second) / 2
    information = first + second - _entropy(table.astype(np.float64).ravel(), total)
    # rounding can carry the quotient past the ends of [0, 1]
    return float(min(max(information / mean, 0.0), 1.0))


def _entropy(counts: FloatArray, total: float) -> float:
    shares = counts[counts > 0] / total
    return float(-(shares @ np.log(shares)))


def nmi_to_members(
    ensemble: Ensemble, labels: NDArray[np.int32], n_clusters: int, average: Average = "geometric"
) -> tuple[FloatArray, FloatArray]:
    """NMI of a labelling (-1: unlabelled) with each member on the objects both know, and how many those are.

    A member that shares no object with the labelling has NMI 0 on 0 objects.
    """
    stacked = cluster_counts(ensemble.labels, ensemble.offsets, ensemble.counts, labels, n_clusters)
    tables = np.split(stacked, ensemble.offsets[1:-1])
    known = np.array([float(table.sum()) for table in tables])
    values = [table_nmi(table, average) if table.any() else 0.0 for table in tables]
    return np.array(values), known


def weighted_anmi(ensemble: Ensemble, values: FloatArray, known: FloatArray) -> float:
    """Mean NMI, each member by its weight times the number of objects it was compared on."""
    importance = ensemble.weights * known
    return float(importance @ values / importance.sum())

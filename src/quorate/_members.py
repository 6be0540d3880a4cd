"""How the members of an ensemble agree with one another."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate import _check
from quorate._ensemble import as_ensemble, compress
from quorate._types import Ensemble, FloatArray
from quorate.solvers.contingency import AVERAGES, Average, member_contingencies, nmi


def member_nmi_matrix(ensemble: Any, *, average: Average = "geometric") -> FloatArray:
    """NMI of every two members on the objects both know; NaN where there are none.

    Parameters
    ----------
    ensemble : Ensemble, or anything `as_ensemble` takes
    average : {"geometric", "arithmetic"}
        As for `nmi`.

    Returns
    -------
    array of shape (n_members, n_members)
        Symmetric, with ones on the diagonal.

    Examples
    --------
    >>> member_nmi_matrix([[0, 0, 1, 1], [0, 0, 1, 2], [0, 1, 0, 1]]).round(3)
    array([[1.   , 0.816, 0.   ],
           [0.816, 1.   , 0.408],
           [0.   , 0.408, 1.   ]])
    """
    _check.choice(average, "average", AVERAGES)
    return member_pairs(as_ensemble(ensemble), average)[0]


def member_anmi(ensemble: Any, *, average: Average = "geometric") -> FloatArray:
    """ANMI of each member with the other members; NaN for one that shares objects with no other.

    Parameters
    ----------
    ensemble : Ensemble, or anything `as_ensemble` takes
    average : {"geometric", "arithmetic"}
        As for `nmi`.

    Returns
    -------
    array of shape (n_members,)

    Examples
    --------
    >>> member_anmi([[0, 0, 1, 1], [0, 0, 1, 2], [0, 1, 0, 1]]).round(3)
    array([0.408, 0.612, 0.204])
    """
    _check.choice(average, "average", AVERAGES)
    ensemble = as_ensemble(ensemble)
    values, shared = member_pairs(ensemble, average)
    return _mean_of_others(values, shared * ensemble.weights)


def member_pairs(ensemble: Ensemble, average: Average) -> tuple[FloatArray, FloatArray]:
    """NMI of every two members, and on how many objects; (n_members, n_members) each."""
    rows, _ = compress(ensemble)
    values = np.full((rows.n_members, rows.n_members), np.nan)
    shared = np.zeros_like(values)
    for member, k in enumerate(rows.n_clusters):
        column = rows.labels[:, member].astype(np.int32)
        for other, table in enumerate(member_contingencies(rows, column, int(k))):
            shared[member, other] = table.total
            if table.total:
                values[member, other] = nmi(table, average)
    return values, shared


def _mean_of_others(values: FloatArray, importance: FloatArray) -> FloatArray:
    others = importance * ~np.eye(len(values), dtype=bool)
    sums, totals = (others * np.nan_to_num(values)).sum(axis=1), others.sum(axis=1)
    means: FloatArray = np.divide(sums, totals, out=np.full(len(values), np.nan), where=totals > 0)
    return means


def member_scores(ensemble: Ensemble) -> tuple[float | None, float | None]:
    """Mean NMI over pairs of members, and the best member's ANMI; None where no pair shares an object."""
    values, shared = member_pairs(ensemble, "geometric")
    others = _mean_of_others(values, shared * ensemble.weights)
    if np.isnan(others).all():
        return None, None
    weights = np.outer(ensemble.weights, ensemble.weights) * shared
    np.fill_diagonal(weights, 0.0)
    return float((weights * np.nan_to_num(values)).sum() / weights.sum()), float(np.nanmax(others))

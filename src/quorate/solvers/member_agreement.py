"""How the members of an ensemble agree with one another, and what share of the objects they leave out."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from quorate._types import Ensemble, FloatArray
from quorate.solvers.contingency import Average, Contingency, member_contingencies, nmi, pair_contingencies
from quorate.solvers.label_rows import objects_in


def member_pairs(ensemble: Ensemble, average: Average) -> tuple[FloatArray, FloatArray]:
    """NMI of any two members, and the number of objects both know; (n_members, n_members) each."""
    values = np.full((ensemble.n_members, ensemble.n_members), np.nan)
    shared = np.zeros_like(values)
    for member, tables in enumerate(_tables_of_pairs(ensemble)):
        # the same either way round, so once is enough
        for other, table in enumerate(tables, start=member):
            shared[member, other] = shared[other, member] = table.total
            if table.total:
                values[member, other] = values[other, member] = nmi(table, average)
    return values, shared


def _tables_of_pairs(ensemble: Ensemble) -> Iterable[list[Contingency]]:
    """The tables of each member with itself and with those after it."""
    if ensemble.card is not None:
        return pair_contingencies(ensemble)
    return (
        member_contingencies(ensemble, ensemble.labels[:, member].astype(np.int32), int(k))[member:]
        for member, k in enumerate(ensemble.n_clusters)
    )


def mean_of_others(values: FloatArray, importance: FloatArray) -> FloatArray:
    """Weighted mean of each row off the diagonal; NaN where nothing there has any weight."""
    others = importance * ~np.eye(len(values), dtype=bool)
    sums, totals = (others * np.nan_to_num(values)).sum(axis=1), others.sum(axis=1)
    means: FloatArray = np.divide(sums, totals, out=np.full(len(values), np.nan), where=totals > 0)
    return means


def member_scores(ensemble: Ensemble) -> tuple[float | None, float | None]:
    """Mean NMI over pairs of members, and the best member's ANMI; None where no pair shares an object."""
    return pair_scores(*member_pairs(ensemble, "geometric"), ensemble.weights)


def pair_scores(
    values: FloatArray, shared: FloatArray, member_weights: FloatArray
) -> tuple[float | None, float | None]:
    """The scores of `member_scores` from the two tables of `member_pairs`."""
    others = mean_of_others(values, shared * member_weights)
    if np.isnan(others).all():
        return None, None
    weights = np.outer(member_weights, member_weights) * shared
    np.fill_diagonal(weights, 0.0)
    return float((weights * np.nan_to_num(values)).sum() / weights.sum()), float(np.nanmax(others))


def missing_shares(ensemble: Ensemble) -> FloatArray:
    """Share of the objects that each member leaves out, (H,)."""
    if not ensemble.has_missing:
        return np.zeros(ensemble.n_members)
    if ensemble.card is not None:
        known = np.add.reduceat(objects_in(ensemble), ensemble.offsets[:-1])
        return 1.0 - known / ensemble.n_objects
    shares: FloatArray = (ensemble.labels < 0).T @ ensemble.counts / ensemble.n_objects
    return shares

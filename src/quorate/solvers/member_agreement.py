"""How the members of an ensemble agree with one another, and what share of the objects they leave out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._types import Ensemble, FloatArray, read_only
from quorate.ops.member_pairs import nmi_with_later
from quorate.solvers.contingency import Average, contingency, nmi, pair_contingencies
from quorate.solvers.label_rows import objects_in

MOST_MEMBERS = 500
"""Members of which all pairs are compared for scores; of more members as many are drawn."""
GOLDEN_RATIO = 0.6180339887498949
"""Its multiples, less their whole parts, fill the interval from 0 to 1 evenly and without a period."""
SMALL_TABLE = 65_536
"""Cells of a table between two members that may be counted densely, however few rows there are."""


def member_pairs(
    ensemble: Ensemble, average: Average, members: NDArray[np.intp] | None = None
) -> tuple[FloatArray, FloatArray]:
    """NMI of any two of the given members (all by default), and the number of objects both know; square tables."""
    chosen = np.arange(ensemble.n_members) if members is None else members
    values = np.full((len(chosen), len(chosen)), np.nan)
    shared = np.zeros_like(values)
    if ensemble.card is not None:
        for place, other, pair in pair_contingencies(ensemble, chosen):
            shared[place, other] = shared[other, place] = pair.total
            if pair.total:
                values[place, other] = values[other, place] = nmi(pair, average)
        return values, shared
    columns, sizes = read_only(ensemble.labels[:, chosen].T), read_only(ensemble.n_clusters[chosen])
    is_small = int(sizes.max()) ** 2 <= max(ensemble.n_rows, SMALL_TABLE)
    for place in range(len(chosen)):
        found = values[place], shared[place]
        if is_small:
            nmi_with_later(columns, sizes, ensemble.counts, place, average == "geometric", *found)
        else:
            _sparse_pairs(columns, sizes, ensemble.counts, place, average, *found)
        # the same either way round, so once is enough
        for table in (values, shared):
            table[place:, place] = table[place, place:]
    return values, shared


def _sparse_pairs(
    columns: NDArray[Any],
    sizes: NDArray[np.int64],
    counts: NDArray[np.int64],
    place: int,
    average: Average,
    values: FloatArray,
    shared: FloatArray,
) -> None:
    """Do what `nmi_with_later` does where clusters are so many that tables between two members are nearly empty."""
    for other in range(place, len(columns)):
        table = contingency(columns[place], columns[other], int(sizes[place]), int(sizes[other]), counts)
        shared[other] = table.total
        if table.total:
            values[other] = nmi(table, average)


def some_members(ensemble: Ensemble) -> NDArray[np.intp]:
    """All members, or `MOST_MEMBERS` of them at about even distances in an order that follows from their labels.

    Comparing all pairs takes time that grows with the square of the number of members. One member is taken from each
    of as many stretches of that order, at places within them that have no period: members at exactly even distances
    could all belong to one of the groups that `evaluate` leaves out together.
    """
    if ensemble.n_members <= MOST_MEMBERS:
        return np.arange(ensemble.n_members)
    columns = np.ascontiguousarray(ensemble.labels.T)
    order = np.array(sorted(range(ensemble.n_members), key=lambda q: (columns[q].tobytes(), ensemble.weights[q])))
    edges = np.arange(MOST_MEMBERS + 1) * ensemble.n_members // MOST_MEMBERS
    within = np.arange(MOST_MEMBERS) * GOLDEN_RATIO % 1
    return np.sort(order[edges[:-1] + (within * np.diff(edges)).astype(np.intp)])


def mean_of_others(values: FloatArray, importance: FloatArray) -> FloatArray:
    """Weighted mean of each row off the diagonal; NaN where nothing there has any weight."""
    others = importance * ~np.eye(len(values), dtype=bool)
    sums, totals = (others * np.nan_to_num(values)).sum(axis=1), others.sum(axis=1)
    means: FloatArray = np.divide(sums, totals, out=np.full(len(values), np.nan), where=totals > 0)
    return means


def member_scores(ensemble: Ensemble) -> tuple[float | None, float | None]:
    """Mean NMI over pairs of members, and the best member's ANMI; None where no pair shares an object.

    Of more than `MOST_MEMBERS` members as many are compared, see `some_members`.
    """
    chosen = some_members(ensemble)
    return pair_scores(*member_pairs(ensemble, "geometric", chosen), ensemble.weights[chosen])


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

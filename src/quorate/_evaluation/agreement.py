"""The one definition of agreement: how well a labelling matches members that it was not made from."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._consensus.procedure import Drawn, Procedure, repeat
from quorate._data.selection import select_members
from quorate._types import Ensemble, FloatArray
from quorate.solvers.contingency import ari, contingency, member_contingencies, nmi
from quorate.solvers.member_agreement import mean_of_others, member_pairs, some_members

MOST_FOLDS = 5
"""Up to this many members each is left out in turn; above, members are left out in this many groups."""

N_HALVINGS = 3
"""How often the members are divided into two halves at random."""


class Agreement(NamedTuple):
    """The mean NMI with members that were left out, for three ways to get a labelling from the other members.

    `consensus` is the procedure itself, `mean_member` takes a member at random, and `best_member` takes the member that
    agrees best with the others that were not left out. None where nothing could be compared.
    """

    consensus: float | None
    mean_member: float | None
    best_member: float | None


def held_out_agreement(drawn: Drawn, procedure: Procedure) -> Agreement:
    """Leave members out group by group, repeat the procedure on the rest, and compare with those left out.

    Consensus and members are judged alike: by members that had no part in making or in choosing them. Of very many
    members only some are compared with one another, see `some_members`. Nothing is measured if there is a single
    member, or if the method refuses the members that are left.
    """
    if drawn.ensemble.n_members < 2:
        return Agreement(None, None, None)
    compared = some_members(drawn.ensemble)
    values, shared = member_pairs(drawn.ensemble, "geometric", compared)
    weights = drawn.ensemble.weights[compared]
    judged: list[list[tuple[float, float]]] = [[], [], []]
    for number, judges in enumerate(folds(drawn.ensemble)):
        others = np.setdiff1d(np.arange(drawn.ensemble.n_members), judges)
        if procedure.is_known:
            judged[0] += _judge_consensus(drawn.ensemble, procedure, judges, others, number)
        is_judge = np.isin(compared, judges)
        inside, outside = np.flatnonzero(is_judge), np.flatnonzero(~is_judge)
        block = np.ix_(outside, inside)
        pairs = shared[block] * np.outer(weights[outside], weights[inside])
        judged[1] += zip(np.nan_to_num(values[block]).ravel(), pairs.ravel(), strict=True)
        best = _best_of(values, shared * weights, outside)
        judged[2] += zip(np.nan_to_num(values[best, inside]), shared[best, inside] * weights[inside], strict=True)
    return Agreement(*map(_mean, judged))


def reproducibility(drawn: Drawn, procedure: Procedure) -> float | None:
    """Return how alike the consensuses of two halves of the members are: the mean ARI over random halvings.

    It is about 0 if the members share nothing, and 1 if either half leads to the same clusters. None if there is a
    single member, or if the method refuses the halves.
    """
    n_members = drawn.ensemble.n_members
    if n_members < 2:
        return None
    rng = np.random.default_rng((procedure.seed, n_members))
    order = np.concatenate(folds(drawn.ensemble))
    found = []
    for number in range(N_HALVINGS if n_members > 2 else 1):
        mixed = order[rng.permutation(n_members)]
        halves = np.sort(mixed[: n_members // 2]), np.sort(mixed[n_members // 2 :])
        try:
            one, other = (
                repeat(procedure, select_members(drawn.ensemble, half), 2 * number + place)
                for place, half in enumerate(halves)
            )
        except (ValueError, MemoryError):
            return None
        table = contingency(one, other, int(one.max()) + 1, int(other.max()) + 1, drawn.ensemble.counts)
        if len(table.counts):
            found.append(ari(table))
    return math.fsum(found) / len(found) if found else None


def folds(ensemble: Ensemble) -> list[NDArray[np.intp]]:
    """Return the groups of members that are left out together; they do not depend on the order of the members."""
    columns = np.ascontiguousarray(ensemble.labels.T)
    order = sorted(range(ensemble.n_members), key=lambda member: columns[member].tobytes())
    n_folds = min(ensemble.n_members, MOST_FOLDS)
    return [np.sort(np.array(order[fold::n_folds], dtype=np.intp)) for fold in range(n_folds)]


def _judge_consensus(
    ensemble: Ensemble, procedure: Procedure, judges: NDArray[np.intp], others: NDArray[np.intp], number: int
) -> list[tuple[float, float]]:
    """Return the NMI of each judge with the consensus of the others, and its importance; nothing if that is refused."""
    try:
        labels = repeat(procedure, select_members(ensemble, others), number)
    except (ValueError, MemoryError):
        # for example a method that takes one of the members as it is, and none of the others has so many clusters
        return []
    tables = member_contingencies(select_members(ensemble, judges), labels, int(labels.max()) + 1)
    return [
        (nmi(table, "geometric"), table.total * float(weight))
        for table, weight in zip(tables, ensemble.weights[judges], strict=True)
        if table.total
    ]


def _best_of(values: FloatArray, importance: FloatArray, others: NDArray[np.intp]) -> int:
    """Return the member that agrees best with the others of its group."""
    block = np.ix_(others, others)
    scores = mean_of_others(values[block], importance[block])
    return int(others[0] if np.isnan(scores).all() else others[np.nanargmax(scores)])


def _mean(judged: list[tuple[float, float]]) -> float | None:
    total = math.fsum(weight for _, weight in judged)
    return math.fsum(value * weight for value, weight in judged) / total if total else None

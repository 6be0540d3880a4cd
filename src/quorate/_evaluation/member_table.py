"""members: how each member stands beside a labelling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quorate._data.compression import compress
from quorate._data.ensemble import as_ensemble
from quorate._data.labelling import code_labelling
from quorate._evaluation.scored import score_labelling
from quorate._summaries import MemberTable, Standing
from quorate._types import FloatArray
from quorate.solvers.member_agreement import mean_of_others, member_pairs, missing_shares

APART = 0.5
"""A member stands apart whose NMI with the consensus is below this share of the median member's."""


def members(labels: Any, ensemble: Any) -> MemberTable:
    """For each member its agreement with a labelling, its clusters, what it leaves out, and how far it stands apart.

    Parameters
    ----------
    labels : Consensus, or labels of the objects
        One label per row of the ensemble; unlabelled rows are left out.
    ensemble : Ensemble, or anything `as_ensemble` takes

    Returns
    -------
    MemberTable
        One row per member; `as_dict` and `to_frame` for machines.

    See Also
    --------
    profiles : which labels of the members each cluster is made of.

    Notes
    -----
    A member stands apart if its agreement is below half that of the median member. It may be a bad clustering, or one
    that looks at another side of the objects. The agreement between members costs O(rows x members^2).

    Examples
    --------
    >>> members([0, 0, 1, 1], {"a": [0, 0, 1, 1], "b": [0, 0, 1, 2], "odd": [0, 1, 0, 1]})
    member  clusters  missing  agreement  with others   apart
    a              2     0.0%      1.000        0.408  -0.225
    b              3     0.0%      0.816        0.612   0.000
    odd            2     0.0%      0.000        0.204   1.000  stands apart
    """
    table = as_ensemble(ensemble)
    labelling = code_labelling(labels, "labels", table.n_rows)
    agreement = score_labelling(labelling, table).member_nmi()
    distinct, _ = compress(table)
    values, shared = member_pairs(distinct, "geometric")
    others = mean_of_others(values, shared * distinct.weights)
    apart = standing_apart(agreement)
    return MemberTable(
        tuple(
            Standing(
                member=name,
                clusters=int(table.n_clusters[place]),
                missing=float(missing),
                weight=float(table.weights[place]),
                agreement=_told(agreement[place]),
                with_others=_told(others[place]),
                apart=_told(apart[place]),
                stands_apart=bool(apart[place] > 1 - APART),
            )
            for place, (name, missing) in enumerate(zip(table.member_names, missing_shares(table), strict=True))
        )
    )


def standing_apart(agreement: FloatArray) -> FloatArray:
    """1 - agreement / that of the median member; NaN where it cannot be told, 0 where the median agrees in nothing."""
    if np.isnan(agreement).all():
        return agreement
    median = float(np.nanmedian(agreement))
    result: FloatArray = 1 - agreement / median if median > 0 else np.where(np.isnan(agreement), np.nan, 0.0)
    return result


def _told(value: float) -> float | None:
    return None if math.isnan(value) else float(value)

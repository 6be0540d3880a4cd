"""`members` and `profiles`: how well members agree with a labelling, and the labels that its clusters consist of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quorate._data.ensemble import as_ensemble
from quorate._data.labelling import Pairing, code_beside, pair_rows
from quorate._data.rows import compress
from quorate._evaluation.scores import score_labelling
from quorate._summaries import MemberTable, Profiles, Standing
from quorate._types import FloatArray
from quorate.ops.tables import cluster_counts
from quorate.solvers.members import mean_of_others, member_pairs, missing_shares

APART = 0.5
"""A member stands apart if its NMI with the consensus is below this share of the median over members."""


def members(labels: Any, ensemble: Any) -> MemberTable:
    """Return for each member its NMI with a labelling, its clusters, its missing labels, and how far it is apart.

    Parameters
    ----------
    labels : Consensus, or labels of the objects
        One label per row of the ensemble. Rows without a label are left out.
    ensemble : Ensemble, or anything `as_ensemble` takes

    Returns
    -------
    MemberTable
        One row per member; `as_dict` and `to_frame` return the same for use in programs.

    See Also
    --------
    profiles : which labels of the members each cluster is made of.

    Notes
    -----
    A member stands apart if its NMI is below half the median over members. It may be a poor clustering, or one
    that describes another aspect of the objects. The NMI between members costs O(rows x members^2).

    Examples
    --------
    >>> members([0, 0, 1, 1], {"a": [0, 0, 1, 1], "b": [0, 0, 1, 2], "odd": [0, 1, 0, 1]})
    member  clusters  missing    nmi  with others   apart
    a              2     0.0%  1.000        0.408  -0.225
    b              3     0.0%  0.816        0.612   0.000
    odd            2     0.0%  0.000        0.204   1.000  stands apart
    """
    table = as_ensemble(ensemble)
    labelling = code_beside(labels, "labels", table)
    nmi = score_labelling(labelling, table).member_nmi()
    distinct, _ = compress(table)
    values, shared = member_pairs(distinct, "geometric")
    others = mean_of_others(values, shared * distinct.weights)
    apart = standing_apart(nmi)
    return MemberTable(
        tuple(
            Standing(
                member=name,
                clusters=int(table.n_clusters[place]),
                missing=float(missing),
                weight=float(table.weights[place]),
                nmi=_none_for_nan(nmi[place]),
                with_others=_none_for_nan(others[place]),
                apart=_none_for_nan(apart[place]),
                stands_apart=bool(apart[place] > 1 - APART),
            )
            for place, (name, missing) in enumerate(zip(table.member_names, missing_shares(table), strict=True))
        )
    )


def standing_apart(nmi: FloatArray) -> FloatArray:
    """Return 1 - nmi / median nmi.

    It is NaN for members whose NMI is not known, and 0 if the median NMI is 0.
    """
    if np.isnan(nmi).all():
        return nmi
    median = float(np.nanmedian(nmi))
    result: FloatArray = 1 - nmi / median if median > 0 else np.where(np.isnan(nmi), np.nan, 0.0)
    return result


def _none_for_nan(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def profiles(labels: Any, ensemble: Any) -> Profiles:
    """Return for each cluster the share of each label of each member in it.

    Parameters
    ----------
    labels : Consensus, or labels of the objects
        One label per row of the ensemble. Rows without a label are left out.
    ensemble : Ensemble, or anything `as_ensemble` takes

    Returns
    -------
    Profiles
        It is printed with one line per cluster that shows the most frequent label of each member. ``of(cluster)`` lists
        all labels of a cluster; `as_dict` and `to_frame` contain everything.

    See Also
    --------
    members : How well each member agrees with the labelling, one line per member.

    Notes
    -----
    Shares refer to the objects that a member labels, so that they add up to 1 for each member and cluster. Compare a
    share with `overall`, the share of that label among all objects: a label that is frequent everywhere does not
    distinguish the cluster. The cost is O(rows x members).

    Examples
    --------
    >>> from quorate import consensus
    >>> segments = {"marketing": ["Deals", "Deals", "Deals", "Gold", "Gold"], "web": ["M", "M", "S", "S", None]}
    >>> profiles(consensus(segments, 2, random_state=0), segments)
    0  3 objects (60%)  marketing Deals 100%, web M 67%
    1  2 objects (40%)  marketing Gold 100%, web S 100%
    """
    members = as_ensemble(ensemble)
    labelling = code_beside(labels, "labels", members)
    pairs = pair_rows(members, labelling.codes, labelling.n_clusters)
    return profiles_of_pairs(pairs, tuple(map(str, labelling.categories.tolist())))


def profiles_of_pairs(pairs: Pairing, cluster_names: tuple[str, ...]) -> Profiles:
    """The profiles of clusters whose pairs with the rows of an ensemble are known already."""
    rows = pairs.rows
    return Profiles(
        cluster_names=cluster_names,
        sizes=pairs.sizes.astype(np.int64),
        member_names=rows.member_names,
        categories=rows.categories,
        counts=cluster_counts(rows.labels, rows.offsets, rows.counts, pairs.labels, pairs.n_clusters),
    )

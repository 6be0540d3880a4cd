"""`profiles`: the labels of each member that the clusters consist of."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate._data.ensemble import as_ensemble
from quorate._data.labelling import code_beside
from quorate._data.pairing import Pairing, pair_rows
from quorate._summaries import Profiles
from quorate.ops.tables import cluster_counts


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

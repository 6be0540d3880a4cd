"""MCLA: the members' clusters grouped into meta-clusters, which then compete for each row."""

from __future__ import annotations

import numpy as np

from quorate import _check
from quorate._types import AnyEnsemble, Consensus, Method
from quorate.ops.coding import canonical
from quorate.solvers.confidence import row_confidence
from quorate.solvers.graphs.ensemble_graphs import meta_graph
from quorate.solvers.graphs.meta_clusters import winners, winning_share
from quorate.solvers.graphs.row_partition import fill_clusters, forced_partition, least_cut
from quorate.solvers.labellings import by_member_name, in_content_order


def mcla(
    ensemble: AnyEnsemble,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    imbalance: float = 0.1,
    n_init: int = 10,
) -> Consensus:
    """Group the members' clusters into balanced meta-clusters with METIS; each row goes where it belongs most.

    Parameters
    ----------
    ensemble : Ensemble or SoftEnsemble
    n_clusters : int
        At most the number of clusters of all members together.
    rng : numpy.random.Generator
        Draws the seeds of METIS and breaks ties between meta-clusters.
    imbalance : float
        A meta-cluster may hold 1 + imbalance times the mean number of clusters.
    n_init : int
        Cuts by METIS tried, of its two schemes in turn; the least wins. The graph of clusters is small, and a poor
        cut costs much.

    Returns
    -------
    Consensus
        `objective` is the cut, to be minimised: the Jaccard indices (by the weights of both members) between
        clusters of different meta-clusters; 0 where the answer is forced. `confidence` is the share (by member weight)
        of a row's known labels that fall into its winning meta-cluster. ``info["meta_clusters"]`` holds for each
        member the meta-cluster of each of its clusters, numbered as the labels; None where the answer is forced.
        ``info["n_repaired"]`` counts meta-clusters that won no row.

    Notes
    -----
    A row's association with a meta-cluster is the mean of its indicators over the clusters in it, by member weight.
    Balance concerns meta-clusters: the clusters of objects may be of any size. Where we differ: the paper lets
    meta-clusters that win no object drop out; here each of them takes the row least co-associated with its own
    cluster, for exactly n_clusters are promised. O(m H^2) time for the Jaccard indices of H members on m rows; memory
    O(m H) and the meta-graph.

    Soft members: memberships take the place of indicators everywhere, and the Jaccard index becomes the extended one,
    a.b / (|a|^2 + |b|^2 - a.b) for two clusters' columns of memberships; no edge joins clusters of one member.

    References
    ----------
    .. [1] A. Strehl, J. Ghosh, "Cluster Ensembles", JMLR 3, 2002, doi:10.1162/153244303321897735, section 3.4.

    Examples
    --------
    The example of the paper; None is a missing label:

    >>> from quorate import consensus
    >>> members = [[0, 0, 0, 1, 1, 2, 2], [1, 1, 1, 2, 2, 0, 0], [0, 0, 1, 1, 2, 2, 2], [0, 1, None, 0, 1, None, None]]
    >>> result = consensus(members, 3, method="mcla", random_state=0)
    >>> result.labels.tolist(), result.confidence.round(2).tolist()
    ([0, 0, 0, 1, 1, 2, 2], [0.75, 1.0, 0.67, 1.0, 0.5, 1.0, 1.0])
    """
    imbalance = _check.fraction(imbalance, "imbalance", low=0.001, high=10.0)
    n_init = _check.integer(n_init, "n_init", low=1)
    ordered = in_content_order(ensemble)
    found = forced_partition(ordered, n_clusters)
    if found is not None:
        confidence = row_confidence(ordered, found)
        info = {"meta_clusters": None, "n_repaired": 0}
        return Consensus(labels=canonical(found, n_clusters), objective=0.0, confidence=confidence, info=info)
    graph = meta_graph(ordered)
    if n_clusters > graph.shape[0]:
        raise ValueError(
            f"n_clusters = {n_clusters:,} is more than the {graph.shape[0]:,} clusters of all members, which mcla "
            f"groups; ask for fewer, or use another method."
        )
    groups = least_cut(graph, None, n_clusters, rng, imbalance, n_init)
    winner = winners(ordered, groups.labels, n_clusters, rng)
    n_repaired = fill_clusters(ordered, winner, n_clusters)
    labels = canonical(winner, n_clusters)
    numbers = np.empty(n_clusters, dtype=np.int32)
    numbers[winner] = labels
    meta_clusters = numbers[groups.labels]
    return Consensus(
        labels=labels,
        objective=groups.cut,
        confidence=winning_share(ordered, meta_clusters, labels),
        info={"meta_clusters": by_member_name(ordered, meta_clusters, ensemble.member_names), "n_repaired": n_repaired},
    )


METHOD = Method(
    solve=mcla,
    title="clusters grouped into meta-clusters that compete for objects (METIS)",
    reference="doi:10.1162/153244303321897735",
    stochastic=True,
    soft=True,
)

"""MCLA: the members' clusters grouped into meta-clusters, which then compete for each row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._types import AnyEnsemble, Consensus, Method
from quorate.solvers.graphs.ensemble_graphs import meta_graph
from quorate.solvers.graphs.row_partition import least_cut, meta_cluster_consensus
from quorate.solvers.sizes import meta_clusters


def mcla(
    ensemble: AnyEnsemble,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    imbalance: float = 0.1,
    n_init: int = 10,
    components: bool = True,
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
        Number of cuts by METIS, of its two schemes in turn; the least wins. The graph of clusters is small, and a
        poor cut costs much.
    components : bool
        Whether exactly n_clusters connected components are returned as they are, balanced or not. False cuts the graph
        all the same, as the papers do.

    Returns
    -------
    Consensus
        `objective` is the cut, to be minimised: the Jaccard indices (by the weights of both members) between
        clusters of different meta-clusters; 0 if the answer is forced. ``info["method_confidence"]`` is the share (by
        member weight) of a row's known labels that fall into its winning meta-cluster. ``info["meta_clusters"]``
        holds for each member the meta-cluster of each of its clusters, numbered as the labels; None if the answer is
        forced.
        ``info["n_repaired"]`` counts meta-clusters that won no row.

    Notes
    -----
    The association of a row with a meta-cluster is the mean of its indicators over the clusters in it, by member
    weight. Balance concerns meta-clusters: the clusters of objects may be of any size. Where we differ: the paper lets
    meta-clusters that win no object drop out; here each of them takes the row least co-associated with its own
    cluster, for exactly n_clusters are promised. O(m H^2) time for the Jaccard indices of H members on m rows; memory
    O(m H) and the meta-graph.

    Soft members: memberships take the place of indicators everywhere, and the Jaccard index becomes the extended one,
    ``a.b / (|a|^2 + |b|^2 - a.b)`` for two clusters' columns of memberships; no edge joins clusters of one member.

    References
    ----------
    .. [1] A. Strehl, J. Ghosh, "Cluster Ensembles", JMLR 3, 2002, doi:10.1162/153244303321897735, section 3.4.

    Examples
    --------
    The example of the paper; None is a missing label:

    >>> from quorate import consensus
    >>> members = [[0, 0, 0, 1, 1, 2, 2], [1, 1, 1, 2, 2, 0, 0], [0, 0, 1, 1, 2, 2, 2], [0, 1, None, 0, 1, None, None]]
    >>> result = consensus(members, 3, method="mcla", random_state=0)
    >>> result.labels.tolist(), result.info["method_confidence"].round(2).tolist()
    ([0, 0, 0, 1, 1, 2, 2], [0.75, 1.0, 0.67, 1.0, 0.5, 1.0])
    """
    components = _check.choice(components, "components", (True, False))
    imbalance = _check.fraction(imbalance, "imbalance", low=0.001, high=10.0)

    def group() -> tuple[NDArray[np.int32], float]:
        parts = least_cut(meta_graph(ensemble), None, n_clusters, rng, imbalance, n_init)
        return parts.labels, parts.cut

    return meta_cluster_consensus(ensemble, n_clusters, rng, "mcla", group, components)


METHOD = Method(
    solve=mcla,
    title="clusters grouped into meta-clusters that compete for objects (METIS)",
    reference="doi:10.1162/153244303321897735",
    tables=meta_clusters,
    stochastic=True,
    soft=True,
    by_member=("meta_clusters",),
    weighs=2,
    in_parts=True,
)

"""HBGF: the bipartite graph of rows and clusters cut into balanced parts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._types import AnyEnsemble, Consensus, Method
from quorate.ops.coding import canonical
from quorate.solvers.confidence import row_confidence
from quorate.solvers.graphs.ensemble_graphs import bipartite_graph
from quorate.solvers.graphs.row_partition import cuts, fill_clusters, forced_partition, least_cut
from quorate.solvers.labellings import in_content_order


def hbgf(
    ensemble: AnyEnsemble,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    imbalance: float = 0.1,
) -> Consensus:
    """Partition rows and members' clusters together with METIS, joined where a row carries a cluster's label.

    Parameters
    ----------
    ensemble : Ensemble or SoftEnsemble
    n_clusters : int
    rng : numpy.random.Generator
        Draws the seeds of METIS, of whose two schemes the lesser cut is taken (k-way alone above 50,000 vertices).
    imbalance : float
        A cluster may hold 1 + imbalance times the mean number of objects, where single rows allow it.

    Returns
    -------
    Consensus
        `objective` is the cut, to be minimised: the number of labels (by member weight) whose cluster has the
        larger part of its objects elsewhere. ``info["n_repaired"]`` counts clusters METIS left without a row.

    Notes
    -----
    Rows are vertices that weigh their objects; clusters weigh nothing, so that only objects count for the balance; an
    edge weighs the objects it stands for. O(m H) time and memory for m rows and H members. Wrong, as every balanced
    cut, where clusters are of very different size, except that exactly n_clusters connected components are returned
    as they are. A row that alone outweighs the allowed size makes balance impossible; METIS then balances the rest.
    A cluster without rows takes the row least co-associated with its own cluster. Edges to soft clusters weigh the
    memberships.

    References
    ----------
    .. [1] X. Z. Fern, C. E. Brodley, "Solving cluster ensemble problems by bipartite graph partitioning", ICML 2004,
       doi:10.1145/1015330.1015414.

    Examples
    --------
    >>> from quorate import consensus
    >>> members = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1]]
    >>> result = consensus(members, 2, method="hbgf", random_state=0)
    >>> result.labels.tolist(), result.objective
    ([0, 0, 0, 1, 1, 1], 2.0)
    """
    imbalance = _check.fraction(imbalance, "imbalance", low=0.001, high=10.0)
    ordered = in_content_order(ensemble)
    found, n_repaired = forced_partition(ordered, n_clusters), 0
    if found is None:
        found, n_repaired = _partition(ordered, n_clusters, rng, imbalance)
    labels = canonical(found, n_clusters)
    return Consensus(
        labels=labels,
        objective=cuts(ordered, labels, n_clusters).labels,
        confidence=row_confidence(ordered, labels),
        info={"n_repaired": n_repaired},
    )


def _partition(
    ensemble: AnyEnsemble, k: int, rng: np.random.Generator, imbalance: float
) -> tuple[NDArray[np.int32], int]:
    graph = bipartite_graph(ensemble)
    weightless = np.zeros(graph.shape[0] - ensemble.n_rows, dtype=np.int64)
    vertex_weights = np.concatenate([ensemble.counts, weightless])
    parts = least_cut(graph, vertex_weights, k, rng, imbalance)
    labels = parts.labels[: ensemble.n_rows].copy()
    return labels, max(parts.n_repaired, fill_clusters(ensemble, labels, k))


METHOD = Method(
    solve=hbgf,
    title="balanced cut of the graph of rows and clusters (METIS)",
    reference="doi:10.1145/1015330.1015414",
    stochastic=True,
    soft=True,
)

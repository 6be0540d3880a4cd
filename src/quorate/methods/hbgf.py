"""HBGF: the bipartite graph of rows and clusters cut into balanced parts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._types import AnyEnsemble, Consensus, Method
from quorate.solvers.graphs.ensemble_graphs import bipartite_graph
from quorate.solvers.graphs.row_partition import (
    cuts,
    fill_clusters,
    least_cut,
    partition_by_sample,
    partition_rows,
    partitioned_objects,
)
from quorate.solvers.sizes import few_tables
from quorate.solvers.weights import without_common_factor


def hbgf(
    ensemble: AnyEnsemble, n_clusters: int, *, rng: np.random.Generator, imbalance: float = 0.1, components: bool = True
) -> Consensus:
    """Partition rows and members' clusters together with METIS, joined where a row carries a cluster's label.

    Parameters
    ----------
    ensemble : Ensemble or SoftEnsemble
    n_clusters : int
    rng : numpy.random.Generator
        Draws the seeds of METIS; the smaller cut of its two schemes is taken (k-way alone above 50,000 vertices).
    imbalance : float
        A cluster may hold 1 + imbalance times the mean number of objects, where single rows allow it.
    components : bool
        Whether exactly n_clusters connected components are returned as they are, balanced or not. False cuts the graph
        all the same, as the papers do.

    Returns
    -------
    Consensus
        `objective` is the cut, to be minimised: the number of labels (by member weight) whose cluster has the
        larger part of its objects elsewhere. ``info["n_repaired"]`` counts clusters that METIS left without a row;
        ``info["sample"]`` is the number of objects that were partitioned if these are a sample.

    Notes
    -----
    Rows are vertices that weigh their objects; clusters weigh nothing, so that only objects count for the balance; an
    edge weighs the objects it stands for, and those to soft clusters weigh the memberships. O(m H) time and memory
    for m rows and H members. As every balanced cut it is wrong where clusters are of very different size, except
    that exactly n_clusters connected components are returned as they are. A row that alone outweighs the allowed size
    makes balance impossible; METIS then balances the rest. A cluster without rows takes the row least co-associated
    with its own cluster. Above 131,072 rows the partition is that of a sample of 32,768 objects, and every row goes to
    the part that it shares most with and that has room (docs/decisions/0133).

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
    components = _check.choice(components, "components", (True, False))
    imbalance = _check.fraction(imbalance, "imbalance", low=0.001, high=10.0)

    def partition(part: AnyEnsemble) -> tuple[NDArray[np.int32], int]:
        light = without_common_factor(part)
        graph = bipartite_graph(light)
        weightless = np.zeros(graph.shape[0] - part.n_rows, dtype=np.int64)
        parts = least_cut(graph, np.concatenate([light.counts, weightless]), n_clusters, rng, imbalance)
        labels, n_filled = fill_clusters(light, parts.labels[: part.n_rows].copy(), n_clusters)
        return labels, max(parts.n_repaired, n_filled)

    labels, n_repaired = partition_rows(
        ensemble, n_clusters, lambda: partition_by_sample(ensemble, n_clusters, rng, imbalance, partition), components
    )
    objective = cuts(ensemble, labels, n_clusters).labels
    return Consensus(
        labels=labels,
        objective=objective,
        info={"n_repaired": n_repaired, "sample": partitioned_objects(ensemble, n_clusters)},
    )


METHOD = Method(
    solve=hbgf,
    title="balanced cut of the graph of rows and clusters (METIS)",
    reference="doi:10.1145/1015330.1015414",
    tables=few_tables,
    stochastic=True,
    soft=True,
    weighs=1,
)

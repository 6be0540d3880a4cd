"""CSPA: the co-association graph cut into balanced parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._types import AnyEnsemble, Consensus, Method, MethodOptions
from quorate.solvers.graphs.ensemble_graphs import co_association_graph, entries_bound
from quorate.solvers.graphs.row_partition import cuts, least_cut, partition_rows
from quorate.solvers.members import WHOLE_SUMS
from quorate.solvers.sizes import few_tables
from quorate.solvers.weights import without_common_factor

BYTES_AN_EDGE = 64
"""Peak memory for each stored co-association: the sparse product, its checked copy, and METIS' own three arrays."""


def cspa(
    ensemble: AnyEnsemble,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    imbalance: float = 0.1,
    neighbours: int | None = None,
    components: bool = True,
) -> Consensus:
    """Partition the graph of co-associations into balanced clusters with METIS.

    Parameters
    ----------
    ensemble : Ensemble or SoftEnsemble
    n_clusters : int
    rng : numpy.random.Generator
        Draws the seeds of METIS; the smaller cut of its two schemes is taken.
    imbalance : float
        A cluster may hold 1 + imbalance times the mean number of objects, where single rows allow it.
    neighbours : int, optional
        Keep only this many co-associations of each row, the strongest ones: an approximation whose memory is linear in
        the rows, made only if asked for. ``info["neighbours"]`` repeats it.
    components : bool
        Whether exactly n_clusters connected components are returned as they are, balanced or not. False cuts the graph
        all the same, as the papers do.

    Returns
    -------
    Consensus
        `objective` is the cut, to be minimised: the number of pairs of objects in different clusters, each by the
        weight of the members that join it. ``info["n_edges"]`` counts the edges of the graph, None if the answer
        was forced and no graph was needed; ``info["n_repaired"]`` counts parts that METIS left empty.

    Notes
    -----
    Rows are vertices that weigh their objects, and an edge weighs the pairs of objects it stands for, so that the
    graph on rows has the cuts of the graph on objects; only partitions that keep equal rows together are considered.
    O(m^2) time and memory for m rows at worst. As every balanced cut it is wrong where clusters are of very different
    size [1]_: see `kmeans`, `mcla` or `greedy` there. There is one exception: if the graph falls into exactly
    n_clusters connected components, these are returned, balanced or not, for nothing is cut then.
    A row that alone outweighs the allowed size makes balance impossible; METIS then balances the rest.
    The co-association of soft rows is the product of their memberships: how many members are expected to join them.

    References
    ----------
    .. [1] A. Strehl, J. Ghosh, "Cluster Ensembles", JMLR 3, 2002, doi:10.1162/153244303321897735, sections 3.2, 3.3.

    Examples
    --------
    >>> from quorate import consensus
    >>> members = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1]]
    >>> result = consensus(members, 2, method="cspa", random_state=0)
    >>> result.labels.tolist(), result.objective
    ([0, 0, 0, 1, 1, 1], 6.0)
    """
    components = _check.choice(components, "components", (True, False))
    imbalance = _check.fraction(imbalance, "imbalance", low=0.001, high=10.0)
    if neighbours is not None:
        neighbours = _check.integer(neighbours, "neighbours", low=1)
    info: dict[str, Any] = {"neighbours": neighbours, "n_edges": None}

    def partition() -> tuple[NDArray[np.int32], int]:
        light = without_common_factor(ensemble)
        graph = co_association_graph(light, neighbours)
        info["n_edges"] = (graph.nnz - np.count_nonzero(graph.diagonal())) // 2
        parts = least_cut(graph, light.counts, n_clusters, rng, imbalance)
        return parts.labels, parts.n_repaired

    labels, info["n_repaired"] = partition_rows(ensemble, n_clusters, partition, components)
    return Consensus(labels=labels, objective=cuts(ensemble, labels, n_clusters).pairs, info=info)


def _bytes_needed(ensemble: AnyEnsemble, options: MethodOptions) -> int:
    entries = entries_bound(ensemble)
    neighbours = options.get("neighbours")
    if isinstance(neighbours, int):
        entries = min(entries, 2 * neighbours * ensemble.n_rows)
    return BYTES_AN_EDGE * entries


METHOD = Method(
    solve=cspa,
    title="balanced cut of the co-association graph (METIS)",
    reference="doi:10.1162/153244303321897735",
    tables=few_tables,
    time="quadratic",
    memory="quadratic",
    stochastic=True,
    soft=True,
    memory_for=_bytes_needed,
    instead="pass neighbours=50 to keep only each row's strongest co-associations, use 'lwgp' or 'kmeans', or "
    "coarsen='auto', which measures what it loses,",
    own_order=WHOLE_SUMS,
    weighs=1,
)

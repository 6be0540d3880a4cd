"""CSPA: the co-association graph cut into balanced parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._types import AnyEnsemble, Consensus, Method
from quorate.ops.coding import canonical
from quorate.solvers.confidence import row_confidence
from quorate.solvers.graphs.ensemble_graphs import co_association_graph, entries_bound
from quorate.solvers.graphs.row_partition import cuts, forced_partition, least_cut

BYTES_AN_EDGE = 64
"""Peak memory for each stored co-association: the sparse product, its checked copy, and METIS' own three arrays."""


def cspa(
    ensemble: AnyEnsemble,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    imbalance: float = 0.1,
    neighbours: int | None = None,
) -> Consensus:
    """Partition the graph of co-associations into balanced clusters with METIS.

    Parameters
    ----------
    ensemble : Ensemble or SoftEnsemble
    n_clusters : int
    rng : numpy.random.Generator
        Draws the seeds of METIS, of whose two schemes the lesser cut is taken.
    imbalance : float
        A cluster may hold 1 + imbalance times the mean number of objects, where single rows allow it.
    neighbours : int, optional
        Keep only each row's so many strongest co-associations: an approximation in memory linear in the rows,
        never made unless asked for. ``info["neighbours"]`` repeats it.

    Returns
    -------
    Consensus
        `objective` is the cut, to be minimised: the number of pairs of objects in different clusters, each by the
        weight of the members that join it. ``info["n_edges"]`` counts the edges of the graph, None where the answer
        was forced and no graph was needed; ``info["n_repaired"]`` parts METIS left empty that were filled.

    Notes
    -----
    Rows are vertices that weigh their objects, and an edge weighs the pairs of objects it stands for, so that the
    graph on rows has the cuts of the graph on objects; only the partitions that keep equal rows together are
    considered. O(m^2) time and memory for m rows at worst. As every balanced cut it is wrong where clusters are of
    very different size [1]_: see `kmeans`, `mcla` or `greedy` there. One thing is done against it: where the graph
    falls into exactly n_clusters connected components, these are returned, balanced or not, for nothing is cut then.
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
    imbalance = _check.fraction(imbalance, "imbalance", low=0.001, high=10.0)
    if neighbours is not None:
        neighbours = _check.integer(neighbours, "neighbours", low=1)
    found = forced_partition(ensemble, n_clusters)
    info: dict[str, Any] = {"neighbours": neighbours, "n_edges": None, "n_repaired": 0}
    if found is None:
        found, info["n_edges"], info["n_repaired"] = _partition(ensemble, n_clusters, rng, imbalance, neighbours)
    labels = canonical(found, n_clusters)
    return Consensus(
        labels=labels,
        objective=cuts(ensemble, labels, n_clusters).pairs,
        confidence=row_confidence(ensemble, labels),
        info=info,
    )


def _partition(
    ensemble: AnyEnsemble, k: int, rng: np.random.Generator, imbalance: float, neighbours: int | None
) -> tuple[NDArray[np.int32], int, int]:
    graph = co_association_graph(ensemble, neighbours)
    n_edges = (graph.nnz - np.count_nonzero(graph.diagonal())) // 2
    parts = least_cut(graph, ensemble.counts, k, rng, imbalance)
    return parts.labels, n_edges, parts.n_repaired


def _bytes_needed(ensemble: AnyEnsemble, options: Mapping[str, Any]) -> int:
    entries = entries_bound(ensemble)
    neighbours = options.get("neighbours")
    if isinstance(neighbours, int):
        entries = min(entries, 2 * neighbours * ensemble.n_rows)
    return BYTES_AN_EDGE * entries


METHOD = Method(
    solve=cspa,
    title="balanced cut of the co-association graph (METIS)",
    reference="doi:10.1162/153244303321897735",
    time="quadratic",
    memory="quadratic",
    stochastic=True,
    soft=True,
    memory_for=_bytes_needed,
    instead="pass neighbours=50 to keep only each row's strongest co-associations, coarsen the rows (coarsen='auto')",
)

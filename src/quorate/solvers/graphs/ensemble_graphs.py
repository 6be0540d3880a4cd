"""The graphs of an ensemble: of rows that share clusters, of rows and clusters, of clusters that share objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._types import AnyEnsemble, Ensemble, FloatArray, SoftEnsemble
from quorate.ops.bipartite import row_components
from quorate.ops.coding import canonical
from quorate.ops.tables import cluster_counts
from quorate.solvers.label_rows import canonical_labels, objects_in, one_hot, rows_in
from quorate.solvers.parts import added_up, from_each, row_by_row
from quorate.solvers.weights import cluster_weights_whole

BLOCK_ENTRIES = 2**24
"""How many entries of the co-association matrix are held at once while neighbours are chosen."""


DENSE_ENTRIES = 2**22
"""Up to so many entries the table between all clusters and those of one member is counted densely."""


def components(ensemble: AnyEnsemble, n_clusters: int) -> Any:
    """The connected component of each row (over shared clusters) if there are exactly n_clusters of them, else None.

    The components are then the only partition into so many parts that separates no two objects of any cluster: the
    least cut of every graph here, whatever the sizes. A partitioner that must balance would cut something.
    """
    component: Any
    if isinstance(ensemble, SoftEnsemble):
        component = _soft_components(ensemble)
    elif ensemble.pieces is not None:
        component = canonical_labels(_components_across(ensemble), int(ensemble.offsets[-1]))
    else:
        component = row_components(ensemble.labels, ensemble.offsets)
    return component if int(component.max()) + 1 == n_clusters else None


def _components_across(ensemble: Ensemble) -> Any:
    """The component of each row of rows in parts, in any numbering: clusters that share one in any part share one."""
    of_parts = np.stack(from_each(_components_of_clusters, ensemble), axis=1)
    has_rows = np.flatnonzero((of_parts >= 0).any(axis=1))
    offsets = np.concatenate([[0], np.cumsum(of_parts.max(axis=0) + 1)])
    of_clusters = np.full(len(of_parts), -1, dtype=np.int32)
    of_clusters[has_rows] = row_components(of_parts[has_rows], offsets)
    return _components_of_rows(ensemble, of_clusters)


def _components_of_clusters(part: Ensemble) -> NDArray[np.int32]:
    """The component of each cluster of a member within a part, (d,); -1 if it has no rows there."""
    of_rows, of_clusters = row_components(part.labels, part.offsets), np.full(part.offsets[-1], -1, dtype=np.int32)
    for member, start in enumerate(part.offsets[:-1]):
        known = np.flatnonzero(part.labels[:, member] >= 0)
        of_clusters[start + part.labels[known, member].astype(np.int64)] = of_rows[known]
    return of_clusters


@row_by_row()
def _components_of_rows(ensemble: Ensemble, of_clusters: NDArray[np.int32]) -> NDArray[np.int32]:
    first = (ensemble.labels >= 0).argmax(axis=1)
    labels = np.take_along_axis(ensemble.labels, first[:, None], axis=1)[:, 0]
    found: NDArray[np.int32] = of_clusters[ensemble.offsets[first] + labels]
    return found


def _soft_components(ensemble: SoftEnsemble) -> NDArray[np.int32]:
    from scipy.sparse.csgraph import connected_components

    number, labels = connected_components(_beside(one_hot(ensemble)), directed=False)
    component: NDArray[np.int32] = canonical(labels[: ensemble.n_rows].astype(np.int32), number)
    return component


def bipartite_graph(ensemble: AnyEnsemble) -> Any:
    """Rows and clusters as vertices; an edge weighs the objects (or their memberships) in it by member weight."""
    incidence = one_hot(ensemble)
    per_row = np.repeat(ensemble.counts, np.diff(incidence.indptr))
    incidence.data = incidence.data * (per_row * cluster_weights_whole(ensemble)[incidence.indices])
    return _beside(incidence)


def _beside(incidence: Any) -> Any:
    """The bipartite graph of an incidence matrix: its rows first, then its columns.

    Joined by hand: scipy would go through coordinates, which takes several times as long.
    """
    mirror = incidence.T.tocsr()
    data = np.concatenate([incidence.data, mirror.data])
    indices = np.concatenate([incidence.indices + np.int32(incidence.shape[0]), mirror.indices])
    indptr = np.concatenate([incidence.indptr, mirror.indptr[1:] + incidence.indptr[-1]])
    return type(incidence)((data, indices, indptr), shape=(len(indptr) - 1,) * 2)


def co_association_graph(ensemble: AnyEnsemble, neighbours: int | None = None) -> Any:
    """Rows as vertices; an edge weighs the pairs of objects times the weight of the members that join them.

    With `neighbours`, an edge is kept only if one of its rows is among so many most co-associated rows of the other;
    ties go to the lowest row.
    """
    incidence = one_hot(ensemble)
    weighted = incidence.copy()
    weighted.data = incidence.data * cluster_weights_whole(ensemble)[incidence.indices]
    transposed = incidence.T.tocsr()
    graph = weighted @ transposed if neighbours is None else _nearest(weighted, transposed, neighbours)
    if graph.data.dtype.kind == "f":
        # weights that are no integers round, and not alike on both sides of the diagonal
        graph = graph.maximum(graph.T).tocsr()
    graph.sort_indices()
    mass: NDArray[Any] = ensemble.counts.astype(_wide(ensemble))
    rows = np.repeat(np.arange(ensemble.n_rows), np.diff(graph.indptr))
    graph.data = graph.data * (mass[rows] * mass[graph.indices])
    return graph


def _wide(ensemble: AnyEnsemble) -> type:
    """The type of edge weights: int64 if the largest possible weight fits into it, float64 if not."""
    largest = float(ensemble.counts.max()) ** 2 * float(ensemble.weights.sum())
    return np.int64 if largest < 2**62 else np.float64


def _nearest(weighted: Any, transposed: Any, neighbours: int) -> Any:
    from scipy.sparse import vstack

    n_rows = weighted.shape[0]
    step = max(1, BLOCK_ENTRIES // n_rows)
    blocks = []
    for start in range(0, n_rows, step):
        block = (weighted[start : start + step] @ transposed).tocsr()
        block.sort_indices()
        blocks.append(_strongest(block, start, neighbours))
    kept = vstack(blocks, format="csr")
    return kept.maximum(kept.T).tocsr()


def _strongest(block: Any, start: int, neighbours: int) -> Any:
    """Each row's `neighbours` largest entries off the diagonal."""
    rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
    block.data[block.indices == rows + start] = 0
    order = np.lexsort((block.indices, -block.data, rows))
    rank = np.arange(len(order)) - np.repeat(block.indptr[:-1], np.diff(block.indptr))
    dropped = order[rank >= neighbours]
    block.data[dropped] = 0
    block.eliminate_zeros()
    return block


def entries_bound(ensemble: AnyEnsemble) -> int:
    """An upper bound of the entries of the co-association graph: the pairs of rows in each cluster, added up."""
    return min(int((rows_in(ensemble) ** 2).sum()), ensemble.n_rows**2)


def meta_graph(ensemble: AnyEnsemble) -> Any:
    """Clusters as vertices; an edge weighs their Jaccard index (in objects) times the weights of both members.

    Of soft clusters it is the extended Jaccard index a.b / (|a|^2 + |b|^2 - a.b) of their memberships. No edge joins
    clusters of one member, which are rivals even where they share objects.
    """
    shared = _shared_objects(ensemble).tocoo()
    first, second = shared.row, shared.col
    member = np.repeat(np.arange(ensemble.n_members), ensemble.n_clusters)
    kept = member[first] != member[second]
    first, second, common = first[kept], second[kept], shared.data[kept].astype(np.float64)
    sizes, weights = _squared_sizes(ensemble), cluster_weights_whole(ensemble).astype(np.float64)
    jaccard = common / (sizes[first] + sizes[second] - common)
    return type(shared)((weights[first] * weights[second] * jaccard, (first, second)), shape=shared.shape).tocsr()


@added_up
def _shared_objects(ensemble: AnyEnsemble) -> Any:
    """The number of objects that any two clusters share, (d, d) sparse; by tables if these are small, or a product."""
    from scipy.sparse import csr_array, hstack

    if isinstance(ensemble, SoftEnsemble) or int(ensemble.offsets[-1]) * int(ensemble.n_clusters.max()) > DENSE_ENTRIES:
        incidence = one_hot(ensemble)
        counted = incidence.copy()
        counted.data = incidence.data * np.repeat(ensemble.counts, np.diff(incidence.indptr))
        return incidence.T.tocsr() @ counted
    tables = (
        cluster_counts(
            ensemble.labels, ensemble.offsets, ensemble.counts, ensemble.labels[:, q].astype(np.int32), int(k)
        )
        for q, k in enumerate(ensemble.n_clusters)
    )
    return hstack([csr_array(table) for table in tables], format="csr")


def _squared_sizes(ensemble: AnyEnsemble) -> FloatArray:
    """The squared length of the column of each cluster, (d,); for labels this is its number of objects."""
    if isinstance(ensemble, SoftEnsemble):
        matrix = one_hot(ensemble)
        squares = matrix.data**2 * np.repeat(ensemble.counts, np.diff(matrix.indptr))
        return np.bincount(matrix.indices, squares, matrix.shape[1]).astype(np.float64)
    sizes: FloatArray = objects_in(ensemble).astype(np.float64)
    return sizes

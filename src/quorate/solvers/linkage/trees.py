"""Trees of the linkages other than average, and of all linkages on dense matrices and sparse graphs."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quorate._types import Ensemble, FloatArray
from quorate.ops.agglomeration import (
    LEAST,
    MEAN,
    SUM,
    WARD,
    Graph,
    dense_link,
    dense_order,
    graph_link,
    graph_order,
    single_merges,
    spanning_order,
)
from quorate.solvers.linkage.co_association import Pairs
from quorate.solvers.linkage.dendrogram import tree_of
from quorate.solvers.weights import relative_weights

Linkage = Literal["average", "single", "complete", "weighted", "ward"]
LINKAGES: tuple[Linkage, ...] = ("average", "single", "complete", "weighted", "ward")


def single_link_tree(ensemble: Ensemble) -> FloatArray:
    """Single link through a maximum spanning tree; no matrix, O(m H) memory.

    The spanning tree is grown from row 0 by Prim's rule; candidates are found through the rows of each base cluster,
    which visits every pair of rows that share one about once.
    """
    weights = relative_weights(ensemble)
    total = float(weights.sum())
    whole = bool(np.all(weights == np.floor(weights)))
    narrow = np.min_scalar_type(int(total)) if whole and total < 65_536 else np.dtype(np.float64)
    order, strength = np.empty(ensemble.n_rows, dtype=np.int64), np.empty(ensemble.n_rows, dtype=narrow)
    spanning_order(ensemble.labels, ensemble.offsets, weights.astype(narrow), order, strength)
    return _from_spanning_order(order, strength, total, ensemble.counts)


def dense_tree(matrix: FloatArray, scale: float, counts: NDArray[np.int64], linkage: Linkage) -> FloatArray:
    """Any linkage on the matrix of co-association times `scale`; the matrix is overwritten.

    Heights are 1 - co-association. Ward's is the distance between one-hot rows, whose square is 1 - A in units in
    which two rows that share nothing are at distance 1; it is scaled as scipy scales it.
    """
    m = len(matrix)
    if linkage == "single":
        order, strength = np.empty(m, dtype=np.int64), np.empty(m)
        dense_order(matrix, order, strength)
        return _from_spanning_order(order, strength, scale, counts)
    rule = {"average": SUM, "complete": LEAST, "weighted": MEAN, "ward": WARD}[linkage]
    sizes = counts.astype(np.float64)
    for row in range(m):
        if rule == SUM:
            matrix[row] *= sizes[row] * sizes
        elif rule == WARD:
            matrix[row] = (scale - matrix[row]) * (sizes[row] * sizes)
            matrix[row, row] = 0
    merges, similarity = np.empty((m - 1, 2), dtype=np.int64), np.empty(m - 1)
    dense_link(matrix, counts.copy(), rule, merges, similarity)
    heights = np.sqrt(np.maximum(-similarity / scale, 0)) if rule == WARD else np.maximum(1 - similarity / scale, 0)
    return tree_of(merges, heights, counts)


def sparse_tree(pairs: Pairs, counts: NDArray[np.int64], linkage: Linkage) -> FloatArray:
    """Average or single link on a sparse matrix, in which pairs that are not stored count as zeros."""
    m = len(counts)
    start, columns, values = symmetric(pairs)
    if linkage == "single":
        order, strength = np.empty(m, dtype=np.int64), np.empty(m)
        graph_order(start, columns, values, order, strength)
        return _from_spanning_order(order, strength, pairs.scale, counts)
    sizes = counts.astype(np.float64)
    values *= np.repeat(sizes, np.diff(start)) * sizes[columns]
    merges, similarity = graph_merges(start, columns, values, sizes, power=2.0, limit=1)
    rest = _last_merges(merges, m)
    similarity = np.concatenate([similarity, np.zeros(len(rest))])
    return tree_of(np.concatenate([merges, rest]), np.maximum(1 - similarity / pairs.scale, 0), counts)


def graph_merges(
    start: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: FloatArray,
    sizes: FloatArray,
    *,
    power: float,
    limit: int,
) -> tuple[NDArray[np.int64], FloatArray]:
    """Merges on a symmetric sparse graph, best pair first, until `limit` clusters or no edges are left."""
    m, n_entries = len(sizes), len(columns)
    near, pool = np.empty(2 * n_entries, dtype=np.int32), np.empty(2 * n_entries)
    near[:n_entries], pool[:n_entries] = columns, values
    graph = Graph(
        size=sizes.copy(),
        begin=start[:-1].copy(),
        length=np.diff(start),
        parent=np.arange(m, dtype=np.int32),
        best_size=np.zeros(m),
        total=np.zeros(m),
        touched=np.empty(m, dtype=np.int32),
    )
    merges, similarity = np.empty((m - 1, 2), dtype=np.int64), np.empty(m - 1)
    done = graph_link(graph, near, pool, n_entries, power, limit, merges, similarity)
    return merges[:done], similarity[:done]


def symmetric(pairs: Pairs) -> tuple[NDArray[np.int64], NDArray[np.int32], FloatArray]:
    """Both triangles of the matrix: start, columns, values."""
    from scipy.sparse import csr_array

    m = len(pairs.start) - 1
    upper = csr_array((pairs.values, pairs.columns, pairs.start), shape=(m, m))
    full = upper + upper.T
    return full.indptr.astype(np.int64), full.indices.astype(np.int32), full.data


def _last_merges(merges: NDArray[np.int64], m: int) -> NDArray[np.int64]:
    """The merges by which all clusters that are left join the cluster of row 0, the lowest first."""
    left = np.ones(m, dtype=bool)
    left[merges[:, 1]] = False
    others = np.flatnonzero(left)[1:]
    return np.column_stack([np.zeros_like(others), others])


def _from_spanning_order(
    order: NDArray[np.int64], strength: NDArray[np.generic], scale: float, counts: NDArray[np.int64]
) -> FloatArray:
    """The tree that follows from the order in which a spanning tree reached the rows: strongest edges merge first."""
    m = len(order)
    edges = 1 + np.argsort(-strength[1:].astype(np.float64), kind="stable")
    merges = np.empty((m - 1, 2), dtype=np.int64)
    single_merges(order, merges, edges)
    heights = np.maximum(1 - strength[edges].astype(np.float64) / scale, 0)
    return tree_of(merges, heights, counts)

"""Average link on soft rows, of which nearly all share something: the sums and merges of `average_link`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._types import FloatArray, SoftEnsemble
from quorate.ops.cluster_sums import Clusters, dots_between
from quorate.ops.co_association import mirror
from quorate.ops.soft import keep_nearest
from quorate.solvers.label_rows import one_hot
from quorate.solvers.linkage.average_link import CANDIDATES, by_member, first_clusters, first_lists, tree_down_to

DENSE_CLUSTERS = 8192
"""Once no more clusters than this are left, the matrix between them is used; it takes half a gigabyte."""
TILE = 1024
"""Rows per block when rows are compared with one another."""


def soft_average_link_tree(ensemble: SoftEnsemble) -> FloatArray:
    """`average_link_tree` for soft rows; beside the rows it takes a matrix between up to 8,192 of them."""
    weights = by_member(ensemble)
    whole = bool(np.all(weights.columns == np.floor(weights.columns)))
    # a product of matrices adds up in an order of its own, which must not matter
    between = _product_between if whole else dots_between
    lists = None
    if ensemble.n_rows > DENSE_CLUSTERS:
        found = soft_nearest(ensemble, weights.columns, CANDIDATES + 1)
        lists = first_lists(*found, weights.columns, ensemble.counts, ensemble.unit)
    return tree_down_to(DENSE_CLUSTERS, weights, first_clusters(ensemble), lists, between)


def soft_nearest(ensemble: SoftEnsemble, weights: FloatArray, width: int) -> tuple[NDArray[np.int32], FloatArray]:
    """The nearest rows of `average_link.nearest`, computed by products of blocks of rows; weights (d,).

    The products are exact in any order of summation if weights are whole numbers and those of the members add up to
    less than 2^21.
    """
    rows = one_hot(ensemble)
    weighted = rows.copy()
    weighted.data = rows.data * weights[rows.indices]
    near = np.full((ensemble.n_rows, width), -1, dtype=np.int32)
    value, used = np.zeros((ensemble.n_rows, width)), np.zeros(ensemble.n_rows, dtype=np.int64)
    for start in range(0, ensemble.n_rows, TILE):
        block = _tile(weighted, start)
        for other in range(0, ensemble.n_rows, TILE):
            keep_nearest(_product(block, _tile(rows, other)), start, other, near, value, used)
    return near, value


def _tile(rows: Any, start: int) -> Any:
    """A block of rows, dense if at least one entry in 16 is not zero: products of dense blocks are much faster."""
    part = rows[start : start + TILE]
    return part.toarray() if 16 * rows.nnz > rows.shape[0] * rows.shape[1] else part


def _product(first: Any, second: Any) -> FloatArray:
    product = first @ second.T
    dense: FloatArray = product if isinstance(product, np.ndarray) else product.toarray()
    return dense


def _product_between(
    alive: NDArray[np.int64], clusters: Clusters, columns: NDArray[np.int32], values: FloatArray, weights: FloatArray
) -> FloatArray:
    """The matrix of `dots_between` as one product of dense matrices, for clusters whose sums have many columns."""
    sums = np.zeros((len(alive), len(weights)))
    for number, cluster in enumerate(alive):
        place = slice(clusters.begin[cluster], clusters.begin[cluster] + clusters.length[cluster])
        sums[number, columns[place]] = values[place]
    matrix: FloatArray = (sums * weights) @ sums.T
    mirror(matrix)
    return matrix

"""Average link on label rows, exact, in memory linear in the number of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._types import AnyEnsemble, Ensemble, FloatArray, IntArray, SoftEnsemble
from quorate.ops.average_link import Clusters, Lists, Scratch, average_link, dots_between
from quorate.ops.bit_neighbours import nearest_rows_by_bits, row_sets
from quorate.ops.co_association import mirror
from quorate.ops.dense_link import SUM, dense_link
from quorate.ops.neighbours import inverted_lists, nearest_rows
from quorate.ops.ranking import BOUNDED, EXACT
from quorate.ops.soft import keep_nearest
from quorate.ops.threads import map_blocks
from quorate.solvers.dendrogram import tree_of
from quorate.solvers.rows import one_hot

CANDIDATES = 24
"""Nearest rows looked up for every row."""
LIST_WIDTH = 32
"""Candidates kept for a cluster."""
DENSE_CLUSTERS = 1024
"""Once so few clusters are left, the matrix between them is smaller and quicker than any list."""
SOFT_DENSE_CLUSTERS = 8192
"""The same for soft rows, which share something with nearly all others: the matrix takes half a gigabyte."""
MARGIN = 1 + 1e-12
TILE = 1024
"""Soft rows a block when they are compared with one another."""


def average_link_tree(ensemble: AnyEnsemble) -> FloatArray:
    """Linkage matrix over the rows, whose heights are 1 - mean co-association ("ensemble" normalisation).

    Rows are expected to be distinct, and are leaves with their counts as sizes. Ties go to the lowest rows, as
    `dendrogram.tree_of` has it. Candidates are found through shared base clusters; O(m H) memory.
    """
    weights = member_weights(ensemble)
    no_lists = ensemble.n_rows <= _few(ensemble)
    lists = _empty_lists(ensemble.n_rows) if no_lists else _first_lists(ensemble, weights)
    return _tree(ensemble, weights, _first_clusters(ensemble), lists)


def group_tree(ensemble: Ensemble, groups: NDArray[np.int32]) -> FloatArray:
    """The same over groups of rows, numbered by first appearance, instead of rows."""
    from scipy.sparse import csr_array

    known = ensemble.labels >= 0
    row = np.nonzero(known)[0]
    columns = (ensemble.labels + ensemble.offsets[:-1])[known]
    shape = (int(groups.max()) + 1, int(ensemble.offsets[-1]))
    sums = csr_array((ensemble.counts[row].astype(np.float64), (groups[row], columns)), shape=shape)
    sums.sum_duplicates()
    sizes = np.bincount(groups, weights=ensemble.counts).astype(np.int64)
    clusters = _as_clusters(sizes, np.diff(sums.indptr).astype(np.int64), sums.indices, sums.data, shape[1])
    return _tree(ensemble, member_weights(ensemble), clusters, _empty_lists(shape[0]))


def _tree(
    ensemble: AnyEnsemble, weights: FloatArray, start: tuple[Clusters, NDArray[np.int32], FloatArray], lists: Lists
) -> FloatArray:
    clusters, columns, values = start
    counts = clusters.size.copy()
    m = len(counts)
    merges, similarity = np.empty((m - 1, 2), dtype=np.int64), np.zeros(m - 1)
    scratch = Scratch(
        np.zeros(int(ensemble.offsets[-1])), np.zeros(m), np.empty(m, np.int32), np.full(m, -1, dtype=np.int64)
    )
    column_weights = np.repeat(weights, ensemble.n_clusters)
    end = int(clusters.length.sum())
    few = _few(ensemble)
    left = average_link(clusters, columns, values, end, column_weights, lists, scratch, min(few, m), merges, similarity)
    done = m - len(left)
    if len(left) <= few:
        quick = isinstance(ensemble, SoftEnsemble) and _whole(weights)
        matrix = (_product_between if quick else dots_between)(left, clusters, columns, values, column_weights)
        dense_link(matrix, clusters.size[left], SUM, merges[done:], similarity[done:])
        merges[done:] = left[merges[done:]]
    else:
        # nothing is shared any more: all other clusters join the first, which holds row 0
        merges[done:, 0], merges[done:, 1] = left[0], left[1:]
    heights = np.maximum(1 - similarity / weights.sum(), 0.0)
    return tree_of(merges, heights, counts)


def _few(ensemble: AnyEnsemble) -> int:
    """How many clusters are so few that the matrix between them is made."""
    return SOFT_DENSE_CLUSTERS if isinstance(ensemble, SoftEnsemble) else DENSE_CLUSTERS


def _whole(weights: FloatArray) -> bool:
    return bool(np.all(weights == np.floor(weights)))


def _product_between(
    alive: NDArray[np.int64], clusters: Clusters, columns: NDArray[np.int32], values: FloatArray, weights: FloatArray
) -> FloatArray:
    """As `dots_between`, for clusters whose sums are in many columns: by one product of dense matrices."""
    sums = np.zeros((len(alive), len(weights)))
    for number, cluster in enumerate(alive):
        place = slice(clusters.begin[cluster], clusters.begin[cluster] + clusters.length[cluster])
        sums[number, columns[place]] = values[place]
    matrix: FloatArray = (sums * weights) @ sums.T
    mirror(matrix)
    return matrix


def member_weights(ensemble: AnyEnsemble) -> FloatArray:
    """Weights in proportion to the members', whole numbers where they can be: sums of those are exact."""
    scaled: FloatArray = ensemble.weights / ensemble.weights.min()
    return scaled


def nearest(ensemble: Ensemble, weights: FloatArray, width: int) -> tuple[NDArray[np.int32], FloatArray]:
    """The `width` rows that share most with each row, -1 where there are fewer, and how much they share.

    Rows are counted as bits where base clusters are large (on average one row in 64 or more), else looked up in
    inverted lists; both only ever meet rows that share a base cluster.
    """
    near = np.empty((ensemble.n_rows, width), dtype=np.int32)
    value = np.empty((ensemble.n_rows, width))
    labels, offsets = ensemble.labels, ensemble.offsets
    if np.all(weights == 1.0) and ensemble.n_clusters.mean() < 64:
        sets = row_sets(labels, offsets)
        planes = max(3, ensemble.n_members.bit_length())
        map_blocks(
            lambda start, stop: nearest_rows_by_bits(labels, offsets, sets, planes, start, stop, near, value),
            ensemble.n_rows,
        )
    else:
        lists = inverted_lists(labels, offsets)
        map_blocks(
            lambda start, stop: nearest_rows(labels, offsets, lists, weights, start, stop, near, value),
            ensemble.n_rows,
        )
    return near, value


def soft_nearest(ensemble: SoftEnsemble, weights: FloatArray, width: int) -> tuple[NDArray[np.int32], FloatArray]:
    """The same for soft rows, which may share something with every other: by products of blocks of rows.

    Whatever adds these up in whatever order, they are exact while the weights are whole and add up to less than 2^21.
    """
    rows = one_hot(ensemble)
    weighted = rows.copy()
    weighted.data = rows.data * np.repeat(weights, ensemble.n_clusters)[rows.indices]
    near = np.full((ensemble.n_rows, width), -1, dtype=np.int32)
    value, used = np.zeros((ensemble.n_rows, width)), np.zeros(ensemble.n_rows, dtype=np.int64)
    for start in range(0, ensemble.n_rows, TILE):
        block = _tile(weighted, start)
        for other in range(0, ensemble.n_rows, TILE):
            keep_nearest(_product(block, _tile(rows, other)), start, other, near, value, used)
    return near, value


def _tile(rows: Any, start: int) -> Any:
    """A block of rows, dense if one entry in 16 is there: products of dense blocks are so much faster."""
    part = rows[start : start + TILE]
    return part.toarray() if 16 * rows.nnz > rows.shape[0] * rows.shape[1] else part


def _product(first: Any, second: Any) -> FloatArray:
    product = first @ second.T
    dense: FloatArray = product if isinstance(product, np.ndarray) else product.toarray()
    return dense


def _first_clusters(ensemble: AnyEnsemble) -> tuple[Clusters, NDArray[np.int32], FloatArray]:
    """Every row a cluster."""
    rows = one_hot(ensemble)
    length = np.diff(rows.indptr).astype(np.int64)
    sums = rows.data * np.repeat(ensemble.counts, length)
    return _as_clusters(ensemble.counts.copy(), length, rows.indices, sums, rows.shape[1])


def _as_clusters(
    sizes: NDArray[np.int64], length: NDArray[np.int64], columns: IntArray, sums: IntArray, n_columns: int
) -> tuple[Clusters, NDArray[np.int32], FloatArray]:
    """Clusters, and the pool of their sums with room for as many again and for the largest one possible."""
    room = len(columns) + max(len(columns), n_columns)
    pool_columns, pool_values = np.empty(room, dtype=np.int32), np.empty(room)
    pool_columns[: len(columns)] = columns
    pool_values[: len(columns)] = sums
    parent = np.arange(len(sizes), dtype=np.int32)
    return Clusters(sizes, np.cumsum(length) - length, length, parent), pool_columns, pool_values


def _empty_lists(m: int) -> Lists:
    """Nothing known: each cluster is compared with all others when its turn comes."""
    return Lists(
        near=np.zeros((m, LIST_WIDTH), dtype=np.int32),
        used=np.zeros(m, dtype=np.int64),
        bound=np.full(m, np.inf),
        bound_row=np.full(m, -1, dtype=np.int32),
        best=np.zeros(m, dtype=np.int32),
        best_size=np.zeros(m, dtype=np.int64),
        top=np.full(m, np.inf),
        state=np.full(m, BOUNDED, dtype=np.int8),
    )


def _first_lists(ensemble: AnyEnsemble, weights: FloatArray) -> Lists:
    """Candidates of every row; the one row more that is looked up is the best outside of the list."""
    exact = _whole(weights)
    if isinstance(ensemble, SoftEnsemble):
        near, value = soft_nearest(ensemble, weights, CANDIDATES + 1)
        exact &= float(weights.sum()) * (float(ensemble.counts.max()) * ensemble.unit) ** 2 < 2**53
    else:
        near, value = nearest(ensemble, weights, CANDIDATES + 1)
    m = ensemble.n_rows
    lists = np.zeros((m, LIST_WIDTH), dtype=np.int32)
    lists[:, :CANDIDATES] = near[:, :CANDIDATES]
    best = np.maximum(near[:, 0], 0)
    # sums that are not whole are rounded in another order later on: every first neighbour is then looked at again
    return Lists(
        near=lists,
        used=(near[:, :CANDIDATES] >= 0).sum(axis=1),
        bound=value[:, CANDIDATES] * (1.0 if exact else MARGIN),
        bound_row=np.where(exact, np.maximum(near[:, CANDIDATES], 0), -1).astype(np.int32),
        best=best,
        best_size=ensemble.counts[best] if exact else np.full(m, -1, dtype=np.int64),
        top=value[:, 0] * (1.0 if exact else MARGIN),
        state=np.where(near[:, 0] >= 0, EXACT, BOUNDED).astype(np.int8),
    )

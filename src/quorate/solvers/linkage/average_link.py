"""Average link on label rows, exact, in memory linear in the number of labels."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import AnyEnsemble, Ensemble, FloatArray, IntArray, SoftEnsemble
from quorate.ops.agglomeration import SUM, dense_link
from quorate.ops.average_link import Clusters, Scratch, average_link, dots_between
from quorate.ops.cluster_search import MARGIN, Desk, Lists
from quorate.ops.neighbours import inverted_lists, mirror, nearest_rows, nearest_rows_by_bits, row_sets
from quorate.ops.ranking import BOUNDED, EXACT, LISTED
from quorate.ops.soft import keep_nearest
from quorate.ops.threads import map_blocks, n_threads, one_blas_thread
from quorate.solvers.label_rows import one_hot
from quorate.solvers.linkage.dendrogram import tree_of
from quorate.solvers.weights import relative_weights

CANDIDATES = 24
"""How many nearest rows are looked up for every row."""
LIST_WIDTH = 32
"""How many candidates are kept for a cluster."""
DENSE_CLUSTERS = 512
"""Once no more clusters than this are left, the matrix between them is smaller and quicker than any list."""
MOST_COLUMNS = 4096
"""Up to so many base clusters the sums of at most DENSE_CLUSTERS rows are laid out as a matrix, of 16 MB."""
MOST_THREADS = 8
"""Each thread needs up to 12 bytes for each row, and more threads gain little, because merging is left to one."""
WORK = 64
"""Comparing a row with all rows that share something with it costs as much as this many plain rows."""


Start = tuple[Clusters, NDArray[np.int32], FloatArray]
"""The clusters, and the pool that holds the columns and the values of their sums."""


class Weighting(NamedTuple):
    """How much sharing a base cluster counts: `columns` (d,), all above 0. Similarities are divided by `total` last."""

    columns: FloatArray
    total: float


def average_link_tree(ensemble: Ensemble, weighting: Weighting | None = None) -> FloatArray:
    """Linkage matrix over the rows, whose heights are 1 - mean co-association ("ensemble" normalisation).

    Rows are expected to be distinct, and are leaves with their counts as sizes. Ties go to the lowest rows, as
    `dendrogram.tree_of` has it. Candidates are found through shared base clusters; O(m H) memory.
    `weighting` lets base clusters count more or less than their member.
    """
    weighting = weighting or by_member(ensemble)
    if ensemble.n_rows <= DENSE_CLUSTERS:
        # exact in any order of summation, and no kernel has to be compiled for a small table
        largest = float(ensemble.counts.max()) ** 2 * float(weighting.columns.sum())
        whole = bool(np.all(weighting.columns == np.floor(weighting.columns))) and largest < 2**53
        between = _product_between if whole and len(weighting.columns) <= MOST_COLUMNS else dots_between
        return tree_down_to(DENSE_CLUSTERS, weighting, first_clusters(ensemble), None, between)
    found = nearest(ensemble, weighting.columns, CANDIDATES + 1)
    lists = first_lists(*found, weighting.columns, ensemble.counts)
    return tree_down_to(DENSE_CLUSTERS, weighting, first_clusters(ensemble), lists, order=near_order(ensemble))


def group_tree(ensemble: Ensemble, groups: NDArray[np.int32]) -> FloatArray:
    """The same tree over groups of rows instead of rows; groups are numbered by first appearance."""
    from scipy.sparse import csr_array

    known = ensemble.labels >= 0
    row = np.nonzero(known)[0]
    columns = (ensemble.labels + ensemble.offsets[:-1])[known]
    shape = (int(groups.max()) + 1, int(ensemble.offsets[-1]))
    sums = csr_array((ensemble.counts[row].astype(np.float64), (groups[row], columns)), shape=shape)
    sums.sum_duplicates()
    sizes = np.bincount(groups, weights=ensemble.counts).astype(np.int64)
    clusters = _as_clusters(sizes, np.diff(sums.indptr).astype(np.int64), sums.indices, sums.data, shape[1])
    lists = None if shape[0] <= DENSE_CLUSTERS else _empty_lists(shape[0])
    return tree_down_to(DENSE_CLUSTERS, by_member(ensemble), clusters, lists)


def tree_down_to(
    few: int,
    weighting: Weighting,
    start: Start,
    lists: Lists | None,
    between: Callable[..., FloatArray] = dots_between,
    order: NDArray[np.intp] | None = None,
) -> FloatArray:
    """Merge with the help of lists until `few` clusters are left, then with the matrix that `between` computes.

    `order` lists the clusters such that similar ones are close to each other; it makes the work faster.
    """
    clusters, columns, values = start
    counts, weights = clusters.size.copy(), weighting.columns
    m = len(counts)
    merges, similarity = np.empty((m - 1, 2), dtype=np.int64), np.zeros(m - 1)
    left = np.arange(m)
    if lists is not None:
        scratch = Scratch(_desks(m, len(weights)), np.full(m, -1, dtype=np.int32), np.zeros(2))
        order = np.arange(m) if order is None else order
        left = average_link(order, clusters, columns, values, weights, lists, scratch, few, merges, similarity)
    done = m - len(left)
    if len(left) <= few:
        matrix = between(left, clusters, columns, values, weights)
        dense_link(matrix, clusters.size[left], SUM, merges[done:], similarity[done:])
        merges[done:] = left[merges[done:]]
    else:
        # nothing is shared any more: all other clusters join the first, which holds row 0
        merges[done:, 0], merges[done:, 1] = left[0], left[1:]
    heights = np.maximum(1 - similarity / weighting.total, 0.0)
    return tree_of(merges, heights, counts)


def _desks(m: int, n_columns: int) -> list[Desk]:
    """Working arrays for each thread that looks up neighbours of m clusters."""
    return [
        Desk(np.zeros(n_columns), np.zeros(m), np.zeros(m, dtype=np.float32))
        for _ in range(min(n_threads(), MOST_THREADS))
    ]


def by_member(ensemble: AnyEnsemble) -> Weighting:
    """The weighting in which every base cluster counts as much as its member."""
    weights = relative_weights(ensemble)
    return Weighting(np.repeat(weights, ensemble.n_clusters), float(weights.sum()))


def near_order(ensemble: Ensemble) -> NDArray[np.intp]:
    """Rows sorted by their labels in the first members, so that successive rows read the same lists from the cache."""
    order: NDArray[np.intp] = np.lexsort(ensemble.labels[:, 2::-1].T)
    return order


def nearest(ensemble: Ensemble, weights: FloatArray, width: int) -> tuple[NDArray[np.int32], FloatArray]:
    """The `width` rows that share most with each row, -1 where there are fewer, and how much they share.

    weights (d,) tells how much sharing a base cluster counts.

    If base clusters are large (on average one row in 64 or more), sets of rows are counted as bits; otherwise rows are
    looked up in inverted lists. Both ways only look at rows that share a base cluster.
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
            work=WORK,
        )
    else:
        lists, order = inverted_lists(labels, offsets), near_order(ensemble)
        map_blocks(
            lambda start, stop: nearest_rows(labels, offsets, lists, weights, order[start:stop], near, value),
            ensemble.n_rows,
            work=WORK,
        )
    return near, value


def first_clusters(ensemble: AnyEnsemble) -> Start:
    """The clusters at the start: each row is a cluster of its own."""
    rows = one_hot(ensemble)
    length = np.diff(rows.indptr).astype(np.int64)
    sums = rows.data * np.repeat(ensemble.counts, length)
    return _as_clusters(ensemble.counts.copy(), length, rows.indices, sums, rows.shape[1])


def _as_clusters(
    sizes: NDArray[np.int64], length: NDArray[np.int64], columns: IntArray, sums: IntArray, n_columns: int
) -> Start:
    """Clusters and the pool of their sums, which has room for as many sums again and for the largest one possible."""
    room = len(columns) + max(len(columns), n_columns)
    pool_columns, pool_values = np.empty(room, dtype=np.int32), np.empty(room)
    pool_columns[: len(columns)] = columns
    pool_values[: len(columns)] = sums
    parent = np.arange(len(sizes), dtype=np.int32)
    changed = np.zeros(len(sizes), dtype=np.int32)
    return Clusters(sizes, np.cumsum(length) - length, length, parent, changed), pool_columns, pool_values


def _empty_lists(m: int) -> Lists:
    """Lists in which nothing is known yet: each cluster is compared with all others when its turn comes."""
    return Lists(
        near=np.zeros((m, LIST_WIDTH), dtype=np.int32),
        value=np.zeros((m, LIST_WIDTH)),
        stamp=np.full((m, LIST_WIDTH), -1, dtype=np.int32),
        used=np.zeros(m, dtype=np.int64),
        bound=np.full(m, np.inf),
        bound_row=np.full(m, -1, dtype=np.int32),
        best=np.zeros(m, dtype=np.int32),
        best_size=np.zeros(m, dtype=np.int64),
        top=np.full(m, np.inf),
        state=np.full(m, BOUNDED, dtype=np.int8),
    )


def first_lists(
    near: NDArray[np.int32], value: FloatArray, weights: FloatArray, counts: NDArray[np.int64], unit: int = 1
) -> Lists:
    """The lists of candidates of every row; one more row is looked up, which is the best one outside of the list.

    near, value (m, CANDIDATES + 1) are those of `nearest`; 1 / unit is the step in which rows are measured.
    """
    m = len(near)
    lists, values = np.zeros((m, LIST_WIDTH), dtype=np.int32), np.zeros((m, LIST_WIDTH))
    lists[:, :CANDIDATES], values[:, :CANDIDATES] = near[:, :CANDIDATES], value[:, :CANDIDATES]
    best = np.maximum(near[:, 0], 0)
    # dots of whole numbers that stay below 2^53; others are rounded in another order later on, and every first
    # neighbour is then looked at again
    largest = float(value[:, 0].max()) * (float(counts.max()) * unit) ** 2
    exact = bool(np.all(weights == np.floor(weights))) and largest < 2**53
    return Lists(
        near=lists,
        value=values if exact else values * MARGIN,
        stamp=np.full((m, LIST_WIDTH), 0 if exact else -1, dtype=np.int32),
        used=(near[:, :CANDIDATES] >= 0).sum(axis=1),
        bound=value[:, CANDIDATES] * (1.0 if exact else MARGIN),
        bound_row=np.where(exact, np.maximum(near[:, CANDIDATES], 0), -1).astype(np.int32),
        best=best,
        best_size=counts[best],
        top=value[:, 0] * (1.0 if exact else MARGIN),
        state=np.where(near[:, 0] >= 0, EXACT if exact else LISTED, BOUNDED).astype(np.int8),
    )


DENSE_SOFT_CLUSTERS = 8192
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
    if ensemble.n_rows > DENSE_SOFT_CLUSTERS:
        found = soft_nearest(ensemble, weights.columns, CANDIDATES + 1)
        lists = first_lists(*found, weights.columns, ensemble.counts, ensemble.unit)
    return tree_down_to(DENSE_SOFT_CLUSTERS, weights, first_clusters(ensemble), lists, between)


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
    with one_blas_thread() if len(alive) <= DENSE_CLUSTERS else nullcontext():
        matrix: FloatArray = (sums * weights) @ sums.T
    if not np.array_equal(matrix, matrix.T):
        mirror(matrix)
    return matrix

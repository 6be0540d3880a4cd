"""Trees of merges: scipy linkage matrices, cut at a number of clusters or a lifetime; the Consensus of a tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._types import AnyEnsemble, Consensus, FloatArray
from quorate.ops.agglomeration import cut_tree, merged_labels, ordered_tree
from quorate.ops.coding import canonical

SMALL_TREE = 512
"""Up to so many leaves a tree is put in order without a compiled kernel."""


def tree_of(merges: NDArray[Any], heights: FloatArray, counts: NDArray[np.int64]) -> FloatArray:
    """Linkage matrix of merges in any order in which children come before parents.

    Rows of the matrix come in the order of a greedy agglomeration: lowest height first; of equal heights the pair
    whose lower cluster is lowest, then whose other cluster is; a cluster counts as its lowest row. The last column
    adds up `counts`, so a tree over rows tells numbers of objects.
    """
    # a kernel takes a second to be compiled, as long as a thousand small trees take without it
    ordered = getattr(ordered_tree, "py_func", ordered_tree) if len(counts) <= SMALL_TREE else ordered_tree
    tree: FloatArray = ordered(merges.astype(np.int64), heights, counts.astype(np.int64))
    return tree


def cut(tree: FloatArray, n_clusters: int) -> NDArray[np.int32]:
    """Canonical labels of the leaves with exactly `n_clusters` clusters, also where heights are equal.

    Examples
    --------
    >>> tree = np.array([[0, 1, 0.5, 2], [2, 3, 0.5, 2], [4, 5, 0.5, 4]])
    >>> cut(tree, 3).tolist(), cut(tree, 2).tolist()
    ([0, 0, 1, 2], [0, 0, 1, 1])
    """
    n_leaves = len(tree) + 1
    labels = np.empty(2 * n_leaves - 1, dtype=np.int32)
    cut_tree(tree, n_clusters, labels)
    leaf_labels: NDArray[np.int32] = canonical(labels[:n_leaves], 2 * n_leaves)
    return leaf_labels


def labels_after(merges: NDArray[np.int64], n_rows: int) -> NDArray[np.int32]:
    """Canonical labels of the rows after some merges, each of two clusters named by their lowest rows."""
    labels: NDArray[np.int32] = canonical(merged_labels(merges, n_rows), n_rows)
    return labels


def lifetimes(tree: FloatArray) -> FloatArray:
    """For k = 1, 2, ..., the length of the interval of thresholds that give exactly k clusters.

    One cluster lasts from the last merge on: its lifetime is not finite. As many clusters as leaves last from
    height 0 to the first merge.

    Examples
    --------
    >>> lifetimes(np.array([[0, 1, 0.2, 2], [2, 3, 0.9, 3]])).round(3).tolist()
    [inf, 0.7, 0.2]
    """
    heights = np.concatenate([[0.0], tree[:, 2], [np.inf]])
    # what remains of rounding must not choose between lifetimes that are equal
    spans: FloatArray = np.diff(heights)[::-1]
    return np.round(spans, 12)


def longest_lifetime(tree: FloatArray, floor: float = 0.0) -> int:
    """The k >= 2 of the longest lifetime, the smallest such k in a tie; 1 where there is a single leaf.

    Heights below `floor`, the distance of objects that agree as far as they can, mean nothing and count as the floor.
    As many clusters as leaves is possible only if the first merge comes more than half of the way up from the floor to
    the last merge. Otherwise the step from 0 to the least distance that H members can show, 1 / H, would often be the
    longest, and every row would be a cluster.

    Examples
    --------
    >>> longest_lifetime(np.array([[0, 1, 0.2, 2], [2, 3, 0.3, 3], [4, 5, 0.3, 4]]))
    4
    >>> longest_lifetime(np.array([[0, 1, 0.2, 2], [2, 3, 0.3, 3], [4, 5, 0.41, 4]]))
    2
    """
    if not len(tree):
        return 1
    raised = tree.copy()
    raised[:, 2] = np.maximum(tree[:, 2] - floor, 0.0)
    spans = lifetimes(raised)[1:]
    if len(spans) > 1 and raised[0, 2] <= raised[-1, 2] / 2:
        spans = spans[:-1]
    return int(np.argmax(spans)) + 2


def expand_tree(tree: FloatArray, rows: NDArray[np.intp], counts: NDArray[np.int64] | None = None) -> FloatArray:
    """The tree over objects instead of rows: objects of equal rows are merged first, at height 0.

    Parameters
    ----------
    tree : array of shape (n_rows - 1, 4)
    rows : array of shape (n_objects,)
        The row of each object, as in ``Consensus.rows``.
    counts : array of shape (n_objects,), optional
        Sizes of the new leaves, where they are not single objects.

    Examples
    --------
    >>> expand_tree(np.array([[0, 1, 0.5, 3]]), np.array([0, 1, 0])).tolist()
    [[0.0, 2.0, 0.0, 2.0], [1.0, 3.0, 0.5, 3.0]]
    """
    n_objects, n_rows = len(rows), len(tree) + 1
    first = np.full(n_rows, n_objects, dtype=np.int64)
    np.minimum.at(first, rows, np.arange(n_objects))
    others = np.setdiff1d(np.arange(n_objects), first)
    merges = np.concatenate([np.column_stack([first[rows[others]], others]), _named(tree, first)])
    heights = np.concatenate([np.zeros(len(others)), tree[:, 2]])
    return tree_of(merges, heights, np.ones(n_objects, dtype=np.int64) if counts is None else counts)


def row_counts(tree: FloatArray) -> FloatArray:
    """The tree with rows instead of objects counted in its last column, as scipy's own functions require."""
    return tree_of(_named(tree, np.arange(len(tree) + 1)), tree[:, 2].copy(), np.ones(len(tree) + 1, dtype=np.int64))


def _named(tree: FloatArray, names: NDArray[np.int64]) -> NDArray[np.int64]:
    """The two clusters of every merge, each named by its lowest leaf, the lower first; names[i] names leaf i."""
    lowest = np.concatenate([names, np.zeros(len(tree), dtype=np.int64)])
    merges = np.empty((len(tree), 2), dtype=np.int64)
    for step, (left, right) in enumerate(tree[:, :2].astype(np.int64)):
        merges[step] = sorted((lowest[left], lowest[right]))
        lowest[len(names) + step] = merges[step, 0]
    return merges


def tree_consensus(
    ensemble: AnyEnsemble,
    inverse: NDArray[np.intp],
    tree: FloatArray,
    n_clusters: int,
    info: Mapping[str, Any] | None = None,
) -> Consensus:
    """Cut a tree over distinct rows into n_clusters, and give both to the rows of the ensemble.

    Parameters
    ----------
    ensemble : Ensemble or SoftEnsemble
        The rows the method was handed, which need not be distinct.
    inverse : array of shape (n_rows,)
        The distinct row that each of these rows equals, as `compress` returns it.
    tree : array of shape (n_distinct_rows - 1, 4)
        A scipy linkage matrix.
    n_clusters : int
    info : mapping, optional

    Returns
    -------
    Consensus
        `objective` is the height of the last merge within the clusters, 0 if nothing was merged.
    """
    labels = cut(tree, n_clusters)[inverse]
    if len(tree) + 1 < ensemble.n_rows:
        tree = expand_tree(tree, inverse, ensemble.counts)
    objective = float(tree[-n_clusters, 2]) if n_clusters <= len(tree) else 0.0
    return Consensus(labels=labels, objective=objective, tree=tree, info=info or {})

"""Merges sorted into the order of a greedy agglomeration, cuts of trees, and single link from a spanning tree."""

from __future__ import annotations

import heapq

import numpy as np

from quorate.ops.compiling import njit


@njit(cache=True, nogil=True)
def ordered_tree(merges, heights, counts):
    """Return a linkage matrix (m - 1, 4) in the order of a greedy agglomeration.

    That order is by lowest height, then by lowest clusters. merges (m - 1, 2) holds two clusters per merge, the lower
    one first, each named by its lowest row, in any order in which a cluster is formed before it is merged. counts (m,)
    is the number of objects in each row; their sums are the last column of the result.

    Invariant: `ready` holds the merges whose two clusters are both complete.
    """
    m = counts.size
    pending, parent = np.zeros(m - 1, dtype=np.int64), np.full(m - 1, -1)
    last = np.full(m, -1)
    for merge in range(m - 1):
        for side in range(2):
            below = last[merges[merge, side]]
            if below >= 0:
                parent[below] = merge
                pending[merge] += 1
        last[merges[merge, 0]] = merge
    ready = [
        (heights[merge], merges[merge, 0], merges[merge, 1], merge) for merge in range(m - 1) if not pending[merge]
    ]
    heapq.heapify(ready)
    tree = np.empty((m - 1, 4))
    node, size = np.arange(m), counts.copy()
    for step in range(m - 1):
        height, a, b, merge = heapq.heappop(ready)
        tree[step, 0], tree[step, 1] = min(node[a], node[b]), max(node[a], node[b])
        size[a] += size[b]
        tree[step, 2], tree[step, 3] = height, size[a]
        node[a] = m + step
        above = parent[merge]
        if above >= 0:
            pending[above] -= 1
            if pending[above] == 0:
                heapq.heappush(ready, (heights[above], merges[above, 0], merges[above, 1], above))
    return tree


@njit(cache=True, nogil=True)
def cut_tree(tree, n_clusters, result):
    """Write the cluster of each leaf after all but the last n_clusters - 1 merges.

    The labels are below 2 m, not canonical. result (2 m - 1,) int64 is a working array; its first m entries are the
    labels.
    """
    m = tree.shape[0] + 1
    for node in range(2 * m - 1):
        result[node] = node
    for step in range(m - n_clusters - 1, -1, -1):
        own = result[m + step]
        result[int(tree[step, 0])] = own
        result[int(tree[step, 1])] = own


@njit(cache=True, nogil=True)
def merged_labels(merges, n_rows):
    """Return the lowest row of each row's cluster after the given merges.

    merges (j, 2) holds two clusters per merge, each named by its lowest row, the lower one first.
    """
    lowest = np.arange(n_rows)
    for step in range(merges.shape[0]):
        lowest[merges[step, 1]] = merges[step, 0]
    for row in range(n_rows):
        lowest[row] = lowest[lowest[row]]
    return lowest


@njit(cache=True, nogil=True)
def single_merges(order, merges, edges):
    """Write the merges of single link, given the order in which a maximum spanning tree took in the rows.

    order (m,) is that order. edges (m - 1,) lists the edges in the order of the merges; an edge is given as the place
    in `order`, from 1 on, of the row that it took in. Rows that are consecutive in `order` belong to one cluster as
    soon as the edge between them has been merged.
    """
    m = order.size
    left, lowest = np.arange(m), order.copy()
    for step in range(m - 1):
        place = edges[step]
        first, second = place - 1, place
        while left[first] != first:
            left[first] = left[left[first]]
            first = left[first]
        while left[second] != second:
            left[second] = left[left[second]]
            second = left[second]
        a, b = lowest[first], lowest[second]
        merges[step, 0], merges[step, 1] = min(a, b), max(a, b)
        left[second] = first
        lowest[first] = min(a, b)

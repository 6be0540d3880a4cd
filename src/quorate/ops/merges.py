"""The order of merges, whatever order they were found in; and single link from the order of a spanning tree."""

from __future__ import annotations

import heapq

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def ordered_tree(merges, heights, counts):
    """A linkage matrix (m - 1, 4) in the order a greedy agglomeration takes: lowest height, then lowest clusters.

    merges (m - 1, 2): two clusters, lower first, each named by the lowest row in it; in an order in which each cluster
    is there before it is used. counts (m,): objects in each row, added up in the last column.
    Invariant: `ready` holds the merges whose two clusters are both complete.
    """
    m = counts.size
    pending, parent = np.zeros(m - 1, dtype=np.int64), np.full(m - 1, -1)
    last = np.full(m, -1)
    for found in range(m - 1):
        for side in range(2):
            below = last[merges[found, side]]
            if below >= 0:
                parent[below] = found
                pending[found] += 1
        last[merges[found, 0]] = found
    ready = [
        (heights[found], merges[found, 0], merges[found, 1], found) for found in range(m - 1) if not pending[found]
    ]
    heapq.heapify(ready)
    tree = np.empty((m - 1, 4))
    node, size = np.arange(m), counts.copy()
    for step in range(m - 1):
        height, a, b, found = heapq.heappop(ready)
        tree[step, 0], tree[step, 1] = min(node[a], node[b]), max(node[a], node[b])
        size[a] += size[b]
        tree[step, 2], tree[step, 3] = height, size[a]
        node[a] = m + step
        above = parent[found]
        if above >= 0:
            pending[above] -= 1
            if pending[above] == 0:
                heapq.heappush(ready, (heights[above], merges[above, 0], merges[above, 1], above))
    return tree


@njit(cache=True, nogil=True)
def cut_tree(tree, n_clusters, result):
    """Labels of the leaves after all but the last n_clusters - 1 merges; numbers below 2 m, not canonical.

    result (2 m - 1,) int64 is scratch; its first m entries are the labels.
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
    """The lowest row of the cluster of each row after merges (j, 2) of clusters named so, lower first."""
    lowest = np.arange(n_rows)
    for step in range(merges.shape[0]):
        lowest[merges[step, 1]] = merges[step, 0]
    for row in range(n_rows):
        lowest[row] = lowest[lowest[row]]
    return lowest


@njit(cache=True, nogil=True)
def single_merges(order, merges, edges):
    """Merges of single link from the order in which a maximum spanning tree took in the rows.

    order (m,); edges (m - 1,) increasing in the order of the merges: the place in `order` of the row each edge took
    in, from 1 on. Consecutive rows belong to one cluster wherever the edge between them is strong enough.
    """
    m = order.size
    left, lowest = np.arange(m), order.copy()
    for found in range(m - 1):
        place = edges[found]
        first, second = place - 1, place
        while left[first] != first:
            left[first] = left[left[first]]
            first = left[first]
        while left[second] != second:
            left[second] = left[left[second]]
            second = left[second]
        a, b = lowest[first], lowest[second]
        merges[found, 0], merges[found, 1] = min(a, b), max(a, b)
        left[second] = first
        lowest[first] = min(a, b)

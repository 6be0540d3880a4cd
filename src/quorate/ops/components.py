"""Connected components of the graph that joins rows to the base clusters they are in."""

from __future__ import annotations

import numpy as np

from quorate.ops.compiling import njit


@njit(cache=True, nogil=True)
def _root(parent, vertex):
    """Return the root of the tree that a cluster belongs to, and shorten the path on the way (path halving)."""
    while parent[vertex] != vertex:
        parent[vertex] = parent[parent[vertex]]
        vertex = parent[vertex]
    return vertex


@njit(cache=True, nogil=True)
def row_components(labels, offsets):
    """Return the connected component of each row as an (m,) int32 array, numbered in order of first appearance.

    labels is (m, H), and each row must have at least one label. Two rows are connected if they share a base cluster.
    Invariant: after row i, all clusters that rows 0..i connect are in one tree.
    """
    parent = np.arange(offsets[-1])
    for row in range(labels.shape[0]):
        first = -1
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label < 0:
                continue
            root = _root(parent, offsets[member] + label)
            if first < 0:
                first = root
            elif root != first:
                parent[root] = first
    number = np.full(parent.size, -1, dtype=np.int32)
    result = np.empty(labels.shape[0], dtype=np.int32)
    n_components = 0
    for row in range(labels.shape[0]):
        member = 0
        while labels[row, member] < 0:
            member += 1
        root = _root(parent, offsets[member] + labels[row, member])
        if number[root] < 0:
            number[root] = n_components
            n_components += 1
        result[row] = number[root]
    return result

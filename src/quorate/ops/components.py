"""Connected components of rows and the clusters they are in."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _root(parent, vertex):
    """The root of a tree of clusters; every other vertex on the way is hung one step higher."""
    while parent[vertex] != vertex:
        parent[vertex] = parent[parent[vertex]]
        vertex = parent[vertex]
    return vertex


@njit(cache=True, nogil=True)
def row_components(labels, offsets):
    """Number rows by connected component, in order of first appearance: (m,) int32.

    labels (m, H), each row with at least one label; two rows are joined where they share a cluster. Invariant: after
    row i, clusters that rows 0..i join are in one tree.
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
    found = 0
    for row in range(labels.shape[0]):
        member = 0
        while labels[row, member] < 0:
            member += 1
        root = _root(parent, offsets[member] + labels[row, member])
        if number[root] < 0:
            number[root] = found
            found += 1
        result[row] = number[root]
    return result

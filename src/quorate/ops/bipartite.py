"""The bipartite graph of rows and base clusters: degrees, products, and connected components.

The kernels compute its degrees, the graph that it induces on the clusters, and vectors carried back to the rows.
"""

from __future__ import annotations

import numpy as np

from quorate.ops.compiling import njit


@njit(cache=True, nogil=True)
def row_degrees(labels, offsets, weights, start, stop, degree):
    """Write to degree[i] the sum of the weights of the base clusters of row i, for rows start..stop-1.

    Shapes: weights (d,); degree (m,).
    """
    for row in range(start, stop):
        total = 0.0
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0:
                total += weights[offsets[member] + label]
        degree[row] = total


@njit(cache=True, nogil=True)
def fold_product(labels, offsets, mass, vector, start, stop, result):
    """Add to `result` the product of the folded graph of rows start..stop-1 and a vector.

    The folded graph is the matrix to which `add_pairs` would add these rows; it is never made. Shapes: mass (m,);
    vector and result (d,).
    """
    for row in range(start, stop):
        total = 0.0
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0:
                total += vector[offsets[member] + label]
        total *= mass[row]
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0:
                result[offsets[member] + label] += total


@njit(cache=True, nogil=True)
def add_pairs(labels, offsets, mass, start, stop, table):
    """Add mass[i] to table[f, g] for every two base clusters f and g of row i, for rows start..stop-1.

    The member of f is the member of g or comes before it. Shapes: labels (m, H); mass (m,); table (d, d) float64, of
    which only the blocks of members on and above the diagonal are written.
    """
    columns = np.empty(labels.shape[1], dtype=np.int64)
    for row in range(start, stop):
        n_known = 0
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0:
                columns[n_known] = offsets[member] + label
                n_known += 1
        for first in range(n_known):
            target = table[columns[first]]
            for second in range(first, n_known):
                target[columns[second]] += mass[row]


@njit(cache=True, nogil=True)
def unit_sums(labels, offsets, table, rows, points):
    """Write to points[i] the sum of table[f] over the base clusters f of row rows[i], scaled to length 1.

    Shapes: table (d, k); rows (r,); points (r, k). A sum of zeros remains zero.
    """
    n_columns = table.shape[1]
    total = np.empty(n_columns)
    for place in range(rows.size):
        total[:] = 0.0
        row = rows[place]
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0:
                cluster = offsets[member] + label
                for column in range(n_columns):
                    total[column] += table[cluster, column]
        length = 0.0
        for column in range(n_columns):
            length += total[column] * total[column]
        scale = 1.0 / np.sqrt(length) if length > 0 else 0.0
        for column in range(n_columns):
            points[place, column] = total[column] * scale


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

"""The graph of rows and base clusters: its degrees, its fold onto the clusters, and vectors carried back to rows."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def row_degrees(labels, offsets, weights, start, stop, degree):
    """degree[i] = sum of the weights of row i's base clusters, rows start..stop-1; weights (d,), degree (m,)."""
    for row in range(start, stop):
        total = 0.0
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0:
                total += weights[offsets[member] + label]
        degree[row] = total


@njit(cache=True, nogil=True)
def add_pairs(labels, offsets, mass, start, stop, table):
    """table[f, g] += mass[i] for every two base clusters f, g of row i, f in no later member than g.

    labels (m, H); mass (m,); rows start..stop-1; table (d, d) float64, of which only the blocks on and above the
    diagonal of members are touched.
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
def unit_sums(labels, offsets, table, start, stop, points):
    """points[i] = sum of table[f] over row i's base clusters f, scaled to length 1; rows start..stop-1.

    table (d, k), points (m, k). A sum of zeros stays zero.
    """
    n_columns = table.shape[1]
    total = np.empty(n_columns)
    for row in range(start, stop):
        total[:] = 0.0
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0:
                place = offsets[member] + label
                for column in range(n_columns):
                    total[column] += table[place, column]
        length = 0.0
        for column in range(n_columns):
            length += total[column] * total[column]
        scale = 1.0 / np.sqrt(length) if length > 0 else 0.0
        for column in range(n_columns):
            points[row, column] = total[column] * scale

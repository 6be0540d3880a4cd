"""Nearest centres and weighted sums of points of few dimensions, in float64: k-means of an embedding."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def nearest_points(points, centres, start, stop, nearest, distance):
    """The nearest centre of points start..stop-1, ties to the lowest, and its squared distance.

    points (m, d); centres (d, k), as columns; nearest (m,) and distance (m,) are written. Differences are squared
    (no expansion of the square), so nothing cancels, and a point's answer does not depend on its neighbours.
    """
    squared = np.empty(centres.shape[1])
    for row in range(start, stop):
        squared[:] = 0.0
        for column in range(points.shape[1]):
            value = points[row, column]
            for centre in range(squared.size):
                difference = value - centres[column, centre]
                squared[centre] += difference * difference
        best = 0
        for centre in range(1, squared.size):
            if squared[centre] < squared[best]:
                best = centre
        nearest[row] = best
        distance[row] = squared[best]


@njit(cache=True, nogil=True)
def add_points(points, mass, labels, sums, sizes):
    """Add mass[i] points[i] to sums[labels[i]] (k, d), and mass[i] to sizes (k,)."""
    for row in range(points.shape[0]):
        label = labels[row]
        sizes[label] += mass[row]
        for column in range(points.shape[1]):
            sums[label, column] += mass[row] * points[row, column]

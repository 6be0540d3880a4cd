"""Nearest centres and weighted sums of points with few dimensions, in float64: k-means of an embedding."""

from __future__ import annotations

import numpy as np

from quorate.ops.compiling import njit


@njit(cache=True, nogil=True)
def nearest_points(points, centres, start, stop, nearest, distance):
    """Find the nearest centre of points start..stop-1, the lowest in a tie, and its squared distance.

    points (m, d); centres (d, k), one column per centre; nearest (m,) and distance (m,) are written. Differences are
    squared instead of expanding the square, so no digits cancel, and the answer for a point does not depend on other
    points.
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
    """Add mass[i] * points[i] to sums[labels[i]] and mass[i] to sizes[labels[i]].

    Shapes: points (m, d); mass and labels (m,); sums (k, d); sizes (k,).
    """
    for row in range(points.shape[0]):
        label = labels[row]
        sizes[label] += mass[row]
        for column in range(points.shape[1]):
            sums[label, column] += mass[row] * points[row, column]

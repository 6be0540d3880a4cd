"""A batch self-organising map whose units are the clusters."""

from __future__ import annotations

import numpy as np

from quorate._types import FloatArray
from quorate.generation.similarity import Rows
from quorate.generation.similarity_kmeans import Run, assign, seeds, sums
from quorate.solvers.draws import fill_empty


def grid_shape(n_units: int) -> tuple[int, int]:
    """Return the grid of exactly `n_units` units that is as square as possible: (2, 5) for 10, (1, 7) for 7."""
    height = next(h for h in range(int(np.sqrt(n_units)), 0, -1) if n_units % h == 0)
    return height, n_units // height


def train_map(rows: Rows, n_units: int, rng: np.random.Generator, max_iter: int) -> Run:
    """Fit the map: the units begin at objects, and the influence of their grid neighbours decreases.

    In each step every object is assigned to its most similar unit, and unit u becomes the mean of all objects, where an
    object of unit v has the weight exp(-g(u, v)^2 / (2 s^2)) and g is the distance on the grid. The radius s falls
    geometrically from half the grid's length (at least 1) to 0.3; then a neighbour has the weight 0.004, and the map is
    almost k-means.
    """
    height, width = grid_shape(n_units)
    places = np.array([(row, column) for row in range(height) for column in range(width)], dtype=np.float64)
    apart = ((places[:, None] - places) ** 2).sum(axis=2)
    mass = np.ones(rows.n_objects)
    units: FloatArray = seeds(rows, n_units, rng, mass)
    for radius in np.geomspace(max(width / 2, 1.0), 0.3, max_iter):
        total, weight = sums(rows, assign(rows, units)[0], mass, n_units)
        pull = np.exp(-apart / (2 * radius**2))
        units = rows.prototypes((pull @ total) / (pull @ weight)[:, None])
    labels, likeness = assign(rows, units)
    fill_empty(labels, rows.apart(likeness), n_units, least=0.0)
    return Run(units, labels, float(likeness.sum()), max_iter)

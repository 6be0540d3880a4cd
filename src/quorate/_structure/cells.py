"""Links between small cells of the measurements, which are merged two by two to find the number of clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._structure.separation import links_of, neighbours_of
from quorate._types import FloatArray
from quorate.generation.features import WHOLE, Features, as_features
from quorate.generation.generating import generate_with_models
from quorate.generation.kmeans import KMeans
from quorate.generation.plans import Request
from quorate.generation.runner import Options

LINKED_OBJECTS = 3_000
"""Objects whose nearest neighbours are found at most."""
NEIGHBOURS = 10
"""The number of nearest neighbours that each object is linked with."""
CELLS = (60, 120, 200)
"""The numbers of cells into which the objects are divided."""
OBJECTS_PER_CELL = 5
"""The least number of objects per cell on average; of few objects there are fewer cells."""
FEWEST = 3
"""Fewer cells than these tell nothing about the number of clusters."""


def links_between_cells(features: Features, entropy: int) -> list[FloatArray]:
    """Divide objects into small cells by k-means, and count links between nearest neighbours of any two cells.

    Cells are so small that hardly any of them reaches from one cluster to another, whatever the shapes of clusters.
    They are made for several numbers of cells, because a single division depends on its random start. Nothing is
    returned for sparse measurements, which have no such distances, and for very few objects.
    """
    if features.is_sparse or features.n_objects < FEWEST * OBJECTS_PER_CELL:
        return []
    drawn = np.arange(features.n_objects)
    if len(drawn) > LINKED_OBJECTS:
        rng = np.random.default_rng((entropy % 2**32, 23))
        drawn = np.sort(rng.choice(len(drawn), LINKED_OBJECTS, replace=False, shuffle=False))
    points = features.prepared(drawn, WHOLE)
    near, _ = neighbours_of(points, NEIGHBOURS)
    divided = [_cells(as_features(points), number, entropy + place) for place, number in enumerate(CELLS)]
    return [links_of(near, labels, int(labels.max()) + 1) for labels in divided]


def _cells(points: Features, number: int, entropy: int) -> NDArray[Any]:
    """Return the cell of each object: one member by k-means of that many clusters."""
    number = min(number, points.n_objects // OBJECTS_PER_CELL)
    request = Request(1, number, KMeans(init="k-means++", max_iter=20), 1.0, 1.0)
    options = Options(None, progress=False, title="", checkpoint=None, keep_models=False)
    labels: NDArray[Any] = generate_with_models(points, request, entropy, options)[0].labels[:, 0]
    return labels

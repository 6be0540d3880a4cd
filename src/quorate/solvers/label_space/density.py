"""Density of clusters from count tables: the mean co-association within, in linear time."""

from __future__ import annotations

import numpy as np

from quorate._types import Ensemble
from quorate.ops.tables import cluster_counts
from quorate.solvers.weights import cluster_weight_shares


def whole_density(ensemble: Ensemble) -> float:
    """Density of all objects as one cluster; 0 for a single object."""
    size = float(ensemble.n_objects)
    if size < 2:
        return 0.0
    together = np.zeros(ensemble.n_rows, dtype=np.int32)
    table = cluster_counts(ensemble.labels, ensemble.offsets, ensemble.counts, together, 1)[:, 0].astype(np.float64)
    shares = cluster_weight_shares(ensemble)
    # less the pairs of an object with itself, of which there is one for each of its labels
    return float((shares @ (table**2) - shares @ table) / (size * (size - 1)))

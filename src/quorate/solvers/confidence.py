"""How sure each row's label is: its co-association with its own cluster beside that with the best other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate._types import AnyEnsemble, FloatArray
from quorate.solvers.label_rows import own_and_rival, tally


def row_confidence(ensemble: AnyEnsemble, labels: NDArray[np.int32]) -> FloatArray:
    """own / (own + rival): 1 where no other cluster shares anything with the row, 0.5 at a draw.

    `own` is the mean co-association of the row with the objects of its cluster, itself included; `rival`
    the largest such mean over the other clusters. O(rows x members x clusters).
    """
    own, rival, _ = _standing(ensemble, labels)
    confidence: FloatArray = own / (own + rival)
    return confidence


def row_runner_up(ensemble: AnyEnsemble, labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """The cluster behind `rival`: the best other one for each row, the lowest of several; -1 where no other cluster
    shares anything with the row. O(rows x members x clusters)."""
    return _standing(ensemble, labels)[2]


def _standing(ensemble: AnyEnsemble, labels: NDArray[np.int32]) -> tuple[FloatArray, FloatArray, NDArray[np.int32]]:
    n_clusters = int(labels.max()) + 1
    table = tally(ensemble, labels, n_clusters)
    sizes = np.bincount(labels, weights=ensemble.counts, minlength=n_clusters)
    means = table * np.repeat(ensemble.weights, ensemble.n_clusters)[:, None] / np.maximum(sizes, 1.0)
    return own_and_rival(ensemble, means, labels)

"""Mean rows of clusters, and the cluster each unlabelled row is nearest to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate._types import AnyEnsemble, Ensemble, FloatArray, read_only
from quorate.ops.tables import nearest_clusters
from quorate.solvers.label_rows import tally
from quorate.solvers.weights import cluster_weights


def cluster_means(ensemble: AnyEnsemble, labels: NDArray[np.int32], n_clusters: int) -> tuple[FloatArray, FloatArray]:
    """The mean one-hot row of each cluster times the member weights, (d, k), and the clusters' sizes in objects.

    Added up over the base clusters of a row, a column is the row's mean co-association with the objects of that
    cluster, in units of member weight. Rows with label -1 belong to no cluster.
    """
    if ensemble.card is not None:
        from quorate._device.card_tables import tally_and_sizes

        counted, objects = tally_and_sizes(ensemble, labels, n_clusters)
        return counted * cluster_weights(ensemble)[:, None] / np.maximum(objects, 1.0), objects.astype(np.float64)
    table = tally(ensemble, labels, n_clusters)
    known = labels >= 0
    sizes: FloatArray = np.bincount(labels[known], ensemble.counts[known], n_clusters).astype(np.float64)
    return table * cluster_weights(ensemble)[:, None] / np.maximum(sizes, 1.0), sizes


def completed(ensemble: Ensemble, labels: NDArray[np.int32], n_clusters: int) -> NDArray[np.int32]:
    """Labels with each unlabelled row given to the cluster of the highest mean co-association.

    A row that shares nothing with any cluster joins the largest.
    """
    gaps = np.flatnonzero(labels < 0)
    if not len(gaps):
        return labels
    means, sizes = cluster_means(ensemble, labels, n_clusters)
    nearest, score = np.empty(len(gaps), dtype=np.int32), np.empty(len(gaps))
    rows = read_only(ensemble.labels[gaps])
    no_bias = np.zeros(n_clusters)
    nearest_clusters(
        rows, ensemble.offsets, means, np.ones(n_clusters), no_bias, np.ones(1), 0, len(gaps), nearest, score
    )
    nearest[score == 0.0] = np.argmax(sizes)
    filled = labels.copy()
    filled[gaps] = nearest
    return filled

"""How close objects are to their own cluster and to the others: item consensus and silhouettes.

The time is linear in the number of rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quorate._evaluation.binning import Bins, LabelledRows
from quorate._types import Ensemble, FloatArray, read_only
from quorate.ops.tables import cluster_counts
from quorate.solvers.cluster_means import cluster_means
from quorate.solvers.label_rows import own_and_rival


class Closeness(NamedTuple):
    """The mean co-association of a row's objects with their own cluster and with the closest other cluster.

    An object is not compared with itself; `own` is 0 if the cluster has no other objects.
    """

    own: FloatArray
    other: FloatArray


def closeness(labelled: LabelledRows) -> Closeness:
    """Return the closeness of every row, in O(rows x members x clusters)."""
    rows, labels = labelled.rows, labelled.labels
    means, _ = cluster_means(rows, labels, labelled.n_clusters)
    means /= rows.weights.sum()
    own, other, _ = own_and_rival(rows, means, labels)
    sizes = labelled.sizes[labels].astype(np.float64)
    # The means include the object itself, whose co-association with itself is the share of the members that label it.
    own = (own * sizes - known_share(rows)) / np.maximum(sizes - 1, 1)
    return Closeness(np.where(sizes > 1, own, 0.0), other)


def known_share(rows: Ensemble) -> FloatArray:
    """The share of the members, by weight, that label a row."""
    share: FloatArray = (rows.labels >= 0) @ (rows.weights / rows.weights.sum())
    return share


def silhouettes(labelled: LabelledRows) -> FloatArray:
    """Return the silhouette (b - a) / max(a, b) of every row.

    a is the mean distance 1 - A to the other objects of its cluster, where A is the co-association, and b is the mean
    distance to the objects of the closest other cluster. The silhouette is 0 for a cluster of one object and if a = b =
    0.
    """
    own, other = closeness(labelled)
    a, b = 1 - own, 1 - other
    larger = np.maximum(a, b)
    scale = np.where(larger > 1e-12, larger, 1.0)
    values: FloatArray = np.where(labelled.sizes[labelled.labels] > 1, (b - a) / scale, 0.0)
    return values


def bin_item_consensus(labelled: LabelledRows, bins: Bins) -> FloatArray:
    """Return the (n_bins, n_clusters) mean co-association of the objects of each bin with the objects of each cluster.

    An object is not compared with itself.
    """
    rows, n_bins = labelled.rows, len(bins.clusters)
    means, _ = cluster_means(rows, labelled.labels, labelled.n_clusters)
    labels = read_only(rows.labels[bins.row])
    table = cluster_counts(labels, rows.offsets, bins.counts, bins.bin, n_bins)
    widths = np.diff(bins.edges)
    result: FloatArray = (table.T @ (means / rows.weights.sum())) / widths[:, None]
    place, sizes = np.arange(n_bins), labelled.sizes[bins.clusters].astype(np.float64)
    own = result[place, bins.clusters] * sizes - bins.mean(known_share(rows))
    result[place, bins.clusters] = np.where(sizes > 1, own / np.maximum(sizes - 1, 1), 0.0)
    return result

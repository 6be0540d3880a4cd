"""How close objects are to their own cluster and to the others: item consensus and silhouettes, linear in rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quorate._evaluation.binning import Bins, LabelledRows
from quorate._types import Ensemble, FloatArray, read_only
from quorate.ops.tables import cluster_counts
from quorate.solvers.cluster_means import cluster_means
from quorate.solvers.label_rows import own_and_rival


class Closeness(NamedTuple):
    """Mean co-association of a row's objects with the other objects of their cluster (0 where there are none), and
    with those of the closest other cluster."""

    own: FloatArray
    other: FloatArray


def closeness(labelled: LabelledRows) -> Closeness:
    """Of every row; O(rows x members x clusters)."""
    rows, labels = labelled.rows, labelled.labels
    means, _ = cluster_means(rows, labels, labelled.n_clusters)
    means /= rows.weights.sum()
    own, other, _ = own_and_rival(rows, means, labels)
    sizes = labelled.sizes[labels].astype(np.float64)
    # the means hold the object itself, which shares with itself all it knows
    own = (own * sizes - known_share(rows)) / np.maximum(sizes - 1, 1)
    return Closeness(np.where(sizes > 1, own, 0.0), other)


def known_share(rows: Ensemble) -> FloatArray:
    """The share of the members, by weight, that label a row."""
    share: FloatArray = (rows.labels >= 0) @ (rows.weights / rows.weights.sum())
    return share


def silhouettes(labelled: LabelledRows) -> FloatArray:
    """(b - a) / max(a, b) of every row; a is the mean distance 1 - A to the other objects of its cluster, b the mean
    distance to the objects of the closest other cluster. 0 for a cluster of one object, and where a = b = 0."""
    own, other = closeness(labelled)
    a, b = 1 - own, 1 - other
    larger = np.maximum(a, b)
    scale = np.where(larger > 1e-12, larger, 1.0)
    values: FloatArray = np.where(labelled.sizes[labelled.labels] > 1, (b - a) / scale, 0.0)
    return values


def bin_item_consensus(labelled: LabelledRows, bins: Bins) -> FloatArray:
    """(n_bins, n_clusters): for the objects of each bin, the mean co-association with the objects of each cluster,
    the object itself left out."""
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

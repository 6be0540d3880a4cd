"""Item and cluster consensus by the consensus index: co-association over the members that label both objects."""

from __future__ import annotations

import numpy as np

from quorate._evaluation.binning import LabelledRows
from quorate._types import Ensemble, FloatArray
from quorate.ops.tables import cluster_counts
from quorate.solvers.label_rows import one_hot


def row_consensus(labelled: LabelledRows) -> FloatArray:
    """Return the (rows, clusters) consensus index of each row's objects with the other objects of each cluster.

    Each pair is weighted by the weight of the members that label both objects. The value is NaN if no member labels
    both the object and another object of the cluster. The cost is O(rows x members x clusters).
    """
    rows = labelled.rows
    together, known = _sums(labelled)
    own = np.arange(rows.n_rows), labelled.labels
    # An object does not form a pair with itself.
    self_known = (rows.labels >= 0) @ rows.weights
    together[own] -= self_known
    known[own] -= self_known
    return _ratio(together, known)


def cluster_consensus(labelled: LabelledRows) -> FloatArray:
    """Return the consensus index of the pairs of objects of each cluster, weighted in the same way.

    It is NaN for a cluster of a single object.
    """
    rows = labelled.rows
    together, known = _sums(labelled)
    own = np.arange(rows.n_rows), labelled.labels
    self_known = (rows.labels >= 0) @ rows.weights
    weights = rows.counts.astype(np.float64)
    shared, both = (
        np.bincount(labelled.labels, weights * (part[own] - self_known), labelled.n_clusters).astype(np.float64)
        for part in (together, known)
    )
    return _ratio(shared, both)


def _sums(labelled: LabelledRows) -> tuple[FloatArray, FloatArray]:
    """Return two (rows, clusters) tables of weights of members, summed over the objects of each cluster.

    The first counts the members that put the row together with an object of the cluster, the second those that label
    both.
    """
    rows = labelled.rows
    table = cluster_counts(rows.labels, rows.offsets, rows.counts, labelled.labels, labelled.n_clusters)
    weights = np.repeat(rows.weights, rows.n_clusters)[:, None]
    together: FloatArray = one_hot(rows) @ (weights * table)
    known: FloatArray = (rows.labels >= 0) @ (rows.weights[:, None] * _known_by_member(rows, table))
    return together, known


def _known_by_member(rows: Ensemble, table: FloatArray) -> FloatArray:
    """Return the (members, clusters) number of objects of each cluster that each member labels."""
    result: FloatArray = np.add.reduceat(table, rows.offsets[:-1], axis=0)
    return result


def _ratio(shared: FloatArray, known: FloatArray) -> FloatArray:
    result: FloatArray = np.divide(shared, known, out=np.full(shared.shape, np.nan), where=known > 1e-12)
    return np.clip(result, 0.0, 1.0)

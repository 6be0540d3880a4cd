"""Weights of base clusters learnt from the ensemble: a cluster counts more if the other members keep it whole."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from quorate._types import Ensemble, FloatArray
from quorate.ops.tables import cluster_counts
from quorate.solvers.linkage.average_link import Weighting
from quorate.solvers.weights import WEIGHT_UNIT, cluster_weights, relative_weights


def cluster_certainty(ensemble: Ensemble, theta: float) -> FloatArray:
    """exp(-E / theta) for each base cluster, (d,); E is the mean entropy, in bits, of how the members split it.

    A member's entropy is taken over the objects of the cluster it knows, and counts by its weight times their number.
    One table (d, k_q) per member is counted, in O(m H^2) time for all of them.
    """
    labels, offsets, counts = ensemble.labels, ensemble.offsets, ensemble.counts
    pieces = []
    for member, k in enumerate(ensemble.n_clusters):
        column = labels[:, member].astype(np.int32)
        table = cluster_counts(labels, offsets, counts, column, int(k)).astype(np.float64)
        known = np.add.reduceat(table, offsets[:-1], axis=0)
        # sum of n log(known / n) over the parts a member makes of the cluster: its entropy times what it knows
        split = xlogy(known, known) - np.add.reduceat(xlogy(table, table), offsets[:-1], axis=0)
        entropy = ensemble.weights @ split / np.log(2) / (ensemble.weights @ known)
        pieces.append(np.exp(-np.maximum(entropy, 0.0) / theta))
    certainty: FloatArray = np.concatenate(pieces)
    return certainty


def local_weighting(ensemble: Ensemble, certainty: FloatArray) -> Weighting:
    """Member weight times certainty, rounded to whole numbers of a fixed unit that are at least 1."""
    weights = relative_weights(ensemble)
    columns: FloatArray = np.rint(np.repeat(weights, ensemble.n_clusters) * certainty * WEIGHT_UNIT)
    return Weighting(np.maximum(columns, 1.0), float(weights.sum()) * WEIGHT_UNIT)


def edge_weights(ensemble: Ensemble, certainty: FloatArray) -> FloatArray:
    """Member weight times certainty (d,), for graphs; never so small that a row would be cut off from all clusters."""
    return cluster_weights(ensemble) * np.maximum(certainty, 1e-9)

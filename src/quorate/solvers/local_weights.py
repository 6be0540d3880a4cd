"""What two base clusters have in common, and weights of base clusters learnt from the ensemble."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from quorate._types import Ensemble, FloatArray
from quorate.ops.bipartite import add_pairs, row_degrees
from quorate.ops.threads import map_blocks, map_fixed_blocks
from quorate.solvers.contingency import member_labels
from quorate.solvers.label_rows import one_hot, shared_objects, tally
from quorate.solvers.linkage.average_link import Weighting
from quorate.solvers.parts import added_up, row_by_row
from quorate.solvers.weights import WEIGHT_UNIT, cluster_weights, relative_weights, without_common_factor

FOLD_ROWS = 65_536
"""The least number of rows per thread: each thread needs a matrix of its own."""


MASS_BITS = 52
"""Masses of rows are added up as whole numbers, which floats hold exactly as long as their sum is below 2^53."""


def fold(ensemble: Ensemble, mass: FloatArray) -> FloatArray:
    """For any two base clusters the sum of mass over the rows they share, (d, d).

    Masses are rounded to whole numbers of a small unit, so that their sums depend on no order.
    """
    unit = _mass_unit(mass)
    upper: FloatArray = _shared_mass(ensemble, mass, unit)
    return (upper + upper.T - np.diag(np.diag(upper))) / unit


def _mass_unit(mass: FloatArray) -> float:
    """A power of two by which masses are multiplied before they are rounded; it does not depend on their order."""
    largest = float(mass.max())
    if largest <= 0:
        return 1.0
    bound = (_sum_of_shares(mass, largest) + len(mass)) / MASS_SHARES * largest
    return float(2.0 ** (MASS_BITS - math.ceil(math.log2(bound))))


MASS_SHARES = 2**20


@added_up
def _sum_of_shares(mass: FloatArray, largest: float) -> int:
    """The sum of all masses as shares of the largest, in whole numbers of 1 / MASS_SHARES."""
    return int(np.rint(mass * (MASS_SHARES / largest)).astype(np.int64).sum())


@added_up
def _shared_mass(ensemble: Ensemble, mass: FloatArray, unit: float) -> FloatArray:
    n_clusters = int(ensemble.offsets[-1])

    def block(start: int, stop: int) -> FloatArray:
        table, whole = np.zeros((n_clusters, n_clusters)), np.rint(mass[start:stop] * unit)
        add_pairs(ensemble.labels[start:stop], ensemble.offsets, whole, 0, stop - start, table)
        return table

    blocks = map_fixed_blocks(block, ensemble.n_rows, max(FOLD_ROWS, -(-ensemble.n_rows // 4)))
    total: FloatArray = np.sum(blocks, axis=0)
    return total


def row_masses(ensemble: Ensemble, weights: FloatArray) -> FloatArray:
    """The objects of each row (m,), divided by the sum of the weights (d,) of its base clusters."""
    # twice the objects is the same graph; without the common factor it is so to the last bit
    return _masses(without_common_factor(ensemble), weights)


@row_by_row()
def _masses(ensemble: Ensemble, weights: FloatArray) -> FloatArray:
    counts, mass = ensemble.counts, np.empty(ensemble.n_rows)
    labels, offsets = ensemble.labels, ensemble.offsets
    map_blocks(lambda start, stop: row_degrees(labels, offsets, weights, start, stop, mass), ensemble.n_rows)
    # a row without any label has no clusters, and no mass
    np.divide(counts, mass, out=mass, where=mass > 0)
    return mass


def cluster_overlap(ensemble: Ensemble) -> FloatArray:
    """The Jaccard index (d, d) of any two base clusters, in objects; 0 within a member and on the diagonal."""
    both = fold(ensemble, ensemble.counts.astype(np.float64))
    sizes = np.diag(both).copy()
    union = sizes[:, None] + sizes - both
    overlap: FloatArray = both / np.where(union > 0, union, 1.0)
    np.fill_diagonal(overlap, 0)
    return overlap


CARD_CLUSTERS = 8192
"""Clusters of all members up to which a card counts what any two of them share in one table."""
DENSE_ENTRIES = 1 << 22
"""Entries of a table between one member's clusters and those of all, above which only its nonzeros are kept."""


def cluster_certainty(ensemble: Ensemble, theta: float) -> FloatArray:
    """exp(-E / theta) for each base cluster, (d,); E is the mean entropy, in bits, of how the members split it.

    A member's entropy is taken over the objects of the cluster it knows, and counts by its weight times their number.
    O(m H^2) time for m rows and H members.
    """
    pieces = []
    # as many objects of each row again split the clusters alike, and without the common factor to the last bit
    ensemble = without_common_factor(ensemble)
    shared = shared_objects(ensemble, CARD_CLUSTERS)
    for member in range(ensemble.n_members):
        known, split = _splits(ensemble, member, shared)
        objects = ensemble.weights @ known
        # a cluster that has no objects among these rows is not split at all
        entropy = ensemble.weights @ split / np.log(2) / np.where(objects > 0, objects, 1.0)
        pieces.append(np.exp(-np.maximum(entropy, 0.0) / theta))
    certainty: FloatArray = np.concatenate(pieces)
    return certainty


def _splits(ensemble: Ensemble, member: int, shared: NDArray[np.int64] | None = None) -> tuple[FloatArray, FloatArray]:
    """How all members split the k clusters of one: objects they know, and the entropy in nats times these, both (H, k).

    The entropy of parts n_1, n_2, ... of a cluster, times their sum s, is s log s minus the sum of n log n.
    """
    offsets, k = ensemble.offsets, int(ensemble.n_clusters[member])
    if shared is not None:
        table = shared[:, offsets[member] : offsets[member + 1]].astype(np.float64)
    elif k * int(offsets[-1]) > DENSE_ENTRIES:
        return _sparse_splits(ensemble, member)
    else:
        table = tally(ensemble, member_labels(ensemble, member), k).astype(np.float64)
    known = np.add.reduceat(table, offsets[:-1], axis=0)
    return known, xlogy(known, known) - np.add.reduceat(xlogy(table, table), offsets[:-1], axis=0)


def _sparse_splits(ensemble: Ensemble, member: int) -> tuple[FloatArray, FloatArray]:
    """The same from the pairs of clusters that share an object, which are few where clusters are many."""
    from scipy.sparse import csr_array

    k, n_members = int(ensemble.n_clusters[member]), ensemble.n_members
    rows = np.flatnonzero(ensemble.labels[:, member] >= 0)
    values = ensemble.counts[rows].astype(np.float64)
    shape = (k, ensemble.n_rows)
    pairs = (csr_array((values, (ensemble.labels[rows, member], rows)), shape=shape) @ one_hot(ensemble)).tocoo()
    place = pairs.row.astype(np.int64) * n_members + np.searchsorted(ensemble.offsets, pairs.col, side="right") - 1
    known, logs = (
        np.asarray(np.bincount(place, weights=weights, minlength=k * n_members), dtype=np.float64)
        for weights in (pairs.data, xlogy(pairs.data, pairs.data))
    )
    split: FloatArray = xlogy(known, known) - logs
    return known.reshape(k, n_members).T, split.reshape(k, n_members).T


def local_weighting(ensemble: Ensemble, certainty: FloatArray) -> Weighting:
    """Member weight times certainty, rounded to whole numbers of a fixed unit that are at least 1."""
    weights = relative_weights(ensemble)
    columns: FloatArray = np.rint(np.repeat(weights, ensemble.n_clusters) * certainty * WEIGHT_UNIT)
    return Weighting(np.maximum(columns, 1.0), float(weights.sum()) * WEIGHT_UNIT)


def edge_weights(ensemble: Ensemble, certainty: FloatArray) -> FloatArray:
    """Member weight times certainty (d,), for graphs; never so small that a row would be cut off from all clusters."""
    return cluster_weights(ensemble) * np.maximum(certainty, 1e-9)

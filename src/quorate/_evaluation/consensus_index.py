"""The consensus index of two objects: its distribution, PAC, item and cluster consensus, and silhouettes.

The index is the share of the members that put the two objects together, among the members that label both.

The time is linear in the number of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._data.ensemble import as_ensemble
from quorate._data.rows import compress, select_members
from quorate._evaluation.binning import Bins, LabelledRows, is_sampled
from quorate._types import Ensemble, FloatArray, read_only
from quorate.ops.pairs import ambiguous_drawn, ambiguous_pairs, pair_shares
from quorate.ops.tables import cluster_counts
from quorate.solvers.cluster_means import cluster_means
from quorate.solvers.contingency import squarable
from quorate.solvers.label_rows import one_hot, own_and_rival, rows_of_objects

EXACT_ROWS = 1_500
"""Up to this many rows all pairs are counted; above, pairs of objects are drawn."""
DRAWN_PAIRS = 1_000_000
"""The number of pairs drawn: the standard error of a proportion among so many pairs is at most 0.0005."""
MEMBERS_OF_A_SIZE = 5
"""The least number of members with the same number of clusters that get a distribution of their own."""


class IndexDistribution(NamedTuple):
    """The values of the consensus index in increasing order, and the share of pairs of objects with each value.

    `n_drawn` is the number of pairs drawn, or 0 if all pairs were counted.
    """

    values: FloatArray
    shares: FloatArray
    n_drawn: int

    @property
    def area(self) -> float:
        """The area under the cumulative distribution from 0 to 1, which is 1 minus the mean index."""
        return float(1 - self.values @ self.shares)


def index_distribution(ensemble: Ensemble, rng: np.random.Generator) -> IndexDistribution:
    """Return the distribution of the consensus index over pairs of different objects.

    The index of a pair is the share of the members that put both objects together, among the members that label both
    [Monti et al. 2003]. Pairs that no member labels are left out.
    """
    rows, _ = compress(ensemble)
    exact = rows.n_rows <= EXACT_ROWS
    first, second = np.triu_indices(rows.n_rows, 1) if exact else draw_pairs(rows, rng)
    counts = squarable(rows.counts)
    pairs = counts[first] * counts[second] if exact else np.ones(len(first), dtype=np.int64)
    shares = np.empty(len(first))
    pair_shares(rows.labels, rows.weights, first, second, shares)
    if exact:
        # the objects of one row agree in every member that labels them
        alike = counts[(rows.labels >= 0).any(axis=1)]
        shares, pairs = np.append(shares, 1.0), np.append(pairs, (alike * (alike - 1)).sum() // 2)
    known = (shares >= 0) & (pairs > 0)
    if not known.any():
        raise ValueError("no member labels two objects, so there is no consensus index to draw.")
    values, place = np.unique(np.round(shares[known], 12), return_inverse=True)
    pairs_of_value = np.bincount(place.reshape(-1), weights=pairs[known])
    return IndexDistribution(values, pairs_of_value / pairs_of_value.sum(), 0 if exact else DRAWN_PAIRS)


def draw_pairs(rows: Ensemble, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draw DRAWN_PAIRS pairs of different objects, all pairs equally likely, and return the rows of both objects."""
    one = rng.integers(rows.n_objects, size=DRAWN_PAIRS)
    # the second object is any but the first
    other = (one + rng.integers(1, rows.n_objects, size=DRAWN_PAIRS)) % rows.n_objects
    return rows_of_objects(rows.counts, one), rows_of_objects(rows.counts, other)


def by_size(labels: Any) -> dict[Any, Ensemble]:
    """Return the ensembles of a mapping, or the members of one ensemble grouped by their number of clusters.

    Groups of fewer than five members are left out; if no group is left, all members stay together.
    """
    if isinstance(labels, Mapping) and labels and all(isinstance(part, Ensemble) for part in labels.values()):
        return dict(labels)
    ensemble = as_ensemble(labels)
    numbers, times = np.unique(ensemble.n_clusters, return_counts=True)
    enough = numbers[times >= MEMBERS_OF_A_SIZE]
    parts = {int(k): select_members(ensemble, np.flatnonzero(ensemble.n_clusters == k)) for k in enough}
    return parts or {"all members": ensemble}


def relative_gains(areas: Sequence[float]) -> FloatArray:
    """Return the first area, then the relative growth of each area over the one before, which is 0 if both are 0."""
    values = np.asarray(areas, dtype=np.float64)
    before = np.where(values[:-1] > 0, values[:-1], 1.0)
    return np.concatenate([values[:1], np.diff(values) / before])


EXACT_AMBIGUITY_ROWS = 3_000
"""Up to this many rows all pairs are counted; above, pairs of objects are drawn."""


class Ambiguity(NamedTuple):
    """The proportion, and the number of pairs drawn for it, which is 0 if all pairs were counted."""

    proportion: float
    n_drawn: int


def ambiguity(
    ensemble: Ensemble,
    members: NDArray[np.intp],
    rng: np.random.Generator,
    *,
    low: float = 0.1,
    high: float = 0.9,
) -> Ambiguity:
    """Return the share of pairs of objects whose co-association lies strictly between low and high.

    The co-association of a pair is taken over those of the given members that label both objects; pairs that no member
    labels are left out. All pairs are counted if there are few rows, and a sample of pairs of objects is drawn if there
    are many.
    """
    labels, weights = read_only(ensemble.labels[:, members]), read_only(ensemble.weights[members])
    if ensemble.n_rows <= EXACT_AMBIGUITY_ROWS:
        counts = read_only(squarable(ensemble.counts))
        ambiguous, known = ambiguous_pairs(labels, counts, weights, low, high, 0, ensemble.n_rows)
        alike = counts[(labels >= 0).any(axis=1)]
        # Objects of one row agree in all members, so their co-association is 1, which is below `high` only if high > 1.
        known += int((alike * (alike - 1)).sum()) // 2
        return Ambiguity(ambiguous / known if known else 0.0, 0)
    ambiguous, known = ambiguous_drawn(labels, weights, low, high, *draw_pairs(ensemble, rng))
    return Ambiguity(ambiguous / known if known else 0.0, DRAWN_PAIRS)


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


class Closeness(NamedTuple):
    """The mean co-association of a row's objects with their own cluster and with the closest other cluster.

    An object is not compared with itself; `own` is 0 if the cluster has no other objects.
    """

    own: FloatArray
    other: FloatArray


def closeness(labelled: LabelledRows) -> Closeness:
    """Return the closeness of every row, in O(rows x members x clusters).

    Where members are samples, only the members that label both objects of a pair count (`row_consensus`).
    """
    rows, labels = labelled.rows, labelled.labels
    if is_sampled(rows):
        values = np.nan_to_num(row_consensus(labelled))
        place = np.arange(rows.n_rows), labels
        own = values[place]
        values[place] = 0.0
        return Closeness(own, values.max(axis=1))
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
    if is_sampled(rows):
        return np.column_stack([bins.mean(values) for values in np.nan_to_num(row_consensus(labelled)).T])
    means, _ = cluster_means(rows, labelled.labels, labelled.n_clusters)
    labels = read_only(rows.labels[bins.row])
    table = cluster_counts(labels, rows.offsets, bins.counts, bins.bin, n_bins)
    widths = np.diff(bins.edges)
    result: FloatArray = (table.T @ (means / rows.weights.sum())) / widths[:, None]
    place, sizes = np.arange(n_bins), labelled.sizes[bins.clusters].astype(np.float64)
    own = result[place, bins.clusters] * sizes - bins.mean(known_share(rows))
    result[place, bins.clusters] = np.where(sizes > 1, own / np.maximum(sizes - 1, 1), 0.0)
    return result

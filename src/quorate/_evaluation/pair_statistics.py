"""The numbers behind the pictures: distribution of the consensus index, item consensus, silhouette; linear in rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._data.ensemble import as_ensemble, compress
from quorate._evaluation.ambiguity import DRAWN_PAIRS, drawn_pairs
from quorate._evaluation.binning import Bins, Labelled
from quorate._types import Consensus, Ensemble, FloatArray, IntArray, read_only
from quorate.ops.ambiguity import pair_shares
from quorate.ops.tables import cluster_counts, own_and_rival
from quorate.ops.threads import map_blocks
from quorate.solvers.cluster_means import cluster_means
from quorate.solvers.contingency import contingency

EXACT_ROWS = 1_500
"""Rows up to which all pairs are counted; above, pairs of objects are drawn."""
MEMBERS_OF_A_SIZE = 5
"""Members with one number of clusters that it takes for a distribution of their own."""


class IndexDistribution(NamedTuple):
    """Values of the consensus index in rising order, and the share of pairs of objects with each of them.

    `n_drawn` is the number of pairs drawn, 0 where all were counted.
    """

    values: FloatArray
    shares: FloatArray
    n_drawn: int

    @property
    def area(self) -> float:
        """Area under the cumulative distribution from 0 to 1, which is 1 less the mean index."""
        return float(1 - self.values @ self.shares)


def index_distribution(ensemble: Ensemble, rng: np.random.Generator) -> IndexDistribution:
    """Of the consensus index over pairs of different objects: the share of the members that know both objects
    which put them together [Monti et al. 2003]. Pairs that no member knows are left out."""
    rows, _ = compress(ensemble)
    exact = rows.n_rows <= EXACT_ROWS
    first, second = np.triu_indices(rows.n_rows, 1) if exact else drawn_pairs(rows, rng)
    pairs = rows.counts[first] * rows.counts[second] if exact else np.ones(len(first), dtype=np.int64)
    shares = np.empty(len(first))
    pair_shares(rows.labels, rows.weights, first, second, shares)
    if exact:
        # the objects of one row agree in every member that knows them
        alike = rows.counts[(rows.labels >= 0).any(axis=1)]
        shares, pairs = np.append(shares, 1.0), np.append(pairs, (alike * (alike - 1)).sum() // 2)
    known = (shares >= 0) & (pairs > 0)
    if not known.any():
        raise ValueError("no two objects are known to one member, so there is no consensus index to draw.")
    values, place = np.unique(np.round(shares[known], 12), return_inverse=True)
    found = np.bincount(place.reshape(-1), weights=pairs[known])
    return IndexDistribution(values, found / found.sum(), 0 if exact else DRAWN_PAIRS)


def by_size(labels: Any) -> dict[Any, Ensemble]:
    """The ensembles of a mapping, or the members of one ensemble apart by their number of clusters.

    Numbers that fewer than five members have are left out; where no number is left, all members stay together.
    """
    if isinstance(labels, Mapping) and labels and all(isinstance(part, Ensemble) for part in labels.values()):
        return dict(labels)
    ensemble = as_ensemble(labels)
    numbers, found = np.unique(ensemble.n_clusters, return_counts=True)
    parts = {int(k): _only(ensemble, ensemble.n_clusters == k) for k in numbers[found >= MEMBERS_OF_A_SIZE]}
    return parts or {"all members": ensemble}


def _only(ensemble: Ensemble, chosen: NDArray[np.bool_]) -> Ensemble:
    """The chosen members; objects none of them labels stay, as rows that share nothing."""
    members = np.flatnonzero(chosen)
    return replace(
        ensemble,
        labels=read_only(ensemble.labels[:, members]),
        n_clusters=ensemble.n_clusters[members],
        weights=ensemble.weights[members],
        member_names=tuple(ensemble.member_names[member] for member in members),
        categories=tuple(ensemble.categories[member] for member in members),
    )


def relative_gains(areas: Sequence[float]) -> FloatArray:
    """The first area, then the growth of each over the one before; 0 where both are 0."""
    values = np.asarray(areas, dtype=np.float64)
    before = np.where(values[:-1] > 0, values[:-1], 1.0)
    return np.concatenate([values[:1], np.diff(values) / before])


class Closeness(NamedTuple):
    """Mean co-association of a row's objects with the other objects of their cluster (0 where there are none), and
    with those of the closest other cluster."""

    own: FloatArray
    other: FloatArray


def closeness(found: Labelled) -> Closeness:
    """Of every row; O(rows x members x clusters)."""
    rows, labels = found.rows, found.labels
    means, _ = cluster_means(rows, labels, found.n_clusters)
    means /= rows.weights.sum()
    own, other = np.empty(rows.n_rows), np.empty(rows.n_rows)
    map_blocks(
        lambda start, stop: own_and_rival(rows.labels, rows.offsets, means, labels, start, stop, own, other),
        rows.n_rows,
    )
    sizes = found.sizes[labels].astype(np.float64)
    # the means hold the object itself, which shares with itself all it knows
    own = (own * sizes - known_share(rows)) / np.maximum(sizes - 1, 1)
    return Closeness(np.where(sizes > 1, own, 0.0), other)


def known_share(rows: Ensemble) -> FloatArray:
    """The share of the members, by weight, that label a row."""
    share: FloatArray = (rows.labels >= 0) @ (rows.weights / rows.weights.sum())
    return share


def silhouettes(found: Labelled) -> FloatArray:
    """(b - a) / max(a, b) of every row; a is the mean distance 1 - A to the other objects of its cluster, b the mean
    distance to the objects of the closest other cluster. 0 for a cluster of one object, and where a = b = 0."""
    own, other = closeness(found)
    a, b = 1 - own, 1 - other
    larger = np.maximum(a, b)
    scale = np.where(larger > 1e-12, larger, 1.0)
    values: FloatArray = np.where(found.sizes[found.labels] > 1, (b - a) / scale, 0.0)
    return values


def bin_item_consensus(found: Labelled, bins: Bins) -> FloatArray:
    """(n_bins, n_clusters): for the objects of each bin, the mean co-association with the objects of each cluster,
    the object itself left out."""
    rows, n_bins = found.rows, len(bins.clusters)
    means, _ = cluster_means(rows, found.labels, found.n_clusters)
    labels = read_only(rows.labels[bins.row])
    table = cluster_counts(labels, rows.offsets, bins.counts, bins.bin, n_bins)
    widths = np.diff(bins.edges)
    result: FloatArray = (table.T @ (means / rows.weights.sum())) / widths[:, None]
    place, sizes = np.arange(n_bins), found.sizes[bins.clusters].astype(np.float64)
    own = result[place, bins.clusters] * sizes - bins.mean(known_share(rows))
    result[place, bins.clusters] = np.where(sizes > 1, own / np.maximum(sizes - 1, 1), 0.0)
    return result


def translated(found: Labelled) -> IntArray:
    """Members' labels of every row as the cluster that each base cluster shares most objects with; -1 stays."""
    table = cluster_counts(found.rows.labels, found.rows.offsets, found.rows.counts, found.labels, found.n_clusters)
    closest = table.argmax(axis=1)
    labels = found.rows.labels
    return np.where(labels >= 0, closest[found.rows.offsets[:-1] + np.maximum(labels, 0)], -1)


def matched_rows(results: Sequence[Consensus]) -> tuple[IntArray, NDArray[np.int64]]:
    """Distinct rows of labels over several results, and their counts; a cluster keeps the number of the cluster of
    the result before that it is matched with (Hungarian), and takes a new one where there is none."""
    rows, _ = compress(as_ensemble([result.labels for result in results], orientation="members"))
    columns = [rows.labels[:, 0].astype(np.int64)]
    for member in range(1, rows.n_members):
        columns.append(matched(columns[-1], rows.labels[:, member].astype(np.int64), rows.counts))
    return np.column_stack(columns), rows.counts


def matched(before: IntArray, labels: IntArray, counts: NDArray[np.int64]) -> IntArray:
    """Labels with the numbers of the clusters before that they are matched with, new numbers where there are none."""
    from scipy.optimize import linear_sum_assignment

    n_before, n_labels = int(before.max()) + 1, int(labels.max()) + 1
    table = contingency(before, labels, n_before, n_labels, counts)
    shared = np.zeros((n_before, n_labels))
    shared[table.first, table.second] = table.counts
    old, new = linear_sum_assignment(shared, maximize=True)
    met = shared[old, new] > 0
    number = np.full(n_labels, -1, dtype=np.int64)
    number[new[met]] = old[met]
    missing = number < 0
    number[missing] = n_before + np.arange(int(missing.sum()))
    return number[labels]

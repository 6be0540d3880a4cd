"""Mean rows of clusters, how near each row is to its own and the best other one, and where unlabelled rows belong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._types import AnyEnsemble, Consensus, Ensemble, FloatArray, read_only
from quorate.ops.tables import nearest_clusters, sparse_own_and_rival
from quorate.ops.threads import map_blocks
from quorate.solvers.label_rows import cluster_sizes, one_hot, own_and_rival, tally_and_sizes
from quorate.solvers.weights import cluster_weights

DENSE_ENTRIES = 2**23
"""Entries of a table of all base clusters and all clusters of a labelling above which only its nonzeros are kept."""


def cluster_means(ensemble: AnyEnsemble, labels: NDArray[np.int32], n_clusters: int) -> tuple[FloatArray, FloatArray]:
    """The mean one-hot row of each cluster times the member weights, (d, k), and the clusters' sizes in objects.

    Added up over the base clusters of a row, a column is the row's mean co-association with the objects of that
    cluster, in units of member weight. Rows with label -1 belong to no cluster.
    """
    table, sizes = tally_and_sizes(ensemble, labels, n_clusters)
    return table * cluster_weights(ensemble)[:, None] / np.maximum(sizes, 1.0), sizes.astype(np.float64)


def standing(
    ensemble: AnyEnsemble, labels: NDArray[np.int32], n_clusters: int
) -> tuple[FloatArray, FloatArray, NDArray[np.int32]]:
    """The mean co-association of each row with its own cluster and with the best other one, and which that is.

    In units of member weight; -1 if no other cluster shares anything with the row. Where members and labelling have so
    many clusters that the table between them would be nearly empty, only its nonzeros are kept.
    """
    is_small = int(ensemble.offsets[-1]) * n_clusters <= DENSE_ENTRIES
    if is_small or ensemble.pieces is not None or not isinstance(ensemble, Ensemble):
        means, _ = cluster_means(ensemble, labels, n_clusters)
        return own_and_rival(ensemble, means, labels)
    return _sparse_standing(ensemble, _sparse_means(ensemble, labels, n_clusters), ensemble.labels, labels)


def _sparse_standing(
    ensemble: Ensemble, means: Any, rows: NDArray[Any], labels: NDArray[np.int32]
) -> tuple[FloatArray, FloatArray, NDArray[np.int32]]:
    own, rival, other = np.empty(len(rows)), np.empty(len(rows)), np.empty(len(rows), dtype=np.int32)
    sparse = means.indptr.astype(np.int64), means.indices.astype(np.int32), means.data
    fixed = rows, ensemble.offsets, sparse, labels, means.shape[1]
    map_blocks(lambda start, stop: sparse_own_and_rival(*fixed, start, stop, own, rival, other), len(rows))
    return own, rival, other


def _sparse_means(ensemble: Ensemble, labels: NDArray[np.int32], n_clusters: int) -> Any:
    """The table of `cluster_means` as a sparse matrix, of the same numbers."""
    from scipy.sparse import csr_array

    known = np.flatnonzero(labels >= 0)
    shape = (ensemble.n_rows, n_clusters)
    table = (
        one_hot(ensemble).T.tocsr() @ csr_array((ensemble.counts[known], (known, labels[known])), shape=shape)
    ).tocsr()
    table.sort_indices()
    sizes = cluster_sizes(labels, ensemble.counts, n_clusters)
    weights = np.repeat(cluster_weights(ensemble), np.diff(table.indptr))
    table.data = table.data * weights / np.maximum(sizes, 1.0)[table.indices]
    return table


def completed(ensemble: Ensemble, labels: NDArray[np.int32], n_clusters: int) -> NDArray[np.int32]:
    """Labels with each unlabelled row given to the cluster of the highest mean co-association.

    A row that shares nothing with any cluster joins the largest.
    """
    gaps = np.flatnonzero(labels < 0)
    if not len(gaps):
        return labels
    rows = read_only(ensemble.labels[gaps])
    if int(ensemble.offsets[-1]) * n_clusters <= DENSE_ENTRIES:
        nearest = _nearest(ensemble, cluster_means(ensemble, labels, n_clusters)[0], rows)
    else:
        means = _sparse_means(ensemble, labels, n_clusters)
        nearest = _sparse_standing(ensemble, means, rows, np.full(len(gaps), -1, dtype=np.int32))[2]
    filled = labels.copy()
    filled[gaps] = np.where(nearest < 0, np.argmax(cluster_sizes(labels, ensemble.counts, n_clusters)), nearest)
    return filled


def _nearest(ensemble: Ensemble, means: FloatArray, rows: NDArray[Any]) -> NDArray[np.int32]:
    """The cluster with which each row shares most, the lowest in a tie; -1 if it shares nothing with any."""
    nearest, score = np.empty(len(rows), dtype=np.int32), np.empty(len(rows))
    n_clusters = means.shape[1]
    rule = (means, np.ones(n_clusters), np.zeros(n_clusters), np.ones(1))
    nearest_clusters(rows, ensemble.offsets, *rule, 0, len(rows), nearest, score)
    nearest[score == 0.0] = -1
    return nearest


def with_standing(ensemble: AnyEnsemble, result: Consensus) -> Consensus:
    """A result on these rows with the best other cluster of each row, and with `own_shares` as its confidence.

    `solve` makes the confidence out of these shares. What the method itself gave as confidence is kept as
    ``info["method_confidence"]``.
    """
    shares, runner_up = _standing(ensemble, result.labels)
    kept = {} if result.confidence is None else {"method_confidence": result.confidence}
    return replace(result, confidence=shares, runner_up=runner_up, info={**result.info, **kept})


def own_shares(ensemble: AnyEnsemble, labels: NDArray[np.int32]) -> FloatArray:
    """own / (own + rival): 1 if no other cluster shares anything with the row, 0.5 at a draw.

    `own` is the mean co-association of the row with the objects of its cluster, itself included; `rival` is the
    largest such mean over the other clusters. O(rows x members x clusters).
    """
    return _standing(ensemble, labels)[0]


def _standing(ensemble: AnyEnsemble, labels: NDArray[np.int32]) -> tuple[FloatArray, NDArray[np.int32]]:
    """The own share of each row, and the cluster behind `rival`: the lowest of several, -1 if all means are 0."""
    own, rival, runner_up = standing(ensemble, labels, int(labels.max()) + 1)
    # in place: there may be very many rows
    rival += own
    # a row without any label shares nothing with any cluster, so that there is no share of it: NaN
    with np.errstate(invalid="ignore"):
        own /= rival
    return own, runner_up

"""New label rows placed into the clusters of a consensus: known rows by look-up, others by co-association."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from quorate._types import Ensemble, FloatArray, IntArray, read_only
from quorate.ops.distinct_rows import distinct_rows
from quorate.ops.tables import cluster_counts

BLOCK = 16_384


def cluster_profiles(ensemble: Ensemble, labels: NDArray[np.int32]) -> FloatArray:
    """For each base cluster the share of each consensus cluster's objects in it, times the member's share; (d, K).

    Added up over a row's base clusters, this is the row's mean co-association with the objects of a cluster.
    """
    n_clusters = int(labels.max()) + 1
    if ensemble.card is not None:
        from quorate._device.card_tables import tally_and_sizes

        table, sizes = tally_and_sizes(ensemble, labels, n_clusters)
    else:
        table = cluster_counts(ensemble.labels, ensemble.offsets, ensemble.counts, labels, n_clusters)
        sizes = np.bincount(labels, weights=ensemble.counts, minlength=n_clusters)
    shares = np.repeat(ensemble.weights / ensemble.weights.sum(), ensemble.n_clusters)
    profiles: FloatArray = table * shares[:, None] / sizes
    return profiles


def memberships(profiles: FloatArray, offsets: NDArray[np.int64], codes: IntArray) -> FloatArray:
    """Mean co-association (n, K) of the label rows `codes` with each cluster, from 0 to 1; -1 is a missing label."""
    result = np.empty((len(codes), profiles.shape[1]))
    for start in range(0, len(codes), BLOCK):
        block = codes[start : start + BLOCK]
        row, member = np.nonzero(block >= 0)
        places = offsets[member] + block[row, member]
        indicator = csr_array((np.ones(len(row)), (row, places)), shape=(len(block), len(profiles)))
        result[start : start + BLOCK] = indicator @ profiles
    return result


def place_rows(
    ensemble: Ensemble, labels: NDArray[np.int32], profiles: FloatArray, codes: IntArray
) -> NDArray[np.int32]:
    """The cluster of each row of `codes`.

    A row that `ensemble` holds gets its label; `labels` are those of its distinct rows. Any other row gets the cluster
    of the highest mean co-association, the lowest in a tie.
    """
    placed = known_labels(ensemble, labels, codes)
    new = placed < 0
    placed[new] = memberships(profiles, ensemble.offsets, codes[new]).argmax(axis=1)
    return placed


def known_labels(ensemble: Ensemble, labels: NDArray[np.int32], codes: IntArray) -> NDArray[np.int32]:
    """The label of each row of `codes` that is among the distinct rows of `ensemble`, -1 for the others."""
    rows = np.concatenate([ensemble.labels, codes.astype(ensemble.labels.dtype, copy=False)])
    inverse = np.empty(len(rows), dtype=np.intp)
    distinct_rows(read_only(rows), inverse)
    found = inverse[ensemble.n_rows :]
    known = found < ensemble.n_rows
    placed = np.full(len(codes), -1, dtype=np.int32)
    placed[known] = labels[found[known]]
    return placed


def recode(ensemble: Ensemble, raw: IntArray) -> IntArray:
    """Members' own cluster numbers (n, n_members) as the ensemble's codes; -1 for a number it does not have."""
    codes = np.full(raw.shape, -1, dtype=ensemble.labels.dtype)
    for member, categories in enumerate(ensemble.categories):
        lookup = np.full(int(categories.max()) + 2, -1, dtype=codes.dtype)
        lookup[categories] = np.arange(len(categories))
        # -1 and numbers beyond the last category both find the -1 at the end
        codes[:, member] = lookup[np.minimum(raw[:, member], len(lookup) - 1)]
    return codes

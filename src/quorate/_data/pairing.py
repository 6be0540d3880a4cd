"""The one place where label rows are paired with the clusters of a labelling; scores and figures count these pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._data.compression import compress
from quorate._types import Ensemble, IntArray
from quorate.solvers.contingency import contingency


class Pairing(NamedTuple):
    """Distinct pairs of a label row and a cluster, sorted by cluster and then by row.

    A row whose objects are in two clusters is in two pairs. Objects without a cluster are in no pair.

    Attributes
    ----------
    rows : Ensemble
        One row per pair; its counts are the numbers of objects in the pairs.
    labels : int32 array of shape (n_pairs,)
        The cluster of each pair.
    distinct : array of shape (n_pairs,)
        For each pair, the number of its row among the distinct rows of the ensemble.
    sizes : array of shape (n_clusters,)
        How many objects each cluster has; floats if their squares might not fit into 64 bits.
    """

    rows: Ensemble
    labels: NDArray[np.int32]
    distinct: NDArray[np.intp]
    sizes: IntArray

    @property
    def n_clusters(self) -> int:
        return len(self.sizes)


def pair_rows(ensemble: Ensemble, codes: IntArray, n_clusters: int) -> Pairing:
    """Pair the rows of an ensemble with a labelling of them; codes are below n_clusters, or -1 for no label."""
    rows, inverse = compress(ensemble)
    pairs = contingency(codes, inverse, n_clusters, rows.n_rows, ensemble.counts)
    paired = replace(rows, labels=rows.labels[pairs.second], counts=pairs.counts.astype(np.int64))
    return Pairing(paired, pairs.first.astype(np.int32), pairs.second, pairs.first_sizes)


def locate_pairs(ensemble: Ensemble, codes: IntArray) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Locate the pairs of `pair_rows` in the ensemble.

    Returns
    -------
    known : array
        The numbers of the rows of the ensemble that have a label, in increasing order.
    pair : array
        For each of these rows, the number of its pair.
    first : array
        For each pair, the first row of the ensemble that belongs to it.
    """
    rows, inverse = compress(ensemble)
    known = np.flatnonzero(codes >= 0)
    keys = codes[known].astype(np.int64) * rows.n_rows + inverse[known]
    _, first, pair = np.unique(keys, return_index=True, return_inverse=True)
    return known, pair.reshape(-1), known[first]

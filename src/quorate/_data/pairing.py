"""The one pairing of label rows with the clusters of a labelling: what every score and every figure counts over."""

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

    A row whose objects are in two clusters stands in two pairs. Objects without a cluster are in none.

    Attributes
    ----------
    rows : Ensemble
        One row per pair; its counts are the objects of the pair.
    labels : int32 array of shape (n_pairs,)
        The cluster of each pair.
    distinct : array of shape (n_pairs,)
        The number of its row among the distinct rows of the ensemble.
    sizes : array of shape (n_clusters,)
        How many objects each cluster has; floats where squares of them might not fit into 64 bits.
    """

    rows: Ensemble
    labels: NDArray[np.int32]
    distinct: NDArray[np.intp]
    sizes: IntArray

    @property
    def n_clusters(self) -> int:
        return len(self.sizes)


def pair_rows(ensemble: Ensemble, codes: IntArray, n_clusters: int) -> Pairing:
    """Pair the rows of an ensemble with a labelling of them; codes are below n_clusters, -1 where unlabelled."""
    rows, inverse = compress(ensemble)
    pairs = contingency(codes, inverse, n_clusters, rows.n_rows, ensemble.counts)
    paired = replace(rows, labels=rows.labels[pairs.second], counts=pairs.counts.astype(np.int64))
    return Pairing(paired, pairs.first.astype(np.int32), pairs.second, pairs.first_sizes)


def locate_pairs(ensemble: Ensemble, codes: IntArray) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Where the pairs of `pair_rows` stand in the ensemble.

    Returns
    -------
    known : the rows of the ensemble that have a label, increasing
    pair : for each of these the number of its pair
    first : for each pair the first row of the ensemble that it holds
    """
    rows, inverse = compress(ensemble)
    known = np.flatnonzero(codes >= 0)
    keys = codes[known].astype(np.int64) * rows.n_rows + inverse[known]
    _, first, pair = np.unique(keys, return_index=True, return_inverse=True)
    return known, pair.reshape(-1), known[first]

"""The same objects with other numbers of clusters: clusters are merged, numbered like the subject's own, and scored."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._data.labelling import Labelling
from quorate._evaluation.binning import mean_co_association
from quorate._evaluation.matching import matched
from quorate._evaluation.scored import densities_within, score_labelling
from quorate._evaluation.subject import Subject
from quorate._types import FloatArray, IntArray
from quorate.ops.tables import cluster_counts

MOST_CLUSTERS = 1_000
MOST_MERGED = 13
"""The largest number of merged labellings."""


class Partition(NamedTuple):
    """A labelling of the rows of the ensemble whose clusters are numbered like those of the subject they match.

    Attributes
    ----------
    labels : int32 array
        The cluster of each row, or -1 if it has none.
    n_numbers : int
        One more than the largest number of a cluster; some numbers below may be unused.
    anmi : float
    densities, sizes : arrays of shape (n_numbers,)
        Density within each cluster, and its number of objects.
    closest : array
        For each base cluster, the cluster that contains most of its objects.
    """

    labels: NDArray[np.int32]
    n_numbers: int
    anmi: float
    densities: FloatArray
    sizes: NDArray[np.int64]
    closest: NDArray[np.int64]

    @property
    def n_clusters(self) -> int:
        return int((self.sizes > 0).sum())

    @property
    def density(self) -> float:
        return float(self.densities @ self.sizes / self.sizes.sum())


def merged_clusters(subject: Subject) -> dict[int, IntArray]:
    """Return labellings with fewer clusters, by average link over the clusters of the subject.

    They are keyed by their numbers of clusters, which are spread from 2 to that of the subject. The cost does not
    depend on the number of rows, but grows with the cube of the number of clusters, so that nothing is merged if there
    are more than `MOST_CLUSTERS`.
    """
    n_clusters = subject.n_clusters
    if n_clusters > MOST_CLUSTERS:
        return {}
    kept = set(np.unique(np.rint(np.geomspace(2, max(2, n_clusters), MOST_MERGED)).astype(int)).tolist())
    sizes = subject.labelled.sizes.astype(np.float64)
    sums = mean_co_association(subject.labelled.rows, subject.labelled.labels, n_clusters) * np.outer(sizes, sizes)
    group = np.arange(n_clusters)
    labellings = {}
    for k in range(n_clusters - 1, 1, -1):
        alive = np.flatnonzero(sizes)
        means = sums[np.ix_(alive, alive)] / np.outer(sizes[alive], sizes[alive])
        np.fill_diagonal(means, -1.0)
        left, right = sorted(alive[place] for place in np.unravel_index(int(means.argmax()), means.shape))
        sums[left] += sums[right]
        sums[:, left] += sums[:, right]
        sizes[left], sizes[right] = sizes[left] + sizes[right], 0.0
        group[group == right] = left
        if k in kept:
            labellings[k] = np.where(subject.labels >= 0, group[subject.labels], -1)
    return labellings


def renumbered(before: IntArray, labels: IntArray, subject: Subject) -> NDArray[np.int32]:
    """Return labels in which each cluster has the number of the cluster of `before` with which it is matched."""
    known = np.flatnonzero((before >= 0) & (labels >= 0))
    numbers = np.full(len(labels), -1, dtype=np.int32)
    _, codes = np.unique(labels[known], return_inverse=True)
    numbers[known] = matched(before[known], codes.reshape(-1), subject.ensemble.counts[known])
    return numbers


def scored_partition(subject: Subject, labels: NDArray[np.int32]) -> Partition:
    """Score a labelling of the rows of the subject's ensemble, whose numbers may have gaps."""
    ensemble, n_numbers = subject.ensemble, int(labels.max()) + 1
    used, codes = np.unique(labels, return_inverse=True)
    shift = int(used[0] < 0)
    dense = Labelling((codes.reshape(-1) - shift).astype(np.int32), used[shift:])
    scored = subject.scored if labels is subject.labels else score_labelling(dense, ensemble)
    table = cluster_counts(ensemble.labels, ensemble.offsets, ensemble.counts, labels, n_numbers)
    sizes, densities = np.zeros(n_numbers, dtype=np.int64), np.zeros(n_numbers)
    sizes[used[shift:]], densities[used[shift:]] = scored.sizes, densities_within(scored)
    return Partition(labels, n_numbers, scored.anmi(), densities, sizes, table.argmax(axis=1))

"""A labelling and its ensemble with all that a report shows, each computed once; other numbers of clusters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._consensus.confidence import scale_of
from quorate._data.ensemble import as_ensemble
from quorate._data.ids import aligned_result
from quorate._data.labelling import Labelling, Pairing, code_beside, locate_pairs, pair_rows
from quorate._data.rows import compress
from quorate._evaluation.binning import LabelledRows, mean_co_association, with_places
from quorate._evaluation.member_table import profiles_of_pairs
from quorate._evaluation.scores import Scored, densities_within, score_labelling, score_pairs, scores_of_truth
from quorate._summaries import AMBIGUOUS, Profiles, StabilityTable
from quorate._trust.agreement import AFFORDABLE_SECONDS, Trust, trust_in
from quorate._types import Consensus, Ensemble, FloatArray, IntArray
from quorate._verdict import Evidence, Verdict, verdict_of
from quorate.ops.tables import cluster_counts
from quorate.solvers.cluster_means import own_shares
from quorate.solvers.contingency import matched
from quorate.solvers.label_rows import known_shares
from quorate.solvers.members import MOST_MEMBERS, member_pairs, member_scores, missing_shares, pair_scores


@dataclass(frozen=True, eq=False)
class Subject:
    """A labelling and the ensemble it was made from.

    Attributes
    ----------
    result : Consensus or None
        The labelling as it was given, if it was a Consensus.
    ensemble : Ensemble
    labelling : Labelling
        Codes of the rows of the ensemble, -1 for rows without a label, and the names of the clusters.
    pairs : Pairing
        Distinct pairs of row and cluster.
    labelled : LabelledRows
        The same, with the place of each row in the tree of the result.
    known, pair, first : arrays
        The rows of the ensemble that have a label, the pair of each of them, and the first row of each pair.
    truth : dict
        Scores compared with the known classes; empty if there are none.
    ambiguous : float
        The confidence below which an object is called ambiguous.
    """

    result: Consensus | None
    ensemble: Ensemble
    labelling: Labelling
    pairs: Pairing
    labelled: LabelledRows
    known: NDArray[np.intp]
    pair: NDArray[np.intp]
    first: NDArray[np.intp]
    truth: dict[str, float]
    ambiguous: float = AMBIGUOUS

    @property
    def labels(self) -> NDArray[np.int32]:
        """The cluster of each row of the ensemble, or -1 if it has none."""
        return self.labelling.codes

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the clusters: those given by `renamed` or by the labels, or else their numbers."""
        return tuple(map(str, self.labelling.categories.tolist()))

    @property
    def n_distinct(self) -> int:
        """How many distinct rows the ensemble has, labelled or not."""
        return compress(self.ensemble)[0].n_rows

    @property
    def n_clusters(self) -> int:
        return self.labelling.n_clusters

    @cached_property
    def ids(self) -> NDArray[Any] | None:
        """Names of the objects, from the ensemble or from the result."""
        ids = self.ensemble.object_ids
        return self.result.object_ids if ids is None and self.result is not None else ids

    @cached_property
    def has_own_confidence(self) -> bool:
        return self.result is not None and self.result.confidence is not None

    @cached_property
    def confidence(self) -> FloatArray:
        """The confidence of each row of the ensemble: that of the result, or else estimated now.

        It is NaN for rows without a label. If it cannot be estimated, because there is one member, these are the rows'
        own shares.
        """
        if self.result is not None and self.result.confidence is not None:
            return self.result.confidence
        values = own_shares(self.pairs.rows, self.pairs.labels)
        scale = scale_of(self.result, self.pairs)
        if scale is not None:
            values = scale.confidence(values, self.pairs.labels, known_shares(self.pairs.rows))
        of_rows = np.full(len(self.labels), np.nan)
        of_rows[self.known] = values[self.pair]
        return of_rows

    @cached_property
    def scored(self) -> Scored:
        return score_pairs(self.pairs)

    @cached_property
    def anmi(self) -> float:
        return self.scored.anmi()

    @cached_property
    def densities(self) -> FloatArray:
        return densities_within(self.scored)

    @cached_property
    def member_nmi(self) -> FloatArray:
        """The NMI of each member with the labelling; NaN if they share no object."""
        return self.scored.member_nmi()

    @cached_property
    def between_members(self) -> tuple[FloatArray, FloatArray]:
        """The NMI of every two members, and the number of objects that both label."""
        return member_pairs(compress(self.ensemble)[0], "geometric")

    @cached_property
    def member_scores(self) -> tuple[float | None, float | None]:
        """The mean NMI over pairs of members, and the ANMI of the best member with the others.

        Both are None if there is no pair.
        """
        if self.ensemble.n_members > MOST_MEMBERS:
            return member_scores(compress(self.ensemble)[0])
        return pair_scores(*self.between_members, self.ensemble.weights)

    @cached_property
    def trust(self) -> Trust:
        """How far the labelling can be believed; not compared with chance if that would take too long."""
        return trust_in(self.result, self.labelling, self.ensemble, 0, seconds=AFFORDABLE_SECONDS)

    @cached_property
    def verdict(self) -> Verdict:
        """The same in words."""
        table = StabilityTable.of(range(self.n_clusters), self.labelled.sizes, self.cluster_stability)
        known = {**self.trust._asdict(), "mean_member": self.member_scores[0], "dissolving": table.dissolving}
        known["n_clusters"] = self.n_clusters
        return verdict_of(Evidence(*(known[name] for name in Evidence._fields)))

    @cached_property
    def missing(self) -> FloatArray:
        """The share of the objects that each member does not label."""
        return missing_shares(self.ensemble)

    @cached_property
    def profiles(self) -> Profiles:
        """The labels of the members that each cluster is made of."""
        return profiles_of_pairs(self.pairs, self.names)

    @cached_property
    def cluster_confidence(self) -> FloatArray:
        """The mean confidence of the objects of each cluster."""
        weights = self.ensemble.counts[self.known]
        labels = self.labels[self.known]
        sums = np.bincount(labels, weights=self.confidence[self.known] * weights, minlength=self.n_clusters)
        return np.asarray(sums / self.labelled.sizes, dtype=np.float64)

    @property
    def cluster_stability(self) -> FloatArray:
        """The stability of each cluster; NaN where it is not known."""
        known = self.trust.stability
        return np.full(self.n_clusters, np.nan) if known is None else known


def subject_of(result: Any, ensemble: Any, truth: Any = None, *, ambiguous: float = AMBIGUOUS) -> Subject:
    """Check and code everything that a report is about."""
    ambiguous = _check.fraction(ambiguous, "ambiguous")
    members = as_ensemble(ensemble)
    result = aligned_result(result, members.object_ids, "result")
    labelling = code_beside(result, "result", members)
    pairs = pair_rows(members, labelling.codes, labelling.n_clusters)
    known, pair, first = locate_pairs(members, labelling.codes)
    consensus = result if isinstance(result, Consensus) else None
    return Subject(
        result=consensus,
        ensemble=members,
        labelling=labelling,
        pairs=pairs,
        labelled=with_places(pairs, result, members),
        known=known,
        pair=pair,
        first=first,
        truth={} if truth is None else scores_of_truth(labelling, truth, members),
        ambiguous=ambiguous,
    )


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

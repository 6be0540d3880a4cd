"""Confidence: how probably the same procedure would place an object in the same cluster on a fresh ensemble.

A fresh ensemble is another ensemble of as many members, made in the same way from the same objects. There is none, but
each half of the members is a smaller one. The estimate is made in four steps:

1. Draw at most 2,000 objects, so that the cost does not grow with the number of objects.
2. Divide the members into two halves, several times. Repeat the procedure on each half, and match the clusters of the
   halves with those of the result. An object is kept in a division if both halves place it where the result does. If
   one of them does, it counts for a half, or for less if the halves have so little in common that this may be chance.
3. Fit the probability of being kept: a logistic curve of the own share of a row (its co-association with its own
   cluster beside that with the best other one), higher or lower for each cluster. A cluster that the halves do not
   find again comes out low, however tight it is.
4. Give each row the value of its share and its cluster. New rows get theirs by the same curve, so that `place` has the
   same scale.

A half is smaller than a fresh ensemble, which makes objects less steady, but it is a part of the ensemble behind the
result, which makes them steadier. The two nearly cancel: benchmarks/trust measures what is left.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from quorate._data.labelling import Labelling, Pairing
from quorate._data.selection import select_members
from quorate._data.soft_members import harden
from quorate._device.choose import arrays_on_host, lives_on_card
from quorate._evaluation.binning import matched
from quorate._solve.procedure import Drawn, Procedure, draw_objects, procedure_of, repeat
from quorate._solve.run_method import by_content, in_row_order
from quorate._types import AnyEnsemble, Consensus, Ensemble, FloatArray
from quorate.methods import METHODS
from quorate.ops.coding import canonical
from quorate.solvers.cluster_means import own_shares
from quorate.solvers.contingency import ari, contingency
from quorate.solvers.label_rows import entries_of
from quorate.solvers.members import in_content_order

N_DIVISIONS = 2
"""How often the members are divided into two halves; each division costs about as much as one consensus."""
BY_CHANCE, PER_ARI = 0.2, 3.0
"""What an object counts for that one half keeps: this much if the halves have an ARI of 0, and more for each unit."""
WEIGHT_OF_CLUSTER = 10.0
"""Objects that a cluster counts for at most in one division: they often move together, so more say nothing more."""
LEVEL, SLOPE = 2.0, 5.0
"""Where the fit starts and, if there is little to learn from, ends: the log odds at a share of 1/2, and their slope."""
PULL, PULL_OF_CLUSTER = 0.2, 2.0
"""How strongly the fit is pulled towards this start, and the clusters towards one another."""
MOST_STEPS = 50
CLOSE = 1e-7


class Scale(NamedTuple):
    """The fitted curve: log odds of being kept at a share of 1/2 for each cluster, and how they rise with the share.

    `divisions` is the number of divisions of the members behind it.
    """

    levels: FloatArray
    slope: float
    divisions: int

    def confidence(self, shares: FloatArray, labels: NDArray[np.int32]) -> FloatArray:
        """The confidence of rows with these own shares in these clusters."""
        if lives_on_card(shares):
            from quorate._device.card_tables import confidence_on_card

            there: FloatArray = confidence_on_card(self.levels, self.slope, shares, labels)
            return there
        if len(self.levels) == 1:
            return np.ones(len(shares))
        values: FloatArray = expit(self.levels[labels] + self.slope * (2 * shares - 1))
        return values


def with_confidence(ensemble: AnyEnsemble, result: Consensus, procedure: Procedure) -> Consensus:
    """The result of rows with their confidence instead of what it has; None if that cannot be estimated.

    ``info["confidence"]`` keeps the curve for `place`. Halves of soft members are halves of their likeliest labels.
    """
    if ensemble.card is not None and not lives_on_card(result.labels):
        # the method ran in host memory, and so do its repetitions
        result = arrays_on_host(result)
        ensemble = ensemble.on_host()
    shares = own_shares(ensemble, result.labels) if result.confidence is None else result.confidence
    labels = ensemble if isinstance(ensemble, Ensemble) else harden(ensemble)
    scale = _scale_by_content(labels, result.labels, shares, procedure)
    if scale is None:
        return replace(result, confidence=None)
    values = scale.confidence(shares, result.labels)
    return replace(result, confidence=values, info={**result.info, "confidence": scale._asdict()})


def _scale_by_content(
    ensemble: Ensemble, labels: NDArray[np.int32], shares: FloatArray, procedure: Procedure
) -> Scale | None:
    """Estimate the curve on rows in the order of their content if the method gets them so, too.

    The order of the objects then changes nothing, as it does not change the labels.
    """
    if procedure.method not in METHODS or not by_content(METHODS[procedure.method]):
        return confidence_scale(ensemble, labels, shares, procedure)
    ordered = in_row_order(ensemble)
    return confidence_scale(ordered.ensemble, labels[ordered.rows], shares[ordered.rows], procedure)


def kept_scale(result: Consensus) -> Scale | None:
    """The curve that the confidence of a result follows, or None if it has none."""
    return Scale(**result.info["confidence"]) if result.info.get("confidence") else None


def scale_of(result: Any, pairs: Pairing) -> Scale | None:
    """The curve of a labelling: the one it was made with, or else one that is estimated now, if that is possible.

    For a labelling of unknown origin the default method with as many clusters stands for the procedure.
    """
    kept = kept_scale(result) if isinstance(result, Consensus) else None
    if kept is not None:
        return kept
    shares = own_shares(pairs.rows, pairs.labels)
    return confidence_scale(pairs.rows, pairs.labels, shares, procedure_of(result, pairs.n_clusters))


def confidence_scale(
    ensemble: Ensemble, labels: NDArray[np.int32], shares: FloatArray, procedure: Procedure
) -> Scale | None:
    """Estimate the curve; None if there is a single member, or if the method refuses all halves."""
    n_clusters = procedure.n_clusters
    if n_clusters == 1:
        return Scale(np.zeros(1), 0.0, 0)
    drawn = draw_objects(ensemble, Labelling(labels, np.arange(n_clusters)), procedure.seed, as_many=True)
    kept, seen = _kept_objects(drawn, procedure)
    if not seen.any() or drawn.places is None:
        return None
    level, slope, of_clusters = _fit(2 * entries_of(ensemble, shares, drawn.places) - 1, drawn, kept, seen, n_clusters)
    return Scale(level + of_clusters, slope, int(seen.max()))


def _kept_objects(drawn: Drawn, procedure: Procedure) -> tuple[FloatArray, NDArray[np.int64]]:
    """For each row, the number of divisions in which it is kept, and the number in which both halves label it.

    The halves do not depend on the order of the members, because these are sorted by their labels first.
    """
    members = in_content_order(drawn.ensemble)
    rng = np.random.default_rng((procedure.seed, members.n_members))
    clusters = canonical(drawn.codes, procedure.n_clusters).astype(np.int64)
    kept, seen = np.zeros(members.n_rows), np.zeros(members.n_rows, dtype=np.int64)
    # two members can be divided in one way only
    for number in range(min(N_DIVISIONS, members.n_members - 1)):
        halves = np.array_split(rng.permutation(members.n_members), 2)
        try:
            repeated = [
                repeat(procedure, select_members(members, np.sort(half)), 2 * number + place)
                for place, half in enumerate(halves)
            ]
        except (ValueError, MemoryError):
            # for example a method that takes one of the members as it is, and none of a half has so many clusters
            continue
        both = np.flatnonzero((repeated[0] >= 0) & (repeated[1] >= 0))
        if len(both):
            kept[both] += _kept(clusters[both], [labels[both] for labels in repeated], members.counts[both])
            seen[both] += 1
    return kept, seen


def _kept(clusters: NDArray[np.int64], halves: list[NDArray[np.int32]], counts: NDArray[np.int64]) -> FloatArray:
    """1 for rows that both halves place where the result does, 0 for rows that none does, and between for the others.

    Halves of random labels have nothing in common, and yet each of them has a part in the result.
    """
    one, other = halves
    likeness = ari(contingency(one, other, int(one.max()) + 1, int(other.max()) + 1, counts))
    agrees = sum((matched(clusters, labels.astype(np.int64), counts) == clusters).astype(np.int64) for labels in halves)
    worth: FloatArray = np.array([0.0, min(0.5, BY_CHANCE + PER_ARI * max(likeness, 0.0)), 1.0])[agrees]
    return worth


def _fit(
    x: FloatArray, drawn: Drawn, kept: FloatArray, seen: NDArray[np.int64], n_clusters: int
) -> tuple[float, float, FloatArray]:
    """Fit the log odds ``level + slope * x + of_clusters[cluster]`` of being kept, by penalised Newton steps.

    Level and slope take a step, then all clusters do, until nothing changes.
    """
    counts, clusters = drawn.ensemble.counts, drawn.codes
    sizes = np.maximum(np.bincount(clusters, weights=counts, minlength=n_clusters), 1.0)
    weights = counts * (np.minimum(sizes, WEIGHT_OF_CLUSTER) / sizes)[clusters] * seen
    share = kept / np.maximum(seen, 1)
    level, slope, of_clusters = LEVEL, SLOPE, np.zeros(n_clusters)
    for _ in range(MOST_STEPS):
        gap, spread = _slopes(level + slope * x + of_clusters[clusters], share, weights)
        pulls = np.array([gap.sum() - PULL * (level - LEVEL), (gap * x).sum() - PULL * (slope - SLOPE)])
        mixed = (spread * x).sum()
        bends = np.array([[spread.sum() + PULL, mixed], [mixed, (spread * x * x).sum() + PULL]])
        first = np.clip(np.linalg.solve(bends, pulls), -2.0, 2.0)
        if slope + first[1] < 0:  # confidence must not fall with the share: the level takes the step alone
            first = np.array([np.clip(pulls[0] / bends[0, 0], -2.0, 2.0), -slope])
        level, slope = level + float(first[0]), slope + float(first[1])
        gap, spread = _slopes(level + slope * x + of_clusters[clusters], share, weights)
        pull = np.bincount(clusters, gap, n_clusters) - PULL_OF_CLUSTER * of_clusters
        second = np.clip(pull / (np.bincount(clusters, spread, n_clusters) + PULL_OF_CLUSTER), -1.0, 1.0)
        of_clusters = of_clusters + second
        if max(np.abs(first).max(), np.abs(second).max()) < CLOSE:
            break
    return level, slope, of_clusters


def _slopes(odds: FloatArray, share: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First and second derivatives of the log likelihood by the log odds, the second one with its sign turned."""
    fitted = expit(odds)
    return weights * (share - fitted), weights * fitted * (1 - fitted)

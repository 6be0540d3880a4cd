"""Confidence: how probably the same procedure would place an object in the same cluster on a fresh ensemble.

A fresh ensemble is another ensemble of as many members, made in the same way from the same objects, in which the same
members label an object. There is none, so that it is imitated in two ways, on at most 2,000 objects:

1. Halves. Divide the members into two halves, several times. Repeat the procedure on each half, and match the clusters
   of the halves with those of the result. An object is kept in a division if both halves place it where the result
   does. If one of them does, it counts for a half, or for less if the halves have so little in common that this may be
   chance. A cluster that the halves do not find again comes out low, however tight it is.
2. Fresh labels. From the result follows how often the objects of a cluster have each label of each member. Draw the
   cluster of each object from the probabilities that its own labels leave, draw labels of this cluster for the members
   that label the object, and place it again by these labels. This knows how much a single label is worth. It trusts
   that members err independently and that the clusters are real, which the halves put right: if they have less in
   common than halves of fresh labels would have, the values are drawn towards chance.

Where members copy one another, a group of copies counts once, and the halves are left out, because they are few. Where
members know a part of the objects each, whole tables of fresh labels take the place of the halves (`drawn_labels`).

Both are fitted by logistic curves of the own share of a row (its co-association with its own cluster beside that with
the best other one), higher or lower for each cluster; those of fresh labels also depend on the share of the members
that label the row. A row gets the mean of the two log odds; the fewer of the members label it, the less the halves
count. New rows get their confidence by the same curves, so that `place` has the same scale.
"""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from quorate._check import counted
from quorate._consensus.drawn_labels import (
    TOO_MANY_LOOKUPS,
    Fresh,
    fresh_labels,
    how_made,
    kept_by_parts,
    level_of,
    likeness_of,
    members_of,
    placed_again,
    towards_chance,
)
from quorate._data.ids import aligned_result
from quorate._data.labelling import Labelling, Pairing
from quorate._data.rows import select_members
from quorate._data.soft_members import harden, soft_or_labels
from quorate._device.choose import array_library, on_one_side
from quorate._solve.procedure import (
    Drawn,
    Procedure,
    draw_objects,
    halves_of_objects,
    jaccard_with,
    mean_jaccard,
    procedure_of,
    repeat,
)
from quorate._solve.run_method import by_content, in_row_order
from quorate._types import AnyEnsemble, Consensus, Ensemble, FloatArray
from quorate.methods import METHODS
from quorate.ops.coding import canonical
from quorate.ops.threads import map_blocks
from quorate.solvers.cluster_means import cluster_means, own_shares
from quorate.solvers.contingency import matched
from quorate.solvers.label_rows import entries_of, known_shares, one_hot
from quorate.solvers.members import in_content_order
from quorate.solvers.parts import row_by_row

logger = logging.getLogger("quorate")
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
ALLOWANCE, LEAST_EXPECTED = 1.2, 0.02
"""Halves may have a little less in common than those of fresh labels, for which clusters are known; the least that is
expected, so that chance is not divided by chance."""
ALLOWANCE_OF_COPIES = 1.6
"""The same for halves of groups of copies, which are few and of unequal size."""
LEAST_KNOWN = 1e-3
NEARLY = 0.002
"""Either estimate lies between this and 1 minus this: there are too few repetitions to say more."""
MOST_STEPS = 50
WORK_OF_A_ROW = 4
"""What the confidence of a row costs, relative to looking up its labels."""
CLOSE = 1e-7


class Fit(NamedTuple):
    """Log odds: ``levels[cluster] + features @ slopes``."""

    levels: FloatArray
    slopes: FloatArray

    def share(self, features: list[Any], labels: Any) -> Any:
        """The fitted share of rows in these clusters, wherever the features live."""
        xp = array_library(labels)
        odds = xp.asarray(self.levels)[labels]
        for slope, feature in zip(self.slopes.tolist(), features, strict=True):
            odds = odds + slope * feature
        return 1.0 / (1.0 + xp.exp(-odds))


class Scale(NamedTuple):
    """The fitted curves, from which the confidence of any row follows.

    `levels` and `slope` are those of the halves, of which there are `divisions` pairs: log odds of being kept at a
    share of 1/2 for each cluster, and how they rise with the share. The others are those of fresh labels: `right` is
    the probability that the row belongs where it is, `again` that fresh labels of its cluster lead there, each with
    levels and slopes, and `found_again` says how far the halves bear this out, from 0 to 1. `stability` is that of each
    cluster, see `Consensus.stability`. A result of version 0.2 has the curve of the halves alone.
    """

    levels: FloatArray
    slope: float
    divisions: int
    right_levels: FloatArray | None = None
    right_slopes: FloatArray | None = None
    again_levels: FloatArray | None = None
    again_slopes: FloatArray | None = None
    found_again: float = 1.0
    stability: FloatArray | None = None

    def confidence(self, shares: Any, labels: Any, known: Any = None) -> Any:
        """The confidence of rows with these own shares in these clusters.

        `known` is the share of the members, by weight, that label each row; None if all do.
        """
        if not isinstance(shares, np.ndarray):
            return self._confidence(shares, labels, known)
        values = np.empty(len(shares))

        def block(start: int, stop: int) -> None:
            rows = slice(start, stop)
            values[rows] = self._confidence(shares[rows], labels[rows], None if known is None else known[rows])

        map_blocks(block, len(shares), work=WORK_OF_A_ROW)
        return values

    def _confidence(self, shares: Any, labels: Any, known: Any) -> Any:
        xp, n_clusters = array_library(shares), len(self.levels)
        if n_clusters == 1:
            return xp.ones(len(shares))
        halves = Fit(self.levels, np.array([self.slope])).share([2.0 * shares - 1.0], labels)
        if self.right_levels is None or self.right_slopes is None:
            return halves
        assert self.again_levels is not None, "there are both curves of fresh labels, or none"
        assert self.again_slopes is not None, "there are both curves of fresh labels, or none"
        known = xp.ones(len(shares)) if known is None else xp.maximum(known, LEAST_KNOWN)
        right = Fit(self.right_levels, self.right_slopes).share(_features_of_right(xp, shares, known), labels)
        again = Fit(self.again_levels, self.again_slopes).share(_features_of_again(xp, known), labels)
        fresh = towards_chance(placed_again(right, again, n_clusters), float(self.found_again), n_clusters)
        odds = [xp.log(part / (1.0 - part)) for part in (xp.clip(x, NEARLY, 1.0 - NEARLY) for x in (fresh, halves))]
        of_halves = known * known / 2.0
        return 1.0 / (1.0 + xp.exp(-(1.0 - of_halves) * odds[0] - of_halves * odds[1]))


def _features_of_right(xp: Any, shares: Any, known: Any) -> list[Any]:
    """What the probability that a row belongs where it is depends on: its own share, and how much is known of it."""
    x, log_known = 2.0 * shares - 1.0, xp.log(known)
    return [x, log_known, x * log_known, x * known]


def _features_of_again(xp: Any, known: Any) -> list[Any]:
    return [xp.log(known), known]


def with_confidence(ensemble: AnyEnsemble, result: Consensus, procedure: Procedure) -> Consensus:
    """The result of rows with their confidence instead of what it has; None if that cannot be estimated.

    ``info["confidence"]`` keeps the curve for `place`. Halves of soft members are halves of their likeliest labels.
    """
    ensemble, result = on_one_side(ensemble, result)
    shares = own_shares(ensemble, result.labels) if result.confidence is None else result.confidence
    labels = ensemble if isinstance(ensemble, Ensemble) else harden(ensemble)
    scale = _scale_by_content(labels, result.labels, shares, procedure)
    if scale is None:
        return replace(result, confidence=None)
    values = _confidence_of_rows(scale, shares, result.labels, known_shares(labels))
    return replace(result, confidence=values, info={**result.info, "confidence": scale._asdict()})


@row_by_row()
def _confidence_of_rows(scale: Scale, shares: FloatArray, labels: NDArray[np.int32], known: Any) -> FloatArray:
    values: FloatArray = scale.confidence(shares, labels, known)
    return values


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
    drawn = drawn._replace(ensemble=in_content_order(drawn.ensemble))
    made = how_made(drawn, n_clusters)
    kept, seen, likeness, found = _kept_objects(drawn, procedure, made.groups)
    if not seen.any() or drawn.places is None:
        return None
    kept, drawn_shares = kept / np.maximum(seen, 1), entries_of(ensemble, shares, drawn.places)
    stability = mean_jaccard([*found, *halves_of_objects(drawn, procedure)])
    if drawn.ensemble.n_members < 2 or drawn.ensemble.labels.size * n_clusters > TOO_MANY_LOOKUPS:
        return _of_halves(drawn, drawn_shares, kept, seen, n_clusters)._replace(stability=stability)
    fresh = fresh_labels(drawn.ensemble, drawn.codes, n_clusters, procedure.seed, made.groups)
    has_copies = len(made.groups) < drawn.ensemble.n_members
    allowance = ALLOWANCE_OF_COPIES if has_copies else ALLOWANCE
    found_again = math.sqrt(min(1.0, allowance * max(likeness, 0.0) / max(fresh.likeness, LEAST_EXPECTED)))
    again = kept_by_parts(drawn, procedure, made.unexplained) if made.of_parts else None
    if again is not None:
        found_again = level_of(drawn.ensemble.counts, fresh, again, n_clusters)
    elif has_copies:
        again = towards_chance(fresh.expected(n_clusters), found_again, n_clusters)
    if again is not None:
        # halves of few groups, or of members that hardly overlap, tell little about single objects
        kept, seen = again, np.ones_like(seen)
    scale = _of_halves(drawn, drawn_shares, kept, seen, n_clusters)
    right, fitted = _of_fresh_labels(drawn, drawn_shares, fresh, n_clusters)
    return Scale(*scale[:3], *right, *fitted, found_again, stability)


def _of_halves(drawn: Drawn, shares: FloatArray, kept: FloatArray, seen: NDArray[np.int64], n_clusters: int) -> Scale:
    """Fit the curve of the halves alone to the shares of divisions in which rows are kept."""
    clusters, counts = drawn.codes, drawn.ensemble.counts
    sizes = np.maximum(np.bincount(clusters, weights=counts, minlength=n_clusters), 1.0)
    weights = counts * (np.minimum(sizes, WEIGHT_OF_CLUSTER) / sizes)[clusters] * seen
    halves = _fit((2 * shares - 1)[:, None], clusters, kept, weights, n_clusters, [LEVEL, SLOPE])
    return Scale(halves.levels, float(halves.slopes[0]), int(seen.max()))


def _of_fresh_labels(drawn: Drawn, shares: FloatArray, fresh: Fresh, n_clusters: int) -> tuple[Fit, Fit]:
    """Fit the two curves of fresh labels: that a row belongs where it is, and that fresh labels lead there again."""
    clusters, counts = drawn.codes, drawn.ensemble.counts
    known = known_shares(drawn.ensemble)
    known = np.ones(len(shares)) if known is None else known
    features = np.column_stack(_features_of_right(np, shares, known))
    right = _fit(features, clusters, fresh.right, counts.astype(np.float64), n_clusters, [0.0] * 5)
    features = np.column_stack(_features_of_again(np, known))
    again = _fit(features, clusters, fresh.again, counts * fresh.right, n_clusters, [0.0] * 3)
    return right, again


def _kept_objects(
    drawn: Drawn, procedure: Procedure, groups: list[NDArray[np.intp]]
) -> tuple[FloatArray, NDArray[np.int64], float, list[FloatArray]]:
    """For each row, the number of divisions in which it is kept, and in which both halves label it; the halves' ARI;
    and for each half how alike the clusters and the nearest ones of the half are.

    Members of a group are in the same half. Members are sorted by their labels, so that their order changes nothing.
    """
    members = drawn.ensemble
    rng = np.random.default_rng((procedure.seed, members.n_members))
    clusters = canonical(drawn.codes, procedure.n_clusters).astype(np.int64)
    kept, seen = np.zeros(members.n_rows), np.zeros(members.n_rows, dtype=np.int64)
    likeness, found = [], []
    # two members can be divided in one way only
    n_divisions = min(N_DIVISIONS, len(groups) - 1)
    for number in range(n_divisions):
        halves = [members_of(groups, half) for half in np.array_split(rng.permutation(len(groups)), 2)]
        try:
            repeated = [
                repeat(procedure, select_members(members, half), 2 * number + place)
                for place, half in enumerate(halves)
            ]
        except (ValueError, MemoryError):
            # for example a method that takes one of the members as it is, and none of a half has so many clusters
            continue
        found += [jaccard_with(drawn.codes, labels, members.counts, procedure.n_clusters) for labels in repeated]
        both = np.flatnonzero((repeated[0] >= 0) & (repeated[1] >= 0))
        if len(both):
            halves_there = [labels[both] for labels in repeated]
            likeness.append(likeness_of(halves_there, members.counts[both]))
            kept[both] += _kept(clusters[both], halves_there, members.counts[both], likeness[-1])
            seen[both] += 1
        logger.info("repeating for the confidence", extra={"share": (number + 1) / n_divisions})
    return kept, seen, float(np.mean(likeness)) if likeness else 0.0, found


def _kept(
    clusters: NDArray[np.int64], halves: list[NDArray[np.int32]], counts: NDArray[np.int64], likeness: float
) -> FloatArray:
    """1 for rows that both halves place where the result does, 0 for rows that none does, and between for the others.

    Halves of random labels have nothing in common, and yet each of them has a part in the result.
    """
    agrees = sum((matched(clusters, labels.astype(np.int64), counts) == clusters).astype(np.int64) for labels in halves)
    worth: FloatArray = np.array([0.0, min(0.5, BY_CHANCE + PER_ARI * max(likeness, 0.0)), 1.0])[agrees]
    return worth


def _fit(
    features: FloatArray,
    clusters: NDArray[np.int32],
    share: FloatArray,
    weights: FloatArray,
    n_clusters: int,
    begin: list[float],
) -> Fit:
    """Fit ``level + of_clusters[cluster] + features @ slopes``, the log odds of shares, by penalised Newton steps.

    Level and slopes are pulled towards `begin`. They take a step, then all clusters do, until nothing changes. The
    first slope is not negative: confidence must not fall with the own share, nor with what is known.
    """
    columns = np.column_stack([np.ones(len(features)), features])
    line, of_clusters = np.array(begin), np.zeros(n_clusters)
    for _ in range(MOST_STEPS):
        gap, spread = _slopes(columns @ line + of_clusters[clusters], share, weights)
        pulls = gap @ columns - PULL * (line - begin)
        bends = (columns * spread[:, None]).T @ columns + PULL * np.eye(len(line))
        first = np.clip(np.linalg.solve(bends, pulls), -2.0, 2.0)
        if line[1] + first[1] < 0:  # the other numbers take the step alone
            others = np.arange(len(line)) != 1
            first[others] = np.clip(np.linalg.solve(bends[np.ix_(others, others)], pulls[others]), -2.0, 2.0)
            first[1] = -line[1]
        line = line + first
        gap, spread = _slopes(columns @ line + of_clusters[clusters], share, weights)
        pull = np.bincount(clusters, gap, n_clusters) - PULL_OF_CLUSTER * of_clusters
        second = np.clip(pull / (np.bincount(clusters, spread, n_clusters) + PULL_OF_CLUSTER), -1.0, 1.0)
        of_clusters = of_clusters + second
        if max(np.abs(first).max(), np.abs(second).max()) < CLOSE:
            break
    return Fit(line[0] + of_clusters, line[1:])


def _slopes(odds: FloatArray, share: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First and second derivatives of the log likelihood by the log odds, the second one with its sign turned."""
    fitted = expit(odds)
    return weights * (share - fitted), weights * fitted * (1 - fitted)


def memberships(result: Consensus, ensemble: Any) -> FloatArray:
    """Return how probably each object belongs to each cluster.

    Parameters
    ----------
    result : Consensus
        A consensus with its confidence.
    ensemble : Ensemble, SoftEnsemble, or anything `as_ensemble` or `as_soft_ensemble` takes
        The members that it was made from.

    Returns
    -------
    array of shape (n_objects, n_clusters)
        Rows sum to 1. The entry of the object's own cluster is its confidence: the estimated probability that the same
        procedure would place it there on a fresh ensemble. What is left is divided among the other clusters by the
        object's mean co-association with them, to the power of 2, or less where members do not label the object.

    See Also
    --------
    consensus : ``runner_up`` of its result is the best other cluster alone.

    Examples
    --------
    >>> from quorate import consensus
    >>> members = [[0, 0, 1, 1, 2], [0, 0, 1, 1, 2], [0, 0, 1, 2, 2]]
    >>> memberships(consensus(members, 3, random_state=0), members).sum(axis=1).round(6).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    if not isinstance(result, Consensus):
        raise TypeError(f"result must be a Consensus, got {type(result).__name__}; labels alone have no confidence.")
    members = soft_or_labels(ensemble)
    aligned: Consensus = aligned_result(result, members.object_ids, "result")
    if len(aligned.labels) != members.n_rows:
        objects, rows = counted(len(aligned.labels), "object"), counted(members.n_rows, "row")
        raise ValueError(f"ensemble must have one row per object of the result, {objects}, got {rows}.")
    if aligned.confidence is None:
        raise ValueError("result has no confidence, which memberships are made of; leave out confidence=False.")
    means, _ = cluster_means(members, aligned.labels, aligned.n_clusters)
    shared: FloatArray = one_hot(members) @ (means / members.weights.sum())
    known = known_shares(members)
    power = 1.0 + (1.0 if known is None else known[:, None])
    own = np.arange(members.n_rows), aligned.labels
    shared = np.maximum(shared, 1e-9) ** power
    shared[own] = 0.0
    rest = shared.sum(axis=1, keepdims=True)
    shared *= (1.0 - aligned.confidence)[:, None] / np.where(rest > 0, rest, 1.0)
    shared[own] = 1.0 - shared.sum(axis=1)
    return shared

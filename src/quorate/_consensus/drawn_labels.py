"""Fresh labels: what another ensemble would say, if its members err as those of this one do.

Also how the members were made, as far as it shows: copies of one another, and members that know a part of the objects.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._solve.procedure import Drawn, Procedure, repeat, two_halves
from quorate._types import Ensemble, FloatArray
from quorate.ops.coding import canonical
from quorate.solvers.camps import copies_within, shared_beside
from quorate.solvers.contingency import ari, contingency, matched

DRAWS = (4, 20)
"""Draws of fresh labels: the fewest and the most."""
MOST_LOOKUPS = 2e7
"""Rows times members times clusters times draws, at most, as long as there are the fewest draws."""
TOO_MANY_LOOKUPS = 2.5e7
"""With more rows times members times clusters, as with very many clusters, the halves stand alone."""
HALVED_DRAWS = 4
"""Draws of fresh labels of which the members are divided into halves, too."""
SMOOTHING = 10.0
"""Objects of the whole table that are added to each cluster when shares of its labels are counted."""
MOST_COMPARED = 40
"""Members among which copies are looked for, and whether they know parts, at most: all pairs are compared."""
APART, PARTS, CLEAR_PARTS = 0.5, 0.13, 0.3
"""Members know parts of the objects if so large a share of the pairs has less than half or more than one and a half
times as many objects in common as chance gives within clusters, or less than half of what it gives in all."""
ROUNDS = 10
"""How often clusters and labels of copies are estimated anew from each other."""
FRESH_TABLES = 5
"""Whole tables of fresh labels on which the procedure is repeated if members know parts of the objects."""
LITTLE = 1.0
"""Objects added to each cluster when labels of whole tables are drawn: with more, members would err more often."""
WORTH_OF_FIT = 0.5
"""How far values are drawn towards chance if the clusters explain nothing of what members share."""
SHAKEN = 2.0
"""Standard errors by which shares of labels are changed in each draw: one of this ensemble, one of the fresh one."""


class Made(NamedTuple):
    """How the members were made, as far as their labels show it.

    `groups` holds the members that copy one another; a member without copies is a group of its own. `of_parts` says
    whether each member knows a part of the objects, and `unexplained` is then the share of what members have in common
    that the clusters do not explain: about 0 if the clusters are those that the members see, 1 if they are not.
    """

    groups: list[NDArray[np.intp]]
    of_parts: bool
    unexplained: float


def how_made(drawn: Drawn, n_clusters: int) -> Made:
    """Look for copies, and for members that know a part of the objects each."""
    ensemble, n_members = drawn.ensemble, drawn.ensemble.n_members
    single = Made([np.array([member]) for member in range(n_members)], False, 0.0)
    if not 3 <= n_members <= MOST_COMPARED:
        return single
    found = shared_beside(ensemble, drawn.codes.astype(np.int64))
    pairs = np.triu_indices(n_members, 1)
    if ensemble.has_missing:
        of_clusters = np.zeros((n_clusters, n_members))
        np.add.at(of_clusters, drawn.codes, ensemble.counts[:, None] * (ensemble.labels >= 0))
        sizes = np.bincount(drawn.codes, weights=ensemble.counts, minlength=n_clusters)
        if _know_parts(found.objects, of_clusters, np.maximum(sizes, 1.0)):
            in_all = max(float(found.in_all[pairs].sum()), 1e-9)
            return single._replace(of_parts=True, unexplained=float(found.beside[pairs].sum()) / in_all)
    return single._replace(groups=copies_within(found))


def _know_parts(shared: FloatArray, known: FloatArray, sizes: FloatArray) -> bool:
    """Whether many pairs of members share far fewer or more objects than by chance within clusters, or fewer in all.

    A member may know some clusters only, which is no part in this sense; but clusters may follow from the parts.
    """
    pairs = np.triu_indices(len(shared), 1)
    within = known.T @ (known / sizes[:, None])
    in_all = np.outer(known.sum(axis=0), known.sum(axis=0)) / sizes.sum()
    few, many = APART * within, (2 - APART) * within
    unusual = float(np.mean(((shared < few) | (shared > many))[pairs]))
    return unusual >= PARTS or float(np.mean((shared < APART * in_all)[pairs])) >= CLEAR_PARTS


def kept_by_parts(drawn: Drawn, procedure: Procedure, unexplained: float) -> FloatArray | None:
    """For each row, the share of whole fresh tables in which the procedure places it where the result does.

    Where members know different parts of the objects, halves of them hardly overlap. What may change is how clusters
    of one part are joined with those of another, for many objects at once, which only the procedure itself can show.
    Fresh tables trust that the clusters are those that the members see: the less of what members share follows from
    the clusters, the closer the values are drawn to chance. None if the method refuses the tables.
    """
    ensemble, n_clusters = drawn.ensemble, procedure.n_clusters
    codes = canonical(drawn.codes, n_clusters).astype(np.int64)
    rng = np.random.default_rng((procedure.seed, ensemble.n_members, 3))
    own = _belongs(ensemble, codes, n_clusters).probabilities
    rows = np.repeat(np.arange(ensemble.n_rows), ensemble.counts)
    clusters, ends, once = codes[rows], own.cumsum(axis=1)[rows], np.ones(len(rows), dtype=np.int64)
    tables = [_labels_of(ensemble, member, codes, n_clusters, LITTLE) for member in range(ensemble.n_members)]
    stays, n_done = np.zeros(len(rows)), 0
    for number in range(FRESH_TABLES):
        truth = (rng.random((len(rows), 1)) > ends[:, :-1]).sum(axis=1)
        columns = [np.where(table.known[rows], _drawn_labels(table, truth, rng), -1) for table in tables]
        try:
            repeated = repeat(procedure, _with_labels(ensemble, np.stack(columns, axis=1)), 200 + number)
        except (ValueError, MemoryError):
            continue
        stays += matched(clusters, repeated.astype(np.int64), once) == clusters
        n_done += 1
    if not n_done:
        return None
    shares = np.bincount(rows, weights=stays) / (n_done * ensemble.counts)
    worth = 1.0 - WORTH_OF_FIT * min(max(unexplained, 0.0), 1.0)
    return np.asarray(towards_chance(shares, worth, n_clusters))


def placed_again(right: Any, again: Any, n_clusters: int) -> Any:
    """The probability of the same place: for rows that belong there, and by chance for the others."""
    return right * again + (1.0 - right) * (1.0 - again) / (n_clusters - 1)


def towards_chance(values: Any, share: float, n_clusters: int) -> Any:
    """Leave a share of what values are above those of chance."""
    return 1.0 / n_clusters + (values - 1.0 / n_clusters) * share


def _with_labels(ensemble: Ensemble, labels: NDArray[np.int64]) -> Ensemble:
    """The same members with other labels, one row for each object."""
    once = np.ones(len(labels), dtype=np.int64)
    return replace(ensemble, labels=np.ascontiguousarray(labels, dtype=ensemble.labels.dtype), counts=once)


def level_of(counts: NDArray[np.int64], fresh: Fresh, kept: FloatArray, n_clusters: int) -> float:
    """How far the values of fresh labels are drawn towards chance so that their mean is that of `kept`."""
    means = [np.average(part, weights=counts) - 1.0 / n_clusters for part in (kept, fresh.expected(n_clusters))]
    return float(np.clip(means[0] / max(means[1], 1e-9), 0.0, 1.0))


def members_of(groups: list[NDArray[np.intp]], chosen: NDArray[np.intp]) -> NDArray[np.intp]:
    """The members of some groups, sorted."""
    return np.sort(np.concatenate([groups[number] for number in chosen]))


def likeness_of(halves: list[NDArray[np.int32]], counts: NDArray[np.int64]) -> float:
    """The ARI of two labellings of the same rows."""
    one, other = halves
    return float(ari(contingency(one, other, int(one.max()) + 1, int(other.max()) + 1, counts)))


class Labels(NamedTuple):
    """What a member's labels say: for each cluster the probability of each label, its logarithm, and how much this
    logarithm differs from ensemble to ensemble; and which rows are labelled."""

    shares: FloatArray
    logs: FloatArray
    spread: FloatArray
    known: NDArray[np.bool_]


class Fresh(NamedTuple):
    """What fresh labels of rows say.

    `right` is the probability of each row that it belongs to its cluster, by its own labels; `again` is the share of
    the draws of fresh labels of that cluster by which it is placed there again. `likeness` is the ARI of the clusters
    of two halves of the members, if labels are drawn like this.
    """

    right: FloatArray
    again: FloatArray
    likeness: float

    def expected(self, n_clusters: int) -> Any:
        """How probably each row is placed in its cluster again."""
        return placed_again(self.right, self.again, n_clusters)


class Belongs(NamedTuple):
    """How probably each row belongs to each cluster by its own labels, and what this follows from.

    `prior` is the log odds of the clusters, `start` those of each row by which members label it, and `members` what
    the labels of each member say.
    """

    probabilities: FloatArray
    prior: FloatArray
    start: FloatArray
    members: list[Labels]


def _belongs(ensemble: Ensemble, clusters: NDArray[Any], n_clusters: int, worth: FloatArray | None = None) -> Belongs:
    """Find how probably rows belong to each cluster by their labels, from what labels the rows of a cluster have.

    `clusters` are the numbers of clusters, or a first guess of these probabilities; `worth` is what each member counts.
    """
    sizes = _sizes(clusters, ensemble.counts, n_clusters)
    prior = np.log(np.maximum(sizes, 1e-9) / sizes.sum())
    members = [_labels_of(ensemble, member, clusters, n_clusters) for member in range(ensemble.n_members)]
    start = prior + _of_gaps(ensemble, members, clusters, sizes)
    worth = ensemble.weights / ensemble.weights.mean() if worth is None else worth
    own = start + sum(
        weight * np.where(labels.known[:, None], labels.logs.T[column], 0.0)
        for weight, labels, column in zip(worth, members, ensemble.labels.T, strict=True)
    )
    own = np.exp(own - own.max(axis=1, keepdims=True))
    return Belongs(own / own.sum(axis=1, keepdims=True), prior, start, members)


def fresh_labels(
    ensemble: Ensemble, codes: NDArray[np.int32], n_clusters: int, seed: int, groups: list[NDArray[np.intp]]
) -> Fresh:
    """Draw the cluster and then labels of each row, and place it again by them.

    A fresh ensemble has a consensus of its own, so that rows are placed by shares of labels that differ from those
    observed by as much as such shares differ by chance. Members of a group copy one another: together they are one
    witness of where a row belongs, and have the labels of another row of the cluster.
    """
    clusters = canonical(codes, n_clusters).astype(np.int64)
    rng = np.random.default_rng((seed, ensemble.n_members, 1))
    n_draws = int(np.clip(MOST_LOOKUPS / (ensemble.labels.size * n_clusters), *DRAWS))
    weights = ensemble.weights / ensemble.weights.mean()
    worth = weights.copy()
    for group in groups:
        worth[group] /= len(group)
    own, prior, start, members = _belongs(ensemble, clusters, n_clusters, worth)
    if len(groups) < ensemble.n_members:
        # the clusters may be those of the largest group, which by them makes no errors
        for _ in range(ROUNDS):
            own, prior, start, members = _belongs(ensemble, own, n_clusters, worth)
    draw_votes = partial(_drawn_votes, ensemble, members, weights)
    ends, likeness = own.cumsum(axis=1), []
    belongs, stays = np.zeros(ensemble.n_rows), np.zeros(ensemble.n_rows)
    for draw in range(n_draws):
        truth = (rng.random((ensemble.n_rows, 1)) > ends[:, :-1]).sum(axis=1)
        halves = two_halves(rng.permutation(len(groups)))
        votes = [sum(draw_votes(groups[number], truth, rng) for number in half) for half in halves]
        belongs += truth == clusters
        stays += (truth == clusters) & ((start + votes[0] + votes[1]).argmax(axis=1) == clusters)
        if draw < HALVED_DRAWS:
            seen = [np.logical_or.reduce([members[q].known for q in members_of(groups, half)]) for half in halves]
            both = np.flatnonzero(seen[0] & seen[1])
            placed = [(prior + part)[both].argmax(axis=1).astype(np.int32) for part in votes]
            if len(both):
                likeness.append(likeness_of(placed, ensemble.counts[both]))
    again = np.divide(stays, belongs, out=np.zeros(len(stays)), where=belongs > 0)
    right = np.where(belongs > 0, own[np.arange(len(own)), clusters], 0.0)
    return Fresh(right, again, float(np.mean(likeness)) if likeness else 0.0)


def _sizes(clusters: NDArray[Any], weights: NDArray[Any], n_clusters: int) -> FloatArray:
    """The weight of the rows of each cluster, or what is expected of it if `clusters` are probabilities."""
    if clusters.ndim == 2:
        return np.asarray(weights @ clusters, dtype=np.float64)
    return np.bincount(clusters, weights=weights, minlength=n_clusters).astype(np.float64)


def _labels_of(
    ensemble: Ensemble, member: int, clusters: NDArray[Any], n_clusters: int, smoothing: float = SMOOTHING
) -> Labels:
    """How often the objects of each cluster have each label of a member; few objects say little, so that these shares
    are pulled towards those of all objects."""
    column, width = ensemble.labels[:, member], int(ensemble.n_clusters[member])
    known = column >= 0
    # a label counts as far as others decided the cluster, too: the only one agrees with its cluster in any case
    worth = (ensemble.counts * (1 - 1 / np.maximum((ensemble.labels >= 0).sum(axis=1), 1)))[known]
    if clusters.ndim == 2:
        table: FloatArray = np.zeros((n_clusters, width))
        np.add.at(table.T, column[known], worth[:, None] * clusters[known])
    else:
        places = clusters[known] * width + column[known]
        cells: FloatArray = np.bincount(places, weights=worth, minlength=n_clusters * width).astype(np.float64)
        table = cells.reshape(-1, width)
    of_all = table.sum(axis=0) / max(table.sum(), 1.0)
    shares = (table + smoothing * of_all) / (table.sum(axis=1, keepdims=True) + smoothing)
    shares = np.maximum(shares, 1e-12)
    spread = np.sqrt((1 - shares) / ((table.sum(axis=1, keepdims=True) + smoothing) * shares))
    return Labels(shares, np.log(shares), SHAKEN * spread, known)


def _of_gaps(
    ensemble: Ensemble, members: list[Labels], clusters: NDArray[Any], sizes: FloatArray
) -> FloatArray | float:
    """The log odds of the clusters that follow from which members label a row: a department may know some clusters."""
    if not ensemble.has_missing:
        return 0.0
    total: FloatArray = np.zeros((ensemble.n_rows, len(sizes)))
    for labels in members:
        table = _sizes(clusters, ensemble.counts * labels.known, len(sizes))
        share = (table + SMOOTHING * table.sum() / sizes.sum()) / (sizes + SMOOTHING)
        share = np.clip(share, 1e-6, 1 - 1e-6)
        total += np.where(labels.known[:, None], np.log(share), np.log1p(-share))
    return total


def _drawn_votes(
    ensemble: Ensemble,
    members: list[Labels],
    weights: FloatArray,
    group: NDArray[np.intp],
    truth: NDArray[np.intp],
    rng: np.random.Generator,
) -> FloatArray:
    """Draw labels of a group of members for each row that they know, given its cluster, and return what these say.

    A member alone draws from the shares of its labels. Copies have the labels of another row of the same cluster.
    """
    if len(group) == 1:
        labels = members[group[0]]
        return np.asarray(weights[group[0]] * _votes(labels, _drawn_labels(labels, truth, rng), labels.known, rng))
    donors = _drawn_rows(ensemble.counts, truth, rng)
    drawn = ensemble.labels[donors][:, group].T
    votes = [
        weights[member] * _votes(members[member], column, members[member].known & (column >= 0), rng)
        for member, column in zip(group, drawn, strict=True)
    ]
    return np.asarray(sum(votes))


def _drawn_rows(counts: NDArray[np.int64], truth: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw a row of the same cluster for each row, each object with the same probability."""
    order = np.argsort(truth, kind="stable")
    ends = np.cumsum(counts[order])
    sizes = np.bincount(truth, weights=counts)
    before = np.cumsum(sizes) - sizes
    places = np.searchsorted(ends, before[truth] + rng.random(len(truth)) * sizes[truth], side="right")
    return np.asarray(order[np.minimum(places, len(order) - 1)])


def _drawn_labels(labels: Labels, truth: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw a label for each row, given its cluster."""
    n_clusters, width = labels.shares.shape
    ends = (labels.shares.cumsum(axis=1) + np.arange(n_clusters)[:, None]).ravel()
    # the last end of a cluster is the beginning of the next one, whatever the rounding
    ends[width - 1 :: width] = np.arange(1, n_clusters + 1)
    drawn = np.searchsorted(ends, truth + rng.random(len(truth)), side="right") - truth * width
    return np.asarray(np.clip(drawn, 0, width - 1))


def _votes(labels: Labels, drawn: NDArray[Any], known: NDArray[np.bool_], rng: np.random.Generator) -> FloatArray:
    """What labels of a member say about the clusters, by its shares of labels in another ensemble."""
    logs = labels.logs + np.clip(labels.spread * rng.standard_normal(labels.spread.shape), -3, 3)
    votes: FloatArray = logs.T[drawn]
    votes[~known] = 0.0
    return votes

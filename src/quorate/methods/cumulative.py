"""Cumulative voting: members with any numbers of clusters vote by probabilities, which are then merged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from quorate import _check
from quorate._types import Consensus, Ensemble, FloatArray, Method, read_only
from quorate.ops.coding import canonical
from quorate.ops.distinct_rows import distinct_rows
from quorate.ops.tables import cluster_counts
from quorate.solvers.contingency import member_labels
from quorate.solvers.label_rows import fill_empty, look_up, weighted_total
from quorate.solvers.label_space.lookup import Rule, sample
from quorate.solvers.sizes import voting_by_shares
from quorate.solvers.weights import TABLE_UNIT, cluster_weights, whole


def cumulative(
    ensemble: Ensemble, n_clusters: int, *, rng: np.random.Generator, reference: str = "information"
) -> Consensus:
    """Let every member vote for the clusters of a reference by probabilities, then merge those clusters.

    First the reference is chosen, then each base cluster gets its votes, then clusters of the reference are merged
    until n_clusters are left, and last each row takes the cluster with most votes.

    Parameters
    ----------
    ensemble : Ensemble
    n_clusters : int
    rng : numpy.random.Generator
        Draws the sample on which clusters are merged if there are many rows; used for nothing else.
    reference : str
        "information": the member that shares the most information with all; or the name of a member.

    Returns
    -------
    Consensus
        `objective` is the information, in nats, that the consensus keeps about the objects; to be maximised.
        ``info["reference"]`` lists the members the reference was made of.

    Notes
    -----
    A base cluster votes for the reference's clusters by the shares of its objects there (the un-normalised scheme of
    [1]_); the votes of an object are averaged over the members that know it. If the reference has more clusters than
    wanted, the two whose merging loses the least information are merged, again and again. If no member has enough
    clusters, the reference is crossed with the next most informative members until it has. Ties go to the lowest
    number; an empty cluster takes the row that is least sure of its own. Above 32,768 rows the loss of merging and the
    objective are computed on a sample of that many objects. O(m H k) for m rows and a reference of k clusters; merging
    takes k^2 times the rows it looks at.

    References
    ----------
    .. [1] H. G. Ayad, M. S. Kamel, "Cumulative Voting Consensus Method for Partitions with Variable Number of
       Clusters", IEEE TPAMI 30, 2008, doi:10.1109/TPAMI.2007.1138.

    Examples
    --------
    >>> from quorate import consensus
    >>> members = {"fine": [0, 0, 1, 1, 2, 2], "coarse": [0, 0, 0, 1, 1, 1], "odd": [0, 0, 1, 1, 1, 1]}
    >>> consensus(members, 2, method="cumulative").labels.tolist()
    [0, 0, 1, 1, 1, 1]
    """
    labels, k, names = _reference(ensemble, n_clusters, reference)
    shares = _shares(ensemble, labels, k)
    part = sample(ensemble, k, rng) or ensemble
    group = merge_columns(_votes(part, shares), part.counts, n_clusters)
    table = np.zeros((len(shares), n_clusters))
    np.add.at(table.T, group, shares.T)
    rule = Rule(whole(table), np.full(n_clusters, 1 / TABLE_UNIT), np.zeros(n_clusters))
    nearest, score = np.empty(ensemble.n_rows, dtype=np.int32), np.empty(ensemble.n_rows)
    look_up(ensemble, rule, np.ones(1), nearest, score)
    fill_empty(nearest, ensemble.counts * (1.0 + score / ensemble.weights.sum()), n_clusters)
    weights = part.counts / part.counts.sum()
    kept = sum(column_information(column, weights) for column in _votes(part, table).T)
    return Consensus(labels=canonical(nearest, n_clusters), objective=kept, info={"reference": names})


def _reference(ensemble: Ensemble, n_clusters: int, reference: str) -> tuple[NDArray[np.int32], int, list[str]]:
    """A labelling of at least `n_clusters` clusters, how many it has, and the members it was made of."""
    if reference == "information":
        order = np.argsort(-_information(ensemble), kind="stable")
        enough = order[ensemble.n_clusters[order] >= n_clusters]
        order = np.concatenate([enough[:1], order[order != enough[0]]]) if len(enough) else order
    elif reference in ensemble.member_names:
        order = np.array([ensemble.member_names.index(reference)])
    else:
        known = ", ".join(map(repr, ensemble.member_names))
        raise ValueError(f"reference must be 'information' or a member's name, got {reference!r}; members: {known}.")
    for used in range(1, len(order) + 1):
        chosen = order[:used]
        labels, k = _crossed(ensemble, chosen)
        if k >= n_clusters:
            return labels, k, [ensemble.member_names[member] for member in chosen]
    known = _check.counted(k, "cluster")
    raise ValueError(f"reference {reference!r} has {known}, fewer than n_clusters = {n_clusters}; choose another.")


def _crossed(ensemble: Ensemble, members: NDArray[np.intp]) -> tuple[NDArray[np.int32], int]:
    """The partition of the rows by their labels in all these members; a single member leaves its gaps unlabelled."""
    if len(members) == 1:
        member = int(members[0])
        return member_labels(ensemble, member), int(ensemble.n_clusters[member])
    inverse = np.empty(ensemble.n_rows, dtype=np.intp)
    first = distinct_rows(read_only(ensemble.labels[:, members]), inverse)
    return inverse.astype(np.int32), len(first)


def _information(ensemble: Ensemble) -> FloatArray:
    """Mutual information of each member with all, in nats, weighted by member weight and objects in common."""
    result = np.zeros(ensemble.n_members)
    for member, k in enumerate(ensemble.n_clusters):
        labels = member_labels(ensemble, member)
        stacked = cluster_counts(ensemble.labels, ensemble.offsets, ensemble.counts, labels, int(k))
        for weight, table in zip(ensemble.weights, np.split(stacked, ensemble.offsets[1:-1]), strict=True):
            counts = table.astype(np.float64)
            expected = np.outer(counts.sum(axis=1), counts.sum(axis=0))
            filled = counts > 0
            result[member] += weight * float(
                (counts[filled] * np.log(counts[filled] * counts.sum() / expected[filled])).sum()
            )
    # members whose information is equal on paper must be equal here, for ties to go to the first
    return np.round(result, 6)


def _shares(ensemble: Ensemble, labels: NDArray[np.int32], k: int) -> FloatArray:
    """The votes (d, k) of the base clusters: shares of their objects in the reference's clusters, by member weight."""
    table = cluster_counts(ensemble.labels, ensemble.offsets, ensemble.counts, labels, k).astype(np.float64)
    shares: FloatArray = cluster_weights(ensemble)[:, None] * table / np.maximum(table.sum(axis=1, keepdims=True), 1.0)
    return shares


def _votes(ensemble: Ensemble, shares: FloatArray) -> FloatArray:
    """Each row's distribution over the reference's clusters, (m, k)."""
    cast = whole(shares)
    votes = np.zeros((ensemble.n_rows, shares.shape[1]), dtype=np.int64)
    for member, start in enumerate(ensemble.offsets[:-1]):
        known = np.flatnonzero(ensemble.labels[:, member] >= 0)
        votes[known] += cast[start + ensemble.labels[known, member].astype(np.int64)]
    totals = votes.sum(axis=1, keepdims=True)
    result: FloatArray = np.where(totals > 0, votes, 1) / np.where(totals > 0, totals, shares.shape[1])
    return result


METHOD = Method(
    solve=cumulative,
    title="cumulative voting, merged by information",
    stochastic=True,
    reference="doi:10.1109/TPAMI.2007.1138",
    tables=voting_by_shares,
)


def merge_columns(shares: FloatArray, counts: NDArray[np.int64], n_columns: int) -> NDArray[np.intp]:
    """Group the columns of shares (m, k), rows summing to 1, into n_columns; the group of each column.

    Agglomerative information bottleneck: merging columns r and s loses
    sum_i p_i [x(r_i) + x(s_i) - x(r_i + s_i)] - [x(R) + x(S) - x(R + S)], where x(z) = z log z and R, S are the
    columns' total shares. Losses are compared to 12 digits, so that equal ones are equal; ties go to the first pair.
    """
    weights = counts / counts.sum()
    columns = list(np.ascontiguousarray(shares.T))
    kept_by = np.array([column_information(column, weights) for column in columns])
    groups = [[column] for column in range(len(columns))]
    loss = np.full((len(columns), len(columns)), np.inf)

    def fill(column: int, others: list[int] | range) -> None:
        for other in others:
            joined = column_information(columns[column] + columns[other], weights)
            # information never grows by merging: a negative loss is rounding
            loss[column, other] = loss[other, column] = max(kept_by[column] + kept_by[other] - joined, 0.0)

    for column in range(len(columns)):
        fill(column, range(column))
    alive = list(range(len(columns)))
    while len(alive) > n_columns:
        within = loss[np.ix_(alive, alive)]
        place, other = divmod(int(np.argmin(np.round(within, 12))), len(alive))
        kept, gone = sorted((alive[place], alive[other]))
        columns[kept] = columns[kept] + columns[gone]
        kept_by[kept] = column_information(columns[kept], weights)
        groups[kept] += groups[gone]
        alive.remove(gone)
        fill(kept, [column for column in alive if column != kept])
    label = np.empty(shares.shape[1], dtype=np.intp)
    for place, column in enumerate(alive):
        label[groups[column]] = place
    return label


def column_information(column: FloatArray, weights: FloatArray) -> float:
    """What a column of shares tells about the objects, in nats: sum of p x log x, less the same of its total."""
    total = weighted_total(weights, column)
    return weighted_total(weights, xlogy(column, column)) - float(xlogy(total, total))

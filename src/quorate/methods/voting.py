"""Plurality voting after the members' labels have been matched to a reference."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._types import Consensus, Ensemble, FloatArray, Method
from quorate.solvers.contingency import member_anmi, member_labels, members_with
from quorate.solvers.label_rows import tally_and_sizes
from quorate.solvers.label_space.lookup import Sums, as_consensus, best_of_restarts, sweep
from quorate.solvers.label_space.models import additive, euclidean
from quorate.solvers.sizes import label_space
from quorate.solvers.weights import common_factor, without_common_factor


def voting(
    ensemble: Ensemble,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    reference: str = "best",
    max_iter: int = 100,
    start: NDArray[np.int32] | None = None,
) -> Consensus:
    """Match every member's labels to a reference, let the members vote, and match again to the outcome.

    Parameters
    ----------
    ensemble : Ensemble
    n_clusters : int
    rng : numpy.random.Generator
    reference : {"best", "kmeans"}
        The reference of the first vote: the member with the highest ANMI among those with `n_clusters` clusters
        (`kmeans` if there is none), or the partition of `kmeans`.
    max_iter : int
        Number of votes at most; 1 is plain plurality after matching to the reference.
    start : array, optional
        A label for each row, -1 where there is none: the reference. `consensus` makes it of its own option `start`.

    Returns
    -------
    Consensus
        `objective` is the weighted number of known labels that differ from the outcome, to be minimised.
        ``info["reference"]`` names the reference.

    Notes
    -----
    Labels are matched one to one with the largest overlap (the Hungarian method). A member with more clusters than
    `n_clusters` matches each consensus label once, and its other clusters vote for the label they overlap most, all
    chosen together for the largest agreement. Both steps raise the agreement, so the votes end. Ties go to the
    lowest label; a missing label does not vote. A vote costs O(m H k), and O(k^3) per member for the matching.

    References
    ----------
    .. [1] S. Dudoit, J. Fridlyand, "Bagging to improve the accuracy of a clustering procedure", Bioinformatics 19,
       2003, doi:10.1093/bioinformatics/btg038.

    Examples
    --------
    >>> from quorate import consensus
    >>> members = [[0, 0, 1, 1, 2], [2, 2, 0, 0, 1], [0, 0, 0, 1, 2]]
    >>> consensus(members, 3, method="voting").labels.tolist()
    [0, 0, 1, 1, 2]
    """
    _check.choice(reference, "reference", ("best", "kmeans"))
    light = without_common_factor(ensemble)
    model = additive(light, lambda counts: _votes(light, counts))
    labels, name = (start, "given labels") if start is not None else _reference(light, n_clusters, rng, reference)
    run = sweep(light, model, model.rule(Sums(*tally_and_sizes(light, labels, n_clusters))), max_iter)
    return as_consensus(run._replace(cost=run.cost * common_factor(ensemble)), {"reference": name})


def _reference(
    ensemble: Ensemble, n_clusters: int, rng: np.random.Generator, reference: str
) -> tuple[NDArray[np.int32], str]:
    fitting = members_with(ensemble, n_clusters)
    if reference == "kmeans" or not len(fitting):
        return best_of_restarts(ensemble, euclidean, n_clusters, rng, n_init=10, max_iter=300).labels, "kmeans"
    best = int(fitting[np.argmax(member_anmi(ensemble, fitting))])
    return member_labels(ensemble, best), ensemble.member_names[best]


def _votes(ensemble: Ensemble, counts: FloatArray) -> FloatArray:
    """A table (d, K) with a 1 where a base cluster votes for a consensus cluster, 0 elsewhere."""
    votes = np.zeros_like(counts)
    for start, stop in zip(ensemble.offsets[:-1], ensemble.offsets[1:], strict=True):
        votes[np.arange(start, stop), _matching(counts[start:stop])] = 1.0
    return votes[:, : counts.shape[1]]


def _matching(overlap: FloatArray) -> NDArray[np.intp]:
    """The label that each base cluster of a member votes for."""
    from scipy.optimize import linear_sum_assignment

    favourite: NDArray[np.intp] = np.argmax(overlap, axis=1)
    # what a cluster loses by not voting for its favourite; those that are not matched lose nothing
    loss = overlap.max(axis=1, keepdims=True) - overlap
    clusters, labels = linear_sum_assignment(loss if len(overlap) > overlap.shape[1] else -overlap)
    favourite[clusters] = labels
    return favourite


METHOD = Method(
    solve=voting,
    title="plurality voting after optimal matching",
    reference="doi:10.1093/bioinformatics/btg038",
    tables=label_space,
    stochastic=True,
    warm=True,
    in_parts=True,
    weighs=1,
)

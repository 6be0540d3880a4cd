"""Greedy optimisation of the mutual information with all members."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._types import Consensus, Ensemble, Method
from quorate.ops.coding import canonical
from quorate.solvers.cluster_means import completed
from quorate.solvers.contingency import anmi, member_anmi, member_labels, members_with
from quorate.solvers.label_space.climbing import climb
from quorate.solvers.label_space.lookup import best_of_restarts
from quorate.solvers.label_space.models import euclidean
from quorate.solvers.sizes import label_space


def greedy(
    ensemble: Ensemble, n_clusters: int | None, *, rng: np.random.Generator, init: str = "best", max_iter: int = 100
) -> Consensus:
    """Move rows one at a time, each to the cluster that raises the ANMI most, until no move raises it.

    Parameters
    ----------
    ensemble : Ensemble
    n_clusters : int or None
        None takes the number of clusters of the member with the highest ANMI.
    rng : numpy.random.Generator
        For the k-means start.
    init : {"best", "member", "kmeans"}
        Where to start: from the member with the highest ANMI among those of n_clusters clusters ("member", the paper's
        start; k-means if no member has that many), from k-means on the label rows, or from the one of these two
        that has the higher ANMI ("best"). For any other start, see `quorate.refine`.
    max_iter : int
        Sweeps at most; `converged` says whether the last one moved nothing.

    Returns
    -------
    Consensus
        `objective` is the ANMI (geometric), to be maximised; ``info["start"]`` is the name of the member the moves
        began from, or "kmeans"; ``info["start_anmi"]`` is its ANMI and ``info["n_moves"]`` how many rows moved.

    Notes
    -----
    The paper starts from a member, sweeps over objects and recomputes; here the contingency tables are kept, so that
    a move costs O(H k) and a sweep O(m H k) for m rows, H members and k clusters. The moves are those of a full
    recomputation, as a test shows. Where we differ: objects with equal rows move together, as one block. A block may
    stay where its first object alone would have moved, and the other way round, so that another optimum than the
    paper's can be reached; equal rows never end up in different clusters, which a sweep over objects does not
    promise. ANMI gains below 1e-11 count as none, ties go to the lowest cluster, and a cluster keeps its last row.

    References
    ----------
    .. [1] A. Strehl, J. Ghosh, "Cluster Ensembles", JMLR 3, 2002, doi:10.1162/153244303321897735, section 2.3.

    Examples
    --------
    >>> from quorate import consensus
    >>> members = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1]]
    >>> result = consensus(members, 2, method="greedy")
    >>> result.labels.tolist(), result.info["start"], round(result.objective, 4)
    ([0, 0, 0, 1, 1, 1], 'member 0', 0.6528)
    """
    _check.choice(init, "init", ("best", "member", "kmeans"), "any other labelling goes to quorate.refine.")
    name, start, k = _start(ensemble, n_clusters, rng, init)
    run = climb(ensemble, start, k, max_iter)
    labels = canonical(run.labels, k)
    info = {"start": name, "start_anmi": anmi(ensemble, start, k), "n_moves": run.n_moves}
    objective = anmi(ensemble, labels, k)
    return Consensus(labels=labels, objective=objective, n_iter=run.n_iter, converged=run.converged, info=info)


def _start(
    ensemble: Ensemble, n_clusters: int | None, rng: np.random.Generator, init: str
) -> tuple[str, NDArray[np.int32], int]:
    """Name, labels and number of clusters of the labelling the moves begin from."""
    fitting = members_with(ensemble, n_clusters)
    chosen = int(fitting[np.argmax(member_anmi(ensemble, fitting))]) if len(fitting) else -1
    k = n_clusters or int(ensemble.n_clusters[chosen])
    starts = {}
    if chosen >= 0 and init != "kmeans":
        starts[ensemble.member_names[chosen]] = completed(ensemble, member_labels(ensemble, chosen), k)
    if not starts or init == "best":
        starts["kmeans"] = best_of_restarts(ensemble, euclidean, k, rng, n_init=10, max_iter=300).labels
    name = max(starts, key=lambda start: anmi(ensemble, starts[start], k))
    return name, starts[name], k


METHOD = Method(
    solve=greedy,
    title="greedy moves that raise the ANMI",
    reference="doi:10.1162/153244303321897735",
    tables=label_space,
    finds_k=True,
    stochastic=True,
)

"""Correlation clustering: the partition with which the members disagree on the fewest pairs of objects."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.compression import compress
from quorate._types import Consensus, Ensemble, Method
from quorate.solvers.confidence import row_confidence
from quorate.solvers.label_space.median import (
    Search,
    descend,
    disagreements,
    leaders,
    lower_bound,
    sample,
    settle,
    spread,
    whole_weights,
)
from quorate.solvers.labellings import column, completed, in_content_order


def correlation(
    ensemble: Ensemble,
    n_clusters: int | None,
    *,
    rng: np.random.Generator,
    init: str = "best",
    max_iter: int = 100,
) -> Consensus:
    """Move rows and merge clusters while the number of pairs on which members disagree with the partition falls.

    Parameters
    ----------
    ensemble : Ensemble
    n_clusters : int or None
        None, the natural choice here, leaves the number to the objective. Otherwise exactly so many, see Notes.
    rng : numpy.random.Generator
        Not used: nothing here is random.
    init : {"best", "member", "leaders"}
        Where to start: from the member of the fewest disagreements, from clusters founded by rows that no cluster
        attracts yet, or from both, the better end kept ("best").
    max_iter : int
        Sweeps at most; `converged` says whether the search ended by itself.

    Returns
    -------
    Consensus
        `objective` is the number of disagreements, to be minimised: pairs of objects that a member joins and the
        partition parts, or the other way round, summed over members by weight. ``info["lower_bound"]`` is what no
        partition goes below, None on more than 4,096 distinct rows (it takes all pairs of rows);
        ``info["objectives"]`` the objective at the start and after every step, never rising but at the place
        ``info["forced_at"]``, where a number of clusters was forced (None: it was not); ``info["start"]`` what the
        search started from.

    Notes
    -----
    The median partition under the Mirkin distance [1]_. Two objects attract each other by 2 S - K, S the weight of the
    members that join them and K of those that know both; a row's attraction to a cluster is a sum of H entries of a
    table of counts, so a sweep costs O(m H k) for m distinct rows, H members and k clusters, and no matrix over pairs
    is formed. Rows move one at a time, to a new cluster where all repel them, then clusters merge, and again, as in
    the Louvain method. All gains are compared as whole numbers; weights that are no multiples of the least are rounded
    to 2^-20 of the largest. Equal rows attract each other only, so that moving them together loses nothing.

    A number of clusters is forced after the free search: the clusters that repel each other least are merged, or the
    rows that lose least get a cluster of their own; then rows move between those clusters. A member with that many
    clusters is tried as a start, too. Asked for many more clusters than it chooses freely, this objective parts with
    single rows: use another method then.

    On more than 32,768 rows the starts are tried on as many objects at even distances, and the best goes on with all.

    The lower bound is the sum over pairs of min(S, K - S).

    References
    ----------
    .. [1] A. Goder, V. Filkov, "Consensus clustering algorithms: comparison and refinement", ALENEX, 2008,
       doi:10.1137/1.9781611972887.11.

    Examples
    --------
    >>> from quorate import consensus
    >>> result = consensus([[0, 0, 1, 1, 2], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]], method="correlation")
    >>> result.labels.tolist(), result.objective, result.info["lower_bound"]
    ([0, 0, 1, 1, 1], 2.0, 2.0)
    """
    init = _check.choice(init, "init", ("best", "member", "leaders"))
    max_iter = _check.integer(max_iter, "max_iter", low=1)
    rows, inverse = compress(in_content_order(ensemble))
    _, unit = whole_weights(rows)
    name, run = _search(rows, n_clusters, init, max_iter)
    bound = lower_bound(rows)
    labels = run.labels[inverse]
    return Consensus(
        labels=labels,
        objective=run.costs[-1] * unit,
        n_iter=run.n_iter,
        converged=run.converged,
        confidence=row_confidence(rows, run.labels)[inverse],
        info={
            "lower_bound": None if bound is None else bound * unit,
            "objectives": [cost * unit for cost in run.costs],
            "start": name,
            "forced_at": run.forced,
        },
    )


def _search(ensemble: Ensemble, n_clusters: int | None, init: str, max_iter: int) -> tuple[str, Search]:
    """Starts are tried on all rows, or on a sample where those are many."""
    part = sample(ensemble, n_clusters)
    if part is None:
        return _best_search(ensemble, n_clusters, init, max_iter)
    name, run = _best_search(part, n_clusters, init, max_iter)
    labels = spread(part, run.labels, ensemble)
    if int(labels.max()) + 1 == n_clusters:
        return f"{name}, on a sample", settle(ensemble, labels, max_iter)
    return f"{name}, on a sample", descend(ensemble, labels, n_clusters, max_iter)


def _best_search(ensemble: Ensemble, n_clusters: int | None, init: str, max_iter: int) -> tuple[str, Search]:
    """The search that ends lowest, the first in a tie, and what it started from."""
    members = [completed(ensemble, column(ensemble, q), int(k)) for q, k in enumerate(ensemble.n_clusters)]
    scores = np.array([disagreements(ensemble, labels) for labels in members])
    starts = {}
    if init != "leaders":
        best = int(np.argmin(scores))
        starts[ensemble.member_names[best]] = descend(ensemble, members[best], n_clusters, max_iter)
        for chosen in _lowest(scores, np.flatnonzero(ensemble.n_clusters == n_clusters)):
            starts[f"{ensemble.member_names[chosen]}, its clusters kept"] = settle(ensemble, members[chosen], max_iter)
    if init != "member":
        starts["leaders"] = descend(ensemble, leaders(ensemble), n_clusters, max_iter)
    name = min(starts, key=lambda start: starts[start].costs[-1])
    return name, starts[name]


def _lowest(scores: NDArray[np.float64], places: NDArray[np.intp]) -> list[int]:
    """The first of these places of the lowest score, none where there are none."""
    return [int(places[np.argmin(scores[places])])] if len(places) else []


METHOD = Method(
    solve=correlation,
    title="fewest disagreeing pairs (median partition, local search)",
    reference="doi:10.1137/1.9781611972887.11",
    finds_k=True,
)

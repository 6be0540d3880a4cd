"""Correlation clustering: the partition with which the members disagree on the fewest pairs of objects."""

from __future__ import annotations

import numpy as np

from quorate import _check
from quorate._data.rows import compress
from quorate._types import Consensus, Ensemble, Method
from quorate.solvers.cluster_means import completed
from quorate.solvers.contingency import member_labels
from quorate.solvers.label_space import median
from quorate.solvers.sizes import search_tables
from quorate.solvers.weights import integer_member_weights


def correlation(
    ensemble: Ensemble, n_clusters: int | None, *, rng: np.random.Generator, init: str = "best", max_iter: int = 100
) -> Consensus:
    """Move rows and merge clusters while the number of pairs on which members disagree with the partition falls.

    The search starts from a member, from clusters founded one row at a time, or from both. From each start rows move
    one at a time, then clusters merge, in turn, until neither helps; last, a number of clusters is forced if one was
    given. The search that ends lowest is returned.

    Parameters
    ----------
    ensemble : Ensemble
    n_clusters : int or None
        None, the natural choice here, leaves the number to the objective. A number is exact; see Notes.
    rng : numpy.random.Generator
        Not used.
    init : {"best", "member", "leaders"}
        Where to start: from the member of the fewest disagreements, from clusters founded by rows that no cluster
        attracts yet, or from both, of which the better end is kept ("best").
    max_iter : int
        Sweeps at most; `converged` says whether the search ended by itself.

    Returns
    -------
    Consensus
        `objective` is the number of disagreements, to be minimised: pairs of objects that a member joins and the
        partition separates, or the other way round, summed over members by weight. ``info["lower_bound"]`` is a bound
        that no partition goes below, None on more than 4,096 distinct rows (it takes all pairs of rows);
        ``info["objectives"]`` is the objective at the start and after every step, which rises only at the place
        ``info["forced_at"]``, where a number of clusters was forced (None if it was not); ``info["start"]`` names
        the start.

    Notes
    -----
    This is the median partition under the Mirkin distance [1]_. Two objects attract each other by 2 S - K, where S is
    the weight of the members that join them and K that of the members that know both; the lower bound is the sum over
    pairs of min(S, K - S). The attraction of a row to a cluster is a sum of H entries of a table of counts, so a sweep
    costs O(m H k) for m distinct rows, H members and k clusters, and no matrix over pairs is formed. A row that all
    clusters repel founds a new one, as in the Louvain method. Gains are compared as whole numbers; weights that are
    not multiples of the least one are rounded to 2^-20 of the largest. Equal rows always attract each other, so moving
    them together loses nothing.

    A number of clusters is forced after the free search: the clusters that repel each other least are merged, or the
    rows that lose least get a cluster of their own; then rows move between those clusters. A member with that many
    clusters is tried as a start, too. If many more clusters are asked for than it chooses freely, this objective
    splits off single rows: use another method then.

    On more than 32,768 rows the starts are tried on as many objects at even distances, and the best goes on with all.

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
    rows, inverse = compress(ensemble)
    _, unit = integer_member_weights(rows)
    name, run = _search(rows, n_clusters, init, max_iter)
    bound = median.lower_bound(rows)
    info = {
        "lower_bound": None if bound is None else bound * unit,
        "objectives": [cost * unit for cost in run.costs],
        "start": name,
        "forced_at": run.forced,
    }
    labels = run.labels[inverse]
    return Consensus(
        labels=labels, objective=run.costs[-1] * unit, n_iter=run.n_iter, converged=run.converged, info=info
    )


def _search(ensemble: Ensemble, n_clusters: int | None, init: str, max_iter: int) -> tuple[str, median.Search]:
    """Try the starts on all rows, or on a sample if there are many rows; the best search and what it started from."""
    part = median.evenly_spaced_rows(ensemble, n_clusters)
    if part is None:
        return _best_search(ensemble, n_clusters, init, max_iter)
    name, run = _best_search(part, n_clusters, init, max_iter)
    labels = median.spread(part, run.labels, ensemble)
    if int(labels.max()) + 1 == n_clusters:
        return f"{name}, on a sample", median.settle_rows(ensemble, labels, max_iter)
    return f"{name}, on a sample", median.descend_from(ensemble, labels, n_clusters, max_iter)


def _best_search(ensemble: Ensemble, n_clusters: int | None, init: str, max_iter: int) -> tuple[str, median.Search]:
    """The search that ends lowest, the first in a tie, and what it started from."""
    members = [completed(ensemble, member_labels(ensemble, q), int(k)) for q, k in enumerate(ensemble.n_clusters)]
    scores = np.array([median.disagreements(ensemble, labels) for labels in members])
    starts = {}
    if init != "leaders":
        best = int(np.argmin(scores))
        starts[ensemble.member_names[best]] = median.descend_from(ensemble, members[best], n_clusters, max_iter)
        fitting = np.flatnonzero(ensemble.n_clusters == n_clusters)
        if len(fitting):
            best = int(fitting[np.argmin(scores[fitting])])
            kept = median.settle_rows(ensemble, members[best], max_iter)
            starts[f"{ensemble.member_names[best]}, its clusters kept"] = kept
    if init != "member":
        starts["leaders"] = median.descend_from(ensemble, median.leaders(ensemble), n_clusters, max_iter)
    name = min(starts, key=lambda start: starts[start].costs[-1])
    return name, starts[name]


METHOD = Method(
    solve=correlation,
    title="fewest disagreeing pairs (median partition, local search)",
    reference="doi:10.1137/1.9781611972887.11",
    tables=search_tables,
    finds_k=True,
    weighs=1,
)

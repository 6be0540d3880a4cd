"""Greedy optimisation of the mutual information with all members."""

from __future__ import annotations

import math
import sys
import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._types import Consensus, Ensemble, Method
from quorate.ops.coding import canonical
from quorate.solvers.cluster_means import completed, own_shares
from quorate.solvers.contingency import anmi, member_anmi, member_labels, members_with
from quorate.solvers.label_rows import fill_empty
from quorate.solvers.label_space.climbing import Climb, climb
from quorate.solvers.label_space.lookup import best_of_restarts
from quorate.solvers.label_space.models import euclidean
from quorate.solvers.sizes import label_space

GAIN = 1e-11
"""A labelling is better if its ANMI is higher by more than this, which rounding could not do."""


def greedy(
    ensemble: Ensemble,
    n_clusters: int | None,
    *,
    rng: np.random.Generator,
    init: str = "best",
    max_iter: int = 100,
    tries: int = 0,
    seconds: float | None = None,
    start: NDArray[np.int32] | None = None,
) -> Consensus:
    """Move rows one at a time, each to the cluster that raises the ANMI most, until no move raises it.

    With `tries` or `seconds` the search goes on: the best labelling is perturbed and climbs again, and what is better
    is kept.

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
    tries : int
        How often the best labelling is perturbed, which may raise the ANMI and never lowers it.
    seconds : float, optional
        Stop after this time; without `tries` the search uses all of it. What is found then depends on the speed of
        the machine. Confidence and `evaluate` repeat the whole search, each time within these seconds. Ctrl-C ends
        the search, too, with the best labelling so far.
    start : array, optional
        A label for each row, -1 where there is none, to begin from instead; `consensus` makes it of its own `start`.

    Returns
    -------
    Consensus
        `objective` is the ANMI (geometric), to be maximised; ``info["start"]`` is the name of the member the moves
        began from, "kmeans" or "given labels"; ``info["start_anmi"]`` is its ANMI and ``info["n_moves"]`` how many
        rows moved. With `tries` or `seconds` ``info["tries"]`` is the number of perturbations, ``info["improved"]`` how
        many of them raised the ANMI, and ``info["first_anmi"]`` the ANMI before them.

    Notes
    -----
    The paper starts from a member, sweeps over objects and recomputes; here the contingency tables are kept, so that
    a move costs O(H k) and a sweep O(m H k) for m rows, H members and k clusters. The moves are those of a full
    recomputation, as a test shows. Where we differ: objects with equal rows move together, as one block. A block may
    stay where its first object alone would have moved, and the other way round, so that another optimum than the
    paper's can be reached; equal rows never end up in different clusters, which a sweep over objects does not
    promise. A perturbation dissolves a cluster, whose rows go to clusters at random, and founds another one from the
    rows that a random cluster of a random member and a random cluster of the labelling have in common; or it moves a
    few rows at random. ANMI gains below 1e-11 count as none, ties go to the lowest cluster, and a cluster keeps its
    last row.

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
    _check.integer(tries, "tries", low=0)
    if seconds is not None:
        seconds = _check.fraction(seconds, "seconds", high=1e9)
    if start is not None and n_clusters is not None:
        name, first, k = "given labels", _filled(ensemble, start, n_clusters), n_clusters
    else:
        name, first, k = _start(ensemble, n_clusters, rng, init)
    run = climb(ensemble, first, k, max_iter)
    info = {"start": name, "start_anmi": anmi(ensemble, first, k)}
    if (tries or seconds is not None) and 1 < k < ensemble.n_rows:
        run, searched = _searched(ensemble, run, k, max_iter, rng, tries or sys.maxsize, seconds)
        info |= searched
    labels = canonical(run.labels, k)
    info["n_moves"] = run.n_moves
    objective = anmi(ensemble, labels, k)
    return Consensus(labels=labels, objective=objective, n_iter=run.n_iter, converged=run.converged, info=info)


def _searched(
    ensemble: Ensemble,
    best: Climb,
    k: int,
    max_iter: int,
    rng: np.random.Generator,
    tries: int,
    seconds: float | None,
) -> tuple[Climb, dict[str, Any]]:
    """Perturb the best labelling and climb again, until the tries or the time are over; keep what is better."""
    end = math.inf if seconds is None else time.monotonic() + seconds
    first = value = anmi(ensemble, best.labels, k)
    done = improved = moves = 0
    try:
        while done < tries and time.monotonic() < end:
            done += 1
            run = climb(ensemble, _perturbed(ensemble, best.labels, k, rng), k, max_iter)
            found = anmi(ensemble, run.labels, k)
            moves += run.n_moves
            if found > value + GAIN:
                best, value, improved = run, found, improved + 1
    except KeyboardInterrupt:
        words = f"the search was interrupted; this is the best labelling of {done:,} tries."
        warnings.warn(words, UserWarning, stacklevel=2)
    return best, {"tries": done, "improved": improved, "first_anmi": first}


def _perturbed(ensemble: Ensemble, labels: NDArray[np.int32], k: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Dissolve a cluster and found another one in its place, or move a few rows at random; no cluster is lost."""
    changed = labels.copy()
    if k > 2 and rng.random() < 0.5:
        gone = int(rng.integers(k))
        inside = np.flatnonzero(labels == gone)
        others = np.delete(np.arange(k), gone)
        changed[inside] = rng.choice(others, size=len(inside))
        row, member = rng.integers(ensemble.n_rows), rng.integers(ensemble.n_members)
        shared = (changed == changed[row]) & (ensemble.labels[:, member] == ensemble.labels[row, member])
        changed[shared] = gone
    else:
        n_moved = max(1, int(rng.integers(1, max(2, ensemble.n_rows // 8))))
        moved = rng.choice(ensemble.n_rows, size=min(n_moved, ensemble.n_rows), replace=False)
        changed[moved] = rng.integers(k, size=len(moved))
    sizes = np.bincount(changed, minlength=k)
    for empty in np.flatnonzero(sizes == 0):
        row = rng.choice(np.flatnonzero(sizes[changed] > 1))
        sizes[changed[row]] -= 1
        changed[row] = empty
    return changed


def _filled(ensemble: Ensemble, labels: NDArray[np.int32], k: int) -> NDArray[np.int32]:
    """Given labels, with a cluster for each row and a row for each cluster."""
    full = completed(ensemble, labels, k).copy()
    fill_empty(full, ensemble.counts * (1.0 - own_shares(ensemble, full)), k)
    return full


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
    warm=True,
)

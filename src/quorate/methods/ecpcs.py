"""ECPCS: base clusters compared by the random walks that start from them, then grouped, or used to enrich pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.compression import compress
from quorate._types import Consensus, Ensemble, FloatArray, Method
from quorate.ops.coding import canonical
from quorate.solvers.confidence import row_confidence
from quorate.solvers.graphs.meta_clusters import winners, winning_share
from quorate.solvers.graphs.row_partition import fill_clusters, forced_partition
from quorate.solvers.labellings import by_member_name, in_content_order
from quorate.solvers.linkage.dendrogram import cut, expand_tree
from quorate.solvers.linkage.enhanced import enhanced_co_association
from quorate.solvers.linkage.trees import dense_tree
from quorate.solvers.spectral.euclidean_kmeans import euclidean_kmeans
from quorate.solvers.spectral.propagation import leading_directions, propagated_similarity


def ecpcs(
    ensemble: Ensemble,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    variant: str = "mc",
    steps: int = 20,
    n_init: int = 10,
) -> Consensus:
    """Group base clusters that random walks find alike into meta-clusters, which then compete for each row.

    Parameters
    ----------
    ensemble : Ensemble
    n_clusters : int
    rng : numpy.random.Generator
        For the seeds of k-means and for ties of rows between meta-clusters.
    variant : {"mc", "hc"}
        "mc": meta-clusters, in memory linear in rows. "hc": average link on the co-association in which clusters that
        are apart count by their similarity; a matrix over rows, nothing random.
    steps : int
        Length of the walks.
    n_init : int
        Seeded runs of k-means that group the clusters ("mc").

    Returns
    -------
    Consensus
        "mc": `objective` is the inertia of the clusters in their embedding, to be minimised; `confidence` the share of
        a row's known labels in the meta-cluster that won it; ``info["meta_clusters"]`` the meta-cluster of each cluster
        of each member, by name, None where there was nothing to choose; ``info["n_repaired"]`` meta-clusters that won
        no row and were given one. "hc": `tree` and `objective` as in `eac`.

    Notes
    -----
    Walks step between clusters by their Jaccard index; the places a walk may be in after each step are its trajectory,
    and clusters are as similar as the cosine of their trajectories [1]_. Meta-clusters are those of the normalised cut
    of that similarity by its leading eigenvectors, as in the paper. Where we differ: a walk may stay, a cluster having
    Jaccard index 1 with itself. In the paper it must leave, so that with two members walks alternate between them, and
    clusters that hold the same objects are never found alike. Member weights multiply the steps towards a member's
    clusters and its voice for rows. Exactly n_clusters connected components are returned as they are.
    "mc": O(m H^2 + steps d^3) for m distinct rows, d clusters; memory O(m H + d^2).

    References
    ----------
    .. [1] D. Huang, C.-D. Wang, H. Peng, J. Lai, C.-K. Kwoh, "Enhanced ensemble clustering via fast propagation of
       cluster-wise similarities", IEEE Transactions on Systems, Man, and Cybernetics: Systems, 2021,
       doi:10.1109/TSMC.2018.2876202.

    Examples
    --------
    >>> from quorate import consensus
    >>> labels = [[0, 0, 1, 1, 2], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]]
    >>> consensus(labels, 2, method="ecpcs", random_state=0).labels.tolist()
    [0, 0, 1, 1, 1]
    """
    variant = _check.choice(variant, "variant", ("mc", "hc"))
    steps = _check.integer(steps, "steps", low=1)
    n_init = _check.integer(n_init, "n_init", low=1)
    ordered = in_content_order(ensemble)
    if variant == "hc":
        return _agglomerated(ordered, n_clusters, steps)
    found = forced_partition(ordered, n_clusters)
    if found is not None:
        return Consensus(
            labels=canonical(found, n_clusters),
            objective=0.0,
            confidence=row_confidence(ordered, found),
            info={"meta_clusters": None, "n_repaired": 0},
        )
    groups, inertia = _meta_clusters(ordered, n_clusters, steps, n_init, rng)
    winner = winners(ordered, groups, n_clusters, rng)
    n_repaired = fill_clusters(ordered, winner, n_clusters)
    labels = canonical(winner, n_clusters)
    numbers = np.empty(n_clusters, dtype=np.int32)
    numbers[winner] = labels
    groups = numbers[groups]
    return Consensus(
        labels=labels,
        objective=inertia,
        confidence=winning_share(ordered, groups, labels),
        info={"meta_clusters": by_member_name(ordered, groups, ensemble.member_names), "n_repaired": n_repaired},
    )


def _meta_clusters(
    ensemble: Ensemble, n_clusters: int, steps: int, n_init: int, rng: np.random.Generator
) -> tuple[NDArray[np.int32], float]:
    """The group of every base cluster, and the inertia of the groups."""
    n_base = int(ensemble.offsets[-1])
    if n_clusters > n_base:
        raise ValueError(
            f"n_clusters = {n_clusters:,} is more than the {n_base:,} clusters of all members, which ecpcs groups; "
            f"ask for fewer, or use another method."
        )
    points = leading_directions(propagated_similarity(ensemble, steps), n_clusters)
    run = euclidean_kmeans(points, np.ones(n_base, dtype=np.int64), n_clusters, rng, n_init=n_init, max_iter=300)
    return run.labels.astype(np.int32), run.inertia


def _agglomerated(ensemble: Ensemble, n_clusters: int, steps: int) -> Consensus:
    rows, inverse = compress(ensemble)
    matrix, scale = enhanced_co_association(rows, "ensemble", _within_members(rows, steps))
    tree = dense_tree(matrix, scale, rows.counts, "average")
    labels = cut(tree, n_clusters)[inverse]
    if rows.n_rows < ensemble.n_rows:
        tree = expand_tree(tree, inverse, ensemble.counts)
    return Consensus(
        labels=labels,
        objective=float(tree[-n_clusters, 2]) if n_clusters <= len(tree) else 0.0,
        confidence=row_confidence(ensemble, labels),
        tree=tree,
    )


def _within_members(ensemble: Ensemble, steps: int) -> list[FloatArray]:
    similarity = propagated_similarity(ensemble, steps)
    edges = zip(ensemble.offsets[:-1], ensemble.offsets[1:], strict=True)
    return [similarity[start:stop, start:stop] for start, stop in edges]


def memory_for(ensemble: Ensemble, options: Mapping[str, Any]) -> int:
    """Bytes beyond the linear: a few matrices over base clusters, and with "hc" one over rows."""
    over_rows = 8 * ensemble.n_rows**2 if options.get("variant") == "hc" else 0
    return 40 * int(ensemble.offsets[-1]) ** 2 + over_rows


METHOD = Method(
    solve=ecpcs,
    title="clusters alike by random walks, grouped; the groups compete for objects",
    reference="doi:10.1109/TSMC.2018.2876202",
    stochastic=True,
    memory_for=memory_for,
    instead="use variant='mc', or members of fewer clusters,",
)

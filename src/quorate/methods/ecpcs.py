"""ECPCS: base clusters compared by the random walks that start from them, then grouped, or used to enrich pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.rows import compress
from quorate._types import Consensus, Ensemble, Method, MethodOptions
from quorate.solvers.graphs.row_partition import meta_cluster_consensus
from quorate.solvers.linkage.co_association import enhanced_co_association
from quorate.solvers.linkage.dendrogram import tree_consensus
from quorate.solvers.linkage.trees import dense_tree
from quorate.solvers.sizes import few_tables
from quorate.solvers.spectral.embedding import euclidean_kmeans, leading_directions, propagated_similarity


def ecpcs(
    ensemble: Ensemble,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    variant: str = "mc",
    steps: int = 20,
    n_init: int = 10,
) -> Consensus:
    """Group base clusters whose random walks visit the same clusters; the groups then compete for each row.

    Parameters
    ----------
    ensemble : Ensemble
    n_clusters : int
    rng : numpy.random.Generator
        For the seeds of k-means and for ties of rows between meta-clusters.
    variant : {"mc", "hc"}
        "mc": meta-clusters, in memory linear in rows. "hc": average link on a co-association in which two clusters of
        one member count by their similarity; it takes a matrix over rows, and nothing in it is random.
    steps : int
        Length of the walks.
    n_init : int
        Seeded runs of k-means that group the clusters ("mc").

    Returns
    -------
    Consensus
        "mc": `objective` is the inertia of the clusters in their embedding, to be minimised;
        ``info["method_confidence"]`` is the share of a row's known labels in the meta-cluster that won it;
        ``info["meta_clusters"]`` holds the meta-cluster of each cluster of each member, by name, None if there was
        nothing to choose; ``info["n_repaired"]`` counts meta-clusters that won no row and were given one. "hc": `tree`
        and `objective` as in `eac`.

    Notes
    -----
    Walks step between clusters by their Jaccard index; the places a walk may be in after each step are its trajectory,
    and the similarity of two clusters is the cosine of their trajectories [1]_. Meta-clusters are those of the
    normalised cut of that similarity by its leading eigenvectors, as in the paper. Where we differ: a walk may stay,
    because a cluster has Jaccard index 1 with itself. In the paper it must leave, so that with two members walks
    alternate between them, and clusters that hold the same objects never become similar. Member weights multiply the
    steps towards a member's clusters and its voice for rows. Exactly n_clusters connected components are returned as
    they are. "mc": O(m H^2 + steps d^3) for m distinct rows, d clusters; memory O(m H + d^2).

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
    if variant == "hc":
        return _agglomerated(ensemble, n_clusters, steps)

    def group() -> tuple[NDArray[np.int32], float]:
        points = leading_directions(propagated_similarity(ensemble, steps), n_clusters)
        once = np.ones(len(points), dtype=np.int64)
        run = euclidean_kmeans(points, once, n_clusters, rng, n_init=n_init, max_iter=300)
        return run.labels.astype(np.int32), run.inertia

    return meta_cluster_consensus(ensemble, n_clusters, rng, "ecpcs", group)


def _agglomerated(ensemble: Ensemble, n_clusters: int, steps: int) -> Consensus:
    rows, inverse = compress(ensemble)
    similarity = propagated_similarity(rows, steps)
    edges = zip(rows.offsets[:-1], rows.offsets[1:], strict=True)
    within_members = [similarity[start:stop, start:stop] for start, stop in edges]
    matrix, scale = enhanced_co_association(rows, "ensemble", within_members)
    return tree_consensus(ensemble, inverse, dense_tree(matrix, scale, rows.counts, "average"), n_clusters)


def _bytes_needed(ensemble: Ensemble, options: MethodOptions) -> int:
    """A few matrices over base clusters, and with "hc" one over rows."""
    over_rows = 8 * ensemble.n_rows**2 if options.get("variant") == "hc" else 0
    return 40 * int(ensemble.offsets[-1]) ** 2 + over_rows


METHOD = Method(
    solve=ecpcs,
    title="clusters grouped by random walks; the groups compete for objects",
    reference="doi:10.1109/TSMC.2018.2876202",
    tables=few_tables,
    stochastic=True,
    memory_for=_bytes_needed,
    instead="use variant='mc', or members of fewer clusters,",
    by_member=("meta_clusters",),
)

"""Enriched cut: spectral cut in which shared clusters count by their certainty, and similar clusters count as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quorate import _check
from quorate._types import Consensus, Ensemble, Method
from quorate.solvers.enriched_cut import enriched_embedding, member_similarities
from quorate.solvers.labelling import by_member_name, in_content_order
from quorate.solvers.local_weights import cluster_certainty
from quorate.solvers.propagation import propagated_similarity
from quorate.solvers.transfer_cut import partition_points


def enriched(
    ensemble: Ensemble,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    theta: float = 0.4,
    share: float = 0.5,
    steps: int = 20,
    n_init: int = 10,
) -> Consensus:
    """Cut the graph of objects whose similarity is the mean of two: locally weighted, and propagated by random walks.

    Two objects in the same cluster of a member are similar by the certainty of that cluster (as in `lwea`). Two
    objects in the same or in different clusters of a member are similar by how alike random walks from these
    clusters are (as in `ecpcs`). The method adds the two up over the members and cuts the graph of all objects by its
    normalised cut, without forming a matrix over objects.

    Parameters
    ----------
    ensemble : Ensemble
    n_clusters : int
    rng : numpy.random.Generator
        For the seeds of k-means in the embedding.
    theta : float
        How much uncertainty counts: small values leave only the surest clusters.
    share : float
        Share of the propagated similarity in the mean: 0 leaves the local weights alone, 1 the random walks.
    steps : int
        Length of the walks.
    n_init : int
        Seeded runs of k-means in the embedding.

    Returns
    -------
    Consensus
        `objective` is the inertia in the embedding, to be minimised. ``info["certainty"]`` holds for each member, by
        name, the certainty of its clusters; ``info["eigenvalues"]`` are those of the normalised graph, the largest
        (1) first; a gap after the k-th speaks for k clusters.

    See Also
    --------
    lwgp, lwea : local weights alone.
    ecpcs : propagated similarities alone.

    Notes
    -----
    With B the rows' memberships in the d base clusters and W the similarity of clusters of the same member, the
    similarity of rows is B W B'. Its normalised cut follows from the eigenvectors of R B' D^-1 B R, a matrix over
    clusters, where R is the square root of W and D holds the degrees of the rows. W is similarity within members only,
    so that R is computed for one member at a time. The certainties are those of [1]_, the walks those of [2]_ (where a
    walk may stay, see `ecpcs`); the mean of the two and its cut are ours. Member weights multiply a member's
    similarities and the steps of walks towards its clusters.

    O(m H^2 + d^3) time for m distinct rows and H members; memory O(m (H + k) + d^2).

    References
    ----------
    .. [1] D. Huang, C.-D. Wang, J.-H. Lai, "Locally weighted ensemble clustering", IEEE Transactions on Cybernetics,
       2018, doi:10.1109/TCYB.2017.2702343.
    .. [2] D. Huang, C.-D. Wang, H. Peng, J. Lai, C.-K. Kwoh, "Enhanced ensemble clustering via fast propagation of
       cluster-wise similarities", IEEE Transactions on Systems, Man, and Cybernetics: Systems, 2021,
       doi:10.1109/TSMC.2018.2876202.

    Examples
    --------
    >>> from quorate import consensus
    >>> labels = [[0, 0, 1, 1, 2], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]]
    >>> consensus(labels, 2, method="enriched", random_state=0).labels.tolist()
    [0, 0, 1, 1, 1]
    """
    theta = _check.fraction(theta, "theta", low=1e-3, high=1e6)
    share = _check.fraction(share, "share")
    steps = _check.integer(steps, "steps", low=1)
    n_init = _check.integer(n_init, "n_init", low=1)
    ordered = in_content_order(ensemble)
    certainty = cluster_certainty(ordered, theta)
    walks = propagated_similarity(ordered, steps)
    similarities = member_similarities(ordered, certainty, walks, share)
    points, values = enriched_embedding(ordered, similarities, n_clusters)
    told = {"eigenvalues": values, "certainty": by_member_name(ordered, certainty, ensemble.member_names)}
    return partition_points(ordered, points, n_clusters, rng, n_init=n_init, max_iter=300, told=told)


def memory_for(ensemble: Ensemble, options: Mapping[str, Any]) -> int:
    """Bytes beyond the linear: a few matrices over base clusters."""
    return 40 * int(ensemble.offsets[-1]) ** 2


METHOD = Method(
    solve=enriched,
    title="spectral cut of local weights averaged with propagated similarities",
    reference="doi:10.1109/TSMC.2018.2876202",
    stochastic=True,
    memory_for=memory_for,
    instead="use lwgp or kmeans, or members of fewer clusters,",
)

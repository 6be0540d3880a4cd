"""LWGP: spectral cut of the graph of rows and base clusters, weighted by how sure the ensemble is of each cluster."""

from __future__ import annotations

import numpy as np

from quorate import _check
from quorate._types import Consensus, Ensemble, Method
from quorate.solvers.local_weights import cluster_certainty, edge_weights
from quorate.solvers.members import by_member_name
from quorate.solvers.sizes import weighted_cut_of_clusters
from quorate.solvers.spectral.transfer_cut import transfer_cut


def lwgp(
    ensemble: Ensemble,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    theta: float = 0.4,
    n_init: int = 10,
    max_iter: int = 300,
) -> Consensus:
    """Cut the graph of objects and base clusters whose edges weigh the certainty of the cluster, exp(-E / theta).

    Parameters
    ----------
    ensemble : Ensemble
    n_clusters : int
    rng : numpy.random.Generator
    theta : float
        How much uncertainty counts: small values leave only the surest clusters, with large ones this is `transfer`.
    n_init, max_iter : int
        Seeded runs of k-means in the embedding, and sweeps at most of each.

    Returns
    -------
    Consensus
        `objective` is the inertia in the embedding, to be minimised. ``info["certainty"]`` holds for each member, by
        name, the certainty of its clusters; ``info["eigenvalues"]`` are those of the graph folded onto the clusters.

    Notes
    -----
    Certainties, also with missing labels and member weights, are those of `lwea`; the cut is that of `transfer`, on
    edges of member weight times certainty [1]_. O(m H^2 + d^3) for m distinct rows, H members and d clusters; memory
    O(m H + d^2).

    References
    ----------
    .. [1] D. Huang, C.-D. Wang, J.-H. Lai, "Locally weighted ensemble clustering", IEEE Transactions on Cybernetics,
       2018, doi:10.1109/TCYB.2017.2702343.

    Examples
    --------
    >>> from quorate import consensus
    >>> labels = [[0, 0, 1, 1, 2], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]]
    >>> consensus(labels, 2, method="lwgp", random_state=0).labels.tolist()
    [0, 0, 1, 1, 1]
    """
    theta = _check.fraction(theta, "theta", low=1e-3, high=1e6)
    certainty = cluster_certainty(ensemble, theta)
    info = {"certainty": by_member_name(ensemble, certainty)}
    weights = edge_weights(ensemble, certainty)
    return transfer_cut(ensemble, weights, n_clusters, rng, n_init=n_init, max_iter=max_iter, info=info)


METHOD = Method(
    solve=lwgp,
    title="spectral cut of the graph of objects and locally weighted clusters",
    reference="doi:10.1109/TCYB.2017.2702343",
    tables=weighted_cut_of_clusters,
    stochastic=True,
    in_parts=True,
    by_member=("certainty",),
)

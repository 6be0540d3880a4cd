"""Spectral clustering of the co-association matrix, from the singular vectors of the one-hot rows."""

from __future__ import annotations

import numpy as np

from quorate import _check
from quorate._types import Consensus, Ensemble, Method
from quorate.solvers.members import LAST_DIGITS
from quorate.solvers.sizes import embedding
from quorate.solvers.spectral.embedding import point_consensus, spectral_embedding


def spectral(
    ensemble: Ensemble,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    n_components: int | None = None,
    n_init: int = 10,
    max_iter: int = 300,
) -> Consensus:
    """Cluster the rows by k-means in the space of the leading eigenvectors of the normalised co-association.

    Parameters
    ----------
    ensemble : Ensemble
    n_clusters : int
    rng : numpy.random.Generator
    n_components : int, optional
        Number of eigenvectors; as many as clusters by default.
    n_init, max_iter : int
        Seeded runs of k-means, and sweeps at most of each.

    Returns
    -------
    Consensus
        `objective` is the inertia in the embedding, to be minimised. ``info["singular_values"]`` are the leading ones,
        in descending order; a gap after the k-th speaks for k clusters.

    Notes
    -----
    The matrix D^(-1/2) A D^(-1/2) is M M' for M = D^(-1/2) times the one-hot rows, so its eigenvectors are the left
    singular vectors of a sparse matrix with H entries per row, and no matrix over pairs of rows is formed. Up to 1,500
    clusters of members they follow from the eigenvectors of M' M, a matrix over these d clusters, and are sums over
    the clusters of a row, made again whenever they are needed: O(m H^2 + d^3), O(m H + d^2) memory. With more clusters
    Lanczos iterations take O(m (H + k)) memory. Rows of the embedding are scaled to length 1 [1]_ and weigh as much as
    they count objects.
    Deriving a feature space from the co-association is the other way to the final partition that [2]_ names.

    References
    ----------
    .. [1] U. von Luxburg, "A tutorial on spectral clustering", Statistics and Computing, 2007.
    .. [2] A. Lourenco, A. Fred and A. K. Jain, "On the scalability of evidence accumulation clustering", ICPR, 2010.

    Examples
    --------
    >>> from quorate import consensus
    >>> labels = [[0, 0, 1, 1, 2], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]]
    >>> consensus(labels, 2, method="spectral", random_state=0).labels.tolist()
    [0, 0, 1, 1, 1]
    """
    wanted = n_clusters if n_components is None else _check.integer(n_components, "n_components", low=1)
    points, values = spectral_embedding(ensemble, wanted, rng)
    info = {"singular_values": values}
    return point_consensus(ensemble, points, n_clusters, rng, n_init=n_init, max_iter=max_iter, info=info)


METHOD = Method(
    solve=spectral,
    title="spectral clustering of the co-association, without the matrix",
    reference="doi:10.1007/s11222-007-9033-z",
    tables=embedding,
    stochastic=True,
    own_order=LAST_DIGITS,
    in_parts=True,
)

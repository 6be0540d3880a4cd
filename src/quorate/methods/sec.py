"""Spectral ensemble clustering: the normalized cut of the co-association graph as a weighted k-means."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate._types import Consensus, Ensemble, Method
from quorate.solvers.label_space.lookup import as_consensus, best_of_restarts
from quorate.solvers.label_space.models import spectral_model
from quorate.solvers.members import WHOLE_SUMS
from quorate.solvers.sizes import label_space
from quorate.solvers.weights import with_relative_weights


def sec(
    ensemble: Ensemble,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    n_init: int = 10,
    max_iter: int = 300,
    start: NDArray[np.int32] | None = None,
) -> Consensus:
    """Cluster rows scaled by how much they co-occur with everything.

    Parameters
    ----------
    ensemble, n_clusters, rng, n_init, max_iter, start
        As in `kmeans`.

    Returns
    -------
    Consensus
        `objective` is the weighted inertia, to be minimised: the normalized cut plus a constant of the ensemble.

    Notes
    -----
    Rows h_i / w_i with weight w_i, where w_i adds the sizes of i's base clusters: the weighted k-means that has the
    same optimum as the normalized cut of the co-association graph [1]_. Sums are exact integers. A missing label is a
    block of zeros and adds no size. Member weights count in the distances and in w_i, so that a weight of 2 is the same
    as the clustering twice; weights that are no multiples of the least one are rounded to 2^-20 of the largest in w_i.
    Restarts and cost are those of `kmeans`.

    References
    ----------
    .. [1] H. Liu, T. Liu, J. Wu, D. Tao, Y. Fu, "Spectral Ensemble Clustering", KDD 2015, doi:10.1145/2783258.2783287.

    Examples
    --------
    >>> from quorate import consensus
    >>> members = [[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1], [1, 1, 0, 0, 2, 2]]
    >>> consensus(members, 3, method="sec", random_state=0).labels.tolist()
    [0, 0, 1, 1, 2, 2]
    """
    light = with_relative_weights(ensemble)
    run = best_of_restarts(light, spectral_model, n_clusters, rng, n_init=n_init, max_iter=max_iter, start=start)
    return as_consensus(run)


METHOD = Method(
    solve=sec,
    title="spectral ensemble clustering (weighted k-means)",
    reference="doi:10.1145/2783258.2783287",
    tables=label_space,
    stochastic=True,
    warm=True,
    in_parts=True,
    own_order=WHOLE_SUMS,
)

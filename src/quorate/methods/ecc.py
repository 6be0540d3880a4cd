"""Entropy-based consensus clustering: Kullback-Leibler k-means on label rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._types import Consensus, Ensemble, Method
from quorate.solvers.label_space.lookup import Model, restarted
from quorate.solvers.label_space.models import additive, utility_gain
from quorate.solvers.sizes import label_space


def ecc(
    ensemble: Ensemble,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    smoothing: float = 0.01,
    n_init: int = 10,
    max_iter: int = 300,
    start: NDArray[np.int32] | None = None,
) -> Consensus:
    """Cluster rows by the divergence of their labels from the shares of labels in the cluster.

    Parameters
    ----------
    ensemble, n_clusters, rng, n_init, max_iter, start
        As in `kmeans`.
    smoothing : float
        Labels that every base cluster is given for free in every cluster, so that no share is zero.

    Returns
    -------
    Consensus
        `objective` is the divergence summed over objects and members, smoothed, up to a constant; to be minimised.

    Notes
    -----
    The entropy utility of `kcc`: a known label costs minus the logarithm of its share in the cluster [1]_. Shares are
    taken among the objects a member knows, so a missing label says nothing. Restarts and cost are those of `kmeans`.

    References
    ----------
    .. [1] H. Liu, R. Zhao, H. Fang, F. Cheng, Y. Fu, Y.-Y. Liu, "Entropy-based consensus clustering for patient
       stratification", Bioinformatics 33, 2017, doi:10.1093/bioinformatics/btx167.

    Examples
    --------
    >>> from quorate import consensus
    >>> members = [[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1], [1, 1, 0, 0, 2, 2]]
    >>> consensus(members, 3, method="ecc", random_state=0).labels.tolist()
    [0, 0, 1, 1, 2, 2]
    """
    smoothing = _check.fraction(smoothing, "smoothing", low=1e-9, high=100.0)

    def model(rows: Ensemble) -> Model:
        gain = utility_gain(rows, "entropy", power=2.0, smoothing=smoothing, normalised=False)
        return additive(rows, gain, prior=smoothing)

    return restarted(ensemble, model, n_clusters, rng, n_init, max_iter, start)


METHOD = Method(
    solve=ecc,
    title="entropy-based consensus clustering (KL k-means)",
    reference="doi:10.1093/bioinformatics/btx167",
    tables=label_space,
    stochastic=True,
    warm=True,
    in_parts=True,
    weighs=1,
)

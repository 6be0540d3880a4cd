"""Entropy-based consensus clustering: Kullback-Leibler k-means on label rows."""

from __future__ import annotations

import numpy as np

from quorate import _check
from quorate._types import Consensus, Ensemble, Method
from quorate.solvers.label_space.lookup import Model
from quorate.solvers.label_space.models import additive, utility_gain
from quorate.solvers.label_space.restarts import restarted


def ecc(
    ensemble: Ensemble,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    smoothing: float = 0.01,
    n_init: int = 10,
    max_iter: int = 300,
) -> Consensus:
    """Cluster rows by the divergence of their labels from the cluster's shares.

    Parameters
    ----------
    ensemble : Ensemble
    n_clusters : int
    rng : numpy.random.Generator
    smoothing : float
        Labels every base cluster is given for free in every cluster, so that no share is zero.
    n_init, max_iter : int
        Seeded runs, of which the one of the least cost wins, and sweeps of each at most.

    Returns
    -------
    Consensus
        `objective` is the divergence summed over objects and members, smoothed, up to a constant; to be minimised.

    Notes
    -----
    The entropy utility of the KCC family: a known label costs minus the logarithm of its share in the cluster
    [1]_. Shares are taken among the objects a member knows, so a missing label says nothing. Tables of logarithms
    are kept as integers in units of 2^-36, which makes sums independent of any order.
    O(m H k) a sweep for m rows. Seeds are greedy k-means++ rows; on more than 32,768 rows the restarts run on a
    sample of objects, and the best is finished on all rows.

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

    return restarted(ensemble, model, n_clusters, rng, n_init, max_iter)


METHOD = Method(
    solve=ecc,
    title="entropy-based consensus clustering (KL k-means)",
    reference="doi:10.1093/bioinformatics/btx167",
    stochastic=True,
)

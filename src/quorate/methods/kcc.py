"""k-means-based consensus clustering: one loop for a family of utilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._types import Consensus, Ensemble, Method
from quorate.solvers.label_space.lookup import Model, restarted
from quorate.solvers.label_space.models import additive, utility_gain
from quorate.solvers.sizes import label_space

UTILITIES = ("category", "entropy", "cosine", "l5", "l8")
SMOOTHING = 0.01


def kcc(
    ensemble: Ensemble,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    utility: str = "category",
    normalised: bool = False,
    n_init: int = 10,
    max_iter: int = 300,
    start: NDArray[np.int32] | None = None,
) -> Consensus:
    """Maximise a utility summed over the members, by the k-means that belongs to it.

    Parameters
    ----------
    ensemble, n_clusters, rng, n_init, max_iter, start
        As in `kmeans`.
    utility : {"category", "entropy", "cosine", "l5", "l8"}
        What agreement with a member is worth: the convex function of a cluster's label shares it is built on.
    normalised : bool
        Divide each member's utility by that of its own frequencies, so that members of many clusters do not dominate.

    Returns
    -------
    Consensus
        `objective` is the divergence from the clusters' means, summed, up to a constant; to be minimised.

    Notes
    -----
    With m the shares of a member's labels in a cluster, a known label f costs ``1 - 2 m_f + |m|^2`` under the category
    utility, ``-log m_f`` under entropy, ``1 - m_f/|m|`` under cosine and ``1 - (m_f/|m|_p)^(p-1)`` under Lp norms [1]_.
    Shares are taken among the objects a member knows, which is how the paper treats incomplete members.
    Entropy is smoothed by 0.01; `ecc` has that as an option. Restarts and cost are those of `kmeans`.

    References
    ----------
    .. [1] J. Wu, H. Liu, H. Xiong, J. Cao, J. Chen, "K-Means-Based Consensus Clustering: A Unified View", IEEE TKDE 27,
       2015, doi:10.1109/TKDE.2014.2316512.

    Examples
    --------
    >>> from quorate import consensus
    >>> members = [[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1], [1, 1, 0, 0, 2, 2]]
    >>> consensus(members, 3, method="kcc", random_state=0).labels.tolist()
    [0, 0, 1, 1, 2, 2]
    """
    _check.choice(utility, "utility", UTILITIES)
    normalised = _check.choice(normalised, "normalised", (False, True))
    prior = SMOOTHING if utility == "entropy" else 0.0
    kind, power = ("lp", float(utility[1:])) if utility.startswith("l") else (utility, 2.0)

    def model(rows: Ensemble) -> Model:
        gain = utility_gain(rows, kind, power=power, smoothing=SMOOTHING, normalised=normalised)
        return additive(rows, gain, prior=prior)

    return restarted(ensemble, model, n_clusters, rng, n_init, max_iter, start)


METHOD = Method(
    solve=kcc,
    title="k-means-based consensus clustering (five utilities)",
    reference="doi:10.1109/TKDE.2014.2316512",
    tables=label_space,
    stochastic=True,
    warm=True,
    in_parts=True,
    weighs=1,
)

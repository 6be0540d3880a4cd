"""Quadratic mutual information: k-means on label rows centred by the frequencies of the base clusters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from quorate._types import Consensus, Ensemble, Method
from quorate.solvers.label_space.lookup import restarted
from quorate.solvers.label_space.models import centred
from quorate.solvers.sizes import label_space
from quorate.solvers.weights import common_factor, without_common_factor


def qmi(
    ensemble: Ensemble,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    n_init: int = 10,
    max_iter: int = 300,
    start: NDArray[np.int32] | None = None,
) -> Consensus:
    """Maximise the quadratic mutual information with the members.

    Parameters
    ----------
    ensemble, n_clusters, rng, n_init, max_iter, start
        As in `kmeans`.

    Returns
    -------
    Consensus
        `objective` is the inertia of the centred rows, to be minimised.

    Notes
    -----
    Centring moves all rows alike, so without missing labels this is `kmeans`, as the paper shows [1]_. With missing
    labels it differs: an unknown label stands for the member's average object, not for none. Restarts and cost are
    those of `kmeans`.

    References
    ----------
    .. [1] A. Topchy, A. K. Jain, W. Punch, "Combining Multiple Weak Clusterings", ICDM 2003,
       doi:10.1109/ICDM.2003.1250937.

    Examples
    --------
    >>> from quorate import consensus
    >>> members = [[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1], [1, 1, 0, 0, 2, 2]]
    >>> consensus(members, 3, method="qmi", random_state=0).labels.tolist()
    [0, 0, 1, 1, 2, 2]
    """
    # the cost is in proportion to counts and weights, which round differently with a common factor
    light = without_common_factor(ensemble)
    result = restarted(light, centred, n_clusters, rng, n_init, max_iter, start)
    return replace(result, objective=result.objective * common_factor(ensemble))


METHOD = Method(
    solve=qmi,
    title="quadratic mutual information (centred k-means)",
    reference="doi:10.1109/ICDM.2003.1250937",
    tables=label_space,
    stochastic=True,
    warm=True,
    in_parts=True,
    weighs=1,
)

"""k-modes on label rows: each cluster is described by its most frequent label in every member."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate._types import Consensus, Ensemble, Method
from quorate.solvers.label_space.lookup import restarted
from quorate.solvers.label_space.models import modes
from quorate.solvers.members import WHOLE_SUMS
from quorate.solvers.sizes import label_space


def kmodes(
    ensemble: Ensemble,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    n_init: int = 10,
    max_iter: int = 300,
    start: NDArray[np.int32] | None = None,
) -> Consensus:
    """Cluster rows by the number of labels that differ from the cluster's modes.

    Parameters
    ----------
    ensemble, n_clusters, rng, n_init, max_iter, start
        As in `kmeans`.

    Returns
    -------
    Consensus
        `objective` is the weighted number of known labels that differ from the mode, to be minimised.

    Notes
    -----
    A tie between modes goes to the base cluster that appears first in the data. A missing label agrees with nothing
    and differs from nothing. Restarts and cost are those of `kmeans`.

    References
    ----------
    .. [1] Z. Huang, "Extensions to the k-Means Algorithm for Clustering Large Data Sets with Categorical Values",
       Data Mining and Knowledge Discovery 2, 1998, doi:10.1023/A:1009769707641.

    Examples
    --------
    >>> from quorate import consensus
    >>> members = [[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1], [1, 1, 0, 0, 2, 2]]
    >>> consensus(members, 3, method="kmodes", random_state=0).labels.tolist()
    [0, 0, 1, 1, 2, 2]
    """
    return restarted(ensemble, modes, n_clusters, rng, n_init, max_iter, start)


METHOD = Method(
    solve=kmodes,
    title="k-modes on label rows",
    reference="doi:10.1023/A:1009769707641",
    tables=label_space,
    stochastic=True,
    warm=True,
    in_parts=True,
    own_order=WHOLE_SUMS,
    weighs=1,
)

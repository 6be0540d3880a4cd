"""k-means on label rows: the partition of the highest density, in linear time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._types import AnyEnsemble, Consensus, Method
from quorate.solvers.label_space.lookup import as_consensus, means_rule, restarted, row_sums, sweep
from quorate.solvers.label_space.models import euclidean
from quorate.solvers.members import WHOLE_SUMS
from quorate.solvers.sizes import label_space


def kmeans(
    ensemble: AnyEnsemble,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    init: str | NDArray[Any] = "k-means++",
    n_init: int = 10,
    max_iter: int = 300,
    start: NDArray[np.int32] | None = None,
) -> Consensus:
    """Cluster the one-hot label rows, or rows of memberships, by k-means.

    Parameters
    ----------
    ensemble : Ensemble or SoftEnsemble
    n_clusters : int
    rng : numpy.random.Generator
    init : "k-means++" or array of n_clusters row numbers
        Greedy k-means++ seeds, or the rows to start from (one run then; `n_init` does not apply).
    n_init : int
        Number of seeded runs; the one of the least inertia wins.
    max_iter : int
        Sweeps at most; `converged` says whether the run stopped by itself.
    start : array, optional
        A label for each row, -1 where there is none: one run begins at the means of these clusters. `consensus` makes
        it of its own option `start`.

    Returns
    -------
    Consensus
        `objective` is the inertia: the sum over objects of the squared distance to their mean, to be minimised.

    Notes
    -----
    Minimising the inertia maximises the density of the partition [1]_. A missing label is a block of zeros.
    A sweep costs O(m H k) for m rows and adds integers only, so ties break the same way however the rows are
    counted. On more than 32,768 rows the restarts run on a sample of objects (32,768, or 64 k if that is
    more), and the best of them is finished on all rows. An empty cluster takes the row that costs most.

    References
    ----------
    .. [1] G. Candel, "Linear time Evidence Accumulation Clustering with KMeans", 2023, arXiv:2311.09272.

    Examples
    --------
    >>> from quorate import consensus
    >>> result = consensus([[0, 0, 1, 1, 2], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]], 2, method="kmeans", random_state=0)
    >>> result.labels.tolist(), round(result.objective, 3)
    ([0, 0, 1, 1, 1], 1.333)
    """
    if isinstance(init, str) or start is not None:
        _check.choice(init, "init", ("k-means++",), "or pass the numbers of the rows to start from, without start.")
        return restarted(ensemble, euclidean, n_clusters, rng, n_init, max_iter, start)
    rule = means_rule(ensemble, row_sums(ensemble, _seeds(init, ensemble, n_clusters)))
    return as_consensus(sweep(ensemble, euclidean(ensemble), rule, max_iter))


def _seeds(init: Any, ensemble: AnyEnsemble, n_clusters: int) -> NDArray[np.intp]:
    rows = np.asarray(init)
    if rows.shape != (n_clusters,) or rows.dtype.kind not in "iu" or len(np.unique(rows)) < n_clusters:
        raise ValueError(f"init must be 'k-means++' or {n_clusters} different row numbers, got {init!r}.")
    if rows.min() < 0 or rows.max() >= ensemble.n_rows:
        raise ValueError(f"init must name rows between 0 and {ensemble.n_rows - 1}, got {rows.min()} to {rows.max()}.")
    return rows.astype(np.intp)


METHOD = Method(
    solve=kmeans,
    title="k-means on label rows (highest density)",
    reference="arXiv:2311.09272",
    tables=label_space,
    stochastic=True,
    warm=True,
    in_parts=True,
    soft=True,
    own_order=WHOLE_SUMS,
    weighs=1,
)

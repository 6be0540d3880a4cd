"""Normalized edges: agglomeration of the thresholded co-association graph by edges over expected edges."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.rows import compress
from quorate._types import Consensus, Ensemble, Method, MethodOptions
from quorate.ops.coding import canonical
from quorate.solvers.contingency import anmi
from quorate.solvers.linkage.average_link import group_tree
from quorate.solvers.linkage.co_association import NORMALIZATIONS, Normalization, shared_pairs, sparse_bytes
from quorate.solvers.linkage.dendrogram import cut, labels_after
from quorate.solvers.linkage.trees import graph_merges, symmetric
from quorate.solvers.members import WHOLE_SUMS
from quorate.solvers.sizes import few_tables

AUTO = "auto"
USUAL = (0.3, 0.25, 0.35, 0.2, 0.4)
"""Thresholds that theta="auto" tries, in the order of its preference; the paper recommends 0.1 to 0.4."""
HIGH = (0.5, 0.6, 0.7)
"""What it tries beside them: random members of two or three clusters join pairs of objects too often for the others."""
AS_GOOD, MUCH_WORSE = 0.9, 0.8
"""An ANMI is as good as the best one from the first share on. Below the second share the usual thresholds are left:
shapes that k-means members cut in pieces lose up to a tenth of the ANMI where the result is right (`shape_jain`)."""


def hne(
    ensemble: Ensemble,
    n_clusters: int | None,
    *,
    rng: np.random.Generator,
    theta: float | Literal["auto"] = 0.3,
    normalization: Normalization = "ensemble",
) -> Consensus:
    """Merge the two clusters with the most edges between them compared with the number one would expect.

    First the pairs of rows above theta become the edges of a graph, then clusters merge along edges, and last the
    connected components are joined by average link if fewer clusters were asked for.

    Parameters
    ----------
    ensemble : Ensemble
    n_clusters : int or None
        Exact number of clusters; None stops where no edges are left between clusters.
    rng : numpy.random.Generator
        Not used.
    theta : float or "auto"
        Two objects share an edge if their co-association is above this; 0.1 to 0.4 works well, says the paper. "auto"
        tries eight thresholds, see Notes.
    normalization : {"ensemble", "pairwise"}
        If labels are missing: co-association over all members, or over those that know both objects.

    Returns
    -------
    Consensus
        `objective` is the number of normalized edges of the last merge, 0 if there was none. ``info["n_components"]``
        is the number of clusters at which no edges are left, ``info["n_edges"]`` the number of edges between rows.
        With ``theta="auto"``, ``info["theta"]`` is the threshold that was chosen.

    Notes
    -----
    The normalized edges of clusters a and b are edges(a, b) divided by
    [(n_a + n_b)^(1 + f) - n_a^(1 + f) - n_b^(1 + f)] / 2, f = (1 - theta) / (1 + theta) [1]_. Rows of c and c' objects
    share c c' edges; equal rows are one cluster from the start. Ties go to the lowest rows.

    The paper stops at k clusters or where no edges are left, whichever comes first; in the second case the clusters
    are the connected components of the graph, and more than k. Here None gives these components, while a number is
    always reached: the components are joined further by average link of the co-association itself.

    "auto" is for ensembles whose members differ in quality. 0.3 is kept unless it agrees less with the members: of
    0.2, 0.25, ..., 0.4 the threshold closest to 0.3 is taken whose ANMI is at least 90% of the best of them; if 0.5,
    0.6 or 0.7 have an ANMI that is a quarter higher than that best, the lowest of these three within 90%. Without a
    number of clusters only results with at most as many clusters as a member compete. On 41 ensembles (23 data sets,
    planted labels with noise, half of the members random) it chose 0.3; six with 6 good and 54 random members had an
    NMI with the truth of .73 at 0.3 and .94 with "auto". It takes the time of eight runs and the memory of that at 0.2.

    For E pairs of rows above theta: O(E) memory; a merge looks through the edges of the two clusters, a heap of
    clusters finds the next pair. About O(E log m) in all.

    References
    ----------
    .. [1] Y. Li, J. Yu, P. Hao and Z. Li, "Clustering ensembles based on normalized edges", PAKDD, 2007.

    Examples
    --------
    >>> from quorate import consensus
    >>> consensus([[0, 0, 1, 1, 2], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]], method="hne").labels.tolist()
    [0, 0, 1, 1, 1]
    """
    if isinstance(theta, str):
        _check.choice(theta, "theta", (AUTO,), "or give a number from 0 to 1, a share of the members")
    else:
        theta = _check.fraction(theta, "theta", advice="it is a share of the members.")
        if theta == 1.0:
            raise ValueError("theta must be below 1, got 1; no co-association is above it.")
    normalization = _check.choice(normalization, "normalization", NORMALIZATIONS)
    rows, inverse = compress(ensemble)
    if isinstance(theta, str):
        result = _with_chosen_theta(rows, n_clusters, normalization)
    else:
        result = _merged(rows, n_clusters, theta, normalization)
    return replace(result, labels=result.labels[inverse])


def _merged(rows: Ensemble, n_clusters: int | None, theta: float, normalization: Normalization) -> Consensus:
    """The consensus of distinct rows at one threshold."""
    start, columns, values = symmetric(shared_pairs(rows, normalization, theta))
    # as many objects of each row again only scale the normalized edges, but powers of larger sizes round differently
    divisor = int(np.gcd.reduce(rows.counts))
    sizes = (rows.counts // divisor).astype(np.float64)
    values = np.repeat(sizes, np.diff(start)) * sizes[columns]
    power = 1 + (1 - theta) / (1 + theta)
    merges, edges = graph_merges(start, columns, values, sizes, power=power, limit=n_clusters or 1)
    labels = labels_after(merges, rows.n_rows)
    if n_clusters is not None and labels.max() >= n_clusters:
        labels = canonical(cut(group_tree(rows, labels), n_clusters)[labels], n_clusters)
    info = {"n_edges": len(columns) // 2, "n_components": _n_components(start, columns)}
    objective = float(edges[-1]) * float(divisor) ** (2 - power) if len(edges) else 0.0
    return Consensus(labels=labels, objective=objective, n_iter=len(merges), info=info)


def _with_chosen_theta(rows: Ensemble, n_clusters: int | None, normalization: Normalization) -> Consensus:
    """The consensus at the threshold that "auto" stands for."""
    most = int(rows.n_clusters.max())
    found: dict[float, tuple[float, Consensus]] = {}
    for theta in (*USUAL, *HIGH):
        result = _merged(rows, n_clusters, theta, normalization)
        k = int(result.labels.max()) + 1
        agreement = anmi(rows, result.labels, k) if n_clusters is not None or k <= most else 0.0
        found[theta] = agreement, replace(result, info={**result.info, "theta": theta})
    best = {thetas: max(found[theta][0] for theta in thetas) for thetas in (USUAL, HIGH)}
    thetas = HIGH if best[USUAL] < MUCH_WORSE * best[HIGH] else USUAL
    return next(found[theta][1] for theta in thetas if found[theta][0] >= AS_GOOD * best[thetas])


def _n_components(start: NDArray[np.int64], columns: NDArray[np.int32]) -> int:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    m = len(start) - 1
    graph = csr_array((np.ones(len(columns), dtype=np.int8), columns, start), shape=(m, m))
    return int(connected_components(graph, directed=False, return_labels=False))


def _bytes_needed(ensemble: Ensemble, options: MethodOptions) -> int:
    """The bytes of the edges, whose number is estimated."""
    theta = options.get("theta", 0.3)
    if theta == AUTO:
        theta = min(USUAL)
    if not isinstance(theta, int | float):
        return 0
    return sparse_bytes(ensemble, options.get("normalization", "ensemble"), float(theta))


METHOD = Method(
    solve=hne,
    title="normalized edges of the thresholded co-association graph",
    reference="doi:10.1007/978-3-540-71701-0_71",
    tables=few_tables,
    time="quadratic",
    finds_k=True,
    memory_for=_bytes_needed,
    instead="raise theta, use method 'eac', 'lwgp' or 'kmeans', or coarsen='auto', which measures what it loses,",
    own_order=WHOLE_SUMS,
)

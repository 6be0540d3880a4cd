"""LWEA: average link on the co-association weighted by how sure the ensemble is of each base cluster."""

from __future__ import annotations

import numpy as np

from quorate import _check
from quorate._data.rows import compress
from quorate._types import Consensus, Ensemble, Method
from quorate.solvers.linkage.average_link import average_link_tree
from quorate.solvers.linkage.dendrogram import lifetimes, tree_consensus
from quorate.solvers.local_weights import cluster_certainty, local_weighting
from quorate.solvers.members import by_member_name
from quorate.solvers.sizes import member_tables


def lwea(ensemble: Ensemble, n_clusters: int, *, rng: np.random.Generator, theta: float = 0.4) -> Consensus:
    """Average link where sharing a base cluster counts by its certainty, exp(-E / theta).

    Parameters
    ----------
    ensemble : Ensemble
    n_clusters : int
        Exact number of clusters. Lifetimes do not find the number here: heights say how sure clusters are, not only
        how far apart, and the longest lifetime is mostly that of hundreds of clusters.
    rng : numpy.random.Generator
        Not used.
    theta : float
        How much uncertainty counts: small values leave only the surest clusters, with large ones this is `eac`.

    Returns
    -------
    Consensus
        `tree` is a scipy linkage matrix over rows, its heights 1 - mean weighted co-association. `objective` is the
        height of the last merge within the clusters, to be minimised. ``info["certainty"]`` holds for each member, by
        name, the certainty of its clusters; ``info["lifetimes"][k - 1]`` the lifetime of k clusters.

    Notes
    -----
    E is the mean over members of the entropy, in bits, of how a member splits the cluster: the paper's sum over the M
    members with its exponent's 1 / (theta M) [1]_. If labels are missing or members weigh differently, the entropy
    is that of the objects of the cluster which the member knows, and the mean is weighted by their number times the
    member's weight; without either it is the paper's. The weighted co-association of two objects is the sum of the
    certainties of the clusters they share over the number (weight) of all members.

    No matrix is formed: O(m H^2) time for the certainties and the memory of average link, O(m H) for m distinct rows.
    Certainties are rounded to multiples of 2^-20, so that sums over clusters are whole numbers and equal similarities
    are ties, broken as in `eac`; past 2^53 (clusters of some ten thousand objects) sums round, always in one order.
    Equal rows are one leaf: nothing is nearer to a row than its equals.

    References
    ----------
    .. [1] D. Huang, C.-D. Wang, J.-H. Lai, "Locally weighted ensemble clustering", IEEE Transactions on Cybernetics,
       2018, doi:10.1109/TCYB.2017.2702343.

    Examples
    --------
    >>> from quorate import consensus
    >>> result = consensus([[0, 0, 1, 1, 2], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]], 2, method="lwea")
    >>> result.labels.tolist(), result.info["certainty"]["member 0"].round(3).tolist()
    ([0, 0, 1, 1, 1], [1.0, 1.0, 1.0])
    """
    theta = _check.fraction(theta, "theta", low=1e-3, high=1e6)
    rows, inverse = compress(ensemble)
    certainty = cluster_certainty(rows, theta)
    tree = average_link_tree(rows, local_weighting(rows, certainty))
    info = {"certainty": by_member_name(rows, certainty), "lifetimes": lifetimes(tree)}
    return tree_consensus(ensemble, inverse, tree, n_clusters, info)


METHOD = Method(
    solve=lwea,
    title="average link on the locally weighted co-association (tree)",
    reference="doi:10.1109/TCYB.2017.2702343",
    tables=member_tables,
    time="quadratic",
    by_member=("certainty",),
)

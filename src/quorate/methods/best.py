"""The member that agrees best with all members: the baseline that costs no effort."""

from __future__ import annotations

import numpy as np

from quorate._types import Consensus, Ensemble, Method
from quorate.ops.coding import canonical
from quorate.solvers.cluster_means import completed
from quorate.solvers.contingency import member_anmi, member_labels, members_with
from quorate.solvers.sizes import few_tables


def best(ensemble: Ensemble, n_clusters: int | None, *, rng: np.random.Generator) -> Consensus:
    """Return the member with the highest ANMI.

    Parameters
    ----------
    ensemble : Ensemble
    n_clusters : int or None
        With a number, only members with exactly that many clusters compete.
    rng : numpy.random.Generator
        Not used.

    Returns
    -------
    Consensus
        `objective` is the member's ANMI, to be maximised; ``info["member"]`` is its name, and ``info["anmi"]`` lists
        the ANMI of every member in the order of the members.

    Notes
    -----
    Objects that the member does not know join the cluster with which they have the highest mean co-association; if
    they share nothing with any cluster, they join the largest one. O(m H^2) for m rows and H members. With
    ``weights="auto"`` and members that agree little with the others the member is only the start: moves follow, as with
    ``refine=True``, because the good members together know more than the best of them (docs/decisions/0115).

    References
    ----------
    .. [1] A. Strehl, J. Ghosh, "Cluster Ensembles", JMLR 3, 2002, doi:10.1162/153244303321897735.

    Examples
    --------
    >>> from quorate import consensus
    >>> result = consensus({"a": [0, 0, 1, 1], "b": [0, 0, 1, 1], "c": [0, 1, 0, 1]}, method="best")
    >>> result.info["member"], result.labels.tolist()
    ('a', [0, 0, 1, 1])
    """
    scores = member_anmi(ensemble)
    fitting = members_with(ensemble, n_clusters)
    if not len(fitting):
        sizes = ", ".join(str(k) for k in np.unique(ensemble.n_clusters))
        raise ValueError(
            f"no member has n_clusters = {n_clusters} clusters (they have {sizes}); leave n_clusters out to take the "
            f"best member whatever its size, or use another method."
        )
    # of members that agree equally well the first by content, so that their order has no say
    most = max(scores[q] for q in fitting)
    chosen = min((int(q) for q in fitting if scores[q] == most), key=lambda q: ensemble.labels[:, q].tobytes())
    k = int(ensemble.n_clusters[chosen])
    labels = canonical(completed(ensemble, member_labels(ensemble, chosen), k), k)
    info = {"member": ensemble.member_names[chosen], "anmi": scores}
    return Consensus(labels=labels, objective=scores[chosen], info=info)


METHOD = Method(
    solve=best,
    title="the member with the highest ANMI (baseline)",
    reference="doi:10.1162/153244303321897735",
    tables=few_tables,
    finds_k=True,
    needs_moves=True,
    own_order="info['anmi'] lists the members in their own order; ties are broken by the labels of the members",
)

"""The member that agrees best with all members: what one gets for no effort."""

from __future__ import annotations

import numpy as np

from quorate._types import Consensus, Ensemble, Method
from quorate.ops.coding import canonical
from quorate.solvers.confidence import row_confidence
from quorate.solvers.labellings import column, column_scores, completed


def best(ensemble: Ensemble, n_clusters: int | None, *, rng: np.random.Generator) -> Consensus:
    """Return the member of the highest ANMI.

    Parameters
    ----------
    ensemble : Ensemble
    n_clusters : int or None
        With a number, only members with exactly that many clusters compete.
    rng : numpy.random.Generator
        Not used: nothing here is random.

    Returns
    -------
    Consensus
        `objective` is the member's ANMI, to be maximised; ``info["member"]`` its name, ``info["anmi"]`` the
        ANMI of every member, in order.

    Notes
    -----
    Objects the member does not know join the cluster with which they have the highest mean co-association
    (those known to no such cluster the largest one). O(m H^2) for m rows and H members.

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
    scores = column_scores(ensemble)
    fitting = np.flatnonzero(ensemble.n_clusters == n_clusters) if n_clusters else np.arange(ensemble.n_members)
    if not len(fitting):
        found = ", ".join(str(k) for k in np.unique(ensemble.n_clusters))
        raise ValueError(
            f"no member has n_clusters = {n_clusters} clusters (they have {found}); leave n_clusters out to take the "
            f"best member whatever its size, or use another method."
        )
    chosen = int(fitting[np.argmax(np.array(scores)[fitting])])
    k = int(ensemble.n_clusters[chosen])
    labels = canonical(completed(ensemble, column(ensemble, chosen), k), k)
    return Consensus(
        labels=labels,
        objective=scores[chosen],
        confidence=row_confidence(ensemble, labels),
        info={"member": ensemble.member_names[chosen], "anmi": scores},
    )


METHOD = Method(
    solve=best,
    title="the member of the highest ANMI (baseline)",
    reference="doi:10.1162/153244303321897735",
    finds_k=True,
)

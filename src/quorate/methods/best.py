"""The member that agrees best with all members: what one gets for no effort."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate._types import Consensus, Ensemble, Method
from quorate.ops.coding import canonical
from quorate.ops.tables import cluster_counts, nearest_clusters
from quorate.solvers.confidence import row_confidence
from quorate.solvers.contingency import mean_nmi, member_contingencies


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
    scores = [
        mean_nmi(member_contingencies(ensemble, _column(ensemble, member), int(k)), ensemble.weights, "geometric")
        for member, k in enumerate(ensemble.n_clusters)
    ]
    fitting = np.flatnonzero(ensemble.n_clusters == n_clusters) if n_clusters else np.arange(ensemble.n_members)
    if not len(fitting):
        found = ", ".join(str(k) for k in np.unique(ensemble.n_clusters))
        raise ValueError(
            f"no member has n_clusters = {n_clusters} clusters (they have {found}); leave n_clusters out to take the "
            f"best member whatever its size, or use another method."
        )
    chosen = int(fitting[np.argmax(np.array(scores)[fitting])])
    k = int(ensemble.n_clusters[chosen])
    labels = canonical(_completed(ensemble, _column(ensemble, chosen), k), k)
    return Consensus(
        labels=labels,
        objective=scores[chosen],
        confidence=row_confidence(ensemble, labels),
        info={"member": ensemble.member_names[chosen], "anmi": scores},
    )


def _column(ensemble: Ensemble, member: int) -> NDArray[np.int32]:
    return ensemble.labels[:, member].astype(np.int32)


def _completed(ensemble: Ensemble, labels: NDArray[np.int32], k: int) -> NDArray[np.int32]:
    """Labels with the unlabelled rows given to the cluster of the highest mean co-association."""
    gaps = np.flatnonzero(labels < 0)
    if not len(gaps):
        return labels
    table = cluster_counts(ensemble.labels, ensemble.offsets, ensemble.counts, labels, k)
    known = labels >= 0
    sizes = np.bincount(labels[known], weights=ensemble.counts[known], minlength=k)
    means = table * np.repeat(ensemble.weights, ensemble.n_clusters)[:, None] / sizes
    nearest, score = np.empty(len(gaps), dtype=np.int32), np.empty(len(gaps))
    rows = np.ascontiguousarray(ensemble.labels[gaps])
    rows.setflags(write=False)
    nearest_clusters(rows, ensemble.offsets, means, np.ones(k), np.zeros(k), 0, len(gaps), nearest, score)
    nearest[score == 0.0] = np.argmax(sizes)
    labels[gaps] = nearest
    return labels


METHOD = Method(
    solve=best,
    title="the member of the highest ANMI (baseline)",
    reference="doi:10.1162/153244303321897735",
    finds_k=True,
)

"""ANMI of labellings and of members: the mean NMI with all members, by which labellings are compared."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from quorate._types import Ensemble
from quorate.solvers.contingency import mean_nmi, member_contingencies


def anmi(ensemble: Ensemble, labels: NDArray[np.int32], n_clusters: int) -> float:
    """ANMI (geometric) of a labelling of the rows, in which -1 stands for an unlabelled row."""
    return mean_nmi(member_contingencies(ensemble, labels, n_clusters), ensemble.weights, "geometric")


def member_labels(ensemble: Ensemble, member: int) -> NDArray[np.int32]:
    """A member's labels as a labelling of the rows."""
    return ensemble.labels[:, member].astype(np.int32)


def member_anmi(ensemble: Ensemble, members: Iterable[int] | None = None) -> list[float]:
    """ANMI of each of the given members (all of them by default) with all members, itself included."""
    chosen = range(ensemble.n_members) if members is None else members
    return [anmi(ensemble, member_labels(ensemble, q), int(ensemble.n_clusters[q])) for q in chosen]


def members_with(ensemble: Ensemble, n_clusters: int | None) -> NDArray[np.intp]:
    """The members that have exactly so many clusters; all members if no number is given."""
    if n_clusters is None:
        return np.arange(ensemble.n_members)
    return np.flatnonzero(ensemble.n_clusters == n_clusters)

"""Groups of base clusters compete for the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate._types import AnyEnsemble, FloatArray
from quorate.solvers.label_rows import compete, winners_share


def winners(
    ensemble: AnyEnsemble, groups: NDArray[np.int32], n_clusters: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """The meta-cluster each row is associated with most; groups (d,): that of each base cluster."""
    mass = np.bincount(groups, weights=np.repeat(ensemble.weights, ensemble.n_clusters), minlength=n_clusters)
    return compete(ensemble, groups, mass.astype(np.float64), rng.random(ensemble.n_rows))


def winning_share(ensemble: AnyEnsemble, groups: NDArray[np.int32], labels: NDArray[np.int32]) -> FloatArray:
    """For each row the weight of its labels in the group that won it, over that of all its known labels."""
    return winners_share(ensemble, groups, labels)

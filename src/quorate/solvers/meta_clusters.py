"""Groups of base clusters compete for the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate._types import Ensemble, FloatArray
from quorate.ops.competition import compete, winners_share
from quorate.ops.threads import map_blocks


def winners(
    ensemble: Ensemble, groups: NDArray[np.int32], n_clusters: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """The meta-cluster each row is associated with most; groups (d,): that of each base cluster."""
    mass = np.bincount(groups, weights=np.repeat(ensemble.weights, ensemble.n_clusters), minlength=n_clusters)
    winner, draws = np.empty(ensemble.n_rows, dtype=np.int32), rng.random(ensemble.n_rows)
    map_blocks(
        lambda start, stop: compete(
            ensemble.labels, ensemble.offsets, groups, ensemble.weights, mass, draws, start, stop, winner
        ),
        ensemble.n_rows,
    )
    return winner


def winning_share(ensemble: Ensemble, groups: NDArray[np.int32], labels: NDArray[np.int32]) -> FloatArray:
    """For each row the weight of its labels in the group that won it, over that of all its known labels."""
    share = np.empty(ensemble.n_rows)
    map_blocks(
        lambda start, stop: winners_share(
            ensemble.labels, ensemble.offsets, groups, ensemble.weights, labels, start, stop, share
        ),
        ensemble.n_rows,
    )
    return share

"""How clearly each row belongs to its cluster: its co-association with it beside that with the best other one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from quorate._types import AnyEnsemble, Consensus, FloatArray
from quorate.solvers.cluster_means import standing


def with_standing(ensemble: AnyEnsemble, result: Consensus) -> Consensus:
    """A result on these rows with the best other cluster of each row, and with `own_shares` as its confidence.

    `solve` makes the confidence out of these shares. What the method itself gave as confidence is kept as
    ``info["method_confidence"]``.
    """
    shares, runner_up = _standing(ensemble, result.labels)
    kept = {} if result.confidence is None else {"method_confidence": result.confidence}
    return replace(result, confidence=shares, runner_up=runner_up, info={**result.info, **kept})


def own_shares(ensemble: AnyEnsemble, labels: NDArray[np.int32]) -> FloatArray:
    """own / (own + rival): 1 if no other cluster shares anything with the row, 0.5 at a draw.

    `own` is the mean co-association of the row with the objects of its cluster, itself included; `rival` is the
    largest such mean over the other clusters. O(rows x members x clusters).
    """
    return _standing(ensemble, labels)[0]


def _standing(ensemble: AnyEnsemble, labels: NDArray[np.int32]) -> tuple[FloatArray, NDArray[np.int32]]:
    """The own share of each row, and the cluster behind `rival`: the lowest of several, -1 if all means are 0."""
    own, rival, runner_up = standing(ensemble, labels, int(labels.max()) + 1)
    shares: FloatArray = own / (own + rival)
    return shares, runner_up

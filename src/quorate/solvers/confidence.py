"""How sure the label of each row is: its co-association with its own cluster beside that with the best other one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from quorate._types import AnyEnsemble, Consensus, FloatArray
from quorate.solvers.cluster_means import standing


def with_confidence(ensemble: AnyEnsemble, result: Consensus) -> Consensus:
    """A result on these rows with the best other cluster of each row, and with the confidence that `row_confidence`
    gives unless the method gave a confidence of its own."""
    confidence, runner_up = _standing(ensemble, result.labels)
    own = confidence if result.confidence is None else result.confidence
    return replace(result, confidence=own, runner_up=runner_up)


def row_confidence(ensemble: AnyEnsemble, labels: NDArray[np.int32]) -> FloatArray:
    """own / (own + rival): 1 if no other cluster shares anything with the row, 0.5 at a draw.

    `own` is the mean co-association of the row with the objects of its cluster, itself included; `rival` is the
    largest such mean over the other clusters. O(rows x members x clusters).
    """
    return _standing(ensemble, labels)[0]


def _standing(ensemble: AnyEnsemble, labels: NDArray[np.int32]) -> tuple[FloatArray, NDArray[np.int32]]:
    """The confidence of each row, and the cluster behind `rival`: the lowest of several, -1 if all means are 0."""
    own, rival, runner_up = standing(ensemble, labels, int(labels.max()) + 1)
    confidence: FloatArray = own / (own + rival)
    return confidence, runner_up

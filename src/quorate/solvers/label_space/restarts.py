"""From a run of the look-up loop to a Consensus."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from quorate._types import Consensus, E
from quorate.solvers.label_rows import canonical_labels
from quorate.solvers.label_space.lookup import best_of_restarts
from quorate.solvers.label_space.rules import Model, Partition
from quorate.solvers.weights import with_relative_weights


def restarted(
    ensemble: E,
    make: Callable[[E], Model],
    n_clusters: int,
    rng: np.random.Generator,
    n_init: int,
    max_iter: int,
) -> Consensus:
    """The best of `n_init` seeded runs of the model that `make` builds for an ensemble, as a Consensus.

    The models' costs are proportional to the weights of the members. The runs see weights relative to the least one,
    because the models' tables are rounded to a fixed unit.
    """
    light = with_relative_weights(ensemble)
    result = as_consensus(best_of_restarts(light, make, n_clusters, rng, n_init=n_init, max_iter=max_iter))
    return replace(result, objective=result.objective * float(ensemble.weights.min()))


def as_consensus(run: Partition, info: Mapping[str, Any] | None = None) -> Consensus:
    """A run of the look-up loop as a Consensus with canonical labels; its objective is the run's cost."""
    labels = canonical_labels(run.labels, len(run.sums.mass))
    return Consensus(labels=labels, objective=run.cost, n_iter=run.n_iter, converged=run.converged, info=info or {})

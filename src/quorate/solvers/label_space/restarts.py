"""From a run of the look-up loop to a Consensus."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from quorate import _check
from quorate._types import AnyEnsemble, Consensus, E
from quorate.ops.coding import canonical
from quorate.solvers.confidence import row_confidence
from quorate.solvers.label_space.lookup import Model, Partition, best_of_restarts


def restarted(
    ensemble: E,
    make: Callable[[E], Model],
    n_clusters: int,
    rng: np.random.Generator,
    n_init: int,
    max_iter: int,
) -> Consensus:
    """Check the options every such method shares, run, and wrap the best run."""
    n_init = _check.integer(n_init, "n_init", low=1)
    max_iter = _check.integer(max_iter, "max_iter", low=1)
    return wrapped(ensemble, best_of_restarts(ensemble, make, n_clusters, rng, n_init=n_init, max_iter=max_iter))


def wrapped(ensemble: AnyEnsemble, run: Partition, info: Mapping[str, Any] | None = None) -> Consensus:
    """Canonical labels and their confidence; the objective is the run's cost."""
    labels = canonical(run.labels, len(run.sums.mass))
    return Consensus(
        labels=labels,
        objective=run.cost,
        n_iter=run.n_iter,
        converged=run.converged,
        confidence=row_confidence(ensemble, labels),
        info=info or {},
    )

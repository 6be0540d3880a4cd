"""Greedy moves of rows that raise the ANMI of a labelling, for `refine` and for ``consensus(refine=True)``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from quorate._types import Consensus, Ensemble
from quorate.ops.coding import canonical
from quorate.solvers.anmi import anmi
from quorate.solvers.cluster_means import completed
from quorate.solvers.label_space.climbing import climb
from quorate.solvers.own_shares import with_standing

MAX_SWEEPS = 100


def refined(ensemble: Ensemble, result: Consensus) -> Consensus:
    """A method's result on rows, improved by moves; ``info["refine"]`` tells what they changed."""
    better = refine_rows(ensemble, result.labels, result.n_clusters, MAX_SWEEPS)
    told = {**better.info, "objective_before": result.objective}
    return replace(
        result,
        labels=better.labels,
        objective=better.objective,
        converged=result.converged and better.converged,
        confidence=better.confidence,
        runner_up=better.runner_up,
        info={**result.info, "refine": told},
    )


def refine_rows(ensemble: Ensemble, labels: NDArray[np.int32], k: int, max_iter: int) -> Consensus:
    """Move whole rows; `labels` holds one of 0..k-1 per row, or -1 for a row that is still without a cluster."""
    start = completed(ensemble, labels, k)
    run = climb(ensemble, start, k, max_iter)
    moved = canonical(run.labels, k)
    result = Consensus(
        labels=moved,
        objective=anmi(ensemble, moved, k),
        n_iter=run.n_iter,
        converged=run.converged,
        info={"start_anmi": anmi(ensemble, start, k), "n_moves": run.n_moves},
        method="refine",
    )
    return with_standing(ensemble, result)

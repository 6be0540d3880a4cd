"""What a consensus of objects consists of, and its optional step in the middle, wherever the labels live."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from quorate._coarsening.blocks import coarsen_to_fit
from quorate._coarsening.coarsen import MAX_ROWS, coarsen_as_asked
from quorate._consensus.auto import AUTO
from quorate._consensus.choose_k import Numbers
from quorate._consensus.solve import HARDEN
from quorate._types import AnyEnsemble, Consensus, Ensemble, SoftEnsemble


class Solved(NamedTuple):
    """A consensus twice: of the rows the method worked on, and of the objects those rows stand for."""

    ensemble: AnyEnsemble
    rows: Consensus
    objects: Consensus


def coarsened(rows: Any, coarsen: Any, n_clusters: Numbers, max_bytes: int, method: object = None) -> Any:
    """The rows merged as the option `coarsen` says, the merged row of each row, and what was done.

    None if nothing is to be merged. Without the option, rows are merged only if the method is "auto" and none that it
    may take fits into `max_bytes`.
    """
    if coarsen is None:
        return coarsen_to_fit(rows, max_bytes) if method == AUTO and isinstance(rows, Ensemble) else None
    if isinstance(rows, SoftEnsemble):
        raise ValueError(f"coarsen must be None with soft members: it compares labels. {HARDEN}")
    budget = min(MAX_ROWS, max(1, math.isqrt(max_bytes // 8)))
    return coarsen_as_asked(rows, coarsen, n_clusters=n_clusters, max_rows=budget)

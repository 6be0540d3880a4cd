"""Labels to begin from: matched with the rows of an ensemble, and carried to fewer rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._choose_k.choose_k import Numbers
from quorate._data.labelling import matched_labels
from quorate._solve.run_method import AUTO
from quorate._types import AnyEnsemble, Consensus, Solving
from quorate.methods import METHODS
from quorate.solvers.contingency import contingency


class Start(NamedTuple):
    """Labels to begin from: a code for each row, -1 where there is none, and the number of objects that had a label."""

    codes: NDArray[np.int32]
    n_labelled: int


def started(ensemble: AnyEnsemble, n_clusters: Numbers, solving: Solving) -> tuple[Numbers, Solving]:
    """Match the labels to start from with the rows, and say how many clusters and which method there are then."""
    given = solving.start
    if isinstance(given, Start):
        return n_clusters, solving
    method = solving.method
    if method == AUTO:
        made = given.method if isinstance(given, Consensus) else ""
        method = made if made in METHODS and METHODS[made].warm else "kmeans"
    if not METHODS[_check.choice(method, "method", (AUTO, *METHODS))].warm:
        able = ", ".join(name for name, entry in METHODS.items() if entry.warm)
        raise ValueError(f"method {method!r} cannot start from labels; methods that can: {able}.")
    codes, k = matched_labels(given, "start", ensemble)
    if not (n_clusters is None or n_clusters == AUTO):
        wanted = _check.integer(n_clusters, "n_clusters", low=1)
        if wanted < k:
            raise ValueError(
                f"n_clusters must be at least {k}, the clusters of start, got {wanted}; merge some of them."
            )
        k = wanted
    begin = Start(codes, int(ensemble.counts[codes >= 0].sum()))
    return k, replace(solving, method=method, start=begin)


def carried(solving: Solving, inverse: NDArray[Any], counts: NDArray[np.int64], n_rows: int) -> Solving:
    """Carry the labels to start from to fewer rows: each gets the label that most of its objects have."""
    codes = solving.start.codes
    pairs = contingency(codes, inverse, int(codes.max()) + 1, n_rows, counts)
    order = np.lexsort((pairs.first, -pairs.counts, pairs.second))
    seen, first = np.unique(pairs.second[order], return_index=True)
    labels = np.full(n_rows, -1, dtype=np.int32)
    labels[seen] = pairs.first[order[first]]
    return replace(solving, start=solving.start._replace(codes=labels))

"""Repeat the procedure behind a labelling on a few of the objects, on some members, or on permuted labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._consensus.auto import AUTO
from quorate._consensus.solve import solve
from quorate._data.compression import compress
from quorate._data.labelling import Labelling
from quorate._data.selection import select_rows
from quorate._types import Consensus, Ensemble
from quorate.methods import METHODS

MOST_OBJECTS = 2_000
"""Objects on which a procedure is repeated at most, so that the cost does not grow with the number of objects."""
MOST_LABELS = 20_000
"""Labels on which it is repeated at most: with many members fewer objects are drawn."""
LEAST_OBJECTS = 500
"""Objects that are drawn at least, however many members there are."""
LEAST_PER_CLUSTER = 20
"""Objects per cluster of the labelling that are drawn at least, as long as `MOST_OBJECTS` allows it."""

AFFORDABLE_SECONDS = 5.0
"""Seconds above which the shell and a report leave the comparison with chance out if nobody asked for it."""


class Procedure(NamedTuple):
    """How a labelling was made, as far as it is known.

    `is_known` is False for a labelling that is not a Consensus of a method of the register. The default method with
    the same number of clusters then stands for the procedure.
    """

    method: str
    n_clusters: int
    refine: bool
    seed: int
    is_known: bool


class Drawn(NamedTuple):
    """Some of the labelled objects: rows with counts, and the labels of these rows."""

    ensemble: Ensemble
    codes: NDArray[np.int32]
    is_part: bool


def procedure_of(result: Any, n_clusters: int) -> Procedure:
    """Return the procedure that made a result, or the default method if that is not known."""
    if not isinstance(result, Consensus) or result.method not in METHODS:
        return Procedure(AUTO, n_clusters, False, 0, is_known=False)
    seed = result.info.get("seed")
    number = int(seed) if isinstance(seed, int | np.integer) and seed >= 0 else 0
    return Procedure(result.method, n_clusters, "refine" in result.info, number, is_known=True)


def draw_objects(ensemble: Ensemble, labelling: Labelling, seed: int) -> Drawn:
    """Draw labelled objects without replacement, each with the same probability; all of them if they are few."""
    counts = np.where(labelling.codes >= 0, ensemble.counts, 0)
    ends = np.cumsum(counts)
    total = int(ends[-1])
    places = drawn_places(total, ensemble.n_members, labelling.n_clusters, seed)
    if places is None:
        rows = np.flatnonzero(counts)
        drawn = counts[rows]
    else:
        rows, drawn = np.unique(np.searchsorted(ends, places, side="right"), return_counts=True)
    part = select_rows(replace(ensemble, object_ids=None), rows, drawn.astype(np.int64))
    return Drawn(part, labelling.codes[rows], places is not None)


def drawn_places(total: int, n_members: int, n_clusters: int, seed: int) -> NDArray[np.int64] | None:
    """Return the numbers of the labelled objects that `draw_objects` draws, or None if there are so few that it takes all."""
    most = _most_objects(n_members, n_clusters)
    if total <= most:
        return None
    return np.random.default_rng((seed, 0)).choice(total, size=most, replace=False, shuffle=False)


def _most_objects(n_members: int, n_clusters: int) -> int:
    wanted = max(MOST_LABELS // n_members, LEAST_PER_CLUSTER * n_clusters, LEAST_OBJECTS)
    return min(wanted, MOST_OBJECTS)


def repeat(procedure: Procedure, ensemble: Ensemble, number: int) -> NDArray[np.int32]:
    """Run the procedure on an ensemble and return a label for each row; -1 for rows that no member labels.

    `number` tells the repetitions apart: each has a seed of its own, which follows from that of the result.
    """
    labels = np.full(ensemble.n_rows, -1, dtype=np.int32)
    known = np.flatnonzero((ensemble.labels >= 0).any(axis=1))
    rows, inverse = compress(select_rows(ensemble, known, ensemble.counts[known]))
    seed = int(np.random.SeedSequence((procedure.seed, number)).generate_state(1)[0])
    k = min(procedure.n_clusters, rows.n_rows)
    labels[known] = solve(rows, k, method=procedure.method, random_state=seed, refine=procedure.refine).labels[inverse]
    return labels


def checked_permutations(null: Any) -> int | None:
    """Return the number of permutations asked for, 0 for "as many as are needed", or None for no test."""
    if null is None or null is False:
        return None
    if null is True or (isinstance(null, str) and null == AUTO):
        return 0
    return _check.integer(null, "null", low=1, high=100_000)

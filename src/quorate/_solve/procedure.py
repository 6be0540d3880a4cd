"""The procedure behind a labelling and how it is repeated; objects, halves of members and draws for that."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from quorate._data.labelling import Labelling
from quorate._data.rows import compress
from quorate._data.selection import select_rows
from quorate._device.choose import lives_on_card
from quorate._solve.auto import AUTO
from quorate._solve.run_method import known_options, resolve, run_method
from quorate._types import MAX_BYTES, Consensus, Ensemble, FloatArray, Solving
from quorate.methods import METHODS
from quorate.solvers.contingency import contingency, nearest_jaccard
from quorate.solvers.label_rows import entries_of, take
from quorate.solvers.members import in_content_order

MOST_OBJECTS = 2_000
"""Objects on which a procedure is repeated at most, so that the cost does not grow with the number of objects."""
MOST_LABELS = 20_000
"""Labels on which it is repeated at most: with many members fewer objects are drawn."""
LEAST_OBJECTS = 500
"""Objects that are drawn at least, however many members there are."""
LEAST_PER_CLUSTER = 20
"""Objects per cluster of the labelling that are drawn at least, as long as `MOST_OBJECTS` allows it."""
MOST_EIGENVECTORS = 500
"""Clusters up to which the default method stands for an unknown one: it needs an eigenvector for each of them."""


class Procedure(NamedTuple):
    """How a labelling was made, as far as it is known.

    `is_known` is False for a labelling that is not a Consensus of a method of the register. The default method, or
    `kmeans` for very many clusters, with the same number of clusters then stands for the procedure.
    """

    method: str
    n_clusters: int
    refine: bool
    seed: int
    is_known: bool
    options: Mapping[str, Any] = {}
    max_bytes: int = MAX_BYTES


class Drawn(NamedTuple):
    """Some of the labelled objects: rows with counts, the labels of these rows, and their places if they are known."""

    ensemble: Ensemble
    codes: NDArray[np.int32]
    is_part: bool
    places: NDArray[np.intp] | None = None


def procedure_of(result: Any, n_clusters: int) -> Procedure:
    """Return the procedure that made a result, or the default method if that is not known."""
    if not isinstance(result, Consensus) or result.method not in METHODS:
        method = AUTO if n_clusters <= MOST_EIGENVECTORS else "kmeans"
        return Procedure(method, n_clusters, False, 0, is_known=False)
    seed = result.info.get("seed")
    number = int(seed) if isinstance(seed, int | np.integer) and seed >= 0 else 0
    options = result.info.get("options")
    known = known_options(result.method, options) if isinstance(options, Mapping) else {}
    return Procedure(result.method, n_clusters, "refine" in result.info, number, is_known=True, options=known)


def draw_objects(ensemble: Ensemble, labelling: Labelling, seed: int, *, as_many: bool = False) -> Drawn:
    """Draw labelled objects without replacement, each with the same probability; all of them if they are few.

    Many members leave fewer objects to draw, unless there are to be `as_many` as with few members.
    """
    if lives_on_card(labelling.codes):
        return _drawn_on_card(ensemble, labelling, seed, 1 if as_many else ensemble.n_members)
    counts = np.where(labelling.codes >= 0, ensemble.counts, 0)
    ends = np.cumsum(counts)
    total = int(ends[-1])
    places = drawn_places(total, 1 if as_many else ensemble.n_members, labelling.n_clusters, seed)
    if places is None:
        rows = np.flatnonzero(counts)
        drawn = counts[rows]
    else:
        rows, drawn = np.unique(np.searchsorted(ends, places, side="right"), return_counts=True)
    part = select_rows(replace(ensemble, object_ids=None), rows, drawn.astype(np.int64))
    return Drawn(part, labelling.codes[rows], places is not None, rows)


def _drawn_on_card(ensemble: Ensemble, labelling: Labelling, seed: int, n_members: int) -> Drawn:
    """Do what `draw_objects` does for rows on a card, all of which have a label there."""
    from quorate._device.card_rows import rows_of_objects_on_card

    places = drawn_places(ensemble.n_objects, n_members, labelling.n_clusters, seed)
    objects = np.arange(ensemble.n_objects) if places is None else places
    rows, drawn = np.unique(rows_of_objects_on_card(ensemble, objects), return_counts=True)
    part = take(ensemble, rows, drawn.astype(np.int64))
    part = select_rows(part, np.arange(len(rows)), part.counts)
    return Drawn(part, entries_of(ensemble, labelling.codes, rows), places is not None, rows)


def drawn_places(total: int, n_members: int, n_clusters: int, seed: int) -> NDArray[np.int64] | None:
    """Return the numbers of the labelled objects that `draw_objects` draws; None if it takes all, because of few."""
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
    if k == rows.n_rows:
        # as many clusters as rows: any method puts each row into a cluster of its own
        labels[known] = inverse
        return labels
    wanted = Solving(
        procedure.method, procedure.options, random_state=seed, max_bytes=procedure.max_bytes, refine=procedure.refine
    )
    result = run_method(rows, k, resolve(rows, k, wanted)[0])
    labels[known] = result.labels[inverse]
    return labels


def jaccard_with(
    codes: NDArray[np.int32], repeated: NDArray[np.int32], counts: NDArray[np.int64], n_clusters: int
) -> FloatArray:
    """The Jaccard similarity of each cluster of a labelling with the nearest cluster of a repetition.

    Rows that either does not label are left out; NaN for a cluster without rows.
    """
    table = contingency(codes, repeated, n_clusters, int(repeated.max()) + 1, counts)
    return nearest_jaccard(table, n_clusters)


def halves_of_objects(drawn: Drawn, procedure: Procedure) -> list[FloatArray]:
    """Repeat the procedure on two halves of the objects, and return `jaccard_with` of the labels and of each half."""
    found = []
    rng = np.random.default_rng((procedure.seed, drawn.ensemble.n_members, 2))
    members = in_content_order(drawn.ensemble)
    rows = np.repeat(np.arange(members.n_rows), members.counts)
    for number, half in enumerate(two_halves(rng.permutation(len(rows)))):
        places, counts = np.unique(rows[half], return_counts=True)
        part = select_rows(members, places, counts.astype(np.int64))
        try:
            repeated = repeat(procedure, part, 100 + number)
        except (ValueError, MemoryError):
            continue
        found.append(jaccard_with(drawn.codes[places], repeated, part.counts, procedure.n_clusters))
    return found


def mean_jaccard(found: list[FloatArray]) -> FloatArray | None:
    """The mean over repetitions, for each cluster; NaN for clusters that none of them met, None without repetitions."""
    if not found:
        return None
    values = np.array(found)
    known = ~np.isnan(values)
    times = known.sum(axis=0)
    mean: FloatArray = np.where(known, values, 0.0).sum(axis=0) / np.maximum(times, 1)
    return np.where(times > 0, mean, np.nan)


logger = logging.getLogger("quorate")
Value = TypeVar("Value")


def some_objects(ensemble: Ensemble, most: int, rng: np.random.Generator) -> Ensemble:
    """Draw objects without replacement, each with the same probability; all of them if they are no more than `most`."""
    rows, drawn = some_rows(ensemble, most, rng)
    return ensemble if drawn is ensemble.counts else select_rows(ensemble, rows, drawn)


def some_rows(ensemble: Ensemble, most: int, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Draw objects as `some_objects` does; return their rows, in order, and how many objects of each were drawn."""
    ends = np.cumsum(ensemble.counts)
    if ends[-1] <= most:
        return np.arange(ensemble.n_rows), ensemble.counts
    places = rng.choice(int(ends[-1]), size=most, replace=False, shuffle=False)
    rows, drawn = np.unique(np.searchsorted(ends, places, side="right"), return_counts=True)
    return rows, drawn.astype(np.int64)


def two_halves(order: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Divide members that are in a random order into two halves, each sorted; the second one has the odd member."""
    return np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])


def until_clear(
    draw: Callable[[int], Value],
    is_clear: Callable[[list[Value]], bool],
    *,
    limits: tuple[int, int],
    wanted: int = 0,
    step: str = "",
) -> list[Value]:
    """Draw values one after another, a sequential test: until the answer is clear, or as often as is `wanted`.

    Parameters
    ----------
    draw : callable
        Returns the value of a draw; it gets its number, counted from 1, as part of its seed.
    is_clear : callable
        Whether the values that were drawn so far are enough.
    limits : (int, int)
        The least number of draws before a clear answer ends the test, and the number after which it ends in any case.
    wanted : int
        A number of draws that the user wants; then neither the limits nor `is_clear` count.
    step : str
        What is said in the log while values are drawn, with the share that is done; nothing if it is empty.
    """
    fewest, most = limits
    values: list[Value] = []
    while len(values) < (wanted or most) and (wanted or len(values) < fewest or not is_clear(values)):
        values.append(draw(len(values) + 1))
        if step:
            logger.info(step, extra={"share": len(values) / (wanted or most)})
    return values

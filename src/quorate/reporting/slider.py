"""Labellings of the same ensemble with other numbers of clusters, through which the slider of a report moves."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from quorate import _check
from quorate._consensus.auto import pick
from quorate._consensus.run_method import MAX_BYTES
from quorate._consensus.solve import solve
from quorate._data.compression import compress
from quorate._data.labelling import code_beside
from quorate._evaluation.other_numbers import Partition, merged_clusters, renumbered, scored_partition
from quorate._evaluation.subject import Subject
from quorate._types import Ensemble, IntArray
from quorate.methods import METHODS
from quorate.solvers.linkage.dendrogram import cut

logger = logging.getLogger("quorate")
SOLVED_WORK = 20_000_000
"""The method is run again only up to this much work: labels in distinct rows times clusters, summed over the runs."""
STEPS = 4
"""The number of numbers of clusters tried on either side of the one that was chosen."""
FEWEST = 4
"""The number of runs that must fit into the allowed work; otherwise clusters are merged."""
MERGED = "by merging the two clusters with the highest co-association, again and again"


class Stops(NamedTuple):
    """All stops by increasing number of clusters, the index of the report's own one, and how the others were made.

    `made_by` completes the sentence "Other numbers of clusters are shown ...".
    """

    partitions: list[Partition]
    own: int
    made_by: str


def stops(subject: Subject, numbers: Any, random_state: Any) -> Stops:
    """Return the labellings of a slider.

    `numbers` is "auto", None (no other number), numbers of clusters, or a mapping from numbers to labellings.
    """
    seed = random_state if random_state is None else _check.integer(random_state, "random_state", low=0)
    others, made_by = _others(subject, numbers, 0 if seed is None else seed)
    others.pop(subject.n_clusters, None)
    before = after = subject.labels
    labellings = {subject.n_clusters: subject.labels}
    # Start from the report's own labelling in both directions, so that a cluster keeps its number as long as possible.
    for k in sorted((k for k in others if k < subject.n_clusters), reverse=True):
        before = labellings[k] = renumbered(before, others[k], subject)
    for k in sorted(k for k in others if k > subject.n_clusters):
        after = labellings[k] = renumbered(after, others[k], subject)
    order = sorted(labellings)
    partitions = []
    for done, k in enumerate(order):
        logger.info("scoring other numbers of clusters", extra={"share": done / len(order)})
        partitions.append(scored_partition(subject, labellings[k]))
    return Stops(partitions, order.index(subject.n_clusters), made_by)


def _others(subject: Subject, numbers: Any, seed: int) -> tuple[dict[int, IntArray], str]:
    if numbers is None:
        return {}, ""
    if isinstance(numbers, Mapping):
        return _given(subject, numbers), "as they were given to the report"
    wanted = None if isinstance(numbers, str) else _wanted(numbers)
    if wanted is None:
        _check.choice(numbers, "numbers", ("auto",), "or None, numbers of clusters, or a mapping from them to labels.")
    result = subject.result
    if result is not None and result.tree is not None and len(result.tree):
        return _from_tree(subject, wanted or _around(subject.n_clusters)), "by cutting the tree of the consensus"
    rows, inverse = compress(subject.ensemble)
    method = _repeatable(subject, rows)
    tried = _affordable(subject.n_clusters, rows) if wanted is None else wanted
    if method is not None and tried:
        solved = _solved(rows, inverse, tried, method, seed)
        if solved or wanted is not None:
            return solved, _how_solved(subject, method, seed)
    return merged_clusters(subject), MERGED


def _how_solved(subject: Subject, method: str, seed: int) -> str:
    told = f"{METHODS[method].title} ({method}, seed {seed}) with default options for each number"
    if subject.result is not None and subject.result.method == method:
        return f"by running the method of the consensus again: {told}"
    return (
        f"by running a method that suits these members, because it is not known how the labels of this report were "
        f"made: {told}. So these labellings may differ from them in more than the number of clusters"
    )


def _affordable(n_clusters: int, rows: Ensemble) -> list[int]:
    """Return the numbers next to the own one for which the allowed work suffices, or none if these would be too few."""
    near = sorted((k for k in _around(n_clusters) if k <= rows.n_rows), key=lambda k: (abs(k - n_clusters), k))
    work = rows.labels.size * np.cumsum([0 if k == n_clusters else k for k in near])
    numbers = [k for k, needed in zip(near, work.tolist(), strict=True) if needed <= SOLVED_WORK and k != n_clusters]
    return numbers if len(numbers) >= min(FEWEST, len(near) - 1) else []


def _given(subject: Subject, numbers: Mapping[Any, Any]) -> dict[int, IntArray]:
    labellings = {}
    for name, labels in numbers.items():
        advice = "label the same objects as the result does"
        labelling = code_beside(labels, f"numbers[{name!r}]", subject.ensemble, advice=advice)
        labellings[labelling.n_clusters] = labelling.codes
    return labellings


def _wanted(numbers: Iterable[Any]) -> list[int]:
    return [_check.integer(k, "a number in numbers", low=1) for k in numbers]


def _around(n_clusters: int) -> list[int]:
    low = max(2, n_clusters - STEPS)
    return list(range(low, max(n_clusters, low) + STEPS + 1))


def _from_tree(subject: Subject, numbers: Iterable[int]) -> dict[int, IntArray]:
    result = subject.result
    assert result is not None
    assert result.tree is not None
    rows = slice(None) if result.rows is None else result.rows
    n_leaves = len(result.tree) + 1
    return {k: cut(result.tree, k)[rows] for k in numbers if k <= n_leaves}


def _repeatable(subject: Subject, rows: Ensemble) -> str | None:
    """Return the method to run again, or None if it would be expensive or needs other methods.

    It is the method of the result, or the default method if that is not known.
    """
    result = subject.result
    known = result is not None and result.method in METHODS
    name = result.method if result is not None and known else pick(rows, subject.n_clusters, MAX_BYTES).method
    method = METHODS[name]
    return name if method.memory == "linear" and not method.combines and method.memory_for is None else None


def _solved(rows: Any, inverse: Any, numbers: Iterable[int], method: str, seed: int) -> dict[int, IntArray]:
    """Return the labellings of the method; numbers of clusters for which it raises an error are left out."""
    labellings, wanted = {}, list(numbers)
    for done, k in enumerate(wanted):
        logger.info("other numbers of clusters", extra={"share": done / len(wanted)})
        if k > rows.n_rows:
            continue
        try:
            labels = solve(rows, k, method=method, random_state=seed, confidence=False).labels[inverse]
        except (ValueError, TypeError, MemoryError):
            continue
        labellings[int(labels.max()) + 1] = labels
    return labellings

"""The same ensemble with other numbers of clusters: what the slider of a report moves through."""

from __future__ import annotations

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

SOLVED_WORK = 20_000_000
"""Labels in distinct rows times clusters, added over the runs, up to which the method is run again by itself."""
STEPS = 4
"""Numbers tried on either side of the one that was chosen."""
FEWEST = 4
"""Runs that must fit into the work allowed; else clusters are merged."""
MERGED = "merging the two clusters with the highest co-association, again and again"


class Stops(NamedTuple):
    """All stops by rising number of clusters, which of them is the report's own, and how the others were made."""

    partitions: list[Partition]
    own: int
    made_by: str


def stops(subject: Subject, numbers: Any, random_state: Any) -> Stops:
    """The labellings of a slider.

    `numbers` are "auto", None (no other number), numbers of clusters, or a mapping from them to labellings.
    """
    seed = random_state if random_state is None else _check.integer(random_state, "random_state", low=0)
    others, made_by = _others(subject, numbers, 0 if seed is None else seed)
    others.pop(subject.n_clusters, None)
    before = after = subject.labels
    found = {subject.n_clusters: subject.labels}
    # outward from the report's own, so that a cluster keeps its number for as long as it can be followed
    for k in sorted((k for k in others if k < subject.n_clusters), reverse=True):
        before = found[k] = renumbered(before, others[k], subject)
    for k in sorted(k for k in others if k > subject.n_clusters):
        after = found[k] = renumbered(after, others[k], subject)
    order = sorted(found)
    return Stops([scored_partition(subject, found[k]) for k in order], order.index(subject.n_clusters), made_by)


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
        return _from_tree(subject, wanted or _around(subject.n_clusters)), "cutting the tree of the consensus"
    rows, inverse = compress(subject.ensemble)
    method = _repeatable(subject, rows)
    tried = _affordable(subject.n_clusters, rows) if wanted is None else wanted
    if method is not None and tried:
        solved = _solved(rows, inverse, tried, method, seed)
        if solved or wanted is not None:
            return solved, f"{METHODS[method].title} ({method}, seed {seed}) with its own options left alone"
    return merged_clusters(subject), MERGED


def _affordable(n_clusters: int, rows: Ensemble) -> list[int]:
    """The numbers next to the own one that the work allowed is enough for; none where they would be too few."""
    near = sorted((k for k in _around(n_clusters) if k <= rows.n_rows), key=lambda k: (abs(k - n_clusters), k))
    work = rows.labels.size * np.cumsum([0 if k == n_clusters else k for k in near])
    found = [k for k, needed in zip(near, work.tolist(), strict=True) if needed <= SOLVED_WORK and k != n_clusters]
    return found if len(found) >= min(FEWEST, len(near) - 1) else []


def _given(subject: Subject, numbers: Mapping[Any, Any]) -> dict[int, IntArray]:
    found = {}
    for name, labels in numbers.items():
        advice = "label the same objects as the result does"
        labelling = code_beside(labels, f"numbers[{name!r}]", subject.ensemble, advice=advice)
        found[labelling.n_clusters] = labelling.codes
    return found


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
    """The method to run again: the result's own, or the default, where that is cheap and needs nothing else."""
    result = subject.result
    known = result is not None and result.method in METHODS
    name = result.method if result is not None and known else pick(rows, subject.n_clusters, MAX_BYTES).method
    method = METHODS[name]
    return name if method.memory == "linear" and not method.combines and method.memory_for is None else None


def _solved(rows: Any, inverse: Any, numbers: Iterable[int], method: str, seed: int) -> dict[int, IntArray]:
    """The method's answers; numbers it refuses are left out."""
    found = {}
    for k in numbers:
        if k > rows.n_rows:
            continue
        try:
            labels = solve(rows, k, method=method, random_state=seed).labels[inverse]
        except (ValueError, TypeError, MemoryError):
            continue
        found[int(labels.max()) + 1] = labels
    return found

"""Labellings with other numbers of clusters, the table of ambiguous objects, and the labels to download."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._consensus.consensus import solve
from quorate._data.labelling import code_beside
from quorate._data.outside import part_inside
from quorate._data.rows import at_places, compress
from quorate._solve.run_method import pick
from quorate._trust.subject import Partition, Subject, merged_clusters, renumbered, scored_partition
from quorate._types import MAX_BYTES, Ensemble, IntArray
from quorate.methods import METHODS
from quorate.reporting.page import characters_of, packed, packed_ids
from quorate.solvers.contingency import contingency
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
    # objects that the report's own labelling leaves outside are outside for any number of clusters
    lacks = len(subject.known) < len(subject.labels)
    inside = part_inside(subject.ensemble, subject.known) if lacks else subject.ensemble
    rows, inverse = compress(inside)
    method = _repeatable(subject, rows)
    tried = _affordable(subject.n_clusters, rows) if wanted is None else wanted
    if method is not None and tried:
        solved = _solved(rows, inverse, tried, method, seed)
        if lacks:
            solved = {k: at_places(labels, subject.known, len(subject.labels), -1) for k, labels in solved.items()}
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


ROWS_TOLD = 1_000
"""The largest number of rows in the table of ambiguous objects."""
DOWNLOAD_BYTES = 2_000_000
"""The number of characters that labels, confidence and ids may take in the page, in this order.

What does not fit is left out, and the page says so.
"""


def ambiguous_rows(subject: Subject) -> NDArray[np.intp]:
    """Return the labelled rows of the ensemble below the threshold, the least certain first."""
    low = subject.known[subject.confidence[subject.known] < subject.ambiguous]
    return low[np.argsort(subject.confidence[low], kind="stable")]


def object_table(subject: Subject, stops: Stops) -> dict[str, Any]:
    """Return the least certain objects: their cluster, the runner-up by votes, and the members' support.

    The support is the number of members that agree with the cluster.
    """
    rows = ambiguous_rows(subject)[:ROWS_TOLD]
    votes = _votes(subject, rows, stops.partitions[stops.own].closest)
    own = subject.labels[rows]
    support = votes[np.arange(len(rows)), own] if len(rows) else np.zeros(0)
    others = votes.copy()
    others[np.arange(len(rows)), own] = 0
    ids = rows if subject.ids is None else subject.ids[rows]
    return {
        "id": [str(name) for name in ids.tolist()],
        "cluster": own,
        "rival": np.where(others.max(axis=1, initial=0) > 0, others.argmax(axis=1), -1),
        "confidence": subject.confidence[rows],
        "agree": support,
        "known": (subject.ensemble.labels[rows] >= 0).sum(axis=1),
    }


def _votes(subject: Subject, rows: NDArray[np.intp], closest: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the (rows, clusters) number of members whose cluster shares most objects with that cluster."""
    labels = subject.ensemble.labels[rows].astype(np.int64)
    at, member = np.nonzero(labels >= 0)
    cluster = closest[subject.ensemble.offsets[member] + labels[at, member]]
    votes = np.zeros((len(rows), subject.n_clusters), dtype=np.int64)
    np.add.at(votes, (at, cluster), 1)
    return votes


def download(subject: Subject, stops: Stops) -> dict[str, Any]:
    """Return the labels of all objects, their confidence and ids, then labels of the other stops.

    Each part is included only if it fits.
    """
    room = DOWNLOAD_BYTES
    contents: dict[str, Any] = {"n": len(subject.labels), "left_out": []}
    known = np.nan_to_num(subject.confidence)
    parts: dict[str, Any] = {"labels": subject.labels + 1, "confidence": np.rint(known * 1e6).astype(np.int64)}
    if subject.ids is not None:
        parts["ids"] = subject.ids
    for name, values in parts.items():
        entry = packed_ids(values) if name == "ids" else packed(values)
        if characters_of(entry) > room:
            contents["left_out"].append(name)
            continue
        contents[name] = entry
        room -= characters_of(entry)
    contents["stops"] = _stop_labels(subject, stops, room) if "labels" in contents else [None] * len(stops.partitions)
    return contents


def _stop_labels(subject: Subject, stops: Stops, room: int) -> list[dict[str, Any] | None]:
    """Return the labels at each other stop.

    For a stop that only merges clusters, the cluster that each of them goes to.
    """
    entries: list[dict[str, Any] | None] = []
    for place, part in enumerate(stops.partitions):
        merged = _merged_into(subject, part)
        if place == stops.own or (merged is None and room <= 0):
            entries.append(None)
            continue
        entry: dict[str, Any] = packed(part.labels + 1) if merged is None else {"merged": merged}
        fits = characters_of(entry) <= room or merged is not None
        entries.append(entry if fits else None)
        # If the labels of one stop do not fit, those of the others will not fit either.
        room = room - characters_of(entry) if fits else 0
    return entries


def _merged_into(subject: Subject, part: Partition) -> list[int] | None:
    """Return for each cluster the one that contains all its objects, or None if a cluster is divided."""
    cells = contingency(subject.labels, part.labels, subject.n_clusters, part.n_numbers, subject.ensemble.counts)
    return cells.second.tolist() if len(cells.first) == subject.n_clusters else None

"""The objects one should look at, and the labels of all of them for the reader to take away."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._evaluation.other_numbers import Partition
from quorate._evaluation.subject import Subject
from quorate._result_table import AMBIGUOUS
from quorate.reporting.pack import packed, packed_ids, size_of
from quorate.reporting.slider import Stops
from quorate.solvers.contingency import contingency

ROWS_TOLD = 1_000
"""Rows of the table of ambiguous objects at most."""
DOWNLOAD_BYTES = 2_000_000
"""Characters that labels, confidence and ids may take in the page, in this order; the rest is left out and said so."""


def ambiguous_rows(subject: Subject) -> NDArray[np.intp]:
    """Labelled rows of the ensemble below the threshold, the least certain first."""
    low = subject.known[subject.confidence[subject.known] < AMBIGUOUS]
    return low[np.argsort(subject.confidence[low], kind="stable")]


def object_table(subject: Subject, stops: Stops) -> dict[str, Any]:
    """The least certain objects: their cluster, the runner-up by votes, and how many members stand behind."""
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
    """(rows, clusters): members whose cluster shares most objects with that cluster."""
    labels = subject.ensemble.labels[rows].astype(np.int64)
    at, member = np.nonzero(labels >= 0)
    cluster = closest[subject.ensemble.offsets[member] + labels[at, member]]
    votes = np.zeros((len(rows), subject.n_clusters), dtype=np.int64)
    np.add.at(votes, (at, cluster), 1)
    return votes


def download(subject: Subject, stops: Stops) -> dict[str, Any]:
    """Labels of all objects, their confidence and ids, then labels of the slider's other stops, while there is room."""
    room = DOWNLOAD_BYTES
    found: dict[str, Any] = {"n": len(subject.labels), "left_out": []}
    known = np.nan_to_num(subject.confidence)
    parts: dict[str, Any] = {"labels": subject.labels + 1, "confidence": np.rint(known * 1e6).astype(np.int64)}
    if subject.ids is not None:
        parts["ids"] = subject.ids
    for name, values in parts.items():
        entry = packed_ids(values) if name == "ids" else packed(values)
        if size_of(entry) > room:
            found["left_out"].append(name)
            continue
        found[name] = entry
        room -= size_of(entry)
    found["stops"] = _stop_labels(subject, stops, room) if "labels" in found else [None] * len(stops.partitions)
    return found


def _stop_labels(subject: Subject, stops: Stops, room: int) -> list[dict[str, Any] | None]:
    """Of each other stop; of one that only merges clusters, the cluster each of them goes to."""
    entries: list[dict[str, Any] | None] = []
    for place, part in enumerate(stops.partitions):
        merged = _merged_into(subject, part)
        if place == stops.own or (merged is None and room <= 0):
            entries.append(None)
            continue
        entry: dict[str, Any] = packed(part.labels + 1) if merged is None else {"merged": merged}
        fits = size_of(entry) <= room or merged is not None
        entries.append(entry if fits else None)
        # what does not fit will not fit for the other stops either
        room = room - size_of(entry) if fits else 0
    return entries


def _merged_into(subject: Subject, part: Partition) -> list[int] | None:
    """For each cluster the one that holds all its objects; None where some cluster is torn apart."""
    cells = contingency(subject.labels, part.labels, subject.n_clusters, part.n_numbers, subject.ensemble.counts)
    return cells.second.tolist() if len(cells.first) == subject.n_clusters else None

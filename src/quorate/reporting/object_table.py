"""The table of ambiguous objects, and the labels of all objects for download."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._evaluation.other_numbers import Partition
from quorate._evaluation.subject import Subject
from quorate.reporting.pack import packed, packed_ids, size_of
from quorate.reporting.slider import Stops
from quorate.solvers.contingency import contingency

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
        if size_of(entry) > room:
            contents["left_out"].append(name)
            continue
        contents[name] = entry
        room -= size_of(entry)
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
        fits = size_of(entry) <= room or merged is not None
        entries.append(entry if fits else None)
        # If the labels of one stop do not fit, those of the others will not fit either.
        room = room - size_of(entry) if fits else 0
    return entries


def _merged_into(subject: Subject, part: Partition) -> list[int] | None:
    """Return for each cluster the one that contains all its objects, or None if a cluster is divided."""
    cells = contingency(subject.labels, part.labels, subject.n_clusters, part.n_numbers, subject.ensemble.counts)
    return cells.second.tolist() if len(cells.first) == subject.n_clusters else None

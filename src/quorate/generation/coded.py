"""From the labels that members gave to an ensemble."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._coding import narrowest
from quorate._ensemble import refuse_unlabelled
from quorate._types import Ensemble
from quorate.generation.features import Features
from quorate.generation.runner import Finished
from quorate.ops.coding import MISSING, UNSEEN, code_columns


def as_coded(finished: Finished, features: Features, info: dict[str, Any]) -> Ensemble:
    """Code the labels by first appearance, in place: the matrix is ours and may be most of the memory."""
    labels = finished.labels
    n_rows, n_members = labels.shape
    spans = np.array([facts["n_clusters"] + 1 for facts in finished.facts])
    starts = np.concatenate([[0], np.cumsum(spans)]).astype(np.int64)
    lookup = np.full(starts[-1], UNSEEN, dtype=np.int32)
    lookup[starts[:-1]] = MISSING
    seen = np.zeros(n_members, dtype=np.int64)
    code_columns(labels, np.full(n_members, -1, dtype=np.int64), starts, lookup, seen, labels)
    parts = (lookup[start + 1 : stop] for start, stop in pairwise(starts))
    categories = tuple(_categories(part, int(count)) for part, count in zip(parts, seen, strict=True))
    names = tuple(f"member {place}" for place in range(n_members))
    refuse_unlabelled(labels, names, categories)
    return Ensemble(
        labels=labels.astype(narrowest(int(seen.max())), copy=False),
        counts=np.ones(n_rows, dtype=np.int64),
        n_clusters=seen,
        weights=np.ones(n_members),
        member_names=names,
        categories=categories,
        object_ids=features.ids,
        info=info,
    )


def _categories(codes: NDArray[np.int32], n_seen: int) -> NDArray[np.int64]:
    """The member's own cluster number behind each code."""
    found = np.empty(n_seen, dtype=np.int64)
    places = np.flatnonzero(codes >= 0)
    found[codes[places]] = places
    return found

"""Coding the labels of generated members as an ensemble."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._data.building import build_ensemble
from quorate._data.coding import narrowest
from quorate._types import Ensemble
from quorate.generation.features import Features
from quorate.generation.runner import Finished
from quorate.ops.coding import MISSING, UNSEEN, code_columns


def as_coded(finished: Finished, features: Features, info: dict[str, Any]) -> Ensemble:
    """Code the labels by first appearance, in place, because the matrix may take most of the memory."""
    labels = finished.labels
    n_members = labels.shape[1]
    spans = np.array([facts["n_clusters"] + 1 for facts in finished.facts])
    starts = np.concatenate([[0], np.cumsum(spans)]).astype(np.int64)
    lookup = np.full(starts[-1], UNSEEN, dtype=np.int32)
    lookup[starts[:-1]] = MISSING
    seen = np.zeros(n_members, dtype=np.int64)
    code_columns(labels, np.full(n_members, -1, dtype=np.int64), starts, lookup, seen, labels)
    parts = (lookup[start + 1 : stop] for start, stop in pairwise(starts))
    categories = tuple(_categories(part, int(count)) for part, count in zip(parts, seen, strict=True))
    names = tuple(f"member {place}" for place in range(n_members))
    narrow = labels.astype(narrowest(int(seen.max())), copy=False)
    return build_ensemble(narrow, names, categories, ids=features.ids, info=info)


def _categories(codes: NDArray[np.int32], n_seen: int) -> NDArray[np.int64]:
    """Return the member's own cluster number for each code."""
    numbers = np.empty(n_seen, dtype=np.int64)
    places = np.flatnonzero(codes >= 0)
    numbers[codes[places]] = places
    return numbers

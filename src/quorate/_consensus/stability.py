"""Stability of a number of clusters: whether two halves of the members lead to the same clusters of some objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from quorate._consensus.run_method import MAX_BYTES, run_method
from quorate._data.compression import compress
from quorate._data.selection import select_members, select_rows
from quorate._types import Ensemble
from quorate.solvers.contingency import ari, contingency
from quorate.solvers.member_order import in_content_order

MOST_OBJECTS = 1_000
"""Objects that are drawn for the comparison at most."""
FEWEST_MEMBERS = 4
"""With fewer members a half is a single member, which says nothing about a consensus."""


def halves_agree(
    ensemble: Ensemble, method: str, options: Mapping[str, Any], numbers: Sequence[int], seed: int
) -> dict[int, float]:
    """Return the ARI of the consensuses of two halves of the members for each number of clusters.

    Objects are drawn at random, so that both members and objects are resampled. Numbers for which a half has no answer
    are left out.
    """
    if ensemble.n_members < FEWEST_MEMBERS:
        return {}
    rng = np.random.default_rng((seed, 1))
    seen = _drawn(in_content_order(ensemble), rng)
    order = rng.permutation(seen.n_members)
    halves = [np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])]
    parts = [select_members(seen, half) for half in halves]
    if len(order) < FEWEST_MEMBERS or any((part.labels.max(axis=1) < 0).any() for part in parts):
        return {}
    rows = [compress(part) for part in parts]
    found = {}
    for k in numbers:
        try:
            one, other = (
                run_method(
                    part, k, method, random_state=seed, max_bytes=MAX_BYTES, refine=False, options=options
                ).labels[inverse]
                for part, inverse in rows
            )
        except (ValueError, MemoryError):
            continue
        table = contingency(one, other, int(one.max()) + 1, int(other.max()) + 1, seen.counts)
        found[k] = float(ari(table))
    return found


def _drawn(ensemble: Ensemble, rng: np.random.Generator) -> Ensemble:
    """Draw objects without replacement; all of them if they are few."""
    ends = np.cumsum(ensemble.counts)
    if ends[-1] <= MOST_OBJECTS:
        return ensemble
    places = rng.choice(int(ends[-1]), size=MOST_OBJECTS, replace=False, shuffle=False)
    rows, drawn = np.unique(np.searchsorted(ends, places, side="right"), return_counts=True)
    return select_rows(ensemble, rows, drawn.astype(np.int64))

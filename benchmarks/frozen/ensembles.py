"""The ensembles on which results are recorded: small and tied, missing, weighted, counted, soft, and large."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.ensembles import memberships, planted
from quorate import as_ensemble, as_soft_ensemble


class Case(NamedTuple):
    """An ensemble with a name, the number of clusters to ask for, and whether slow methods are run on it too."""

    name: str
    make: Callable[[], Any]
    n_clusters: int
    large: bool = False


def cases() -> Iterator[Case]:
    """At least forty ensembles of different kinds, each made anew by its `make`."""
    for seed in range(8):
        yield Case(f"tied {seed}", lambda s=seed: as_ensemble(planted(s, 60, 3, 5, 0.3)), 3)
    for seed in range(8):
        share = 0.1 + 0.1 * (seed % 4)
        yield Case(f"missing {seed}", lambda s=seed, m=share: as_ensemble(planted(s, 90, 4, 7, 0.2, m)), 4)
    for seed in range(6):
        yield Case(f"weighted {seed}", lambda s=seed: _weighted(s), 3)
    for seed in range(6):
        yield Case(f"counted {seed}", lambda s=seed: _counted(s), 4)
    for seed in range(6):
        yield Case(f"uneven {seed}", lambda s=seed: as_ensemble(planted(s, 150, 5, 8, 0.15, 0.05, (3, 12))), 5)
    for seed in range(3):
        yield Case(f"soft {seed}", lambda s=seed: as_soft_ensemble(memberships(s, 70, 4)), 3)
    yield Case("two objects", lambda: as_ensemble([[0, 1], [0, 1]]), 2)
    yield Case("unanimous", lambda: as_ensemble(np.repeat(np.arange(6) % 4, 4)[:, None].repeat(3, axis=1)), 4)
    yield Case("no agreement", lambda: as_ensemble(planted(1, 120, 4, 6, 1.0)), 4)
    for seed in range(3):
        yield Case(f"large {seed}", lambda s=seed: as_ensemble(planted(s, 40_000, 10, 12, 0.2)), 10, large=True)
    yield Case("large missing", lambda: as_ensemble(planted(9, 40_000, 10, 10, 0.1, 0.2)), 10, large=True)


def _weighted(seed: int) -> Any:
    weights = np.random.default_rng(seed).choice([0.25, 1.0, 2.0, 3.5], size=6)
    return as_ensemble(planted(seed, 80, 3, 6, 0.25, 0.1), weights=weights)


def _counted(seed: int) -> Any:
    counts = np.random.default_rng(seed).integers(1, 9, size=70)
    return as_ensemble(planted(seed, 70, 4, 6, 0.25), counts=counts)

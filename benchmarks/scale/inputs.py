"""Inputs of any size, made block by block: labels whose distinct rows grow with n, and features of twelve Gaussians."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

N_MEMBERS, N_FEATURES, N_CLUSTERS = 20, 16, 12
NOISE = 0.0125
"""Share of labels that are replaced at random: about 22% of ten million rows are then distinct."""
BLOCK = 1_000_000
_CELLS = 256


def labels(n: int, *, noise: float = NOISE, seed: int = 0) -> NDArray[np.int8]:
    """A table (n, 20) of labels: points of the plane in twelve groups, and members that are Voronoi cells of it."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(40, _CELLS - 40, size=(N_CLUSTERS, 2))
    members = _voronoi(rng)
    table = np.empty((n, N_MEMBERS), dtype=np.int8)
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        points = centres[rng.integers(N_CLUSTERS, size=stop - start)] + 9 * rng.standard_normal((stop - start, 2))
        x, y = np.clip(points, 0, _CELLS - 1).astype(np.int64).T
        block = members[x * _CELLS + y]
        n_wrong = rng.binomial(block.size, noise)
        wrong = rng.integers(block.size, size=n_wrong)
        limits = members.max(axis=0)[wrong % N_MEMBERS].astype(np.int64) + 1
        block.ravel()[wrong] = rng.integers(limits)
        table[start:stop] = block
    return table


def _voronoi(rng: np.random.Generator) -> NDArray[np.int8]:
    """The label of each of 256 x 256 cells of the plane in each member, (65536, 20)."""
    cells = np.stack(np.meshgrid(np.arange(_CELLS), np.arange(_CELLS), indexing="ij"), axis=-1).reshape(-1, 2)
    members = np.empty((len(cells), N_MEMBERS), dtype=np.int8)
    for member in range(N_MEMBERS):
        points = rng.uniform(0, _CELLS, size=(int(rng.integers(10, 41)), 2))
        members[:, member] = ((cells[:, None] - points) ** 2).sum(axis=2).argmin(axis=1)
    return members


def features(n: int, *, seed: int = 0) -> NDArray[Any]:
    """A float32 table (n, 16): twelve Gaussians that overlap a little."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(0, 10, size=(N_CLUSTERS, N_FEATURES)).astype(np.float32)
    table = np.empty((n, N_FEATURES), dtype=np.float32)
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        noise = rng.standard_normal((stop - start, N_FEATURES), dtype=np.float32)
        table[start:stop] = centres[rng.integers(N_CLUSTERS, size=stop - start)] + 1.6 * noise
    return table

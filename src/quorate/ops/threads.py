"""Run a nogil kernel over blocks of rows on a few threads; results never depend on how many."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numba

T = TypeVar("T")

BLOCK = 16_384
"""Rows below which a second thread costs more than it saves."""


def map_blocks(kernel: Callable[[int, int], T], n_rows: int, *, work: int = 1) -> list[T]:
    """kernel(start, stop) over consecutive blocks of rows, in order of the blocks.

    `work` says how many plain rows one of these costs, where they are more than labels looked up.

    Threads, not numba's prange: the kernels stay plain, compile in half the time, and can be called from
    several threads at once (as Dask does) on every threading layer. NUMBA_NUM_THREADS sets how many.
    """
    n_threads = min(numba.config.NUMBA_NUM_THREADS, max(1, n_rows * work // BLOCK))
    if n_threads == 1:
        return [kernel(0, n_rows)]
    edges = [n_rows * part // n_threads for part in range(n_threads + 1)]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(kernel, edges[:-1], edges[1:]))


def map_fixed_blocks(kernel: Callable[[int, int], T], n_rows: int, block: int) -> list[T]:
    """As `map_blocks` over blocks of the same rows whatever the threads: where each block adds up floats."""
    edges = [*range(0, n_rows, block), n_rows]
    n_threads = min(numba.config.NUMBA_NUM_THREADS, len(edges) - 1)
    if n_threads == 1:
        return [kernel(start, stop) for start, stop in pairwise(edges)]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(kernel, edges[:-1], edges[1:]))


def n_threads() -> int:
    """How many threads kernels use together: NUMBA_NUM_THREADS."""
    return int(numba.config.NUMBA_NUM_THREADS)

"""Run a nogil kernel over blocks of rows on a few threads; results never depend on how many."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numba

T = TypeVar("T")

BLOCK = 16_384
"""Rows below which a second thread costs more than it saves."""


def map_blocks(kernel: Callable[[int, int], T], n_rows: int, *, block: int = BLOCK) -> list[T]:
    """kernel(start, stop) over consecutive blocks of rows, in order of the blocks.

    Threads, not numba's prange: the kernels stay plain, compile in half the time, and can be called from
    several threads at once (as Dask does) on every threading layer. NUMBA_NUM_THREADS sets how many.
    """
    n_threads = min(numba.config.NUMBA_NUM_THREADS, max(1, n_rows // block))
    if n_threads == 1:
        return [kernel(0, n_rows)]
    edges = [n_rows * part // n_threads for part in range(n_threads + 1)]
    kernel_results = []
    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(kernel, start, stop) for start, stop in zip(edges, edges[1:], strict=False)]
        kernel_results = [future.result() for future in futures]
    return kernel_results

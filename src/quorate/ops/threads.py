"""Run a kernel over blocks of rows on threads, whose number never changes a result; one thread for BLAS.

The kernel must release the interpreter lock, as all kernels of this package do.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numba

S = TypeVar("S")
T = TypeVar("T")

BLOCK = 16_384
"""With fewer rows than this per thread, another thread costs more than it saves."""
PIECE = 4 * BLOCK
"""Rows that a thread works on before it returns to Python, where Ctrl-C is noticed: well below a second of work."""


UNLIMITED = 1 << 20
"""Cores of a process without a quota."""
TASK_ROWS = 2_048
"""With fewer rows than this, a task is over before another thread has begun."""


def map_blocks(kernel: Callable[[int, int], T], n_rows: int, *, work: int = 1) -> list[T]:
    """Call kernel(start, stop) for consecutive blocks of rows and return the results in the order of the blocks.

    `work` is the cost of one row, relative to looking up its labels; expensive rows are worth more threads.

    Threads are used instead of numba's prange: the kernels remain plain functions, compile in half the time, and can be
    called from several threads at once (as Dask does) with every threading layer. The environment variable
    NUMBA_NUM_THREADS sets the number of threads.
    """
    n_workers = min(n_threads(), max(1, n_rows * work // BLOCK))
    n_pieces = max(n_workers, -(-n_rows * work // PIECE))
    return _map_pieces(kernel, [n_rows * part // n_pieces for part in range(n_pieces + 1)], n_workers)


def map_fixed_blocks(kernel: Callable[[int, int], T], n_rows: int, block: int) -> list[T]:
    """Do what `map_blocks` does, over blocks that do not depend on the number of threads.

    This is needed if each block adds up floating-point numbers, because their sum depends on the blocks.
    """
    edges = [*range(0, n_rows, block), n_rows]
    return _map_pieces(kernel, edges, min(n_threads(), len(edges) - 1))


def _map_pieces(kernel: Callable[[int, int], T], edges: list[int], n_workers: int) -> list[T]:
    """Call the kernel for the pieces between the edges; after Ctrl-C no further piece is begun."""
    if n_workers <= 1:
        return [kernel(start, stop) for start, stop in pairwise(edges)]
    pool = ThreadPoolExecutor(n_workers)
    try:
        return list(pool.map(kernel, edges[:-1], edges[1:]))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def n_threads() -> int:
    """Return the number of threads that kernels use together: as many as the process may keep busy.

    NUMBA_NUM_THREADS sets it, by default to the cores that the process is bound to; a container or a service whose
    share of the processor is limited to less (a quota of cgroups) has fewer.
    """
    return min(int(numba.config.NUMBA_NUM_THREADS), granted_cores())


@cache
def granted_cores(root: str = "/sys/fs/cgroup", groups: str = "/proc/self/cgroup") -> int:
    """Return how many cores the quotas of this process's control groups add up to, rounded up; many without quotas."""
    try:
        lines = Path(groups).read_text(encoding="utf-8").splitlines()
    except OSError:
        return UNLIMITED
    places = [line.split(":", 2) for line in lines if line.count(":") >= 2]
    paths = [name for _, kind, name in places if kind == "" or "cpu" in kind.split(",")]
    shares = [share for name in paths for share in _quotas(Path(root), name)]
    return max(1, math.ceil(min(shares, default=UNLIMITED)))


def _quotas(root: Path, group: str) -> Iterator[float]:
    """Yield the quotas in cores of a control group and those above it, in both versions of control groups."""
    for place in (Path(group), *Path(group).parents):
        inside = place.relative_to("/") if place.is_absolute() else place
        try:
            quota, period = (root / inside / "cpu.max").read_text(encoding="utf-8").split()
            yield int(quota) / int(period)
        except (OSError, ValueError):  # there is no such file, or it says "max"
            pass
        try:
            folder = root / "cpu" / inside
            microseconds = int((folder / "cpu.cfs_quota_us").read_text(encoding="utf-8"))
            if microseconds > 0:
                yield microseconds / int((folder / "cpu.cfs_period_us").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            pass


def map_tasks(task: Callable[[S], T], items: list[S], n_rows: int) -> list[T]:
    """Call task(item) for each item, on several threads if the rows that each task goes over are many.

    The results are in the order of the items, and do not depend on the number of threads.
    """
    n_workers = min(n_threads(), len(items))
    if n_workers < 2 or n_rows < TASK_ROWS:
        return [task(item) for item in items]
    with ThreadPoolExecutor(n_workers) as pool:
        return list(pool.map(task, items))


class Crew:
    """Threads that are kept for many short tasks, one after the other; a crew of one does everything by itself."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._pool = ThreadPoolExecutor(size) if size > 1 else None

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def share(self, task: Callable[[int, int], object], worth_it: bool) -> None:
        """Call task(first, step) on each thread, which does the items first, first + step, first + 2 * step and so on.

        Items that follow each other cost about as much, so that threads take turns. worth_it: whether the task takes
        much longer than starting it, which is some tens of microseconds.
        """
        if self._pool is None or not worth_it:
            task(0, 1)
        else:
            list(self._pool.map(task, range(self.size), [self.size] * self.size))


class StoppedError(Exception):
    """Raised by a member that ends because it was asked to."""


class Stop:
    """A flag set by the main thread and checked by members between blocks and sweeps.

    In another process it is never set: there the worker process is ended instead.
    """

    def __init__(self) -> None:
        self._event = threading.Event()

    def __reduce__(self) -> tuple[type[Stop], tuple[()]]:
        return Stop, ()

    def set(self) -> None:
        self._event.set()

    def check(self) -> None:
        if self._event.is_set():
            raise StoppedError


class _Keeper:
    """Keeps the limit from the time at which the first thread needs it until the last one does not.

    A thread of its own sets the limit and removes it: since version 3.8 of threadpoolctl, the thread that limits
    OpenBLAS first is the only one that can change the limit, and what other threads ask for is ignored.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_users = 0
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        with self._lock:
            self._n_users += 1
            if self._n_users == 1:
                self._is_over, is_set = threading.Event(), threading.Event()
                self._thread = threading.Thread(target=self._keep, args=(self._is_over, is_set), daemon=True)
                self._thread.start()
                is_set.wait()

    def end(self) -> None:
        with self._lock:
            self._n_users -= 1
            if self._n_users == 0 and self._thread is not None:
                self._is_over.set()
                self._thread.join()

    @staticmethod
    def _keep(is_over: threading.Event, is_set: threading.Event) -> None:
        try:
            with _blas().limit(limits=1, user_api="blas"):
                is_set.set()
                is_over.wait()
        finally:
            is_set.set()


_keeper = _Keeper()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, because its sums depend on their number, and members already run on all threads.

    The limit of OpenBLAS holds for the whole process, and the last thread that leaves removes it. Libraries that have
    a limit for each thread, such as those built with OpenMP, are limited in the thread of the caller.
    """
    _keeper.begin()
    try:
        with _blas().limit(limits=1, user_api="blas"):
            yield
    finally:
        _keeper.end()


def blas_waits() -> bool:
    """Whether BLAS has more threads than the process may keep busy, so that they would wait for each other."""
    return any(library["num_threads"] > n_threads() for library in _blas().info() if library["user_api"] == "blas")


@cache
def _blas() -> Any:
    """Return a controller of the BLAS libraries of this process; they are looked for once."""
    import scipy.linalg  # noqa: F401, loads the BLAS library that has to be controlled
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()

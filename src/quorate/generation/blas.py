"""One thread for BLAS while members are made, because its sums depend on the number of its threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


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


@cache
def _blas() -> Any:
    """Return a controller of the BLAS libraries of this process; they are looked for once."""
    import scipy.linalg  # noqa: F401, loads the BLAS library that has to be controlled
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()

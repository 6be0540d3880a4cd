"""Training all members of measurements in blocks together, so that one pass over the blocks serves all of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from quorate._blocks.feature_array import BlockArray
from quorate.ops.threads import n_threads

Array = NDArray[Any]
T = TypeVar("T")


class Gathering:
    """Lets tasks in threads wait for rows of an array until all of them wait, and then reads all rows in one pass.

    A task is a member in training: it draws a sample of the objects and asks for their rows. What it gets does not
    depend on the other tasks. At most as many tasks compute at once as there are threads.
    """

    def __init__(self, array: BlockArray) -> None:
        self._array = array
        self._turn = threading.Condition()
        self._slots = threading.Semaphore(n_threads())
        self._n_running = 0
        self._wanted: dict[int, NDArray[np.int64]] = {}
        self._found: dict[int, Array | BaseException] = {}

    def run(self, tasks: list[Callable[[], T]]) -> list[T]:
        """Run tasks that read the array, each in a thread of its own; return their results in order."""
        results: list[Any] = [None] * len(tasks)
        errors: list[BaseException] = []

        def work(place: int, task: Callable[[], T]) -> None:
            try:
                with self._slots:
                    results[place] = task()
            except BaseException as error:  # raised again below, in the thread of the caller
                errors.append(error)
            finally:
                self._leave()

        self._n_running = len(tasks)
        threads = [threading.Thread(target=work, args=pair, daemon=True) for pair in enumerate(tasks)]
        self._array.gather = self._rows
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            self._array.gather = None
        if errors:
            raise errors[0]
        return results

    def _rows(self, numbers: NDArray[np.int64]) -> Array:
        """Return rows for the task in this thread; called by the array."""
        me = threading.get_ident()
        self._slots.release()
        try:
            with self._turn:
                self._wanted[me] = numbers
                self._read_if_all_wait()
                self._turn.wait_for(lambda: me in self._found)
                found = self._found.pop(me)
        finally:
            self._slots.acquire()
        if isinstance(found, BaseException):
            raise found
        return found

    def _leave(self) -> None:
        with self._turn:
            self._n_running -= 1
            self._read_if_all_wait()

    def _read_if_all_wait(self) -> None:
        """Read the rows that all waiting tasks want if no other task runs; the lock is held."""
        if not self._wanted or len(self._wanted) < self._n_running:
            return
        try:
            together = np.unique(np.concatenate(list(self._wanted.values())))
            rows = self._array.rows(together)
            for me, numbers in self._wanted.items():
                self._found[me] = rows[np.searchsorted(together, numbers)]
        except BaseException as error:  # every task that waits gets it
            self._found.update(dict.fromkeys(self._wanted, error))
        self._wanted.clear()
        self._turn.notify_all()

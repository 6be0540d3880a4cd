"""A flag that asks running members to end, so that Ctrl-C works at once while threads are computing."""

from __future__ import annotations

import threading


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

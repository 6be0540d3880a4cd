"""A flag that asks running members to end: what makes Ctrl-C prompt while threads are at work."""

from __future__ import annotations

import threading


class StoppedError(Exception):
    """A member ended because it was asked to."""


class Stop:
    """Set by the main thread, looked at between blocks and sweeps.

    In another process it is a flag nobody sets: there the worker is ended instead.
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

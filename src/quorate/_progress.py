"""Showing progress on standard error: the current step, its elapsed seconds, how far it is, and the time left."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TextIO

FIRST_WAIT = 1.0
"""Seconds after which a step is shown for the first time; shorter steps are never shown."""
LEAST_SHARE = 0.02
"""The share of the work that must be done before the time left is estimated from it."""


def progress(name: str = "working") -> AbstractContextManager[None]:
    """Show on standard error how far the calls within a ``with`` statement are.

    Parameters
    ----------
    name : str
        What the line begins with.

    Returns
    -------
    context manager

    See Also
    --------
    generate : Has an option ``progress``, as have `consensus`, `over_k` and the estimators, which do the same.

    Notes
    -----
    The line is written once the work takes longer than a second, and is kept up to date: on a terminal and in a
    notebook it replaces itself and is wiped at the end, elsewhere a line is written every ten seconds. Nothing is
    shown for work in other processes. The steps are also told to the logger ``quorate``, at level INFO.

    Examples
    --------
    >>> import quorate
    >>> with quorate.progress("choosing a number"):
    ...     choice = quorate.choose_k([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]], (2, 3), random_state=0)
    >>> choice.n_clusters
    2
    """
    return steps(is_shown=True)(str(name))


class Step(Protocol):
    """Makes a context manager from the name of a step and a function that returns the share done, or None."""

    def __call__(
        self, name: str, share: Callable[[], float | None] | None = None, /
    ) -> AbstractContextManager[None]: ...


def steps(*, is_shown: bool, told_from: int | None = None) -> Step:
    """Return a function that makes a context manager from the name of a step.

    While the body of the ``with`` statement runs, the name, the elapsed seconds and, if they are known, how far the
    step is and the time left are shown on standard error, once the step takes longer than a second. The time left is
    computed from the share of the work that is done, which the step or the library reports, or it is the estimate of a
    method that is slow on many rows. If steps are not shown, that work is continued, or will take long, is written
    nevertheless, provided that it is logged at the level `told_from` or above.
    """
    from quorate import _check

    _check.choice(is_shown, "progress", (True, False))

    @contextmanager
    def step(name: str, share: Callable[[], float | None] | None = None, /) -> Iterator[None]:
        if not is_shown and told_from is None:
            yield
            return
        outer = _listener()
        if outer is not None:
            # one line is enough: this step is a part of that which is shown already
            outer.shown.report(name, 0.0)
            yield
            return
        shown = _Shown(name, share)
        with _listening(shown, is_shown, logging.INFO if told_from is None else told_from):
            if not is_shown:
                yield
                return
            ticker = threading.Thread(target=_show_until_done, args=(shown, sys.stderr), daemon=True)
            ticker.start()
            try:
                yield
            finally:
                shown.done.set()
                ticker.join()

    return step


class _Shown:
    """The state of the step that is being shown."""

    def __init__(self, name: str, share: Callable[[], float | None] | None) -> None:
        self.name, self.start, self.done = name, time.perf_counter(), threading.Event()
        self.share = share
        self.part, self.part_start = "", self.start
        self.told = ""
        self.reported_share: float | None = None
        self.expected_end: float | None = None

    def report(self, told: str, share: float) -> None:
        """Take the share of a part of the step that is done; a step may have several parts, one after another."""
        name = told.partition(":")[0]
        if name != self.part or share < (self.reported_share or 0.0):
            self.part, self.part_start = name, self.start if not self.part else time.perf_counter()
        self.told, self.reported_share = told, share

    def text(self) -> str:
        """Return the name, the seconds and, if they are known, how far the step is and the time left."""
        from quorate import _check

        now = time.perf_counter()
        left = self._left(now)
        remaining = "" if left is None else f", about {_check.duration(left)} left"
        part = f", {self.told}" if self.told else ""
        return f"quorate: {self.name} ... {now - self.start:.0f} s{part}{remaining}"

    def _left(self, now: float) -> float | None:
        """Return the seconds left of the part that was reported last, or of the step, if they can be estimated."""
        share, start = None if self.share is None else self.share(), self.start
        if share is None and self.reported_share is not None:
            share, start = self.reported_share, self.part_start
        if share is not None and LEAST_SHARE <= share < 1:
            return (now - start) * (1 - share) / share
        if self.expected_end is not None and self.expected_end > now:
            return self.expected_end - now
        return None


class _Listener(logging.Filter):
    """Hears what the library logs: how much of a step is done, how long a method will take, and work that is continued.

    Records are let through at the level that was set before, so that the user's own log holds no more than without.
    """

    def __init__(self, shown: _Shown, is_shown: bool, told_from: int, level: int) -> None:
        super().__init__()
        self.shown, self.is_shown, self.told_from, self.level = shown, is_shown, told_from, level

    def filter(self, record: logging.LogRecord) -> bool:
        share, seconds = getattr(record, "share", None), getattr(record, "seconds", None)
        if share is not None:
            self.shown.report(record.getMessage(), share)
        if seconds is not None:
            self.shown.expected_end = time.perf_counter() + seconds
        is_line = seconds is not None and self.is_shown and not _rewrites(sys.stderr)
        is_late = seconds is not None and record.levelno >= logging.WARNING and not self.is_shown
        is_continued = getattr(record, "continues", False) and (self.is_shown or record.levelno >= self.told_from)
        if is_line or is_late or is_continued:
            wiped = _wipe(sys.stderr) if self.is_shown and _rewrites(sys.stderr) else ""
            sys.stderr.write(f"{wiped}quorate: {record.getMessage()}\n")
        return record.levelno >= self.level


def _listener() -> _Listener | None:
    """Return what listens to the library already, if anything does."""
    found = (one for one in logging.getLogger("quorate").filters if isinstance(one, _Listener))
    return next(found, None)


@contextmanager
def _listening(shown: _Shown, is_shown: bool, told_from: int) -> Iterator[None]:
    """Listen to the library's logger as long as the step runs."""
    logger = logging.getLogger("quorate")
    level, effective = logger.level, logger.getEffectiveLevel()
    listener, nothing = _Listener(shown, is_shown, told_from, effective), logging.NullHandler()
    if not logger.hasHandlers():
        # what nobody handles is written to standard error by Python, and would be there twice
        logger.addHandler(nothing)
    logger.addFilter(listener)
    logger.setLevel(min(logging.INFO, effective))
    try:
        yield
    finally:
        logger.removeFilter(listener)
        logger.removeHandler(nothing)
        logger.setLevel(level)


def _wipe(stream: TextIO) -> str:
    """Return what wipes the line; notebooks do not know the sequence of terminals."""
    return "\r\x1b[K" if stream.isatty() else f"\r{'':160}\r"


def _rewrites(stream: TextIO) -> bool:
    """Whether a line that begins with a carriage return replaces the one before: on terminals and in notebooks."""
    return stream.isatty() or type(stream).__module__.startswith("ipykernel")


def _show_until_done(shown: _Shown, stream: TextIO) -> None:
    """Keep one line up to date where that is possible, and wipe it at the end; otherwise add one every ten seconds."""
    rewrites = _rewrites(stream)
    wait, was_shown = FIRST_WAIT, False
    while not shown.done.wait(wait):
        was_shown, wait = True, 0.2 if rewrites else 10.0
        text = shown.text()
        stream.write(f"{_wipe(stream)}{text}" if rewrites else f"{text}\n")
        stream.flush()
    if was_shown and rewrites:
        stream.write(_wipe(stream))
        stream.flush()

"""Showing progress on standard error: the current step of the shell tool, its elapsed seconds, and the time left."""

from __future__ import annotations

import argparse
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


class Step(Protocol):
    """Makes a context manager from the name of a step and a function that returns the share done, or None."""

    def __call__(
        self, name: str, share: Callable[[], float | None] | None = None, /
    ) -> AbstractContextManager[None]: ...


def shows_progress(arguments: argparse.Namespace) -> bool:
    """Whether progress is wanted: by option, or because standard error is a terminal."""
    if arguments.quiet or arguments.no_progress:
        return False
    return bool(arguments.progress or sys.stderr.isatty())


def steps(arguments: argparse.Namespace) -> Step:
    """Return a function that makes a context manager from the name of a step.

    While the body of the ``with`` statement runs, the name, the elapsed seconds and, if it is known, the time left are
    shown on standard error, once the step takes longer than a second. The time left is computed from the share of the
    work that is done, which the step or the library reports, or it is the estimate of a method that is slow on many
    rows.
    """
    is_shown = shows_progress(arguments)

    @contextmanager
    def step(name: str, share: Callable[[], float | None] | None = None, /) -> Iterator[None]:
        shown = _Shown(name, share)
        with _listening(shown, is_shown):
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
        self.reported_share: float | None = None
        self.expected_end: float | None = None

    def report(self, part: str, share: float) -> None:
        """Take the share of a part of the step that is done; a step may have several parts, one after another."""
        if part != self.part:
            self.part, self.part_start = part, self.start if not self.part else time.perf_counter()
        self.reported_share = share

    def text(self) -> str:
        """Return the name, the seconds and, if it is known, the time left."""
        from quorate._check import duration

        now = time.perf_counter()
        left, part = self._left(now)
        remaining = "" if left is None else f", {part}about {duration(left)} left"
        return f"quorate: {self.name} ... {now - self.start:.0f} s{remaining}"

    def _left(self, now: float) -> tuple[float | None, str]:
        """Return the seconds left, if they can be estimated, and the name of the part that they are for."""
        share = None if self.share is None else self.share()
        start, part = self.start, ""
        if share is None and self.reported_share is not None:
            share, start, part = self.reported_share, self.part_start, f"{self.part}: "
        if share is not None and LEAST_SHARE <= share < 1:
            return (now - start) * (1 - share) / share, part
        if self.expected_end is not None and self.expected_end > now:
            return self.expected_end - now, ""
        return None, ""


class _Listener(logging.Handler):
    """Receives what the library logs about time: how much of a step is done, and how long a method will take."""

    def __init__(self, shown: _Shown, is_shown: bool) -> None:
        super().__init__(logging.INFO)
        self.shown, self.is_shown = shown, is_shown

    def emit(self, record: logging.LogRecord) -> None:
        share, seconds = getattr(record, "share", None), getattr(record, "seconds", None)
        if share is not None:
            self.shown.report(record.getMessage().partition(":")[0], share)
        if seconds is None:
            return
        self.shown.expected_end = time.perf_counter() + seconds
        is_line = self.is_shown and not sys.stderr.isatty()
        if is_line or (record.levelno >= logging.WARNING and not self.is_shown):
            sys.stderr.write(f"quorate: {record.getMessage()}\n")


@contextmanager
def _listening(shown: _Shown, is_shown: bool) -> Iterator[None]:
    """Listen to the library's logger as long as the step runs."""
    logger, listener = logging.getLogger("quorate"), _Listener(shown, is_shown)
    level = logger.level
    logger.addHandler(listener)
    if is_shown:
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(listener)
        logger.setLevel(level)


def _show_until_done(shown: _Shown, stream: TextIO) -> None:
    """Keep one line up to date on a terminal and erase it at the end; otherwise write a line every ten seconds."""
    is_terminal = stream.isatty()
    wait, was_shown = FIRST_WAIT, False
    while not shown.done.wait(wait):
        was_shown, wait = True, 0.2 if is_terminal else 10.0
        text = shown.text()
        stream.write(f"\r\x1b[K{text}" if is_terminal else f"{text}\n")
        stream.flush()
    if was_shown and is_terminal:
        stream.write("\r\x1b[K")
        stream.flush()

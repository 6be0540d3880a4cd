"""Progress on standard error: the step at which the shell tool is, and for how many seconds it has been there."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TextIO

Step = Callable[[str], AbstractContextManager[None]]

FIRST_WAIT = 1.0
"""Seconds after which a step is shown for the first time; shorter steps are never shown."""


def shows_progress(arguments: argparse.Namespace) -> bool:
    """Whether progress is wanted: by option, or because standard error is a terminal."""
    if arguments.quiet or arguments.no_progress:
        return False
    return bool(arguments.progress or sys.stderr.isatty())


def steps(arguments: argparse.Namespace) -> Step:
    """A function that makes a context manager from the name of a step.

    While the body of the ``with`` statement runs, the name and the elapsed seconds are shown on standard error,
    once the step takes longer than a second.
    """
    is_shown = shows_progress(arguments)

    @contextmanager
    def step(name: str) -> Iterator[None]:
        if not is_shown:
            yield
            return
        done = threading.Event()
        ticker = threading.Thread(target=_show_until_done, args=(name, done, sys.stderr), daemon=True)
        ticker.start()
        try:
            yield
        finally:
            done.set()
            ticker.join()

    return step


def _show_until_done(name: str, done: threading.Event, stream: TextIO) -> None:
    """On a terminal keep one line up to date and erase it at the end; elsewhere write a line every ten seconds."""
    start, is_terminal = time.perf_counter(), stream.isatty()
    wait, was_shown = FIRST_WAIT, False
    while not done.wait(wait):
        was_shown, wait = True, 0.2 if is_terminal else 10.0
        text = f"quorate: {name} ... {time.perf_counter() - start:.0f} s"
        stream.write(f"\r\x1b[K{text}" if is_terminal else f"{text}\n")
        stream.flush()
    if was_shown and is_terminal:
        stream.write("\r\x1b[K")
        stream.flush()

"""What the shell tool tells while it works: the step it is at and the seconds it has taken."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO


def is_watched(arguments: argparse.Namespace) -> bool:
    """Whether anybody wants to see what goes on."""
    return not (arguments.quiet or arguments.no_progress) and bool(arguments.progress or sys.stderr.isatty())


def steps(arguments: argparse.Namespace) -> Callable[[str], Any]:
    """A context manager for each step, that tells its name and time on standard error once it takes long."""
    shown = is_watched(arguments)

    @contextmanager
    def step(name: str) -> Iterator[None]:
        if not shown:
            yield
            return
        done = threading.Event()
        ticker = threading.Thread(target=_tick, args=(name, done, sys.stderr), daemon=True)
        ticker.start()
        try:
            yield
        finally:
            done.set()
            ticker.join()

    return step


def _tick(name: str, done: threading.Event, stream: TextIO) -> None:
    """On a terminal one line that is renewed and wiped; elsewhere, as in a log, a line every ten seconds."""
    start, terminal = time.perf_counter(), stream.isatty()
    wait, told = 1.0, False
    while not done.wait(wait):
        told, wait = True, 0.2 if terminal else 10.0
        text = f"quorate: {name} ... {time.perf_counter() - start:.0f} s"
        stream.write(f"\r\x1b[K{text}" if terminal else f"{text}\n")
        stream.flush()
    if told and terminal:
        stream.write("\r\x1b[K")
        stream.flush()

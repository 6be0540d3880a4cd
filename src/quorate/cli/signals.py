"""Ctrl-C and requests to end are answered within a second, also while compiled code runs.

Python notices a signal only between two of its own instructions. While a kernel, a decomposition or a graph partition
computes, that may take minutes. So a thread of its own hears of every signal at once, gives the command a moment to
clean up after itself, and ends the process if it has not. Outputs are written aside and renamed, so that nothing is
left half-written, and what was being written is removed first.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

PATIENCE = 0.7
"""Seconds that the command has for ending by itself."""
ENDING = {"SIGTERM": "ended by SIGTERM", "SIGHUP": "ended by SIGHUP, because the terminal was closed"}
"""Signals beside Ctrl-C that end the command, and what is told."""


class EndedError(KeyboardInterrupt):
    """A signal of ENDING arrived; a KeyboardInterrupt, so that all clean up after it as after Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(ENDING[signal.Signals(number).name])
        self.status = 128 + number


@contextmanager
def answered_signals() -> Iterator[None]:
    """Answer Ctrl-C, SIGTERM and SIGHUP while the body runs; signals that are ignored stay ignored, as under nohup."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    told, heard = socket.socketpair()
    heard.setblocking(False)
    before: dict[int, Any] = {}
    for name in ENDING:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            before[number] = signal.signal(number, _end)
    former = signal.set_wakeup_fd(heard.fileno(), warn_on_full_buffer=False)
    former_hook = sys.unraisablehook
    sys.unraisablehook = partial(_unraisable, former_hook)
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(told, done, {signal.SIGINT, *before}), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        signal.set_wakeup_fd(former)
        for number, handler in before.items():
            signal.signal(number, handler)
        heard.close()
        watcher.join()
        told.close()
        sys.unraisablehook = former_hook


def _end(number: int, _: FrameType | None) -> None:
    raise EndedError(number)


def _unraisable(former_hook: Callable[[Any], Any], unraisable: Any) -> None:
    """Say nothing of an interrupt that came within a destructor, where Python drops it and prints a traceback.

    The command goes on then, and the watcher ends it.
    """
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        former_hook(unraisable)


def _watch(told: socket.socket, done: threading.Event, ending: set[int]) -> None:
    """Wait for a signal, then for the command to end; if it does not, end the process."""
    while True:
        received = told.recv(1)
        if not received:
            return
        number = received[0]
        if number in ending and not done.wait(PATIENCE):
            _end_now(number)


def _end_now(number: int) -> None:
    aside = sys.modules.get("quorate._io.aside")
    if aside is not None:
        aside.remove_own()
    name = signal.Signals(number).name
    message = ENDING.get(name, "interrupted")
    os.write(2, f"quorate: error: {message}\n".encode())
    os._exit(128 + number)

"""Time and peak memory of one call, each in a process of its own where memory is asked for."""

from __future__ import annotations

import multiprocessing
import os
import platform
import resource
import threading
import time
from collections.abc import Callable
from typing import Any


def environment() -> str:
    """Versions and machine, for the head of a result."""
    import numba
    import numpy
    import scipy
    import sklearn

    import quorate

    versions = ", ".join(f"{m.__name__} {m.__version__}" for m in (quorate, numpy, scipy, numba, sklearn))
    return f"{versions}; Python {platform.python_version()}, {os.cpu_count()} cores"


def seconds(call: Callable[[], Any], repeat: int = 3) -> tuple[float, Any]:
    """The least of `repeat` timings, and the last result."""
    best, result = float("inf"), None
    for _ in range(repeat):
        start = time.perf_counter()
        result = call()
        best = min(best, time.perf_counter() - start)
    return best, result


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def _watched(prepare: Callable[..., Any], call: Callable[..., Any], arguments: tuple[Any, ...], pipe: Any) -> None:
    data = prepare(*arguments)
    base, peak, done = _resident(), [_resident()], threading.Event()

    def watch() -> None:
        while not done.wait(0.002):
            peak[0] = max(peak[0], _resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    call(data)
    done.set()
    watcher.join()
    pipe.send(max(peak[0], _resident()) - base)


def peak_bytes(prepare: Callable[..., Any], call: Callable[..., Any], *arguments: Any) -> int:
    """Most memory that call(prepare(*arguments)) held beyond what prepare left, in a fresh process.

    `prepare` should also run the call once on a small input, so that imports and compiled code do not count.
    """
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_watched, args=(prepare, call, arguments, send))
    process.start()
    send.close()
    try:
        return int(receive.recv())
    finally:
        process.join()


def line(what: str, ours: float, peer: str, theirs: float, note: str = "") -> None:
    """One row of a result: what, our seconds, the peer's, the ratio."""
    print(f"{what:<46} {ours:9.3f} s   {peer:<34} {theirs:9.3f} s   {theirs / ours:7.1f}x  {note}", flush=True)

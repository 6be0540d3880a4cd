"""Time and peak memory of one stage after another in this process."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar, TypeVar

T = TypeVar("T")


def resident() -> int:
    """Bytes of memory that this process holds now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def give_back() -> None:
    """Return freed memory to the system, so that what a stage takes is not hidden in what others left behind."""
    gc.collect()
    with suppress(AttributeError):  # only the C library of GNU has it
        ctypes.CDLL(None).malloc_trim(0)


def machine() -> dict[str, Any]:
    """What a record tells about the machine: its cores, and how many processes wanted one in the last minute."""
    return {"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}


class Watch:
    """Measures stages; `records` holds one line for each, and `listeners` are handed each line when it is there."""

    listeners: ClassVar[list[Callable[[dict[str, Any]], object]]] = []

    def __init__(self, way: str, n: int) -> None:
        self.way, self.n = way, n
        self.records: list[dict[str, Any]] = []

    def stage(self, name: str, work: Callable[[], T], **told: Any) -> T:
        """Run `work` and record its seconds, and the most memory that the process held meanwhile, inputs included."""
        give_back()
        before = resident()
        peak, done = [before], threading.Event()

        def watch() -> None:
            while not done.wait(0.005):
                peak[0] = max(peak[0], resident())

        watcher = threading.Thread(target=watch)
        watcher.start()
        start, start_processor = time.perf_counter(), time.process_time()
        try:
            result = work()
        finally:
            seconds, processor = time.perf_counter() - start, time.process_time() - start_processor
            done.set()
            watcher.join()
        self.records.append(
            {
                "way": self.way,
                "stage": name,
                "n": self.n,
                "seconds": round(seconds, 4),
                "processor_seconds": round(processor, 4),
                "peak_bytes": max(peak[0], resident()),
                "extra_bytes": max(peak[0], resident()) - before,
                **machine(),
                **told,
            }
        )
        for listener in self.listeners:
            listener(self.records[-1])
        return result

"""What takes too long for the tests: every place of a fault, fifty kills, ten thousand calls, every limit of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.reliability import faults, load, places, signals
from benchmarks.reliability.server import Server

MEGABYTES = (300, 500, 800, 1100, 1200, 1500, 2000, 3000)
KILLS = 50
OTHER_SIGNALS = 15
CALLS = 10_000
PEAK_LIMIT = 200_000_000


def writes() -> dict[str, Any]:
    """Let every operation of every writer fail once, and bound the size of files and of the disk."""
    operations, wrong, bounded = 0, [], 0
    for writer in faults.WRITERS:
        n_operations, _ = faults.break_at(writer, 0)
        for place in range(1, n_operations + 1):
            wrong += faults.break_at(writer, place)[1]
        operations += n_operations
        for size in (0, 1, 30, 100, 300, 1_000, 3_000, 10_000):
            wrong += faults.small_files(writer, size)[1]
            bounded += 1
        for kilobytes in (0, 4, 8, 16, 40):
            found = faults.full_disk(writer, kilobytes)
            if found is not None:
                wrong += found[1]
                bounded += 1
    return {"writers": len(faults.WRITERS), "operations": operations, "bounded": bounded, "wrong": wrong}


def strange() -> dict[str, Any]:
    """Put something strange at every path that a writer touches, and cut the power at every operation."""
    paths, cuts, wrong = 0, 0, []
    for writer in faults.WRITERS:
        found = places.touched(writer)
        paths += len(found)
        wrong += [text for path in found for kind in places.STRANGE for text in places.strange_at(writer, path, kind)]
        n_operations, _ = places.cut_at(writer, 0)
        cuts += n_operations
        wrong += [text for place in range(1, n_operations + 1) for text in places.cut_at(writer, place)[1]]
        print(writer, len(found), n_operations, len(wrong), flush=True)
    return {"writers": len(faults.WRITERS), "paths": paths, "kinds": len(places.STRANGE), "cuts": cuts, "wrong": wrong}


def kills() -> dict[str, Any]:
    """Send signals at random moments of generate, save and report."""
    server = Server()
    sent: dict[str, int] = {}
    met, wrong = 0, []
    for job in signals.JOBS:
        for name, times in (
            ("SIGKILL", KILLS),
            ("SIGTERM", OTHER_SIGNALS),
            ("SIGHUP", OTHER_SIGNALS),
            ("SIGINT", OTHER_SIGNALS),
        ):
            found = signals.send_signals(server, job, name, times, seed=7)
            sent[name] = sent.get(name, 0) + found.sent
            met += found.met
            wrong += found.wrong
            print(job, name, found.sent, found.met, found.wrong, flush=True)
    server.close()
    return {"jobs": len(signals.JOBS), "sent": sent, "met": met, "wrong": wrong}


def memory() -> dict[str, Any]:
    """Run commands with little memory."""
    wrong, least = [], {}
    for job in load.LIMITED:
        for megabytes in MEGABYTES:
            succeeded, found = load.limited_memory(job, megabytes)
            wrong += [f"{job}, {megabytes} MB: {text}" for text in found]
            if succeeded:
                least.setdefault(job, megabytes)
    return {"runs": len(load.LIMITED) * len(MEGABYTES), "from": MEGABYTES[0], "least": least, "wrong": wrong}


def many() -> dict[str, Any]:
    """Call the library from threads and processes, many times, and for the first time."""
    wrong = load.in_threads(8, 64)
    for kind in ("fork", "spawn", "joblib"):
        wrong += load.in_processes(kind, 16)
    wrong += load.first_imports(4)
    bytes_per_call = load.growth(CALLS)
    if bytes_per_call > 1_000:
        wrong.append(f"{bytes_per_call:.0f} bytes more after each call")
    return {"threads": 8, "calls": CALLS, "bytes_per_call": round(bytes_per_call, 1), "imports": 4, "wrong": wrong}


def peaks() -> dict[str, Any]:
    """Compare what methods say they need with what they take, with confidence on all shapes of tables."""
    measured = load.peaks_of(PEAK_LIMIT)
    wrong = [f"{entry['method']} on {entry['shape']}: {entry}" for entry in measured if entry["exceeds"]]
    return {"measured": len(measured), "megabytes": PEAK_LIMIT // 1_000_000, "wrong": wrong}


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "writes": writes,
    "places": strange,
    "kills": kills,
    "memory": memory,
    "load": many,
    "peaks": peaks,
}

"""One peer on one input in a process of its own, with a limit of memory: `python -m benchmarks.peers.worker`."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

ENOUGH_TO_WARM_UP = 300


def run(peer: str, path: Path, *, seconds: float, gigabytes: float) -> dict[str, Any]:
    """What the process says of itself, or what ended it. The limits hold for the call, not for imports and warm-up."""
    command = [sys.executable, "-m", "benchmarks.peers.worker", peer, str(path), str(seconds), str(gigabytes)]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=4 * seconds + 120,
            env={**os.environ, **threads},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"more than {seconds:g} s"}  # or it slept, or its warm-up took so long
    for line in reversed(done.stdout.splitlines()):
        if line.startswith('{"peer_'):
            told: dict[str, Any] = json.loads(line)["peer_result"]
            return told
    last = (done.stderr.strip().splitlines() or [f"ended with status {done.returncode}"])[-1]
    return {"error": last[:300]}


def main() -> None:
    peer, path, seconds, gigabytes = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
    warnings.simplefilter("ignore")
    try:
        told = _measured(peer, path, seconds, gigabytes)
    except BaseException as error:  # whatever a peer raises is what its users see
        told = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
    _tell(told)


def _measured(peer: str, path: Path, seconds: float, gigabytes: float) -> dict[str, Any]:
    from benchmarks.peers.inputs import Objects, read
    from benchmarks.peers.peers import PEERS

    objects = read(path)
    call = PEERS[peer].call
    first = Objects(*(part[:ENOUGH_TO_WARM_UP] for part in objects))  # imports and compiled code
    _watched(lambda: call(first), seconds, f"more than {seconds:g} s, on {ENOUGH_TO_WARM_UP} objects already")
    resource.setrlimit(resource.RLIMIT_AS, (_status("VmSize") + int(gigabytes * 1e9), resource.RLIM_INFINITY))
    labels, taken, held = _watched(lambda: call(objects), seconds, f"more than {seconds:g} s")
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return {"seconds": taken, "gigabytes": held / 1e9, **_scores(labels, objects)}


def _watched(call: Callable[[], Any], seconds: float, otherwise: str) -> tuple[Any, float, int]:
    """The result, seconds of the processor (one thread each, and the machine may be busy), and bytes held on top."""
    base, peak, over = _status("VmRSS"), [0], threading.Event()
    start = time.process_time()

    def watch() -> None:
        while not over.wait(0.01):
            peak[0] = max(peak[0], _status("VmRSS"))
            if time.process_time() - start > seconds:
                _tell({"error": otherwise, "gigabytes": (peak[0] - base) / 1e9})
                os._exit(0)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    result = call()
    taken = time.process_time() - start
    over.set()
    watcher.join()
    return result, taken, max(0, peak[0] - base)


def _scores(labels: Any, objects: Any) -> dict[str, Any]:
    import numpy as np

    import quorate

    labels = np.unique(np.asarray(labels), return_inverse=True)[1].ravel()
    if len(labels) != len(objects.classes):
        return {"error": f"{len(labels):,} labels for {len(objects.classes):,} objects"}
    return {
        "clusters": int(labels.max()) + 1,
        "nmi": quorate.nmi(labels, objects.classes),
        "anmi": quorate.anmi(labels, objects.labels),
    }


def _status(name: str) -> int:
    """Bytes of this process, by the kernel's account."""
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    return 0


def _tell(told: dict[str, Any]) -> None:
    print("\n" + json.dumps({"peer_result": told}), flush=True)


if __name__ == "__main__":
    main()

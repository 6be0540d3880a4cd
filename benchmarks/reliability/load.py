"""Load: many threads and processes at once, many calls, little memory, and first imports without a cache."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import quorate
from benchmarks.reliability.cases import Case
from benchmarks.reliability.shell import Outcome, faults, prepare, python_path

METHODS = ("kmeans", "mcla", "transfer", "voting", "eac", "lwgp", "kmodes", "hbgf")
_SHELL = [sys.executable, "-m", "quorate"]
ARRAYS = np.random.default_rng(0).integers(4, size=(300, 8))


def labels_of(method: str) -> list[int]:
    """Return the consensus of a fixed table by one method."""
    found: list[int] = quorate.consensus(ARRAYS, 4, method=method, random_state=0).labels.tolist()
    return found


def one_round(number: int) -> list[int]:
    """Return what one call of each kind gives; `number` chooses the method."""
    made = quorate.generate(ARRAYS.astype(float), 3, k=4, base="kmeans", random_state=number % 8, n_jobs=1)
    return labels_of(METHODS[number % len(METHODS)]) + made.labels.ravel().tolist()


def in_threads(n_threads: int = 8, n_calls: int = 32) -> list[str]:
    """Call the library from several threads at once; return what differs from calls one after the other."""
    alone = [one_round(number) for number in range(n_calls)]
    with ThreadPoolExecutor(n_threads) as pool:
        together = list(pool.map(one_round, range(n_calls)))
    return [f"call {number} differs in threads" for number in range(n_calls) if alone[number] != together[number]]


def in_processes(kind: str, n_calls: int = 8) -> list[str]:
    """Call the library from processes made by fork, spawn, or joblib; return what differs."""
    alone = [one_round(number) for number in range(n_calls)]
    together: list[Any]
    if kind == "joblib":
        import joblib

        together = joblib.Parallel(n_jobs=2)(joblib.delayed(one_round)(number) for number in range(n_calls))
    else:
        with multiprocessing.get_context(kind).Pool(2) as pool:
            together = pool.map_async(one_round, range(n_calls)).get(timeout=300)
    return [f"call {number} differs by {kind}" for number in range(n_calls) if alone[number] != together[number]]


def growth(n_calls: int) -> float:
    """Return by how many bytes the process has grown per call, after a first tenth that fills caches."""
    table = quorate.as_ensemble(ARRAYS)
    warm = max(100, n_calls // 10)
    start = 0
    for number in range(n_calls + warm):
        if number == warm:
            start = _resident()
        result = quorate.consensus(table, 4, method="kmeans", random_state=number, n_init=2)
        quorate.nmi(result.labels, ARRAYS[:, 0])
        if number % 500 == 0:
            quorate.evaluate(result, table)
    return (_resident() - start) / n_calls


def _resident() -> int:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


LIMITED = {
    "consensus": Case("consensus", ["consensus", "labels.csv", "--id", "id", "-k", "3", "--no-null", "-o", "out.csv"]),
    "generate": Case("generate", ["generate", "features.csv", "--id", "id", "--k", "3", "-o", "out.npz"]),
    "report": Case("report", ["report", "labels.csv", "result.csv", "--id", "id", "-o", "page.html"]),
    "zarr": Case("zarr", ["consensus", "labels.zarr", "-k", "3", "--no-null", "-o", "out.parquet"]),
}


def limited_memory(job: str, megabytes: int) -> tuple[bool, list[str]]:
    """Run a command with a limit on its address space; return whether it succeeded, and what was wrong."""
    case = LIMITED[job]
    size = megabytes * 1_000_000
    with tempfile.TemporaryDirectory(prefix="quorate-memory-") as place:
        prepare(case, Path(place))
        before = {path.name for path in Path(place).iterdir()}
        try:
            done = subprocess.run(
                [*_SHELL, *case.run],
                cwd=place,
                capture_output=True,
                timeout=60,
                check=False,
                env={**os.environ, "PYTHONPATH": python_path()},
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)),
            )
        except subprocess.TimeoutExpired:
            return False, ["did not end"]
        made = tuple(path.name for path in Path(place).iterdir() if path.name not in before)
    outcome = Outcome(done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace"), 0.0, (), made)
    return done.returncode == 0, faults(case, outcome)


def peaks_of(limit: int, shapes: str = "fine,gaps,wide,many k") -> list[dict[str, Any]]:
    """Run memory_peaks.py in a process of its own; return what it measured.

    `shapes` are those on which methods also run with their confidence.
    """
    # memory that is given back goes to the system at once, so that the next peak is not hidden in it
    settings = {"MALLOC_TRIM_THRESHOLD_": "0", "MALLOC_MMAP_THRESHOLD_": "65536", "NUMBA_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(Path(__file__).with_name("memory_peaks.py")), str(limit), shapes],
        env={**os.environ, **settings, "PYTHONPATH": python_path()},
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def first_imports(n_processes: int = 4, call: str = "consensus(table, 2, random_state=0).labels") -> list[str]:
    """Start several processes at once whose compiled code is nowhere stored yet; return what went wrong.

    `call` is what they do first; all must tell the same as a process that finds its code stored.
    """
    table = [[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 2], [0, 1, 1, 1, 2, 2]]
    command = [sys.executable, "-c", f"from quorate import *; table = {table}; print({call})"]
    with tempfile.TemporaryDirectory(prefix="quorate-cache-") as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPATH": python_path()}
        started = [
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
            for _ in range(n_processes)
        ]
        told = [process.communicate(timeout=600) for process in started]
    usual = {**os.environ, "PYTHONPATH": python_path()}
    expected = subprocess.run(command, capture_output=True, text=True, env=usual, check=True).stdout
    wrong = [f"{out[-200:]} {err[-500:]}" for out, err in told if out != expected or err]
    return wrong + [f"exit status {process.returncode}" for process in started if process.returncode]

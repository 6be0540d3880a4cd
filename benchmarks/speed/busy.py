"""A default fit on 300, 3,000 and 30,000 objects: alone, beside two busy processes, and with half a core.

Every fit runs in a process of its own, in which the same fit came before, so that nothing is compiled. The peer is the
same fit with one thread everywhere, alone. Half a core is a quota of a control group, which only some users may set;
otherwise the process is bound to one core, beside a busy process that is bound to the same one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

SIZES = (300, 3_000, 30_000)
REPEAT = 3
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
CONTROL_GROUPS = Path("/sys/fs/cgroup")
HALF = {"cpu.max": "50000 100000", "cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "50000"}
"""Files of control groups of version 2 and of version 1, and what they say about half a core."""


def measure(n: int) -> dict[str, float]:
    """Seconds by the clock and of the processor of a second fit in this process."""
    from benchmarks.scale.inputs import features
    from quorate import EnsembleClustering

    table = features(n)
    EnsembleClustering(12, random_state=0).fit(table)
    start, start_processor = time.perf_counter(), time.process_time()
    EnsembleClustering(12, random_state=1).fit(table)
    return {"clock": time.perf_counter() - start, "processor": time.process_time() - start_processor}


def fit(n: int, settings: dict[str, str], prepare: Callable[[], object] | None = None) -> dict[str, float]:
    """The medians of several processes; `prepare` is called in each before anything else."""
    command = [sys.executable, "-m", "benchmarks.speed.busy", str(n)]
    # a limit that the user has set would hide what is measured
    environment = {name: value for name, value in os.environ.items() if name not in ONE_THREAD} | settings
    found = []
    for _ in range(REPEAT):
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, preexec_fn=prepare)
        found.append(json.loads(process.communicate()[0]))
    return {name: median(record[name] for record in found) for name in found[0]}


@contextmanager
def busy(number: int, cores: set[int] | None = None) -> Iterator[None]:
    """Processes that compute all the time meanwhile, bound to some cores if these are given."""
    command = [sys.executable, "-c", "while True: pass"]

    def bind() -> None:
        if cores is not None:
            os.sched_setaffinity(0, cores)

    processes = [subprocess.Popen(command, preexec_fn=bind) for _ in range(number)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@contextmanager
def half_a_core() -> Iterator[tuple[str, Callable[[], object]]]:
    """How half a core is had here, and what a process must do to be limited to it."""
    group = _limited_group()
    if group is not None:
        try:
            yield "a quota of half a core", lambda: (group / "cgroup.procs").write_text("0", encoding="ascii")
        finally:
            group.rmdir()
    else:
        core = {min(os.sched_getaffinity(0))}
        with busy(1, core):
            yield "one core shared with a busy process", lambda: os.sched_setaffinity(0, core)


def _limited_group() -> Path | None:
    """A control group of half a core, if this user may make one."""
    is_new = (CONTROL_GROUPS / "cgroup.subtree_control").exists()
    parent = CONTROL_GROUPS if is_new else CONTROL_GROUPS / "cpu"
    group = parent / "quorate-benchmark"
    try:
        group.mkdir()
    except OSError:
        return None
    try:
        for name, value in HALF.items():
            if ("cfs" in name) != is_new:
                # these files are there as soon as the folder is; where they are not, this is no control group
                with (group / name).open("r+", encoding="ascii") as file:
                    file.write(value)
        return group
    except OSError:
        group.rmdir()
        return None


def main(*, quick: bool = False) -> None:
    for n in SIZES[:1] if quick else SIZES:
        alone = fit(n, {})
        _line(n, "one thread", fit(n, ONE_THREAD), alone)
        _line(n, "alone", alone, alone)
        with busy(2):
            _line(n, "beside two busy processes", fit(n, {}), alone)
        with half_a_core() as (name, limit):
            _line(n, name, fit(n, {}, limit), alone)


def _line(n: int, how: str, found: dict[str, float], alone: dict[str, float]) -> None:
    print(
        f"{n:>7,} objects, {how:<36} clock {found['clock']:8.3f} s {found['clock'] / alone['clock']:5.1f}x alone   "
        f"processor {found['processor']:8.3f} s {found['processor'] / alone['processor']:5.1f}x",
        flush=True,
    )


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))

"""The cases in the order they are run, what was measured, and the process that measures."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.accuracy.algorithms import ALGORITHMS, DEFAULT, OURS
from benchmarks.accuracy.sets import LARGE, RAW, SETS, development_sets

SEEDS = 5
SECONDS = 30.0
"""Processor time of one run at most; Quorate has twenty times as much, so that its own cost is told and not cut off."""
GIGABYTES = 8.0
PUBLISHED = (DEFAULT, "one spectral member")
"""What stands beside published figures."""
MEASURES = ("nmi", "ari", "accuracy", "seconds", "clusters")
QUICK = ("iris", "wine", "shape_hepta", "shape_spiral", "text_tr23")


class Case(NamedTuple):
    """One run: a data set, an algorithm, and a seed, 0 for those that need none."""

    set: str
    algorithm: str
    seed: int


def cases(seeds: int = SEEDS) -> list[Case]:
    """All cases: useful ones first.

    First one seed on the sets of both halves, on those with published figures (Quorate and one member), and on the
    others of moderate size; then the other seeds, Quorate before the rest; and the large sets at the end.
    """
    halves = development_sets()
    moderate = halves + [name for name in SETS if name not in halves and name not in LARGE and name not in RAW]
    later = range(1, seeds)
    ordered = [*_cases(halves, [0]), *_cases(RAW, [0], PUBLISHED), *_cases(moderate, [0])]
    ordered += [case for seed in later for case in _cases(moderate, [seed], [DEFAULT])]
    ordered += [*_cases(RAW, later, PUBLISHED), *(case for seed in later for case in _cases(moderate, [seed]))]
    ordered += [*_cases(RAW, range(seeds)), *_cases(LARGE, range(seeds))]
    return list(dict.fromkeys(ordered))


def _cases(sets: Iterable[str], seeds: Iterable[int], algorithms: Iterable[str] = ALGORITHMS) -> Iterator[Case]:
    seeds = list(seeds)
    for name in sets:
        for algorithm in algorithms:
            yield from (Case(name, algorithm, seed) for seed in seeds if seed == 0 or ALGORITHMS[algorithm].stochastic)


class Results:
    """What was measured: one JSON line per case; a case that stands there is not run again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[Case, dict[str, Any]] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            try:
                record = json.loads(line)
                case = Case(record.pop("set"), record.pop("algorithm"), record.pop("seed"))
            except (ValueError, KeyError):
                continue  # the last line of a run that was killed while writing it
            self.found[case] = record

    def is_missing(self, case: Case) -> bool:
        """What failed or was too slow with seed 0 is not tried with another one."""
        return case not in self.found and "not" not in self.found.get(case._replace(seed=0), {})

    def write(self, case: Case, record: dict[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        broken = self.path.exists() and not self.path.read_bytes().endswith(b"\n") and self.path.stat().st_size > 0
        line = json.dumps({**case._asdict(), **record}, separators=(",", ":"))
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n" * broken + line + "\n")
        self.found[case] = record

    def values(self, measure: str) -> dict[tuple[str, str], list[float]]:
        """(set, algorithm) -> one value for each seed."""
        place = MEASURES.index(measure)
        table: dict[tuple[str, str], list[float]] = {}
        for case in sorted(self.found):
            if "values" in self.found[case]:
                table.setdefault((case.set, case.algorithm), []).append(self.found[case]["values"][place])
        return table


class Worker:
    """The process that measures; it is started anew after a run that ended it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def measure(self, case: Case) -> dict[str, Any]:
        """Scores, or why there are none."""
        seconds = SECONDS * (20 if case.algorithm in OURS else 1)
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({**case._asdict(), "seconds": seconds, "gigabytes": GIGABYTES}) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        status = self.close()
        if status == -signal.SIGXCPU:
            return {"not": f"over {seconds:g} s"}
        if status == -signal.SIGINT:
            raise KeyboardInterrupt
        return {"not": f"the process ended with status {status}"}

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.accuracy.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, **threads},
            )
        return self._process

    def close(self) -> int:
        """End the process, if there is one, and return its exit status."""
        process, self._process = self._process, None
        if process is None:
            return 0
        with process:  # closes its pipes and waits for it
            pass
        return process.returncode

"""What was measured for docs/trust.md, and the cases that are still to be measured."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.trust import cases, confidence, fresh, fresh_noise, fresh_sets, noise, noise_sets, numbers, verdicts

Record = dict[str, Any]
NUMBERS = "numbers"
"""The part about numbers of clusters, which has its own file."""


class Part(NamedTuple):
    """One part of the measurements: its cases, and the function that measures one of them."""

    names: Callable[[], list[str]]
    measure: Callable[[str], Record]
    quick: tuple[str, ...]


PARTS = {
    "noise": Part(
        noise_sets.names, noise.measure_noise, ("table / without / 0", "table / with / 0", "measured / with / 1")
    ),
    "confidence": Part(
        confidence.names,
        confidence.measure_confidence,
        ("default / iris", "k-means members / wine", "planted labels / 2"),
    ),
    "cases": Part(cases.names, cases.measure_case, ("labels as planted", "all labels shuffled")),
    "verdict": Part(verdicts.names, verdicts.measure_verdict, ("iris", "shape_hepta")),
    "fresh": Part(fresh_sets.names, fresh.measure_fresh, ("A / moons / 0",)),
    "fresh noise": Part(fresh_noise.names, fresh_noise.measure_fresh_noise, ("A / ball / 2",)),
    "fresh peers": Part(fresh.peer_names, fresh.measure_fresh_peer, ("A / moons / 0 / HDBSCAN",)),
}


class Results:
    """What was measured: one JSON line per case; a case that stands there is not measured again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, dict[str, Record]] = {part: {} for part in PARTS}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            try:
                record = json.loads(line)
                self.found[record.pop("part")][record.pop("case")] = record
            except (ValueError, KeyError):
                continue  # the last line of a run that was killed while writing it

    def missing(self, part: str, *, quick: bool = False) -> list[str]:
        """The cases of a part that were not measured yet."""
        cases = PARTS[part].quick if quick else PARTS[part].names()
        return [case for case in cases if case not in self.found[part]]

    def write(self, part: str, case: str, record: Record) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        broken = self.path.exists() and self.path.stat().st_size > 0 and not self.path.read_bytes().endswith(b"\n")
        line = json.dumps({"part": part, "case": case, **record}, separators=(",", ":"))
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n" * broken + line + "\n")
        self.found[part][case] = record


def measure_missing(results: Results, parts: list[str], jobs: int, *, quick: bool = False) -> None:
    """Measure what is missing, in several processes of one thread each."""
    wanted = [(part, case) for part in parts if part in PARTS for case in results.missing(part, quick=quick)]
    random.Random(0).shuffle(wanted)  # so that what an interrupted run has measured is a fair sample
    with _workers(jobs) as workers:
        runs = {workers.submit(PARTS[part].measure, case): (part, case) for part, case in wanted}
        for run in as_completed(runs):
            results.write(*runs[run], run.result())
            print(*runs[run], flush=True)


def measure_numbers(jobs: int) -> None:
    """Measure the numbers of clusters that are missing; `numbers.measure` keeps them in a file of its own."""
    done = {(record["set"], record["algorithm"]) for record in numbers.read_results()}
    wanted = [(name, algorithm) for algorithm in numbers.ALGORITHMS for name in numbers.SETS]
    with _workers(jobs) as workers:
        runs = {workers.submit(numbers.measure, [case[0]], case[1]): case for case in wanted if case not in done}
        for run in as_completed(runs):
            run.result()
            print(NUMBERS, *runs[run], flush=True)


def _workers(jobs: int) -> ProcessPoolExecutor:
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"))
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))

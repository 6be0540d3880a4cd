"""Mutating every format and running the shell tool on it; what breaks it becomes a case of the corpus."""

from __future__ import annotations

import base64
import hashlib
import multiprocessing
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reliability import fixtures
from benchmarks.reliability.cases import CORPUS, Case
from benchmarks.reliability.mutation import mutated
from benchmarks.reliability.shell import SECONDS, faults, run_case

_CONSENSUS = ["consensus", "{}", "-k", "2", "-m", "kmeans", "--no-null", "-o", "out.csv"]
_NAMED = [*_CONSENSUS, "--id", "id"]
_GENERATE = ["generate", "{}", "--base", "kmeans", "--members", "2", "--k", "2", "-o", "out.npz"]
_RESUME = ["generate", "features.npy", "--members", "3", "--k", "3", "--base", "kmeans", "-o", "out.npz"]
_SCORE = ["score", "labels.csv", "{}", "--id", "id", "--no-null"]
_BLOCKS = ["--memory", "1GB"]
# good file, and perhaps how it is read -> what is run on its mutations
TARGETS: dict[str, list[str]] = {
    "labels.csv": _NAMED,
    "labels.tsv": _NAMED,
    "labels.csv.gz": _NAMED,
    "labels.xlsx": _NAMED,
    "labels.parquet": _NAMED,
    "labels.npy": _CONSENSUS,
    "labels.npz": _CONSENSUS,
    "labels.zarr": _CONSENSUS,
    "features.csv": [*_GENERATE, "--id", "id"],
    "features.xlsx": [*_GENERATE, "--id", "id"],
    "features.parquet": [*_GENERATE, "--id", "id"],
    "features.npy": _GENERATE,
    "features.npz": _GENERATE,
    "features.zarr": _GENERATE,
    "csr.npz": _GENERATE,
    "csc.npz": _GENERATE,
    "result.csv": _SCORE,
    "result.npz": _SCORE,
    "whole.npz": ["load_consensus", "{}"],
    "run": [*_RESUME, "--checkpoint", "{}"],
    "labels.csv in blocks": [*_NAMED, *_BLOCKS],
    "labels.parquet in blocks": [*_NAMED, *_BLOCKS],
    "labels.npy in blocks": [*_CONSENSUS, *_BLOCKS],
    "labels.zarr in blocks": [*_CONSENSUS, *_BLOCKS],
    "features.parquet in blocks": [*_GENERATE, "--id", "id", *_BLOCKS],
    "features.zarr in blocks": [*_GENERATE, *_BLOCKS],
}


@dataclass
class Tally:
    """How many mutations of each format were run, how many were refused, and the faults that were found."""

    runs: dict[str, int] = field(default_factory=dict)
    refused: int = 0
    slowest: float = 0.0
    found: dict[str, Case] = field(default_factory=dict)


def draw_case(number: int, seed: int) -> tuple[str, Case]:
    """Return the good file and the case of one mutation; the same number and seed give the same case."""
    rng = np.random.default_rng([seed, number])
    source = list(TARGETS)[number % len(TARGETS)]
    file = source.split()[0]
    suffix = file.partition(".")[2]
    name = f"bad.{suffix}" if suffix else "bad"
    run = [word.replace("{}", name) for word in TARGETS[source]]
    return source, Case(f"seed {seed}, number {number}", run, {name: _mutation(file, suffix, rng)})


def _mutation(source: str, suffix: str, rng: np.random.Generator) -> dict[str, Any]:
    path = fixtures.good_files() / source
    if path.is_file():
        return {"base64": _text(mutated(path.read_bytes(), suffix, rng))}
    inside = sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file() and file.name != ".lock")
    chosen = inside[int(rng.integers(len(inside)))]
    if rng.random() < 0.1:
        return {"copy": source, "inside": chosen, "damage": "lost"}
    other = inside[int(rng.integers(len(inside)))] if rng.random() < 0.1 else chosen
    content = (path / other).read_bytes()
    return {
        "copy": source,
        "inside": chosen,
        "content": _text(content if other != chosen else mutated(content, "", rng)),
    }


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def try_case(source: str, case: Case, tally: Tally) -> list[str]:
    """Run one case, count it, and return its faults."""
    outcome = run_case(case)
    tally.runs[source] = tally.runs.get(source, 0) + 1
    tally.refused += outcome.status == 2
    tally.slowest = max(tally.slowest, outcome.seconds)
    found = faults(case, outcome)
    if found:
        tally.found.setdefault(signature(found, outcome.err), case)
    return found


def signature(found: list[str], err: str) -> str:
    """Return a text that is the same for faults of one cause: the kind of error, and the last line of ours it left."""
    lines = re.findall(r'File ".*?(quorate/[^"]*)", line (\d+)', err)
    kind = err.strip().splitlines()[-1].partition(":")[0] if "Traceback" in err else found[0]
    return f"{kind} {lines[-1] if lines else ''}"


def keep(case: Case, why: str, folder: Path = CORPUS) -> Path:
    """Write a case that broke something into the corpus, and return its file."""
    line = case.as_line()
    path = folder / f"found-{hashlib.sha256(line.encode()).hexdigest()[:10]}.cases"
    path.write_text(f"# found by make fuzz ({case.name}): {' '.join(why.split())[:200]}\n{line}\n", encoding="utf-8")
    return path


def fuzz(seconds: float, seed: int) -> Iterator[tuple[str, Case]]:
    """Run mutations for so many seconds, and yield the faults that were not seen before, with their cases.

    The mutations run in a process of their own, so that a crash or an endless loop of it is found as well. The last
    thing that the generator returns is the `Tally`.
    """
    total, number, end = Tally(), 0, time.monotonic() + seconds
    while time.monotonic() < end:
        ours, theirs = multiprocessing.get_context("spawn").Pipe()
        worker = multiprocessing.get_context("spawn").Process(target=_work, args=(theirs, seed, number, end))
        worker.start()
        theirs.close()
        finished, number = yield from _listen(ours, total, number)
        worker.kill() if not finished else None
        worker.join()
        if not finished:
            source, case = draw_case(number, seed)
            total.runs[source] = total.runs.get(source, 0) + 1
            why = f"crashed with {worker.exitcode} or did not end"
            if total.found.setdefault(f"{why} {source}", case) is case:
                yield why, replace(case, process=True)
        number += 1
    return total


def _listen(worker: Connection, total: Tally, number: int) -> Any:
    """Receive what a worker reports; return whether it ended as it should, and the number that it was at."""
    while worker.poll(2 * SECONDS):
        try:
            message = worker.recv()
        except EOFError:
            return False, number
        if isinstance(message, int):
            number = message
        elif isinstance(message, Tally):
            for source, times in message.runs.items():
                total.runs[source] = total.runs.get(source, 0) + times
            total.refused += message.refused
            total.slowest = max(total.slowest, message.slowest)
            return True, number
        else:
            why, case = message
            if total.found.setdefault(why, case) is case:
                yield why, case
    return False, number


def _work(parent: Connection, seed: int, number: int, end: float) -> None:
    tally = Tally()
    while time.monotonic() < end:
        parent.send(number)
        source, case = draw_case(number, seed)
        known = len(tally.found)
        found = try_case(source, case, tally)
        if len(tally.found) > known:
            parent.send((f"{list(tally.found)[-1]}: {'; '.join(found)}", case))
        number += 1
    parent.send(tally)

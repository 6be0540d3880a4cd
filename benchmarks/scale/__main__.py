"""`python -m benchmarks.scale [--groups labels hard features methods ...] [--largest N] [--again] [--page-only]`.

Measures what is missing, one process for each group and n, and writes docs/scale.md. Tables in blocks are made in a
temporary folder first: 100 million objects take about 2 GB there, 50 million with measurements 3.5 GB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
from itertools import product
from pathlib import Path

from benchmarks.scale.dask_runs import STAGE
from benchmarks.scale.page import write_page
from benchmarks.scale.results import Results
from benchmarks.scale.stages import LINEAR

SIZES = {
    "labels": [10_000, 100_000, 1_000_000, 10_000_000, 100_000_000],
    "hard": [1_000_000, 10_000_000, 100_000_000],
    "features": [10_000, 100_000, 1_000_000, 10_000_000, 30_000_000],
    "methods": [250_000, 1_000_000, 4_000_000],
    "stream": [1_000_000, 10_000_000, 100_000_000],
    "stream-features": [1_000_000, 10_000_000, 50_000_000],
    "dask": [1_000_000, 10_000_000],
    "peers": [10_000, 100_000, 1_000_000, 10_000_000],
}
LAST_STAGES = {
    "labels": ("memory", "labels to labels"),
    "hard": ("memory", "hard labels to labels"),
    "features": ("memory", "features to labels"),
    "stream": ("stream", "labels in Parquet to labels in Parquet"),
    "stream-features": ("stream", "measurements in Parquet to labels in Parquet"),
    "dask": ("dask", STAGE),
    "peers": ("scikit-learn", "features to labels"),
}
SECONDS = 1800


def main() -> None:
    arguments = _parser().parse_args()
    results = Results()
    if not arguments.page_only:
        for group in arguments.groups:
            parts = [f"method {name}" for name in LINEAR] if group == "methods" else [group]
            for n, part in product((n for n in SIZES[group] if n <= arguments.largest), parts):
                if arguments.again or not _is_measured(results, part, n):
                    _measure(results, part, n)
    write_page(results)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", nargs="+", choices=list(SIZES), default=list(SIZES), help="all by default")
    parser.add_argument("--largest", type=int, default=100_000_000, help="no n above this")
    parser.add_argument("--again", action="store_true", help="measure anew what was measured before")
    parser.add_argument("--page-only", action="store_true", help="write the page from what was measured")
    return parser


def _is_measured(results: Results, group: str, n: int) -> bool:
    return (*LAST_STAGES.get(group, ("memory", group)), n) in results.found


def _measure(results: Results, group: str, n: int) -> None:
    """Run the commands of a group; the stages that they have measured are kept."""
    with tempfile.TemporaryDirectory(prefix="quorate-scale-") as folder:
        for command in _commands(group, n, Path(folder) / "table"):
            _run(results, [sys.executable, "-m", *command], f"{group}, n = {n:,}")


def _commands(group: str, n: int, folder: Path) -> list[list[str]]:
    if group.startswith("stream"):
        what, make = ("labels", "make") if group == "stream" else ("features", "make-features")
        module = "benchmarks.scale.stream"
        return [[module, make, str(n), str(folder)], [module, what, str(folder), "--memory", "2GB"]]
    if group == "dask":
        return [["benchmarks.scale.dask_runs", str(n), "--only", only] for only in ("dask", "local")]
    return [["benchmarks.scale.stages", group, str(n)]]


def _run(results: Results, command: list[str], what: str) -> None:
    """Run one process, for half an hour at most, and keep the lines that it prints."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        clock = threading.Timer(SECONDS, process.kill)
        clock.start()
        for line in process.stdout or ():
            results.add(json.loads(line))
            print(line, end="", flush=True)
        clock.cancel()
    if process.returncode:
        print(f"{what}: ended with {process.returncode}; the stages above are kept", flush=True)


if __name__ == "__main__":
    main()

"""`python -m benchmarks.scale [--groups labels features methods peers] [--largest N] [--again] [--page-only]`.

Measures what is missing, one process for each group and n, and writes docs/scale.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
from itertools import product

from benchmarks.scale.page import write_page
from benchmarks.scale.results import Results
from benchmarks.scale.stages import LINEAR

SIZES = {
    "labels": [10_000, 100_000, 1_000_000, 10_000_000, 100_000_000],
    "features": [10_000, 100_000, 1_000_000, 10_000_000, 30_000_000],
    "methods": [250_000, 1_000_000, 4_000_000],
    "peers": [10_000, 100_000, 1_000_000, 10_000_000],
}
LAST_STAGES = {"labels": "labels to labels", "features": "features to labels"}
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
    if group == "peers":
        return ("scikit-learn", "features to labels", n) in results.found
    return ("memory", LAST_STAGES.get(group, group), n) in results.found


def _measure(results: Results, group: str, n: int) -> None:
    """Run one process, for half an hour at most; stages that it finished are kept."""
    command = [sys.executable, "-m", "benchmarks.scale.stages", group, str(n)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        clock = threading.Timer(SECONDS, process.kill)
        clock.start()
        for line in process.stdout or ():
            results.add(json.loads(line))
            print(line, end="", flush=True)
        clock.cancel()
    if process.returncode:
        print(f"{group}, n = {n:,}: ended with {process.returncode}; the stages above are kept", flush=True)


if __name__ == "__main__":
    main()

"""`python -m benchmarks.frozen record` adds results that are not there yet, `compare` says what differs from them."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks.frozen.outcomes import outcomes, versions
from benchmarks.frozen.recorded import RESULTS, differences, read, write


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("--cases", default="", help="only the ensembles whose name contains this text")
    parser.add_argument("--again", action="store_true", help="with record: replace what is recorded already, too")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file of recorded results")
    arguments = parser.parse_args()
    recorded, libraries = read(arguments.results) if arguments.results.exists() else ({}, versions())
    start = time.perf_counter()
    skipped = set(recorded) if arguments.action == "record" and not arguments.again else set()
    results = outcomes(arguments.cases, skipped)
    seconds = time.perf_counter() - start
    if arguments.action == "record":
        write(arguments.results, {**recorded, **results})
        print(f"{len(results)} results recorded in {seconds:.0f} s, {len(skipped)} were there already")
        return 0
    if libraries != versions():
        print(f"recorded with {libraries}, compared with {versions()}")
    lines = differences(recorded, results)
    missing = sorted(name for name in recorded if name not in results and arguments.cases in name.split(" / ")[0])
    print("\n".join([*lines, *(f"{name}: recorded, but not run any more" for name in missing)]))
    print(f"{len(results)} results compared in {seconds:.0f} s, {len(lines)} differ, {len(missing)} are gone")
    return 1 if lines or missing else 0


if __name__ == "__main__":
    sys.exit(main())

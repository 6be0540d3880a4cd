"""`python -m benchmarks.accuracy --data FOLDER [--quick] [--sets ...] [--algorithms ...]`: run what is missing, then
write docs/accuracy.md.

Resumable: what an algorithm scored on a case stands in benchmarks/accuracy/results.jsonl and is not measured again.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchmarks.accuracy.algorithms import ALGORITHMS
from benchmarks.accuracy.page import summary, write_page
from benchmarks.accuracy.runs import QUICK, SEEDS, Case, Results, Worker, cases
from benchmarks.accuracy.sets import SETS
from quorate import datasets

RESULTS = Path(__file__).parent / "results.jsonl"
QUICK_RESULTS = Path("build/accuracy-quick.jsonl")
"""Results of a quick run are kept apart: they must not change the page."""


def main() -> None:
    arguments = _parser().parse_args()
    results = Results(QUICK_RESULTS if arguments.quick else RESULTS)
    if not arguments.page_only:
        if not arguments.data:
            raise SystemExit("name the folder of data sets with --data or QUORATE_DATA")
        os.environ["QUORATE_DATA"] = arguments.data
        _run(results, _wanted(arguments))
    if arguments.quick:
        print(summary(results))
    else:
        write_page(results)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("QUORATE_DATA"), help="folder of data sets (or QUORATE_DATA)")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="seeds for each stochastic algorithm")
    parser.add_argument("--sets", nargs="+", choices=SETS, metavar="SET", help="only these data sets")
    parser.add_argument("--algorithms", nargs="+", choices=list(ALGORITHMS), metavar="NAME", help="only these")
    parser.add_argument("--quick", action="store_true", help="five small sets, one seed; prints means, writes no page")
    parser.add_argument("--page-only", action="store_true", help="write the page from what was measured")
    return parser


def _wanted(arguments: argparse.Namespace) -> list[Case]:
    sets = QUICK if arguments.quick else arguments.sets or SETS
    algorithms = arguments.algorithms or list(ALGORITHMS)
    there = set(datasets.names())
    for name in sets:
        if name.removesuffix("_raw") not in there:
            print(f"left out: {name} is not in the folder")
    return [
        case
        for case in cases(1 if arguments.quick else arguments.seeds)
        if case.set in sets and case.algorithm in algorithms and case.set.removesuffix("_raw") in there
    ]


def _run(results: Results, wanted: list[Case]) -> None:
    worker = Worker()
    try:
        for case in wanted:
            if results.is_missing(case):
                results.write(case, worker.measure(case))
                print(*case, results.found[case], flush=True)
    finally:
        worker.close()


if __name__ == "__main__":
    main()

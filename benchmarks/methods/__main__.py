"""`python -m benchmarks.methods --data FOLDER [--repeats 3] [--quick]`: run what is missing, then write the page.

Resumable: what a method scored on a case stands in benchmarks/methods/results.jsonl and is not measured again.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchmarks.methods.page import write_page
from benchmarks.methods.runs import Results, cases, run_case

RESULTS = Path(__file__).parent / "results.jsonl"
QUICK_RESULTS = Path("build/methods-quick.jsonl")
"""Results of a quick run are kept apart: they must not change the page."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("QUORATE_DATA"), help="folder of data sets (or QUORATE_DATA)")
    parser.add_argument("--repeats", type=int, default=3, help="ensembles per data set and protocol")
    parser.add_argument("--gap-repeats", type=int, default=2, help="ensembles per data set with labels taken away")
    parser.add_argument("--cache", type=Path, help="folder that keeps the ensembles between runs")
    parser.add_argument("--quick", action="store_true", help="five small sets, once; prints the means, writes no page")
    parser.add_argument("--page-only", action="store_true", help="write the page from what was measured")
    arguments = parser.parse_args()
    results = Results(QUICK_RESULTS if arguments.quick else RESULTS)
    if not arguments.page_only:
        if not arguments.data:
            parser.error("name the folder of data sets with --data or QUORATE_DATA")
        os.environ["QUORATE_DATA"] = arguments.data
        _run(results, arguments)
    if arguments.quick:
        print_means(results)
    else:
        write_page(results)


def _run(results: Results, arguments: argparse.Namespace) -> None:
    results.path.parent.mkdir(parents=True, exist_ok=True)
    if arguments.cache:
        arguments.cache.mkdir(parents=True, exist_ok=True)
    for case in cases(arguments.repeats, arguments.gap_repeats, quick=arguments.quick):
        missing = results.missing(case)
        if missing:
            results.write(case, run_case(case, missing, arguments.cache))
            print(*case, flush=True)


def print_means(results: Results) -> None:
    """Mean NMI of each method over all cases, the best first."""
    scores: dict[str, list[float]] = {}
    for found in results.values.values():
        for method, values in found.items():
            scores.setdefault(method, []).extend([values["nmi"]] if "nmi" in values else [])
    for method in sorted(scores, key=lambda name: -sum(scores[name]) / max(1, len(scores[name]))):
        print(f"{method:12} {sum(scores[method]) / max(1, len(scores[method])):.3f}  ({len(scores[method])} cases)")


if __name__ == "__main__":
    main()

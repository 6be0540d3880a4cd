"""`python -m benchmarks.trust --data FOLDER [--quick] [--parts ...] [--jobs 2]`: measure what is missing, then write
docs/trust.md.

Resumable: what was measured stands in benchmarks/trust/results.jsonl and numbers.jsonl and is not measured again.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchmarks.trust.page import summary, write_page
from benchmarks.trust.runs import NUMBERS, PARTS, Results, measure_missing, measure_numbers

RESULTS = Path(__file__).parent / "results.jsonl"
EVERY = [*PARTS, NUMBERS]
QUICK_RESULTS = Path("build/trust-quick.jsonl")
"""Results of a quick run are kept apart: they must not change the page."""


def main() -> None:
    arguments = _parser().parse_args()
    results = Results(QUICK_RESULTS if arguments.quick else RESULTS)
    if not arguments.page_only:
        if not arguments.data:
            raise SystemExit("name the folder of data sets with --data or QUORATE_DATA")
        os.environ["QUORATE_DATA"] = arguments.data
        measure_missing(results, arguments.parts, arguments.jobs, quick=arguments.quick)
        if NUMBERS in arguments.parts and not arguments.quick:
            measure_numbers(arguments.jobs)
    if arguments.quick:
        print(summary(results))
    else:
        write_page(results)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("QUORATE_DATA"), help="folder of data sets (or QUORATE_DATA)")
    parser.add_argument(
        "--parts", nargs="+", choices=[*PARTS, NUMBERS], default=[*PARTS, NUMBERS], help="only these parts"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes that measure (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="a few cases of each part; prints a summary, no page")
    parser.add_argument("--page-only", action="store_true", help="write the page from what was measured")
    return parser


if __name__ == "__main__":
    main()

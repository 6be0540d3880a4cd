"""`python -m benchmarks.reliability fuzz|soak|page`: try to break Quorate, store what came of it, write the page.

fuzz [--minutes M] [--seed S]
    Mutate files of every format. What breaks a promise is written to tests/corpus as a new case.
soak [PART ...]
    Faults of the system, signals, little memory and load; all parts by default.
page
    Write docs/reliability.md from the stored figures alone.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import time
from typing import Any

from benchmarks.reliability import fuzz as fuzzing
from benchmarks.reliability.page import store, write_page
from benchmarks.reliability.soak import PARTS


def main() -> int:
    """Run what the command line asks for; return 1 if a fault was found."""
    arguments = _parser().parse_args()
    found = 0
    if arguments.job == "fuzz":
        found = _fuzz(arguments.minutes, arguments.seed, keep=not arguments.dry)
    elif arguments.job == "soak":
        found = sum(_soak(part) for part in arguments.parts or PARTS)
    if not (arguments.job == "fuzz" and arguments.dry):
        write_page()
    return 1 if found else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    jobs = parser.add_subparsers(dest="job", required=True)
    fuzz = jobs.add_parser("fuzz")
    fuzz.add_argument("--minutes", type=float, default=1.0)
    fuzz.add_argument("--seed", type=int, default=int(time.time()), help="by default a new one in every second")
    fuzz.add_argument("--dry", action="store_true", help="store neither the figures nor the cases")
    soak = jobs.add_parser("soak")
    soak.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", help=", ".join(PARTS))
    jobs.add_parser("page")
    return parser


def _when() -> dict[str, Any]:
    return {"date": datetime.date.today().isoformat(), "python": platform.python_version()}


def _fuzz(minutes: float, seed: int, *, keep: bool) -> int:
    run = fuzzing.fuzz(60 * minutes, seed)
    while True:
        try:
            why, case = next(run)
        except StopIteration as ended:
            tally = ended.value
            break
        print(f"found: {why}\n  kept in {fuzzing.keep(case, why)}" if keep else f"found: {why}", flush=True)
    facts = {
        "minutes": minutes,
        "seed": seed,
        "runs": tally.runs,
        "refused": tally.refused,
        "slowest": round(tally.slowest, 1),
        "found": list(tally.found),
    }
    print(f"{sum(tally.runs.values()):,} mutated files, {tally.refused:,} refused, {len(tally.found)} faults")
    if keep:
        store("fuzz", {**_when(), **facts})
    return len(tally.found)


def _soak(part: str) -> int:
    start = time.monotonic()
    facts = PARTS[part]()
    store(part, {**_when(), "seconds": round(time.monotonic() - start), **facts})
    print(f"{part}: {facts}", flush=True)
    return len(facts["wrong"])


if __name__ == "__main__":
    raise SystemExit(main())

"""`python -m benchmarks.methods --data FOLDER [--repeats 3] [--quick]`: run what is missing, then write the page.

Resumable: each (set, rule, repeat, method) is one line of benchmarks/results/methods.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from benchmarks.methods.page import write_page
from benchmarks.methods.runs import SETS, rules_of, run_set

RESULTS = Path("benchmarks/results/methods.jsonl")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("QUORATE_DATA"), help="folder of data sets (or QUORATE_DATA)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="the five smallest sets, once")
    parser.add_argument("--page-only", action="store_true", help="write the page from what was measured")
    arguments = parser.parse_args()
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    if not arguments.page_only:
        if not arguments.data:
            parser.error("name the folder of data sets with --data or QUORATE_DATA")
        os.environ["QUORATE_DATA"] = arguments.data
        done = {_key(json.loads(line)) for line in RESULTS.open()} if RESULTS.exists() else set()
        for name in SETS[:5] if arguments.quick else SETS:
            for rule in rules_of(name):
                for repeat in range(1 if arguments.quick else arguments.repeats):
                    _run(name, rule, repeat, done)
    write_page([json.loads(line) for line in RESULTS.open()])


def _run(name: str, rule: str, repeat: int, done: set[tuple[str, str, int, str]]) -> None:
    with RESULTS.open("a") as file:
        for record in run_set(name, rule, repeat, {key[3] for key in done if key[:3] == (name, rule, repeat)}):
            file.write(json.dumps(record) + "\n")
            file.flush()
    print(f"{name} {rule} {repeat}", flush=True)


def _key(record: dict[str, object]) -> tuple[str, str, int, str]:
    return str(record["set"]), str(record["rule"]), int(str(record["repeat"])), str(record["method"])


if __name__ == "__main__":
    main()

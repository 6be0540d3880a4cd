"""`python -m benchmarks.peers [PEER ...] [--quick] [--page-only] [--seconds 60] [--gigabytes 8]`.

Measures what is not in benchmarks/peers/results/peers.jsonl yet and writes docs/peers.md. --quick: 2,000 objects alone,
10 s a call, into benchmarks/results/peers-quick. Set up by requirements.txt.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.papers.records import Case, Results, Values
from benchmarks.peers.inputs import SPREADS, stored
from benchmarks.peers.page import measured, page
from benchmarks.peers.peers import PEERS
from benchmarks.peers.worker import run

RESULTS = Path("benchmarks/peers/results/peers.jsonl")
PAGE, EVIDENCE = Path("docs/peers.md"), Path("docs/measured/peers.md")
QUICK = Path("benchmarks/results/peers-quick")
SIZES = (2_000, 10_000, 50_000, 200_000, 1_000_000)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("peer", nargs="*", help="only peers whose name holds one of these")
    parser.add_argument("--quick", action="store_true", help="2,000 objects, 10 s a call")
    parser.add_argument("--page-only", action="store_true", help="write the page from what was measured")
    parser.add_argument("--seconds", type=float, default=60, help="limit of one call")
    parser.add_argument("--gigabytes", type=float, default=8, help="limit of one call")
    arguments = parser.parse_args()
    source = QUICK / "peers.jsonl" if arguments.quick else RESULTS
    pages = (QUICK / "peers.md", QUICK / "measured.md") if arguments.quick else (PAGE, EVIDENCE)
    results = Results(source)
    cases = all_cases(SIZES[:1] if arguments.quick else SIZES)
    if not arguments.page_only:
        limits = {"seconds": 10.0 if arguments.quick else arguments.seconds, "gigabytes": arguments.gigabytes}
        with tempfile.TemporaryDirectory() as folder:
            wanted = [c for c in cases if not arguments.peer or any(part in c["peer"] for part in arguments.peer)]
            measure(results, wanted, limits, Path(folder))
    found = results.of("peers", cases)
    for target, text in zip(pages, (page(found), measured(found)), strict=True):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        print(f"wrote {target}")


def all_cases(sizes: Sequence[int]) -> list[Case]:
    """Peer by peer, by size, so that one that gave up is not asked for more."""
    return [{"data": data, "n": n, "peer": peer} for peer in PEERS for n in sizes for data in SPREADS]


def measure(results: Results, cases: Sequence[Case], limits: dict[str, float], folder: Path) -> None:
    def how(case: Case) -> Values:
        before = gave_up(results, case)
        if before is not None:
            return {"skipped": f"gave up at n = {before:,}"}
        path = stored(case["data"], case["n"], folder)
        told: dict[str, Any] = run(case["peer"], path, **limits)
        return {**told, "version": version(PEERS[case["peer"]].package), "limits": list(limits.values())}

    for case in (bar := tqdm(results.missing("peers", cases), desc="peers", leave=False)):
        bar.set_postfix_str(f"{case['peer']} {case['data']} {case['n']:,}")
        results.measure("peers", case, how)


def gave_up(results: Results, case: Case) -> int | None:
    """The number of objects at which this peer failed already: fewer of such data, or as many of the easy."""
    failed = [
        record.case["n"]
        for record in results.of("peers")
        if record.case["peer"] == case["peer"]
        and "error" in record.values
        and (record.case["n"] < case["n"] or (record.case["n"] == case["n"] and case["data"] == "hard"))
        and record.case["data"] in ("easy", case["data"])
    ]
    return min(failed, default=None)


def version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


if __name__ == "__main__":
    main()

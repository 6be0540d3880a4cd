"""How often the number of clusters is right: `python -m benchmarks.trust.numbers --data FOLDER [--sets ...]`.

Resumable: what was found on a set stands in benchmarks/trust/numbers.jsonl and is not computed again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.trust.number_peers import PEERS, sampled
from benchmarks.trust.number_sets import HALVES, SETS, half_of, load

RESULTS = Path(__file__).parent / "numbers.jsonl"
OURS = "EnsembleClustering"
LABELS = "choose_k on labels"
ALGORITHMS = (OURS, LABELS, *PEERS)
WITHIN = 0.2

Record = dict[str, Any]


def main() -> None:
    """Run what is missing and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("QUORATE_DATA"), help="folder of data sets (or QUORATE_DATA)")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, metavar="SET")
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=ALGORITHMS, metavar="NAME")
    parser.add_argument("--page-only", action="store_true", help="print the section of docs/trust.md only")
    arguments = parser.parse_args()
    if not arguments.page_only:
        if not arguments.data:
            raise SystemExit("name the folder of data sets with --data or QUORATE_DATA")
        os.environ["QUORATE_DATA"] = arguments.data
        for algorithm in arguments.algorithms:
            measure(arguments.sets, algorithm)
    print(numbers_section(read_results()))


def read_results(path: Path = RESULTS) -> list[Record]:
    """Read what was measured, one record per set and algorithm."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def measure(sets: Iterable[str], algorithm: str, path: Path = RESULTS) -> None:
    """Find the numbers of clusters of the sets for which this algorithm has not found one yet."""
    done = {(record["set"], record["algorithm"]) for record in read_results(path)}
    for name in sets:
        if (name, algorithm) in done:
            continue
        data = load(name)
        start = time.process_time()
        found = _found(algorithm, data.X)
        seconds = round(time.process_time() - start, 2)
        record = {"set": name, "algorithm": algorithm, "classes": data.n_classes, **found, "seconds": seconds}
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, separators=(",", ":")) + "\n")


def _found(algorithm: str, X: Any) -> Record:
    if algorithm == OURS:
        return _ours(X)
    if algorithm == LABELS:
        return _from_labels(X)
    return {"k": PEERS[algorithm](sampled(X))}


def _ours(X: Any) -> Record:
    from quorate import EnsembleClustering

    info = EnsembleClustering("auto", random_state=0).fit(X).consensus_.info
    return {**told(info["choice"]), "reference": info.get("reference_test")}


def _from_labels(X: Any) -> Record:
    """The same without the measurements: only the labels of the members are known."""
    from quorate import choose_k, generate

    return told(choose_k(generate(X, 20, base="spectral", random_state=0), random_state=0))


def told(choice: Any) -> Record:
    """What is kept of a choice: the number, the candidates and their evidence."""
    rows = [row for row in choice.table if row.n_clusters in choice.candidates]
    table = [{name: round(value, 5) for name, value in vars(row).items() if value is not None} for row in rows]
    return {"k": choice.n_clusters, "candidates": choice.candidates, "undecided": choice.undecided, "table": table}


def summary(records: list[Record]) -> list[float]:
    """Return the shares of exact numbers and of numbers within 20%, and the mean absolute logarithm of the ratio."""
    true = np.array([record["classes"] for record in records], dtype=float)
    found = np.array([record["k"] for record in records], dtype=float)
    near = np.abs(found - true) <= WITHIN * true + 1e-9
    return [float(np.mean(found == true)), float(near.mean()), float(np.abs(np.log(found / true)).mean())]


def numbers_section(results: list[Record]) -> str:
    """Return the section of docs/trust.md about numbers of clusters, from what was measured."""
    sets = {record["set"] for record in results if record["algorithm"] == OURS}
    lines = [
        f"Numbers of clusters on {len(sets)} sets whose classes are clusters: shapes, digits and planted clusters. "
        f"Weights and floors were chosen on the tuning half, every second set in alphabetical order. The first class "
        f"of the four `chameleon` sets is background noise over the whole plane; it is no cluster, and is not counted.",
        "",
        "| | sets | exact | within 20% | mean log error | exact, tuning half | other half | within 20%, tuning half "
        "| other half |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for algorithm in ALGORITHMS:
        records = [record for record in results if record["algorithm"] == algorithm and record["set"] in sets]
        if records:
            lines.append(_row(algorithm, records))
    return "\n".join([*lines, "", *_about_ours(results), "", *_reliability(results), "", *_details(results)]) + "\n"


def _row(algorithm: str, records: list[Record]) -> str:
    exact, near, error = summary(records)
    halves = [[record for record in records if half_of(record["set"]) == half] for half in HALVES]
    parts = [summary(half) if half else [float("nan")] * 3 for half in halves]
    cells = [f"{exact:.0%}", f"{near:.0%}", f"{error:.2f}"]
    cells += [f"{part[0]:.0%}" for part in parts] + [f"{part[1]:.0%}" for part in parts]
    return f"| {algorithm} | {len(records)} | {' | '.join(cells)} |"


def _about_ours(results: list[Record]) -> list[str]:
    """Say how often the true number is among the candidates, and how often the choice is right if it is decided."""
    ours = [record for record in results if record["algorithm"] == OURS and record["k"] > 1]
    if not ours:
        return []
    among = np.mean([record["classes"] in record["candidates"] for record in ours])
    lines = [f"The number of classes is among the (up to three) candidates on {among:.0%} of the sets."]
    for undecided, words in ((False, "is decided"), (True, "is called undecided")):
        part = [record for record in ours if record["undecided"] == undecided]
        if part:
            lines.append(f"Where the choice {words} ({len(part)} sets) it is exact on {summary(part)[0]:.0%}.")
    one = sum(record["k"] == 1 for record in results if record["algorithm"] == OURS)
    lines.append(f"One cluster was answered on {one} sets.")
    return [" ".join(lines)]


PROBABILITIES = (0.0, 0.5, 0.75, 0.9, 1.0)
"""The limits between the lines of the table of probabilities."""


def _reliability(results: list[Record]) -> list[str]:
    """Return how often numbers are right, by the probability that the choice gave them."""
    known = [record for record in results if record["algorithm"] in (OURS, LABELS) and record["k"] > 1]
    claimed = {id(record): _claimed(record) for record in known}
    head = ["probability of the number", *(f"{name}: {half}" for name in (OURS, LABELS) for half in HALVES)]
    lines = [
        "How probable the chosen number was said to be, and on how many sets it is exact. The scale was fitted to the "
        "tuning half and to generated sets that are not among these.",
        "",
        f"| {' | '.join(head)} |",
        f"|---{'|---' * (len(head) - 1)}|",
    ]
    for low, high in itertools.pairwise(PROBABILITIES):
        cells = [f"{low:.0%} to {high:.0%}"]
        for name in (OURS, LABELS):
            for half in HALVES:
                own = [record for record in known if record["algorithm"] == name and half_of(record["set"]) == half]
                part = [r for r in own if low <= claimed[id(r)] < high + (high == 1)]
                right = sum(record["k"] == record["classes"] for record in part)
                mean = f" (said: {np.mean([claimed[id(r)] for r in part]):.0%})" if part else ""
                cells.append(f"{right} of {len(part)}{mean}")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _claimed(record: Record) -> float:
    """The probability of the chosen number."""
    return float(next(row.get("probability", 0.0) for row in record["table"] if row["n_clusters"] == record["k"]))


def _details(results: list[Record]) -> list[str]:
    found = {(record["set"], record["algorithm"]): record["k"] for record in results}
    classes = {record["set"]: record["classes"] for record in results if record["algorithm"] == OURS}
    known = [name for name in ALGORITHMS if any(record["algorithm"] == name for record in results)]
    lines = [f"| set | classes | {' | '.join(known)} |", f"|---|---{'|---' * len(known)}|"]
    for name in sorted(classes):
        cells = [str(found.get((name, algorithm), "")) for algorithm in known]
        lines.append(f"| {name} | {classes[name]} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()

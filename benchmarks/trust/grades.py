"""The grades of the verdict on simulated tables: `python -m benchmarks.trust.grades --seed 2 --tables 100`.

The limits in `quorate._verdict` were chosen on the tables of seed 1. Other seeds check them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.trust.tables import planted_table, random_table
from quorate import as_ensemble, consensus, evaluate
from quorate._verdict import GRADES, NO_STRUCTURE

FOUND = 0.5
"""A planted structure counts as found by the consensus if the ARI with it is at least this."""


def outcomes(seed: int, n_tables: int) -> Iterator[dict[str, Any]]:
    """Evaluate as many random and as many planted tables, and yield one record for each."""
    for number in range(n_tables):
        for kind, make in (("random", random_table), ("planted", planted_table)):
            table = make(np.random.default_rng((seed, number)))
            ensemble = as_ensemble(table.labels, orientation="objects", check=False)
            result = consensus(ensemble, table.n_clusters, random_state=0)
            scores = evaluate(result, ensemble, truth=table.truth, null="auto")
            shape = {"n_objects": ensemble.n_objects, "n_members": ensemble.n_members, "k": table.n_clusters}
            yield {"kind": kind, **shape, "right": table.right, "grade": scores.verdict.grade, **_numbers(scores)}


def _numbers(scores: Any) -> dict[str, Any]:
    names = ("ari", "agreement", "agreement_mean_member", "agreement_best_member", "z", "p_value", "adjusted")
    return {name: getattr(scores, name) for name in (*names, "reproducibility", "n_permutations")}


def summary(records: list[dict[str, Any]]) -> str:
    """The rates, and for each grade how well the consensus matches the planted clusters."""
    noise = [record for record in records if record["kind"] == "random"]
    planted = [record for record in records if record["kind"] == "planted"]
    found = [record for record in planted if record["ari"] >= FOUND]
    lines = [
        f"random tables called structure: {sum(r['grade'] != NO_STRUCTURE for r in noise)} of {len(noise)}",
        f"random tables where the consensus agrees better than the best member, both with members left out: "
        f"{sum(r['agreement'] > r['agreement_best_member'] for r in noise)} of {len(noise)}",
        f"planted tables with ARI >= {FOUND} called no structure: "
        f"{sum(r['grade'] == NO_STRUCTURE for r in found)} of {len(found)}",
        f"planted tables called no structure: {sum(r['grade'] == NO_STRUCTURE for r in planted)} of {len(planted)}",
    ]
    for grade in GRADES:
        values = [record["ari"] for record in planted if record["grade"] == grade]
        if values:
            low, middle, high = np.quantile(values, [0, 0.5, 1])
            lines.append(f"{grade}: {len(values)} planted tables, ARI {low:.2f} to {high:.2f}, median {middle:.2f}")
    return "\n".join(lines)


def main() -> None:
    """Print one JSON record per table, and the rates at the end on standard error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--tables", type=int, default=100)
    arguments = parser.parse_args()
    records = []
    for record in outcomes(arguments.seed, arguments.tables):
        records.append(record)
        sys.stdout.write(json.dumps(record) + "\n")
        sys.stdout.flush()
    sys.stderr.write(summary(records) + "\n")


if __name__ == "__main__":
    main()

"""`python -m benchmarks.frozen record` writes the results down, `compare` says what differs from them."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frozen.ensembles import Case, cases
from quorate import (
    METHODS,
    SoftEnsemble,
    ca_tree,
    co_association,
    coarsen,
    consensus,
    datasets,
    evaluate,
    generate,
    refine,
)

RESULTS = Path(__file__).with_name("results.json")
SLOW_ON_LARGE = ("correlation", "cspa", "eac", "greedy", "hne", "lwea", "spectral", "supra")
"""Methods that are not run on the large ensembles: they would take minutes or much memory there."""


def digest(array: Any) -> str | None:
    """A short name for the contents of an array, None for None."""
    if array is None:
        return None
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def outcome(case: Case, method: str, n_clusters: int | None) -> dict[str, Any]:
    """What a method answers, or the error it raises, in plain values."""
    try:
        result = consensus(case.make(), n_clusters, method=method, random_state=7)
    except (ValueError, TypeError, MemoryError) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    except IndexError:
        return {"error": "IndexError"}
    return {
        "labels": digest(result.labels),
        "n_clusters": result.n_clusters,
        "objective": float(result.objective).hex(),
        "n_iter": int(result.n_iter),
        "converged": bool(result.converged),
        "confidence": digest(None if result.confidence is None else np.round(result.confidence, 9)),
        "tree": digest(None if result.tree is None else np.round(result.tree, 9)),
        "info": sorted(result.info),
    }


def other_verbs(case: Case) -> dict[str, Any]:
    """What the verbs beside `consensus` answer for a small ensemble of labels."""
    ensemble = case.make()
    result = consensus(ensemble, case.n_clusters, method="kmeans", random_state=7)
    better = refine(result, ensemble)
    rows, inverse = coarsen(ensemble, 0.4)
    tree = ca_tree(ensemble)
    return {
        "evaluate": {name: round(value, 12) for name, value in evaluate(result, ensemble).as_dict().items() if value},
        "refine": [digest(better.labels), float(better.objective).hex()],
        "coarsen": [digest(rows.labels.astype(np.int64)), digest(rows.counts), digest(inverse)],
        "tree": [digest(tree.size), digest(tree.representative), tree.n_nodes],
        "pairs": co_association(ensemble).n_pairs,
    }


def generated() -> dict[str, dict[str, Any]]:
    """Ensembles of the built-in k-means on measurements made from a seed."""
    X = datasets.eight_d_five_k(700, random_state=0).X
    settings: dict[str, dict[str, Any]] = {
        "plain": {},
        "rows and columns": {"rows": 0.6, "columns": 0.5},
        "k from 3 to 9": {"k": (3, 9)},
    }
    results = {}
    for name, options in settings.items():
        ensemble = generate(X, 6, base="kmeans", random_state=3, **options)
        results[f"generate / {name}"] = {"labels": digest(ensemble.labels.astype(np.int64))}
    return results


def outcomes(wanted: str) -> dict[str, dict[str, Any]]:
    """Results by "case / method / number of clusters"."""
    results = generated() if wanted in "generate" else {}
    for case in cases():
        if wanted not in case.name:
            continue
        is_soft = isinstance(case.make(), SoftEnsemble)
        for method, entry in METHODS.items():
            if (is_soft and not entry.soft) or (case.large and method in SLOW_ON_LARGE):
                continue
            numbers = [case.n_clusters, *([None] if entry.finds_k and not case.large else [])]
            for n_clusters in numbers:
                results[f"{case.name} / {method} / {n_clusters}"] = outcome(case, method, n_clusters)
        if not is_soft:
            results[f"{case.name} / auto / {case.n_clusters}"] = outcome(case, "auto", case.n_clusters)
        if not is_soft and not case.large:
            results[f"{case.name} / other verbs"] = other_verbs(case)
    return results


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """One line for each result that is not the same to the last bit."""
    lines = []
    for name in sorted(before.keys() & after.keys()):
        parts = [
            key for key in before[name].keys() | after[name].keys() if before[name].get(key) != after[name].get(key)
        ]
        if parts:
            told = ", ".join(f"{key} {before[name].get(key)} -> {after[name].get(key)}" for key in sorted(parts))
            lines.append(f"{name}: {told}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("--cases", default="", help="only the ensembles whose name contains this text")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file of recorded results")
    arguments = parser.parse_args()
    start = time.perf_counter()
    found = outcomes(arguments.cases)
    seconds = time.perf_counter() - start
    if arguments.action == "record":
        text = json.dumps(found, indent=0, sort_keys=True) + "\n"
        arguments.results.write_text(text, encoding="utf-8")
        print(f"{len(found)} results recorded in {seconds:.0f} s")
        return 0
    recorded = json.loads(arguments.results.read_text(encoding="utf-8"))
    lines = differences(recorded, found)
    missing = sorted(name for name in recorded if name not in found and arguments.cases in name.split(" / ")[0])
    print("\n".join([*lines, *(f"{name}: recorded, but not run any more" for name in missing)]))
    print(f"{len(found)} results compared in {seconds:.0f} s, {len(lines)} differ, {len(missing)} are gone")
    return 1 if lines or missing else 0


if __name__ == "__main__":
    sys.exit(main())

"""Ensembles of different algorithms: what a consensus makes of them with and without measurements."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.sets import GROUPS
from benchmarks.accuracy.tables import table_text
from benchmarks.judge.pools import POOLS, candidates

RESULTS = Path(__file__).parent / "mixed.jsonl"
SEEDS = 3
POOL = "different algorithms"
ANSWERS = ("consensus", "weights auto", "features")
LOSS = 0.05
"""A set is named where the answer is below the best member by more than this."""


def measure_mixed(names: Sequence[str], data: Any) -> None:
    """Store what each answer scores on every set and seed that is not in the file yet; `data` reads a set."""
    done = {(record["set"], record["seed"]) for record in read_mixed()}
    for seed in range(SEEDS):
        for name in names:
            if (name, seed) not in done:
                record = {"set": name, "seed": seed, **_answers(*data(name, seed), seed)}
                with RESULTS.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(record, separators=(",", ":")) + "\n")
                print(name, seed, record["answers"], flush=True)


def read_mixed() -> list[dict[str, Any]]:
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    return [json.loads(line) for line in lines]


def _answers(X: Any, y: Any, seed: int) -> dict[str, Any]:
    from quorate import ari, consensus

    k = int(y.max()) + 1
    members = {name: labels for name, labels in candidates(X, k, seed, ours=False) if name in POOLS[POOL]}
    options: dict[str, Any] = {"random_state": seed, "confidence": False, "check": False}
    with_features = consensus(members, k, features=X, **options)
    found = {
        "consensus": consensus(members, k, **options),
        "weights auto": consensus(members, k, weights="auto", **options),
        "features": with_features,
    }
    return {
        "members": {name: round(float(ari(labels, y)), 4) for name, labels in members.items()},
        "answers": {name: round(float(ari(result.labels, y)), 4) for name, result in found.items()},
        "camps": len(with_features.info.get("camps", ())) or 1,
        "chosen": with_features.info["judge"]["chosen"],
    }


def mixed_text(group_of: Any) -> str:
    """The section of the page."""
    records = read_mixed()
    rows = []
    for group in GROUPS:
        own = [record for record in records if group_of(record["set"]) == group]
        if not own:
            continue
        algorithms = {
            name: float(np.mean([record["members"].get(name, 0.0) for record in own])) for name in POOLS[POOL]
        }
        best = max(algorithms, key=lambda name: algorithms[name])
        answers = [f"{np.mean([record['answers'][name] for record in own]):.3f}" for name in ANSWERS]
        known = np.mean([max(record["members"].values()) for record in own])
        n_sets = len({record["set"] for record in own})
        rows.append([f"{group} ({n_sets})", *answers, f"{best} {algorithms[best]:.3f}", f"{known:.3f}"])
    head = ["sets", "`consensus`", '`weights="auto"`', "**`features=X`**", "best algorithm throughout", "best member"]
    return f"""{table_text(head, rows)}

{_losses(records)}"""


def _losses(records: Sequence[dict[str, Any]]) -> str:
    gaps: dict[str, list[float]] = {}
    for record in records:
        gap = max(record["members"].values()) - record["answers"]["features"]
        gaps.setdefault(record["set"], []).append(gap)
    lost = sorted(((float(np.mean(gap)), name) for name, gap in gaps.items() if np.mean(gap) > LOSS), reverse=True)
    others = sum(record["chosen"] != "the weighted consensus of all members" for record in records)
    camps = sum(record["camps"] > 1 for record in records)
    told = ", ".join(f"{name} {gap:.2f}" for gap, name in lost)
    return f"""Of {len(records)} ensembles, {camps} have camps, and in {others} the answer is not the weighted one. \
The best member of a set is known only afterwards; it is ahead by more than {LOSS} on {len(lost)} of {len(gaps)} sets: \
{told}."""

"""`python -m benchmarks.judge --data FOLDER`: measure candidates, and write docs/judge.md.

Resumable: what was measured stands in build/judge.jsonl and is not measured again. `--page` measures nothing more, and
`--fit` fits the weights anew and writes them into the code.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.sets import LARGE, RAW, SETS, group_of, prepared
from benchmarks.judge.fitting import TERMS, Table, fitted
from benchmarks.judge.mixed import measure_mixed
from benchmarks.judge.page import write_page
from quorate.generation.judge import WEIGHTS

STORE = Path("build/judge.jsonl")
CODE = Path("src/quorate/generation/judge.py")
MOST_OBJECTS = 1_500
"""Objects of a public set that are used; of larger sets as many are drawn."""
GENERATED = 30
"""Sets of each family."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("QUORATE_DATA"), help="folder of data sets (or QUORATE_DATA)")
    parser.add_argument("--page", action="store_true", help="measure nothing more")
    parser.add_argument("--fit", action="store_true", help="fit the weights anew and write them into the code")
    arguments = parser.parse_args()
    if not arguments.page:
        if not arguments.data:
            raise SystemExit("name the folder of data sets with --data or QUORATE_DATA")
        os.environ["QUORATE_DATA"] = arguments.data
        measure()
        names = [name for name in SETS if name not in LARGE and name not in RAW]
        measure_mixed(names, lambda name, seed: _drawn(*prepared(name)[:2], seed))
    tables = read_tables()
    weights = np.array(list(WEIGHTS.values()))
    if arguments.fit:
        weights = fitted([table for table in tables if table.group in ("generated", "half A")])
        write_weights(dict(zip(TERMS, weights, strict=True)))
    write_page(tables, weights)


def read_tables() -> list[Table]:
    """What was measured so far."""
    tables = []
    for line in STORE.read_text(encoding="utf-8").splitlines() if STORE.exists() else ():
        found = json.loads(line)
        numbers = {name: np.array(found[name], dtype=np.float64) for name in ("ari", "nmi", "terms")}
        tables.append(Table(found["set"], found["seed"], found["group"], tuple(found["candidates"]), **numbers))
    return tables


def measure() -> None:
    """Measure the candidates of every set that is not in the store yet."""
    from benchmarks.judge.geometries import FAMILIES, generated

    done = {(table.set, table.seed) for table in read_tables()}
    STORE.parent.mkdir(exist_ok=True)
    for name in SETS:
        if name not in LARGE and name not in RAW and (name, 0) not in done:
            data = prepared(name)
            _store(name, 0, group_of(name), *_drawn(data.X, data.y))
    for seed in range(GENERATED):
        for family in FAMILIES:
            if (family, seed) not in done:
                made = generated(family, seed)
                _store(family, seed, "generated", made.X, made.y)


def _drawn(X: Any, y: Any, seed: int = 0) -> tuple[Any, Any]:
    """At most MOST_OBJECTS of the objects, with classes 0, 1, ..."""
    if len(y) <= MOST_OBJECTS:
        return X, y
    kept = np.sort(np.random.default_rng(seed).choice(len(y), MOST_OBJECTS, replace=False))
    return X[kept], np.unique(y[kept], return_inverse=True)[1]


def _store(name: str, seed: int, group: str, X: Any, y: Any) -> None:
    from benchmarks.judge.pools import candidates
    from quorate import ari, nmi
    from quorate.generation.features import as_features
    from quorate.generation.judge import scene_of, terms

    found = list(candidates(X, int(y.max()) + 1, seed))
    scene = scene_of(as_features(X), ours=True)
    record = {
        "set": name,
        "seed": seed,
        "group": group,
        "candidates": [candidate for candidate, _ in found],
        "ari": [round(float(ari(labels, y)), 5) for _, labels in found],
        "nmi": [round(float(nmi(labels, y)), 5) for _, labels in found],
        "terms": [[float(f"{value:.6g}") for value in terms(labels, scene)] for _, labels in found],
    }
    with STORE.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record, separators=(",", ":")) + "\n")
    print(name, seed, *X.shape, max(record["ari"]), flush=True)


def write_weights(weights: dict[str, float]) -> None:
    """Put the weights into the table of the code, in its own order."""
    lines = "".join(f'    "{name}": {value:.2f},\n' for name, value in weights.items())
    code = CODE.read_text(encoding="utf-8")
    table = re.compile(r"^WEIGHTS = \{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
    CODE.write_text(table.sub(f"WEIGHTS = {{\n{lines}}}\n", code, count=1), encoding="utf-8")


if __name__ == "__main__":
    main()

"""`python -m benchmarks.judge.one_kind --data FOLDER`: can a method be chosen by what labels of one kind tell?

Pools by four protocols of every development set and of generated ones. Each is solved by five methods, and rules choose
among the results by what can be measured without the truth. What was measured stands in build/one_kind.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.tables import table_text
from quorate import Ensemble, anmi, ari, as_ensemble, consensus, generate, nmi

STORE = Path("build/one_kind.jsonl")
METHODS = ("lwgp", "lwea", "transfer", "kmeans", "hne")
MOST_OBJECTS, SEEDS, FIRST_SEED = 1_200, 3, 100
"""Generated sets have seeds from FIRST_SEED on, which the judge was not fitted on."""

Record = dict[str, Any]
Rule = Callable[[Record], str]


def pools(X: Any, y: Any, seed: int) -> Iterator[tuple[str, Ensemble]]:
    """Ten or twenty members: k-means of two ranges of k, spectral ones, and the truth with 2 to 40% errors."""
    k, rng = int(y.max()) + 1, np.random.default_rng(seed)
    n_members, finer = int(rng.choice([10, 20])), (k, min(3 * k + 2, len(y) // 4))
    options: dict[str, Any] = {"random_state": seed}
    yield "k-means, k to 3k", generate(X, n_members, k=finer, base="kmeans", **options)
    yield "k-means, 2 to 2k", generate(X, n_members, k=(2, 2 * k), base="kmeans", **options)
    yield "spectral, k to 3k", generate(X, n_members, k=finer, base="spectral", **options)
    yield "truth with errors", as_ensemble(np.array([_erring(y, rng) for _ in range(n_members)]).T, check=False)


def _erring(y: Any, rng: np.random.Generator) -> Any:
    """The truth with a share of the labels drawn anew; every second time each cluster is cut in two."""
    wrong = rng.random(len(y)) < rng.uniform(0.02, 0.4)
    labels = np.where(wrong, rng.integers(0, y.max() + 1, len(y)), y)
    return 2 * labels + rng.integers(0, 2, len(y)) if rng.random() < 0.5 else labels


def measure(data: str) -> None:
    """Solve every pool that is not in the store yet."""
    from benchmarks.accuracy.sets import development_sets, group_of, prepared
    from benchmarks.judge.geometries import FAMILIES, generated

    os.environ["QUORATE_DATA"] = data
    done = {(record["set"], record["seed"]) for record in read()}
    for name in development_sets():
        if (name, 0) not in done:
            real = prepared(name)
            kept = np.random.default_rng(0).permutation(len(real.y))[:MOST_OBJECTS]
            _store((name, 0, group_of(name)), real.X[kept], np.unique(real.y[kept], return_inverse=True)[1])
    for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
        for family in FAMILIES:
            if (family, seed) not in done:
                made = generated(family, seed)
                _store((family, seed, "generated"), made.X, made.y)


def _store(which: tuple[str, int, str], X: Any, y: Any) -> None:
    STORE.parent.mkdir(exist_ok=True)
    for pool, ensemble in pools(X, y, which[1]):
        record = {"set": which[0], "seed": which[1], "group": which[2], "pool": pool, **_solved(ensemble, y)}
        with STORE.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        print(*which, pool, flush=True)


def _solved(ensemble: Ensemble, y: Any) -> Record:
    """For each method: ARI and NMI with the truth, ANMI with the members, with members left out, ARI with the other
    methods, of halves of the members, and evenness."""
    k = int(y.max()) + 1
    found = {name: _labels(ensemble, k, name) for name in METHODS}
    record: Record = {}
    for name, labels in found.items():
        share = np.bincount(labels) / len(y)
        record[name] = {
            "ari": float(ari(labels, y)),
            "nmi": float(nmi(labels, y)),
            "anmi": float(anmi(labels, ensemble)),
            "agree": float(np.mean([ari(labels, other) for rival, other in found.items() if rival != name])),
            "even": float(-(share * np.log(share)).sum() / np.log(max(k, 2))),
            "left out": _with_members_left_out(ensemble, k, name),
            "halves": _of_halves(ensemble, k, name),
        }
    return record


def _labels(ensemble: Ensemble, k: int, method: str) -> Any:
    return consensus(ensemble, k, method=method, random_state=0, confidence=False).labels


def _parts(ensemble: Ensemble, members: Sequence[int]) -> Ensemble:
    return as_ensemble(ensemble.labels[:, list(members)], orientation="objects", check=False)


def _with_members_left_out(ensemble: Ensemble, k: int, method: str) -> float:
    """The mean NMI of consensuses with a fifth of the members each, that had no part in them."""
    every = np.random.default_rng(0).permutation(ensemble.n_members)
    folds = [every[fold::5] for fold in range(5)]
    found = []
    for fold in folds:
        labels = _labels(_parts(ensemble, np.setdiff1d(every, fold)), k, method)
        found.append(anmi(labels, _parts(ensemble, fold)))
    return float(np.mean(found))


def _of_halves(ensemble: Ensemble, k: int, method: str) -> float:
    """The mean ARI of the consensuses of two halves of the members, three times."""
    rng, half, found = np.random.default_rng(1), ensemble.n_members // 2, []
    for _ in range(3):
        every = rng.permutation(ensemble.n_members)
        one, other = (_labels(_parts(ensemble, part), k, method) for part in (every[:half], every[half:]))
        found.append(ari(one, other))
    return float(np.mean(found))


def read() -> list[Record]:
    return [json.loads(line) for line in STORE.read_text(encoding="utf-8").splitlines()] if STORE.exists() else []


def highest(measure_: str, margin: float = 0.0) -> Rule:
    """The method with the highest value, if it is higher than that of the first method by more than a margin."""

    def choose(record: Record) -> str:
        best = max(METHODS, key=lambda name: record[name][measure_])
        return best if record[best][measure_] > record[METHODS[0]][measure_] + margin else METHODS[0]

    return choose


RULES: dict[str, Rule] = {
    **{name: (lambda record, name=name: name) for name in METHODS},
    "highest ANMI": highest("anmi"),
    "highest ANMI by .05": highest("anmi", 0.05),
    "agrees most with other methods": highest("agree"),
    "agrees most by .05": highest("agree", 0.05),
    "most even sizes": highest("even"),
    "agrees most with members left out": highest("left out"),
    "the same, by .02": highest("left out", 0.02),
    "halves agree most": highest("halves"),
    "halves agree most by .1": highest("halves", 0.1),
    "best, known afterwards": highest("ari"),
}


def table(records: Sequence[Record]) -> str:
    """Mean ARI of each rule by group and by protocol."""
    parts: dict[str, list[Record]] = {}
    for key in ("group", "pool"):
        for record in records:
            parts.setdefault(record[key], []).append(record)
    rows = [
        [name, *(f"{np.mean([record[rule(record)]['ari'] for record in part]):.3f}" for part in parts.values())]
        for name, rule in RULES.items()
    ]
    return table_text(["rule", *(f"{value} ({len(part)})" for value, part in parts.items())], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("QUORATE_DATA"), help="folder of data sets (or QUORATE_DATA)")
    measure(parser.parse_args().data)
    print(table(read()))

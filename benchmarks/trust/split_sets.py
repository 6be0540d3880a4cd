"""Splits that are tested: sets without clusters of many kinds, and planted ones; beside silhouette and gap statistic.

`python -m benchmarks.trust.split_sets SEED peers > splits.jsonl` writes a line of JSON for each set, 580 in all;
`python -m benchmarks.trust.split_sets` prints the tables of docs/how-to/which-splits-are-real.md from them.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from quorate import ari, generate, significant_splits

Points = NDArray[Any]
Rng = np.random.Generator
EACH, PLANTED_EACH = 25, 20
"""Sets of each kind without clusters, and of planted clusters at each distance."""
PLAIN = ("gaussian", "uniform", "correlated")
"""The kinds without clusters that silhouette and gap statistic are usually compared with."""
RESULTS = Path(__file__).parent / "splits.jsonl"
GAPS = (3.0, 4.0, 5.0, 6.0)
"""Least distances of the centres of planted clusters, in standard deviations."""


def _outliers(rng: Rng, n: int, d: int) -> Points:
    points = rng.normal(size=(n, d))
    points[: n // 50] *= 6
    return points


def _walks(rng: Rng, n: int, d: int) -> Points:
    return np.cumsum(rng.normal(size=(n, max(d, 10))), axis=1)


def _mixed_axes(rng: Rng, n: int, d: int) -> Points:
    return np.asarray(rng.normal(size=(n, d)) @ rng.normal(size=(d, d)))


def _sizes_of_members(rng: Rng, n: int) -> Points:
    sizes = rng.integers(2, 12, size=int(rng.integers(5, 21)))
    return np.column_stack([rng.choice(k, n, p=rng.dirichlet(np.ones(k))) for k in sizes])


def _ball(rng: Rng, n: int, d: int) -> Points:
    points = rng.normal(size=(n, d))
    return points / np.linalg.norm(points, axis=1, keepdims=True) * rng.random((n, 1)) ** (1 / d)


def _answers(rng: Rng, n: int, d: int) -> Points:
    """Answers from 1 to 5 to questions that one attitude drives."""
    columns = max(d, 5)
    driven = rng.normal(size=(n, 1)) * rng.uniform(0.4, 1.2, size=columns) + rng.normal(size=(n, columns))
    return np.clip(np.round(driven + rng.normal(scale=0.5, size=columns)) + 3, 1, 5)


def _series(rng: Rng, n: int, d: int) -> Points:
    """Stationary series whose values follow the one before."""
    steps = rng.normal(size=(n, max(d, 10)))
    for place in range(1, steps.shape[1]):
        steps[:, place] += 0.8 * steps[:, place - 1]
    return steps


def _arc(rng: Rng, n: int, d: int) -> Points:
    angle = rng.uniform(0, 1.3 * np.pi, size=n)
    points = 0.25 * rng.normal(size=(n, d))
    points[:, :2] += 2 * np.column_stack([np.cos(angle), np.sin(angle)])
    return points


def _with_gaps(rng: Rng, n: int) -> Points:
    """Random labels of which up to half are missing."""
    table = _sizes_of_members(rng, n)
    table[rng.random(table.shape) < rng.uniform(0.1, 0.5)] = -1
    table[(table < 0).all(axis=1), 0] = 0
    return table


NULLS: dict[str, Callable[[Rng, int, int], Points]] = {
    "gaussian": lambda rng, n, d: rng.normal(size=(n, d)),
    "uniform": lambda rng, n, d: rng.random(size=(n, d)),
    "heavy tails": lambda rng, n, d: rng.standard_t(3, size=(n, d)),
    "log-normal": lambda rng, n, d: np.exp(0.7 * rng.normal(size=(n, d))),
    "exponential": lambda rng, n, d: rng.exponential(size=(n, d)),
    "correlated": _mixed_axes,
    "rounded": lambda rng, n, d: np.round(rng.normal(size=(n, d)), 0),
    "counts": lambda rng, n, d: rng.poisson(rng.uniform(0.5, 8, size=d), size=(n, d)).astype(float),
    "binary": lambda rng, n, d: (rng.random((n, max(d, 5))) < rng.uniform(0.1, 0.9, size=max(d, 5))).astype(float),
    "random walks": _walks,
    "outliers": _outliers,
    "Laplace": lambda rng, n, d: rng.laplace(size=(n, d)),
    "ball": _ball,
    "elongated": lambda rng, n, d: rng.normal(size=(n, d)) * 0.6 ** np.arange(d).clip(max=8),
    "overdispersed counts": lambda rng, n, d: rng.poisson(rng.gamma(1.0, 4.0, size=(n, d))).astype(float),
    "answers": _answers,
    "series": _series,
    "arc": _arc,
}
"""Kinds of measurements without clusters."""
TABLES: dict[str, Callable[[Rng, int], Points]] = {
    "random labels": _sizes_of_members,
    "random labels with gaps": _with_gaps,
}
"""Kinds of tables of labels that have nothing in common."""
CURVED = ("arc",)
"""The kinds whose clouds are not convex: the reference, an ellipsoid, does not stand for them."""


def null_set(kind: str, number: int, seed: int) -> Points:
    rng = np.random.default_rng((seed, 7, number, sum(map(ord, kind))))
    n, d = int(rng.integers(150, 701)), int(rng.choice([2, 3, 5, 10, 20]))
    return TABLES[kind](rng, n) if kind in TABLES else NULLS[kind](rng, n, d)


def planted_set(gap: float, number: int, seed: int) -> tuple[Points, NDArray[np.int64]]:
    """Gaussian clusters of unequal sizes, whose nearest centres are `gap` standard deviations apart."""
    rng = np.random.default_rng((seed, 8, number, int(10 * gap)))
    k, d = int(rng.choice([2, 3, 5, 8])), int(rng.choice([2, 3, 5, 10, 20]))
    centres = rng.normal(size=(k, d))
    distances = np.linalg.norm(centres[:, None] - centres, axis=2)
    centres *= gap / distances[~np.eye(k, dtype=bool)].min()
    truth = np.repeat(np.arange(k), rng.integers(40, 161, size=k))
    return centres[truth] + rng.normal(size=(len(truth), d)), truth


def peers(X: Points) -> dict[str, float]:
    """The best silhouette of k-means of 2 to 10 clusters, and the largest rise of the gap above that of one cluster."""
    rng = np.random.default_rng(0)
    drawn = [rng.uniform(X.min(axis=0), X.max(axis=0), size=X.shape) for _ in range(3)]
    spreads, silhouettes = [], []
    for k in range(1, 11):
        models = [KMeans(k, n_init=1, random_state=0).fit(part) for part in (X, *drawn)]
        logs = [float(np.log(max(model.inertia_, 1e-12))) for model in models]
        spreads.append(float(np.mean(logs[1:])) - logs[0])
        if k > 1:
            silhouettes.append(float(silhouette_score(X, models[0].labels_)))
    return {"silhouette": max(silhouettes), "gap": max(spreads[1:]) - spreads[0]}


def measured(X: Points, truth: Any, *, labels: bool, with_peers: bool) -> dict[str, Any]:
    """Test the splits of a set; k-means members of 5 to 20 clusters, or the labels themselves."""
    start = time.process_time()
    found = (
        significant_splits(X)
        if labels
        else significant_splits(generate(X, k=(5, 20), base="kmeans", random_state=0), X)
    )
    seconds = time.process_time() - start
    first = found.splits[0] if found.splits else None
    record = {
        "n": len(X),
        "d": X.shape[1],
        "found": found.n_clusters,
        "p": None if first is None else first.p_value,
        "seconds": round(seconds, 2),
    }
    if truth is not None:
        record |= {"planted": int(truth.max()) + 1, "ari": ari(found.labels, truth)}
    return record | (peers(X) if with_peers and not labels else {})


def error_table(records: list[dict[str, Any]]) -> str:
    """How many sets without clusters of each kind were divided."""
    lines = ["| without clusters | sets | divided |", "|---|---:|---:|"]
    for kind in (*NULLS, *TABLES):
        found = [record["found"] > 1 for record in records if record["kind"] == kind]
        lines.append(f"| {kind} | {len(found)} | {sum(found)} |")
    every = [record for record in records if "planted" not in record]
    straight = [record for record in every if record["kind"] not in CURVED]
    for words, part in (("all", every), ("all but curved clouds", straight)):
        divided = [record["found"] > 1 for record in part]
        lines.append(f"| **{words}** | {len(divided)} | {sum(divided)} ({np.mean(divided):.1%}) |")
    return "\n".join(lines)


def power_table(records: list[dict[str, Any]]) -> str:
    """How many planted sets were divided, exactly right, and found by peers with the best threshold at 5% error."""
    without = [record for record in records if "planted" not in record and "gap" in record]
    plain = [record for record in without if record["kind"] in PLAIN]
    limits = [np.quantile([r[peer] for r in part], 0.95) for part in (without, plain) for peer in ("silhouette", "gap")]
    lines = [
        "| distance | sets | divided | number right | too many | silhouette | gap | silhouette, plain | gap, plain |",
        "|---:|" + "---:|" * 8,
    ]
    for gap in GAPS:
        part = [record for record in records if record["kind"] == f"planted {gap:g}"]
        ours = [
            sum(record["found"] > 1 for record in part),
            sum(record["found"] == record["planted"] for record in part),
            sum(record["found"] > record["planted"] for record in part),
        ]
        peer = [
            sum(record[name] > limit for record in part)
            for name, limit in zip(("silhouette", "gap") * 2, limits, strict=True)
        ]
        lines.append("| " + " | ".join(map(str, [f"{gap:g}", len(part), *ours, *peer])) + " |")
    return "\n".join(lines)


def main() -> None:
    if len(sys.argv) == 1:
        records = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
        print(error_table(records), power_table(records), sep="\n\n")
        return
    seed, with_peers = int(sys.argv[1]), "peers" in sys.argv
    # a run that is cut short has as many sets of each kind
    for number in range(EACH):
        for kind in (*NULLS, *TABLES):
            record = measured(null_set(kind, number, seed), None, labels=kind in TABLES, with_peers=with_peers)
            print(json.dumps({"kind": kind, "number": number, **record}), flush=True)
        for gap in GAPS if number < PLANTED_EACH else ():
            X, truth = planted_set(gap, number, seed)
            record = measured(X, truth, labels=False, with_peers=with_peers)
            print(json.dumps({"kind": f"planted {gap:g}", "number": number, **record}), flush=True)


if __name__ == "__main__":
    main()

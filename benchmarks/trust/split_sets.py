"""Splits that are tested: sets without clusters of many kinds, and planted ones; beside silhouette and gap statistic.

`python -m benchmarks.trust.split_sets SEED` writes a line of JSON for each set and a table at the end.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from quorate import ari, generate, significant_splits

Points = NDArray[Any]
Rng = np.random.Generator
EACH = 20
"""Sets of each kind."""
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
}
"""Kinds of measurements without clusters; "random labels" are tables."""


def null_set(kind: str, number: int, seed: int) -> Points:
    rng = np.random.default_rng((seed, 7, number, sum(map(ord, kind))))
    n, d = int(rng.integers(150, 701)), int(rng.choice([2, 3, 5, 10, 20]))
    if kind == "random labels":
        sizes = rng.integers(2, 12, size=int(rng.integers(5, 21)))
        return np.column_stack([rng.choice(k, n, p=rng.dirichlet(np.ones(k))) for k in sizes])
    return NULLS[kind](rng, n, d)


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


def main() -> None:
    seed, with_peers = int(sys.argv[1]), "peers" in sys.argv
    # a run that is cut short has as many sets of each kind
    for number in range(EACH):
        for kind in (*NULLS, "random labels"):
            record = measured(null_set(kind, number, seed), None, labels=kind == "random labels", with_peers=with_peers)
            print(json.dumps({"kind": kind, "number": number, **record}), flush=True)
        for gap in GAPS:
            X, truth = planted_set(gap, number, seed)
            record = measured(X, truth, labels=False, with_peers=with_peers)
            print(json.dumps({"kind": f"planted {gap:g}", "number": number, **record}), flush=True)


if __name__ == "__main__":
    main()

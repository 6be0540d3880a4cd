"""One ensemble of one data set through every method."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from quorate import METHODS, Ensemble, anmi, ari, as_ensemble, consensus, datasets, generate, nmi

# small to medium, smallest first; measurements of real things, and a few of the shapes people argue about
SETS = [
    "iris", "wine", "sonar", "seeds", "glass", "house_votes_complete", "ecoli", "ionosphere", "user_knowledge", "musk1",
    "wdbc", "synthetic_control", "shape_R15", "breast_wisconsin", "pima", "shape_aggregation", "cmc", "yeast",
    "optdigits_test", "mfeat_fou", "mfeat_kar", "mfeat_zer", "mfeat_mor", "segmentation", "shape_a1", "shape_D31",
    "optdigits_train", "shape_s2", "shape_s4", "satimage", "pendigits",
]  # fmt: skip
RULES = ("candel", "10-40")
GAPS = (0.3, 0.6, 0.85)
"""Shares of labels taken away at random from members by LIN's rule; the first 22 sets, as rule "gaps 0.3"."""
GAP_SETS = SETS[:22]


def rules_of(name: str) -> list[str]:
    return [*RULES, *(f"gaps {share}" for share in GAPS if name in GAP_SETS)]


def run_set(name: str, rule: str, repeat: int, done: set[str]) -> Iterator[dict[str, Any]]:
    """Twenty k-means members, then every method that is not done into as many clusters as there are classes."""
    missing = [method for method in METHODS if method not in done]
    if not missing:
        return
    data = datasets.load(name)
    X = np.asarray(data.X, dtype=np.float64)
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    k = len(np.unique(data.y))
    members = generate(X, 20, k=_rule(rule, k, len(X)), base="kmeans", random_state=repeat)
    ensemble = _with_gaps(as_ensemble(members), rule, repeat)
    for method in missing:
        start = time.perf_counter()
        try:
            result = consensus(ensemble, None if method == "best" else k, method=method, random_state=repeat)
        except (ValueError, MemoryError, RuntimeError) as error:
            yield _record(name, rule, repeat, method, error=str(error))
            continue
        seconds = time.perf_counter() - start
        yield _record(
            name, rule, repeat, method, seconds=seconds, n=len(X), k=result.n_clusters,
            nmi=nmi(result, data.y), ari=ari(result, data.y), anmi=anmi(result, ensemble),
        )  # fmt: skip


def _with_gaps(ensemble: Ensemble, rule: str, seed: int) -> Ensemble:
    """Take labels away at random; every object keeps one, so that there is something to go by."""
    if not rule.startswith("gaps"):
        return ensemble
    rng = np.random.default_rng(seed)
    labels = np.array(ensemble.labels, dtype=np.int64)
    gone = rng.random(labels.shape) < float(rule.split()[1])
    gone[np.arange(len(labels)), rng.integers(labels.shape[1], size=len(labels))] = False
    labels[gone] = -1
    return as_ensemble(labels, orientation="objects")


def _rule(rule: str, k: int, n: int) -> Any:
    """LIN's rule with the number of classes as its lower end; [10, 40] capped at a tenth of a small set."""
    if rule != "10-40":
        return (k, max(k, int(min(np.sqrt(n), 100))))
    return (10, min(40, max(11, n // 5)))


def _record(name: str, rule: str, repeat: int, method: str, **facts: Any) -> dict[str, Any]:
    return {"set": name, "rule": rule, "repeat": repeat, "method": method, **facts}

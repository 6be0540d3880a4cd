"""The stages that are measured, each for one n; run in a process of its own by `python -m benchmarks.scale`."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.scale import inputs
from benchmarks.scale.watching import Watch
from quorate import (
    Ensemble,
    EnsembleClustering,
    as_ensemble,
    coarsen,
    compress,
    consensus,
    evaluate,
    generate,
    solve,
)
from quorate._data.rows import expand
from quorate.ops.distinct_rows import PARTED_FROM

K = inputs.N_CLUSTERS
LINEAR = ("lwgp", "transfer", "kmeans", "voting", "bisecting", "mcla", "coarsen")
"""Methods whose time and memory grow as the distinct rows do, and the coarsening that comes before others."""
HARD_BYTES = 14_000_000_000
"""With less than this, 10^8 rows that are nearly all distinct would be merged before the method."""


def from_labels(n: int) -> list[dict[str, Any]]:
    """In memory, from a table of labels: coding, compression, the method, labels for all objects, their scores."""
    _warm_up()
    table, watch = inputs.labels(n), Watch("memory", n)
    _stages(table, watch)
    watch.stage("labels to labels", lambda: consensus(table, K, random_state=0))
    return watch.records


def _stages(table: Any, watch: Watch) -> None:
    """Everything between a table of labels and its scores; nothing of it is held afterwards."""
    ensemble = watch.stage("as_ensemble", lambda: as_ensemble(table))
    rows, inverse = watch.stage("compress", lambda: compress(ensemble))
    result = watch.stage("solve", lambda: solve(rows, K, random_state=0), rows=rows.n_rows)
    objects = watch.stage("expand", lambda: expand(result, inverse))
    watch.stage("evaluate", lambda: evaluate(objects.labels, ensemble))


def from_features(n: int) -> list[dict[str, Any]]:
    """In memory, from features: twenty k-means members, and the whole job of `EnsembleClustering`."""
    _warm_up()
    table, watch = inputs.features(n), Watch("memory", n)
    options: dict[str, Any] = {"base": "kmeans", "k": (10, 40), "random_state": 0}
    watch.stage("generate", lambda: generate(table, inputs.N_MEMBERS, **options))
    watch.stage("features to labels", lambda: EnsembleClustering(K, **options).fit(table))
    return watch.records


def by_method(n: int, method: str) -> list[dict[str, Any]]:
    """One linear method on n rows that are nearly all distinct; memory that an earlier one left would hide its own."""

    def run(rows: Ensemble) -> object:
        return coarsen(rows) if method == "coarsen" else solve(rows, K, method=method, random_state=0)

    run(_hard_rows(3000))
    rows, watch = _hard_rows(n), Watch("memory", n)
    watch.stage(f"method {method}", lambda: run(rows), rows=rows.n_rows)
    return watch.records


def _hard_rows(n: int) -> Ensemble:
    return compress(as_ensemble(inputs.labels(n, noise=0.25)))[0]


def from_hard_labels(n: int) -> list[dict[str, Any]]:
    """From a table of labels that are nearly all distinct to labels, by the default method with enough memory."""

    def run(table: Any) -> object:
        return consensus(table, K, random_state=0, max_bytes=HARD_BYTES)

    run(inputs.labels(PARTED_FROM, noise=0.25))
    table, watch = inputs.labels(n, noise=0.25), Watch("memory", n)
    watch.stage("hard labels to labels", lambda: run(table))
    return watch.records


def peers(n: int) -> list[dict[str, Any]]:
    """What others take for the same stages: distinct rows by numpy, k-means of the features by scikit-learn."""
    from sklearn.cluster import MiniBatchKMeans

    return [*_distinct_by_numpy(n), *_k_means(n, MiniBatchKMeans(K, n_init=1, random_state=0))]


def _distinct_by_numpy(n: int) -> list[dict[str, Any]]:
    table, watch = inputs.labels(n), Watch("numpy", n)
    watch.stage("compress", lambda: np.unique(table, axis=0, return_inverse=True, return_counts=True))
    return watch.records


def _k_means(n: int, model: Any) -> list[dict[str, Any]]:
    points, watch = inputs.features(n), Watch("scikit-learn", n)
    watch.stage("features to labels", lambda: model.fit_predict(points))
    return watch.records


def _warm_up() -> None:
    """Compile what the stages use, which is not what they are measured for."""
    compress(as_ensemble(inputs.labels(PARTED_FROM)))
    table = inputs.labels(3000)
    evaluate(consensus(table, K, random_state=0).labels, as_ensemble(table))


GROUPS: dict[str, Callable[[int], list[dict[str, Any]]]] = {
    "labels": from_labels,
    "hard": from_hard_labels,
    "features": from_features,
    "peers": peers,
    **{f"method {name}": partial(by_method, method=name) for name in LINEAR},
}


def main() -> None:
    """`python -m benchmarks.scale.stages GROUP N`: print one line of JSON for each stage."""
    warnings.simplefilter("ignore")
    Watch.listeners.append(lambda record: print(json.dumps(record), flush=True))
    GROUPS[sys.argv[1]](int(sys.argv[2]))


if __name__ == "__main__":
    main()

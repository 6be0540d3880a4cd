"""Confidence beside what it estimates: the share of objects that fresh ensembles place in the same cluster."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.sets import development_sets, group_of, prepared
from benchmarks.trust.tables import GAPS, gap_table, planted_table, random_table
from quorate import Consensus, Ensemble, EnsembleClustering, as_ensemble, compress, consensus, generate
from quorate.solvers.cluster_means import own_shares
from quorate.solvers.contingency import matched

Record = dict[str, Any]
Labels = NDArray[Any]
FRESH = 3
"""Fresh ensembles for each case."""
BINS = 10
TABLE_SEED, N_TABLES = 7, 40
GROUPS = ("default", "k-means members", "planted labels", "labels with gaps", "random labels")
"""Kinds of cases: the default of `EnsembleClustering`, 20 k-means members, and tables of labels."""
MANY = 200
"""Objects with the same number of labels from which on their mean confidence is compared by itself."""


class Made(NamedTuple):
    """One ensemble, its consensus, and how many times as long this takes with confidence as without."""

    ensemble: Ensemble
    result: Consensus
    times: float


def names() -> list[str]:
    """All cases; the tables of labels alternate between the halves, as the sets do."""
    sets = [*development_sets(), "pendigits"]
    measured = [f"{group} / {name}" for group in GROUPS[:2] for name in sets]
    return measured + [f"{group} / {number}" for group in GROUPS[2:] for number in range(N_TABLES)]


def half_of(name: str) -> str:
    """The half of a case; settings were chosen on half A."""
    group, what = name.split(" / ")
    return ("half A", "half B")[int(what) % 2] if group in GROUPS[2:] else group_of(what)


def measure_confidence(name: str) -> Record:
    """Make one ensemble and three fresh ones, and count in ten bins of confidence how many objects stay in place."""
    group, what = name.split(" / ")
    made, truth = (_from_labels if group in GROUPS[2:] else _from_features)(group, what)
    first = made[0]
    labels, known = first.result.labels.astype(np.int64), np.ones(len(first.result.labels), dtype=np.int64)
    same = np.mean([matched(labels, fresh.result.labels.astype(np.int64), known) == labels for fresh in made[1:]], 0)
    right = None if truth is None else matched(truth, labels, known) == truth
    before = _shares(first)
    assert first.result.confidence is not None
    record: Record = {
        "objects": len(labels),
        "k": first.result.n_clusters,
        "same": round(float(same.mean()), 4),
        "now": counted(first.result.confidence, same, right),
        "before": counted(before, same, right),
        "times": round(first.times, 2),
    }
    if first.ensemble.has_missing:
        record["by_number"] = by_number(first, same)
    if group in GROUPS[:2]:
        record["clusters"] = _clusters(first.result, before, same, truth)
    return record


def counted(confidence: NDArray[np.float64], same: Labels, right: Labels | None) -> list[list[float]]:
    """For each bin of confidence: objects, and the sums of confidence, of staying in place, and of being right."""
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    sums = [np.bincount(bins, weights=values, minlength=BINS) for values in (confidence, same)]
    sums += [] if right is None else [np.bincount(bins, weights=right, minlength=BINS)]
    table = np.column_stack([np.bincount(bins, minlength=BINS), *sums])
    return [[round(float(value), 2) for value in row] for row in table]


def by_number(made: Made, same: Labels) -> list[list[float]]:
    """For each number of labels that many objects have: objects, mean confidence, and the share that stays."""
    assert made.result.confidence is not None
    known = (made.ensemble.labels >= 0).sum(axis=1)
    groups = [(number, known == number) for number in np.unique(known).tolist()]
    return [
        [number, int(own.sum()), round(float(made.result.confidence[own].mean()), 4), round(float(same[own].mean()), 4)]
        for number, own in groups
        if own.sum() >= MANY
    ]


def _from_features(group: str, name: str) -> tuple[list[Made], Labels | None]:
    data = prepared(name)
    make = _by_default if group == GROUPS[0] else _of_k_means
    return [make(data.X, data.n_classes, seed) for seed in range(FRESH + 1)], data.y


def _by_default(X: Any, k: int, seed: int) -> Made:
    model = EnsembleClustering(k, random_state=seed).fit(X)
    return Made(model.ensemble_, model.consensus_, _solved(model.ensemble_, k, seed).times if seed == 0 else 0.0)


def _of_k_means(X: Any, k: int, seed: int) -> Made:
    return _solved(generate(X, 20, base="kmeans", random_state=seed), k, seed)


def _solved(ensemble: Ensemble, k: int, seed: int) -> Made:
    """The consensus, and how many times as long it takes with confidence as without."""
    times = []
    for confidence in (False, True):
        start = time.process_time()
        result = consensus(ensemble, k, random_state=seed, confidence=confidence)
        times.append(time.process_time() - start)
    return Made(ensemble, result, times[1] / max(times[0], 1e-9))


def _from_labels(group: str, number: str) -> tuple[list[Made], Labels | None]:
    """Tables of four times as many members, divided into four; objects that one of them does not label are left out."""
    rng = np.random.default_rng((TABLE_SEED, int(number)))
    if group == GROUPS[3]:
        table = gap_table(rng, GAPS[int(number) // 2 % len(GAPS)], times=FRESH + 1)
    else:
        table = (planted_table if group == GROUPS[2] else random_table)(rng, times=FRESH + 1)
    parts = np.split(table.labels, FRESH + 1, axis=1)
    kept = np.all([(part >= 0).any(axis=1) for part in parts], axis=0)
    made = [
        _solved(as_ensemble(part[kept], orientation="objects", check=False), table.n_clusters, seed)
        for seed, part in enumerate(parts)
    ]
    return made, None if table.truth is None else table.truth[kept].astype(np.int64)


def _shares(made: Made) -> NDArray[np.float64]:
    """What confidence was before: the own share of each object."""
    rows, inverse = compress(made.ensemble)
    labels = np.empty(rows.n_rows, dtype=np.int32)
    labels[inverse] = made.result.labels
    return own_shares(rows, labels)[inverse]


def _clusters(result: Consensus, before: NDArray[np.float64], same: Labels, truth: Labels | None) -> list[list[float]]:
    """For each cluster: objects, mean confidence now and before, share that stays, and share of its largest class."""
    found = []
    for cluster in range(result.n_clusters):
        inside = result.labels == cluster
        means = [float(values[inside].mean()) for values in (result.confidence, before, same) if values is not None]
        largest = 0.0 if truth is None else float(np.bincount(truth[inside]).max() / inside.sum())
        found.append([int(inside.sum()), *(round(value, 3) for value in (*means, largest))])
    return found

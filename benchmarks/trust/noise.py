"""How often sets without clusters are called structure, and how often planted clusters are missed."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.trust.noise_sets import NoiseSet, make
from quorate import EnsembleClustering, ari, as_ensemble, consensus, evaluate

Record = dict[str, Any]
FOUND = 0.7
"""Planted clusters count as findable if k-means (a consensus, for labels) finds them with at least this ARI."""
NUMBERS = ("z", "p_value", "adjusted", "reproducibility", "reference_z")


def measure_noise(name: str) -> Record:
    """The verdict on one set, and how well the planted clusters can be found."""
    data = make(name)
    start = time.process_time()
    scores, result = _of_table(data) if data.X is None else _of_measurements(data)
    told = {number: _rounded(getattr(scores, number, None)) for number in NUMBERS}
    seconds = round(time.process_time() - start, 2)
    found: Record = {"level": round(data.level, 3), "grade": scores.verdict.grade, **told, "seconds": seconds}
    if data.truth is not None:
        found["ari"] = round(float(ari(result.labels, data.truth)), 4)
        found["findable"] = round(_findable(data, found["ari"]), 4)
    return found


def _of_table(data: NoiseSet) -> Any:
    ensemble = as_ensemble(data.labels, orientation="objects", check=False)
    result = consensus(ensemble, data.n_clusters, random_state=0, confidence=False)
    return evaluate(result, ensemble, null="auto"), result


def _of_measurements(data: NoiseSet) -> Any:
    model = EnsembleClustering(data.n_clusters, random_state=0).fit(data.X)
    return evaluate(model.consensus_, model.ensemble_, null="auto", features=data.X), model.consensus_


def _findable(data: NoiseSet, own: float) -> float:
    if data.X is None:
        return own
    from sklearn.cluster import KMeans

    labels = KMeans(data.n_clusters, n_init=10, random_state=0).fit_predict(data.X)
    return float(ari(np.asarray(labels), data.truth))


def _rounded(value: Any) -> float | None:
    return None if value is None else round(float(value), 4)

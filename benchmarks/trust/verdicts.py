"""The verdict on labelled sets, beside how well the clusters match the classes."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.accuracy.sets import development_sets, prepared
from quorate import EnsembleClustering, evaluate

NUMBERS = ("ari", "nmi", "z", "p_value", "adjusted", "reproducibility", "reference_z")


def names() -> list[str]:
    """The sets of both halves."""
    return development_sets()


def measure_verdict(name: str) -> dict[str, Any]:
    """Cluster a set with its true number of clusters, and judge the result with and without its classes."""
    data = prepared(name)
    start = time.process_time()
    model = EnsembleClustering(data.n_classes, random_state=0).fit(data.X)
    scores = evaluate(model.consensus_, model.ensemble_, truth=data.y, null="auto", features=data.X)
    values = {number: getattr(scores, number, None) for number in NUMBERS}
    told = {number: None if value is None else round(float(value), 4) for number, value in values.items()}
    return {
        "objects": len(data.y),
        "k": data.n_classes,
        "grade": scores.verdict.grade,
        **told,
        "seconds": round(time.process_time() - start, 2),
    }

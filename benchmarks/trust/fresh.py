"""The number of clusters and the verdict on fresh sets, on which nothing was chosen when family B was measured."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.trust import fresh_sets
from benchmarks.trust.number_peers import PEERS, sampled
from benchmarks.trust.numbers import told
from quorate import EnsembleClustering, ari, evaluate

Record = dict[str, Any]
FRESH_PEERS = (
    "HDBSCAN", "eigengap", "silhouette", "Calinski-Harabasz", "BIC of Gaussian mixtures", "gap statistic",
)  # fmt: skip


def measure_fresh(name: str) -> Record:
    """The number that is found, and the verdict on the clusters of the true number."""
    data = fresh_sets.make(name)
    start = time.process_time()
    info = EnsembleClustering("auto", random_state=0).fit(data.X).consensus_.info
    found = {"objects": len(data.y), "classes": data.n_classes, **told(info["choice"])}
    found["reference"] = info.get("reference_test")
    model = EnsembleClustering(data.n_classes, random_state=0).fit(data.X)
    scores = evaluate(model.consensus_, model.ensemble_, features=data.X)
    known = data.y >= 0
    found["ari"] = round(float(ari(model.labels_[known], data.y[known])), 4)
    found["reference_z"] = None if scores.reference_z is None else round(float(scores.reference_z), 3)
    return {**found, "grade": scores.verdict.grade, "seconds": round(time.process_time() - start, 2)}


def peer_names() -> list[str]:
    """All cases of other ways: a set, and the name of the way."""
    return [f"{name} / {peer}" for peer in FRESH_PEERS for name in fresh_sets.names()]


def measure_fresh_peer(name: str) -> Record:
    """The number that another way finds."""
    which, peer = name.rsplit(" / ", 1)
    data = fresh_sets.make(which)
    return {"classes": data.n_classes, "k": PEERS[peer](sampled(data.X))}

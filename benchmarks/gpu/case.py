"""One case of the benchmark in a process of its own: python -m benchmarks.gpu.case '{"kind": "features", ...}'.

The last line of the output is the case with its times, as JSON.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time
from typing import Any

import numpy as np

K, N_MEMBERS, D = 10, 20, 16
WARM_OBJECTS = 150_000
"""Objects of the run before the timed one, in which kernels are compiled: enough to take the way of many rows."""
ARI_OBJECTS = 1_000_000


def features(xp: Any, n: int, data: str, seed: int) -> tuple[Any, Any]:
    """Ten Gaussian clusters and the truth: easy ones are far apart, hard ones overlap."""
    rng, step = xp.random.default_rng(seed), 1 << 23
    spread = 0.5 if data == "hard" else 0.05
    means = rng.random((K, D), dtype=xp.float32)
    X, truth = xp.empty((n, D), dtype=xp.float32), xp.empty(n, dtype=xp.int8)
    for start in range(0, n, step):
        stop = min(n, start + step)
        drawn = rng.integers(0, K, stop - start)
        noise = rng.standard_normal((stop - start, D), dtype=xp.float32)
        noise *= xp.float32(spread)
        noise += means[drawn]
        X[start:stop], truth[start:stop] = noise, drawn.astype(xp.int8)
    return X, truth


def label_table(n: int, data: str, seed: int) -> tuple[Any, Any]:
    """Labels (n, 20) in host memory: a partition into 10, of which each member gets 2% (easy) or 30% (hard) wrong."""
    try:
        import cupy as xp
    except ImportError:
        import numpy as xp
    rng, step = xp.random.default_rng(seed), 1 << 23
    share = 0.3 if data == "hard" else 0.02
    table, truth = np.empty((n, N_MEMBERS), dtype=np.int8), np.empty(n, dtype=np.int8)
    for start in range(0, n, step):
        shape = min(n, start + step) - start, N_MEMBERS
        drawn = rng.integers(0, K, shape[0]).astype(xp.int8)
        other = rng.integers(0, K, shape).astype(xp.int8)
        part = xp.where(rng.random(shape, dtype=xp.float32) < share, other, drawn[:, None])
        table[start : start + shape[0]] = part if xp is np else part.get()
        truth[start : start + shape[0]] = drawn if xp is np else drawn.get()
    return table, truth


class Clock:
    """Seconds since the last call, after the card has finished."""

    def __init__(self, device: str) -> None:
        self._card = None
        if device == "cuda":
            from quorate._device.choose import find_card

            found = find_card()
            if isinstance(found, str):
                raise SystemExit(found)
            self._card = found
        self.lap()

    def lap(self) -> float:
        if self._card is not None:
            self._card.synchronise()
        now = time.perf_counter()
        gone, self._last = now - getattr(self, "_last", now), now
        return gone


def run_features(case: dict[str, Any]) -> dict[str, Any]:
    """From features, on the card if the device is one, to the labels of the consensus there."""
    from quorate import consensus, generate

    on_card = case["device"] == "cuda"
    if on_card:
        import cupy as xp
    else:
        import numpy as xp
    # where features start in host memory, the copy to the card is part of the time
    options: dict[str, Any] = {"device": "cuda"} if case.get("start") == "host" else {}
    k = None if case["base"] == "spectral" else (10, 40)

    def once(n: int, data: str) -> dict[str, Any]:
        X, truth = features(xp, n, data, seed=1)
        if options:
            X, truth = X.get(), truth.get()
        clock = Clock(case["device"])
        ensemble = generate(X, N_MEMBERS, k=k, base=case["base"], random_state=0, **options)
        made = clock.lap()
        result = consensus(ensemble, K, method=case["method"], random_state=0, **options)
        solved = clock.lap()
        return {"generate": made, "consensus": solved, **outcome(result, truth)}

    once(WARM_OBJECTS, "hard")
    gc.collect()
    return once(case["n"], case["data"])


def run_labels(case: dict[str, Any]) -> dict[str, Any]:
    """From a table of labels in host memory to the labels of the consensus in host memory."""
    from quorate import consensus

    options = {"device": "cuda"} if case["device"] == "cuda" else {}

    def once(n: int, data: str) -> dict[str, Any]:
        table, truth = label_table(n, data, seed=2)
        clock = Clock(case["device"])
        result = consensus(table, K, method=case["method"], random_state=0, **options)
        return {"consensus": clock.lap(), **outcome(result, truth)}

    once(WARM_OBJECTS, "hard")
    gc.collect()
    return once(case["n"], case["data"])


def outcome(result: Any, truth: Any) -> dict[str, Any]:
    """What the result is worth: the ARI with the truth on the first objects, rows, sweeps, and where it ran."""
    from quorate import ari

    first = [array[:ARI_OBJECTS] for array in (result.labels, truth)]
    one, two = (part if isinstance(part, np.ndarray) else part.get() for part in first)
    return {
        "ari": round(ari(one, two), 4),
        "n_rows": int(result.info["n_rows"]),
        "n_iter": int(result.n_iter),
        "ran": str(result.info.get("device", "the processor")),
    }


def run_torch(case: dict[str, Any]) -> dict[str, Any]:
    """k-means as one writes it in PyTorch: 20 sweeps of distances, argmin and means from random rows."""
    import cupy as xp
    import torch

    X, truth = features(xp, case["n"], case["data"], seed=1)
    rows = torch.from_dlpack(X)

    def fit() -> Any:
        torch.manual_seed(0)
        centres = rows[torch.randint(len(rows), (K,), device=rows.device)].clone()
        labels = torch.empty(len(rows), dtype=torch.int64, device=rows.device)
        for _ in range(20):
            sums, sizes = torch.zeros_like(centres), torch.zeros(K, device=rows.device)
            for start in range(0, len(rows), 1 << 24):
                part = rows[start : start + (1 << 24)]
                nearest = torch.cdist(part, centres).argmin(dim=1)
                labels[start : start + len(part)] = nearest
                sums.index_add_(0, nearest, part)
                sizes += torch.bincount(nearest, minlength=K)
            centres = sums / sizes.clamp(min=1)[:, None]
        torch.cuda.synchronize()
        return labels

    fit()
    start = time.perf_counter()
    labels = fit()
    seconds = time.perf_counter() - start
    return {"one clustering": seconds, **_truth(labels[:ARI_OBJECTS].cpu().numpy(), truth[:ARI_OBJECTS].get())}


def run_sklearn(case: dict[str, Any]) -> dict[str, Any]:
    """k-means of scikit-learn with its defaults, on all cores."""
    from sklearn.cluster import KMeans

    X, truth = features(np, case["n"], case["data"], seed=1)
    KMeans(K, random_state=0).fit(X[:10_000])
    start = time.perf_counter()
    labels = KMeans(K, random_state=0).fit_predict(X)
    return {"one clustering": time.perf_counter() - start, **_truth(labels[:ARI_OBJECTS], truth[:ARI_OBJECTS])}


def _truth(labels: Any, truth: Any) -> dict[str, Any]:
    from quorate import ari

    return {"ari": round(ari(labels, truth), 4)}


KINDS = {"features": run_features, "labels": run_labels, "torch": run_torch, "sklearn": run_sklearn}


def main(text: str) -> None:
    case = json.loads(text)
    found = KINDS[case["kind"]](case)
    memory = {"host GB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 1)}
    if case["device"] == "cuda":
        import cupy

        memory["card GB"] = round(cupy.get_default_memory_pool().total_bytes() / 1e9, 1)
    found = {name: round(value, 4) if isinstance(value, float) else value for name, value in found.items()}
    print(json.dumps({**case, **found, **memory, "cores": os.cpu_count()}))


if __name__ == "__main__":
    main(sys.argv[1])

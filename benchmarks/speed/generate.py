"""generate against scikit-learn's KMeans and MiniBatchKMeans: time, and what the consensus of the ensemble is worth.

Peers run all twenty members one after the other, KMeans on all cores, as scikit-learn does by itself. Data sets come
from the folder QUORATE_DATA; without it they are left out.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans, MiniBatchKMeans
from threadpoolctl import threadpool_limits

from benchmarks.speed.measure import line, peak_bytes, seconds
from quorate import as_ensemble, consensus, generate, nmi
from quorate._io.load import load_features

N_MEMBERS, K, SEEDS = 20, (10, 40), 3
Array = NDArray[Any]


def main(*, quick: bool = False) -> None:
    n = 100_000 if quick else 1_000_000
    X, truth = mixture(n)
    generate(X[:1000], 2, k=5, base="kmeans")
    _against_peers(f"mixture {n:,} x 16", X, truth, 50)
    _checkpoint(X)
    _memory(n * 10)
    for name, n_clusters in (("pendigits", 10), ("covertype", 7)):
        found = _load(name)
        if found is None:
            print(f"{name}: not measured, there is no {name}.csv.gz in QUORATE_DATA", flush=True)
            continue
        X, truth = (values[:: 10 if quick else 1] for values in found)
        _against_peers(f"{name} {len(X):,} x {X.shape[1]}", X, truth, n_clusters)


def mixture(n: int, seed: int = 0) -> tuple[Array, Array]:
    """50 Gaussians of unit variance in 16 dimensions, means N(0, 1.5^2) in each."""
    rng = np.random.default_rng(seed)
    means, truth = 1.5 * rng.standard_normal((50, 16)), rng.integers(50, size=n)
    X = rng.standard_normal((n, 16), dtype=np.float32)
    X += means[truth].astype(np.float32)
    return X, truth


def _load(name: str) -> tuple[Array, Array] | None:
    path = Path(os.environ.get("QUORATE_DATA", "")) / f"{name}.csv.gz"
    if not path.exists():
        return None
    X = load_features(path, drop=["label"]).values.astype(np.float32)
    return X, load_features(path, columns=["label"]).values[:, 0].astype(np.int64)


def _against_peers(what: str, X: Array, truth: Array, n_clusters: int) -> None:
    ours, _ = seconds(lambda: generate(X, N_MEMBERS, k=K, base="kmeans", random_state=0))
    ensembles = [generate(X, N_MEMBERS, k=K, base="kmeans", random_state=seed) for seed in range(SEEDS)]
    mine = [_worth(ensemble, truth, n_clusters, seed) for seed, ensemble in enumerate(ensembles)]
    print(f"{what}: consensus of generate's members, NMI {_mean(mine)} over {SEEDS} ensembles", flush=True)
    sizes = [facts["k"] for facts in ensembles[0].info["members"]]
    makers: dict[str, Callable[[int, int], Any]] = {
        "KMeans(init='random', n_init=1)": lambda k, seed: KMeans(k, init="random", n_init=1, random_state=seed),
        "MiniBatchKMeans(n_init=1)": lambda k, seed: MiniBatchKMeans(k, n_init=1, random_state=seed),
    }
    for name, make in makers.items():
        start = time.perf_counter()
        # small batches on two threads wait for one another: on one thread MiniBatchKMeans is faster
        with warnings.catch_warnings(), threadpool_limits(1 if name.startswith("Mini") else None):
            warnings.simplefilter("ignore")
            labels = [make(k, seed).fit_predict(X) for seed, k in enumerate(sizes)]
        theirs = time.perf_counter() - start
        worth = [_worth(labels, truth, n_clusters, seed) for seed in range(SEEDS)]
        line(f"  {what}, {N_MEMBERS} members", ours, name, theirs, f"NMI {_mean(worth)}, one ensemble")


def _worth(members: Any, truth: Array, n_clusters: int, seed: int) -> float:
    return nmi(consensus(as_ensemble(members), n_clusters, random_state=seed).labels, truth)


def _mean(values: list[float]) -> str:
    return f"{np.mean(values):.4f} +- {np.std(values):.4f}"


def _checkpoint(X: Array) -> None:
    """Turn about, so that both meet the same noise; the least of five."""
    plain, stored = [], []
    for _ in range(5):
        folder = tempfile.mkdtemp()
        try:
            plain.append(seconds(lambda: _generate(X), 1)[0])
            stored.append(seconds(lambda f=folder: _generate(X, checkpoint=f), 1)[0])
        finally:
            shutil.rmtree(folder)
    cost = min(stored) / min(plain) - 1
    print(f"  checkpoint: {min(plain):.3f} s without, {min(stored):.3f} s with: {cost:+.1%}", flush=True)


def _memory(n: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "X.npy")
        stored = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, 16))
        for start in range(0, n, 1_000_000):
            stored[start : start + 1_000_000] = mixture(min(1_000_000, n - start), seed=start)[0]
        del stored
        start_time = time.perf_counter()
        peak = peak_bytes(_mapped, _generate, path)
        took = time.perf_counter() - start_time
    beyond = peak - n * 16 * 4 - n * N_MEMBERS
    print(
        f"  {n:,} x 16 memory map: {beyond / 1e6:.0f} MB at most beyond X ({n * 64 / 1e6:.0f} MB) and the labels "
        f"({n * N_MEMBERS / 1e6:.0f} MB), {took:.1f} s with the start of the process",
        flush=True,
    )


def _mapped(path: str) -> Array:
    X: Array = np.load(path, mmap_mode="r")
    _generate(X[:1000])
    return X


def _generate(X: Array, checkpoint: str | None = None) -> None:
    generate(X, N_MEMBERS, k=K, base="kmeans", random_state=0, checkpoint=checkpoint)

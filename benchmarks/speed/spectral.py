"""Spectral members: against scikit-learn's SpectralClustering, growth with the number of objects, memory, data sets.

Times are processor seconds beside wall seconds, because the machine is often shared. Data sets come from the folder
QUORATE_DATA; without it they are left out.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import SpectralClustering

from benchmarks.speed.measure import peak_bytes
from quorate import consensus, generate, nmi
from quorate.datasets import load

N_MEMBERS = 20
Array = NDArray[Any]
PUBLISHED = {
    "pendigits": 19,
    "letter": 21,
    "mnist": 132,
    "covertype": 174,
    "rings 1,000,000": 318,
    "rings 10,000,000": 3603,
}
"""Seconds of U-SENC, twenty members and a consensus, on other hardware (D. Huang et al., TKDE 2020: four cores)."""


def main(*, quick: bool = False) -> None:
    # compiles both searches of landmarks, by all distances and by groups
    generate(rings(500)[0], 2, base="spectral")
    generate(rings(3_000)[0], 2, base="spectral")
    _against_scikit_learn("rings 10,000 x 2", *rings(10_000), 2 if quick else N_MEMBERS)
    if os.environ.get("QUORATE_DATA"):
        digits = load("pendigits")
        _against_scikit_learn("pendigits 10,992 x 16", np.asarray(digits.X), digits.y, 2 if quick else N_MEMBERS)
    sizes = (10_000, 100_000) if quick else (100_000, 1_000_000, 10_000_000)
    _growth(sizes)
    _memory(sizes[-1])
    for name in ("pendigits", "letter", "mnist", "covertype"):
        _data_set(name, quick)


def rings(n: int, seed: int = 0) -> tuple[Array, Array]:
    """Four concentric rings in the plane, float32."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(4, size=n)
    angle = rng.uniform(0, 2 * np.pi, n)
    radius = 1 + truth + rng.normal(0, 0.08, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]).astype(np.float32), truth


def timed(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Processor seconds, wall seconds, result."""
    processor, wall = time.process_time(), time.perf_counter()
    result = call()
    return time.process_time() - processor, time.perf_counter() - wall, result


def _against_scikit_learn(what: str, X: Array, truth: Array, n_runs: int) -> None:
    """Clusterings with the same numbers of clusters; where n_runs are fewer than the members, their cost is scaled."""
    n_clusters = len(np.unique(truth))
    rule = ("spectral", n_clusters)
    ours, wall, ensemble = timed(lambda: generate(X, N_MEMBERS, base="spectral", k=rule, random_state=0))
    worth = nmi(consensus(ensemble, n_clusters, random_state=0).labels, truth)
    print(f"{what}: {N_MEMBERS} spectral members {ours:.1f} s of processor ({wall:.1f} s wall)", flush=True)
    print(f"  NMI of their consensus {worth:.3f}", flush=True)
    with warnings.catch_warnings():
        # it warns that the graph falls into parts, as it should where clusters lie apart
        warnings.simplefilter("ignore")
        sizes = [facts["k"] for facts in ensemble.info["members"]][:n_runs]
        theirs = sum(timed(lambda k=k: _peer(k).fit_predict(X))[0] for k in sizes)
        one, _, found = timed(lambda: _peer(n_clusters).fit_predict(X))
    print(
        f"  SpectralClustering(nearest neighbours), {n_runs} of the same numbers of clusters: {theirs:.1f} s of "
        f"processor, so {N_MEMBERS} cost {theirs / n_runs * N_MEMBERS / ours:.1f} times as much\n"
        f"  one run with {n_clusters} clusters {one:.2f} s, NMI {nmi(found, truth):.3f}",
        flush=True,
    )


def _peer(n_clusters: int) -> SpectralClustering:
    return SpectralClustering(n_clusters, affinity="nearest_neighbors", random_state=0)


def _growth(sizes: tuple[int, ...]) -> None:
    seconds = []
    for n in sizes:
        X, truth = rings(n)
        spent, wall, ensemble = timed(lambda X=X: generate(X, N_MEMBERS, base="spectral", random_state=0))
        seconds.append(spent)
        told = _published(f"rings {n:,}")
        print(f"rings {n:,} x 2: {spent:.1f} s of processor, {wall:.1f} s wall{told}", flush=True)
        del ensemble, truth
    for place in range(1, len(sizes)):
        power = np.log(seconds[place] / seconds[place - 1]) / np.log(sizes[place] / sizes[place - 1])
        print(f"  {sizes[place - 1]:,} to {sizes[place]:,} objects: time grows as n^{power:.2f}", flush=True)


def _memory(n: int) -> None:
    beyond = peak_bytes(_rings_alone, _spectral, n) - n * 8 - n * N_MEMBERS
    print(f"  {n:,} x 2: {beyond / 1e6:.0f} MB at most beyond X and the labels", flush=True)


def _rings_alone(n: int) -> Array:
    X = np.empty((n, 2), dtype=np.float32)
    for start in range(0, n, 1_000_000):
        X[start : start + 1_000_000] = rings(min(1_000_000, n - start), seed=start)[0]
    _spectral(X[:3000])
    return X


def _spectral(X: Array) -> None:
    generate(X, N_MEMBERS, base="spectral", random_state=0)


def _data_set(name: str, quick: bool) -> None:
    if not os.environ.get("QUORATE_DATA"):
        print(f"{name}: not measured, QUORATE_DATA names no folder", flush=True)
        return
    data = load(name)
    step = 10 if quick else 1
    X, truth = np.asarray(data.X, dtype=np.float32)[::step], data.y[::step]
    n_clusters = len(np.unique(truth))
    spent, wall, found = timed(
        lambda: consensus(
            generate(X, N_MEMBERS, base="spectral", k=("spectral", n_clusters), random_state=0),
            n_clusters,
            random_state=0,
        )
    )
    print(
        f"{name} {X.shape[0]:,} x {X.shape[1]}, members and consensus: {spent:.1f} s of processor, {wall:.1f} s "
        f"wall{_published(name)}; NMI {nmi(found.labels, truth):.3f}",
        flush=True,
    )


def _published(name: str) -> str:
    return f" (U-SENC, published: {PUBLISHED[name]} s)" if name in PUBLISHED else ""

"""transfer against the transfer cut on all objects with scipy.sparse and scikit-learn: U-SENC's consensus step.

Also how the other methods with local weights, and correlation, fare beside it and beside kmeans.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_matrix, diags

from benchmarks.speed.inputs import half_distinct, nearest_point_members
from benchmarks.speed.labels import one_hot
from benchmarks.speed.measure import line, peak_bytes, seconds
from quorate import anmi, as_ensemble, compress, consensus

N_CLUSTERS = 10
TODAY = {10_000: 0.16, 50_000: 0.6, 1_000_000: 21.0}
"""Seconds of U-SENC's consensus step as issue 7 has them (20 members, ten Gaussians)."""


def peer_transfer(labels: NDArray[np.int8], n_init: int = 10) -> NDArray[np.int32]:
    """The textbook way: every object a row."""
    from sklearn.cluster import KMeans

    matrix: csr_matrix = one_hot(labels)
    inverse_degree = diags(1.0 / np.asarray(matrix.sum(axis=1)).ravel())
    folded = (matrix.T @ (inverse_degree @ matrix)).toarray()
    scale = 1.0 / np.sqrt(folded.sum(axis=1))
    size = len(folded)
    _, vectors = eigh(folded * np.outer(scale, scale), subset_by_index=(size - N_CLUSTERS, size - 1))
    points = inverse_degree @ (matrix @ (scale[:, None] * vectors[:, ::-1]))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    found: NDArray[np.int32] = KMeans(N_CLUSTERS, n_init=n_init, random_state=0).fit(points).labels_
    return found


def ours(labels: NDArray[np.int8], method: str = "transfer") -> Any:
    return consensus(labels, N_CLUSTERS, method=method, random_state=0)


def make(n: int, hard: bool) -> NDArray[np.int8]:
    labels = nearest_point_members(n)
    return half_distinct(labels) if hard else labels


def compare(n: int, hard: bool) -> None:
    labels = make(n, hard)
    ensemble = as_ensemble(labels)
    rows = compress(ensemble)[0].n_rows
    print(f"{'hard' if hard else 'easy'}: n = {n:,}, {rows:,} distinct rows, {int(ensemble.offsets[-1])} clusters")
    own, result = seconds(lambda: ours(labels))
    for n_init in (10, 3):
        theirs, found = seconds(lambda k=n_init: peer_transfer(labels, k), 1)
        note = f"ANMI {anmi(result, ensemble):.4f} / {anmi(found, ensemble):.4f}"
        line("  transfer, from labels to labels", own, f"on all objects, {n_init} restarts", theirs, note)
    if n in TODAY and not hard:
        print(f"  issue 7 names {TODAY[n]} s for it today: {TODAY[n] / own:.1f}x")


def others(n: int, hard: bool) -> None:
    labels = make(n, hard)
    ensemble = as_ensemble(labels)
    rows = compress(ensemble)[0].n_rows
    print(f"all of the family, {'hard' if hard else 'easy'}: n = {n:,}, {rows:,} distinct rows")
    base, result = seconds(lambda: ours(labels, "kmeans"))
    print(f"  {'kmeans':<12}{base:9.3f} s          ANMI {anmi(result, ensemble):.4f}", flush=True)
    for method in ("transfer", "lwgp", "ecpcs", "correlation", "lwea", "eac"):
        if method in ("lwea", "eac") and rows > 60_000:
            print(f"  {method:<12} left out: its time grows with the square of {rows:,} rows")
            continue
        spent, result = seconds(lambda m=method: ours(labels, m), 1)
        print(f"  {method:<12}{spent:9.3f} s  {spent / base:6.1f}x  ANMI {anmi(result, ensemble):.4f}", flush=True)


def prepare(n: int, hard: bool) -> NDArray[np.int8]:
    ours(make(2_000, True))
    peer_transfer(make(2_000, True), 1)
    return make(n, hard)


def call_ours(labels: NDArray[np.int8]) -> None:
    ours(labels)


def call_peer(labels: NDArray[np.int8]) -> None:
    peer_transfer(labels, 1)


def main(*, quick: bool = False) -> None:
    small = make(2_000, True)
    for method in ("transfer", "lwgp", "ecpcs", "correlation", "lwea", "eac", "kmeans"):
        ours(small, method)  # compiles
    for n in (10_000,) if quick else (10_000, 50_000, 1_000_000):
        for hard in (False, True):
            compare(n, hard)
    largest = 20_000 if quick else 1_000_000
    for hard in (False, True):
        peaks = [peak_bytes(prepare, call, largest, hard) / 1e6 for call in (call_ours, call_peer)]
        print(
            f"peak extra memory, {'hard' if hard else 'easy'}, n = {largest:,}: {peaks[0]:.0f} MB, peer {peaks[1]:.0f}"
        )
        others(largest, hard)


if __name__ == "__main__":
    main()

"""coarsen against compress, and labels to consensus on up to ten million objects through the CA-tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.ca_tree_sets import average_link
from benchmarks.speed.measure import peak_bytes, seconds
from quorate import as_ensemble, ca_tree, coarsen, compress

N_MEMBERS = 20


def main(*, quick: bool = False) -> None:
    scale = 10 if quick else 1
    for spread in (3.0, 8.0):
        _against_compress(1_000_000 // scale, spread)

    print(f"as_ensemble + coarsen(0.2, keep=0.9) + eac + expand, x {N_MEMBERS} labels", flush=True)
    sizes = [size // scale for size in (1_000_000, 3_000_000, 10_000_000)]
    times = [_end_to_end(n) for n in sizes]
    exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    print(f"  time grows as n to the power of {exponent:.2f}", flush=True)


def make(n: int, spread: float, seed: int = 0) -> NDArray[np.int8]:
    """Ten Gaussians in 3 dimensions; members are nearest of k in [10, 40] centres of k-means on 20,000 objects."""
    rng = np.random.default_rng(seed)
    means = rng.uniform(0, 40, size=(10, 3)).astype(np.float32)
    X = rng.standard_normal((n, 3), dtype=np.float32)
    X *= spread
    X += means[rng.integers(10, size=n)]
    labels = np.empty((n, N_MEMBERS), dtype=np.int8)
    for member in range(N_MEMBERS):
        points = _centres(X[:20_000], int(rng.integers(10, 41)), rng)
        for start in range(0, n, 100_000):
            labels[start : start + 100_000, member] = _nearest(X[start : start + 100_000], points)
    return labels


def _centres(X: NDArray[np.float32], k: int, rng: np.random.Generator) -> NDArray[np.float32]:
    points = X[rng.choice(len(X), size=k, replace=False)]
    for _ in range(20):
        owner = _nearest(X, points)
        sums = np.stack([np.bincount(owner, weights=column, minlength=k) for column in X.T], axis=1)
        counts = np.bincount(owner, minlength=k)[:, None]
        points = np.where(counts > 0, sums / np.maximum(counts, 1), points).astype(np.float32)
    return points


def _nearest(X: NDArray[np.float32], points: NDArray[np.float32]) -> NDArray[np.intp]:
    return ((points**2).sum(axis=1) - 2 * (X @ points.T)).argmin(axis=1)


def _against_compress(n: int, spread: float) -> None:
    ensemble = as_ensemble(make(n, spread))
    coarsen(ensemble, 0.2, keep=0.9)
    once, (rows, _) = seconds(lambda: compress(ensemble))
    built, tree = seconds(lambda: ca_tree(rows))
    cut, (coarse, _) = seconds(lambda: tree.coarsen(0.2, keep=0.9))
    exact, _ = seconds(lambda: ca_tree(rows, n_des=None), 1)
    print(f"{n:,} x {N_MEMBERS} labels, {rows.n_rows:,} distinct rows, {coarse.n_rows:,} after theta 0.2, keep 0.9")
    print(
        f"  compress {once:.3f} s; tree {built:.3f} s, cut {cut:.3f} s: coarsening is {(built + cut) / once:.2f}x "
        f"compress; exact radii {exact:.2f} s",
        flush=True,
    )


def pipeline(labels: NDArray[np.int8]) -> Any:
    rows, inverse = coarsen(as_ensemble(labels), 0.2, keep=0.9)
    return average_link(rows, 10).astype(np.int32)[inverse]


def prepare(n: int) -> NDArray[np.int8]:
    labels = make(n, 3.0)
    pipeline(labels[:5000].copy())
    return labels


def _end_to_end(n: int) -> float:
    labels = prepare(n)
    spent, _ = seconds(lambda: pipeline(labels), 2)
    tree = ca_tree(as_ensemble(labels))
    size, distinct, rows = labels.nbytes, tree.rows.n_rows, tree.coarsen(0.2, keep=0.9)[0].n_rows
    peak = size + peak_bytes(prepare, pipeline, n)
    print(
        f"  {n:>10,} objects, {distinct:>7,} distinct rows, {rows:>5,} coarse: {spent:6.2f} s "
        f"({1e6 * spent / n:.2f} s a million), peak memory {peak / size:.2f}x the label matrix "
        f"({size / 1e6:.0f} MB), that matrix included",
        flush=True,
    )
    return spent


if __name__ == "__main__":
    main()

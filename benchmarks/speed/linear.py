"""Every method of linear time beside kmeans: 1,000,000 objects x 20 members into 20 clusters, one seed."""

from __future__ import annotations

import time
from collections.abc import Callable

from benchmarks.speed.inputs import half_distinct, nearest_point_members
from benchmarks.speed.measure import seconds
from quorate import Consensus, anmi, as_ensemble, compress, solve

N_CLUSTERS = 20
METHODS = (
    "bisecting", "sec", "ecc", "kcc", "kmodes", "qmi", "mixture", "voting", "cumulative", "transfer", "lwgp", "ecpcs",
    "mcla", "best",
)  # fmt: skip
"""Time grows with rows x members x clusters. That of eac, lwea, hne, spectral, correlation and graph cuts does not."""


def compare(n: int, hard: bool) -> None:
    labels = nearest_point_members(n)
    ensemble = as_ensemble(half_distinct(labels) if hard else labels)
    squeeze, (rows, inverse) = seconds(lambda: compress(ensemble), 2)
    print(f"{'hard' if hard else 'easy'}: n = {n:,}, {rows.n_rows:,} distinct rows, compressed in {squeeze:.3f} s")
    base = busy_base = float("nan")
    for method in ("kmeans", *METHODS):
        k = None if method == "best" else N_CLUSTERS
        (spent, busy), result = clock(lambda m=method, k=k: solve(rows, k, method=m, random_state=0))
        if method == "kmeans":
            base, busy_base = spent, busy
        quality = anmi(result.labels[inverse], ensemble)
        print(
            f"  {method:<12}{spent:8.3f} s  {spent / base:5.2f}x kmeans   processor {busy:8.3f} s  "
            f"{busy / busy_base:5.2f}x   ANMI {quality:.4f}  sweeps {result.n_iter}",
            flush=True,
        )


def clock(call: Callable[[], Consensus], repeat: int = 3) -> tuple[tuple[float, float], Consensus]:
    """Least wall and least processor seconds: on a busy machine the second says more about us than about others."""
    wall, busy = [], []
    for _ in range(repeat):
        start, start_busy = time.perf_counter(), time.process_time()
        result = call()
        busy.append(time.process_time() - start_busy)
        wall.append(time.perf_counter() - start)
    return (min(wall), min(busy)), result


def main(*, quick: bool = False) -> None:
    small = compress(as_ensemble(half_distinct(nearest_point_members(2_000))))[0]
    for method in ("kmeans", *METHODS):
        solve(small, None if method == "best" else N_CLUSTERS, method=method, random_state=0)  # compiles
    for hard in (False, True):
        compare(20_000 if quick else 1_000_000, hard)


if __name__ == "__main__":
    main()

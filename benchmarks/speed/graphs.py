"""The partitioning methods and greedy moves: on distinct rows beside the same work on all objects."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import normalized_mutual_info_score

from benchmarks.speed.inputs import nearest_point_members
from benchmarks.speed.measure import line, seconds
from quorate import Ensemble, anmi, as_ensemble, compress, consensus, refine, solve
from quorate.solvers.label_space.climbing import climb

# What other packages need today, as the issue has it (20 members, k in [10, 40], ten 2-D Gaussians, two cores).
TODAY = {
    ("cspa", 2_000): "1.0 s", ("cspa", 10_000): "16 s, 1.9 GB", ("cspa", 50_000): "out of memory",
    ("mcla", 2_000): "over 100 s (at 1.8k)",
    ("hbgf", 2_000): "0.8 s", ("hbgf", 10_000): "3.6 s", ("hbgf", 50_000): "13.6 s", ("hbgf", 1_000_000): "no answer",
    ("hgpa", 2_000): "0.6 s", ("hgpa", 10_000): "1.2 s", ("hgpa", 50_000): "5.8 s", ("hgpa", 1_000_000): "240 s",
}  # fmt: skip


def planted(n: int, noise: float, *, k: int = 10, n_members: int = 20, seed: int = 0) -> NDArray[np.int8]:
    """A balanced planted partition under label noise: easy at 2%, hard at 15%."""
    rng = np.random.default_rng(seed)
    labels = np.repeat((np.arange(n) % k).astype(np.int8)[:, None], n_members, axis=1)
    for member in range(n_members):
        wrong = rng.random(n) < noise
        labels[wrong, member] = rng.integers(k, size=int(wrong.sum()))
    return labels


def once(call: Callable[[], Any]) -> tuple[float, Any]:
    return seconds(call, repeat=1)


def gaussians(sizes: tuple[int, ...]) -> None:
    print("ten 2-D Gaussians, 20 members of k in [10, 40], consensus into 10; from the coded table to labels")
    for n in sizes:
        ensemble = as_ensemble(nearest_point_members(n))
        print(f"n = {n:,}, {compress(ensemble)[0].n_rows:,} distinct rows")
        for method in ("cspa", "mcla", "hbgf", "hgpa", "kmeans", "greedy", "supra"):
            spent, result = seconds(lambda e=ensemble, m=method: consensus(e, 10, method=m, random_state=0), 2)
            today = TODAY.get((method, n), "")
            print(f"  {method:<8}{spent:8.3f} s   ANMI {anmi(result, ensemble):.4f}   today {today}", flush=True)


def against_all_objects(n: int, n_ensembles: int) -> None:
    """Each method on distinct rows and, the peer, the same method and partitioner on one vertex an object."""
    for method in ("cspa", "mcla", "hbgf", "hgpa"):
        if method == "cspa" and n > 10_000:
            continue
        spent, scores = np.zeros(2), np.zeros(2)
        for seed in range(n_ensembles):
            ensemble = as_ensemble(nearest_point_members(n, seed=seed))
            calls = (
                lambda e=ensemble, m=method: consensus(e, 10, method=m, random_state=0),
                lambda e=ensemble, m=method: solve(e, 10, method=m, random_state=0, max_bytes=10**11),
            )
            for place, call in enumerate(calls):
                took, result = once(call)
                spent[place] += took / n_ensembles
                scores[place] += anmi(result, ensemble) / n_ensembles
        note = f"ANMI {scores[0]:.4f} / {scores[1]:.4f}, mean of {n_ensembles}"
        line(f"{method}, n = {n:,}", spent[0], "same on all objects", spent[1], note)


def easy_and_hard(n: int, n_all: int) -> None:
    for noise in (0.02, 0.15):
        labels = planted(n, noise)
        ensemble = as_ensemble(labels)
        share = compress(ensemble)[0].n_rows / n
        print(f"planted, {noise:.0%} label noise, n = {n:,}: {share:.1%} of the rows are distinct")
        for method in ("mcla", "hbgf", "kmeans"):
            took, result = once(lambda e=ensemble, m=method: consensus(e, 10, method=m, random_state=0))
            print(f"  {method:<8}{took:8.3f} s   ANMI {anmi(result, ensemble):.4f}", flush=True)
        part = as_ensemble(labels[:n_all])
        ours, _ = once(lambda e=part: consensus(e, 10, method="hbgf", random_state=0))
        theirs, _ = once(lambda e=part: solve(e, 10, method="hbgf", random_state=0))
        line(f"hbgf, {noise:.0%} noise, n = {n_all:,}", ours, "same on all objects", theirs)


def moves(n: int) -> None:
    small = as_ensemble(planted(400, 0.3, n_members=8))
    start = small.labels[:, 0].astype(np.int32)
    ours, run = seconds(lambda: climb(small, start, 10, 100))
    before = time.perf_counter()
    for _ in range(20):
        np.mean([normalized_mutual_info_score(member, start, average_method="geometric") for member in small.labels.T])
    naive = (time.perf_counter() - before) / 20 * 400 * 10 * run.n_iter
    line(
        "greedy, 400 objects, k = 10, 8 members",
        ours,
        "ANMI by scikit-learn after each move (extrapolated)",
        naive,
        f"{run.n_moves} moves",
    )
    large: Ensemble = as_ensemble(planted(n, 0.3, k=20))
    rows = large.labels[:, 0].astype(np.int32)
    ours, run = seconds(lambda: climb(large, rows, 20, 1), 2)
    print(f"refine, {n:,} distinct rows x 20, k = 20: a sweep {ours:.3f} s ({run.n_moves:,} moves)")
    whole, result = once(lambda: refine(rows, large))
    gained = f"ANMI {result.info['start_anmi']:.4f} to {result.objective:.4f}"
    print(f"  to the end: {whole:.3f} s, {result.n_iter} sweeps, {gained}")


def main(quick: bool = False) -> None:
    consensus(nearest_point_members(500), 10, method="supra", random_state=0)  # compiles
    refine(np.arange(500) % 10, nearest_point_members(500))
    moves(10_000 if quick else 100_000)
    gaussians((2_000,) if quick else (2_000, 10_000, 50_000, 1_000_000))
    against_all_objects(2_000, 3 if quick else 10)
    if not quick:
        against_all_objects(10_000, 3)
        against_all_objects(50_000, 1)
    easy_and_hard(20_000 if quick else 1_000_000, 20_000 if quick else 200_000)


if __name__ == "__main__":
    main()

"""The figures of the CA-tree paper, printed beside ours: `python -m benchmarks.papers.ca_tree_figures [--quick]`.

QUORATE_DATA names the folder with optdigits_train.csv.gz and pendigits.csv.gz.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.ca_tree_sets import (
    ITERATIONS,
    PaperSet,
    available,
    average_link,
    kmeans_ensemble,
    spherical5,
    three_rings,
)
from benchmarks.speed.measure import environment, seconds
from quorate import Ensemble, accuracy, as_ensemble, ca_tree, coarsen, compress

THETAS = np.arange(20) / 20
TABLE = slice(0, 13, 2)
"""Where in THETAS the printed 0, .1, ..., .6 stand."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 ensembles instead of 20: that it runs, no measurement")
    parser.add_argument("--iterations", type=int, default=ITERATIONS, help="sweeps of a k-means run")
    arguments = parser.parse_args()
    repeats = 3 if arguments.quick else 20
    print(environment())
    print(f"means of {repeats} ensembles of 20 k-means runs of at most {arguments.iterations} sweeps\n")
    curves = {entry: growth(entry, repeats, arguments.iterations) for entry in available()}
    for entry, curve in curves.items():
        print_growth(entry, curve)
    print_ratios(curves)
    print_accuracy(list(curves), max(2, repeats // 2), arguments.iterations)
    print_times(max(2, repeats // 4), arguments.iterations)


def growth(entry: PaperSet, repeats: int, iterations: int) -> NDArray[np.float64]:
    """Mean N_Z: (sizes of the set, keep = 1 and 0.9, theta)."""
    curve = np.zeros((len(entry.sizes), 2, len(THETAS)))
    for place, n in enumerate(entry.sizes):
        for repeat in range(repeats):
            rng = np.random.default_rng([n, repeat])
            tree = ca_tree(kmeans_ensemble(entry.make(n, rng)[0], entry.k, rng, max_iter=iterations))
            curve[place] += [tree.curve(THETAS)[1], tree.curve(THETAS, keep=0.9)[1]]
    return curve / repeats


def print_growth(entry: PaperSet, curve: NDArray[np.float64]) -> None:
    slopes = np.polyfit(np.log(entry.sizes), np.log(curve.reshape(len(entry.sizes), -1)), 1)[0].reshape(2, -1)
    print(f"{entry.name}, n = {entry.sizes[0]} to {entry.sizes[-1]}: growth rate beta at theta / H = 0, .1, ..., .6")
    for keep, printed, ours in ((1.0, entry.beta, slopes[0, TABLE]), (0.9, entry.beta_kept, slopes[1, TABLE])):
        worst = np.abs(ours - printed).max()
        print(f"  keep {keep:3}  paper  {_row(printed)}")
        print(f"            ours   {_row(ours)}   largest difference {worst:.2f}")
    nodes = curve[entry.sizes.index(entry.base), 0]
    printed_half = f" (paper {entry.nodes_at_half})" if entry.nodes_at_half else ""
    print(f"  n = {entry.base}: N_Z(0) = {nodes[0]:.0f}, N_Z(H/2) = {nodes[10]:.0f}{printed_half}\n", flush=True)


def print_ratios(curves: dict[PaperSet, NDArray[np.float64]]) -> None:
    print("minimal ratio N_Z(keep .9) / N_Z(keep 1), sorted as the paper's")
    for entry in sorted(curves, key=lambda entry: entry.ratio):
        whole, kept = curves[entry][entry.sizes.index(entry.base)]
        print(f"  {entry.name:<12} paper {entry.ratio:.3f}   ours {(kept / whole).min():.3f}")
    print(flush=True)


def print_accuracy(entries: list[PaperSet], repeats: int, iterations: int) -> None:
    """The paper's claim: at theta = H / 2 accuracy is within a tenth of that at 0; its form, and ours with counts."""
    print(f"accuracy of EAC-AL, H = 20, known k, mean of {repeats}; n: rows count as nodes (paper), w: as objects")
    settings = [(0.0, 1.0), (0.4, 1.0), (0.5, 1.0), (0.2, 0.9), (0.5, 0.9)]
    print(" " * 14 + "   ".join(f"theta {theta:g} keep {keep:g}" for theta, keep in settings))
    for entry in entries:
        found = np.zeros((2, len(settings)))
        for repeat in range(repeats):
            rng = np.random.default_rng([entry.base, repeat])
            X, y = entry.make(entry.base, rng)
            tree = ca_tree(kmeans_ensemble(X, entry.k, rng, max_iter=iterations))
            for weighted in (False, True):
                for place, (theta, keep) in enumerate(settings):
                    rows, inverse = tree.coarsen(theta, keep=keep, weighted=weighted)
                    found[int(weighted), place] += accuracy(average_link(rows, entry.n_clusters)[inverse], y) / repeats
        pairs = ("   ".join(f"n {plain:.3f} w {counted:.3f}" + " " * 4 for plain, counted in found.T),)
        print(f"  {entry.name:<12}{pairs[0]}", flush=True)
    print()


def full_average_link(ensemble: Ensemble, n_clusters: int) -> NDArray[Any]:
    """(A): scipy on the matrix over all objects."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import pdist

    return fcluster(linkage(pdist(ensemble.labels, "hamming"), "average"), n_clusters, "maxclust") - 1


def reduced(ensemble: Ensemble, n_clusters: int, how: str) -> NDArray[Any]:
    """(B) core groups, (C) theta = 0.2 H, (D) also keep = 0.9; then scipy on the rows left, unweighted as printed."""
    if how == "B":
        rows, inverse = compress(ensemble)
    else:
        rows, inverse = coarsen(ensemble, 0.2, keep=0.9 if how == "D" else 1.0, weighted=False)
    return full_average_link(rows, n_clusters)[inverse]


PRINTED_TIMES = {
    ("Spherical5", 2000): {"A": (111.29, 0.95), "B": (0.94, 0.95), "C": (0.11, 0.95), "D": (0.06, 0.94)},
    ("3Rings", 1800): {"A": (82.02, 1.00), "B": (0.54, 1.00), "C": (0.10, 1.00), "D": (0.08, 0.99)},
}


def print_times(repeats: int, iterations: int) -> None:
    """Table V for EAC-AL: our baseline is scipy on the full matrix; only the time from labels to labels."""
    print("EAC-AL, H = 10: time of (A) over time of (B), (C), (D); accuracy; rows")
    for name, make, n, k, n_clusters in (
        ("Spherical5", spherical5, 2000, (4, 10), 5),
        ("3Rings", three_rings, 1800, (20, 50), 3),
        ("Spherical5", spherical5, 10_000, (4, 10), 5),
    ):
        found = {how: np.zeros(3) for how in "ABCD"}
        for repeat in range(repeats):
            rng = np.random.default_rng([n, repeat])
            X, y = make(n, rng)
            ensemble = kmeans_ensemble(X, k, rng, n_members=10, max_iter=iterations)
            for how, figures in found.items():
                figures += np.array(_one_time(ensemble, how, n_clusters, y)) / repeats
        _print_times(name, n, found)


def _print_times(name: str, n: int, found: dict[str, NDArray[np.float64]]) -> None:
    printed = PRINTED_TIMES.get((name, n))
    for how, (spent, right, rows) in found.items():
        ratio, quality = f"{found['A'][0] / spent:6.0f}x", f"Q {right:.3f}"
        if printed:
            ratio += f" (paper {printed['A'][0] / printed[how][0]:5.0f}x)"
            quality += f" (paper {printed[how][1]:.2f})"
        print(f"  {name:<11} n = {n} ({how}) {spent * 1000:9.2f} ms {ratio}  {quality}  {rows:6.0f} rows", flush=True)


def _one_time(ensemble: Ensemble, how: str, n_clusters: int, truth: NDArray[Any]) -> tuple[float, float, float]:
    call = (
        (lambda: full_average_link(ensemble, n_clusters)) if how == "A" else lambda: reduced(ensemble, n_clusters, how)
    )
    spent, labels = seconds(call, 3)
    rows = {
        "A": lambda: ensemble.n_rows,
        "B": lambda: compress(ensemble)[0].n_rows,
        "C": lambda: coarsen(ensemble, 0.2)[0].n_rows,
        "D": lambda: coarsen(ensemble, 0.2, keep=0.9)[0].n_rows,
    }
    return spent, accuracy(as_ensemble(labels).labels[:, 0], truth), rows[how]()


def _row(values: Any) -> str:
    return " ".join(f"{value:5.2f}" for value in values)


if __name__ == "__main__":
    main()

"""`python -m benchmarks.methods.large [--largest N]`: is what `auto` takes as good for many objects as for few?

Objects are drawn from the same mixture of Gaussians for every number of objects, and are clustered by k-means members
as in both protocols. The consensus of `auto` stands beside that of two other methods whose time is linear.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from numpy.typing import NDArray

from quorate import ari, consensus, generate, nmi

N_CLUSTERS = 12
METHODS = ("auto", "transfer", "kmeans")
PROTOCOLS = {"20 members": (20, (10, 40)), "10 members": (10, (2, 100))}


def mixture(n_objects: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Overlapping Gaussians in six dimensions; sizes and widths differ by a factor of up to ten and three."""
    fixed = np.random.default_rng(7)
    centres = 3.0 * fixed.normal(size=(N_CLUSTERS, 6))
    widths, shares = fixed.uniform(0.7, 2.1, N_CLUSTERS), fixed.uniform(1, 10, N_CLUSTERS)
    rng = np.random.default_rng(seed)
    truth = rng.choice(N_CLUSTERS, size=n_objects, p=shares / shares.sum())
    X = centres[truth] + widths[truth, None] * rng.normal(size=(n_objects, 6))
    return X.astype(np.float32), truth


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=1_000_000, help="largest number of objects")
    largest = parser.parse_args().largest
    print("| protocol | objects | distinct rows | taken | " + " | ".join(f"`{m}`" for m in METHODS) + " | seconds |")
    for protocol, (n_members, k) in PROTOCOLS.items():
        for n_objects in (10_000, 100_000, 1_000_000):
            if n_objects <= largest:
                print(_line(protocol, n_objects, n_members, k), flush=True)


def _line(protocol: str, n_objects: int, n_members: int, k: tuple[int, int]) -> str:
    """One line of the table: means over three ensembles, one at a million objects."""
    scores: dict[str, list[tuple[float, float]]] = {method: [] for method in METHODS}
    taken, rows, seconds = "", 0, 0.0
    for seed in range(3 if n_objects < 1_000_000 else 1):
        X, truth = mixture(n_objects, seed)
        ensemble = generate(X, n_members, k=k, base="kmeans", random_state=seed)
        for method in METHODS:
            start = time.process_time()
            found = consensus(ensemble, N_CLUSTERS, method=method, random_state=seed, confidence=False)
            if method == "auto":
                taken, rows, seconds = found.method, int(found.info["n_rows"]), time.process_time() - start
            scores[method].append((nmi(found.labels, truth), ari(found.labels, truth)))
    cells = ["{:.3f} / {:.3f}".format(*np.mean(scores[method], axis=0)) for method in METHODS]
    return f"| {protocol} | {n_objects:,} | {rows:,} | `{taken}` | " + " | ".join(cells) + f" | {seconds:.1f} |"


if __name__ == "__main__":
    main()

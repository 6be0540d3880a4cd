"""CA-tree against prototype compression: `python -m benchmarks.papers.prototypes [--quick]`.

The rival keeps m prototypes of the features (a random sample, k-means centres, or medoids), clusters those many times,
finds their consensus, and gives every object the label of its nearest prototype. The paper compares accuracy at the
same number of representatives (its figure 9); it prints curves, not numbers, so ours stand alone.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from benchmarks.papers.ca_tree_sets import ITERATIONS, PaperSet, available, average_link, kmeans_ensemble
from benchmarks.speed.measure import environment
from quorate import accuracy, ca_tree, compress

THETAS = np.arange(20) / 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2 ensembles instead of 10: that it runs, no measurement")
    repeats = 2 if parser.parse_args().quick else 10
    print(environment())
    print(f"accuracy of EAC-AL at about the same number of representatives, H = 20, known k, mean of {repeats}\n")
    for entry in available():
        compare(entry, repeats)


def compare(entry: PaperSet, repeats: int) -> None:
    """The tree at the thetas that come nearest to each number of representatives, the rivals at that number."""
    wanted = [m for m in (20, 50, 100, 200) if m >= entry.k[1]]
    names = ("tree", "tree keep .9", "random", "k-means", "k-medoids")
    found = np.zeros((len(wanted), len(names)))
    nodes = np.zeros((len(wanted), 2))
    for repeat in range(repeats):
        rng = np.random.default_rng([entry.base, repeat])
        X, y = entry.make(entry.base, rng)
        tree = ca_tree(kmeans_ensemble(X, entry.k, rng))
        for place, m in enumerate(wanted):
            for column, keep in enumerate((1.0, 0.9)):
                numbers = tree.curve(THETAS, keep=keep)[1]
                theta = THETAS[np.argmin(np.abs(np.log(numbers / m)))]
                rows, inverse = tree.coarsen(theta, keep=keep, weighted=False)
                found[place, column] += accuracy(average_link(rows, entry.n_clusters)[inverse], y)
                nodes[place, column] += rows.n_rows
            for column, prototypes in enumerate((sample, centres, medoids), start=2):
                found[place, column] += accuracy(by_prototypes(X, prototypes(X, m, rng), entry, rng), y)
    print(f"{entry.name}, n = {entry.base}")
    print("    m   " + "   ".join(f"{name:>12}" for name in names) + "   nodes of the trees")
    for m, row, size in zip(wanted, found / repeats, nodes / repeats, strict=True):
        print(f"  {m:3}   " + "   ".join(f"{value:12.3f}" for value in row) + f"   {size[0]:.0f}, {size[1]:.0f}")
    print(flush=True)


def by_prototypes(
    X: NDArray[Any], prototypes: NDArray[Any], entry: PaperSet, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Consensus of the prototypes alone, then the label of the nearest prototype."""
    rows, inverse = compress(kmeans_ensemble(prototypes, entry.k, rng))
    labels = average_link(rows, entry.n_clusters)[inverse]
    return labels[cdist(X, prototypes).argmin(axis=1)]


def sample(X: NDArray[Any], m: int, rng: np.random.Generator) -> NDArray[Any]:
    return X[rng.choice(len(X), size=m, replace=False)]


def centres(X: NDArray[Any], m: int, rng: np.random.Generator) -> NDArray[Any]:
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seed = int(rng.integers(2**31))
        model = KMeans(m, init="random", n_init=1, max_iter=ITERATIONS, random_state=seed).fit(X)
    return model.cluster_centers_


def medoids(X: NDArray[Any], m: int, rng: np.random.Generator, sweeps: int = ITERATIONS) -> NDArray[Any]:
    """Voronoi iteration on at most 4000 objects: assign to the nearest medoid, move it to the object of least cost."""
    pool = X[rng.choice(len(X), size=min(len(X), 4000), replace=False)]
    distance = cdist(pool, pool)
    chosen = rng.choice(len(pool), size=m, replace=False)
    for _ in range(sweeps):
        owner = distance[:, chosen].argmin(axis=1)
        moved = chosen.copy()
        for cluster in range(m):
            members = np.flatnonzero(owner == cluster)
            if len(members):
                moved[cluster] = members[distance[np.ix_(members, members)].sum(axis=1).argmin()]
        if np.array_equal(moved, chosen):
            break
        chosen = moved
    return pool[chosen]


if __name__ == "__main__":
    main()

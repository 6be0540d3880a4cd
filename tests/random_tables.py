"""Random label tables and the changes that no method may answer, for the laws that are tested on hundreds of tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import METHODS, as_ensemble, compress, consensus

Labels = NDArray[np.int64]


class Case(NamedTuple):
    """A table of labels, one row per object, with member weights and a number of clusters that it allows."""

    labels: Labels
    weights: NDArray[np.float64]
    n_clusters: int


def random_case(seed: int) -> Case:
    """Draw a small table: ragged numbers of clusters, many ties, in half of the tables missing labels and weights."""
    rng = np.random.default_rng([20, seed])
    n, members = int(rng.integers(4, 30)), int(rng.integers(1, 8))
    sizes = rng.integers(1, 6, size=members)
    planted = rng.integers(int(rng.integers(1, 5)), size=n)
    labels = np.column_stack([planted % k for k in sizes])
    noisy = rng.random(labels.shape) < rng.choice([0.1, 0.4, 1.0])
    labels[noisy] = rng.integers(sizes, size=labels.shape)[noisy]
    if rng.random() < 0.5:
        labels[rng.random(labels.shape) < rng.choice([0.1, 0.5])] = -1
    labels[labels.max(axis=1) < 0, int(rng.integers(members))] = 0
    labels[int(rng.integers(n)), labels.max(axis=0) < 0] = 0
    weights = rng.choice([1.0, 1.0, 2.0, 3.0, 0.5], size=members) if rng.random() < 0.5 else np.ones(members)
    rows = compress(as_ensemble(labels, orientation="objects"))[0].n_rows
    return Case(labels, weights, int(rng.integers(1, min(rows, 6) + 1)))


def labels_of(method: str, case: Case) -> Labels:
    """Run a method with seed 0; `best` takes the number of clusters that it finds."""
    ensemble = as_ensemble(case.labels, weights=case.weights, orientation="objects")
    k = None if method == "best" else case.n_clusters
    return consensus(ensemble, k, method=method, random_state=0).labels.astype(np.int64)


def by_appearance(labels: Labels) -> Labels:
    """Number the clusters by first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _objects_doubled(method: str, case: Case, seed: int) -> tuple[Labels, Labels]:
    times = 2 + seed % 2
    changed = labels_of(method, case._replace(labels=np.tile(case.labels, (times, 1))))
    return np.tile(labels_of(method, case), times), changed


def _weights_scaled(method: str, case: Case, seed: int) -> tuple[Labels, Labels]:
    return labels_of(method, case), labels_of(method, case._replace(weights=4 * case.weights))


def _members_permuted(method: str, case: Case, seed: int) -> tuple[Labels, Labels]:
    order = np.random.default_rng(seed).permutation(len(case.weights))
    changed = case._replace(labels=case.labels[:, order], weights=case.weights[order])
    return labels_of(method, case), labels_of(method, changed)


def _objects_permuted(method: str, case: Case, seed: int) -> tuple[Labels, Labels]:
    order = np.random.default_rng(seed).permutation(len(case.labels))
    changed = labels_of(method, case._replace(labels=case.labels[order]))
    return by_appearance(labels_of(method, case)[order]), changed


CHANGES: dict[str, Callable[[str, Case, int], tuple[Labels, Labels]]] = {
    "objects_doubled": _objects_doubled,
    "weights_scaled": _weights_scaled,
    "members_permuted": _members_permuted,
    "objects_permuted": _objects_permuted,
}
"""For each law: the labels of a table, and those of the changed table, which must be the same."""


def answering(method: str, law: str, seeds: range) -> list[int]:
    """Return the seeds of the tables on which the result of a method changes though the law says it must not."""
    changed = []
    for seed in seeds:
        before, after = CHANGES[law](method, random_case(seed), seed)
        if not np.array_equal(before, after):
            changed.append(seed)
    return changed


def main() -> None:
    """Print how many of so many tables change the result: python tests/random_tables.py [tables] [methods ...]."""
    import sys
    import time

    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for method in sys.argv[2:] or METHODS:
        start = time.perf_counter()
        found = {law: answering(method, law, range(n)) for law in CHANGES}
        counts = "  ".join(f"{law} {len(seeds):>3} {seeds[:3]}" for law, seeds in found.items())
        sys.stdout.write(f"{method:<12} {time.perf_counter() - start:5.1f} s  {counts}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

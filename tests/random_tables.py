"""Random label tables and the changes that no method may answer, for the laws that are tested on hundreds of tables."""

from __future__ import annotations

import sys
import time
from functools import cache
from typing import NamedTuple

import numpy as np
import oracle
import oracle_order
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


@cache
def plain_labels(method: str, seed: int) -> Labels:
    """The labels of a table as it is, which all laws compare with."""
    return labels_of(method, random_case(seed))


def labels_of(method: str, case: Case) -> Labels:
    """Run a method with seed 0; `best` takes the number of clusters that it finds.

    The confidence is left out: it would run the method eight times more, and no law is about it.
    """
    ensemble = as_ensemble(case.labels, weights=case.weights, orientation="objects")
    k = None if method == "best" else case.n_clusters
    return consensus(ensemble, k, method=method, random_state=0, confidence=False).labels.astype(np.int64)


def objects_repeated(method: str, seed: int) -> bool:
    """Whether each object two or three times gives the same labels."""
    case, times = random_case(seed), 2 + seed % 2
    changed = labels_of(method, case._replace(labels=np.tile(case.labels, (times, 1))))
    return np.array_equal(changed, np.tile(plain_labels(method, seed), times))


def weights_scaled(method: str, seed: int) -> bool:
    """Whether four times the weights give the same labels."""
    case = random_case(seed)
    return np.array_equal(labels_of(method, case._replace(weights=4 * case.weights)), plain_labels(method, seed))


CONSTANTS = (1e-300, 1e-30, 1e-8, 0.7, 3.0, 1e8, 1e18, 1e101, 1e300)


def weights_times_any_constant(method: str, seed: int) -> bool:
    """Whether weights times a constant from 1e-300 to 1e300, another one for each table, give the same labels."""
    case = random_case(seed)
    weights = CONSTANTS[seed % len(CONSTANTS)] * case.weights
    return np.array_equal(labels_of(method, case._replace(weights=weights)), plain_labels(method, seed))


def members_permuted(method: str, seed: int) -> bool:
    """Whether another order of the members gives the same labels."""
    case = random_case(seed)
    order = np.random.default_rng(seed).permutation(len(case.weights))
    changed = case._replace(labels=case.labels[:, order], weights=case.weights[order])
    return np.array_equal(labels_of(method, changed), plain_labels(method, seed))


def objects_permuted(method: str, seed: int) -> bool:
    """Whether another order of the objects gives the same partition.

    Objects that nothing tells apart may change places: one of them must come first in a tie.
    """
    case = random_case(seed)
    order = np.random.default_rng(seed).permutation(len(case.labels))
    before = plain_labels(method, seed)[order].tolist()
    after = labels_of(method, case._replace(labels=case.labels[order])).tolist()
    if oracle.canonical(before) == oracle.canonical(after):
        return True
    rows, inverse = compress(as_ensemble(case.labels, weights=case.weights, orientation="objects"))
    kinds = np.array(oracle_order.colours(rows.labels, rows.counts, rows.weights, 8))[inverse][order].tolist()
    return len(set(kinds)) < rows.n_rows and (
        oracle_order.shape_of_partition(before, kinds) == oracle_order.shape_of_partition(after, kinds)
    )


LAWS = (objects_repeated, weights_scaled, weights_times_any_constant, members_permuted, objects_permuted)


def main() -> None:
    """Print how many of so many tables break each law: PYTHONPATH=src python tests/random_tables.py 500 [methods]."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for method in sys.argv[2:] or METHODS:
        start = time.perf_counter()
        broken = {law.__name__: [seed for seed in range(n) if not law(method, seed)] for law in LAWS}
        counts = "  ".join(f"{law} {len(seeds):>3} {seeds[:3]}" for law, seeds in broken.items())
        sys.stdout.write(f"{method:<12} {time.perf_counter() - start:5.1f} s  {counts}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

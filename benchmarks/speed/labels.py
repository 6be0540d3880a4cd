"""compress against np.unique, and k-means on labels against scikit-learn on the CSR one-hot matrix."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.speed.inputs import half_distinct, nearest_point_members
from benchmarks.speed.measure import line, peak_bytes, seconds
from quorate import as_ensemble, compress, solve

N_CLUSTERS, SWEEPS = 20, 10


def main(*, quick: bool = False) -> None:
    n = 100_000 if quick else 1_000_000
    for name, hard in (("easy", False), ("hard", True)):
        labels = make(n, hard)
        rows, inverse = compress(as_ensemble(labels))
        print(f"{name}: {n:,} x {labels.shape[1]} labels, {rows.n_rows:,} distinct rows", flush=True)
        ours, _ = seconds(lambda labels=labels: compress(as_ensemble(labels)))
        theirs, _ = seconds(lambda labels=labels: np.unique(labels, axis=0, return_inverse=True, return_counts=True), 1)
        line("  as_ensemble + compress", ours, "np.unique(axis=0)", theirs)
        _kmeans(labels, rows.n_rows, inverse)
        _memory(n, hard, labels.nbytes)


def make(n: int, hard: bool) -> NDArray[np.int8]:
    labels = nearest_point_members(n, n_dims=3, spread=3.0)
    return half_distinct(labels) if hard else labels


def _kmeans(labels: NDArray[np.int8], n_rows: int, inverse: NDArray[np.intp]) -> None:
    """Same initial centres (label rows of chosen objects), same number of sweeps, end to end from the label matrix."""
    objects = _initial_objects(inverse, n_rows)
    ours, result = seconds(lambda: our_kmeans(labels, objects))
    theirs, model = seconds(lambda: peer_kmeans(labels, objects), 1)
    # both partitions measured alike: scikit-learn's own figure is taken at centres one step older than its labels
    gap = abs(result.objective - _inertia(labels, model.labels_)) / result.objective
    line(
        f"  kmeans k={N_CLUSTERS}, {SWEEPS} sweeps", ours, "KMeans on CSR one-hot", theirs, f"inertia: {gap:.0e} apart"
    )
    unique, _ = seconds(lambda: unique_kmeans(labels, objects), 1)
    line("", ours, "KMeans on unique one-hot rows", unique)


def _inertia(labels: NDArray[np.int8], partition: NDArray[np.int32]) -> float:
    """Sum of squared distances of the one-hot rows to the means of a partition."""
    matrix = one_hot(labels)
    sizes = np.bincount(partition, minlength=N_CLUSTERS)
    members = sparse.csr_matrix((np.ones(len(labels)), (partition, np.arange(len(labels)))))
    sums = (members @ matrix).toarray()
    return float(labels.size - ((sums**2).sum(axis=1) / sizes).sum())


def _initial_objects(inverse: NDArray[np.intp], n_rows: int) -> NDArray[np.intp]:
    rows = np.random.default_rng(3).choice(n_rows, size=N_CLUSTERS, replace=False)
    return np.array([int(np.argmax(inverse == row)) for row in rows])


def our_kmeans(labels: NDArray[np.int8], objects: NDArray[np.intp]) -> Any:
    rows, inverse = compress(as_ensemble(labels))
    # scikit-learn assigns once more after its last sweep
    result = solve(rows, N_CLUSTERS, method="kmeans", init=inverse[objects], max_iter=SWEEPS + 1)
    result.labels[inverse]
    return result


def one_hot(labels: NDArray[Any]) -> sparse.csr_matrix:
    n, n_members = labels.shape
    sizes = labels.max(axis=0).astype(np.int64) + 1
    columns = (labels + np.concatenate([[0], np.cumsum(sizes)[:-1]])).astype(np.int32)
    pointers = np.arange(0, n * n_members + 1, n_members, dtype=np.int32)
    return sparse.csr_matrix((np.ones(n * n_members), columns.ravel(), pointers), shape=(n, int(sizes.sum())))


def peer_kmeans(labels: NDArray[np.int8], objects: NDArray[np.intp]) -> Any:
    return _scikit_learn(one_hot(labels), objects, None)


def unique_kmeans(labels: NDArray[np.int8], objects: NDArray[np.intp]) -> Any:
    rows, inverse, counts = np.unique(labels, axis=0, return_inverse=True, return_counts=True)
    return _scikit_learn(one_hot(rows), inverse.ravel()[objects], counts)


def _scikit_learn(matrix: Any, seeds: NDArray[np.intp], weights: Any) -> Any:
    from sklearn.cluster import KMeans

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns that ten sweeps did not converge, as ours reports
        start = np.asarray(matrix[seeds].todense())
        return KMeans(N_CLUSTERS, init=start, n_init=1, max_iter=SWEEPS, tol=0).fit(matrix, sample_weight=weights)


def prepare(n: int, hard: bool) -> tuple[NDArray[np.int8], NDArray[np.intp]]:
    labels = make(n, hard)
    _, inverse = compress(as_ensemble(labels))
    our_kmeans(labels[:5000], np.arange(0, 5000, 250))
    peer_kmeans(labels[:5000], np.arange(0, 5000, 250))
    return labels, _initial_objects(inverse, int(inverse.max()) + 1)


def call_ours(data: Any) -> None:
    our_kmeans(*data)


def call_peer(data: Any) -> None:
    peer_kmeans(*data)


def _memory(n: int, hard: bool, label_bytes: int) -> None:
    ours = peak_bytes(prepare, call_ours, n, hard)
    theirs = peak_bytes(prepare, call_peer, n, hard)
    print(
        f"  peak extra memory: ours {ours / 1e6:.0f} MB = {ours / label_bytes:.2f}x the label matrix "
        f"({label_bytes / 1e6:.0f} MB); KMeans on CSR {theirs / 1e6:.0f} MB",
        flush=True,
    )

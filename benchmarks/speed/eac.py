"""Evidence accumulation: average link against co-association + fastcluster, single link, and SPARSE's experiment."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import cKDTree

from benchmarks.speed.inputs import nearest_point_members
from benchmarks.speed.labels import one_hot
from benchmarks.speed.measure import line, peak_bytes, seconds
from quorate import Ensemble, as_ensemble, co_association, compress, solve
from quorate.solvers.linkage.average_link import nearest

N_MEMBERS = 150


def main(*, quick: bool = False) -> None:
    scale = 10 if quick else 1
    warm()
    average_link(10_000 // scale)
    average_link(20_000 // scale, peers=False)
    large_average_link(100_000 // scale)
    single_link(1_000_000 // scale)
    others(10_000 // scale)
    sizes = [1000, 2000, 4000] if quick else [1000, 2000, 5000, 10_000, 20_000, 50_000]
    for rule in ("linear", "sqrt"):
        sparse_experiment(sizes, rule)


def hard(n: int) -> NDArray[np.int8]:
    """Overlapping Gaussians in eight dimensions: most rows are distinct."""
    return nearest_point_members(n, n_dims=8, spread=11.0)


def warm() -> None:
    """Everything compiled before anything is timed."""
    wide = np.random.default_rng(0).integers(300, size=(1500, 5))
    for labels in (hard(1500), wide):
        for weights in (None, 1 + np.arange(labels.shape[1])):
            rows = compress(as_ensemble(labels, weights=weights))[0]
            for options in ({}, {"linkage": "single"}, {"linkage": "complete"}, {"threshold": 0.0}):
                solve(rows, 5, method="eac", **options)
        for method in ("hne", "spectral"):
            solve(rows, 5, method=method)
        co_association(labels)


def average_link(n: int, *, peers: bool = True) -> None:
    labels = hard(n)
    equal = np.ones(labels.shape[1])
    ours, tree = seconds(lambda: our_tree(labels, equal))
    print(f"average link: {n:,} x {labels.shape[1]} labels, {len(tree) + 1:,} distinct rows", flush=True)
    theirs, _ = seconds(lambda: peer_tree(labels, equal), 1)
    line("  compress + eac (the whole tree)", ours, "numpy co-association + fastcluster", theirs)
    if not peers:
        return
    distinct, _ = seconds(lambda: peer_tree(np.unique(labels, axis=0), equal), 1)
    line("", ours, "the same on np.unique rows", distinct, "(without their counts: another tree)")
    # members of random weights leave few ties, which everybody breaks in a way of their own
    weights = np.random.default_rng(1).uniform(0.5, 1.5, size=labels.shape[1])
    ours, tree = seconds(lambda: our_tree(labels, weights), 2)
    theirs, expected = seconds(lambda: peer_tree(labels, weights), 1)
    gap = float(np.abs(expected[expected[:, 2] > 1e-9, 2] - tree[:, 2]).max())
    line("  members of random weights", ours, "numpy co-association + fastcluster", theirs, f"heights {gap:.0e} apart")


def our_tree(labels: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    tree = solve(compress(as_ensemble(labels, weights=weights))[0], 10, method="eac").tree
    assert tree is not None
    return tree


def peer_tree(labels: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    import fastcluster

    whole = bool(np.all(weights == 1))
    shared = np.zeros((len(labels), len(labels)), dtype=np.uint8 if whole else np.float64)
    for column, weight in zip(labels.T, weights, strict=True):
        same = column[:, None] == column
        shared += same if whole else weight * same
    distance = 1 - shared[np.triu_indices(len(labels), 1)] / weights.sum()
    # weights that add up to the whole in another order leave less than nothing
    tree: NDArray[np.float64] = fastcluster.linkage(np.maximum(distance, 0), "average")
    return tree


def large_average_link(n: int) -> None:
    rows = compress(as_ensemble(hard(n)))[0]
    taken, _ = seconds(lambda: solve(rows, 10, method="eac"), 2)
    peak = peak_bytes(prepare_large, call_large, n)
    matrix = 8 * n**2 / 2
    print(
        f"average link: {n:,} objects, {rows.n_rows:,} distinct rows: {taken:.2f} s, peak {peak / 2**20:,.0f} MiB "
        f"(the condensed matrix alone: {matrix / 2**30:,.1f} GiB)",
        flush=True,
    )


def prepare_large(n: int) -> Ensemble:
    our_tree(hard(3000), np.ones(20))
    return compress(as_ensemble(hard(n)))[0]


def call_large(rows: Ensemble) -> None:
    solve(rows, 10, method="eac")


def single_link(n: int) -> None:
    labels = nearest_point_members(n, n_dims=3, spread=3.0)
    first, (rows, _) = seconds(lambda: compress(as_ensemble(labels)))
    taken, _ = seconds(lambda: solve(rows, 10, method="eac", linkage="single"), 2)
    once, _ = seconds(lambda: nearest(rows, np.arange(1.0, 1.0 + rows.n_members), 1), 2)
    print(f"single link: {n:,} x {labels.shape[1]} labels, {rows.n_rows:,} distinct rows", flush=True)
    line("  eac(linkage='single') on the rows", taken, "as_ensemble + compress", first)
    line("", taken, "one pass over candidate pairs", once, "(every row's lists, best row kept)")


def others(n: int) -> None:
    rows = compress(as_ensemble(hard(n)))[0]
    base, _ = seconds(lambda: solve(rows, 10, method="eac"))
    print(f"others: {n:,} objects, {rows.n_rows:,} distinct rows", flush=True)
    for name, method, options in (
        ("eac(linkage='complete')", "eac", {"linkage": "complete"}),
        ("eac(linkage='ward')", "eac", {"linkage": "ward"}),
        ("eac(linkage='average', enhanced=True)", "eac", {"enhanced": True}),
        ("hne(theta=0.3)", "hne", {}),
        ("spectral", "spectral", {"random_state": 0}),
    ):
        taken, result = seconds(lambda m=method, o=options: solve(rows, 10, method=m, max_bytes=10**11, **o), 1)
        edges = f"{result.info['n_edges']:,} edges" if method == "hne" else ""
        line(f"  {name}", taken, "eac, average link", base, edges)


def sparse_experiment(sizes: list[int], rule: str) -> None:
    """SPARSE, section IV: ten Gaussians in the plane, 150 members; growth of the stored pairs and of the time."""
    found = [_one_size(n, rule) for n in sizes]
    pairs, seconds_taken, tree_seconds = (np.log([row[place] for row in found]) for place in range(3))
    logs = np.log(sizes)
    # at small n all pairs within a Gaussian are stored, n^2 / 20 of them, which hides the rule
    exponents = [float(np.polyfit(logs[-3:], values[-3:], 1)[0]) for values in (pairs, seconds_taken, tree_seconds)]
    print(
        f"  {rule}, last three n: stored pairs grow as n^{exponents[0]:.2f} (paper: {1 if rule == 'linear' else 1.5}), "
        f"co-association takes n^{exponents[1]:.2f}, average link n^{exponents[2]:.2f}",
        flush=True,
    )


def _one_size(n: int, rule: str) -> tuple[float, float, float]:
    low, high = (n / 50, n / 20) if rule == "linear" else (np.sqrt(n) / 2, np.sqrt(n))
    ensemble = as_ensemble(gaussian_members(n, int(np.ceil(low)), int(np.ceil(high))))
    taken, found = seconds(lambda: co_association(ensemble, max_bytes=10**11), 1 if n > 20_000 else 2)
    peer, product = seconds(lambda: peer_co_association(ensemble.labels), 1)
    assert product.nnz == found.n_pairs
    rows = compress(ensemble)[0]
    tree, _ = seconds(lambda: solve(rows, 10, method="eac"), 1)
    entries = found.density * n**2
    print(
        f"sparse, {rule} rule: n = {n:,}, {N_MEMBERS} members of {ensemble.n_clusters.min()} to "
        f"{ensemble.n_clusters.max()} clusters, {rows.n_rows:,} distinct rows; {found.n_pairs:,} pairs, density "
        f"{found.density:.2e}, entries over the estimate {entries / found.estimates[rule]:.2f}, share of pairs within "
        f"Gaussians {found.n_pairs / (n * (n / 10 - 1) / 2):.2f}; average link {tree:.2f} s",
        flush=True,
    )
    line("  co_association", taken, "scipy.sparse triu(H H')", peer)
    if n <= 20_000:
        graph, _ = seconds(lambda: solve(rows, 10, method="eac", threshold=0.0, max_bytes=10**11), 1)
        line("  average link, no matrix", tree, "average link on the sparse matrix", graph)
    return float(found.n_pairs), taken, tree


def gaussian_members(n: int, low: int, high: int, seed: int = 0) -> NDArray[np.int32]:
    """k-means (k-means++ and five sweeps) of ten unit Gaussians at (0, 12 i), k uniform in [low, high]."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) + np.column_stack([np.zeros(n), 12 * (np.arange(n) % 10)])
    labels = np.empty((n, N_MEMBERS), dtype=np.int32)
    for member in range(N_MEMBERS):
        k = int(rng.integers(low, high + 1))
        centres = _spread_points(X, k, rng)
        for _ in range(5):
            owner = cKDTree(centres).query(X)[1]
            sizes = np.bincount(owner, minlength=k)
            sums = np.column_stack([np.bincount(owner, column, k) for column in X.T])
            centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
        labels[:, member] = cKDTree(centres).query(X)[1]
    return labels


def _spread_points(X: NDArray[np.float64], k: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """k-means++ on as many objects as make ten a cluster."""
    X = X[rng.choice(len(X), size=min(len(X), 10 * k), replace=False)]
    chosen = np.empty(k, dtype=np.intp)
    closest = np.full(len(X), np.inf)
    for place in range(k):
        pull = np.cumsum(closest) if place else np.arange(1.0, len(X) + 1)
        chosen[place] = min(int(np.searchsorted(pull, rng.random() * pull[-1])), len(X) - 1)
        closest = np.minimum(closest, ((X - X[chosen[place]]) ** 2).sum(axis=1))
    return X[chosen]


def peer_co_association(labels: NDArray[Any]) -> sparse.csr_matrix:
    matrix = one_hot(labels)
    return sparse.triu(matrix @ matrix.T, 1, format="csr")


if __name__ == "__main__":
    main()

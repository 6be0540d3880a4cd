"""Pools of candidates: labellings of the same measurements by many algorithms, with what the judge measures of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import EnsembleClustering, consensus

Labels = NDArray[Any]
OURS = ("spectral", "kmeans", "gaussian")
METHODS = ("lwgp", "transfer", "lwea")
_TRIAL = tuple(f"{base} {method}" for base in OURS for method in METHODS)
POOLS = {
    "the trial": _TRIAL,
    "the trial and more": (*_TRIAL, "Ward", "mixture", "linked 0.3"),
    "different algorithms": (
        "KMeans", "Ward", "average", "complete", "Birch", "mixture", "spectral rbf", "spectral nn", "genie 0.3",
        "linked 0.1",
    ),
}  # fmt: skip
"""What `EnsembleClustering` chooses from, what it could choose from, and what a user may bring."""


def candidates(X: Any, k: int, seed: int, *, ours: bool = True) -> Iterator[tuple[str, Labels]]:
    """Labellings with k clusters, one after another; what an algorithm cannot do is left out, and ours if asked to."""
    from benchmarks.accuracy.algorithms import singular_directions

    for base in OURS if ours else ():
        options = {"confidence": False}
        model = EnsembleClustering(k, base=base, random_state=seed, method="lwgp", method_options=options).fit(X)
        members = model.ensemble_
        for method in METHODS:
            yield f"{base} {method}", consensus(members, k, method=method, random_state=seed, confidence=False).labels
    dense = singular_directions(X) if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
    for name, make in OTHERS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                labels = make(dense, k, seed)
            except (ValueError, np.linalg.LinAlgError):
                continue
        codes = np.unique(labels, return_inverse=True)[1].ravel()
        if codes.max() + 1 == k:
            yield name, codes


def _agglomerative(linkage: str) -> Callable[[Any, int, int], Labels]:
    def run(X: Any, k: int, seed: int) -> Labels:
        from sklearn.cluster import AgglomerativeClustering

        return np.asarray(AgglomerativeClustering(k, linkage=linkage).fit_predict(X))

    return run


def _mixture(kind: str) -> Callable[[Any, int, int], Labels]:
    def run(X: Any, k: int, seed: int) -> Labels:
        from sklearn.mixture import GaussianMixture

        if kind == "full" and X.shape[1] > 40:
            X = X - X.mean(axis=0)
            X = X @ np.linalg.svd(X, full_matrices=False)[2][:20].T
        scaled = X / max(float(X.std()), 1e-300)
        return np.asarray(GaussianMixture(k, covariance_type=kind, n_init=3, random_state=seed).fit_predict(scaled))

    return run


def _k_means(X: Any, k: int, seed: int) -> Labels:
    from sklearn.cluster import KMeans

    return np.asarray(KMeans(k, n_init=10, random_state=seed).fit_predict(X))


def _birch(X: Any, k: int, seed: int) -> Labels:
    from sklearn.cluster import Birch

    return np.asarray(Birch(n_clusters=k, threshold=0.1 * float(X.std()) * X.shape[1] ** 0.5).fit_predict(X))


def _spectral(affinity: str) -> Callable[[Any, int, int], Labels]:
    def run(X: Any, k: int, seed: int) -> Labels:
        from sklearn.cluster import SpectralClustering

        if affinity == "rbf":
            if X.shape[1] > 100:
                raise ValueError("its eigenvectors take minutes")
            X = X / max(float(X.std()) * X.shape[1] ** 0.5, 1e-300) * 3
        return np.asarray(SpectralClustering(k, affinity=affinity, random_state=seed).fit_predict(X))

    return run


def _linked(share: float) -> Callable[[Any, int, int], Labels]:
    def run(X: Any, k: int, seed: int) -> Labels:
        return linked(X, k, share)

    return run


def _genie(limit: float) -> Callable[[Any, int, int], Labels]:
    def run(X: Any, k: int, seed: int) -> Labels:
        return genie(X, k, limit)

    return run


def genie(X: Any, k: int, limit: float) -> Labels:
    """Merge along the minimum spanning tree, the smallest cluster first while the Gini index of sizes is above limit
    (Gagolewski, Bartoszuk, Cena 2016)."""
    from scipy.sparse.csgraph import minimum_spanning_tree
    from scipy.spatial.distance import pdist, squareform

    tree = minimum_spanning_tree(squareform(pdist(X) + 1e-12)).tocoo()
    order = np.argsort(tree.data, kind="stable")
    edges = list(zip(tree.row[order].tolist(), tree.col[order].tolist(), strict=True))
    n = len(X)
    owner = list(range(n))
    size = np.ones(n)

    def root(i: int) -> int:
        while owner[i] != i:
            owner[i] = owner[owner[i]]
            i = owner[i]
        return i

    alive = n
    while alive > k:
        sizes = np.sort(size[size > 0])
        m = len(sizes)
        gini = float(((2 * np.arange(1, m + 1) - m - 1) * sizes).sum() / (max(m - 1, 1) * n))
        place = 0
        if gini > limit:
            least = sizes[0]
            while least not in (size[root(edges[place][0])], size[root(edges[place][1])]):
                place += 1
        a, b = (root(end) for end in edges.pop(place))
        owner[b] = a
        size[a] += size[b]
        size[b] = 0
        alive -= 1
    return np.unique([root(i) for i in range(n)], return_inverse=True)[1]


def linked(X: Any, k: int, share: float) -> Labels:
    """Cut the k - 1 longest links of the minimum spanning tree of mutual reachability that leave no part of fewer than
    share * n / k objects; distances within a neighbourhood of 5 objects count as one."""
    from scipy.sparse.csgraph import minimum_spanning_tree
    from scipy.spatial.distance import pdist, squareform

    D = squareform(pdist(X))
    core = np.partition(D, min(5, len(X) - 1), axis=1)[:, min(5, len(X) - 1)]
    D = np.maximum(np.maximum(D, core[:, None]), core[None]) + 1e-12
    np.fill_diagonal(D, 0)
    tree = minimum_spanning_tree(D).tocoo()
    least = max(1.0, share * len(X) / k)
    return cut_tree(len(X), tree.row, tree.col, tree.data, k, least)


def cut_tree(n: int, row: Any, col: Any, length: Any, k: int, least: float) -> Labels:
    """Split the single-linkage tree from the top, and leave parts that are too small with their larger sister."""
    import heapq

    order = np.argsort(length, kind="stable")
    parent = np.arange(2 * n - 1)
    node = np.arange(n)
    size = np.concatenate([np.ones(n), np.zeros(n - 1)])
    children: dict[int, tuple[int, int]] = {}
    heights = np.zeros(2 * n - 1)
    find = list(range(n))

    def root(i: int) -> int:
        while find[i] != i:
            find[i] = find[find[i]]
            i = find[i]
        return i

    for step, edge in enumerate(order):
        a, b = root(int(row[edge])), root(int(col[edge]))
        new = n + step
        children[new] = (int(node[a]), int(node[b]))
        parent[node[a]] = parent[node[b]] = new
        size[new] = size[node[a]] + size[node[b]]
        heights[new] = length[edge]
        find[b] = a
        node[a] = new
    top = 2 * n - 2
    heap = [(-heights[top], top, top)]
    names = {top: 0}  # node under which objects get this cluster
    clusters = 1
    while heap and clusters < k:
        _, here, start = heapq.heappop(heap)
        if here < n:
            continue
        left, right = sorted(children[here], key=lambda c: (-size[c], c))
        if size[right] >= least:
            names[left], names[right] = names[start], clusters
            # objects pruned above keep the cluster of the larger part
            clusters += 1
            heapq.heappush(heap, (-heights[left], left, left))
            heapq.heappush(heap, (-heights[right], right, right))
        else:
            heapq.heappush(heap, (-heights[left], left, start))
    labels = np.full(2 * n - 1, -1)
    for here in range(2 * n - 2, -1, -1):
        labels[here] = names[here] if here in names else labels[parent[here]]
    return labels[:n]


OTHERS: dict[str, Callable[[Any, int, int], Labels]] = {
    "KMeans": _k_means,
    "Ward": _agglomerative("ward"),
    "average": _agglomerative("average"),
    "complete": _agglomerative("complete"),
    "Birch": _birch,
    "mixture": _mixture("full"),
    "mixture diag": _mixture("diag"),
    "spectral rbf": _spectral("rbf"),
    "spectral nn": _spectral("nearest_neighbors"),
    "linked 0.1": _linked(0.1),
    "linked 0.3": _linked(0.3),
    "linked 0.6": _linked(0.6),
    "genie 0.3": _genie(0.3),
    "genie 0.5": _genie(0.5),
}

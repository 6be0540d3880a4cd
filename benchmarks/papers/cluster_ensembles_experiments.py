"""The four experiments of Strehl & Ghosh (2002), "Cluster Ensembles": noise, FDC, ODC, RCC.

`python -m benchmarks.papers.cluster_ensembles_experiments [noise fdc odc rcc]`. Sets that are not synthetic (PENDIG,
YAHOO) are read from the folder named by QUORATE_DATA (pendigits.csv.gz, text_k1a.npz) and left out without it.

Base clusterer of FDC and ODC, as in the paper: graph partitioning (METIS), here of the graph of the 40 nearest
neighbours. Where we differ: the paper partitions the full similarity matrix, RCC has its ten clusterers and ours eight
(no self-organizing map, no hypergraph partitioning of objects).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import anmi, as_ensemble, consensus, nmi
from quorate.solvers.graph_partition import partition_graph

Labels = NDArray[np.int32]
SUPRA = ["cspa", "hgpa", "mcla"]
"""The paper's supra-consensus chooses among its three functions."""


class Data(NamedTuple):
    name: str
    X: Any
    truth: NDArray[Any]
    n_clusters: int
    similarity: str


def two_gaussians(rng: np.random.Generator, n: int = 1000) -> Data:
    """2D2K: two Gaussians. The paper says variance 0.1; its printed NMI of .847 needs a standard deviation of 0.1
    (means 4.05 deviations apart: .85 at best; with the variance 0.1 it would be .17)."""
    truth = np.repeat([0, 1], [n - n // 2, n // 2])
    means = np.array([[-0.227, 0.077], [0.095, 0.323]])
    return Data("2D2K", means[truth] + 0.1 * rng.standard_normal((n, 2)), truth, 2, "euclidean")


def five_gaussians(rng: np.random.Generator, n: int = 1000) -> Data:
    """8D5K: five Gaussians of standard deviation 0.1 (see `two_gaussians`), means uniform in the unit cube."""
    truth = np.arange(n) % 5
    X = rng.uniform(size=(5, 8))[truth] + 0.1 * rng.standard_normal((n, 8))
    return Data("8D5K", X, truth, 5, "euclidean")


def pendigits(folder: Path) -> Data:
    """PENDIG: the 7,494 training objects, 16 features scaled to [0, 1]."""
    table = np.genfromtxt(folder / "pendigits.csv.gz", delimiter=",", skip_header=1)[:7494]
    return Data("PENDIG", table[:, :-1] / 100, table[:, -1].astype(int), 10, "euclidean")


def yahoo(folder: Path) -> Data:
    """YAHOO: words that occur 0.01 to 0.10 times a document, normalised by nothing else."""
    from scipy.sparse import load_npz

    counts = load_npz(folder / "text_k1a.npz").astype(np.float64).tocsr()
    frequency = np.asarray(counts.mean(axis=0)).ravel()
    kept = counts[:, (frequency >= 0.01) & (frequency <= 0.10)].toarray()
    return Data("YAHOO", kept, np.load(folder / "text_k1a.npz", allow_pickle=False)["y"], 40, "cosine")


def available(rng: np.random.Generator) -> list[Data]:
    found = [two_gaussians(rng), five_gaussians(rng)]
    folder = os.environ.get("QUORATE_DATA")
    if folder and (Path(folder) / "pendigits.csv.gz").exists():
        found.append(pendigits(Path(folder)))
    if folder and (Path(folder) / "text_k1a.npz").exists():
        found.append(yahoo(Path(folder)))
    return found


def as_vectors(X: NDArray[np.float64], similarity: str) -> NDArray[np.float64]:
    """Points whose Euclidean distance orders pairs as the similarity does (extended Jaccard: see `jaccard_kmeans`)."""
    if similarity == "euclidean":
        return X
    centred = X - X.mean(axis=1, keepdims=True) if similarity == "correlation" else X
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    return centred / np.where(lengths > 0, lengths, 1.0)


def graph_clusters(X: NDArray[np.float64], k: int, seed: int, similarity: str = "euclidean") -> Labels:
    """METIS on the graph of nearest neighbours, edges weighted by similarity."""
    from sklearn.neighbors import kneighbors_graph

    if similarity == "jaccard":
        graph = _jaccard_graph(X)
    else:
        vectors = as_vectors(X, similarity)
        graph = kneighbors_graph(vectors, min(40, len(X) - 1), mode="distance").tocsr()
        scale = np.mean(graph.data**2) or 1.0
        graph.data = np.exp(-(graph.data**2) / scale)
    graph = graph.maximum(graph.T).tocsr()
    graph.data = np.rint(graph.data * 2**20) + 1
    return partition_graph(graph.indptr, graph.indices, graph.data, None, k, seed % (2**31 - 1), 0.05).labels


def extended_jaccard(X: NDArray[np.float64], Y: NDArray[np.float64]) -> NDArray[np.float64]:
    shared = X @ Y.T
    union = (X**2).sum(axis=1)[:, None] + (Y**2).sum(axis=1) - shared
    return shared / np.where(union > 0, union, 1.0)


def _jaccard_graph(X: NDArray[np.float64]) -> Any:
    from scipy.sparse import csr_array

    similarity = np.maximum(extended_jaccard(X, X), 0.0)
    np.fill_diagonal(similarity, 0.0)
    degree = min(40, len(X) - 1)
    near = np.argpartition(-similarity, degree - 1, axis=1)[:, :degree]
    rows = np.repeat(np.arange(len(X)), degree)
    return csr_array((similarity[rows, near.ravel()], (rows, near.ravel())), shape=(len(X), len(X)))


def kmeans_clusters(X: NDArray[np.float64], k: int, seed: int, similarity: str) -> Labels:
    from sklearn.cluster import KMeans

    if similarity == "jaccard":
        return jaccard_kmeans(X, k, seed)
    return KMeans(k, n_init=1, random_state=seed % 2**31).fit_predict(as_vectors(X, similarity))


def jaccard_kmeans(X: NDArray[np.float64], k: int, seed: int) -> Labels:
    rng = np.random.default_rng(seed)
    centres = X[rng.choice(len(X), k, replace=False)]
    labels = np.zeros(len(X), dtype=np.int32)
    for _ in range(50):
        new = extended_jaccard(X, centres).argmax(axis=1).astype(np.int32)
        if np.array_equal(new, labels):
            break
        labels = new
        centres = np.stack([X[labels == c].mean(axis=0) if (labels == c).any() else centres[c] for c in range(k)])
    return labels


def noise(
    levels: Sequence[float] = tuple(np.arange(0, 1.01, 0.05).round(2)),
    methods: Sequence[str] = ("mcla", "cspa", "hgpa", "greedy", "hbgf", "kmeans"),
    repeats: int = 10,
    seed: int = 0,
) -> dict[tuple[str, float], tuple[float, float]]:
    """Fig. 5: n = 400, k = 10 balanced, 8 copies under noise. (method, level): mean (NMI with the truth, ANMI)."""
    found: dict[tuple[str, float], tuple[float, float]] = {}
    for level in levels:
        scores: dict[str, list[tuple[float, float]]] = {}
        for repeat in range(repeats):
            rng = np.random.default_rng([seed, repeat, int(1000 * level)])
            truth = rng.permutation(np.repeat(np.arange(10), 40))
            labels = np.repeat(truth[:, None], 8, axis=1)
            for member in range(8):
                wrong = rng.choice(400, size=round(400 * level), replace=False)
                labels[wrong, member] = rng.integers(10, size=len(wrong))
            ensemble = as_ensemble(labels)
            answers = {m: consensus(ensemble, 10, method=m, random_state=repeat).labels for m in methods}
            answers |= {"truth": truth, "random": rng.integers(10, size=400)}
            for name, answer in answers.items():
                scores.setdefault(name, []).append((nmi(answer, truth), anmi(answer, ensemble)))
        found |= {(name, float(level)): tuple(np.mean(values, axis=0)) for name, values in scores.items()}
    return found


def fdc(
    data: Data,
    n_features: int,
    n_members: int,
    seed: int,
    base: Callable[..., Labels] = graph_clusters,
) -> dict[str, float]:
    """Table 3: every member sees a few features drawn at random; NMI with the classes."""
    rng = np.random.default_rng(seed)
    members = []
    for member in range(n_members):
        columns = rng.choice(data.X.shape[1], n_features, replace=False)
        members.append(base(data.X[:, columns], data.n_clusters, seed + member, data.similarity))
    scores = [nmi(member, data.truth) for member in members]
    result = consensus(members, data.n_clusters, method="supra", methods=SUPRA, random_state=seed)
    everything = base(data.X, data.n_clusters, seed, data.similarity)
    return {
        "all features": nmi(everything, data.truth),
        "consensus": nmi(result, data.truth),
        "best": max(scores),
        "mean": float(np.mean(scores)),
        "worst": min(scores),
    }


def odc(
    data: Data, parts: int, seed: int, repetition: float = 2.0, base: Callable[..., Labels] = graph_clusters
) -> float:
    """Fig. 8: overlapping parts of the objects; NMI with the classes beside that of clustering all objects at once."""
    rng = np.random.default_rng(seed)
    n = len(data.truth)
    order = rng.permutation(n)
    labels = np.full((n, parts), -1)
    for part, own in enumerate(np.array_split(order, parts)):
        others = np.setdiff1d(order, own)
        extra = rng.choice(others, min(len(others), round(repetition * n / parts) - len(own)), replace=False)
        objects = np.concatenate([own, extra])
        labels[objects, part] = base(data.X[objects], data.n_clusters, seed + part, data.similarity)
    ensemble = as_ensemble(labels, orientation="objects")
    result = consensus(ensemble, data.n_clusters, method="supra", methods=SUPRA, random_state=seed)
    full = base(data.X, data.n_clusters, seed, data.similarity)
    return nmi(result, data.truth) / nmi(full, data.truth)


def rcc(data: Data, sample: int, seed: int) -> dict[str, float]:
    """Fig. 9 and 10: eight clusterers of very different worth on a sample; NMI with the classes."""
    rng = np.random.default_rng(seed)
    kept = rng.choice(len(data.truth), min(sample, len(data.truth)), replace=False)
    X, truth = data.X[kept], data.truth[kept]
    members = {
        f"{name} {similarity}": clusterer(X, data.n_clusters, seed, similarity)
        for name, clusterer in (("k-means", kmeans_clusters), ("graph", graph_clusters))
        for similarity in ("euclidean", "cosine", "correlation", "jaccard")
    }
    usable = {name: labels for name, labels in members.items() if len(set(labels.tolist())) > 1}
    result = consensus(usable, data.n_clusters, method="supra", methods=SUPRA, random_state=seed)
    scores = {name: nmi(labels, truth) for name, labels in members.items()}
    return {**scores, "mean": float(np.mean(list(scores.values()))), "consensus": nmi(result, truth)}


PRINTED_FDC = {
    "2D2K": (1, 3, (0.84747, 0.68864, 0.68864, 0.64145, 0.54706)),
    "8D5K": (2, 5, (1.00000, 0.98913, 0.76615, 0.69823, 0.62134)),
    "PENDIG": (4, 10, (0.67805, 0.63918, 0.47865, 0.41951, 0.32641)),
    "YAHOO": (128, 20, (0.48877, 0.41008, 0.20183, 0.16033, 0.11143)),
}


def show_noise() -> None:
    found = noise()
    names = list(dict.fromkeys(name for name, _ in found))
    for place, what in enumerate(("NMI with the truth", "ANMI")):
        print(f"\nFig. 5, {what}, mean of 10\nnoise " + "".join(f"{name:>9}" for name in names))
        for level in dict.fromkeys(level for _, level in found):
            print(f"{level:5.2f} " + "".join(f"{found[name, level][place]:9.3f}" for name in names))
    print("printed: MCLA recovers the truth up to 25% noise, is best up to 50%, then CSPA; HGPA is worst")


def show_fdc(repeats: int = 5) -> None:
    print(f"\nTable 3 (FDC), NMI with the classes, mean of {repeats}: measured (printed)")
    for data in available(np.random.default_rng(0)):
        n_features, n_members, printed = PRINTED_FDC[data.name]
        runs = [fdc(data, n_features, n_members, 1000 * repeat) for repeat in range(repeats)]
        cells = (
            f"{name} {np.mean([r[name] for r in runs]):.3f} ({p:.3f})" for name, p in zip(runs[0], printed, strict=True)
        )
        print(f"{data.name:7} " + "  ".join(cells), flush=True)


def show_odc(repeats: int = 3) -> None:
    print(f"\nFig. 8 (ODC), share of the full quality, v = 2, mean of {repeats}; printed: 80-90% at p = 16")
    for data in available(np.random.default_rng(0)):
        cells = (f"p={p}: {np.mean([odc(data, p, 1000 * r) for r in range(repeats)]):.2f}" for p in (2, 4, 8, 16, 32))
        print(f"{data.name:7} " + "  ".join(cells), flush=True)


def show_rcc(repeats: int = 5) -> None:
    print(
        f"\nFig. 9, 10 (RCC) at n = 800, mean of {repeats}; printed consensus (mean): 2D2K .85 (.57), YAHOO .38 (.33)"
    )
    for data in available(np.random.default_rng(0)):
        runs = [rcc(data, 800, repeat) for repeat in range(repeats)]
        print(f"{data.name:7} " + "  ".join(f"{k} {np.mean([r[k] for r in runs]):.2f}" for k in runs[0]), flush=True)


SHOW = {"noise": show_noise, "fdc": show_fdc, "odc": show_odc, "rcc": show_rcc}


def main(names: Sequence[str] = ()) -> None:
    for name in names or SHOW:
        SHOW[name]()


if __name__ == "__main__":
    main(sys.argv[1:])

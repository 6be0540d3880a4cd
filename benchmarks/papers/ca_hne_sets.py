"""HNE: the data sets of its experiments, and the clusterers that see features rather than labels.

The tables of the paper (its data sets, its error rates) are lost in the text we have; it names the 2-spirals, a complex
image and 3-paths, says that some sets are corrupted by noise, and takes the rest from Fred & Jain and Topchy et al.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.data import load
from quorate import accuracy, datasets

SEED = 2007
"""Of the synthetic sets: as in the paper they are drawn once, and runs differ in the ensembles."""
Array = NDArray[Any]


class Source(NamedTuple):
    """n_clusters: the true number; file: its name in the data folder, if any; n_objects: how many that file holds."""

    n_clusters: int
    file: str = ""
    normalise: bool = False
    n_objects: int = 0


SETS = {
    "2-spirals": Source(2),
    "half-rings": Source(2),
    "3 rings": Source(3),
    "cigar": Source(4),
    "complex image": Source(7),
    "3-paths": Source(3),
    "2-spirals, 1000": Source(2, "shape_2spirals", n_objects=1000),
    "iris": Source(3, "iris", n_objects=150),
    "wine": Source(3, "wine", True, n_objects=178),
    "breast cancer": Source(2, "breast_wisconsin", n_objects=683),
    "ionosphere": Source(2, "ionosphere", n_objects=351),
}
SYNTHETIC = tuple(name for name, source in SETS.items() if not source.file)
MADE: dict[str, Any] = {
    "2-spirals": datasets.two_spirals,
    "half-rings": datasets.half_rings,
    "3 rings": datasets.three_rings,
    "cigar": datasets.cigar,
    "3-paths": datasets.three_paths,
}


@cache
def features(name: str) -> tuple[Array, Array]:
    """Features and classes of a set, -1 for noise; FileNotFoundError where its file is not in the folder."""
    source = SETS[name]
    if source.file:
        return load(source.file, normalise=source.normalise)
    X, y = complex_image(SEED) if name == "complex image" else MADE[name](random_state=SEED)[:2]
    return X, y


def complex_image(seed: int) -> tuple[Array, Array]:
    """Seven clusters of unlike shape and density, 700 objects: the kind of picture the paper calls complex image.

    All numbers are ours: a ring around a round cluster, two half rings that clasp each other, a long thin bar, and
    two round clusters, one dense and one wide, four standard deviations of the wide one apart.
    """
    rng = np.random.default_rng(seed)
    ring = _arc(rng, 180, (0, 2 * np.pi), 2.0, (0, 0))
    core = rng.normal(0, 0.35, (80, 2))
    upper = _arc(rng, 110, (0, np.pi), 1.5, (6.0, -0.4))
    lower = _arc(rng, 110, (np.pi, 2 * np.pi), 1.5, (7.5, 0.4))
    bar = np.column_stack([rng.uniform(-2, 9, 110), rng.normal(4, 0.1, 110)])
    dense = rng.normal((1.0, -4.5), 0.2, (50, 2))
    wide = rng.normal((4.0, -4.5), 0.6, (60, 2))
    parts = [ring, core, upper, lower, bar, dense, wide]
    return np.vstack(parts), np.repeat(np.arange(7), [len(part) for part in parts])


def _arc(rng: np.random.Generator, size: int, angles: Any, radius: float, centre: Any) -> Array:
    angle, away = rng.uniform(*angles, size), radius + rng.normal(0, 0.1, size)
    return np.column_stack([away * np.cos(angle), away * np.sin(angle)]) + np.array(centre)


def error(labels: Array, y: Array) -> float:
    """Share of objects in a cluster that is not matched to their class; noise does not count."""
    known = y >= 0
    return 1.0 - accuracy(labels[known], y[known])


def base_k(name: str) -> int:
    """Clusters of every member: 60 on the 2-spirals is printed, sqrt(n) on the others is ours; see the notes."""
    return 60 if name.startswith("2-spirals") else math.ceil(math.sqrt(n_objects(name)))


def n_objects(name: str) -> int:
    """Known without the file, too: pages are written where no data are."""
    return SETS[name].n_objects or len(features(name)[0])


@cache
def tree_labels(name: str, linkage: str) -> Array:
    """Single or average link of the features: the same in every run."""
    from scipy.cluster.hierarchy import fcluster
    from scipy.cluster.hierarchy import linkage as tree

    return np.asarray(fcluster(tree(features(name)[0], linkage), SETS[name].n_clusters, "maxclust"))


def kmeans_labels(X: Array, k: int, seed: int) -> Array:
    """One k-means from one random start."""
    from sklearn.cluster import KMeans

    return np.asarray(KMeans(k, init="random", n_init=1, random_state=seed).fit_predict(X))


@cache
def embeddings(name: str) -> list[Array]:
    """Spectral coordinates of Ng, Jordan & Weiss for several widths of the kernel, quantiles of all distances."""
    from scipy.linalg import eigh
    from scipy.spatial.distance import pdist, squareform

    distances = squareform(pdist(features(name)[0]))
    n, k = len(distances), SETS[name].n_clusters
    found = []
    for share in (0.002, 0.005, 0.01, 0.02, 0.05, 0.1):
        width = np.quantile(distances[~np.eye(n, dtype=bool)], share)
        affinity = np.exp(-(distances**2) / (2 * max(width, 1e-9) ** 2))
        np.fill_diagonal(affinity, 0)
        root = 1 / np.sqrt(np.maximum(affinity.sum(axis=1), 1e-12))
        vectors = eigh(root[:, None] * affinity * root, subset_by_index=[n - k, n - 1])[1]
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        found.append(vectors / np.where(norms > 0, norms, 1))
    return found


def spectral_errors(name: str, seed: int) -> tuple[float, float]:
    """As Ng, Jordan & Weiss say, the width whose embedding k-means fits most tightly; and the best of all widths."""
    from sklearn.cluster import KMeans

    k, y = SETS[name].n_clusters, features(name)[1]
    models = [KMeans(k, n_init=3, random_state=seed).fit(points) for points in embeddings(name)]
    errors = [error(model.labels_, y) for model in models]
    return errors[int(np.argmin([model.inertia_ for model in models]))], min(errors)

"""What is compared, each with the settings of its own package and the true number of clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[Any]
DEFAULT = "Quorate"
"""What the others are compared with: `EnsembleClustering` with its defaults."""
OURS = (DEFAULT, "20 spectral members", "20 k-means members", "one spectral member", "one k-means member")
"""Parts and variants of Quorate; the rest are peers."""
SVD_DIMENSIONS = 100


class Algorithm(NamedTuple):
    """One line of the comparison.

    run : features, number of clusters, seed -> labels and, where there is something to tell, a note.
    stochastic : whether it is run with several seeds.
    most_objects : it is not run on sets with more objects.
    dense : whether texts are given as their leading singular directions, because it takes no sparse rows.
    """

    run: Callable[[Any, int, int], tuple[Labels, str]]
    stochastic: bool = True
    most_objects: int = 1_000_000
    dense: bool = False


def _quorate(**options: Any) -> Callable[[Any, int, int], tuple[Labels, str]]:
    """The note is the kind of members that was taken."""

    def run(X: Any, n_clusters: int, seed: int) -> tuple[Labels, str]:
        from quorate import EnsembleClustering

        model = EnsembleClustering(n_clusters, random_state=seed, **options).fit(X)
        return model.labels_, "" if options else str(model.ensemble_.info["base"]).split(":")[0]

    return run


def _member(base: str) -> Callable[[Any, int, int], tuple[Labels, str]]:
    def run(X: Any, n_clusters: int, seed: int) -> tuple[Labels, str]:
        from quorate import generate

        return generate(X, 1, k=n_clusters, base=base, random_state=seed).labels[:, 0], ""

    return run


def _sklearn(module: str, name: str, **options: Any) -> Callable[[Any, int, int], tuple[Labels, str]]:
    """`k` names the option of the number of clusters; None where there is none."""
    k, seeded = options.pop("k", "n_clusters"), options.pop("seeded", True)

    def run(X: Any, n_clusters: int, seed: int) -> tuple[Labels, str]:
        from importlib import import_module

        given = {**options, **({k: n_clusters} if k else {}), **({"random_state": seed} if seeded else {})}
        return np.asarray(getattr(import_module(module), name)(**given).fit_predict(X)), ""

    return run


_CLUSTER = "sklearn.cluster"
ALGORITHMS: dict[str, Algorithm] = {
    DEFAULT: Algorithm(_quorate()),
    "20 spectral members": Algorithm(_quorate(base="spectral")),
    "20 k-means members": Algorithm(_quorate(base="kmeans")),
    "one spectral member": Algorithm(_member("spectral")),
    "one k-means member": Algorithm(_member("kmeans")),
    "KMeans": Algorithm(_sklearn(_CLUSTER, "KMeans", n_init=10)),
    "MiniBatchKMeans": Algorithm(_sklearn(_CLUSTER, "MiniBatchKMeans")),
    "GaussianMixture": Algorithm(
        _sklearn("sklearn.mixture", "GaussianMixture", k="n_components"), most_objects=100_000, dense=True
    ),
    "Ward": Algorithm(
        _sklearn(_CLUSTER, "AgglomerativeClustering", seeded=False), stochastic=False, most_objects=20_000, dense=True
    ),
    "SpectralClustering": Algorithm(
        _sklearn(_CLUSTER, "SpectralClustering", affinity="nearest_neighbors"), most_objects=15_000
    ),
    "HDBSCAN": Algorithm(
        _sklearn(_CLUSTER, "HDBSCAN", k=None, seeded=False, copy=True),
        stochastic=False,
        most_objects=60_000,
        dense=True,
    ),
    "Birch": Algorithm(_sklearn(_CLUSTER, "Birch", seeded=False), stochastic=False, most_objects=100_000),
}


def singular_directions(X: Any) -> NDArray[np.float64]:
    """Texts for algorithms that take no sparse rows: leading singular directions, rows of length 1 again."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    n_components = min(SVD_DIMENSIONS, min(X.shape) - 1)
    return np.asarray(normalize(TruncatedSVD(n_components, random_state=0).fit_transform(X)))

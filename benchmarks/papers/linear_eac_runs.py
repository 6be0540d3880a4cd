"""Candel's protocol: ensembles, the twelve consensus functions, and what is recorded of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans as ScikitKMeans

from benchmarks.papers.data import load, z_normalised
from benchmarks.papers.records import Case, Values
from benchmarks.speed.inputs import half_distinct, nearest_point_members
from quorate import Ensemble, anmi, as_ensemble, compress, consensus, density, generate
from quorate._evaluation.scores import member_anmi
from quorate.generation import KMeans

N_CLUSTERS = 20
N_MEMBERS = 20
BASE = "++10"
"""The base clusterer of `members` where a case names none."""
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "KM": ("kmeans", {}),
    "H-KM": ("bisecting", {}),
    "SEC": ("sec", {}),
    "MCLA": ("mcla", {}),
    "ECC": ("ecc", {}),
    "CSPA": ("cspa", {}),
    "R-SL": ("eac", {"linkage": "single"}),
    "R-AL": ("eac", {"linkage": "average"}),
    "R-ML": ("eac", {"linkage": "complete"}),
    "E-SL": ("eac", {"linkage": "single", "enhanced": True}),
    "E-AL": ("eac", {"linkage": "average", "enhanced": True}),
    "E-ML": ("eac", {"linkage": "complete", "enhanced": True}),
}
NOT_HIERARCHICAL = ("SEC", "MCLA", "ECC", "CSPA")
TREES = ("R-SL", "R-AL", "R-ML", "E-SL", "E-AL", "E-ML")


class Source(NamedTuple):
    """A set as the paper names it: our files, stacked, and how often it is repeated in full."""

    files: tuple[str, ...]
    repeats: int
    note: str = ""


SETS: dict[str, Source] = {
    "glass": Source(("glass",), 20),
    "ecoli": Source(("ecoli",), 20),
    "ionosphere": Source(("ionosphere",), 20),
    "user_knowledge": Source(("user_knowledge",), 20),
    "breastcancer": Source(("breast_wisconsin_699",), 20, "16 missing values replaced by the column's mean"),
    "contraceptive": Source(("cmc",), 20),
    "yeast": Source(("yeast",), 20),
    "abalone": Source(("abalone",), 15, "8 features with the coded sex; k0 = 28 numbers of rings"),
    "landstat": Source(("satimage",), 10),
    "pendigits": Source(("pendigits",), 6),
    "drybean": Source(("drybean",), 6),
    "musk": Source(("musk1", "musk2"), 3, "the two versions stacked: 7,074 rows as printed"),
    "nursery": Source(("nursery",), 6),
    "advertisement": Source(
        ("internet_ads_1966",), 2, "**a stand-in**: 1,966 of the 3,279 rows, 1,555 of 1,558 columns"
    ),
    "letter_recognition": Source(("letter",), 1, "in the paper's Table 1, but in none of its tables of results"),
}
"""gisette has no file."""


def features(name: str, form: str = "z") -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Features as the paper prepares them ("z"), as they come ("raw"), or a set's special form."""
    parts = [load(file) for file in SETS[name].files]
    X, y = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    if form == "ordinal":
        X, y = load(f"{SETS[name].files[0]}_ordinal")
    if form == "no sex":
        X = X[:, 1:]
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    return (X if form == "raw" else z_normalised(X)), y


def members(name: str, seed: int, *, base: str | None = None, form: str = "z") -> Ensemble:
    """The paper's ensemble: k-means with k in [number of classes, min(100, sqrt n)].

    base : "++R", scikit-learn's k-means of the best of R k-means++ starts; "random", the built-in k-means with one
    random start; "one seed", "++10" with the same random numbers for all members.
    """
    base = base or BASE
    X, y = features(name, form)
    rule = ("candel", len(np.unique(y)))
    clusterer: Any = KMeans(sample=None)
    if base == "one seed":

        def clusterer(X: Any, k: int, rng: Any) -> Any:
            return ScikitKMeans(k, n_init=10, random_state=seed).fit(X).labels_

    elif base != "random":
        clusterer = ScikitKMeans(n_init=int(base.removeprefix("++")))
    return generate(X, N_MEMBERS, k=rule, base=clusterer, random_state=seed, n_jobs=1)


def of_members(ensemble: Ensemble) -> dict[str, float]:
    """The paper's Max and Mean: a member as the consensus, NMI with the others and density in the ensemble."""
    shares = member_anmi(ensemble, average="arithmetic")
    densities = [density(ensemble.labels[:, member], ensemble) for member in range(ensemble.n_members)]
    return {
        "Max nmi": shares.max(),
        "Mean nmi": shares.mean(),
        "Max density": max(densities),
        "Mean density": float(np.mean(densities)),
    }


def of_method(name: str, ensemble: Ensemble, seed: int, k: int | None = None) -> dict[str, Any]:
    """NMI, density and seconds of one consensus function; a refusal is recorded in its words."""
    method, options = METHODS[name]
    start = time.perf_counter()
    try:
        found = consensus(ensemble, k or N_CLUSTERS, method=method, random_state=seed, **options)
    except (MemoryError, ValueError) as error:
        return {f"{name} error": str(error)[:200]}
    taken = time.perf_counter() - start
    scores = anmi(found, ensemble, average="arithmetic"), density(found, ensemble)
    return {f"{name} nmi": scores[0], f"{name} density": scores[1], f"{name} seconds": taken}


def measure_tables(case: Case) -> Values:
    """Tables 2 to 7 for one set and repeat: every column of them."""
    ensemble = members(case["set"], case["repeat"], base=case["base"], form=case["form"])
    values: dict[str, Any] = {"rows": compress(ensemble)[0].n_rows, **of_members(ensemble)}
    for name in METHODS:
        values |= of_method(name, ensemble, case["repeat"])
    return values


def measure_bases(case: Case) -> Values:
    """What other base clusterers and other forms of the features do to the members, KM and R-AL."""
    ensemble = members(case["set"], case["repeat"], base=case["base"], form=case["form"])
    values = of_members(ensemble)
    return values | of_method("KM", ensemble, case["repeat"]) | of_method("R-AL", ensemble, case["repeat"])


def measure_clusters(case: Case) -> Values:
    """Every method with another number of clusters."""
    ensemble = members(case["set"], case["repeat"], form="raw")
    values: dict[str, Any] = {}
    for name in METHODS:
        values |= of_method(name, ensemble, case["repeat"], case["k"])
    return values


def measure_loss(case: Case) -> Values:
    """Thirty single starts of KM: the loss and the density each ended with."""
    ensemble = members(case["set"], case["repeat"], form="raw")
    losses, densities = [], []
    for seed in range(case["starts"]):
        found = consensus(ensemble, N_CLUSTERS, method="kmeans", n_init=1, random_state=seed)
        losses.append(found.objective)
        densities.append(density(found, ensemble))
    from scipy.stats import spearmanr

    best = int(np.argmin(losses))
    return {
        "correlation": float(spearmanr(losses, densities)[0]),
        "density of the least loss": densities[best],
        "highest density": max(densities),
        "lowest density": min(densities),
    }


def measure_ties(case: Case) -> Values:
    """R-ML with ties broken by our rule, by scipy's, and by ours with the objects in other orders."""
    ensemble = members(case["set"], case["repeat"], form="raw")
    labels = np.asarray(ensemble.labels)
    ours = [of_method("R-ML", ensemble, 0)]
    rng = np.random.default_rng(case["repeat"])
    ours += [of_method("R-ML", as_ensemble(labels[rng.permutation(len(labels))]), 0) for _ in range(4)]
    theirs = scipy_link(dense_matrix(labels), "complete")
    tree = consensus(ensemble, N_CLUSTERS, method="eac", linkage="complete").tree
    assert tree is not None
    return {
        "ours nmi": [values["R-ML nmi"] for values in ours],
        "scipy nmi": anmi(theirs, ensemble, average="arithmetic"),
        "ours density": [values["R-ML density"] for values in ours],
        "scipy density": density(theirs, ensemble),
        "clusters at height 1": int((tree[:, 2] > 1 - 1e-9).sum()) + 1,
    }


def measure_times(case: Case) -> Values:
    """Seconds of KM, H-KM, R-AL and the density over n, beside the matrix and scipy's average link where it fits."""
    labels = nearest_point_members(case["n"], seed=case["repeat"])
    if case["data"] == "hard":
        labels = half_distinct(labels, seed=case["repeat"])
    ensemble = as_ensemble(labels)
    values: dict[str, Any] = {"rows": compress(ensemble)[0].n_rows}
    for name in ("KM", "H-KM", "R-AL"):
        # average link on distinct rows is exact, not linear: where most rows are distinct it ends here
        if name != "R-AL" or values["rows"] <= case["linked"]:
            method, options = METHODS[name]
            call = partial(consensus, ensemble, N_CLUSTERS, method=method, random_state=0, **options)
            values[f"{name} seconds"] = _least(call)
    found = consensus(ensemble, N_CLUSTERS, method="kmeans", random_state=0).labels
    values["density seconds"] = _least(partial(density, found, ensemble))
    return values | (_dense_times(labels, ensemble, found) if case["n"] <= case["dense"] else {})


def _dense_times(labels: NDArray[Any], ensemble: Ensemble, found: NDArray[Any]) -> dict[str, Any]:
    matrix = dense_matrix(labels)
    formed = _timed(partial(dense_matrix, labels))
    return {
        "matrix density seconds": formed + _timed(partial(dense_density, matrix, found)),
        "difference": abs(dense_density(matrix, found) - density(found, ensemble)),
        "scipy R-AL seconds": formed + _timed(partial(scipy_link, matrix, "average")),
    }


def _timed(call: Callable[[], Any]) -> float:
    """Of the processor: everything here runs on one thread, and the machine may be busy with other things."""
    start = time.process_time()
    call()
    return time.process_time() - start


def _least(call: Callable[[], Any], repeat: int = 2) -> float:
    return min(_timed(call) for _ in range(repeat))


def dense_matrix(labels: NDArray[Any]) -> NDArray[np.float32]:
    """The co-association matrix as it stands in the books."""
    matrix = np.zeros((len(labels), len(labels)), dtype=np.float32)
    for column in labels.T:
        matrix += column[:, None] == column[None, :]
    matrix /= labels.shape[1]
    return matrix


def dense_density(matrix: NDArray[np.float32], labels: NDArray[Any]) -> float:
    """Mean of the off-diagonal blocks' entries, clusters by their size."""
    total = 0.0
    for cluster in np.unique(labels):
        rows = np.flatnonzero(labels == cluster)
        if len(rows) > 1:
            block = matrix[np.ix_(rows, rows)].sum(dtype=np.float64) - len(rows)
            total += block / (len(rows) - 1)
    return total / len(labels)


def scipy_link(matrix: NDArray[np.float32], method: str) -> NDArray[Any]:
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    found: NDArray[Any] = fcluster(linkage(squareform(1 - matrix, checks=False), method), N_CLUSTERS, "maxclust")
    return found

"""What methods and verbs answer on the ensembles, in plain values that can be written down and compared."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from benchmarks.frozen.ensembles import Case, cases
from quorate import (
    METHODS,
    SoftEnsemble,
    ca_tree,
    co_association,
    coarsen,
    consensus,
    datasets,
    evaluate,
    generate,
    refine,
)

Outcome = dict[str, Any]

SLOW_ON_LARGE = ("correlation", "cspa", "eac", "greedy", "hne", "lwea", "spectral", "supra")
"""Methods that are not run on the large ensembles: they would take minutes or much memory there."""
LIBRARIES = ("mtkahypar", "numpy", "pymetis", "scipy")
"""Libraries on whose versions some results depend."""


def versions() -> dict[str, str]:
    """The versions of LIBRARIES that are installed here."""
    installed = {}
    for library in LIBRARIES:
        try:
            installed[library] = version(library)
        except PackageNotFoundError:
            installed[library] = "not installed"
    return installed


def digest(array: Any) -> str | None:
    """A short name for the contents of an array, None for None."""
    if array is None:
        return None
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def outcome(case: Case, method: str, n_clusters: int | None) -> Outcome:
    """What a method answers, or the error it raises, in plain values."""
    try:
        result = consensus(case.make(), n_clusters, method=method, random_state=7)
    except (ValueError, TypeError, MemoryError) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {
        "labels": digest(result.labels),
        "n_clusters": result.n_clusters,
        "objective": float(result.objective).hex(),
        "n_iter": int(result.n_iter),
        "converged": bool(result.converged),
        "confidence": digest(None if result.confidence is None else np.round(result.confidence, 9)),
        "tree": digest(None if result.tree is None else np.round(result.tree, 9)),
        "info": sorted(result.info),
    }


def runs(case: Case) -> Iterator[tuple[str, str, int | None]]:
    """The runs of one ensemble: the name they are recorded under, the method, and the number of clusters."""
    is_soft = isinstance(case.make(), SoftEnsemble)
    for method, entry in METHODS.items():
        if (is_soft and not entry.soft) or (case.large and method in SLOW_ON_LARGE):
            continue
        yield f"{case.name} / {method} / {case.n_clusters}", method, case.n_clusters
        if entry.finds_k and not case.large:
            yield f"{case.name} / {method} / None", method, None
    if not is_soft:
        yield f"{case.name} / auto / {case.n_clusters}", "auto", case.n_clusters


def other_verbs(case: Case) -> Outcome:
    """What the verbs beside `consensus` answer for a small ensemble of labels."""
    ensemble = case.make()
    result = consensus(ensemble, case.n_clusters, method="kmeans", random_state=7)
    better = refine(result, ensemble)
    rows, inverse = coarsen(ensemble, 0.4)
    tree = ca_tree(ensemble)
    # the agreement with members left out repeats the method, whose own results are recorded above
    scores = {name: value for name, value in evaluate(result, ensemble).as_dict().items() if "agreement" not in name}
    return {
        "evaluate": {name: round(value, 12) for name, value in scores.items() if value},
        "refine": [digest(better.labels), float(better.objective).hex()],
        "coarsen": [digest(rows.labels.astype(np.int64)), digest(rows.counts), digest(inverse)],
        "tree": [digest(tree.size), digest(tree.representative), tree.n_nodes],
        "pairs": co_association(ensemble).n_pairs,
    }


def generated() -> dict[str, Outcome]:
    """Ensembles of the built-in k-means on measurements that are made from a seed."""
    X = datasets.eight_d_five_k(700, random_state=0).X
    settings: dict[str, dict[str, Any]] = {
        "plain": {},
        "rows and columns": {"rows": 0.6, "columns": 0.5},
        "k from 3 to 9": {"k": (3, 9)},
    }
    results = {}
    for name, options in settings.items():
        ensemble = generate(X, 6, base="kmeans", random_state=3, **options)
        results[f"generate / {name}"] = {"labels": digest(ensemble.labels.astype(np.int64))}
    return results


def outcomes(wanted: str, skipped: Collection[str] = ()) -> dict[str, Outcome]:
    """Results on the ensembles whose name contains `wanted`, by "ensemble / method / number of clusters".

    Names in `skipped` are not run.
    """
    results = {}
    for case in cases():
        if wanted not in case.name:
            continue
        for name, method, n_clusters in runs(case):
            if name not in skipped:
                results[name] = outcome(case, method, n_clusters)
        verbs = f"{case.name} / other verbs"
        if verbs not in skipped and not case.large and not isinstance(case.make(), SoftEnsemble):
            results[verbs] = other_verbs(case)
    ensembles = generated() if wanted in "generate" else {}
    return {**{name: found for name, found in ensembles.items() if name not in skipped}, **results}

"""Whether clusters are real: the labelling and the procedure that made it, for the comparison with a reference."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._consensus.consensus import solve_objects
from quorate._consensus.procedure import procedure_of
from quorate._consensus.solve import solve
from quorate._data.compression import compress
from quorate._structure.reference import Cluster, Reference, compare_with_reference
from quorate._types import Ensemble, FloatArray
from quorate.generation.bases import BASES
from quorate.generation.features import Features, as_features
from quorate.generation.generating import generate_with_models
from quorate.generation.k_rules import k_within
from quorate.generation.plans import Request, base_towards, k_towards
from quorate.generation.runner import Options
from quorate.generation.trial import method_towards

JUDGED_OBJECTS = 5_000
"""Objects that are divided into clusters to judge a number of clusters, at most."""
REFERENCE_MEMBERS = 8
"""The number of members from which each draw of the reference is clustered."""
UNKNOWN_BASE = "kmeans"
"""The members of the reference if nobody knows how those of the ensemble were made."""


class How(NamedTuple):
    """How objects are clustered: the members, the consensus function and its options, the seed, and the workers."""

    request: Request
    method: str
    method_options: dict[str, Any]
    entropy: int
    n_jobs: int | None


def judged_clusters(features: Features, how: How, n_clusters: int, *, draws: int) -> Reference | None:
    """Divide the objects into a number of clusters, as is done if the number is given, and judge the clusters.

    Of many objects a part is drawn and divided. None is returned if there is nothing to compare.
    """
    if features.is_sparse:
        return None
    part = _drawn(features, how.entropy)
    k = k_towards(how.request.k, how.request.base, n_clusters)
    request = how.request._replace(k=k, base=base_towards(how.request.base, n_clusters))
    options = Options(how.n_jobs, progress=False, title="", checkpoint=None, keep_models=False)
    ensemble, _ = generate_with_models(part, request, how.entropy, options)
    # options belong to the method that was named
    method = how.method if how.method_options else method_towards(how.method, ensemble, n_clusters)
    chosen = {"confidence": False, **how.method_options}
    result = solve_objects(ensemble, n_clusters, method=method, random_state=how.entropy % 2**62, **chosen).objects
    return reference_of(result, result.labels, ensemble, part, draws)


def _drawn(features: Features, entropy: int) -> Features:
    if features.n_objects <= JUDGED_OBJECTS:
        return features
    rng = np.random.default_rng((entropy % 2**32, 29))
    rows = np.sort(rng.choice(features.n_objects, JUDGED_OBJECTS, replace=False, shuffle=False))
    return as_features(np.asarray(features.data[rows]))


def reference_of(result: Any, codes: Any, ensemble: Ensemble, features: Features, draws: int) -> Reference | None:
    """Compare the clusters of a result with those that the same procedure finds in measurements without clusters.

    Members of the reference are made as `generate` made those of the ensemble, as far as this is known.
    """
    how = procedure_of(result, int(codes.max()) + 1)
    base = str(ensemble.info.get("base", UNKNOWN_BASE)).partition(":")[0]
    request = Request(0, None, base if base in BASES else UNKNOWN_BASE, 1.0, 1.0)
    cluster = procedure(request, how.method, {}, how.n_clusters)
    return compare_with_reference(features, codes, cluster, seed=how.seed % 2**32, n_draws=draws)


def procedure(request: Request, method: str, method_options: dict[str, Any], n_clusters: int) -> Cluster:
    """Return the function that clusters measurements as the request and the method say, with fewer members."""

    def cluster(points: FloatArray, number: int) -> NDArray[Any]:
        k = k_towards(request.k, request.base, n_clusters)
        k = None if k is None else k_within(k, len(points))
        few = Request(REFERENCE_MEMBERS, k, request.base, 1.0, 1.0)
        options = Options(None, progress=False, title="", checkpoint=None, keep_models=False)
        ensemble, _ = generate_with_models(as_features(points), few, number, options)
        rows, inverse = compress(ensemble)
        wanted = min(n_clusters, rows.n_rows)
        result = solve(rows, wanted, method=method, random_state=number, confidence=False, **method_options)
        labels: NDArray[Any] = result.labels[inverse]
        return labels

    return cluster

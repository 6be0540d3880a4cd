"""What `EnsembleClustering.fit` asks about structure: how many clusters there are, and whether there are any."""

from __future__ import annotations

from typing import Any, cast

from quorate._structure.evaluating import reference_of
from quorate._structure.number import chooses_number, explore
from quorate._structure.reference import checked_draws
from quorate.generation.features import Features
from quorate.generation.plans import Request


def number_for(model: Any, features: Features, entropy: int) -> tuple[int | None, dict[str, Any]]:
    """Return the number of clusters, chosen if it is to be chosen, and what the result tells about the choice."""
    draws = checked_draws(model.reference)
    if not chooses_number(model.n_clusters, model.method):
        return cast("int | None", model.n_clusters), {}
    explored = explore(
        features,
        Request(model.n_members, model.k, model.base, model.rows, model.columns),
        model.n_clusters,
        entropy=entropy,
        method=model.method,
        method_options=dict(model.method_options or {}),
        n_jobs=model.n_jobs,
        draws=draws,
    )
    return explored.choice.n_clusters, explored.told()


def compared_with_reference(model: Any, features: Features, told: dict[str, Any]) -> dict[str, Any]:
    """Return the comparison with measurements without clusters if it was asked for and not made before."""
    draws = checked_draws(model.reference)
    if draws is None or model.reference == "auto" or "reference_test" in told:
        return told
    found = reference_of(model.consensus_, model.consensus_.labels, model.ensemble_, features, draws)
    return told if found is None else {**told, "reference_test": dict(found._asdict())}

"""evaluate within a limit of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from quorate._consensus.procedure import Drawn
from quorate._data.compression import compress
from quorate._data.ensemble import as_ensemble
from quorate._data.labelling import code_beside
from quorate._evaluation.repetition import checked_permutations
from quorate._evaluation.scored import (
    mean_density_between,
    mean_density_within,
    score_labelling,
    scores_of_truth,
)
from quorate._evaluation.scores import ADVICE
from quorate._evaluation.trust import reference_facts, trust_in
from quorate._types import Scores
from quorate.solvers.member_agreement import member_scores


def evaluate_within(
    labels: Any,
    ensemble: Any,
    seconds: float | None,
    *,
    truth: Any = None,
    null: Any = None,
    draw: Callable[[int], Drawn] | None = None,
    reference: Mapping[str, Any] | None = None,
) -> Scores:
    """Do what `evaluate` does, but leave the comparison with chance out if it would take more than so many seconds.

    `draw` draws objects for a seed, as for `trust_in`, and `reference` is the comparison with measurements without
    clusters, by default the one that the labelling has in its info.
    """
    n_permutations = checked_permutations(null)
    members = as_ensemble(ensemble)
    labelling = code_beside(labels, "labels", members, advice=ADVICE)
    scored = score_labelling(labelling, members)
    mean_member, best_member = member_scores(compress(members)[0])
    known: dict[str, Any] = {} if truth is None else dict(scores_of_truth(labelling, truth, members))
    known |= trust_in(labels, labelling, members, n_permutations, seconds=seconds, draw=draw)._asdict()
    known |= reference_facts(reference)
    return Scores(
        n_objects=int(scored.sizes.sum()),
        n_clusters=labelling.n_clusters,
        anmi=scored.anmi("geometric"),
        anmi_arithmetic=scored.anmi("arithmetic"),
        density=mean_density_within(scored),
        inter_density=mean_density_between(scored),
        mean_member=mean_member,
        best_member=best_member,
        **known,
    )

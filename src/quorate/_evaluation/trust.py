"""How far a labelling can be believed: held-out agreement, the comparison with chance, and reproducibility together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from quorate._consensus.procedure import Drawn, Procedure, draw_objects, procedure_of, repeat
from quorate._data.labelling import Labelling
from quorate._evaluation.agreement import Agreement, held_out_agreement, reproducibility
from quorate._evaluation.chance import Chance, chance_agreement
from quorate._types import Consensus, Ensemble
from quorate.solvers.contingency import ari, contingency


class Trust(NamedTuple):
    """The fields of `Scores` of the same names; None for what was not asked for or cannot be measured."""

    agreement: float | None = None
    agreement_mean_member: float | None = None
    agreement_best_member: float | None = None
    expected: float | None = None
    z: float | None = None
    p_value: float | None = None
    adjusted: float | None = None
    reproducibility: float | None = None
    n_permutations: int | None = None
    from_measurements: bool = False
    valley: float | None = None
    expected_valley: float | None = None
    reference_z: float | None = None
    reference_p_value: float | None = None
    n_draws: int | None = None


def trust_in(
    result: Any,
    labelling: Labelling,
    ensemble: Ensemble,
    n_permutations: int | None,
    *,
    seconds: float | None = None,
    draw: Callable[[int], Drawn] | None = None,
) -> Trust:
    """Measure how far a labelling can be believed, by repeating its procedure on at most 2,000 of the objects.

    Parameters
    ----------
    result : Consensus or anything else
        What was given as the labelling. The procedure is known only if it is a Consensus of a method of the register.
    labelling : Labelling
        The same, coded.
    ensemble : Ensemble
    n_permutations : int or None
        As for `chance_agreement`; None leaves out the comparison with chance.
    seconds : float, optional
        Leave it out, too, if it would take longer than this.
    draw : callable, optional
        Draws the objects for a seed; by default `draw_objects` does. Needed if rows are not in the order of objects.
    """
    known = reference_facts(result.info.get("reference_test") if isinstance(result, Consensus) else None)
    if ensemble.n_members < 2:
        return Trust(**known)
    from_measurements = ensemble.info.get("k") is not None
    procedure = procedure_of(result, labelling.n_clusters)
    drawn = draw_objects(ensemble, labelling, procedure.seed) if draw is None else draw(procedure.seed)
    held_out = held_out_agreement(drawn, procedure) if procedure.is_known else Agreement(None, None, None)
    trust = Trust(
        agreement=held_out.consensus,
        agreement_mean_member=held_out.mean_member,
        agreement_best_member=held_out.best_member,
        from_measurements=from_measurements,
        **known,
    )
    if n_permutations is None:
        return trust
    found = chance_agreement(drawn, procedure, n_permutations, seconds=seconds)
    return trust if found is None else _with_chance(trust, found, drawn, procedure)


def reference_facts(found: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the fields about a comparison with measurements without clusters; nothing if it was not made."""
    names = {"valley": "valley", "expected_valley": "expected", "reference_z": "z", "reference_p_value": "p_value"}
    return {name: found[key] for name, key in {**names, "n_draws": "n_draws"}.items()} if found else {}


def _with_chance(trust: Trust, found: Chance, drawn: Drawn, procedure: Procedure) -> Trust:
    repeated = reproducibility(drawn, procedure)
    if repeated is not None and not procedure.is_known:
        repeated = min(repeated, _likeness(drawn, procedure))
    return trust._replace(
        expected=found.expected,
        z=found.z,
        p_value=found.p_value,
        adjusted=found.adjusted,
        reproducibility=repeated,
        n_permutations=found.n_permutations,
    )


def _likeness(drawn: Drawn, procedure: Procedure) -> float:
    """Return the ARI of a labelling of unknown origin with a consensus of the same number of clusters."""
    other = repeat(procedure, drawn.ensemble, 0)
    n_clusters = int(drawn.codes.max()) + 1, int(other.max()) + 1
    return ari(contingency(drawn.codes, other.astype(np.int32), *n_clusters, drawn.ensemble.counts))

"""`evaluate`, and what it repeats a consensus for: agreement with members left out, chance, reproducibility."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from quorate import _check
from quorate._data.labelling import code_beside
from quorate._data.rows import compress
from quorate._data.soft_members import harden, members_beside
from quorate._evaluation.scores import (
    ADVICE,
    mean_density_between,
    mean_density_within,
    score_labelling,
    scores_of_truth,
)
from quorate._solve.procedure import Drawn
from quorate._summaries import StabilityTable
from quorate._types import Ensemble, Info, Scores
from quorate.solvers.members import member_scores

if TYPE_CHECKING:
    from quorate._trust.reference import Reference


import logging
import math
import time
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._data.labelling import Labelling
from quorate._data.rows import as_objects, permuted, select_members
from quorate._solve.procedure import (
    MOST_EIGENVECTORS,
    Procedure,
    draw_objects,
    jaccard_with,
    mean_jaccard,
    procedure_of,
    repeat,
    two_halves,
    until_clear,
)
from quorate._solve.run_method import AUTO, collapsed
from quorate._types import Consensus, FloatArray
from quorate.solvers.camps import camps_within
from quorate.solvers.contingency import anmi, ari, contingency, member_contingencies, nmi
from quorate.solvers.label_rows import reweighted
from quorate.solvers.members import LITTLE, mean_of_others, member_pairs, some_members

logger = logging.getLogger("quorate")
AFFORDABLE_SECONDS = 5.0
"""Seconds above which the shell and a report leave the comparison with chance out if nobody asked for it."""


def checked_permutations(null: Any) -> int | None:
    """Return the number of permutations asked for, 0 for "as many as are needed", or None for no test."""
    if null is None or null is False:
        return None
    if null is True or (isinstance(null, str) and null == AUTO):
        return 0
    return _check.integer(null, "null", low=1, high=100_000)


def checked_draws(reference: Any) -> int | None:
    """Return the number of draws asked for, 0 for "as many as are needed", or None for no comparison."""
    if reference is None or reference is False:
        return None
    if reference is True or (isinstance(reference, str) and reference == "auto"):
        return 0
    return _check.integer(reference, "reference", low=2, high=10_000)


MOST_FOLDS = 5
"""Up to this many members each is left out in turn; above, members are left out in this many groups."""

N_HALVINGS = 3
"""How often the members are divided into two halves at random."""


class Agreement(NamedTuple):
    """The mean NMI with members that were left out, for three ways to get a labelling from the other members.

    `consensus` is the procedure itself, `mean_member` takes a member at random, and `best_member` takes the member that
    agrees best with the others that were not left out. None where nothing could be compared.
    """

    consensus: float | None
    mean_member: float | None
    best_member: float | None


def held_out_agreement(drawn: Drawn, procedure: Procedure) -> Agreement:
    """Leave members out group by group, repeat the procedure on the rest, and compare with those left out.

    Consensus and members are judged alike: by members that had no part in making or in choosing them. Of very many
    members only some are compared with one another, see `some_members`. Nothing is measured if there is a single
    member, or if the method refuses the members that are left.
    """
    if drawn.ensemble.n_members < 2:
        return Agreement(None, None, None)
    compared = some_members(drawn.ensemble)
    values, shared = member_pairs(drawn.ensemble, "geometric", compared)
    weights = drawn.ensemble.weights[compared]
    judged: list[list[tuple[float, float]]] = [[], [], []]
    for number, judges in enumerate(folds(drawn.ensemble)):
        others = np.setdiff1d(np.arange(drawn.ensemble.n_members), judges)
        if procedure.is_known:
            judged[0] += _judge_consensus(drawn.ensemble, procedure, judges, others, number)
        is_judge = np.isin(compared, judges)
        inside, outside = np.flatnonzero(is_judge), np.flatnonzero(~is_judge)
        block = np.ix_(outside, inside)
        pairs = shared[block] * np.outer(weights[outside], weights[inside])
        judged[1] += zip(np.nan_to_num(values[block]).ravel(), pairs.ravel(), strict=True)
        best = _best_of(values, shared * weights, outside)
        judged[2] += zip(np.nan_to_num(values[best, inside]), shared[best, inside] * weights[inside], strict=True)
    return Agreement(*map(_mean, judged))


Halvings = list[tuple[NDArray[np.int32], NDArray[np.int32]]]


def halved_members(drawn: Drawn, procedure: Procedure) -> Halvings | None:
    """Repeat the procedure on both halves of the members, for several random halvings, and return their labels.

    None if there is a single member, or if the method refuses the halves.
    """
    n_members = drawn.ensemble.n_members
    if n_members < 2:
        return None
    rng = np.random.default_rng((procedure.seed, n_members))
    order = np.concatenate(folds(drawn.ensemble))
    found = []
    n_halvings = N_HALVINGS if n_members > 2 else 1
    for number in range(n_halvings):
        halves = two_halves(order[rng.permutation(n_members)])
        try:
            one, other = (
                repeat(procedure, select_members(drawn.ensemble, half), 2 * number + place)
                for place, half in enumerate(halves)
            )
        except (ValueError, MemoryError):
            return None
        found.append((one, other))
        logger.info("comparing halves of the members", extra={"share": (number + 1) / n_halvings})
    return found


def reproducibility(drawn: Drawn, halvings: Halvings | None) -> float | None:
    """Return how alike the consensuses of two halves of the members are: the mean ARI over random halvings.

    It is about 0 if the members share nothing, and 1 if either half leads to the same clusters. None if there is
    nothing to compare.
    """
    tables = [
        contingency(one, other, int(one.max()) + 1, int(other.max()) + 1, drawn.ensemble.counts)
        for one, other in halvings or []
    ]
    found = [ari(table) for table in tables if len(table.counts)]
    return math.fsum(found) / len(found) if found else None


def stability_of(drawn: Drawn, procedure: Procedure, halvings: Halvings | None) -> FloatArray | None:
    """Return the stability of each cluster, by halves of the members, for a labelling that has none."""
    if procedure.n_clusters < 2 or not halvings:
        return None
    found = [
        jaccard_with(drawn.codes, labels, drawn.ensemble.counts, procedure.n_clusters)
        for pair in halvings
        for labels in pair
    ]
    return mean_jaccard(found)


def folds(ensemble: Ensemble) -> list[NDArray[np.intp]]:
    """Return the groups of members that are left out together; they do not depend on the order of the members."""
    columns = np.ascontiguousarray(ensemble.labels.T)
    order = sorted(range(ensemble.n_members), key=lambda member: columns[member].tobytes())
    n_folds = min(ensemble.n_members, MOST_FOLDS)
    return [np.sort(np.array(order[fold::n_folds], dtype=np.intp)) for fold in range(n_folds)]


def _judge_consensus(
    ensemble: Ensemble, procedure: Procedure, judges: NDArray[np.intp], others: NDArray[np.intp], number: int
) -> list[tuple[float, float]]:
    """Return the NMI of each judge with the consensus of the others, and its importance; nothing if that is refused."""
    try:
        labels = repeat(procedure, select_members(ensemble, others), number)
    except (ValueError, MemoryError):
        # for example a method that takes one of the members as it is, and none of the others has so many clusters
        return []
    tables = member_contingencies(select_members(ensemble, judges), labels, int(labels.max()) + 1)
    return [
        (nmi(table, "geometric"), table.total * float(weight))
        for table, weight in zip(tables, ensemble.weights[judges], strict=True)
        if table.total
    ]


def _best_of(values: FloatArray, importance: FloatArray, others: NDArray[np.intp]) -> int:
    """Return the member that agrees best with the others of its group."""
    block = np.ix_(others, others)
    scores = mean_of_others(values[block], importance[block])
    return int(others[0] if np.isnan(scores).all() else others[np.nanargmax(scores)])


def _mean(judged: list[tuple[float, float]]) -> float | None:
    total = math.fsum(weight for _, weight in judged)
    return math.fsum(value * weight for value, weight in judged) / total if total else None


FEWEST, MOST = 19, 99
"""Permutations before a clear answer may end the test, and permutations after which it ends in any case."""
MUCH_WORSE, LEAST_LOSS = 0.15, 0.03
"""A labelling is much worse than a repetition if it loses this share of the ANMI, and more than this of it."""
FIRM, FIRMER, OTHER_NUMBER = 0.8, 0.2, 1.5
"""Halves of the members that have this ARI agree on the clusters. Another number is told of if they agree on it like
that, and by so much more; and it is tried if it is larger or smaller by more than this factor."""
CLEAR_Z = 6.0
"""Standard deviations above the permuted values at which the answer is clear."""
ENOUGH_ABOVE = 5
"""Permuted values at least as high as the observed one after which the answer is clear: not beyond chance."""


class Chance(NamedTuple):
    """What permuted labels say about the agreement that was observed.

    `observed` and `expected` are the ANMI of the repeated consensus with the members and with permuted members, `z` is
    their difference in standard deviations, `p_value` the rank of the observed value among the permuted ones, and
    `adjusted` is 0 for what is expected by chance and 1 for unanimous members.
    """

    observed: float
    expected: float
    z: float
    p_value: float
    adjusted: float
    n_permutations: int


def chance_agreement(
    drawn: Drawn, procedure: Procedure, n_permutations: int, *, seconds: float | None = None
) -> Chance | None:
    """Compare the agreement of a consensus with that of the same procedure on permuted labels.

    Parameters
    ----------
    drawn : Drawn
        The objects on which the procedure is repeated.
    procedure : Procedure
    n_permutations : int
        How often to permute; 0 for 19 to 99 times, until the answer is clear.
    seconds : float, optional
        Give up and return None if the shortest test would take longer than this.

    Returns
    -------
    Chance or None
        None if there is only one member, or if the test would take too long or too much memory.
    """
    if drawn.ensemble.n_members < 2:
        return None
    start = time.perf_counter()
    try:
        found = anmi(drawn.ensemble, repeat(procedure, drawn.ensemble, 0), procedure.n_clusters)
    except MemoryError:
        return None
    if seconds is not None and time.perf_counter() - start > seconds / FEWEST:
        start = time.perf_counter()  # the first run may have loaded compiled code
        repeat(procedure, drawn.ensemble, 0)
        if time.perf_counter() - start > seconds / FEWEST:
            return None
    objects = as_objects(drawn.ensemble)
    values = until_clear(
        partial(_permuted_anmi, objects, procedure),
        partial(_is_clear, found),
        limits=(FEWEST, MOST),
        wanted=n_permutations,
        step="permuting labels",
    )
    own = found if procedure.is_known else min(found, anmi(drawn.ensemble, drawn.codes, int(drawn.codes.max()) + 1))
    return _compared(found, own, np.array(values))


def _permuted_anmi(objects: Ensemble, procedure: Procedure, number: int) -> float:
    rows = permuted(objects, np.random.default_rng((procedure.seed, number)))
    return anmi(rows, repeat(procedure, rows, number), procedure.n_clusters)


def _is_clear(observed: float, values: list[float]) -> bool:
    above = sum(value >= observed for value in values)
    return above >= ENOUGH_ABOVE or (above == 0 and _z(observed, np.array(values)) >= CLEAR_Z)


def _z(observed: float, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Return how many standard deviations the observed value lies above the mean; a single value has none."""
    difference = observed - float(values.mean())
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    if spread < 1e-12:
        return 0.0 if difference <= 1e-12 else math.inf
    return difference / spread


def _compared(found: float, own: float, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Chance:
    expected = float(values.mean())
    # the tolerance lets values tie that are equal on paper
    above = int((values >= found - 1e-12).sum())
    return Chance(
        observed=found,
        expected=expected,
        z=_z(found, values),
        p_value=(1 + above) / (1 + len(values)),
        adjusted=(own - expected) / (1 - expected) if expected < 1 - 1e-12 else 0.0,
        n_permutations=len(values),
    )


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
    stability: FloatArray | None = None
    more_clusters: float | None = None
    problem: str | None = None
    from_measurements: bool = False
    valley: float | None = None
    expected_valley: float | None = None
    reference_z: float | None = None
    reference_p_value: float | None = None
    n_draws: int | None = None
    camps: tuple[tuple[str, ...], ...] | None = None


MOST_IN_CAMPS = 100
"""Members of which camps are looked for; time grows with the square of their number."""


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
    drawn = drawn._replace(ensemble=_weighed(drawn.ensemble, result))
    held_out = held_out_agreement(drawn, procedure) if procedure.is_known else Agreement(None, None, None)
    stability = result.stability if isinstance(result, Consensus) else None
    halvings = halved_members(drawn, procedure) if stability is None and labelling.n_clusters > 1 else None
    # measurements may rightly prefer what few members say, so agreement with all of them shows no fault then
    is_judged = isinstance(result, Consensus) and "judge" in result.info
    sizes = np.bincount(labelling.codes[labelling.codes >= 0], ensemble.counts[labelling.codes >= 0])
    trust = Trust(
        problem=collapsed(sizes, ensemble) or (None if is_judged else worse_than_repeated(drawn, procedure)),
        agreement=held_out.consensus,
        agreement_mean_member=held_out.mean_member,
        agreement_best_member=held_out.best_member,
        from_measurements=from_measurements,
        more_clusters=float(ensemble.n_clusters @ ensemble.weights / ensemble.weights.sum()) / labelling.n_clusters,
        stability=stability_of(drawn, procedure, halvings) if stability is None else stability,
        camps=_camps_of(drawn.ensemble),
        **known,
    )
    if n_permutations is None:
        return trust
    found = chance_agreement(drawn, procedure, n_permutations, seconds=seconds)
    return trust if found is None else _with_chance(trust, found, drawn, procedure, halvings)


def _weighed(ensemble: Ensemble, result: Any) -> Ensemble:
    """Return the ensemble with the weights that members had in a result which learnt them, and at least `LITTLE`."""
    learnt = result.info.get("weights") if isinstance(result, Consensus) else None
    if not isinstance(learnt, Mapping) or set(learnt) != set(ensemble.member_names):
        return ensemble
    try:
        weights = np.array([float(learnt[name]["weight"]) for name in ensemble.member_names])
    except (TypeError, ValueError, KeyError):
        # facts that were read from a file may be anything
        return ensemble
    return reweighted(ensemble, np.maximum(weights, LITTLE)) if np.isfinite(weights).all() else ensemble


def _camps_of(ensemble: Ensemble) -> tuple[tuple[str, ...], ...] | None:
    """Return the names of the members of each camp; None if there are none, or if members are too many."""
    found = camps_within(ensemble) if ensemble.n_members <= MOST_IN_CAMPS else []
    return tuple(tuple(ensemble.member_names[member] for member in camp) for camp in found) if len(found) > 1 else None


def worse_than_repeated(drawn: Drawn, procedure: Procedure) -> str | None:
    """Say by how much less a labelling agrees with the members than a repetition of its method does; None if it does
    not.

    What was repeated are the method and its options on rows that are not coarsened, so that this also says what
    coarsening, or a change by hand, has lost.
    """
    try:
        other = repeat(procedure, drawn.ensemble, 0)
    except (ValueError, MemoryError):
        return None
    own = anmi(drawn.ensemble, drawn.codes, int(drawn.codes.max()) + 1)
    repeated = anmi(drawn.ensemble, other, int(other.max()) + 1)
    if repeated - own <= max(MUCH_WORSE * repeated, LEAST_LOSS):
        return None
    what = "their method when it is run again" if procedure.is_known else "a consensus with as many clusters"
    return f"These labels agree with the members much less than {what}: mean NMI {own:.2f} instead of {repeated:.2f}."


def firmer_number(drawn: Drawn, procedure: Procedure, repeated: float | None) -> str | None:
    """Say if the members follow as many clusters as they have themselves much more firmly than those of a labelling.

    The number that most members have is tried if it differs much from that of the labelling, and if the halves of the
    members do not agree on the latter anyway. None if there is nothing to say.
    """
    members = drawn.ensemble
    usual = round(float(np.median(members.n_clusters)))
    few, many = sorted((max(usual, 1), procedure.n_clusters))
    if repeated is None or repeated >= FIRM or usual < 2 or many <= OTHER_NUMBER * few or usual > MOST_EIGENVECTORS:
        return None
    other = procedure._replace(n_clusters=min(usual, members.n_rows))
    firm = reproducibility(drawn, halved_members(drawn, other))
    if firm is None or firm < max(FIRM, repeated + FIRMER):
        return None
    return (
        f"The members agree on {usual} clusters rather than {procedure.n_clusters}: with {usual}, as many as most "
        f"members have, two halves of them lead to much the same clusters (ARI {firm:.2f}); with "
        f"{procedure.n_clusters} they do not (ARI {repeated:.2f})."
    )


def reference_facts(found: Info | None) -> dict[str, Any]:
    """Return the fields about a comparison with measurements without clusters; nothing if it was not made."""
    names = {"valley": "valley", "expected_valley": "expected", "reference_z": "z", "reference_p_value": "p_value"}
    return {name: found[key] for name, key in {**names, "n_draws": "n_draws"}.items()} if found else {}


def _with_chance(trust: Trust, found: Chance, drawn: Drawn, procedure: Procedure, halvings: Halvings | None) -> Trust:
    repeated = reproducibility(drawn, halvings or halved_members(drawn, procedure))
    other_number = trust.problem or firmer_number(drawn, procedure, repeated)
    if repeated is not None and not procedure.is_known:
        repeated = min(repeated, _likeness(drawn, procedure))
    return trust._replace(
        problem=other_number,
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


def evaluate_within(
    labels: Any,
    ensemble: Any,
    seconds: float | None,
    *,
    truth: Any = None,
    null: Any = None,
    draw: Callable[[int], Drawn] | None = None,
    reference: Info | None = None,
) -> Scores:
    """Do what `evaluate` does, but leave the comparison with chance out if it would take more than so many seconds.

    `draw` draws objects for a seed, as for `trust_in`, and `reference` is the comparison with measurements without
    clusters, by default the one that the labelling has in its info.
    """
    n_permutations = checked_permutations(null)
    given = members_beside(labels, ensemble)
    labelling = code_beside(labels, "labels", given, advice=ADVICE)
    scored = score_labelling(labelling, given)
    members = given if isinstance(given, Ensemble) else harden(given)
    mean_member, best_member = member_scores(compress(members)[0])
    known: dict[str, Any] = {} if truth is None else dict(scores_of_truth(labelling, truth, members))
    known |= trust_in(labels, labelling, members, n_permutations, seconds=seconds, draw=draw)._asdict()
    if known["stability"] is not None:
        known["stability"] = StabilityTable.of(labelling.categories.tolist(), scored.sizes, known["stability"])
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


def evaluate(
    labels: Any,
    ensemble: Any,
    *,
    truth: Any = None,
    null: Any = None,
    features: Any = None,
    reference: Any = "auto",
) -> Scores:
    """Score a labelling against the ensemble it was made from, and against the truth if that is given.

    Parameters
    ----------
    labels : array of labels, or Consensus
        One label per row of the ensemble. Rows without a label (-1, None, NaN) are left out.
    ensemble : Ensemble, SoftEnsemble, or anything `as_ensemble` or `as_soft_ensemble` takes
        A row with a count of c represents c objects. ANMI and densities add up the memberships of soft members; all
        that repeats the consensus takes their likeliest labels.
    truth : array of labels, optional
        The known classes of the objects.
    null : None, int, True or "auto"
        Whether to compare the agreement with chance: an int is a number of permutations, True and "auto" permute 19 to
        99 times until the answer is clear. Each permutation repeats the consensus on at most 2,000 objects.
    features : array of shape (n_objects, n_columns), optional
        The measurements that the members were made from, or others of the same objects in the same order. The clusters
        are then compared with those of measurements without clusters.
    reference : "auto", int or None
        With `features`: how often measurements without clusters are drawn and clustered; "auto" draws 1 to 19 times,
        until the answer is clear.

    Returns
    -------
    Scores
        `n_objects` is the number of labelled objects and `n_clusters` the number of their clusters. `anmi` and
        `density` are those of the functions of the same names; `inter_density` is the mean co-association of two
        objects in different clusters, or 0 if there is only one cluster. `best_member` is the highest ANMI (geometric)
        of a member with the others, and `mean_member` the mean NMI over pairs of members, with the same weights; both
        are None if there is no pair [1]_. With `truth` there are also `nmi`, `nmi_arithmetic`, `ari`, `accuracy`,
        `ami`, `jaccard`, `fowlkes_mallows`, `element_similarity` and `variation_of_information`.

        For a Consensus, `agreement` is its mean NMI with members that it was not made from: members are left out in
        turn, one by one or in five groups, and the same method is run on the others. `agreement_mean_member` and
        `agreement_best_member` judge members in the same way. These three are None for other labellings.

        `stability` is a table of the clusters: how alike each of them and the nearest cluster are if the procedure is
        repeated on halves of the members (a Consensus: of the objects, too), as a mean Jaccard similarity, and in
        words. From .85 on a cluster is highly stable, from .75 on stable, from .6 on a pattern that is uncertain;
        below, it dissolves. For other labellings than a Consensus the default method stands for the procedure.

        `camps` holds the names of the members of each camp, if up to 100 members fall into several (see
        `quorate.camps`); the verdict names them, too.

        With `null`, `expected` is the ANMI that the same procedure reaches on permuted labels, `p_value` and `z`
        compare the observed one with it, `adjusted` is 0 by chance and 1 for unanimous members, and `reproducibility`
        is the mean ARI of the consensuses of two halves of the members. `verdict` says in words what follows.

        With `features`, `valley` is the mean depth of the valleys around the clusters, in standard errors;
        `expected_valley` is that of measurements without clusters, and `reference_z` and `reference_p_value` compare
        the two, or the links between nearest neighbours that leave a cluster, or how sparse the borders of clusters
        are, whichever is clearest.

    Notes
    -----
    `anmi` compares a consensus with the members that it was fitted to, and `best_member` compares a member with others.
    Do not compare the two: on random labels the first one is higher. Method and number of clusters are repeated, and
    `refine`; other options of the method are not known and have their defaults. docs/trust.md says more.

    Pairs of members are compared among at most 500 members, because their number grows with the square. Of more members
    500 are taken, at even distances in an order that follows from their labels alone; `mean_member`, `best_member`,
    `agreement_mean_member` and `agreement_best_member` are those of these members.

    References
    ----------
    .. [1] G. Candel, "Linear time Evidence Accumulation Clustering with KMeans", 2023, arXiv:2311.09272, 5.4.

    Examples
    --------
    >>> evaluate([0, 0, 1, 1], [[0, 0, 1, 1], [0, 0, 1, 2], [0, 1, 1, 1]])
    n objects                   4
    n clusters                  2
    anmi                 0.720696
    anmi arithmetic      0.714570
    density              0.666667
    inter density        0.166667
    mean member          0.481421
    best member          0.581044
    """
    draws, found = checked_draws(reference), None
    if features is not None and draws is not None:
        members = members_beside(labels, ensemble)
        members = members if isinstance(members, Ensemble) else harden(members)
        found = beside_measurements(labels, members, features, draws)
    told = None if found is None else found._asdict()
    return evaluate_within(labels, ensemble, None, truth=truth, null=null, reference=told)


def beside_measurements(labels: Any, members: Ensemble, measurements: Any, draws: int) -> Reference | None:
    """Compare clusters with those of measurements without clusters; `draws` as `checked_draws` returns them."""
    # making members needs more of the library than comparing them
    from quorate._trust.reference import reference_of
    from quorate.generation.features import as_features

    features = as_features(measurements)
    if features.n_objects != members.n_rows:
        raise ValueError(
            f"features must have one row per row of the ensemble, got {_check.counted(features.n_objects, 'row')} for "
            f"{members.n_rows:,}; pass the ensemble as it was before compress."
        )
    labelling = code_beside(labels, "labels", members, advice=ADVICE)
    return reference_of(labels, labelling.codes, members, features, draws)

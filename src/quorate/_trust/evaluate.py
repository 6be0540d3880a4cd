"""evaluate: the scores of a labelling, and how they compare with chance and with measurements without clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from quorate import _check
from quorate._data.labelling import code_beside
from quorate._data.rows import compress
from quorate._data.soft_members import harden, soft_or_labels
from quorate._evaluation.scores import (
    ADVICE,
    mean_density_between,
    mean_density_within,
    score_labelling,
    scores_of_truth,
)
from quorate._solve.procedure import Drawn
from quorate._summaries import StabilityTable
from quorate._trust.agreement import checked_draws, checked_permutations, reference_facts, trust_in
from quorate._types import Ensemble, Scores
from quorate.solvers.members import member_scores

if TYPE_CHECKING:
    from quorate._trust.reference import Reference


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
    given = soft_or_labels(ensemble)
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
        With `features`: how often measurements without clusters are drawn and clustered; "auto" draws 5 to 19 times,
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
        members = soft_or_labels(ensemble)
        members = members if isinstance(members, Ensemble) else harden(members)
        found = _compared(labels, members, features, draws)
    told = None if found is None else found._asdict()
    return evaluate_within(labels, ensemble, None, truth=truth, null=null, reference=told)


def _compared(labels: Any, members: Ensemble, measurements: Any, draws: int) -> Reference | None:
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

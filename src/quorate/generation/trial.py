"""base="auto": choose the kind of members and the consensus function by a trial on some of the objects.

The kind and the method are chosen whose consensus the judge of labellings (`generation.judge`) prefers. If only a part
of the objects was on trial, the method is chosen once the members of all objects are there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._data.rows import compress
from quorate._solve.run_method import AUTO, pick
from quorate._types import MAX_BYTES, Ensemble
from quorate.generation.features import WHOLE, Features
from quorate.generation.judge import CUT, Scene, mark, marks, scene_of, terms
from quorate.generation.k_rules import first_k, k_within
from quorate.generation.landmarks import DIRECTIONS, principal_directions, projected
from quorate.generation.members import Member, Plan
from quorate.generation.plans import Request, make_plans
from quorate.generation.runner import FinishedMembers, Options, as_coded, run_plans
from quorate.ops.threads import one_blas_thread
from quorate.solvers.contingency import anmi

KINDS = ("spectral", "kmeans", "gaussian")
"""The kinds that are compared; the first is taken if they are equal or if they cannot be compared."""

WHOLE_TRIAL = 10_000
"""The largest number of objects that are all clustered on trial, if they have at most 2 * DIRECTIONS columns."""
TRIAL_OBJECTS = 3_000
"""The number of objects that are drawn for the trial otherwise, unless there are fewer."""
TRIAL_MEMBERS = 20
METHODS_TRIED = ("lwgp", "transfer", "lwea")
"""The consensus functions that are compared; the first is taken if they are equal, and it is the one that "auto" takes.
If only a part of the objects is on trial, the first alone is used: the method that is best for a part of the objects is
not always right for all of them."""
METHODS_OF_ALL = METHODS_TRIED[:2]
"""The consensus functions of all objects that are compared afterwards if only a part of the objects was on trial."""
MOST_COMPARED = 100_000
"""The largest number of objects for which this is done, so that it costs little; more were not measured."""
AGREEMENT = 20.0
"""The mean NMI of a consensus with its own members counts so much beside its mark, where objects extend in many
dimensions. Members of the user say nothing by agreeing, but those of the trial are alike for all kinds."""

_TRIAL = 2**32 - 3
"""The key among the children of a seed under which the trial draws."""


class TrialOutcome(NamedTuple):
    """What a trial decided: the request with the chosen base, the reason, and the method if there was a choice."""

    request: Request
    reason: str
    method: str | None = None


class Judged(NamedTuple):
    """A consensus of one kind by one method: its mark, with what the agreement of its members adds, and the share of a
    cluster's links that leave it on average."""

    base: str
    method: str
    mark: float
    cut: float


class Trial:
    """A trial of all kinds of members, which decides from the features alone which kind suits them.

    First all objects, or a sample of them, are clustered by TRIAL_MEMBERS members of each kind. Then the consensus of
    each kind is computed, by several methods if the trial is of all objects. The kind and the method are chosen whose
    consensus has the highest mark; of equals the first. This needs the number of clusters of the consensus, which is
    the lowest number that the rule for k is given. The number of members asked for and the shares of objects and
    columns that they get are not used, so that the choice does not depend on them.
    """

    def __init__(self, features: Features, request: Request, entropy: int, options: Options) -> None:
        self._features, self._request, self._entropy = features, request, entropy
        self._options = options._replace(checkpoint=None)
        self._made: dict[str, FinishedMembers] = {}
        self._base = ""
        self._drawn: tuple[NDArray[np.intp], int] | None = None
        self._scene: Scene | None = None

    def decided(self) -> TrialOutcome:
        """Try all kinds and return what suits the features."""
        n_clusters = first_k(self._request.k)
        if n_clusters is None:
            reason = f"{KINDS[0]}: no kinds were tried, because the number of clusters wanted in the end is not known"
            return TrialOutcome(self._request._replace(base=KINDS[0]), reason)
        sample = self._sample(n_clusters)
        if not 1 < n_clusters <= sample.n_objects // 2:
            return TrialOutcome(
                self._request._replace(base="kmeans"), "kmeans: too few objects to try kinds of members"
            )
        found = self._judged(sample, n_clusters)
        best = max(found, key=lambda one: one.mark)
        other = max((one for one in found if one.base != best.base), key=lambda one: one.mark)
        self._base = best.base if sample is self._features else ""
        seen = "all objects" if sample is self._features else f"{sample.n_objects:,} of the objects"
        higher = best.mark - other.mark
        reason = (
            f"{best.base}: the judge of labellings rates their consensus by {best.method} "
            f"{'as high as' if higher < 0.005 else f'{higher:.2f} higher than'} that of {other.base} members by "
            f"{other.method}; they cut {best.cut:.2%} and {other.cut:.2%} of the links between nearest neighbours "
            f"({seen}, {n_clusters:,} clusters)"
        )
        return TrialOutcome(self._request._replace(base=best.base), reason, best.method if self._base else None)

    def kept(self, plans: list[Plan]) -> dict[int, Member]:
        """Return the members of the trial that equal those of these plans: of the chosen kind, and of all objects."""
        if not self._base:
            return {}
        made = self._made[self._base]
        return {
            plan.number: Member(plan.number, made.labels[:, plan.number], facts, made.models[plan.number])
            for plan, facts in zip(plans, made.facts, strict=False)
            if plan.packed is None and plan.view.is_whole and plan.k == facts["k"]
        }

    def method_of_all(self, ensemble: Ensemble) -> str | None:
        """Return the method that suits the members of all objects, if only a part of the objects was on trial.

        The judge compares the consensuses of all objects at those that were on trial. None means that there is no
        choice: nothing was drawn, there are too many objects, or "auto" would take another method anyway.
        """
        if self._scene is None or self._drawn is None or ensemble.n_objects > MOST_COMPARED:
            return None
        (drawn, n_clusters), scene = self._drawn, self._scene
        rows, inverse = compress(ensemble)
        if rows.n_rows < n_clusters or pick(ensemble, n_clusters, MAX_BYTES).method != METHODS_TRIED[0]:
            return None
        how = self._entropy, n_clusters
        found = [_solved(rows, name, *how)[inverse[drawn]] for name in METHODS_OF_ALL]
        # not every cluster may be among the objects on trial
        rated = marks([np.unique(labels, return_inverse=True)[1] for labels in found], scene)
        return METHODS_OF_ALL[int(np.argmax(rated))]

    def _sample(self, n_clusters: int) -> Features:
        """Return all objects, or TRIAL_OBJECTS of them, shifted and scaled as all objects are.

        If objects are drawn and have many columns, their principal directions are enough to compare kinds of members.
        """
        features = self._features
        few = WHOLE_TRIAL if features.n_columns <= 2 * DIRECTIONS and not features.is_sparse else TRIAL_OBJECTS
        if features.n_objects <= few:
            return features
        rng = np.random.default_rng(np.random.SeedSequence(self._entropy, spawn_key=(_TRIAL,)))
        drawn = np.sort(rng.choice(features.n_objects, TRIAL_OBJECTS, replace=False, shuffle=False))
        self._drawn = drawn, n_clusters
        sample = features.taken(drawn)
        if features.is_sparse or features.n_columns <= 2 * DIRECTIONS:
            return sample
        rows = sample.prepared(slice(None), WHOLE)
        with one_blas_thread():
            directions = principal_directions(rows, rng)
        return Features(projected(rows, directions), np.zeros(DIRECTIONS), 1.0)

    def _judged(self, sample: Features, n_clusters: int) -> list[Judged]:
        """Judge the consensus of each kind by each method that is tried."""
        scene = scene_of(sample, ours=True)
        self._scene = scene
        tried = METHODS_TRIED if sample is self._features else METHODS_TRIED[:1]
        ensembles = {base: self._ensemble(sample, base) for base in KINDS}
        return [
            _judged(ensembles[base], n_clusters, scene, (self._entropy, base, method))
            for base in KINDS
            for method in tried
        ]

    def _ensemble(self, sample: Features, base: str) -> Ensemble:
        request = Request(TRIAL_MEMBERS, k_within(self._request.k, sample.n_objects), base, 1.0, 1.0)
        plans = make_plans(request, sample, self._entropy).members
        finished = run_plans(
            sample, plans, self._options._replace(told=self._options.told and f"trying {base} members")
        )
        self._made[base] = finished
        # labels are coded in place, so that a copy is coded and those of the members are kept
        return as_coded(finished._replace(labels=finished.labels.copy()), sample, {})


def method_towards(method: str, ensemble: Ensemble, n_clusters: int | None) -> str:
    """Return `method`, but the one that suited the trial of base="auto" best instead of "auto".

    Where "auto" would take another method than the first of those that were tried, because of the number of objects or
    missing labels, it is left as it is.
    """
    suited = ensemble.info.get("method")
    if method != AUTO or suited is None or pick(ensemble, n_clusters, MAX_BYTES).method != METHODS_TRIED[0]:
        return method
    return str(suited)


def _judged(ensemble: Ensemble, n_clusters: int, scene: Scene, how: tuple[int, str, str]) -> Judged:
    """Judge the ensemble's consensus; `how` is the entropy of the draws, the kind of the members and the method."""
    entropy, base, method = how
    rows, inverse = compress(ensemble)
    if rows.n_rows < n_clusters:
        return Judged(base, method, -float("inf"), float("inf"))
    labels = _solved(rows, method, entropy, n_clusters)
    found = terms(labels[inverse], scene)
    agreed = AGREEMENT * scene.many * anmi(rows, labels, n_clusters)
    return Judged(base, method, mark(found) + agreed, float(found[CUT]))


def _solved(rows: Ensemble, method: str, entropy: int, n_clusters: int) -> NDArray[Any]:
    """Return the consensus of distinct rows by this method, with the draws of the trial."""
    from quorate.methods import METHODS

    rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(_TRIAL, n_clusters)))
    return METHODS[method].solve(rows, n_clusters, rng=rng).labels

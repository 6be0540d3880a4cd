"""base="auto": choose k-means or spectral members by a trial on some of the objects.

The kind whose consensus has the lower normalised cut in the graph of nearest neighbours is chosen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._data.compression import compress
from quorate._types import Ensemble
from quorate.generation.coded import as_coded
from quorate.generation.features import WHOLE, Features
from quorate.generation.k_rules import first_k, k_within
from quorate.generation.landmarks import Landmarks, SparseLandmarks, unit_rows
from quorate.generation.members import Member, Plan
from quorate.generation.plans import Request, make_plans
from quorate.generation.runner import Finished, Options, run_plans

KINDS = ("spectral", "kmeans")
"""The kinds that are compared; the first is taken if they are equal or if they cannot be compared."""

TRIAL_OBJECTS = 3_000
"""The largest number of objects that are clustered on trial; of more objects, so many are drawn at random."""
TRIAL_MEMBERS = 20
TRIAL_METHOD = "lwgp"
NEIGHBOURS = 10

FEW_ZEROS = 0.1
"""If the share of stored values is above this, sparse rows are taken for measurements, not text, and neighbours are
found by distance."""

_TRIAL = 2**32 - 3
"""The key among the children of a seed under which the trial draws."""


class Trial:
    """A trial of both kinds of members, which decides from the features alone which kind suits them.

    First some of the objects are clustered by TRIAL_MEMBERS members of each kind. Then the consensus of each kind is
    computed. The kind whose consensus has the lower normalised cut in the graph of nearest neighbours is chosen. This
    needs the number of clusters of the consensus, which is the lowest number that the rule for k is given. The number
    of members asked for and the shares of objects and columns that they get are not used, so that the choice does not
    depend on them.
    """

    def __init__(self, features: Features, request: Request, entropy: int, options: Options) -> None:
        self._features, self._request, self._entropy = features, request, entropy
        self._options = options._replace(progress=False, checkpoint=None)
        self._made: dict[str, Finished] = {}
        self._base = ""

    def decided(self) -> tuple[Request, str]:
        """Return the request with the chosen base, and the reason for it."""
        n_clusters = first_k(self._request.k)
        if n_clusters is None:
            reason = f"{KINDS[0]}: no number of clusters is given to try kinds with"
            return self._request._replace(base=KINDS[0]), reason
        sample = self._sample()
        if not 1 < n_clusters <= sample.n_objects // 2:
            return self._request._replace(base="kmeans"), "kmeans: too few objects to try kinds of members"
        near = _neighbours(sample)
        cuts = {base: _cut(self._ensemble(sample, base), n_clusters, near, self._entropy) for base in KINDS}
        best, other = sorted(KINDS, key=lambda base: cuts[base])
        self._base = best if sample is self._features else ""
        seen = "all objects" if sample is self._features else f"{sample.n_objects:,} of the objects"
        reason = (
            f"{best}: its consensus cuts {cuts[best]:.2%} of the links between nearest neighbours, that of {other} "
            f"members {cuts[other]:.2%} ({seen}, {n_clusters:,} clusters)"
        )
        return self._request._replace(base=best), reason

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

    def _sample(self) -> Features:
        """Return at most TRIAL_OBJECTS of the objects, shifted and scaled as all objects are."""
        features = self._features
        if features.n_objects <= TRIAL_OBJECTS:
            return features
        rng = np.random.default_rng(np.random.SeedSequence(self._entropy, spawn_key=(_TRIAL,)))
        drawn = np.sort(rng.choice(features.n_objects, TRIAL_OBJECTS, replace=False, shuffle=False))
        return features.part(drawn)

    def _ensemble(self, sample: Features, base: str) -> Ensemble:
        request = Request(TRIAL_MEMBERS, k_within(self._request.k, sample.n_objects), base, 1.0, 1.0)
        plans = make_plans(request, sample, self._entropy).members
        finished = run_plans(sample, plans, self._options)
        self._made[base] = finished
        # labels are coded in place, so that a copy is coded and those of the members are kept
        return as_coded(finished._replace(labels=finished.labels.copy()), sample, {})


def _neighbours(sample: Features) -> NDArray[np.int32]:
    """Return the nearest objects of each object, which include the object itself."""
    rows = sample.prepared(slice(None), WHOLE)
    n_near = NEIGHBOURS + 1
    if sample.is_sparse and rows.nnz > FEW_ZEROS * rows.shape[0] * rows.shape[1]:
        rows = rows.toarray()
    if isinstance(rows, np.ndarray):
        nothing = np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.int32)
        return Landmarks(rows, n_near, None, *nothing).search(rows)[0]
    return SparseLandmarks(unit_rows(rows), n_near).search(rows)[0]


def _cut(ensemble: Ensemble, n_clusters: int, near: NDArray[np.int32], entropy: int) -> float:
    """Return the normalised cut of the ensemble's consensus."""
    from quorate.methods import METHODS

    rows, inverse = compress(ensemble)
    if rows.n_rows < n_clusters:
        return float("inf")
    rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(_TRIAL, n_clusters)))
    consensus = METHODS[TRIAL_METHOD].solve(rows, n_clusters, rng=rng)
    return normalised_cut(consensus.labels[inverse], near)


def normalised_cut(labels: NDArray[Any], near: NDArray[np.int32]) -> float:
    """Return the mean over clusters of the share of a cluster's links that leave it.

    Each object is linked with the objects in its row of `near`, an array of shape (n, q).
    """
    source = np.repeat(labels, near.shape[1])
    target = labels[near.ravel()]
    leaving = source != target
    size = int(labels.max()) + 1
    volume = np.bincount(source, minlength=size) + np.bincount(target, minlength=size)
    cut = np.bincount(source[leaving], minlength=size) + np.bincount(target[leaving], minlength=size)
    return float((cut[volume > 0] / volume[volume > 0]).mean())

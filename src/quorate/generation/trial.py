"""base="auto": k-means or spectral members, by whose consensus cuts the graph of nearest neighbours more cleanly."""

from __future__ import annotations

from dataclasses import replace
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
"""The kinds that are compared; the first is taken where they are equal, and where there is nothing to compare by."""

TRIAL_OBJECTS = 3_000
"""Objects at most that are clustered on trial, drawn at random where there are more."""
TRIAL_MEMBERS = 20
TRIAL_METHOD = "lwgp"
NEIGHBOURS = 10

FEW_ZEROS = 0.1
"""Share of stored values above which sparse rows are taken for measurements, not text: neighbours by distance."""

_TRIAL = 2**32 - 3
"""Place among a seed's children of what the trial draws."""


class Trial:
    """Members of both kinds on trial: which kind suits the features, and why, from the features alone.

    Some of the objects are clustered by TRIAL_MEMBERS members of each kind, and a consensus of each kind is found. The
    kind whose consensus has the lower normalised cut in the graph of nearest neighbours is taken. This needs the number
    of clusters of the consensus, which is the lowest number that the rule of k is given. Neither the number of
    members asked for nor the shares of objects and columns that they are to see enter, so the kind does not depend on
    them.
    """

    def __init__(self, features: Features, request: Request, entropy: int, options: Options) -> None:
        self._features, self._request, self._entropy = features, request, entropy
        self._options = options._replace(progress=False, checkpoint=None)
        self._made: dict[str, Finished] = {}
        self._base = ""

    def decided(self) -> tuple[Request, str]:
        """The request with the base that was taken, and the reason."""
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
        """Members of the kind taken that are what these plans would give: the trial saw all objects, as they do."""
        if not self._base:
            return {}
        made = self._made[self._base]
        return {
            plan.number: Member(plan.number, made.labels[:, plan.number], facts, made.models[plan.number])
            for plan, facts in zip(plans, made.facts, strict=False)
            if plan.packed is None and plan.view.is_whole and plan.k == facts["k"]
        }

    def _sample(self) -> Features:
        """At most TRIAL_OBJECTS of the objects, in the units of all."""
        features = self._features
        if features.n_objects <= TRIAL_OBJECTS:
            return features
        rng = np.random.default_rng(np.random.SeedSequence(self._entropy, spawn_key=(_TRIAL,)))
        drawn = np.sort(rng.choice(features.n_objects, TRIAL_OBJECTS, replace=False, shuffle=False))
        return replace(features, data=features.data[drawn], ids=None)

    def _ensemble(self, sample: Features, base: str) -> Ensemble:
        request = Request(TRIAL_MEMBERS, k_within(self._request.k, sample.n_objects), base, 1.0, 1.0)
        plans = make_plans(request, sample, self._entropy).members
        finished = run_plans(sample, plans, self._options)
        self._made[base] = finished
        # the labels are coded in place, and those of the members are kept
        return as_coded(finished._replace(labels=finished.labels.copy()), sample, {})


def _neighbours(sample: Features) -> NDArray[np.int32]:
    """The nearest objects of each object, itself among them."""
    rows = sample.prepared(slice(None), WHOLE)
    n_near = NEIGHBOURS + 1
    if sample.is_sparse and rows.nnz > FEW_ZEROS * rows.shape[0] * rows.shape[1]:
        rows = rows.toarray()
    if isinstance(rows, np.ndarray):
        nothing = np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.int32)
        return Landmarks(rows, n_near, None, *nothing).search(rows)[0]
    return SparseLandmarks(unit_rows(rows), n_near).search(rows)[0]


def _cut(ensemble: Ensemble, n_clusters: int, near: NDArray[np.int32], entropy: int) -> float:
    """The normalised cut of the ensemble's consensus."""
    from quorate.methods import METHODS

    rows, inverse = compress(ensemble)
    if rows.n_rows < n_clusters:
        return float("inf")
    rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(_TRIAL, n_clusters)))
    found = METHODS[TRIAL_METHOD].solve(rows, n_clusters, rng=rng)
    return normalised_cut(found.labels[inverse], near)


def normalised_cut(labels: NDArray[Any], near: NDArray[np.int32]) -> float:
    """The share of a cluster's links that leave it, the mean over clusters; objects are linked with `near` (n, q)."""
    source = np.repeat(labels, near.shape[1])
    target = labels[near.ravel()]
    leaving = source != target
    size = int(labels.max()) + 1
    volume = np.bincount(source, minlength=size) + np.bincount(target, minlength=size)
    cut = np.bincount(source[leaving], minlength=size) + np.bincount(target[leaving], minlength=size)
    return float((cut[volume > 0] / volume[volume > 0]).mean())

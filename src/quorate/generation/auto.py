"""base="auto": k-means or spectral members, by whose consensus cuts the graph of nearest neighbours more cleanly."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._ensemble import compress
from quorate._types import Ensemble
from quorate.generation.features import WHOLE, Features
from quorate.generation.k_rules import first_k
from quorate.generation.landmarks import Landmarks, SparseLandmarks, unit_rows

KINDS = ("spectral", "kmeans")
"""The kinds that are compared; the first is taken where they are equal."""

TRIAL_OBJECTS = 3_000
"""Objects at most that are clustered on trial, drawn at random where there are more."""
TRIAL_MEMBERS = 20
TRIAL_METHOD = "lwgp"
NEIGHBOURS = 10
SEVERAL = (2, 4, 8, 16)
"""Numbers of clusters that are tried where the caller does not say how many the consensus will have."""

_TRIAL = 2**32 - 3
"""Place among a seed's children of what the trial draws."""


class Decision(NamedTuple):
    """The name of a base, and why it was taken."""

    base: str
    reason: str


def decide(features: Features, k: Any, entropy: int, make: Any) -> Decision:
    """The kind of members that suits these features, from the features alone.

    Some objects are clustered by members of each kind, `make(features, base)`, and a consensus of each kind is cut out
    of the graph of their nearest neighbours. The kind with the lower mean normalised cut is taken: the share of a
    cluster's links that leave it. Both the number of members asked for and the share of objects or columns that they
    see are left out of account, so that the kind does not depend on them.
    """
    rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(_TRIAL,)))
    sample = _sample(features, rng)
    wanted = first_k(k)
    numbers = [n for n in (SEVERAL if wanted is None else (wanted,)) if 1 < n <= sample.n_objects // 2]
    if not numbers:
        return Decision("kmeans", "kmeans: there are too few objects to compare kinds of members")
    near = _neighbours(sample)
    cuts = {base: _mean_cut(make(sample, base), numbers, near, entropy) for base in KINDS}
    best = min(KINDS, key=lambda base: cuts[base])
    other = next(base for base in KINDS if base != best)
    seen = "all objects" if sample is features else f"{sample.n_objects:,} of the objects"
    clusters = "clusters" if wanted is None else f"{wanted:,} clusters"
    return Decision(
        best,
        f"{best}: its consensus leaves {cuts[best]:.1%} of the links to the {NEIGHBOURS} nearest neighbours cut "
        f"between {clusters}, that of {other} members {cuts[other]:.1%} ({seen} on trial)",
    )


def _sample(features: Features, rng: np.random.Generator) -> Features:
    """At most TRIAL_OBJECTS of the objects, in the units of all."""
    if features.n_objects <= TRIAL_OBJECTS:
        return features
    drawn = np.sort(rng.choice(features.n_objects, TRIAL_OBJECTS, replace=False, shuffle=False))
    return replace(features, data=features.data[drawn], ids=None)


def _neighbours(sample: Features) -> NDArray[np.int32]:
    """The nearest objects of each object, itself among them."""
    rows = sample.prepared(slice(None), WHOLE)
    n_near = NEIGHBOURS + 1
    if isinstance(rows, np.ndarray):
        nothing = np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.int32)
        return Landmarks(rows, n_near, None, *nothing).search(rows)[0]
    return SparseLandmarks(unit_rows(rows), n_near).search(rows)[0]


def _mean_cut(ensemble: Ensemble, numbers: list[int], near: NDArray[np.int32], entropy: int) -> float:
    """The normalised cut of the ensemble's consensus, the mean over numbers of clusters."""
    from quorate.methods import METHODS

    rows, inverse = compress(ensemble)
    cuts = []
    for n_clusters in numbers:
        if rows.n_rows < n_clusters:
            return float("inf")
        rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(_TRIAL, n_clusters)))
        found = METHODS[TRIAL_METHOD].solve(rows, n_clusters, rng=rng)
        cuts.append(normalised_cut(found.labels[inverse], near))
    return float(np.mean(cuts))


def normalised_cut(labels: NDArray[Any], near: NDArray[np.int32]) -> float:
    """The share of a cluster's links that leave it, the mean over clusters; each object is linked with `near` (n, q)."""
    source = np.repeat(labels, near.shape[1])
    target = labels[near.ravel()]
    leaving = source != target
    size = int(labels.max()) + 1
    volume = np.bincount(source, minlength=size) + np.bincount(target, minlength=size)
    cut = np.bincount(source[leaving], minlength=size) + np.bincount(target[leaving], minlength=size)
    return float((cut[volume > 0] / volume[volume > 0]).mean())

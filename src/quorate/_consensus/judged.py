"""consensus(features=X): members are judged by the measurements, and so are the answers that they lead to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import Ensemble, FloatArray
from quorate.generation.features import Features, as_features
from quorate.generation.judge import Scene, marks, scene_of
from quorate.ops.coding import canonical
from quorate.solvers.camps import camps_within
from quorate.solvers.contingency import ari, contingency
from quorate.solvers.members import LITTLE, MOST_MEMBERS, with_members

Labels = NDArray[np.int32]

SOFTNESS = 4.0
"""Members weigh exp(mark / SOFTNESS): the judge's own chances are softened, because several members may be right."""
CLEARLY = 2.0
"""The weighted consensus of all members is the answer unless another one's mark is higher by more than this."""
MOST_JUDGED = 10_000
"""Of more objects so many are drawn for the judge, who compares each with all others."""
NAMES_SHOWN = 5
"""The number of members of a camp that are named."""
ALL = "the weighted consensus of all members"
ALIKE = "the consensus without measurements"


class JudgedMembers(NamedTuple):
    """Marks of members below the best one, NaN for those that could not be judged; weights and reasons that follow."""

    marks: FloatArray
    weights: FloatArray
    reasons: tuple[str, ...]


class Answer(NamedTuple):
    """One of the answers that are compared: its name and its labels of all objects."""

    name: str
    labels: Labels


class Judging(NamedTuple):
    """Members with a wanted number of clusters, and the judge's opinion of them.

    The judge looks at the objects `places`, or at all if that is None.
    """

    members: Ensemble
    n_clusters: int
    scene: Scene
    places: NDArray[np.intp] | None
    judged: JudgedMembers
    camps: list[NDArray[np.intp]]

    def everyone(self) -> Ensemble:
        """All members with their weights, at least `LITTLE`."""
        return replace(self.members, weights=np.maximum(self.judged.weights, LITTLE))

    def weighted(self) -> Ensemble:
        """The members that count, with their weights; all of them if an object has no label otherwise."""
        kept = np.flatnonzero(self.judged.weights > 0)
        covers = bool((self.members.labels[:, kept].max(axis=1) >= 0).all())
        return with_members(self.everyone(), kept) if covers else self.everyone()

    def named_camps(self) -> dict[str, NDArray[np.intp]]:
        """The camps, if there are several, under the names of their first members."""
        found = {}
        for camp in self.camps if len(self.camps) > 1 else []:
            names = ", ".join(self.members.member_names[q] for q in camp[:NAMES_SHOWN])
            found[f"the consensus of the camp of {names}{', ...' if len(camp) > NAMES_SHOWN else ''}"] = camp
        return found

    def best_member(self) -> dict[str, Labels]:
        """The member with the highest mark among those that label all objects with this number of clusters."""
        members, found = self.members, self.judged.marks
        fit = (members.labels.min(axis=0) >= 0) & (members.n_clusters == self.n_clusters) & ~np.isnan(found)
        if not fit.any():
            return {}
        best = int(np.argmax(np.where(fit, found, -np.inf)))
        labels = canonical(members.labels[:, best].astype(np.int32), self.n_clusters)
        return {f"the member {members.member_names[best]}": labels}

    def answer(self, found: dict[str, Labels]) -> tuple[Answer, dict[str, Any]]:
        """The answer that is given, and what the result tells about it, its rivals and the members."""
        grades = _graded(found, self)
        best = max(grades, key=lambda name: grades[name])
        chosen = best if grades[best] > grades.get(ALL, -np.inf) + CLEARLY else ALL
        names = tuple(tuple(self.members.member_names[q] for q in camp) for camp in self.camps)
        info: dict[str, Any] = {
            "judge": {"chosen": chosen, "reason": _why(chosen, grades), "marks": grades},
            "weights": self._told(),
        }
        return Answer(chosen, found[chosen]), {**info, **({"camps": names} if len(names) > 1 else {})}

    def _told(self) -> dict[str, dict[str, Any]]:
        """The weight, the reason and, if it was judged, the mark of each member by name."""
        told = {}
        for name, mark, weight, reason in zip(self.members.member_names, *self.judged, strict=True):
            told[name] = {"weight": float(weight), "reason": reason}
            told[name] |= {} if np.isnan(mark) else {"mark": float(mark)}
        return told


def judging_of(members: Ensemble, n_clusters: int, features: Any, seed: int) -> Judging | None:
    """Judge members by measurements of the same objects; None if there is nothing to choose."""
    seen = _features_for(members, features)
    if n_clusters < 2 or members.n_members < 2:
        return None
    places = None
    if members.n_rows > MOST_JUDGED:
        drawn = np.random.default_rng(seed).choice(members.n_rows, MOST_JUDGED, replace=False, shuffle=False)
        places = np.sort(drawn)
    scene = scene_of(seen.taken(places))
    labels = members.labels if places is None else members.labels[places]
    judged = judged_members(labels, members, n_clusters, scene)
    return Judging(members, n_clusters, scene, places, judged, camps_within(members))


def _features_for(members: Ensemble, features: Any) -> Features:
    """Return checked measurements of the objects of the members."""
    seen = as_features(features)
    if seen.n_objects != members.n_rows:
        raise ValueError(
            f"features must have one row per object, {members.n_rows:,} in all, got {seen.n_objects:,}; leave out the "
            f"same objects in both, in the same order."
        )
    if members.n_members > MOST_MEMBERS:
        raise ValueError(f"labels must have at most {MOST_MEMBERS} members with features, got {members.n_members:,}.")
    return seen


def judged_members(labels: NDArray[Any], members: Ensemble, n_clusters: int, scene: Scene) -> JudgedMembers:
    """Judge members and say how much each counts: less with a low mark, and members that say the same count once.

    A member with more clusters than are wanted is judged after those with most links between them are joined; one with
    fewer cannot be judged and weighs as members do on average.
    """
    shown = [
        _of_number(filled_by_neighbours(labels[:, q], scene.near), n_clusters, scene.near)
        for q in range(labels.shape[1])
    ]
    are_judged = np.array([one is not None for one in shown])
    found = np.full(len(shown), np.nan)
    if are_judged.any():
        found[are_judged] = marks([one for one in shown if one is not None], scene)
        found -= np.nanmax(found)
    chance = np.ones(len(shown))
    chance[are_judged] = np.exp(found[are_judged] / SOFTNESS)
    chance[~are_judged] = chance[are_judged].mean() if are_judged.any() else 1.0
    alike = _likeness(labels)
    weights = chance * members.weights / (alike**2).sum(axis=1)
    weights /= weights.max()
    reasons = tuple(map(_reason, found, weights, alike.sum(axis=1)))
    return JudgedMembers(found, np.where(weights < LITTLE, 0.0, weights), reasons)


def _reason(mark: float, weight: float, copies: float) -> str:
    parts = ["has too few clusters to be judged" if np.isnan(mark) else f"has the mark {mark:.1f} (best: 0)"]
    if copies > SIMILAR:
        parts.append(f"says much the same as {copies - 1:.1f} others, with which it shares its weight")
    if weight < LITTLE:
        parts.append("is left out")
    return "; ".join(parts)


SIMILAR = 1.5
"""The sum of a member's ARI with all members, itself included, from which on a reason says that others are similar."""


def _likeness(labels: NDArray[Any]) -> FloatArray:
    """The ARI of any two members over the objects that both know, at least 0."""
    n_members = labels.shape[1]
    alike = np.eye(n_members)
    sizes = labels.max(axis=0).astype(int) + 1
    for one in range(n_members):
        for other in range(one):
            known = (labels[:, one] >= 0) & (labels[:, other] >= 0)
            if known.any():
                first, second = (labels[known, q].astype(np.int32) for q in (one, other))
                ones = np.ones(len(first), dtype=np.int64)
                table = contingency(first, second, int(sizes[one]), int(sizes[other]), ones)
                alike[one, other] = alike[other, one] = max(0.0, ari(table))
    return alike


def filled_by_neighbours(labels: NDArray[Any], near: NDArray[np.int32]) -> Labels:
    """Return labels 0, 1, ... of all objects; those without one take the commonest label of their neighbours.

    Objects without any neighbour that has a label join the largest cluster. Of equally common labels the one of the
    larger cluster is taken.
    """
    codes = labels.astype(np.int32)
    sizes = np.bincount(codes[codes >= 0])
    order = np.argsort(-sizes, kind="stable")
    while (codes < 0).any():
        open_rows = np.flatnonzero(codes < 0)
        around = codes[near[open_rows]]
        votes = np.stack([(around == cluster).sum(axis=1) for cluster in order], axis=1)
        told = votes.max(axis=1) > 0
        if not told.any():
            codes[open_rows] = order[0]
            break
        codes[open_rows[told]] = order[votes[told].argmax(axis=1)]
    return np.unique(codes, return_inverse=True)[1].astype(np.int32).ravel()


def _of_number(labels: Labels, n_clusters: int, near: NDArray[np.int32]) -> Labels | None:
    """Return the labels with so many clusters, joined by their links; None if they have fewer."""
    k = int(labels.max()) + 1
    return None if k < n_clusters else joined(labels, n_clusters, near)


def joined(labels: Labels, n_clusters: int, near: NDArray[np.int32]) -> Labels:
    """Join the two clusters with the largest share of links between them, again and again.

    The share is that of the cluster with fewer links; of equal ones the first is taken. Clusters without any links to
    others are joined with the largest one.
    """
    k = int(labels.max()) + 1
    links = np.zeros((k, k))
    np.add.at(links, (np.repeat(labels, near.shape[1]), labels[near.ravel()]), 1.0)
    links += links.T
    owner = np.arange(k)
    for _ in range(k - n_clusters):
        alive = np.unique(owner)
        volume = links[np.ix_(alive, alive)].sum(axis=1)
        share = links[np.ix_(alive, alive)] / np.maximum(np.minimum.outer(volume, volume), 1.0)
        np.fill_diagonal(share, -1.0)
        first, second = np.unravel_index(int(share.argmax()), share.shape)
        kept, gone = alive[first], alive[second]
        if share[first, second] == 0:
            small = np.argsort(volume, kind="stable")
            kept, gone = alive[small[-1]], alive[small[0]]
        links[kept] += links[gone]
        links[:, kept] += links[:, gone]
        owner[owner == gone] = kept
    return np.unique(owner[labels], return_inverse=True)[1].astype(np.int32).ravel()


def _graded(found: dict[str, Labels], judging: Judging) -> dict[str, float]:
    """The marks of the answers below the best; those that lack a cluster among the objects judged have none."""
    places = judging.places
    shown = {name: labels if places is None else labels[places] for name, labels in found.items()}
    whole = {name: labels for name, labels in shown.items() if len(np.unique(labels)) == judging.n_clusters}
    if not whole:
        return {ALL: 0.0}
    grades = marks(list(whole.values()), judging.scene)
    return dict(zip(whole, (grades - grades.max()).tolist(), strict=True))


def _why(chosen: str, grades: dict[str, float]) -> str:
    others = {name: grade for name, grade in grades.items() if name != chosen}
    told = "; ".join(f"{name} {grade:.1f}" for name, grade in sorted(others.items(), key=lambda entry: -entry[1]))
    own = f"{chosen} (mark {grades[chosen]:.1f})" if chosen in grades else chosen
    rule = f", which is taken unless another mark is higher by more than {CLEARLY:g}" if chosen == ALL else ""
    return f"{own}{rule}{f'; others: {told}' if told else ''}"

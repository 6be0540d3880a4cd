"""consensus(features=X): members are judged by the measurements, and so are the answers that they lead to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._choose_k.choose_k import Numbers
from quorate._consensus.camps import camp_consensus
from quorate._consensus.consensus import Solved, confident, expand, solve_objects
from quorate._data.rows import compress
from quorate._data.soft_members import harden
from quorate._types import AnyEnsemble, Consensus, Ensemble, FloatArray, SoftEnsemble, Solving
from quorate.generation.features import Features, as_features
from quorate.generation.judge import Scene, marks, scene_of
from quorate.ops.coding import canonical
from quorate.solvers.camps import camps_within
from quorate.solvers.contingency import anmi, ari, contingency
from quorate.solvers.members import LITTLE, MOST_MEMBERS, with_members

Labels = NDArray[np.int32]

SOFTNESS = 4.0
"""Members weigh exp(mark / SOFTNESS): the judge's own chances are softened, because several members may be right."""
CLEARLY = 2.0
"""The weighted consensus of all members is the answer unless another one's mark is higher by more than this."""
MOST_JUDGED = 10_000
"""Of more objects so many are drawn for the judge, who compares each with all others."""
ALL = "the weighted consensus of all members"


class JudgedMembers(NamedTuple):
    """Marks of members below the best one, NaN for those that could not be judged; weights and reasons that follow."""

    marks: FloatArray
    weights: FloatArray
    reasons: tuple[str, ...]


def judged_consensus(ensemble: AnyEnsemble, n_clusters: Numbers, solving: Solving, features: Any) -> Consensus:
    """Do what `consensus` does with `features`."""
    members = harden(ensemble) if isinstance(ensemble, SoftEnsemble) else ensemble
    seen = _features_for(members, features)
    info: dict[str, Any] = {}
    if not isinstance(n_clusters, int):
        open_number = solve_objects(members, n_clusters, replace(solving, confidence=False)).objects
        n_clusters, info = open_number.n_clusters, {"choice": open_number.info.get("choice")}
    if n_clusters < 2 or members.n_members < 2:
        return solve_objects(members, n_clusters, solving).objects
    places = _drawn(members.n_rows, solving)
    scene = scene_of(seen.taken(places))
    labels = members.labels if places is None else members.labels[places]
    judged = judged_members(labels, members, n_clusters, scene)
    result = _best_answer(members, judged, (n_clusters, solving), (scene, places))
    result = replace(result, info={**result.info, **info})
    return replace(result, info={name: value for name, value in result.info.items() if value is not None})


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


def _drawn(n_objects: int, solving: Solving) -> NDArray[np.intp] | None:
    """The objects that the judge looks at; None for all of them."""
    if n_objects <= MOST_JUDGED:
        return None
    seed = 0 if solving.random_state is None else abs(_check.known_seed(solving.random_state) or 0)
    drawn = np.random.default_rng(seed).choice(n_objects, MOST_JUDGED, replace=False, shuffle=False)
    return np.sort(drawn)


def judged_members(labels: NDArray[Any], members: Ensemble, n_clusters: int, scene: Scene) -> JudgedMembers:
    """Judge members and say how much each counts: less with a low mark, and members that say the same count once.

    A member with more clusters than are wanted is judged after those with most links between them are joined; one with
    fewer cannot be judged and weighs as members do on average.
    """
    shown = [_of_number(completed(labels[:, q], scene.near), n_clusters, scene.near) for q in range(labels.shape[1])]
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
                columns = (labels[known, q].astype(np.int32) for q in (one, other))
                table = contingency(*columns, int(sizes[one]), int(sizes[other]), np.ones(int(known.sum()), np.int64))
                alike[one, other] = alike[other, one] = max(0.0, ari(table))
    return alike


def completed(labels: NDArray[Any], near: NDArray[np.int32]) -> Labels:
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


def _best_answer(
    members: Ensemble,
    judged: JudgedMembers,
    how: tuple[int, Solving],
    seen: tuple[Scene, NDArray[np.intp] | None],
) -> Consensus:
    """Judge the weighted consensus, that of each camp and the best member, and return the one with the highest mark."""
    n_clusters, solving = how
    scene, places = seen
    kept = np.flatnonzero(judged.weights > 0)
    if (members.labels[:, kept].max(axis=1) < 0).any():
        kept = np.arange(members.n_members)
    weighted = replace(
        with_members(members, kept), weights=np.maximum(judged.weights[kept], LITTLE), info=dict(members.info)
    )
    whole = solve_objects(weighted, n_clusters, solving)
    camps = camps_within(members)
    found: dict[str, Labels] = {ALL: whole.objects.labels}
    if len(camps) > 1:
        found |= _of_camps(replace(members, weights=np.maximum(judged.weights, LITTLE)), camps, n_clusters, solving)
    found |= _best_member(members, judged, n_clusters)
    grades = _graded(found, n_clusters, scene, places)
    best = max(grades, key=lambda name: grades[name])
    chosen = best if grades[best] > grades.get(ALL, -np.inf) + CLEARLY else ALL
    names = tuple(tuple(members.member_names[q] for q in camp) for camp in camps)
    facts = zip(judged.marks, judged.weights, judged.reasons, strict=True)
    info = {
        "judge": {"chosen": chosen, "reason": _why(chosen, grades), "marks": grades},
        "weights": {
            name: {"weight": float(weight), "reason": reason, **({} if np.isnan(mark) else {"mark": float(mark)})}
            for name, (mark, weight, reason) in zip(members.member_names, facts, strict=True)
        },
        "camps": names if len(names) > 1 else None,
    }
    everyone = replace(members, weights=np.maximum(judged.weights, LITTLE))
    result = whole.objects if chosen == ALL else _with_labels(whole, everyone, found[chosen], solving)
    return replace(result, info={**result.info, **info})


def _of_camps(
    members: Ensemble, camps: Sequence[NDArray[np.intp]], n_clusters: int, solving: Solving
) -> dict[str, Labels]:
    """The consensus of each camp that knows all objects."""
    found = {}
    for camp in camps:
        labels = camp_consensus(members, camp, n_clusters, replace(solving, confidence=False)).labels
        if labels.min() >= 0:
            names = [members.member_names[q] for q in camp]
            found[f"the consensus of the camp of {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}"] = labels
    return found


def _best_member(members: Ensemble, judged: JudgedMembers, n_clusters: int) -> dict[str, Labels]:
    """The member with the highest mark among those that label all objects with this number of clusters."""
    fit = (members.labels.min(axis=0) >= 0) & (members.n_clusters == n_clusters) & ~np.isnan(judged.marks)
    if not fit.any():
        return {}
    best = int(np.argmax(np.where(fit, judged.marks, -np.inf)))
    return {f"the member {members.member_names[best]}": canonical(members.labels[:, best].astype(np.int32), n_clusters)}


def _graded(
    found: dict[str, Labels], n_clusters: int, scene: Scene, places: NDArray[np.intp] | None
) -> dict[str, float]:
    """The marks of the answers below the best; those that lack a cluster among the objects judged have none."""
    shown = {name: labels if places is None else labels[places] for name, labels in found.items()}
    whole = {name: labels for name, labels in shown.items() if len(np.unique(labels)) == n_clusters}
    if not whole:
        return {ALL: 0.0}
    found = marks(list(whole.values()), scene)
    return dict(zip(whole, (found - found.max()).tolist(), strict=True))


def _why(chosen: str, grades: dict[str, float]) -> str:
    others = {name: mark for name, mark in grades.items() if name != chosen}
    told = "; ".join(f"{name} {mark:.1f}" for name, mark in sorted(others.items(), key=lambda entry: -entry[1]))
    own = f"{chosen} (mark {grades[chosen]:.1f})" if chosen in grades else chosen
    rule = f", which is taken unless another mark is higher by more than {CLEARLY:g}" if chosen == ALL else ""
    return f"{own}{rule}{f'; others: {told}' if told else ''}"


def _with_labels(whole: Solved, members: Ensemble, labels: Labels, solving: Solving) -> Consensus:
    """Return the result with other labels, whose objective is the mean NMI with the weighted members.

    Equal rows of labels have equal labels, because these follow from the members. Confidence is that of these labels
    when the weighted consensus is repeated.
    """
    rows, inverse = compress(members)
    first = np.zeros(rows.n_rows, dtype=np.intp)
    first[inverse[::-1]] = np.arange(len(inverse))[::-1]
    kept = {
        name: value for name, value in whole.objects.info.items() if name not in ("confidence", "method_confidence")
    }
    k = int(labels.max()) + 1
    objective = anmi(rows, labels[first], k)
    result = Consensus(labels[first], objective, info={**kept, "n_rows": rows.n_rows}, method=whole.objects.method)
    result = confident(rows, result, solving) if solving.confidence else result
    return replace(expand(result, inverse, members.object_ids), id_name=members.id_name)

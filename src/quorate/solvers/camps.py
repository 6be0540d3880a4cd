"""Camps: groups of members that agree with one another and disagree with other groups about what the clusters are."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from quorate._types import AnyEnsemble, FloatArray
from quorate.solvers.members import CLEAR, Beyond, information_beyond_chance

APART = 0.5
"""Two groups are camps if they agree less than this share of what one truth, seen by both with errors, would give."""
COPIES = 0.97
"""Members that agree more than this may be copies of one another, whose agreement says nothing about their errors."""
APART_FROM_COPIES = 0.2
"""The share instead of `APART` if a group may be copies: it may be one member, seen once, with errors of any size."""
NOISE = 3.0
"""The agreement of two groups is taken to be higher than measured, by as many standard deviations of chance."""
FIRM = 0.1
"""The least mean agreement of a camp, as a share of the largest possible: members that merely err form no camp."""
FEWEST = 2
"""Members of a camp, at least."""


def camps_within(ensemble: AnyEnsemble) -> list[NDArray[np.intp]]:
    """Return the camps as numbers of members, the largest first; a single one holds all members.

    Members that belong to no camp, because they agree with none of them, are in none of the arrays if there are
    several camps.
    """
    return split_into_camps(information_beyond_chance(ensemble))


def split_into_camps(found: Beyond) -> list[NDArray[np.intp]]:
    """Return the camps of members with this agreement, 0 to 1, between any two of them, and its noise.

    Average linkage makes a tree of the members. Each split of it is accepted if both parts are camps: had they one
    truth in common, which each sees with errors of its own, their agreement would be the geometric mean of the
    agreements within them (Spearman's correction for attenuation).
    """
    found = found._replace(agreement=np.nan_to_num(found.agreement))
    everyone = np.arange(len(found.agreement))
    if len(everyone) < 2 * FEWEST:
        return [everyone]
    parts = [np.sort(camp) for camp in _camps_below(_tree(found.agreement), found)]
    clear = np.where(found.agreement >= CLEAR * found.noise, found.agreement, 0.0)
    camps = [camp for camp in parts if len(camp) >= FEWEST and within(camp, clear) >= FIRM]
    if len(camps) < 2 or not all(_are_apart(*pair, found) for pair in combinations(camps, 2)):
        return [everyone]
    return sorted(camps, key=lambda camp: (-len(camp), int(camp[0])))


def within(camp: NDArray[np.intp], agreement: FloatArray) -> float:
    """The mean agreement of two members of a camp."""
    part, n = agreement[np.ix_(camp, camp)], len(camp)
    return float((part.sum() - np.trace(part)) / (n * (n - 1))) if n > 1 else 1.0


def between(first: NDArray[np.intp], second: NDArray[np.intp], agreement: FloatArray) -> float:
    """The mean agreement of a member of one camp with one of the other."""
    return float(agreement[np.ix_(first, second)].mean())


def _tree(agreement: FloatArray) -> FloatArray:
    from scipy.cluster.hierarchy import average

    upper = np.triu_indices(len(agreement), 1)
    return np.asarray(average(1.0 - np.minimum(agreement[upper], 1.0)), dtype=np.float64)


def _camps_below(tree: FloatArray, found: Beyond) -> list[NDArray[np.intp]]:
    """Return the parts of the tree that are left when every accepted split is made."""
    camps: list[list[NDArray[np.intp]]] = [[np.array([leaf])] for leaf in range(len(found.agreement))]
    for first, second in tree[:, :2].astype(int):
        joined = list(camps[first])
        for camp in camps[second]:
            _join(joined, camp, found)
        camps.append(joined)
    return camps[-1]


def _join(camps: list[NDArray[np.intp]], camp: NDArray[np.intp], found: Beyond) -> None:
    """Add members to the camp that they agree with best and are not apart from, or as a camp of their own.

    A single member joins a single camp, and stays alone beside several.
    """
    near = [place for place, other in enumerate(camps) if _are_near(camp, other, found)]
    if len(camps) > 1:
        near = [place for place in near if min(len(camp), len(camps[place])) >= FEWEST]
    if not near:
        camps.append(camp)
        return
    best = max(near, key=lambda place: between(camp, camps[place], found.agreement))
    camps[best] = np.concatenate([camps[best], camp])


def _are_near(first: NDArray[np.intp], second: NDArray[np.intp], found: Beyond) -> bool:
    """Whether two groups agree beyond chance, and enough to have one truth in common."""
    unsure = NOISE * between(first, second, found.noise)
    return between(first, second, found.agreement) > unsure and not _are_apart(first, second, found)


def _are_apart(first: NDArray[np.intp], second: NDArray[np.intp], found: Beyond) -> bool:
    """Whether two groups see different truths; a single member does not tell how reliable it is."""
    if min(len(first), len(second)) < FEWEST:
        return False
    own, other = within(first, found.agreement), within(second, found.agreement)
    share = APART_FROM_COPIES if max(own, other) > COPIES else APART
    unsure = NOISE * between(first, second, found.noise)
    return between(first, second, found.agreement) + unsure < share * float(np.sqrt(own * other))

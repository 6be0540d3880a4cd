"""Groups of members: camps, which disagree with one another about what the clusters are, and copies of one another."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from quorate._types import AnyEnsemble, Ensemble, FloatArray
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


LINKED, FREE = 0.2, 0.5
"""Copies share at least the first part of what they say beside the clusters, other members at most the second part of
what any copies share. Members that were made from measurements share any part of it, because objects differ within a
cluster."""
FAR = 2.0
"""Members are also copies, if there are others, that share so many times more than either does with any of those."""
SURE = 4.0
"""Shared information counts from so many standard deviations above what chance gives."""
SILENT = 0.05
"""A member that says less than this beside the clusters, in nats per object, has the same clusters."""
MANY_CELLS = 100_000


class Beside(NamedTuple):
    """What any two members share, beyond chance and in nats times objects: in all, and beside given clusters.

    `least` is what that one of the two says beside the clusters that says less; its diagonal is what a member says.
    `noise` is the standard deviation of `beside` by chance, and `objects` the number of objects that both label.
    """

    in_all: FloatArray
    beside: FloatArray
    least: FloatArray
    noise: FloatArray
    objects: FloatArray


def shared_beside(ensemble: Ensemble, clusters: NDArray[np.int64]) -> Beside:
    """Return what any two members share, in all and beside the clusters of the rows (conditional mutual information).

    By chance, twice its sum over objects has a chi-squared distribution of (k - 1)(l - 1) degrees, summed over
    clusters, for k and l labels of the two members in a cluster.
    """
    found = Beside(*np.zeros((5, ensemble.n_members, ensemble.n_members)))
    columns = ensemble.labels.T.astype(np.int64)
    for one, first in enumerate(columns):
        for other, second in enumerate(columns[: one + 1]):
            both = (first >= 0) & (second >= 0)
            pair = _beside_of_pair(first[both], second[both], clusters[both], ensemble.counts[both])
            for table, value in zip(found, pair, strict=True):
                table[one, other] = table[other, one] = value
    return found


def _beside_of_pair(
    one: NDArray[np.int64], other: NDArray[np.int64], clusters: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[float, ...]:
    """Return the values of `Beside` for two members, from the rows that both label."""
    if not len(one):
        return (0.0,) * 5
    in_all, degrees = _shared(one, other, np.zeros_like(clusters), counts)[:2]
    beside, degrees_beside, least = _shared(one, other, clusters, counts)
    noise = float(np.sqrt(degrees_beside / 2))
    return in_all - degrees / 2, beside - degrees_beside / 2, least, noise, float(counts.sum())


def _shared(
    one: NDArray[np.int64], other: NDArray[np.int64], clusters: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[float, float, float]:
    """Return the mutual information of two members within clusters, its degrees of freedom, and the lower entropy."""
    width, height = int(one.max()) + 1, int(other.max()) + 1
    whole, _ = _entropy(clusters, counts)
    first, labels = _entropy(clusters * width + one, counts)
    second, others = _entropy(clusters * height + other, counts)
    pairs, _ = _entropy((clusters * width + one) * height + other, counts)
    size = int(clusters.max()) + 1
    degrees = (np.bincount(labels // width, minlength=size) - 1) * (np.bincount(others // height, minlength=size) - 1)
    # a cluster without any of these rows has no labels of either member
    degrees = degrees[np.bincount(clusters, minlength=size) > 0]
    return first + second - whole - pairs, float(degrees.sum()), min(first, second) - whole


def _entropy(codes: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[float, NDArray[np.int64]]:
    """Return the entropy of codes times the number of objects, up to a constant, and the codes that there are."""
    if int(codes.max()) < MANY_CELLS:
        sizes = np.bincount(codes, weights=counts)
        found = np.flatnonzero(sizes)
        sizes = sizes[found]
    else:
        found, places = np.unique(codes, return_inverse=True)
        sizes = np.bincount(places, weights=counts)
    return -float((sizes * np.log(sizes)).sum()), found


def copies_within(found: Beside) -> list[NDArray[np.intp]]:
    """Return groups of members that copy one another, and each other member as a group of its own.

    There are copies only if members come in groups: those of a group share much of what they say beside the clusters,
    and members of different groups hardly anything. Members that were made from measurements share more or less of it
    with any other, which is no reason for doubt, because new members would share it again.
    """
    n_members = len(found.objects)
    single = [np.array([member]) for member in range(n_members)]
    silent = np.diag(found.least) < SILENT * np.diag(found.objects)
    says = ~silent[:, None] & ~silent & (found.least > 0)
    share = np.divide(found.beside, found.least, out=np.zeros_like(found.least), where=says)
    linked = (share >= LINKED) & (found.beside >= SURE * found.noise)
    n_groups, group = connected_components(linked | (silent[:, None] & silent), directed=False)
    together = group[:, None] == group
    within, between = share[together & says], share[~together]
    is_grouped = within.size and between.size and between.max() <= FREE * within.min() and within.min() >= LINKED
    if not is_grouped or not (linked & ~np.eye(n_members, dtype=bool)).any() or len(np.unique(group[~silent])) < 2:
        return single
    # copies whose clusters the consensus has taken over share nothing beside them, but by far the most in all
    alone = np.bincount(group)[group] == 1
    in_all = found.in_all / np.maximum(np.minimum.outer(*[np.diag(found.in_all)] * 2), 1e-9)
    nearest = in_all[:, ~alone].max(axis=1)
    followers = alone[:, None] & alone & (in_all >= FAR * np.maximum.outer(nearest, nearest))
    n_groups, group = connected_components(together | followers, directed=False)
    return [np.flatnonzero(group == number) for number in range(n_groups)]

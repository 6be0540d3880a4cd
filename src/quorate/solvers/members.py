"""The members of an ensemble: how they agree with one another, and their order, which follows from their labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from quorate._types import AnyEnsemble, E, Ensemble, FloatArray, read_only
from quorate.ops.pairs import nmi_with_later
from quorate.solvers.contingency import Average, ari, contingency, nmi, pair_contingencies
from quorate.solvers.label_rows import (
    entries_of,
    likeliest_labels,
    objects_in,
    one_hot,
    shared_objects,
    take,
    with_sorted_members,
)
from quorate.solvers.parts import from_each

WHOLE_SUMS = "its sums are of whole numbers if weights are, so the order of members cannot change the labels"
LAST_DIGITS = "sorted members would change the last digits of its objective, which are those of version 0.1"
"""Two reasons why a method sees the members in their own order (`Method.own_order`)."""


FIRST_ROWS = 16_384
"""Members are compared by so many rows first, and by the others only if they are equal in these."""


def in_content_order(ensemble: E) -> E:
    """The same ensemble with its members sorted by their labels, so that no result can depend on their order.

    Members are compared by their labels as bytes, soft members then by their memberships, and last by their weights.
    Members equal in all of these are interchangeable, so it does not matter in which order they end up.
    """
    sorted_on_card = with_sorted_members(ensemble)
    if sorted_on_card is not None:
        return sorted_on_card
    if ensemble.pieces is not None:
        return cast(E, _parts_in_content_order(ensemble))
    labels, details = likeliest_labels(ensemble), _member_bytes(ensemble)
    begin = [labels[:FIRST_ROWS, member].tobytes() for member in range(ensemble.n_members)]
    alike = Counter(begin)

    def key(member: int) -> tuple[bytes, bytes, bytes, float]:
        rest = labels[FIRST_ROWS:, member].tobytes() if alike[begin[member]] > 1 else b""
        return begin[member], rest, details[member], float(ensemble.weights[member])

    ordered = with_members(ensemble, np.array(sorted(range(ensemble.n_members), key=key)))
    if isinstance(ordered, Ensemble):
        ordered.remember(is_distinct=ensemble.is_distinct)
    return ordered


def _parts_in_content_order(ensemble: Any) -> Any:
    """Do what `in_content_order` does for rows in parts, each of which says how its columns follow one another."""
    ranks = [*np.array(from_each(_column_ranks, ensemble)).T.tolist()]
    weights = ensemble.weights.tolist()
    order = np.array(sorted(range(ensemble.n_members), key=lambda member: (ranks[member], weights[member])))
    return ensemble.changed(
        with_members,
        order,
        n_clusters=ensemble.n_clusters[order],
        weights=ensemble.weights[order],
        member_names=tuple(ensemble.member_names[q] for q in order),
        categories=tuple(ensemble.categories[q] for q in order),
    )


def _column_ranks(part: Ensemble) -> list[int]:
    """The place of each column of labels, as bytes, among the different ones."""
    texts = [part.labels[:, member].tobytes() for member in range(part.n_members)]
    place = {text: rank for rank, text in enumerate(sorted(set(texts)))}
    return [place[text] for text in texts]


def _member_bytes(ensemble: AnyEnsemble) -> list[bytes]:
    """What tells apart two soft members with the same likeliest labels; empty for members that are labels."""
    if isinstance(ensemble, Ensemble):
        return [b""] * ensemble.n_members
    matrix = one_hot(ensemble).tocsc()
    details = []
    for first, last in pairwise(ensemble.offsets):
        part = slice(matrix.indptr[first], matrix.indptr[last])
        lengths = np.diff(matrix.indptr[first : last + 1])
        details.append(
            b"".join(values.astype(">f8").tobytes() for values in (matrix.data[part], matrix.indices[part], lengths))
        )
    return details


def by_member_name(ensemble: AnyEnsemble, values: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """For each member, by its name, its own part of a vector with one value per base cluster."""
    return dict(zip(ensemble.member_names, np.split(values, ensemble.offsets[1:-1]), strict=True))


MOST_MEMBERS = 500
"""Members of which all pairs are compared for scores; of more members as many are drawn."""
GOLDEN_RATIO = 0.6180339887498949
"""Its multiples, less their whole parts, fill the interval from 0 to 1 evenly and without a period."""
SMALL_TABLE = 65_536
"""Cells of a table between two members that may be counted densely, however few rows there are."""


def member_pairs(
    ensemble: Ensemble, average: Average, members: NDArray[np.intp] | None = None
) -> tuple[FloatArray, FloatArray]:
    """NMI of any two of the given members (all by default), and the number of objects both know; square tables."""
    chosen = np.arange(ensemble.n_members) if members is None else members
    values = np.full((len(chosen), len(chosen)), np.nan)
    shared = np.zeros_like(values)
    together = shared_objects(ensemble)
    if together is not None:
        for place, other, pair in pair_contingencies(together, ensemble.offsets, chosen):
            shared[place, other] = shared[other, place] = pair.total
            if pair.total:
                values[place, other] = values[other, place] = nmi(pair, average)
        return values, shared
    columns, sizes = read_only(ensemble.labels[:, chosen].T), read_only(ensemble.n_clusters[chosen])
    is_small = int(sizes.max()) ** 2 <= max(ensemble.n_rows, SMALL_TABLE)
    for place in range(len(chosen)):
        found = values[place], shared[place]
        if is_small:
            nmi_with_later(columns, sizes, ensemble.counts, place, average == "geometric", *found)
        else:
            _sparse_pairs(columns, sizes, ensemble.counts, place, average, *found)
        # the same either way round, so once is enough
        for table in (values, shared):
            table[place:, place] = table[place, place:]
    return values, shared


def _sparse_pairs(
    columns: NDArray[Any],
    sizes: NDArray[np.int64],
    counts: NDArray[np.int64],
    place: int,
    average: Average,
    values: FloatArray,
    shared: FloatArray,
) -> None:
    """Do what `nmi_with_later` does where clusters are so many that tables between two members are nearly empty."""
    for other in range(place, len(columns)):
        table = contingency(columns[place], columns[other], int(sizes[place]), int(sizes[other]), counts)
        shared[other] = table.total
        if table.total:
            values[other] = nmi(table, average)


def some_members(ensemble: Ensemble) -> NDArray[np.intp]:
    """All members, or `MOST_MEMBERS` of them at about even distances in an order that follows from their labels.

    Comparing all pairs takes time that grows with the square of the number of members. One member is taken from each
    of as many stretches of that order, at places within them that have no period: members at exactly even distances
    could all belong to one of the groups that `evaluate` leaves out together.
    """
    if ensemble.n_members <= MOST_MEMBERS:
        return np.arange(ensemble.n_members)
    columns = np.ascontiguousarray(ensemble.labels.T)
    order = np.array(sorted(range(ensemble.n_members), key=lambda q: (columns[q].tobytes(), ensemble.weights[q])))
    edges = np.arange(MOST_MEMBERS + 1) * ensemble.n_members // MOST_MEMBERS
    within = np.arange(MOST_MEMBERS) * GOLDEN_RATIO % 1
    return np.sort(order[edges[:-1] + (within * np.diff(edges)).astype(np.intp)])


def mean_of_others(values: FloatArray, importance: FloatArray) -> FloatArray:
    """Weighted mean of each row off the diagonal; NaN where nothing there has any weight."""
    others = importance * ~np.eye(len(values), dtype=bool)
    sums, totals = (others * np.nan_to_num(values)).sum(axis=1), others.sum(axis=1)
    means: FloatArray = np.divide(sums, totals, out=np.full(len(values), np.nan), where=totals > 0)
    return means


def member_scores(ensemble: Ensemble) -> tuple[float | None, float | None]:
    """Mean NMI over pairs of members, and the best member's ANMI; None where no pair shares an object.

    Of more than `MOST_MEMBERS` members as many are compared, see `some_members`.
    """
    chosen = some_members(ensemble)
    return pair_scores(*member_pairs(ensemble, "geometric", chosen), ensemble.weights[chosen])


def pair_scores(
    values: FloatArray, shared: FloatArray, member_weights: FloatArray
) -> tuple[float | None, float | None]:
    """The scores of `member_scores` from the two tables of `member_pairs`."""
    others = mean_of_others(values, shared * member_weights)
    if np.isnan(others).all():
        return None, None
    weights = np.outer(member_weights, member_weights) * shared
    np.fill_diagonal(weights, 0.0)
    return float((weights * np.nan_to_num(values)).sum() / weights.sum()), float(np.nanmax(others))


def missing_shares(ensemble: Ensemble) -> FloatArray:
    """Share of the objects that each member leaves out, (H,)."""
    if not ensemble.has_missing:
        return np.zeros(ensemble.n_members)
    known = np.add.reduceat(objects_in(ensemble), ensemble.offsets[:-1])
    shares: FloatArray = (ensemble.n_objects - known) / ensemble.n_objects
    return shares


class Learnt(NamedTuple):
    """Weights that the members' own agreement gives them: `weights` (H,), the largest of which is 1, and the reasons.

    A weight of 0 says that the member should be left out. A reason is empty if the weight is 1.
    """

    weights: FloatArray
    reasons: tuple[str, ...]


LEFT_OUT = "is left out"
ALIKE = "that agree nearly exactly"
CELLS, GLANCE = 400_000_000, 50_000_000
"""Labels that pairs of members are compared in, at most, where weights are asked for and where they are not; of more
rows some are taken, at least `FEWEST`."""
FEWEST = 2_000
CLOSEST = 3
"""A member's agreement is the mean over as many others that agree with it best."""
ENOUGH = 0.4
"""A member has weight 1 if its agreement is at least this share of what members usually have."""
LITTLE = 0.05
"""Members of less weight are left out, because methods on graphs count their clusters whatever they weigh."""
SAME = 0.99
"""Two members whose NMI is at least this say the same."""
CENTRAL, FEWEST_OTHERS = 1.03, 4
"""Members that say the same count as many, not as one, if they agree with the others better by this factor than the
others agree with one another: several runs of k-means find the best optimum. Together they then count at most half as
much as the others, so that a member handed in many times does not decide alone. With fewer others that differ than this
nothing can be said, and each member counts."""
CLEAR = 5.0
"""Agreement counts if the mutual information is this many standard deviations above what chance gives."""


def learnt_weights(ensemble: AnyEnsemble) -> Learnt:
    """Learn the weights of members from how they agree: those that agree with nobody count little or not at all.

    Agreement is mutual information beyond chance, as a share of its largest value. A member's agreement is its mean
    with the `CLOSEST` others that agree with it best, of which members that say the same count once: a copy is no
    witness. The weight is 1 from `ENOUGH` of the usual agreement on and falls with its square below. Members that say
    the same share the weight of one, or of several if they are `CENTRAL`; members of `generate` share nothing. If
    members that agree nearly exactly are evidence (`_near_exact_weights`), others count less, and nothing is shared.
    """
    rows = _rows_to_compare(ensemble)
    values, shared = member_pairs(rows, "geometric")
    alike = (np.nan_to_num(values) >= SAME) & (2 * shared >= rows.n_objects)
    np.fill_diagonal(alike, True)
    n_alike = alike.sum(axis=1)
    agreement, noise = _beyond_chance(rows, values, shared)
    agreement[agreement < CLEAR * noise] = 0.0
    closest = np.array([_mean_of_closest(agreement[q], alike, q) for q in range(rows.n_members)])
    known = np.nan_to_num(closest)
    usual = float((known**2 / n_alike).sum() / max((known / n_alike).sum(), 1e-300))
    trust = np.minimum(known / (ENOUGH * usual), 1.0) ** 2 if usual > 0 else np.ones(len(known))
    trust[np.isnan(closest)] = 1.0
    near = None if is_generated(ensemble) else _near_exact_weights(rows)
    if near is not None:
        return _near(near[0] * trust, near[1], LITTLE)
    # members that `generate` made are runs of their own: how many found the same is evidence, and none is a copy
    together = n_alike if is_generated(ensemble) else _counted_together(agreement, alike, trust >= 1.0)
    weights: FloatArray = trust * together / n_alike
    weights /= weights.max()
    weights[weights < LITTLE] = 0.0
    return Learnt(weights, tuple(map(_reason, trust, n_alike - 1, together, weights)))


def is_generated(ensemble: AnyEnsemble) -> bool:
    """Whether `generate` made all members."""
    return len(ensemble.info.get("members", ())) == ensemble.n_members


def _counted_together(agreement: FloatArray, alike: NDArray[np.bool_], good: NDArray[np.bool_]) -> FloatArray:
    """How many members those that say the same as each member count as."""
    return np.array([_together(agreement, alike, good, member) for member in range(len(alike))])


def _together(agreement: FloatArray, alike: NDArray[np.bool_], good: NDArray[np.bool_], member: int) -> float:
    """How many members those that say the same as this one count as: one, or more if they are central."""
    number = int(alike[member].sum())
    is_first = alike.argmax(axis=1) == np.arange(len(alike))
    others = np.flatnonzero(is_first & good & ~alike[member])
    if number == 1 or not good[member]:
        return 1.0
    if len(others) < FEWEST_OTHERS:
        return float(number)
    table = agreement[np.ix_(others, others)]
    among = table[~np.isnan(table) & ~np.eye(len(others), dtype=np.bool_)]
    own = agreement[member, others]
    own = own[~np.isnan(own)]
    if not len(own) or not len(among) or own.mean() < CENTRAL * among.mean():
        return 1.0
    return float(min(number, max(1.0, len(others) / 2)))


def agree_little(ensemble: AnyEnsemble) -> bool:
    """Whether weights were learnt and some members count less because they agree with others less than is usual."""
    learnt = ensemble.info.get("weights")
    if not isinstance(learnt, Mapping):
        return False
    return any(str(entry.get("reason", "")).startswith("agrees with") for entry in learnt.values())


def information_beyond_chance(ensemble: AnyEnsemble) -> Beyond:
    """Mutual information of any two members beyond chance, as a share of all that the coarser one says: 0 to 1.

    It is 1 if one member's clusters are parts of the other's, and NaN for members with no object in common."""
    rows = _rows_to_compare(ensemble)
    return _beyond_chance(rows, *member_pairs(rows, "geometric"), of_coarser=True)


class Beyond(NamedTuple):
    """The agreement of any two members, and the standard deviation that it would have by chance."""

    agreement: FloatArray
    noise: FloatArray


def _reason(trust: float, copies: int, together: float, weight: float) -> str:
    low = "agrees with no other member beyond chance" if trust == 0 else "agrees with others far less than is usual"
    parts = [low] if trust < 1 else []
    if copies and together <= copies:
        number = "once" if together == 1 else f"as {together:g} members"
        parts.append(f"says the same as {copies} other{'s' if copies > 1 else ''}, which count {number} together")
    if not weight:
        parts.append(LEFT_OUT)
    return "; ".join(parts)


def _rows_to_compare(ensemble: AnyEnsemble, cells: int = CELLS) -> Ensemble:
    """The likeliest labels of the rows, or of even stretches of them if they are too many to be compared; here."""
    most = max(FEWEST, cells // ensemble.n_members**2)
    if ensemble.n_rows > most:
        edges = np.arange(most + 1) * ensemble.n_rows // most
        chosen = edges[:-1] + (np.arange(most) * GOLDEN_RATIO % 1 * np.diff(edges)).astype(np.intp)
        rows = take(ensemble, chosen, entries_of(ensemble, ensemble.counts, chosen))
    else:
        rows = ensemble.on_host()
    names, kinds = ensemble.member_names, ensemble.categories
    return Ensemble(likeliest_labels(rows), rows.counts, rows.n_clusters, np.ones(rows.n_members), names, kinds)


def with_members(ensemble: E, members: NDArray[np.intp]) -> E:
    """The ensemble with some of its members, in the order given; codes and rows stay as they are."""
    shared: dict[str, Any] = {
        "n_clusters": ensemble.n_clusters[members],
        "weights": ensemble.weights[members],
        "member_names": tuple(ensemble.member_names[q] for q in members),
        "categories": tuple(ensemble.categories[q] for q in members),
    }
    if isinstance(ensemble, Ensemble):
        return replace(ensemble, labels=np.take(ensemble.labels, members, axis=1), **shared)
    places = [np.arange(ensemble.offsets[q], ensemble.offsets[q + 1]) for q in members]
    matrix = one_hot(ensemble)[:, np.concatenate(places)]
    matrix.sort_indices()
    memberships = np.rint(matrix.data * ensemble.unit).astype(np.int32)
    columns = matrix.indices.astype(np.int32)
    return replace(ensemble, starts=matrix.indptr.astype(np.int64), columns=columns, memberships=memberships, **shared)


def _beyond_chance(ensemble: Ensemble, values: FloatArray, shared: FloatArray, *, of_coarser: bool = False) -> Beyond:
    """Mutual information beyond its mean under chance, as a share of its largest value: 0 to 1, NaN for no object.

    Under chance 2 n times the mutual information follows a chi-squared distribution of (k - 1)(l - 1) degrees.
    """
    sizes = objects_in(ensemble)
    known = np.maximum(np.add.reduceat(sizes, ensemble.offsets[:-1]), 1)
    share = np.maximum(sizes, 1e-300) / np.repeat(known, ensemble.n_clusters)
    entropy = np.add.reduceat(-share * np.log(share), ensemble.offsets[:-1])
    largest = np.sqrt(np.outer(entropy, entropy))
    found = np.add.reduceat(sizes > 0, ensemble.offsets[:-1], dtype=np.float64) - 1
    degrees = np.outer(found, found)
    information = np.nan_to_num(values) * largest
    chance = degrees / (2 * np.maximum(shared, 1))
    if of_coarser:
        largest = np.minimum.outer(entropy, entropy)
    agreement: FloatArray = np.clip((information - chance) / np.maximum(largest - chance, 1e-12), 0.0, 1.0)
    agreement[shared == 0] = np.nan
    return Beyond(agreement, np.sqrt(2 * degrees) / (2 * np.maximum(shared, 1)) / np.maximum(largest - chance, 1e-12))


def _mean_of_closest(agreement: FloatArray, alike: NDArray[np.bool_], member: int) -> float:
    """The mean agreement with the closest members that do not say the same as this one, or as one another."""
    found: list[float] = []
    free = ~alike[member] & ~np.isnan(agreement)
    while free.any() and len(found) < CLOSEST:
        best = int(np.argmax(np.where(free, agreement, -1.0)))
        found.append(float(agreement[best]))
        free &= ~alike[best]
    return float(np.mean(found)) if found else np.nan


NEAR = 0.9
"""Members agree nearly exactly if their ARI is at least this."""
SHARPNESS, GROUPS = 16, 3
"""A member weighs the sum of its ARI with all members, itself included, to the power of `SHARPNESS`, to the power of
`GROUPS`: two members that agree exactly weigh eight each beside one that agrees with nobody."""
FEWEST_OUTSIDE = 4
"""Different members outside the group, at least: with fewer, independent errors cannot be recognised."""
MOST_SOURCES = 100
"""Of more members nothing is said: they hardly come from as many algorithms, and their pairs take time."""
MISFIT, CHANCE = 0.02, 0.8
"""The ARI of members that err independently differs from a product of two numbers, one a member, by at most this much:
`MISFIT` and, by chance, `CHANCE` divided by the root of the number of objects."""


def evident_weights(ensemble: Ensemble) -> Learnt | None:
    """Weights by which a group of members that agree nearly exactly decides, if it is evidence; no member is left out.

    They are for members of equal weight that `generate` did not make and that were not drawn from memberships, see
    `_near_exact_weights`.
    """
    known = is_generated(ensemble) or "drawn" in ensemble.info or "weights" in ensemble.info
    if known or np.ptp(ensemble.weights) or not _shares_number(ensemble.n_clusters):
        return None
    near = _near_exact_weights(_rows_to_compare(ensemble, GLANCE))
    return None if near is None else _near(np.maximum(near[0], LITTLE), near[1], 0.0)


def _near(weights: FloatArray, group: NDArray[np.bool_], least: float) -> Learnt:
    """Weights by a group that agrees nearly exactly, without those below the least, and their reasons."""
    weights = weights / weights.max()
    weights[weights < least] = 0.0
    n_group = int(group.sum())
    reasons = []
    for weight, belongs in zip(weights, group, strict=True):
        reason = f"is one of {n_group} {ALIKE}" if belongs else f"stands apart from {n_group} {ALIKE}"
        parts = [reason] if weight < 1 else []
        reasons.append("; ".join([*parts, *([] if weight else [LEFT_OUT])]))
    return Learnt(weights, tuple(reasons))


def _shares_number(n_clusters: NDArray[np.int64]) -> bool:
    """Whether more than half of the members have the same number of clusters, and members are neither few nor many."""
    n_members = len(n_clusters)
    if not 2 + FEWEST_OUTSIDE <= n_members <= MOST_SOURCES:
        return False
    return 2 * int(np.unique(n_clusters, return_counts=True)[1].max()) > n_members


def _near_exact_weights(rows: Ensemble) -> tuple[FloatArray, NDArray[np.bool_]] | None:
    """Return the weights of members, the largest of which is 1, and which belong to the group; None without evidence.

    Algorithms that are wrong agree with one another only moderately, those that found the clusters nearly exactly. The
    group is that of the member that agrees best with others. It is evidence under four conditions: it has at least two
    members, and more than half of all members have its number of clusters; the others agree with it less than with one
    another, so that it is not what they all mean; and the others do not err independently. If they did, their ARI would
    be a product of two numbers, one a member (Spearman's tetrads), their own consensus would be right, and the group
    could be copies of one poor member.
    """
    if not _shares_number(rows.n_clusters):
        return None
    likeness = _likeness(rows)
    sums = (likeness**SHARPNESS).sum(axis=1)
    centre = max(range(len(sums)), key=lambda member: (round(sums[member], 9), sorted(likeness[member])))
    group = likeness[centre] >= NEAR
    others = np.flatnonzero(~group)
    if group.sum() < 2 or 2 * int((rows.n_clusters == rows.n_clusters[centre]).sum()) <= len(sums):
        return None
    different = _different(likeness, others)
    if len(different) < FEWEST_OUTSIDE or not _is_apart(likeness, group):
        return None
    if _misfit(likeness[np.ix_(different, different)]) <= MISFIT + CHANCE / np.sqrt(rows.n_objects):
        return None
    weights: FloatArray = np.round((sums / sums.max()) ** GROUPS, 9)
    return weights, group


def _likeness(rows: Ensemble) -> FloatArray:
    """The ARI of any two members, at least 0, and 0 if they share less than half of the objects."""
    n_members = rows.n_members
    found = np.eye(n_members)
    columns = np.ascontiguousarray(rows.labels.T)
    for one in range(n_members):
        for other in range(one):
            sizes = int(rows.n_clusters[one]), int(rows.n_clusters[other])
            table = contingency(columns[one], columns[other], *sizes, rows.counts)
            if 2 * table.total >= rows.n_objects:
                found[one, other] = found[other, one] = max(0.0, ari(table))
    return found


def _different(likeness: FloatArray, members: NDArray[np.intp]) -> NDArray[np.intp]:
    """Those of the members that do not say the same as an earlier one."""
    kept: list[int] = []
    for member in members:
        if (likeness[member, kept] < SAME).all():
            kept.append(int(member))
    return np.array(kept, dtype=np.intp)


def _is_apart(likeness: FloatArray, group: NDArray[np.bool_]) -> bool:
    """Whether the others agree with the group less than with one another."""
    others = likeness[np.ix_(~group, ~group)]
    n_others = len(others)
    among = (others.sum() - n_others) / (n_others * (n_others - 1))
    return bool(likeness[np.ix_(group, ~group)].mean() < among)


def _misfit(likeness: FloatArray) -> float:
    """The standard error of the best product of two numbers, one a member, for the ARI of any two.

    Logarithms are fitted by least squares, weighted so that errors are those of the ARI itself.
    """
    n_members = len(likeness)
    first, second = np.triu_indices(n_members, 1)
    values = np.maximum(likeness[first, second], 0.01)
    design = np.zeros((len(values), n_members))
    design[np.arange(len(values)), first] = design[np.arange(len(values)), second] = 1.0
    target = np.log(values) * values
    design *= values[:, None]
    fitted = np.linalg.lstsq(design, target, rcond=None)[0]
    squares = float(((target - design @ fitted) ** 2).sum())
    return float(np.sqrt(squares / (len(values) - n_members)))

"""`resolutions`: clusterings at several resolutions, how stable each is, and which cluster splits into which."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.ensemble import as_ensemble
from quorate._data.rows import select_members
from quorate._summaries import need_library
from quorate._trust.over_k import OverK
from quorate._types import Ensemble, IntArray
from quorate.solvers.contingency import Contingency, contingency, element_shares

if TYPE_CHECKING:
    import pandas

NEAR = 0.02
"""Resolutions whose stability is this close to the best are as good; the one with the most clusters is taken."""


class Resolution(NamedTuple):
    """One resolution: its name, its runs, their median number of clusters, and how alike they are.

    `stability` is the mean element-centric similarity of its runs, from 0 to 1; of a single run, that with the runs of
    the next resolutions on both sides. `adjusted` is the same beyond chance: 0 for independent clusterings with the
    same sizes, 1 for equal ones. Both are None if there is nothing to compare with.
    """

    name: str
    n_runs: int
    n_clusters: int
    stability: float | None
    adjusted: float | None


class Flow(NamedTuple):
    """Objects that are in `cluster` at one resolution and in `into` at the next one.

    `share` is their share of the earlier cluster, and `share_of_next` that of the later one.
    """

    resolution: str
    cluster: Any
    next_resolution: str
    into: Any
    objects: int
    share: float
    share_of_next: float


@dataclass(frozen=True, eq=False, repr=False)
class Resolutions:
    """What `resolutions` returns; prints as a table, with the resolution to take and the reason.

    Parameters
    ----------
    rows : tuple of Resolution
        The resolutions, those with the fewest clusters first.
    labels : array of shape (n_objects, n_resolutions)
        The clusters of each resolution: its run that is most like the others. -1 is a missing label.
    categories : tuple of arrays
        For each resolution, the labels in the data that the clusters stand for.
    consistency : float32 array of shape (n_objects, n_resolutions)
        How alike the clusters of each object are, as for `stability`; NaN if unknown.
    flows : tuple of Flow
        The clustering tree: which cluster goes into which at the next resolution.
    chosen : int
        The place of the resolution to take.
    reason : str
        Why it is taken.
    object_ids : array or None
        Names of the objects, if the data had them.
    """

    rows: tuple[Resolution, ...]
    labels: IntArray
    categories: tuple[NDArray[Any], ...]
    consistency: NDArray[np.float32]
    flows: tuple[Flow, ...]
    chosen: int
    reason: str
    object_ids: NDArray[Any] | None = None

    def __repr__(self) -> str:
        width = max(len("resolution"), *(len(row.name) for row in self.rows))
        lines = [f"{'resolution':<{width}}  runs  clusters  stability  beyond chance"]
        for place, row in enumerate(self.rows):
            raw, adjusted = ("" if value is None else f"{value:.3f}" for value in (row.stability, row.adjusted))
            mark = "  <" if place == self.chosen else ""
            lines.append(f"{row.name:<{width}}  {row.n_runs:>4}  {row.n_clusters:>8}  {raw:>9}  {adjusted:>13}{mark}")
        return "\n".join([*lines, self.reason])

    def as_dict(self) -> dict[str, Any]:
        """Return resolutions, flows and the choice as lists and dictionaries of plain types."""
        flows = [{name: _plain(value) for name, value in flow._asdict().items()} for flow in self.flows]
        rows = [row._asdict() for row in self.rows]
        return {"resolutions": rows, "chosen": self.rows[self.chosen].name, "reason": self.reason, "flows": flows}

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with one row per flow of the clustering tree."""
        frame: pandas.DataFrame = need_library("pandas").DataFrame(list(self.flows), columns=list(Flow._fields))
        return frame


def resolutions(members: Any, groups: str | Sequence[Any] | None = None) -> Resolutions:
    """Compare clusterings at several resolutions: how stable each is, and which cluster splits into which.

    Parameters
    ----------
    members : Ensemble, anything `as_ensemble` takes, or OverK
        Labels of the same objects at several resolutions, one column per run; or what `over_k` returned.
    groups : str or sequence, optional
        Which columns are runs at one resolution: "clusters" puts those with equally many clusters together; a regular
        expression with one group, such as "leiden_([0-9.]+)", those whose names agree in it; a sequence has one value
        per column. By default each column is a resolution of its own.

    Returns
    -------
    Resolutions
        A table with one line per resolution, the clustering tree in ``flows``, the consistency of each object, and the
        resolution to take. `quorate.plot.clustering_tree` draws it.

    See Also
    --------
    over_k : Makes clusterings of measurements for several numbers of clusters.
    choose_k : Chooses the number of clusters of a consensus.

    Notes
    -----
    Stability is the mean element-centric similarity of two runs, and consistency that of one object (see
    `element_similarities`). Few clusters are alike by chance already, half of two random halves for instance, so that
    resolutions are compared beyond chance: (similarity - chance) / (1 - chance), where chance is that of independent
    clusterings of the same sizes. The resolution to take is, among those with at least two clusters whose value is at
    most .02 below the best, the one with the most clusters. Stable clusters need not be real: data without clusters
    are often cut in the same places again, so that the choice is a description, not a test. The cost is
    O(objects x runs^2 / resolutions).

    Examples
    --------
    >>> runs = {"low a": [0, 0, 0, 1, 1, 1], "low b": [1, 1, 1, 0, 0, 0]}
    >>> runs |= {"high a": [0, 0, 1, 2, 2, 2], "high b": [0, 1, 1, 2, 3, 2]}
    >>> resolutions(runs, groups="(low|high)")
    resolution  runs  clusters  stability  beyond chance
    low            2         2      1.000          1.000  <
    high           2         3      0.528          0.363
    2 clusters (low): beyond chance its runs are alike by 1.00, which is the best.
    """
    sources = _sources(members, groups)
    order = sorted(range(len(sources)), key=lambda place: _n_clusters(sources[place][1]))
    names = [sources[place][0] for place in order]
    parts = [sources[place][1] for place in order]
    medoids, means = _compared(parts)
    consistency: NDArray[np.float32] = np.column_stack([mean.value() for mean in means])
    rows = tuple(
        Resolution(name, part.n_members, _n_clusters(part), *mean.stability())
        for name, part, mean in zip(names, parts, means, strict=True)
    )
    labels = np.column_stack([part.labels[:, medoid] for part, medoid in zip(parts, medoids, strict=True)])
    categories = tuple(part.categories[medoid] for part, medoid in zip(parts, medoids, strict=True))
    chosen, reason = _choice(rows)
    return Resolutions(
        rows,
        labels,
        categories,
        consistency,
        tuple(flow for place in range(len(rows) - 1) for flow in _flows(names, labels, categories, place)),
        chosen,
        reason,
        parts[0].object_ids,
    )


def _sources(members: Any, groups: Any) -> list[tuple[str, Ensemble]]:
    """Return the resolutions with their names, each an ensemble of its runs."""
    if isinstance(members, OverK):
        if groups is not None:
            raise ValueError("groups must be None for the result of over_k, whose numbers of clusters are the groups.")
        return [(str(number), ensemble) for number, ensemble in members.ensembles.items()]
    ensemble = as_ensemble(members)
    if ensemble.n_rows != ensemble.n_objects:
        raise ValueError("members must have one row per object; this ensemble is compressed.")
    keys = _keys(ensemble, groups)
    if len(set(keys)) < 2:
        raise ValueError(f"at least two resolutions are needed to compare, and all members are at {keys[0]!r}.")
    return [
        (key, select_members(ensemble, [i for i, one in enumerate(keys) if one == key])) for key in dict.fromkeys(keys)
    ]


def _keys(ensemble: Ensemble, groups: Any) -> list[str]:
    """Return the resolution of each member."""
    names = ensemble.member_names
    if groups is None:
        return list(names)
    if groups == "clusters":
        return [f"{_check.counted(number, 'cluster')}" for number in ensemble.n_clusters.tolist()]
    if not isinstance(groups, str):
        keys = [str(group) for group in groups]
        if len(keys) != len(names):
            raise ValueError(f"groups must have one value per member, {len(names)}, got {len(keys)}.")
        return keys
    try:
        pattern = re.compile(groups)
    except re.error as error:
        raise ValueError(f"groups={groups!r} is no regular expression: {error}.") from None
    if pattern.groups != 1:
        raise ValueError(f"groups={groups!r} must have exactly one group in parentheses, got {pattern.groups}.")
    found = [pattern.search(name) for name in names]
    missing = [name for name, one in zip(names, found, strict=True) if one is None or one.group(1) is None]
    if missing:
        raise ValueError(f"groups={groups!r} does not fit the member {missing[0]!r}.")
    return [str(one.group(1)) for one in found if one is not None]


def _n_clusters(part: Ensemble) -> int:
    return int(np.median(part.n_clusters))


class _Mean:
    """The mean similarity of each object over comparisons, as far as its labels are known."""

    def __init__(self, n_objects: int) -> None:
        self._total = np.zeros(n_objects, dtype=np.float32)
        self._times = np.zeros(n_objects, dtype=np.int32)
        self._means: list[tuple[float, float]] = []

    def add(self, found: _Similar) -> None:
        known = ~np.isnan(found.values)
        self._total[known] += found.values[known]
        self._times += known
        if known.any():
            self._means.append((found.mean, found.adjusted))

    def stability(self) -> tuple[float | None, float | None]:
        """Return the mean over comparisons, as it is and beyond chance; None if there was none."""
        if not self._means:
            return None, None
        raw, adjusted = np.mean(self._means, axis=0).tolist()
        return raw, adjusted

    def value(self) -> NDArray[np.float32]:
        found: NDArray[np.float32] = np.where(self._times > 0, self._total / np.maximum(self._times, 1), np.nan)
        return found.astype(np.float32)


class _Similar(NamedTuple):
    """The similarity of each object in two runs, NaN if unknown, and what it would be by chance on average."""

    values: NDArray[np.float32]
    chance: float

    @property
    def mean(self) -> float:
        return float(np.nanmean(self.values)) if not np.isnan(self.values).all() else 0.0

    @property
    def adjusted(self) -> float:
        return (self.mean - self.chance) / (1 - self.chance) if self.chance < 1 else 1.0


def _compared(parts: list[Ensemble]) -> tuple[list[int], list[_Mean]]:
    """Return for each resolution its most typical run, and the similarities of its objects."""
    medoids, means = [], []
    beside: dict[int, _Similar] = {}
    for place, part in enumerate(parts):
        mean = _Mean(len(part.labels))
        alike = np.zeros(part.n_members)
        for one, other in combinations(range(part.n_members), 2):
            found = _similarities(part, one, part, other)
            mean.add(found)
            alike[[one, other]] += found.mean
        medoids.append(int(alike.argmax()))
        means.append(mean)
        if place and 1 in (part.n_members, parts[place - 1].n_members):
            beside[place] = _similarities(parts[place - 1], medoids[-2], part, medoids[-1])
    for place, part in enumerate(parts):
        if part.n_members == 1:
            for edge in (place, place + 1):
                if edge in beside:
                    means[place].add(beside[edge])
    return medoids, means


def _similarities(one: Ensemble, first: int, other: Ensemble, second: int) -> _Similar:
    """Return the element-centric similarity of each object in two runs; NaN if either has no label."""
    a, b = one.labels[:, first], other.labels[:, second]
    n_a, n_b = int(one.n_clusters[first]), int(other.n_clusters[second])
    table = contingency(a, b, n_a, n_b, np.ones(len(a), dtype=np.int64))
    cells = np.full(n_a * n_b + 1, np.nan, dtype=np.float32) if n_a * n_b <= 1 << 24 else None
    known = (a >= 0) & (b >= 0)
    wanted = a.astype(np.int64) * n_b + b
    filled = table.first.astype(np.int64) * n_b + table.second
    shares = element_shares(table).astype(np.float32)
    if cells is None:
        found = np.full(len(a), np.nan, dtype=np.float32)
        found[known] = shares[np.searchsorted(filled, wanted[known])]
    else:
        cells[filled] = shares
        found = cells[np.where(known, wanted, -1)]
    return _Similar(found, _by_chance(table))


def _by_chance(table: Contingency) -> float:
    """Return the mean similarity of independent clusterings with the sizes of two: objects share min(p, q) of p * q."""
    total = max(table.total, 1)
    p, q = np.sort(table.first_sizes / total), np.sort(table.second_sizes / total)
    # sum over pairs of p q min(p, q): for each p the smaller q count squared, the larger ones times p
    smaller = np.searchsorted(q, p, side="right")
    squares, sums = np.concatenate([[0.0], np.cumsum(q**2)]), np.concatenate([[0.0], np.cumsum(q)])
    return float((p * squares[smaller] + p**2 * (sums[-1] - sums[smaller])).sum())


def _flows(names: list[str], labels: IntArray, categories: Sequence[NDArray[Any]], place: int) -> list[Flow]:
    """Return the flows from one resolution to the next."""
    n_a, n_b = len(categories[place]), len(categories[place + 1])
    table = contingency(labels[:, place], labels[:, place + 1], n_a, n_b, np.ones(len(labels), dtype=np.int64))
    sizes, next_sizes = table.first_sizes, table.second_sizes
    return [
        Flow(
            names[place],
            categories[place][a],
            names[place + 1],
            categories[place + 1][b],
            int(count),
            float(count / sizes[a]),
            float(count / next_sizes[b]),
        )
        for a, b, count in zip(table.first.tolist(), table.second.tolist(), table.counts.tolist(), strict=True)
    ]


LEAST_SHOWN = 0.05
"""Flows that bring less than this share of the later cluster are left out of pictures."""


class DrawnCluster(NamedTuple):
    """A cluster in a picture of the clustering tree: its place from 0 (left) to 1, objects and mean consistency."""

    name: Any
    place: float
    objects: int
    consistency: float


class Level(NamedTuple):
    """The clusters of one resolution in a picture, and the flows into them: from, to, share of the later one."""

    nodes: list[DrawnCluster]
    arriving: list[tuple[int, int, float]]


def levels_of(found: Resolutions) -> list[Level]:
    """Return how to draw the clustering tree: each cluster stands below those that it comes from."""
    levels: list[Level] = []
    for number, categories in enumerate(found.categories):
        arriving = _arriving(found, number) if number else []
        places = _places(len(categories), [] if not number else levels[-1].nodes, arriving)
        labels, consistency = found.labels[:, number], found.consistency[:, number]
        known = (labels >= 0) & ~np.isnan(consistency)
        sizes = np.bincount(labels[labels >= 0], minlength=len(categories)).tolist()
        sums = np.bincount(labels[known], weights=consistency[known], minlength=len(categories))
        means = (sums / np.maximum(np.bincount(labels[known], minlength=len(categories)), 1)).tolist()
        nodes = [DrawnCluster(*node) for node in zip(categories.tolist(), places, sizes, means, strict=True)]
        levels.append(Level(nodes, [(start, end, flow.share_of_next) for flow, start, end in arriving]))
    return levels


def _arriving(found: Resolutions, number: int) -> list[tuple[Flow, int, int]]:
    """Return the flows into a level that are drawn, with the numbers of the clusters that they join."""
    above = {label: place for place, label in enumerate(found.categories[number - 1].tolist())}
    below = {label: place for place, label in enumerate(found.categories[number].tolist())}
    return [
        (flow, above[_plain(flow.cluster)], below[_plain(flow.into)])
        for flow in found.flows
        if flow.resolution == found.rows[number - 1].name and flow.share_of_next >= LEAST_SHOWN
    ]


def _places(n_nodes: int, above: Sequence[DrawnCluster], arriving: Sequence[tuple[Flow, int, int]]) -> list[float]:
    """Return where the clusters of a level stand, ordered by the mean place of the objects in the level above."""
    weight, wanted = np.zeros(n_nodes), np.arange(n_nodes, dtype=np.float64) if not above else np.zeros(n_nodes)
    for flow, start, end in arriving:
        weight[end] += flow.objects
        wanted[end] += flow.objects * above[start].place
    order = np.argsort(np.argsort(wanted / np.maximum(weight, 1), kind="stable"), kind="stable")
    return (order / (n_nodes - 1)).tolist() if n_nodes > 1 else [0.5] * n_nodes


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _choice(rows: Sequence[Resolution]) -> tuple[int, str]:
    """Return the place of the resolution to take, and the reason."""
    several = [
        (place, row.adjusted) for place, row in enumerate(rows) if row.n_clusters > 1 and row.adjusted is not None
    ]
    if not several:
        return 0, "no resolution has two clusters, so there is nothing to choose."
    best = max(value for _, value in several)
    near = [(rows[place].n_clusters, value, place) for place, value in several if value >= best - NEAR]
    _, value, place = max(near)
    row = rows[place]
    alike = "beyond chance its runs are alike" if row.n_runs > 1 else "beyond chance it is like the next resolutions"
    most = f"and of those within {NEAR:g} of the best it has the most clusters"
    rest = "which is the best" if len(near) == 1 else most
    return place, f"{_check.counted(row.n_clusters, 'cluster')} ({row.name}): {alike} by {value:.2f}, {rest}."

"""Contingency tables of two labellings, kept as their non-empty cells, and scores that follow from them; ANMI."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import Ensemble, FloatArray, IntArray
from quorate.solvers.label_rows import tally_if_small
from quorate.solvers.parts import row_by_row

Average = Literal["geometric", "arithmetic"]
AVERAGES: tuple[Average, ...] = ("geometric", "arithmetic")

LARGE_CELLS = 1e5
"""Expected objects in each cell of a table from which the limit for many objects is exact to nine digits."""
EXACT_SQUARES = 3_037_000_499
"""The largest number of objects whose square fits into int64."""


class Contingency(NamedTuple):
    """How many objects two labellings put into each pair of clusters; cells without objects are left out.

    The cells number at most as many as the rows counted, however many clusters there are.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    counts: NDArray[Any]

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    @property
    def first_sizes(self) -> NDArray[Any]:
        return _add_up(self.first, self.counts)

    @property
    def second_sizes(self) -> NDArray[Any]:
        return _add_up(self.second, self.counts)


def contingency(
    first: NDArray[Any], second: NDArray[Any], n_first: int, n_second: int, counts: NDArray[np.int64]
) -> Contingency:
    """The table of two labellings of the same rows with codes below n_first and n_second; -1 is an unlabelled row."""
    known = (first >= 0) & (second >= 0)
    counts = counts[known]
    cells = first[known].astype(np.int64) * n_second + second[known]
    if _is_small(n_first * n_second, len(first)):
        return non_empty(np.bincount(cells, counts, n_first * n_second).reshape(n_first, n_second))
    filled, inverse = np.unique(cells, return_inverse=True)
    return Contingency(filled // n_second, filled % n_second, squarable(_add_up(inverse, counts)))


def member_contingencies(ensemble: Ensemble, labels: NDArray[np.int32], n_clusters: int) -> list[Contingency]:
    """The table of each member (first) with a labelling of the rows (second), over the rows that both know."""
    n_labels = ensemble.n_rows * ensemble.n_members
    is_small = _is_small(int(ensemble.offsets[-1]) * n_clusters, n_labels)
    counted = tally_if_small(ensemble, labels, n_clusters, is_small=is_small)
    if counted is not None:
        return [non_empty(table) for table in np.split(counted, ensemble.offsets[1:-1])]
    return [
        contingency(ensemble.labels[:, member], labels, int(k), n_clusters, ensemble.counts)
        for member, k in enumerate(ensemble.n_clusters)
    ]


def pair_contingencies(
    shared: NDArray[np.int64], offsets: NDArray[np.int64], members: NDArray[np.intp]
) -> Iterator[tuple[int, int, Contingency]]:
    """The tables of any two of these members, with the places of both; each pair once.

    shared (d, d) holds the number of objects that any two base clusters share.
    """
    parts = [slice(offsets[member], offsets[member + 1]) for member in members]
    for place, first in enumerate(parts):
        for other, second in enumerate(parts[place:], start=place):
            yield place, other, non_empty(shared[first, second])


def squarable(counts: NDArray[Any]) -> NDArray[Any]:
    """Counts as integers if their squares add up without overflow, as floats if they might not."""
    return counts.astype(np.int64 if counts.sum() <= EXACT_SQUARES else np.float64)


def nmi(table: Contingency, average: Average) -> float:
    """NMI; two trivial labellings agree (1), one trivial labelling tells nothing about the other (0)."""
    first, second = (sizes.astype(np.float64) for sizes in (table.first_sizes, table.second_sizes))
    if len(table.counts) == np.count_nonzero(first) == np.count_nonzero(second):
        return 1.0
    total, counts = float(table.total), table.counts.astype(np.float64)
    entropies = [_entropy(sizes[sizes > 0], total) for sizes in (first, second)]
    if min(entropies) == 0.0:
        return 0.0
    lift = counts * total / (first[table.first] * second[table.second])
    information = _sum(counts / total * np.log(lift))
    mean = math.sqrt(entropies[0] * entropies[1]) if average == "geometric" else sum(entropies) / 2
    # rounding can carry the quotient past the ends of [0, 1]
    return min(max(information / mean, 0.0), 1.0)


def ari(table: Contingency) -> float:
    """Adjusted Rand index, computed in integers up to one division at the end."""
    together, first, second, pairs = (
        _pairs(sizes) for sizes in (table.counts, table.first_sizes, table.second_sizes, np.array([table.total]))
    )
    scale = (first + second) * pairs - 2 * first * second
    # zero where both labellings are one cluster or both are all singletons, thus equal
    return 2 * (together * pairs - first * second) / scale if scale else 1.0


def adjusted_information(table: Contingency, average: Average) -> float:
    """Adjusted mutual information: NMI minus what is expected of random labellings with clusters of the same sizes."""
    first, second = (sizes[sizes > 0] for sizes in (table.first_sizes, table.second_sizes))
    if len(table.counts) == len(first) == len(second):
        return 1.0
    total = float(table.total)
    entropies = [_entropy(sizes.astype(np.float64), total) for sizes in (first, second)]
    expected = _expected_information(first, second, table.total)
    mean = math.sqrt(entropies[0] * entropies[1]) if average == "geometric" else sum(entropies) / 2
    information = sum(entropies) / 2 - variation(table) / 2
    # without room above chance, as with one cluster, or one for each object, nothing can be beyond it
    return (information - expected) / (mean - expected) if mean - expected > 1e-12 else 0.0


def variation(table: Contingency) -> float:
    """Variation of information in nats: the two conditional entropies; exactly 0 for equal partitions."""
    counts = table.counts.astype(np.float64)
    first, second = table.first_sizes[table.first], table.second_sizes[table.second]
    return _sum(counts / float(table.total) * (np.log(first / counts) + np.log(second / counts)))


def pair_jaccard(table: Contingency) -> float:
    """Pairs of objects that both labellings put together, among those that at least one does; 1 if there is none."""
    together, first, second = (_pairs(sizes) for sizes in (table.counts, table.first_sizes, table.second_sizes))
    either = first + second - together
    return together / either if either else 1.0


def pair_fowlkes_mallows(table: Contingency) -> float:
    """The geometric mean of the shares of pairs that the other labelling puts together; 1 if neither has a pair."""
    together, first, second = (_pairs(sizes) for sizes in (table.counts, table.first_sizes, table.second_sizes))
    if not first or not second:
        return float(first == second)
    return math.sqrt(together / first) * math.sqrt(together / second)


def element_shares(table: Contingency) -> FloatArray:
    """The element-centric similarity of the objects in each cell: their number by the larger of its two clusters."""
    larger = np.maximum(table.first_sizes[table.first], table.second_sizes[table.second])
    shares: FloatArray = table.counts / larger
    return shares


def nearest_jaccard(table: Contingency, n_first: int) -> FloatArray:
    """For each of the first clusters, its Jaccard similarity with the most similar second one; NaN without objects."""
    shared = table.counts.astype(np.float64)
    either = table.first_sizes[table.first] + table.second_sizes[table.second] - shared
    found = np.full(n_first, -1.0)
    np.maximum.at(found, table.first, shared / either)
    return np.where(found < 0, np.nan, found)


def _expected_information(first: NDArray[Any], second: NDArray[Any], total: int) -> float:
    """The mean mutual information of random labellings with clusters of these sizes.

    Clusters of equal size have equal terms, so that the cost is that of the different sizes. Numbers of shared objects
    that are farther than 12 standard deviations (and 60 objects) from their mean add less than rounding.
    """
    from scipy.special import gammaln

    if float(first.min()) * float(second.min()) >= LARGE_CELLS * total:
        return (len(first) - 1) * (len(second) - 1) / (2.0 * total)

    def log_factorial(numbers: Any) -> Any:
        return gammaln(np.asarray(numbers, dtype=np.float64) + 1.0)

    values = []
    others, other_times = np.unique(second.astype(np.int64), return_counts=True)
    for size, times in zip(
        *(part.tolist() for part in np.unique(first.astype(np.int64), return_counts=True)), strict=True
    ):
        mean = size * (others / total)
        reach = 12 * np.sqrt(mean) + 60
        low = np.maximum(np.maximum(1, size + others - total), (mean - reach).astype(np.int64))
        lengths = np.minimum(np.minimum(size, others), (mean + reach).astype(np.int64)) - low + 1
        place = np.repeat(np.arange(len(others)), lengths)
        shared = np.arange(len(place)) - np.repeat(np.cumsum(lengths) - lengths - low, lengths)
        other = others[place]
        fixed = log_factorial(size) + log_factorial(total - size) - log_factorial(total)
        logs = fixed + (log_factorial(others) + log_factorial(total - others))[place]
        logs -= log_factorial(shared) + log_factorial(size - shared) + log_factorial(other - shared)
        logs -= log_factorial(total - size - other + shared)
        parts = shared / total * np.log(total * (shared / (size * other.astype(np.float64)))) * np.exp(logs)
        values.append(times * float(other_times[place] @ parts))
    return math.fsum(values)


def accuracy(table: Contingency) -> float:
    """Share of the objects in cells of the best one-to-one matching of clusters.

    Memory is linear in cells, while linear_sum_assignment would need the full table. Time grows with the square of the
    number of clusters at worst, which is noticeable from some ten thousand clusters on.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    n_first, n_second = int(table.first.max()) + 1, int(table.second.max()) + 1
    # A partner of its own lets a first cluster stay unmatched, so that a full matching always exists and empty
    # cells need no place; one more on every edge keeps their weights from zero and changes no comparison.
    alone = np.arange(n_first)
    weights = np.concatenate([table.counts + 1, np.ones(n_first)]).astype(np.float64)
    places = np.concatenate([table.first, alone]), np.concatenate([table.second, n_second + alone])
    graph = csr_array((weights, places), shape=(n_first, n_second + n_first))
    _, partner = min_weight_full_bipartite_matching(graph, maximize=True)
    matched = table.counts[partner[table.first] == table.second]
    return int(matched.sum()) / table.total


def mean_nmi(tables: list[Contingency], weights: FloatArray, average: Average) -> float:
    """ANMI: the mean NMI, each table by its member's weight times its number of objects; NaN without objects."""
    importance = weights * [table.total for table in tables]
    values = [nmi(table, average) if table.total else 0.0 for table in tables]
    total = _sum(importance)
    return _sum(importance * values) / total if total else math.nan


def _is_small(n_cells: int, n_entries: int) -> bool:
    """Whether a dense table costs no more memory than sorting the labels it is counted from, or next to nothing."""
    return n_cells <= max(4 * n_entries, 65_536)


def non_empty(table: NDArray[Any]) -> Contingency:
    """The cells of a dense table that hold objects."""
    first, second = np.nonzero(table)
    return Contingency(first, second, squarable(table[first, second]))


def _add_up(places: NDArray[np.intp], counts: NDArray[Any]) -> NDArray[Any]:
    # bincount adds in float64, which is exact below 2**53 objects
    return np.bincount(places, counts).astype(counts.dtype)


def _pairs(sizes: NDArray[Any]) -> int:
    """Ordered pairs of different objects within groups of these sizes."""
    return int((squarable(sizes) ** 2).sum()) - int(sizes.sum())


def _entropy(sizes: FloatArray, total: float) -> float:
    return _sum(sizes / total * np.log(total / sizes))


def _sum(values: FloatArray) -> float:
    """The sum rounded once, so that it does not depend on the order, and scores that are equal on paper are equal."""
    return math.fsum(values.tolist())


def anmi(ensemble: Ensemble, labels: NDArray[np.int32], n_clusters: int) -> float:
    """ANMI (geometric) of a labelling of the rows, in which -1 stands for an unlabelled row."""
    return mean_nmi(member_contingencies(ensemble, labels, n_clusters), ensemble.weights, "geometric")


@row_by_row()
def member_labels(ensemble: Ensemble, member: int) -> NDArray[np.int32]:
    """A member's labels as a labelling of the rows."""
    return ensemble.labels[:, member].astype(np.int32)


def member_anmi(ensemble: Ensemble, members: Iterable[int] | None = None) -> list[float]:
    """ANMI of each of the given members (all of them by default) with all members, itself included."""
    chosen = range(ensemble.n_members) if members is None else members
    return [anmi(ensemble, member_labels(ensemble, q), int(ensemble.n_clusters[q])) for q in chosen]


def members_with(ensemble: Ensemble, n_clusters: int | None) -> NDArray[np.intp]:
    """The members that have exactly so many clusters; all members if no number is given."""
    if n_clusters is None:
        return np.arange(ensemble.n_members)
    return np.flatnonzero(ensemble.n_clusters == n_clusters)


def matched(before: IntArray, labels: IntArray, counts: NDArray[np.int64]) -> IntArray:
    """Renumber labels by the clusters of `before` that they are matched with.

    Clusters without a match get new numbers.
    """
    from scipy.optimize import linear_sum_assignment

    n_before, n_labels = int(before.max()) + 1, int(labels.max()) + 1
    table = contingency(before, labels, n_before, n_labels, counts)
    shared = np.zeros((n_before, n_labels))
    shared[table.first, table.second] = table.counts
    old, new = linear_sum_assignment(shared, maximize=True)
    met = shared[old, new] > 0
    number = np.full(n_labels, -1, dtype=np.int64)
    number[new[met]] = old[met]
    missing = number < 0
    number[missing] = n_before + np.arange(int(missing.sum()))
    return number[labels]

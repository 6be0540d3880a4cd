"""`explain`: the columns of a table in which each cluster differs most from the other objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from quorate import _check
from quorate._check import counted
from quorate._data.labelling import Labelling, code_labelling
from quorate._data.typed_columns import TypedColumn, TypedTable, power_of_two, typed_table
from quorate._summaries import need_library
from quorate._types import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas

NO_TEST = (
    "No p-values: the clusters may have been made from these columns, and then any test would find differences. "
    "To test one, make the clusters from half of the objects or columns and look at the other half."
)
STRONG, CLEAR = 0.8, 0.5
"""Effect sizes from which a difference is large, or medium, by Cohen's convention; smaller ones make no sentence."""
MATRIX_TRAITS = 50
"""Traits of a cluster in a sparse matrix, which may have many thousand columns, unless another number is asked for."""
SHOWN = 3
"""Traits in the sentence of a cluster."""


class Trait(NamedTuple):
    """How one cluster differs from all other objects in one column, or in one category of it.

    `value` is the mean of the cluster, or the share of its objects with the category, and `others` that of the other
    objects. `effect` is the difference in standard deviations (Cohen's d), or of two shares Cohen's h; positive if
    the cluster has more. `missing` is the share of the cluster's objects without a value.
    """

    cluster: str
    column: str
    kind: str
    category: str | None
    value: float
    others: float
    effect: float
    missing: float

    @property
    def text(self) -> str:
        """The trait in words, such as "high income (52.1, others 31)"."""
        words, write = _WORDING.get(self.kind, _OF_SHARES)
        name = self.column if self.category is None else f"{self.column} {self.category}"
        return f"{words[int(self.effect < 0)]} {name} ({write(self.value)}, others {write(self.others)})"


_WORDING: dict[str, tuple[tuple[str, str], Callable[[float], str]]] = {
    "number": (("high", "low"), lambda value: f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.3g}"),
    "date": (("late", "early"), lambda days: str(np.datetime64(round(days), "D"))),
}
_OF_SHARES: tuple[tuple[str, str], Callable[[float], str]] = (("often", "seldom"), lambda share: f"{share:.0%}")


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What is typical of each cluster, as `explain` returns it; prints one line per cluster.

    Parameters
    ----------
    cluster_names : tuple of str
        Names of the clusters.
    sizes : int64 array of shape (n_clusters,)
        The number of objects in each cluster.
    traits : tuple of Trait
        For each cluster in turn, all its traits, the largest effects first.
    left_out : mapping
        Columns that could not be used, with the reason.
    """

    cluster_names: tuple[str, ...]
    sizes: IntArray
    traits: tuple[Trait, ...]
    left_out: Mapping[str, str]

    def of(self, cluster: int | str, *, least: float = 0.0, most: int | None = None) -> list[Trait]:
        """Return the traits of one cluster, the largest effects first.

        Parameters
        ----------
        cluster : int or str
            The number of the cluster, or its name.
        least : float
            Effects closer to 0 than this are left out.
        most : int, optional
            The largest number of traits.
        """
        limit = None if most is None else _check.integer(most, "most", low=1)
        name = cluster if isinstance(cluster, str) else self.cluster_names[self._number(cluster)]
        if name not in self.cluster_names:
            _check.choice(name, "cluster", self.cluster_names)
        found = [trait for trait in self.traits if trait.cluster == name and abs(trait.effect) >= least]
        return found[:limit]

    def _number(self, cluster: int) -> int:
        return _check.integer(cluster, "cluster", low=0, high=len(self.cluster_names) - 1)

    def sentences(self) -> list[str]:
        """Return one sentence for each cluster: its size, and up to three traits of at least medium effect."""
        total = max(int(self.sizes.sum()), 1)
        return [
            f"{name} ({counted(size, 'object')}, {size / total:.0%}): {self._traits_in_words(name)}"
            for name, size in zip(self.cluster_names, self.sizes.tolist(), strict=True)
        ]

    def _traits_in_words(self, name: str) -> str:
        seen: dict[str, Trait] = {}
        for trait in self.of(name, least=CLEAR):
            seen.setdefault(trait.column, trait)
        return ", ".join(trait.text for trait in list(seen.values())[:SHOWN]) or "differs clearly in no column"

    def __repr__(self) -> str:
        return "\n".join(self.sentences())

    def as_dict(self) -> dict[str, Any]:
        """Return clusters, traits and columns left out as lists and dictionaries of plain types."""
        clusters = [
            {"cluster": name, "objects": int(size), "traits": [trait._asdict() for trait in self.of(name)]}
            for name, size in zip(self.cluster_names, self.sizes.tolist(), strict=True)
        ]
        return {"clusters": clusters, "left_out": dict(self.left_out), "note": NO_TEST}

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with one row per trait."""
        frame: pandas.DataFrame = need_library("pandas").DataFrame(list(self.traits), columns=list(Trait._fields))
        return frame


def explain(
    labels: Any, table: Any, *, ids: str | None = None, names: Sequence[str] | None = None, most: int | None = None
) -> Explanation:
    """Return the columns of a table in which each cluster differs most from all other objects.

    Parameters
    ----------
    labels : Consensus, or labels of the objects
        Matched with the table by id if both have ids, otherwise by order. Objects without a label are left out.
    table : data frame, mapping of columns, array or sparse matrix
        One row per object. Columns may hold numbers, dates, yes or no, or categories, and gaps. Columns of other
        kinds, of one value, and of texts that nearly all differ are left out; ``left_out`` gives the reasons.
    ids : str, optional
        The column of a data frame that names the objects.
    names : sequence of str, optional
        Names of the columns of an array or a sparse matrix.
    most : int, optional
        The largest number of traits for each cluster; all by default, 50 for a sparse matrix.

    Returns
    -------
    Explanation
        It is printed with one sentence per cluster. ``of(cluster)`` lists the traits of a cluster; `as_dict` and
        `to_frame` contain everything; `quorate.plot.traits` draws it.

    See Also
    --------
    rules : A short rule for each cluster, with its precision and recall.
    profiles : The labels of the members that each cluster consists of.

    Notes
    -----
    Numbers and dates are compared by the difference of means in pooled standard deviations (Cohen's d), shares by the
    difference of their arcsines (Cohen's h). Of a category all values are compared, and also how often a value is
    missing. There are no p-values: clusters that were made from these columns differ in them by construction, so that
    a test would always find something. The cost is O(objects x columns); a sparse matrix is not made dense.

    Examples
    --------
    >>> people = {"income": [20, 22, 24, 60, 62, 61], "visits": [9, 7, 8, 8, 9, 7], "town": list("ABABBB")}
    >>> explain(["low", "low", "low", "high", "high", "high"], people)
    low (3 objects, 50%): low income (22, others 61), often town A (67%, others 0%)
    high (3 objects, 50%): high income (61, others 22), often town B (100%, others 33%)
    """
    typed = typed_table(table, ids=ids, names=names)
    labelling = labels_beside(labels, typed)
    limit = None if most is None else _check.integer(most, "most", low=1)
    return explained(labelling, typed, limit)


def labels_beside(labels: Any, table: TypedTable) -> Labelling:
    """Return the labels of the objects of a table, matched by id if both have ids."""
    return code_labelling(
        labels,
        "labels",
        table.n_objects,
        ids=table.object_ids,
        id_name=table.id_name,
        default_index=table.has_index and table.object_ids is None,
        advice="pass the table of the same objects",
    )


def explained(labelling: Labelling, table: TypedTable, most: int | None = None) -> Explanation:
    """Return the traits of clusters that are coded already."""
    codes, n_clusters = labelling.codes, labelling.n_clusters
    names = tuple(map(str, labelling.categories.tolist()))
    sizes = np.bincount(codes[codes >= 0], minlength=n_clusters)
    if table.matrix is not None:
        found = _of_matrix(table, codes, names, most or MATRIX_TRAITS)
    else:
        found = [trait for column in table.columns for trait in _of_column(column, codes, sizes, names)]
    order = sorted(range(len(found)), key=lambda place: (-round(abs(found[place].effect), 9), found[place].effect < 0))
    by_cluster: dict[str, list[Trait]] = {name: [] for name in names}
    for place in order:
        by_cluster[found[place].cluster].append(found[place])
    traits = tuple(trait for name in names for trait in by_cluster[name][:most])
    return Explanation(names, sizes, traits, table.left_out)


def _of_column(column: TypedColumn, codes: IntArray, sizes: IntArray, names: tuple[str, ...]) -> Iterator[Trait]:
    known = ~column.missing & (codes >= 0)
    inside, values = codes[known], column.values[known]
    n_known = np.bincount(inside, minlength=len(sizes))
    gaps = 1 - n_known / np.maximum(sizes, 1)
    if column.kind in ("number", "date"):
        scale = power_of_two(values)
        scaled = values / scale
        centre = scaled.mean() if len(values) else 0.0
        first = np.bincount(inside, weights=scaled - centre, minlength=len(sizes))
        second = np.bincount(inside, weights=(scaled - centre) ** 2, minlength=len(sizes))
        means, rest, effects = _standardised(first, second, n_known, centre)
        rows: list[tuple[str | None, FloatArray, FloatArray, FloatArray]] = [
            (None, means * scale, rest * scale, effects)
        ]
    else:
        rows = [(level, *_shares(hits, n_known)) for level, hits in _level_counts(column, values, inside, len(sizes))]
    for level, own, others, effects in rows:
        for place, name in enumerate(names):
            if n_known[place] and not np.isnan(effects[place]):
                facts = (float(own[place]), float(others[place]), float(effects[place]), float(gaps[place]))
                yield Trait(name, column.name, column.kind, level, *facts)
    if 0 < n_known.sum() < sizes.sum():
        shares = (values.tolist() for values in _shares(sizes - n_known, sizes))
        for name, own_gaps, other_gaps, effect in zip(names, *shares, strict=True):
            if not np.isnan(effect):
                yield Trait(name, column.name, "missing", "missing", own_gaps, other_gaps, effect, own_gaps)


def _level_counts(
    column: TypedColumn, values: Any, clusters: IntArray, n_clusters: int
) -> Iterator[tuple[str | None, IntArray]]:
    """Yield each value of a category, and its number of objects in each cluster; of yes and no, only yes."""
    levels = (column.categories or (None, None)) if column.kind == "yes/no" else column.categories
    pairs = np.bincount(clusters * len(levels) + values.astype(np.int64), minlength=n_clusters * len(levels))
    counts = pairs.reshape(n_clusters, len(levels)).T
    return zip(levels, counts, strict=True) if column.kind == "category" else iter([(levels[1], counts[1])])


def _standardised(first: Any, second: Any, n: IntArray, centre: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the mean of each cluster, that of all others, and their difference in pooled standard deviations.

    `first` and `second` are the sums of the values and of their squares, the values being taken from `centre`.
    Where neither side varies, a difference is infinite in standard deviations; it is then given as 10.
    """
    total, squares = first.sum(axis=-1, keepdims=True), second.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        own, others = first / n, (total - first) / (n.sum() - n)
        within = squares - first * own - np.where(n < n.sum(), (total - first) * others, 0.0)
        spread = np.sqrt(np.maximum(within, 0.0) / np.maximum(n.sum() - 2, 1))
        difference = own - others
        effects = np.where(difference == 0, 0.0, difference / spread)
    # a mean of zero is not left with the rounding of the centre
    means = [np.where(np.abs(side + centre) < 1e-14 * np.abs(centre), 0.0, side + centre) for side in (own, others)]
    return means[0], means[1], np.clip(effects, -10, 10)


def _shares(hits: IntArray, n: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the share of each cluster's objects, that of all others, and the difference of arcsines (Cohen's h)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        own, others = hits / n, (hits.sum() - hits) / (n.sum() - n)
    effects: FloatArray = 2 * (np.arcsin(np.sqrt(own)) - np.arcsin(np.sqrt(others)))
    return own, others, effects


def _sums(member: Any, matrix: Any) -> tuple[FloatArray, FloatArray]:
    """Return the sums of the values of each cluster and column, and of their squares."""
    if hasattr(matrix, "tocsr"):
        values = matrix.tocsr().astype(np.float64)
        return (member @ values).toarray(), (member @ values.multiply(values)).toarray()
    return member @ matrix, member @ matrix**2


def _centred(matrix: Any) -> tuple[Any, Any, Any]:
    """Return a dense matrix from the means of its columns, in units that squares do not overflow, with both of these.

    A sparse matrix stays as it is.
    """
    if hasattr(matrix, "tocsr"):
        return matrix, 0.0, 1.0
    values = np.asarray(matrix, dtype=np.float64)
    scale = power_of_two(values)
    values = values / scale
    centre = values.mean(axis=0)
    values -= centre
    return values, centre[:, None], scale[:, None]


def _of_matrix(table: TypedTable, codes: IntArray, names: tuple[str, ...], most: int) -> list[Trait]:
    """Return the largest traits of each cluster in a matrix, sparse or dense."""
    from scipy.sparse import csr_array

    known = np.flatnonzero(codes >= 0)
    member = csr_array((np.ones(len(known)), (codes[known], known)), shape=(len(names), len(codes)))
    matrix, centre, scale = _centred(table.matrix)
    first, second = _sums(member, matrix)
    n = np.bincount(codes[known], minlength=len(names))
    found = []
    own, others, effects = _standardised(first.T, second.T, n, centre)
    own, others = own * scale, others * scale
    for cluster, name in enumerate(names):
        sizes = np.nan_to_num(np.abs(effects[:, cluster]))
        for column in np.argsort(-sizes, kind="stable")[:most].tolist():
            value, rest, effect = (float(values[column, cluster]) for values in (own, others, effects))
            found.append(Trait(name, table.names[column], "number", None, value, rest, effect, 0.0))
    return found

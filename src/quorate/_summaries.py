"""Results as tables: data frames, labels in clusters, scores of members, places of new objects, the choice of k."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from quorate import _check

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


Self = TypeVar("Self", bound="ResultTable")

AMBIGUOUS = 0.6
"""The confidence below which an object is ambiguous: more than four of ten fresh ensembles would place it elsewhere."""


class ResultTable:
    """A cluster for each object, with its confidence and runner-up; the base class of `Consensus` and `Placement`."""

    labels: NDArray[np.int32]
    confidence: NDArray[np.float64] | None
    runner_up: NDArray[np.int32] | None
    object_ids: NDArray[Any] | None
    id_name: str
    cluster_names: tuple[str, ...] | None

    if TYPE_CHECKING:

        @property
        def n_clusters(self) -> int: ...

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of objects in each cluster; objects without a cluster are not counted."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.n_clusters)

    def ambiguous(self, below: float = AMBIGUOUS) -> NDArray[np.intp]:
        """Return the places of the objects whose confidence lies below a threshold, the least certain first.

        Parameters
        ----------
        below : float
            The threshold, from 0 to 1. Confidence is the estimated probability that the same procedure would place the
            object in the same cluster on a fresh ensemble.

        Returns
        -------
        array of places
            Equally certain objects stay in their order. ``result.to_frame().iloc[result.ambiguous()]`` shows them as a
            table.

        Examples
        --------
        >>> from quorate import consensus
        >>> consensus([[0, 0, 1, 1, 1], [0, 0, 0, 1, 1], [0, 0, 0, 1, 1]], 2, method="eac").ambiguous(below=0.85)
        array([2])
        """
        threshold = _check.fraction(below, "below")
        if self.confidence is None:
            raise ValueError("the result has no confidence, so that no object can be called ambiguous.")
        low = np.flatnonzero(self.confidence < threshold)
        return low[np.argsort(self.confidence[low], kind="stable")]

    def renamed(self: Self, names: Mapping[int, str]) -> Self:
        """Return the same result with names for its clusters, which tables, files and the report then show.

        Parameters
        ----------
        names : mapping of cluster numbers to names
            Clusters that are not in the mapping keep their name, which is their number at first. `labels` stay numbers.

        Examples
        --------
        >>> from quorate import consensus, save_labels
        >>> result = consensus([["a", "a", "b"], [1, 1, 2]], 2).renamed({0: "bargain hunters"})
        >>> result.cluster_names
        ('bargain hunters', '1')
        """
        if not isinstance(names, Mapping):
            raise TypeError(f"names must be a mapping such as {{0: 'bargain hunters'}}, got {type(names).__name__}.")
        full = list(self.shown_names)
        for cluster, name in names.items():
            number = _check.integer(cluster, "a cluster to rename", low=0, high=self.n_clusters - 1)
            if not isinstance(name, str) or not name.strip():
                raise TypeError(f"the name of cluster {number} must be a text that is not empty, got {name!r}.")
            full[number] = name
        twice = sorted(name for name, times in Counter(full).items() if times > 1)
        if twice:
            raise ValueError(f"two clusters cannot have one name, got {', '.join(map(repr, twice))} more than once.")
        # only the subclasses, Consensus and Placement, are dataclasses, and mypy looks at the bound of Self
        return replace(self, cluster_names=tuple(full))  # type: ignore[type-var]

    @property
    def shown_names(self) -> tuple[str, ...]:
        """The names of the clusters that `renamed` gave, or their numbers."""
        return tuple(map(str, range(self.n_clusters))) if self.cluster_names is None else self.cluster_names

    def to_frame(self, memberships: Any = None) -> pandas.DataFrame:
        """Return a pandas DataFrame with one row per object: label, confidence and runner-up.

        With `memberships` (what the method of that name returns) there is a column "p 0" for cluster 0, and so on.

        Its index is that of the input. Columns without known values are left out. `runner_up` is the best other
        cluster; it is missing if no other cluster shares a label with the object. If clusters were renamed, both
        columns are categorical.

        Examples
        --------
        >>> import pandas as pd
        >>> from quorate import consensus
        >>> people = pd.DataFrame({"a": [1, 1, 2], "b": ["x", "x", "y"]}, index=["ann", "bob", "cid"])
        >>> consensus(people, 2).to_frame().round(2)
             label  confidence  runner_up
        ann      0        0.96       <NA>
        bob      0        0.96       <NA>
        cid      1        0.96       <NA>
        """
        library: Any = need_library("pandas")
        columns = {}
        for name, values in _columns(self).items():
            if name in ("label", "runner_up") and self.cluster_names is not None:
                columns[name] = library.Categorical.from_codes(values, list(self.cluster_names))
            elif name == "runner_up" or (name == "label" and values.min() < 0):
                columns[name] = library.arrays.IntegerArray(np.maximum(values, 0), values < 0)
            else:
                columns[name] = values
        if memberships is not None:
            clusters = self.cluster_names or range(self.n_clusters)
            columns |= {f"p {name}": share for name, share in zip(clusters, np.asarray(memberships).T, strict=True)}
        # ids that had no name are named "id"
        id_name = None if self.id_name == "id" else self.id_name
        index = None if self.object_ids is None else library.Index(self.object_ids, name=id_name)
        frame: pandas.DataFrame = library.DataFrame(columns, index=index)
        return frame

    def to_polars(self) -> polars.DataFrame:
        """Return a polars DataFrame with one row per object: id if objects have one, label, confidence, runner-up.

        Examples
        --------
        >>> from quorate import consensus
        >>> consensus([[0, 0, 1], [0, 0, 1]], 2).to_polars().columns
        ['label', 'confidence', 'runner_up']
        """
        library = need_library("polars")
        frame: polars.DataFrame = library.DataFrame(_listed(self))
        return frame

    def to_arrow(self) -> pyarrow.Table:
        """Return an Arrow table with one row per object: id if objects have one, label, confidence, runner-up.

        Examples
        --------
        >>> from quorate import consensus
        >>> consensus([[0, 0, 1], [0, 0, 1]], 2).renamed({1: "late"}).to_arrow()["label"].to_pylist()
        ['0', '0', 'late']
        """
        library = need_library("pyarrow")
        table: pyarrow.Table = library.table(_listed(self))
        return table


def _columns(result: ResultTable) -> dict[str, NDArray[Any]]:
    columns = {"label": result.labels, "confidence": result.confidence, "runner_up": result.runner_up}
    return {name: values for name, values in columns.items() if values is not None}


def _listed(result: ResultTable) -> dict[str, Any]:
    """Return the columns by name: as arrays if all values are known, otherwise as lists with None for missing ones."""
    known_columns = _columns(result)
    id_name = "id" if result.id_name in ("", *known_columns) else result.id_name
    ids = {} if result.object_ids is None else {id_name: result.object_ids}
    columns: dict[str, Any] = {}
    for name, values in {**ids, **known_columns}.items():
        if name in ("label", "runner_up") and (result.cluster_names is not None or values.min() < 0):
            shown = result.cluster_names or range(result.n_clusters)
            # -1, an unknown cluster, reads the last place
            known = [*shown, None]
            columns[name] = [known[value] for value in values.tolist()]
        else:
            columns[name] = values.tolist() if values.dtype.kind in "UO" else values
    return columns


def need_library(library: str) -> Any:
    """Import the library that makes a table, or raise an error that says how to install it."""
    from importlib import import_module

    try:
        return import_module(library)
    except ImportError as error:
        verb = {"pandas": "to_frame", "polars": "to_polars", "pyarrow": "to_arrow"}[library]
        package = '"quorate[parquet]"' if library == "pyarrow" else library
        raise ImportError(f"{verb} needs {library}; install it with: pip install {package}") from error


MEMBERS_SHOWN = 6
"""The number of members whose most common label is shown in the line of a cluster."""
LENGTH = 24
"""The largest number of characters of a name or a label that are shown."""


class LabelShare(NamedTuple):
    """How common one label of a member is in a cluster.

    `objects` counts the objects of the cluster that have the label, and `share` is their share of the objects of the
    cluster that the member labels. `overall` is the share of the label among all objects that the member labels.
    """

    member: str
    label: Any
    objects: int
    share: float
    overall: float


@dataclass(frozen=True, eq=False, repr=False)
class Profiles:
    """The share of each label of each member in each cluster, as `profiles` returns it; prints one line per cluster.

    Parameters
    ----------
    cluster_names : tuple of str
        Names of the clusters.
    sizes : int64 array of shape (n_clusters,)
        The number of objects in each cluster.
    member_names : tuple of str
        Names of the members.
    categories : tuple of arrays
        The labels of each member.
    counts : int64 array of shape (n_labels, n_clusters)
        The number of objects with each label in each cluster; the labels of the first member come first.
    """

    cluster_names: tuple[str, ...]
    sizes: NDArray[np.int64]
    member_names: tuple[str, ...]
    categories: tuple[NDArray[Any], ...]
    counts: NDArray[np.int64]

    @property
    def members(self) -> NDArray[np.intp]:
        """The member that each row of `counts` belongs to."""
        return np.repeat(np.arange(len(self.categories)), [len(labels) for labels in self.categories])

    @property
    def shares(self) -> NDArray[np.float64]:
        """`counts` divided by the number of objects of the cluster that the member labels; 0 if it labels none."""
        known = np.zeros((len(self.categories), len(self.sizes)), dtype=np.int64)
        np.add.at(known, self.members, self.counts)
        result: NDArray[np.float64] = self.counts / np.maximum(known, 1)[self.members]
        return result

    @property
    def overall(self) -> NDArray[np.float64]:
        """The share of each label among all objects that its member labels."""
        totals = self.counts.sum(axis=1)
        result: NDArray[np.float64] = totals / np.maximum(np.bincount(self.members, weights=totals), 1)[self.members]
        return result

    def of(self, cluster: int, *, least: float = 0.0) -> list[LabelShare]:
        """Return the labels of the objects in one cluster, the largest shares first.

        Parameters
        ----------
        cluster : int
            The number of the cluster.
        least : float
            Smaller shares are left out. Labels that no object of the cluster has are always left out.
        """
        number = _check.integer(cluster, "cluster", low=0, high=len(self.sizes) - 1)
        smallest = _check.fraction(least, "least")
        shares, members, labels, overall = self.shares[:, number], self.members, self._labels(), self.overall
        order = [place for place in np.argsort(-shares, kind="stable").tolist() if self.counts[place, number]]
        return [
            LabelShare(
                self.member_names[members[place]],
                labels[place],
                int(self.counts[place, number]),
                float(shares[place]),
                float(overall[place]),
            )
            for place in order
            if shares[place] >= smallest
        ]

    def commonest(self) -> list[list[LabelShare]]:
        """For each cluster the commonest label of each member, the largest shares first.

        Members that label no object of a cluster are left out. Of labels that are equally common the first is taken.
        """
        overall, labels = self.overall, self._labels()
        members = [member for member, names in enumerate(self.categories) if len(names)]
        ends = np.cumsum([0, *(len(names) for names in self.categories)])
        blocks = [self.counts[ends[member] : ends[member + 1]] for member in members]
        objects = np.array([block.max(axis=0) for block in blocks])
        shares = objects / np.maximum([block.sum(axis=0) for block in blocks], 1)
        places = np.array([ends[member] for member in members])[:, None] + [block.argmax(axis=0) for block in blocks]
        order = np.argsort(-shares, axis=0, kind="stable")
        return [
            [
                LabelShare(
                    self.member_names[members[row]],
                    labels[places[row, cluster]],
                    int(objects[row, cluster]),
                    float(shares[row, cluster]),
                    float(overall[places[row, cluster]]),
                )
                for row in order[:, cluster].tolist()
                if objects[row, cluster]
            ]
            for cluster in range(len(self.sizes))
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the clusters with their sizes and all their labels, as lists and dictionaries of plain types."""
        return {
            "clusters": [
                {
                    "cluster": cluster,
                    "name": name,
                    "objects": int(self.sizes[cluster]),
                    "labels": [entry._asdict() for entry in self.of(cluster)],
                }
                for cluster, name in enumerate(self.cluster_names)
            ]
        }

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with one row per cluster, member and label, and their objects, share, overall."""
        library = need_library("pandas")
        rows = [(name, *entry) for cluster, name in enumerate(self.cluster_names) for entry in self.of(cluster)]
        frame: pandas.DataFrame = library.DataFrame(rows, columns=["cluster", *LabelShare._fields])
        return frame

    def __str__(self) -> str:
        total = max(1, int(self.sizes.sum()))
        heads = [
            f"{_short(name)}  {size:,} objects ({size / total:.0%})"
            for name, size in zip(self.cluster_names, self.sizes.tolist(), strict=True)
        ]
        width = max(map(len, heads))
        lines = map(_line, self.commonest())
        return "\n".join(f"{head:<{width}}  {line}" for head, line in zip(heads, lines, strict=True))

    __repr__ = __str__

    def _labels(self) -> list[Any]:
        return [label for labels in self.categories for label in labels.tolist()]


class Standing(NamedTuple):
    """How one member compares with a labelling; a number is None if it is not defined.

    `nmi` is the member's NMI with the labelling, and `with_others` is its ANMI with the other members, both on the
    objects that it labels. `missing` is the share of the objects that it does not label. `apart` is 1 - nmi / (nmi of
    the median member): 0 for the median member, 1 for a member that has nothing in common with the
    labelling, and negative for a member that is closer to it than the median one.
    """

    member: str
    clusters: int
    missing: float
    weight: float
    nmi: float | None
    with_others: float | None
    apart: float | None
    stands_apart: bool


@dataclass(frozen=True, repr=False)
class MemberTable:
    """The table that `members` returns, which prints as one: one `Standing` per member, in their order."""

    rows: tuple[Standing, ...]

    def as_dict(self) -> dict[str, Any]:
        return {"members": [row._asdict() for row in self.rows]}

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with one row per member."""
        library = need_library("pandas")
        frame: pandas.DataFrame = library.DataFrame(list(self.rows), columns=list(Standing._fields))
        return frame.set_index("member")

    def __str__(self) -> str:
        width = max(len("member"), *(len(row.member) for row in self.rows))
        lines = [f"{'member':<{width}}  clusters  missing    nmi  with others   apart"]
        for row in self.rows:
            values = [_number(value, size) for value, size in zip(row[4:7], (5, 11, 6), strict=True)]
            mark = "  stands apart" if row.stands_apart else ""
            head = f"{row.member:<{width}}  {row.clusters:>8,}  {row.missing:>7.1%}"
            lines.append("  ".join([head, *values]) + mark)
        return "\n".join(lines)

    __repr__ = __str__


@dataclass(frozen=True, eq=False, repr=False)
class Placement(ResultTable):
    """The clusters of new objects, as `place` returns them; `to_frame` makes a table of them, `save_labels` a file.

    Parameters
    ----------
    labels : int32 array
        The cluster of each new object; -1 if none of its labels occurs in the ensemble.
    n_clusters : int
        How many clusters the labelling has, whether or not a new object is in them.
    confidence : float64 array or None
        The estimated probability that the same procedure would place the object in the same cluster on a fresh
        ensemble; 0 if the object has no cluster. It is on the scale of the labelling's own confidence,
        and None if there is only one member.
    runner_up : int32 array
        The best other cluster; -1 if no other cluster shares a label with the object.
    known : bool array
        Whether an object of the ensemble has the same row of labels; the new object then takes its cluster.
    unknown_labels : mapping
        For each member with new labels that do not occur in the ensemble, the number of objects that have them.
    absent_members : tuple of str
        Members of the ensemble that are not among the new labels.
    object_ids : array or None
        Names of the new objects, if they have any.
    cluster_names : tuple of str or None
        The names of the clusters, if they were renamed.
    id_name : str
        The name of the column of the objects' names.
    """

    labels: NDArray[np.int32]
    n_clusters: int
    confidence: NDArray[np.float64] | None
    runner_up: NDArray[np.int32]
    known: NDArray[np.bool_]
    unknown_labels: Mapping[str, int] = field(default_factory=dict)
    absent_members: tuple[str, ...] = ()
    object_ids: NDArray[Any] | None = None
    cluster_names: tuple[str, ...] | None = None
    id_name: str = "id"

    @property
    def n_unplaced(self) -> int:
        """The number of objects without a cluster, because none of their labels occurs in the ensemble."""
        return int((self.labels < 0).sum())

    def __repr__(self) -> str:
        parts = [f"{len(self.labels):,} objects in {self.n_clusters} clusters", f"{int(self.known.sum()):,} known rows"]
        if self.unknown_labels:
            parts.append(f"unknown labels: {sum(self.unknown_labels.values()):,}")
        if self.n_unplaced:
            parts.append(f"not placed: {self.n_unplaced:,}")
        return f"Placement({', '.join(parts)})"


DISSOLVES, UNCERTAIN, STABLE, HIGHLY_STABLE = STABILITY_WORDS = (
    "dissolves",
    "a pattern, but uncertain",
    "stable",
    "highly stable",
)
STABILITY_LIMITS = (0.6, 0.75, 0.85)
"""The stability from which each word but the first is used; docs/decisions/0101-stability-of-clusters.md says why."""


class ClusterStability(NamedTuple):
    """The stability of one cluster, from 0 to 1, and what it means; both None if it could not be measured."""

    cluster: str
    objects: int
    stability: float | None
    meaning: str | None


@dataclass(frozen=True, repr=False)
class StabilityTable:
    """The stability of each cluster, as `evaluate` returns it; prints as a table, one `ClusterStability` a line."""

    rows: tuple[ClusterStability, ...]

    @classmethod
    def of(cls, names: Iterable[Any], sizes: Iterable[Any], values: NDArray[np.float64]) -> StabilityTable:
        """Return the table of clusters with these names, numbers of objects and stabilities; NaN is not known."""
        lines = zip(names, sizes, values.tolist(), strict=True)
        return cls(
            tuple(
                ClusterStability(str(name), int(size), *((None, None) if value != value else (value, in_words(value))))
                for name, size, value in lines
            )
        )

    @property
    def dissolving(self) -> float:
        """The share of the objects that are in clusters that dissolve."""
        total = sum(row.objects for row in self.rows)
        dissolving = sum(row.objects for row in self.rows if row.meaning == DISSOLVES)
        return dissolving / total if total else 0.0

    def as_dict(self) -> dict[str, Any]:
        return {"stability": [row._asdict() for row in self.rows]}

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with one row per cluster."""
        library = need_library("pandas")
        frame: pandas.DataFrame = library.DataFrame(list(self.rows), columns=list(ClusterStability._fields))
        return frame.set_index("cluster")

    def __str__(self) -> str:
        width = max(len("cluster"), *(len(_short(row.cluster)) for row in self.rows))
        lines = [f"{'cluster':<{width}}  {'objects':>10}  stability"]
        for row in self.rows:
            value = _number(row.stability, 9)
            lines.append(f"{_short(row.cluster):<{width}}  {row.objects:>10,}  {value}  {row.meaning or ''}".rstrip())
        return "\n".join(lines)

    __repr__ = __str__


def in_words(stability: float) -> str:
    """Return what the stability of a cluster means."""
    return STABILITY_WORDS[sum(stability >= limit for limit in STABILITY_LIMITS)]


def _line(top: list[LabelShare]) -> str:
    """The commonest labels of a cluster in words."""
    told = [f"{_short(entry.member)} {_short(entry.label)} {entry.share:.0%}" for entry in top[:MEMBERS_SHOWN]]
    return ", ".join([*told, *(["..."] if len(top) > MEMBERS_SHOWN else [])])


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= LENGTH else text[: LENGTH - 1] + "…"


def _number(value: float | None, width: int) -> str:
    return f"{'-':>{width}}" if value is None else f"{value:>{width}.3f}"


CRITERIA = {
    "eigengap": "eigengap",
    "merge_gap": "merge gap",
    "link_gap": "link gap",
    "modularity": "modularity",
    "density_gain": "density gain",
    "lifetime": "lifetime",
    "anmi": "ANMI",
    "stability": "stability",
    "pac": "PAC",
}
"""The criteria in the order in which they are shown, and their names in words."""

WORDS = {
    "eigengap": "the members divide the objects most clearly into this many parts (eigengap)",
    "merge_gap": "with one cluster fewer, clusters that the members keep apart would be merged (merge gap)",
    "link_gap": "clusters share few nearest neighbours, with one cluster more they share many (link gap)",
    "modularity": "most links between neighbours are within clusters, compared with chance (modularity)",
    "density_gain": "a further split gains much less density (density gain)",
    "lifetime": "the tree of merges has this many clusters longest (lifetime)",
    "anmi": "the consensus agrees best with the members (ANMI)",
    "stability": "two halves of the members agree best (stability)",
    "pac": "fewest pairs of objects are ambiguous (PAC)",
}
"""What each criterion says about the number that is best by it."""
MOST_LINES = 20
"""The largest number of lines that a printed choice has."""


@dataclass(frozen=True)
class Candidate:
    """One number of clusters and the values of the criteria for it; None if a criterion was not computed for it.

    Attributes
    ----------
    n_clusters : int
    anmi : float or None
        The mean NMI of the method's labelling with the members.
    density_gain : float or None
        The density won by the split of bisecting k-means that makes so many clusters.
    lifetime : float or None
        The length of the interval of thresholds at which the tree has so many clusters.
    pac : float or None
        The proportion of ambiguous pairs among the members of that many clusters.
    eigengap : float or None
        How much larger the cut of one more cluster would be: the logarithm of the ratio of two neighbouring
        eigenvalues of the graph of objects and clusters.
    merge_gap : float or None
        The same for the two most similar clusters that would be merged next.
    link_gap : float or None
        The same with links between nearest neighbours in the measurements, if these are known.
    modularity : float or None
        The share of neighbours' links within clusters, less that expected, of measurements of many dimensions.
    stability : float or None
        The ARI of the consensuses of two halves of the members, on a part of the objects.
    support : float or None
        The weighted share of the criteria that speak for this number, from 0 to 1.
    probability : float or None
        How probably this number is the right one; those of all numbers add up to 1.
    """

    n_clusters: int
    anmi: float | None = None
    density_gain: float | None = None
    lifetime: float | None = None
    pac: float | None = None
    eigengap: float | None = None
    merge_gap: float | None = None
    link_gap: float | None = None
    stability: float | None = None
    support: float | None = None
    probability: float | None = None
    modularity: float | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled candidate; one that an earlier version pickled knows no probability or modularity."""
        self.__dict__.update({"probability": None, "modularity": None, **state})


@dataclass(frozen=True, repr=False)
class Choice:
    """A recommended number of clusters, why, and the table behind it; made by `choose_k`, prints as a table.

    Attributes
    ----------
    n_clusters : int
        The recommended number; 1 if the members agree no better than chance.
    reason : str
        The recommendation in words.
    votes : mapping
        The number that each criterion speaks for. A criterion that is tied over all numbers abstains and is not in it.
    table : tuple of Candidate
        The values of the criteria for each number.
    method : str
        The consensus function.
    failed : mapping
        For numbers for which the method gave no answer, the reason.
    pairs_drawn : int
        The number of drawn pairs of objects behind each PAC, 0 if all pairs were counted.
    candidates : tuple of int
        Up to three numbers that have most support, the recommended one first; empty if `n_clusters` is 1.
    undecided : bool
        Whether the recommended number is right with a probability below 75%, or is not the one with most support.
    chance : mapping
        The comparison with permuted labels: observed, expected, z, p_value and n_permutations; empty if it was left
        out, or if there is nothing to compare.
    """

    n_clusters: int
    reason: str
    votes: Mapping[str, int]
    table: tuple[Candidate, ...]
    method: str
    failed: Mapping[int, str] = field(default_factory=dict)
    pairs_drawn: int = 0
    candidates: tuple[int, ...] = ()
    undecided: bool = False
    chance: Mapping[str, float] = field(default_factory=dict)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled choice; one that an earlier version pickled knows no comparison with chance."""
        self.__dict__.update({"chance": {}, **state})

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def evidence(self, n_clusters: int) -> tuple[str, ...]:
        """Return what speaks for a number of clusters, in words."""
        return tuple(WORDS[name] for name in WORDS if self.votes.get(name) == n_clusters)

    def __str__(self) -> str:
        names = [
            n
            for n in (*CRITERIA, "support", "probability")
            if any(getattr(entry, n) is not None for entry in self.table)
        ]
        lines = [f"{'k':>4}" + "".join(f"{CRITERIA.get(name, name):>14}" for name in names)]
        for entry in self._shown():
            values = [getattr(entry, name) for name in names]
            cells = "".join(f"{'-':>14}" if value is None else f"{value:>14.4f}" for value in values)
            lines.append(f"{entry.n_clusters:>4}{cells}{self._mark(entry.n_clusters)}")
        return "\n".join([*lines, self.reason])

    def _shown(self) -> list[Candidate]:
        """The lines that are printed: all, or those with most support if there are many."""
        ranked = sorted(self.table, key=lambda entry: -(entry.support or 0.0))
        return [entry for entry in self.table if len(ranked) <= MOST_LINES or entry in ranked[:MOST_LINES]]

    def _mark(self, k: int) -> str:
        if k == self.n_clusters:
            return "  *"
        return "  ?" if k in self.candidates else ""

    __repr__ = __str__

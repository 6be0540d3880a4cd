"""Tables about a result: the labels in its clusters, its NMI with each member, the clusters of new objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._result_table import ResultTable, need_library

if TYPE_CHECKING:
    import pandas

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


def _line(top: list[LabelShare]) -> str:
    """The commonest labels of a cluster in words."""
    told = [f"{_short(entry.member)} {_short(entry.label)} {entry.share:.0%}" for entry in top[:MEMBERS_SHOWN]]
    return ", ".join([*told, *(["..."] if len(top) > MEMBERS_SHOWN else [])])


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= LENGTH else text[: LENGTH - 1] + "…"


def _number(value: float | None, width: int) -> str:
    return f"{'-':>{width}}" if value is None else f"{value:>{width}.3f}"

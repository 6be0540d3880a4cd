"""The two passes of the CA-tree.

First the rows are split member by member; then sizes and representatives are measured from the leaves upwards.

The tree is built once and can be cut at any number of thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.coding import DEFAULT
from quorate._data.labelling import added_rows, code_labelling
from quorate._data.rows import add_member, compress, select_rows
from quorate._types import NEEDS_LABELS, Ensemble, FloatArray, IntArray, SoftEnsemble, read_only
from quorate.ops.ca_tree import (
    IN_CUT,
    cut_nodes,
    descend,
    find_rows,
    hang_rows,
    join_rows,
    lay_out_rows,
    mark_ancestors,
    measure_nodes,
    number_nodes,
    split_leaves,
)
from quorate.ops.distinct_rows import distinct_rows
from quorate.ops.threads import map_blocks

WORK = 64
"""The cost of a node, in rows of the cheapest kernels."""


class Topology(NamedTuple):
    """The parents and children of the nodes, and the rows of each node z: ``order[start[z]:stop[z]]``.

    All arrays are int32, but `n_children` and `split` are int16 where their values fit.
    """

    parent: IntArray
    first_child: IntArray
    n_children: IntArray
    split: IntArray
    start: IntArray
    stop: IntArray
    order: IntArray


BLOCK = 1 << 18
"""Rows or nodes of which NumPy converts the numbers at a time, where it would make a copy of them all."""


def _blocks(n: int) -> list[slice]:
    return [slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK)]


def root(n_rows: int) -> Topology:
    """Return a tree of one node with all rows."""
    values = [[-1], [-1], [0], [-1], [0], [n_rows], np.arange(n_rows, dtype=np.int32)]
    return Topology(*(np.array(value, dtype=np.int32) for value in values))


def _narrow(n_members: int, most_children: int) -> list[type]:
    """The types of the tables of nodes, in the order of `Topology`."""
    children, members = (np.int16 if most < 2**15 else np.int32 for most in (most_children, n_members))
    return [np.int32, np.int32, children, members, np.int32, np.int32]


def refine(nodes: Topology, old_rows: NDArray[Any]) -> Topology:
    """Return the same nodes over rows that have been split: new row r is a part of old row old_rows[r]."""
    place = np.empty(len(nodes.order), dtype=np.int64)
    place[nodes.order] = np.arange(len(nodes.order))
    where = place[old_rows]
    edges = np.concatenate([[0], np.cumsum(np.bincount(where, minlength=len(place)))]).astype(np.int32)
    order = np.argsort(where, kind="stable").astype(np.int32)
    return nodes._replace(start=edges[nodes.start], stop=edges[nodes.stop], order=order)


def split(labels: IntArray, nodes: Topology, members: range) -> Topology:
    """Split the leaves by the given members, one after the other; existing nodes keep their numbers."""
    n_nodes = len(nodes.parent)
    # A split adds at most two nodes for each row that it takes out of a leaf of several rows. Room that nothing is
    # written to takes no memory.
    capacity = n_nodes + 2 * len(labels)
    types = _narrow(labels.shape[1], int(labels.max()) + 2)
    tables: list[NDArray[Any]] = [np.empty(capacity, dtype=dtype) for dtype in types]
    for table, before in zip(tables, nodes, strict=False):
        table[:n_nodes] = before
    parent, first_child, n_children, at, start, stop = tables
    order = nodes.order.copy()
    leaves = np.flatnonzero((nodes.n_children == 0) & (nodes.stop - nodes.start > 1)).astype(np.int32)
    for member in members:
        leaves, n_nodes = split_leaves(
            labels, member, order, leaves, start, stop, parent, first_child, n_children, at, n_nodes
        )
    for table in tables:
        # a copy of what is needed would be there beside the table
        table.resize(n_nodes, refcheck=False)
    return Topology(*map(read_only, (*tables, order)))


def metric(ensemble: Ensemble) -> tuple[NDArray[Any], Any]:
    """Return the member weights, and the largest possible distance of two rows.

    The weights are integers if all members count equally, so that sums are exact.
    """
    if ensemble.unit_weights:
        return read_only(np.ones(ensemble.n_members, dtype=np.int32)), ensemble.n_members
    return ensemble.weights, float(ensemble.weights.sum())


class Known(NamedTuple):
    """What is known of a tree before it is measured: sizes and representative rows, but not of the nodes in `stale`."""

    size: NDArray[Any]
    representative: IntArray
    stale: NDArray[np.bool_]


def measure(
    ensemble: Ensemble, nodes: Topology, n_des: int | None, known: Known | None = None
) -> tuple[NDArray[Any], IntArray]:
    """Return the size and the representative row of every node, measured from the leaves upwards.

    Sizes are whole numbers if all members count equally.

    Nodes that split at the same member never lie below each other, and they need only the results of nodes below them.
    So members are taken from the last to the first, and the nodes of one member are measured on several threads.
    """
    weights, limit = metric(ensemble)
    size, representative = np.zeros(len(nodes.parent), dtype=weights.dtype), np.empty_like(nodes.start)
    # NumPy would make wide copies of all numbers at once
    for block in _blocks(len(representative)):
        representative[block] = nodes.order[nodes.start[block]]
    reach = ensemble.n_rows if n_des is None else min(n_des, ensemble.n_rows)
    splits = nodes.split
    if known is not None:
        size[:] = np.where(known.stale, 0, known.size)
        representative = np.where(known.stale, representative, known.representative)
        splits = np.where(known.stale, splits, -1)
    for member in reversed(range(ensemble.n_members)):
        batch = np.flatnonzero(splits == member)

        def part(low: int, high: int, batch: IntArray = batch) -> None:
            tables = (nodes.start, nodes.stop, nodes.first_child, nodes.n_children)
            fixed = (ensemble.labels, nodes.order, weights, limit, reach, *tables)
            measure_nodes(*fixed, batch, low, high, size, representative)

        map_blocks(part, len(batch), work=WORK)
    return size, representative


def sizes_of(ensemble: Ensemble, nodes: Topology, chosen: IntArray) -> FloatArray:
    """Return the exact sizes of some nodes."""
    weights, limit = metric(ensemble)
    start, stop, which = read_only(nodes.start[chosen]), read_only(nodes.stop[chosen]), np.arange(len(chosen))
    # no node is opened, so that children have no say
    none = read_only(np.zeros(len(chosen), dtype=nodes.n_children.dtype))
    first = none.astype(nodes.first_child.dtype)
    size, representative = np.zeros(len(chosen), dtype=weights.dtype), start.copy()
    fixed = (
        ensemble.labels,
        nodes.order,
        weights,
        limit,
        int((stop - start).max()),
        start,
        stop,
        read_only(first),
        none,
    )
    measure_nodes(*fixed, which, 0, len(chosen), size, representative)
    return size.astype(np.float64)


N_DES, MOST_N_DES = 32, 512
AUTO: Literal["auto"] = "auto"
""""auto" lets `n_des` grow with the number of members, as the paper advises: H^2 / 32 for H members,
from 32 up to 512. A tree of more levels adds up more estimates: with 1,000 members, 5 planted clusters and 8% noise a
cut at 0.2 left 599 nodes with n_des = 32 and the exact 71 with 512; with 100 members 397 with 32, and 72 with 312."""
CHECKED, CHECKED_ROWS = 16, 1_000
"""Nodes whose exact size is computed to judge the estimates, at most, and the rows that such a node has at most."""
KEEP = 0.9
COMPACT = 0.5
ROUNDING = 1 + 1e-9
"""A factor on theta: theta = 1 - 0.9 must include a size of a tenth of the members, which it misses by a rounding
error."""


class Shape(NamedTuple):
    """What the tree indicates about the shape of the clusters: the minimal ratio, its theta, and advice."""

    ratio: float
    theta: float
    compact: bool
    advice: str


class Threshold(NamedTuple):
    """A threshold and a kept share that reduce the rows to a budget, and the reason for choosing them."""

    theta: float
    keep: float
    n_rows: int
    reason: str


class Reduction(NamedTuple):
    """Distinct rows that join kept nodes: the node of each row, and for each node its representative row and objects.

    `inverse` is the distinct row of each row that was given. Nodes are numbered in the order of their first rows.
    """

    rows: Ensemble
    inverse: NDArray[np.intp]
    owner: NDArray[np.int32]
    representative: IntArray
    counts: NDArray[np.int64]

    def coarse(self, weighted: bool) -> tuple[Ensemble, NDArray[np.intp]]:
        """Return what `coarsen` returns."""
        counts = self.counts if weighted else np.ones_like(self.counts)
        return select_rows(self.rows, self.representative, counts), self.owner[self.inverse].astype(np.intp)


@dataclass(frozen=True, eq=False, repr=False)
class CATree:
    """A tree over distinct label rows, made by `ca_tree`.

    Nodes are numbered from the root, which is 0, and children come after their parents.

    Parameters
    ----------
    rows : Ensemble
        The distinct rows, in order of first appearance, with counts.
    inverse, given_counts : arrays of shape (n_given_rows,)
        The distinct row of each row of the ensemble that the tree was built from, and the count of that row.
    n_des : int or None
        Number of descendants that represented a node when its size was estimated. None means all, and sizes are exact.
    parent, first_child, n_children : integer arrays of shape (n_nodes,)
        The parent (-1 for the root); children are first_child, first_child + 1, ... (-1 and 0 for a leaf).
    split : integer array of shape (n_nodes,)
        The member at which the node splits; -1 for a leaf.
    start, stop, order : int32 arrays
        Node z contains the distinct rows ``order[start[z]:stop[z]]``.
    measured : int32 or float64 array of shape (n_nodes,)
        `size` as whole numbers if all members count equally.
    representative : int32 array of shape (n_nodes,)
        The distinct row that represents the node.
    is_auto : bool
        Whether `n_des` follows from the number of members, so that it changes if the tree grows.
    """

    rows: Ensemble
    inverse: NDArray[np.intp]
    given_counts: NDArray[np.int64]
    n_des: int | None
    parent: IntArray
    first_child: IntArray
    n_children: IntArray
    split: IntArray
    start: IntArray
    stop: IntArray
    order: IntArray
    measured: NDArray[Any]
    representative: IntArray
    is_auto: bool = False

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, entry.name, read_only(value))

    @property
    def n_nodes(self) -> int:
        return len(self.parent)

    @cached_property
    def size(self) -> FloatArray:
        """The radius of each node in label space, a float64 array of shape (n_nodes,).

        No row of the node differs from its representative in more members than this (or in members of more weight than
        this, if members have weights).
        """
        return read_only(self.measured.astype(np.float64))

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The number of objects of each node, an int64 array of shape (n_nodes,)."""
        return read_only(self._objects_of(slice(None)))

    def _objects_of(self, nodes: Any) -> NDArray[np.int64]:
        held = np.zeros(self.rows.n_rows + 1, dtype=np.int64)
        for block in _blocks(self.rows.n_rows):
            held[1:][block] = self.rows.counts[self.order[block]]
        np.cumsum(held, out=held)
        objects: NDArray[np.int64] = held[self.stop[nodes]] - held[self.start[nodes]]
        return objects

    def __repr__(self) -> str:
        objects = self.rows.n_objects
        return f"CATree({self.n_nodes:,} nodes over {self.rows.n_rows:,} distinct rows of {objects:,} objects)"

    def cut(self, theta: float) -> IntArray:
        """Return the highest node on each path from the root whose size is at most `theta` of the members.

        The nodes are sorted by number, and they partition the rows for every theta. 0 gives the distinct rows, 1 only
        the root.

        Examples
        --------
        >>> from quorate import as_ensemble
        >>> tree = ca_tree(as_ensemble([[0, 0, 1, 1], [0, 1, 2, 2], [0, 0, 1, 2]]))
        >>> [tree.counts[tree.cut(theta)].tolist() for theta in (0, 1 / 3, 1)]
        [[1, 1, 1, 1], [2, 2], [4]]
        """
        theta = _check.fraction(theta, "theta", advice="it is a fraction of the number of members")
        allowed = theta * self.rows.weights.sum() * ROUNDING
        return np.flatnonzero(cut_nodes(self.parent, self.measured, allowed) == IN_CUT)

    def overestimated(self, theta: float) -> float:
        """Return the share of nodes that a cut at `theta` splits although their exact size is small enough.

        It is measured on the nodes directly above the cut, of at most 1,000 rows; the 16 that hold the most objects are
        looked at. If sizes are exact, or no node is that small, it is 0.

        Examples
        --------
        >>> from quorate import as_ensemble
        >>> ca_tree(as_ensemble([[0, 0, 1, 1], [0, 1, 2, 2], [0, 0, 1, 2]]), n_des=None).overestimated(0.4)
        0.0
        """
        above = np.unique(self.parent[self.cut(theta)])
        above = above[above >= 0]
        above = above[self.stop[above] - self.start[above] <= CHECKED_ROWS]
        if self.n_des is None or not len(above):
            return 0.0
        above = np.sort(above[np.argsort(-self._objects_of(above), kind="stable")][:CHECKED]).astype(np.int64)
        exact = sizes_of(self.rows, self._topology, above)
        return float((exact <= theta * self.rows.weights.sum() * ROUNDING).mean())

    def largest(self, nodes: IntArray, keep: float = KEEP) -> IntArray:
        """Return the largest of the given nodes that together contain at least a share `keep` of all objects.

        Ties go to the lowest node.
        """
        share = _check.fraction(keep, "keep", advice="it is the share of objects whose nodes are kept")
        nodes = self._numbers(nodes)
        if share == 1:
            return nodes
        counts = self._objects_of(nodes)
        order = np.argsort(-counts, kind="stable")
        ranked, held = nodes[order], np.cumsum(counts[order]) / self.rows.n_objects
        return np.sort(ranked[: 1 + int(np.searchsorted(held, share))])

    def _numbers(self, nodes: Any) -> IntArray:
        numbers = np.asarray(nodes)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise TypeError(f"nodes must be the numbers of nodes, as `cut` returns them, got {_check.brief(nodes)}.")
        if len(numbers) and not (numbers.min() >= 0 and numbers.max() < self.n_nodes):
            raise ValueError(f"nodes must be numbers from 0 to {self.n_nodes - 1:,}, got {_check.brief(nodes)}.")
        return numbers

    def curve(self, thetas: Any = None, *, keep: float = 1.0) -> tuple[FloatArray, NDArray[np.int64]]:
        """Return the number of nodes of a cut, N_Z, at each of many thresholds, by default 0, 1/H, ..., (H-1)/H.

        Returns
        -------
        thetas, n_nodes : arrays of the same length
            With keep=1, n_nodes never increases with theta.
        """
        members = self.rows.n_members
        at = np.arange(members) / members if thetas is None else np.atleast_1d(np.asarray(thetas, dtype=np.float64))
        return at, np.array([len(self.largest(self.cut(float(theta)), keep)) for theta in at], dtype=np.int64)

    def shape_indicator(self) -> Shape:
        """Estimate whether the clusters are compact or elongated.

        The indicator is the least ratio over theta of the number of nodes that contain nine tenths of the objects to
        the number of all nodes. Compact clusters leave thin regions between them, so that a few large nodes contain
        most objects. In elongated clusters the borders of base clusters run through the middle of many objects, and
        nodes are of similar size. This is a rough guide, as the paper says: the limit of 0.5 separates its six data
        sets.
        """
        thetas, whole = self.curve()
        ratios = self.curve(keep=KEEP)[1] / whole
        place = int(np.argmin(ratios))
        ratio, compact = float(ratios[place]), bool(ratios[place] < COMPACT)
        advice = (
            f"clusters look compact: keep={KEEP} drops small nodes at little loss; theta=0.2 is a good start"
            if compact
            else "clusters look elongated: keep all nodes, and theta no larger than it must be; 0.4 at most"
        )
        return Shape(ratio, float(thetas[place]), compact, advice)

    def choose(self, max_rows: int) -> Threshold:
        """Choose the smallest theta that leaves at most `max_rows` nodes.

        Small nodes are dropped if the clusters are compact.
        """
        budget = _check.integer(max_rows, "max_rows", low=1)
        distinct = self.rows.n_rows
        if distinct <= budget:
            return Threshold(
                0.0, 1.0, distinct, f"{distinct:,} distinct rows fit a budget of {budget:,}: nothing was merged"
            )
        shape = self.shape_indicator()
        keep, shaped, good = (KEEP, "compact", 0.2) if shape.compact else (1.0, "elongated", 0.4)
        thetas, n_nodes = self.curve(np.arange(self.rows.n_members + 1) / self.rows.n_members, keep=keep)
        place = int(np.argmax(n_nodes <= budget))
        theta = float(thetas[place])
        beyond = f"; above {good:g}, so check the result" if theta > good * ROUNDING else ""
        reason = (
            f"{distinct:,} distinct rows exceed a budget of {budget:,}; minimal ratio {shape.ratio:.3f} "
            f"({shaped} clusters), so keep={keep:g}; theta={theta:g} is the smallest that fits{beyond}"
        )
        return Threshold(theta, keep, int(n_nodes[place]), reason)

    def coarsen(
        self, theta: float = 0.4, *, keep: float = 1.0, weighted: bool = True
    ) -> tuple[Ensemble, NDArray[np.intp]]:
        """Do what the function `coarsen` does, with a tree that is already built."""
        return self.reduced(theta, keep).coarse(weighted)

    def reduced(self, theta: float, keep: float) -> Reduction:
        """Return what `coarsen` needs of the tree."""
        cut = self.cut(theta)
        kept = self.largest(cut, keep)
        joined = cut
        if len(kept) < len(cut):
            dropped = ~np.isin(cut, kept)
            joined = cut.copy()
            joined[dropped] = self._descend(kept, cut[dropped])
        place = np.searchsorted(kept, joined).astype(np.int32)
        # a node holds its rows in increasing order
        first = np.full(len(kept), self.rows.n_rows, dtype=np.int32)
        np.minimum.at(first, place, self.order[self.start[cut]])
        in_order, number = np.argsort(first), np.empty(len(kept), dtype=np.int32)
        number[in_order] = np.arange(len(kept))
        del joined, first
        owner, counts = np.empty(self.rows.n_rows, dtype=np.int32), np.zeros(len(kept), dtype=np.int64)
        join_rows(self.order, self.start, self.stop, cut, number[place], self.rows.counts, owner, counts)
        return Reduction(self.rows, self.inverse, owner, self.representative[kept[in_order]], counts)

    def _descend(self, kept: IntArray, dropped: IntArray) -> IntArray:
        """Return the kept node at which each dropped node ends."""
        marked = np.zeros(self.n_nodes, dtype=np.int8)
        mark_ancestors(self.parent, kept, marked)
        reached = np.empty(len(dropped), dtype=np.int32)
        weights = metric(self.rows)[0]
        tables = (self.representative, self.first_child, self.n_children, marked, dropped)

        def part(low: int, high: int) -> None:
            descend(self.rows.labels, weights, *tables, low, high, reached)

        map_blocks(part, len(dropped), work=WORK)
        return reached

    def grow(self, labels: Any, *, name: str | None = None, weight: float = 1.0, missing: Any = DEFAULT) -> CATree:
        """Return the tree with one more member, which labels the same objects in the same order.

        Nodes keep their numbers, leaves whose objects the new member separates get children, and sizes are measured
        again, because every row has become longer. The result equals `ca_tree` of all members.

        Parameters
        ----------
        labels : vector of labels of any type
        name : str, optional
            Name of the member.
        weight : float
            Weight of the member.
        missing : value or list of values, default -1
            Values that mean a missing label, in addition to nulls.

        Examples
        --------
        >>> from quorate import as_ensemble
        >>> tree = ca_tree(as_ensemble([[0, 0, 1, 1], [0, 0, 1, 2]]))
        >>> tree.grow(["a", "b", "b", "b"])
        CATree(7 nodes over 4 distinct rows of 4 objects)
        """
        advice = "give one label for each row that the tree was built from; grow takes one member at a time"
        labelling = code_labelling(labels, "labels", len(self.inverse), missing=missing, advice=advice)
        codes, categories = labelling.codes, labelling.categories
        pairs = read_only(np.stack([self.inverse.astype(np.int32), codes], axis=1))
        inverse = np.empty(len(pairs), dtype=np.intp)
        old, new = pairs[distinct_rows(pairs, inverse)].T
        counts = np.bincount(inverse, weights=self.given_counts).astype(np.int64)
        divided = replace(self.rows, labels=self.rows.labels[old], counts=counts)
        rows = add_member(divided, new, categories, name=name, weight=weight)
        nodes = refine(self._topology, old)
        nodes = split(rows.labels, nodes, range(self.rows.n_members, rows.n_members))
        return _measured(rows, inverse, self.given_counts, nodes, AUTO if self.is_auto else self.n_des)

    def insert(self, labels: Any, *, missing: Any = DEFAULT) -> CATree:
        """Return the tree with more objects, which come after those that it holds; labels are of the same members.

        A new row of labels is hung into the tree where it belongs, and only the nodes above it are measured again: the
        work is in proportion to the new rows, apart from copies of the tables. The result equals `ca_tree` of all
        objects.

        Parameters
        ----------
        labels : Ensemble, or a table as `as_ensemble` takes it
            One row per new object. Columns are matched with the members by name, or by their order if they have no
            names. Labels that no object had are new clusters of the member; a member that is not there labels none of
            the new objects.
        missing : value or list of values, default -1
            Values that mean a missing label, in addition to nulls.

        See Also
        --------
        CATree.grow : Add a member instead.

        Examples
        --------
        >>> from quorate import as_ensemble
        >>> tree = ca_tree(as_ensemble([[0, 0, 1, 1], [0, 0, 1, 2]]))
        >>> tree.insert([[1, 0], [2, 3]])
        CATree(7 nodes over 4 distinct rows of 6 objects)
        """
        new = added_rows(self.rows, labels, missing)
        where = np.empty(len(new.codes), dtype=np.intp)
        distinct = new.codes[distinct_rows(new.codes, where)]
        row_of = np.empty(len(distinct), dtype=np.int64)
        tables = (self.order, self.start, self.first_child, self.n_children, self.split)
        find_rows(self.rows.labels, distinct, *tables, row_of)
        fresh = np.flatnonzero(row_of < 0)
        row_of[fresh] = self.rows.n_rows + np.arange(len(fresh))
        objects = row_of[where]
        # bincount adds in float64, which is exact for fewer than 2**53 objects
        counts = np.bincount(objects, new.counts, self.rows.n_rows + len(fresh)).astype(np.int64)
        counts[: self.rows.n_rows] += self.rows.counts
        labelled = np.concatenate([self.rows.labels.astype(distinct.dtype, copy=False), distinct[fresh]])
        rows = replace(new.ensemble, labels=labelled, counts=counts)
        rows.remember(is_distinct=True)
        nodes, known = self._hung(rows)
        given = np.concatenate([self.given_counts, new.counts])
        inverse = np.concatenate([self.inverse, objects])
        return _measured(rows, inverse, given, nodes, AUTO if self.is_auto else self.n_des, known)

    def _hung(self, rows: Ensemble) -> tuple[Topology, Known]:
        """Hang further rows into the nodes, and say what is known of the size of each."""
        root, head, following, at, lowest = hang_rows(
            rows.labels, self.rows.n_rows, self.order, self.start, self.parent, *self._topology[1:4]
        )
        *links, source = number_nodes(root, head, following, at, rows.n_members)
        tables = *links, *lay_out_rows(*links[:3], lowest[source])
        types = *_narrow(rows.n_members, int(links[2].max())), np.int32
        nodes = Topology(*(read_only(table.astype(dtype)) for table, dtype in zip(tables, types, strict=True)))
        old = source < self.n_nodes
        stale = np.zeros(len(source), dtype=np.int8)
        mark_ancestors(nodes.parent, np.flatnonzero(~old), stale)
        before = np.where(old, source, 0)
        return nodes, Known(self.measured[before], self.representative[before], stale > 0)

    @property
    def _topology(self) -> Topology:
        return Topology(*(getattr(self, name) for name in Topology._fields))


NDes = int | Literal["auto"] | None


def ca_tree(ensemble: Ensemble, n_des: NDes = AUTO) -> CATree:
    """Build the CA-tree of an ensemble.

    There are two passes. The distinct rows are split by the labels of the first member, then each part by those of the
    second member, and so on. Then the size and the representative of each node are computed, from the leaves upwards.

    Parameters
    ----------
    ensemble : Ensemble
        Made by `as_ensemble`; rows need not be distinct.
    n_des : int, "auto" or None, default "auto"
        Number of descendants that represent a node when its size is estimated. "auto" takes H^2 / 32 for H members,
        but at least 32 and at most 512. None takes all, so that sizes are exact radii, at a cost that is quadratic in
        the distinct rows of the largest nodes.

    Returns
    -------
    CATree

    Notes
    -----
    For m distinct rows of H members, splitting takes O(m H), measuring at most O(m H (n_des + k)^2), and the memory is
    about 60 bytes per row beside the labels. The distance of two rows is the weight of the members in which they
    differ, so with member weights theta is a fraction of the weight of all members. A missing label counts as a label
    of its own here.
    The tree depends on the order of the members, as the paper says. It does not depend on the names of labels, because
    children are numbered by their first object. Ties go to the lowest node, and for representatives to the lowest row.

    References
    ----------
    T. Wang, CA-tree: a hierarchical structure for efficient and scalable coassociation-based cluster ensembles,
    IEEE Transactions on Systems, Man, and Cybernetics B 41(3), 2011, doi:10.1109/TSMCB.2010.2086059.

    Examples
    --------
    >>> from quorate import as_ensemble
    >>> tree = ca_tree(as_ensemble([[0, 0, 1, 1], [0, 1, 2, 2], [0, 0, 1, 2]]))
    >>> tree
    CATree(7 nodes over 4 distinct rows of 4 objects)
    >>> tree.parent.tolist(), tree.size.tolist()
    ([-1, 0, 0, 1, 1, 2, 2], [3.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    >>> tree.curve()[1].tolist()
    [4, 2, 2]
    """
    if isinstance(n_des, str):
        n_des = _check.choice(n_des, "n_des", (AUTO,), "or a number; None takes all descendants")
    elif n_des is not None:
        n_des = _check.integer(n_des, "n_des", low=2, advice="None takes all descendants, which gives exact sizes")
    if isinstance(ensemble, SoftEnsemble):
        raise TypeError(NEEDS_LABELS)
    rows, inverse = compress(ensemble)
    nodes = split(rows.labels, root(rows.n_rows), range(rows.n_members))
    return _measured(rows, inverse, ensemble.counts, nodes, n_des)


def _measured(
    rows: Ensemble,
    inverse: IntArray,
    given_counts: IntArray,
    nodes: Topology,
    n_des: NDes,
    known: Known | None = None,
) -> CATree:
    number = min(MOST_N_DES, max(N_DES, rows.n_members**2 // N_DES)) if isinstance(n_des, str) else n_des
    size, representative = measure(rows, nodes, number, known)
    is_auto = isinstance(n_des, str)
    return CATree(rows, inverse, given_counts, number, *nodes, size, representative, is_auto)

"""The two passes of the CA-tree.

First the rows are split member by member; then sizes and representatives are measured from the leaves upwards.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import Ensemble, FloatArray, IntArray, read_only
from quorate.ops.ca_tree import measure_nodes, split_leaves
from quorate.ops.threads import map_blocks

WORK = 64
"""The cost of a node, in rows of the cheapest kernels."""


class Topology(NamedTuple):
    """The parents and children of the nodes, and the rows of each node z: ``order[start[z]:stop[z]]``; int32 arrays."""

    parent: IntArray
    first_child: IntArray
    n_children: IntArray
    split: IntArray
    start: IntArray
    stop: IntArray
    order: IntArray


def root(n_rows: int) -> Topology:
    """Return a tree of one node with all rows."""
    values = [[-1], [-1], [0], [-1], [0], [n_rows], range(n_rows)]
    return Topology(*(np.array(value, dtype=np.int32) for value in values))


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
    # A split adds at most two nodes for each row that it takes out of a leaf of several rows.
    capacity = n_nodes + 2 * len(labels)
    tables = [np.concatenate([table, np.empty(capacity - n_nodes, dtype=np.int32)]) for table in nodes[:-1]]
    parent, first_child, n_children, at, start, stop = tables
    order = nodes.order.copy()
    leaves = np.flatnonzero((nodes.n_children == 0) & (nodes.stop - nodes.start > 1)).astype(np.int32)
    for member in members:
        leaves, n_nodes = split_leaves(
            labels, member, order, leaves, start, stop, parent, first_child, n_children, at, n_nodes
        )
    return Topology._make([*(read_only(table[:n_nodes].copy()) for table in tables), read_only(order)])


def metric(ensemble: Ensemble) -> tuple[NDArray[Any], Any]:
    """Return the member weights, and the largest possible distance of two rows.

    The weights are integers if all members count equally, so that sums are exact.
    """
    if ensemble.unit_weights:
        return read_only(np.ones(ensemble.n_members, dtype=np.int64)), ensemble.n_members
    return ensemble.weights, float(ensemble.weights.sum())


def measure(ensemble: Ensemble, nodes: Topology, n_des: int | None) -> tuple[FloatArray, IntArray]:
    """Return the size and the representative row of every node, measured from the leaves upwards.

    Nodes that split at the same member never lie below each other, and they need only the results of nodes below them.
    So members are taken from the last to the first, and the nodes of one member are measured on several threads.
    """
    weights, limit = metric(ensemble)
    labels = read_only(ensemble.labels[nodes.order])
    size = np.zeros(len(nodes.parent), dtype=weights.dtype)
    place = nodes.start.copy()
    reach = ensemble.n_rows if n_des is None else min(n_des, ensemble.n_rows)
    inner = np.flatnonzero(nodes.n_children > 0)
    inner = inner[np.argsort(nodes.split[inner], kind="stable")]
    edges = np.searchsorted(nodes.split[inner], np.arange(ensemble.n_members + 1))
    for member in reversed(range(ensemble.n_members)):
        batch = inner[edges[member] : edges[member + 1]]

        def part(low: int, high: int, batch: IntArray = batch) -> None:
            tables = (nodes.start, nodes.stop, nodes.first_child, nodes.n_children)
            measure_nodes(labels, nodes.order, weights, limit, reach, *tables, batch, low, high, size, place)

        map_blocks(part, len(batch), work=WORK)
    return size.astype(np.float64), nodes.order[place]

"""Distinct rows of chunks, merged in a tree on the workers, and values of rows that go down the same tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._blocks.coding import CodedBlock
from quorate._blocks.row_table import RowTable
from quorate._distributed.chunks import Leaf, need_dask, rows_alone
from quorate._distributed.thinning import Thinned, thinned

Array = NDArray[Any]
EACH = 8
"""The number of parts that are merged at once, so that no worker holds the rows of more parts than this."""


class Node(NamedTuple):
    """Merged parts: their distinct rows, and for each part the row that each of its rows became.

    `theta` is the share of the members in which a row may differ from the one that stands for it; 0 unless rows were
    merged that are only similar.
    """

    block: CodedBlock
    numbers: list[NDArray[np.uint32]]
    theta: float = 0.0


@dataclass(frozen=True, eq=False)
class Tree:
    """The delayed leaves and the delayed nodes of each level; the last level is the root alone."""

    leaves: list[Any]
    levels: list[list[Any]]


def merge_parts(most_rows: int | None, *parts: CodedBlock | Node) -> Node:
    """Merge the distinct rows of several parts, in their order.

    If more than `most_rows` are left, similar rows are merged as well.
    """
    blocks = [part.block if isinstance(part, Node) else part for part in parts]
    table = RowTable(blocks[0].labels.shape[1])
    numbers = [table.add(block).astype(np.uint32) for block in blocks]
    categories = tuple(values.array() for values in table.values)
    block = CodedBlock(table.labels.copy(), table.counts.copy(), categories, np.empty(0, dtype=np.uint32))
    below = max((part.theta for part in parts if isinstance(part, Node)), default=0.0)
    if most_rows is None or len(block.labels) <= most_rows:
        return Node(block, numbers, below)
    few: Thinned = thinned(block, most_rows)
    return Node(few.block, [few.row_of[part].astype(np.uint32) for part in numbers], min(1.0, below + few.theta))


def node_alone(node: Node) -> Node:
    """Return a node without the numbers of its parts, which its parent does not need."""
    return node._replace(numbers=[])


def build_tree(leaves: list[Any], most_rows: int | None, each: int = EACH) -> Tree:
    """Return the tree over delayed leaves; nothing is computed."""
    delayed = need_dask().delayed
    merge, alone, strip = delayed(merge_parts), delayed(node_alone), delayed(rows_alone)
    parts = [strip(leaf) for leaf in leaves]
    levels: list[list[Any]] = []
    while not levels or len(levels[-1]) > 1:
        groups = [parts[start : start + each] for start in range(0, len(parts), each)]
        levels.append([merge(most_rows, *group) for group in groups])
        parts = [alone(node) for node in levels[-1]]
    return Tree(leaves, levels)


def values_of_leaves(tree: Tree, values: Any, each: int = EACH) -> list[Any]:
    """Return, delayed, the values of the rows of each leaf, given the values of the rows of the root."""
    take = need_dask().delayed(take_part)
    above = [values]
    widths = [len(tree.leaves), *map(len, tree.levels[:-1])]
    for level, width in zip(reversed(tree.levels), reversed(widths), strict=True):
        above = [take(level[place // each], place % each, above[place // each]) for place in range(width)]
    return above


def take_part(node: Node, place: int, values: Array) -> Array:
    """Return the values of the rows of one part of a node."""
    found: Array = values[node.numbers[place]]
    return found


def values_of_objects(leaf: Leaf, values: Array) -> Array:
    """Return the values of the objects of a chunk, given those of its rows."""
    found: Array = values[leaf.block.inverse]
    return found


def values_at(leaf: Leaf, values: Array, places: Array) -> Array:
    """Return the values of some objects of a chunk."""
    found: Array = values[leaf.block.inverse[places]]
    return found

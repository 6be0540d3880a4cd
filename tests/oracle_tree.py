"""The CA-tree by the letter of the spec: lists, loops and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(eq=False)
class Node:
    """One node: its rows (numbers of distinct rows), and what is found out about it."""

    number: int
    rows: list[int]
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)
    split: int = -1
    size: float = 0.0
    representative: int = -1


def distance(labels: NDArray[Any], i: int, j: int, weights: NDArray[Any]) -> float:
    return float(sum(weights[q] for q in range(labels.shape[1]) if labels[i, q] != labels[j, q]))


def slow_tree(labels: NDArray[Any], weights: NDArray[Any], n_des: int | None) -> list[Node]:
    """All nodes of the tree over distinct rows, by number."""
    nodes = [Node(0, list(range(len(labels))))]
    for member in range(labels.shape[1]):
        for leaf in [node for node in nodes if not node.children]:
            seen = list(dict.fromkeys(labels[row, member] for row in leaf.rows))
            if len(seen) > 1:
                leaf.split = member
                for label in seen:
                    rows = [row for row in leaf.rows if labels[row, member] == label]
                    child = Node(len(nodes), rows, leaf)
                    leaf.children.append(child)
                    nodes.append(child)
    for node in reversed(nodes):
        slow_measure(node, labels, weights, float("inf") if n_des is None else n_des)
    return nodes


def slow_measure(node: Node, labels: NDArray[Any], weights: NDArray[Any], n_des: float) -> None:
    if not node.children:
        (node.representative,) = node.rows
        return
    found = list(node.children)
    while len(found) < n_des and any(other.children for other in found):
        widest = min((other for other in found if other.children), key=lambda other: (-other.size, other.number))
        found.remove(widest)
        found.extend(widest.children)

    def radius(row: int) -> float:
        reach = max(distance(labels, row, other.representative, weights) + other.size for other in found)
        return min(float(weights.sum()), reach)

    node.size, node.representative = min((radius(o.representative), o.representative) for o in found)


def slow_cut(node: Node, allowed: float) -> list[Node]:
    if node.size <= allowed:
        return [node]
    return [found for child in node.children for found in slow_cut(child, allowed)]


def slow_objects(node: Node, counts: NDArray[np.int64]) -> int:
    return int(sum(counts[row] for row in node.rows))


def slow_reduce(
    nodes: list[Node], cut: list[Node], keep: float, labels: NDArray[Any], counts: NDArray[np.int64], weights: Any
) -> dict[int, int]:
    """For each cut node, the number of the kept node whose label it takes."""
    ranked = sorted(cut, key=lambda node: (-slow_objects(node, counts), node.number))
    kept: list[Node] = []
    while not kept or sum(slow_objects(node, counts) for node in kept) / counts.sum() < keep:
        kept.append(ranked[len(kept)])
    alive = set()
    for node in kept:
        above: Node | None = node
        while above is not None:
            alive.add(above.number)
            above = above.parent
    target = {node.number: node.number for node in kept}
    for dropped in ranked[len(kept) :]:
        here = nodes[0]
        while here not in kept:
            here = min(
                (child for child in here.children if child.number in alive),
                key=lambda child: (
                    distance(labels, dropped.representative, child.representative, weights),
                    child.number,
                ),
            )
        target[dropped.number] = here.number
    return target

"""Distinct rows of chunks, merged in a tree on the workers, and the runs of that tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._coarsening.tree import ca_tree
from quorate._data.blocks import CodedBlock, MergedRows, Settled, join_blocks, settle, with_all_members
from quorate._data.ids import text_of
from quorate._distributed.chunks import (
    Chunks,
    Leaf,
    code_chunk,
    id_keys,
    id_of_key,
    leaf_size,
    need_dask,
    part_of,
    repeated_key,
    rows_alone,
)
from quorate._types import Ensemble, Reading

Array = NDArray[Any]


class Thinned(NamedTuple):
    """Fewer rows, the row that stands for each row, and the largest share of members in which the two differ."""

    block: CodedBlock
    row_of: NDArray[np.int64]
    theta: float


def thinned(block: CodedBlock, most_rows: int) -> Thinned:
    """Merge rows by the CA-tree until at most about `most_rows` are left.

    The radii of the tree are exact, so that a row differs from the one that stands for it in at most theta of the
    members, where theta is the threshold that the tree was cut at.
    """
    known = [place for place, values in enumerate(block.categories) if len(values)]
    ensemble = Ensemble(
        labels=np.ascontiguousarray(block.labels[:, known]),
        counts=block.counts,
        n_clusters=np.array([len(block.categories[place]) for place in known], dtype=np.int64),
        weights=np.ones(len(known)),
        member_names=tuple(map(str, known)),
        categories=tuple(block.categories[place] for place in known),
    )
    tree = ca_tree(ensemble, None)
    thetas, n_nodes = tree.curve(np.arange(len(known) + 1) / len(known), keep=1.0)
    theta = float(thetas[int(np.argmax(n_nodes <= most_rows))])
    coarse, row_of = tree.coarsen(theta, keep=1.0)
    return Thinned(with_all_members(coarse, list(map(str, range(len(block.categories))))), row_of, theta)


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
    rows, numbers = join_blocks(blocks)
    block = CodedBlock(*rows, np.empty(0, dtype=np.uint32))
    below = max((part.theta for part in parts if isinstance(part, Node)), default=0.0)
    if most_rows is None or len(block.labels) <= most_rows:
        return Node(block, [part.astype(np.uint32) for part in numbers], below)
    few: Thinned = thinned(block, most_rows)
    return Node(few.block, [few.row_of[part].astype(np.uint32) for part in numbers], min(1.0, below + few.theta))


def node_alone(node: Node) -> Node:
    """Return a node without the numbers of its parts, which its parent does not need."""
    return node._replace(numbers=[])


def build_tree(begun: Tree, most_rows: int | None, most_levels: int | None = None, each: int = EACH) -> Tree:
    """Return the whole tree over delayed leaves, or its first levels; nothing is computed."""
    delayed = need_dask().delayed
    merge, alone, strip = delayed(merge_parts), delayed(node_alone), delayed(rows_alone)
    leaves, levels = begun.leaves, list(begun.levels)
    parts = [alone(node) for node in levels[-1]] if levels else [strip(leaf) for leaf in leaves]
    while not levels or (len(levels[-1]) > 1 and len(levels) != most_levels):
        groups = [parts[start : start + each] for start in range(0, len(parts), each)]
        levels.append([merge(most_rows, *group) for group in groups])
        parts = [alone(node) for node in levels[-1]]
    return Tree(leaves, levels)


def values_of_leaves(tree: Tree, values: list[Any], each: int = EACH) -> list[Any]:
    """Return, delayed, the values of the rows of each leaf, given those of the rows of the nodes of the last level."""
    take = need_dask().delayed(take_part)
    above = values
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


SMALL = 4_000_000
"""Values of up to so many bytes travel with the graph; larger ones are sent to the workers before."""
ID_PARTS = 16


def persisted_tree(begun: Tree, parts: list[Any], most_rows: int | None, most_levels: int | None = None) -> Tree:
    """Build the tree over delayed leaves and start computing it; leaves and nodes stay where they are computed.

    `parts` are the chunks that the leaves are made from. They are only used to find the chunk that failed if Dask's
    scheduler does not tell.
    """
    dask = need_dask()
    tree = build_tree(begun, most_rows, most_levels)
    flat = [*tree.leaves, *(node for level in tree.levels for node in level)]
    try:
        kept = list(dask.persist(*flat))
    except Exception as error:
        raise naming_chunk(error, tree, parts) from error
    levels, start = [], len(tree.leaves)
    for level in tree.levels:
        levels.append(kept[start : start + len(level)])
        start += len(level)
    return Tree(kept[: len(tree.leaves)], levels)


def root_of(tree: Tree, parts: list[Any]) -> Node:
    """Wait for the root of the tree and bring it here; an error names the chunk that failed."""
    try:
        dask = need_dask()
        (root,) = dask.compute(dask.delayed(node_alone)(tree.levels[-1][0]))
    except Exception as error:
        raise naming_chunk(error, tree, parts) from error
    node: Node = root
    return node


def naming_chunk(error: Exception, tree: Tree, parts: list[Any]) -> Exception:
    """Return an error that says which chunk failed; the error itself if it says so already."""
    if str(error).startswith("chunk "):
        return error
    # a worker that died takes down what else it was doing, so that the chunk that Dask names comes first
    # tasks that Dask joined to one have a name that begins with those of the others, so that only their places count
    place = str(getattr(error, "task", None)).partition(",")[2]
    order = sorted(
        range(len(parts)), key=lambda number: str(getattr(parts[number], "key", "")).partition(",")[2] != place
    )
    for number in order:
        if _failed(tree.leaves[number], parts[number]):
            return RuntimeError(f"chunk {number} of {len(parts)} could not be computed: {error}{_advice(error)}")
    return error


def _advice(error: Exception) -> str:
    """What to do if workers died, of which Dask says nothing but that they did."""
    if type(error).__name__ != "KilledWorker":
        return ""
    return " Workers that die while they compute are usually out of memory: make smaller chunks, or give them more."


def _failed(leaf: Any, part: Any) -> bool:
    """Whether a leaf failed: by the state of its future, or by computing its chunk again if there is none."""
    try:
        import distributed
    except ImportError:
        futures = []
    else:
        futures = distributed.futures_of(leaf)
    if futures:
        return any(future.status == "error" for future in futures)
    try:
        need_dask().compute(part)
    except Exception:
        return True
    return False


def read_chunks(
    chunks: Chunks, beside: list[list[Any]], how: Reading, most_rows: int | None
) -> tuple[Tree, Settled, Node]:
    """Compress all chunks, merge them, and give the values of the distinct rows their meaning."""
    return read_tree(Tree(coded_leaves(chunks, beside), []), chunks, how, most_rows, len(beside))


def coded_leaves(chunks: Chunks, beside: list[list[Any]]) -> list[Any]:
    """Return the compressed chunks, delayed."""
    code = need_dask().delayed(code_chunk)
    return [
        code(part, number, chunks.names, chunks.ids, [column[number] for column in beside])
        for number, part in enumerate(chunks.parts)
    ]


def read_tree(
    begun: Tree, chunks: Chunks, how: Reading, most_rows: int | None, n_beside: int = 0
) -> tuple[Tree, Settled, Node]:
    """Merge compressed chunks, and give the values of the distinct rows their meaning."""
    tree = persisted_tree(begun, chunks.parts, most_rows)
    root = root_of(tree, chunks.parts)
    if chunks.ids is not None:
        refuse_repeated_ids(tree)
    names = (*chunks.names, *(f"beside {place}" for place in range(n_beside)))
    return tree, settled_root(root, names, how), root


def settled_root(root: Node, names: tuple[str, ...], how: Reading) -> Settled:
    """Give the values of the distinct rows of all chunks their meaning."""
    rows = MergedRows(root.block.labels, root.block.counts, root.block.categories)
    return settle(rows, names, ("values",) * len(names), how, "the Dask collection")


def refuse_repeated_ids(tree: Tree) -> None:
    """Raise if two objects have the same id; ids are compared in parts, none of which holds all of them."""
    dask = need_dask()
    n_parts = min(ID_PARTS, len(tree.leaves))
    split, pick, find = dask.delayed(id_keys), dask.delayed(part_of), dask.delayed(repeated_key)
    keys = [split(leaf, number, n_parts) for number, leaf in enumerate(tree.leaves)]
    found = dask.compute(*(find(*(pick(parts, place) for parts in keys)) for place in range(n_parts)))
    for pair in found:
        if pair is not None:
            key, one, other = pair
            ids = dask.compute(*(dask.delayed(id_of_key)(tree.leaves[place], key) for place in (one, other)))
            if text_of(ids[0]) == text_of(ids[1]):
                raise ValueError(
                    f"the id {ids[0]!r} is there twice, in chunk {one} and in chunk {other}; every object needs an id "
                    f"of its own."
                )


def sent(values: Array) -> Any:
    """Return values for use in a graph: as they are if they are small, otherwise as a copy on each worker.

    Copies on all workers survive the loss of some of them.
    """
    dask = need_dask()
    if values.nbytes > SMALL:
        try:
            import distributed

            return distributed.get_client().scatter(values, broadcast=True, hash=False)
        except (ImportError, ValueError):
            pass
    return dask.delayed(values, traverse=False)


def rows_at_places(tree: Tree, row_of: Array, places: Array | None, sizes: tuple[int, ...]) -> Array:
    """Return the rows of some objects, in increasing order of their numbers; of all objects if places is None."""
    dask = need_dask()
    edges = np.concatenate([[0], np.cumsum(sizes)])
    wanted = np.arange(edges[-1]) if places is None else np.sort(places)
    cuts = np.searchsorted(wanted, edges)
    at = dask.delayed(values_at)
    numbers = values_of_leaves(tree, [sent(row_of)])
    tasks = [
        at(leaf, values, wanted[cuts[place] : cuts[place + 1]] - edges[place])
        for place, (leaf, values) in enumerate(zip(tree.leaves, numbers, strict=True))
    ]
    found: Array = np.concatenate(dask.compute(*tasks))
    return found


def chunk_sizes(tree: Tree) -> tuple[int, ...]:
    """Return the number of objects of each chunk."""
    dask = need_dask()
    sizes: tuple[int, ...] = dask.compute(*map(dask.delayed(leaf_size), tree.leaves))
    return sizes

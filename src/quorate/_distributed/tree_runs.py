"""Running the tree on whatever scheduler Dask uses: results stay on the workers, errors name the chunk."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._blocks.settling import MergedRows, Reading, Settled, settle
from quorate._distributed.chunks import (
    Chunks,
    code_chunk,
    id_keys,
    id_of_key,
    leaf_size,
    need_dask,
    part_of,
    repeated_key,
)
from quorate._distributed.merge_tree import Node, Tree, build_tree, node_alone, values_at, values_of_leaves

Array = NDArray[Any]
SMALL = 4_000_000
"""Values of up to so many bytes travel with the graph; larger ones are sent to the workers before."""
ID_PARTS = 16


def persisted_tree(leaves: list[Any], parts: list[Any], most_rows: int | None) -> Tree:
    """Build the tree over delayed leaves and start computing it; leaves and nodes stay where they are computed.

    `parts` are the chunks that the leaves are made from. They are only used to find the chunk that failed if Dask's
    scheduler does not tell.
    """
    dask = need_dask()
    tree = build_tree(leaves, most_rows)
    flat = [*tree.leaves, *(node for level in tree.levels for node in level)]
    try:
        kept = list(dask.persist(*flat))
    except Exception as error:
        raise _naming_chunk(error, tree, parts) from error
    levels, start = [], len(leaves)
    for level in tree.levels:
        levels.append(kept[start : start + len(level)])
        start += len(level)
    return Tree(kept[: len(leaves)], levels)


def root_of(tree: Tree, parts: list[Any]) -> Node:
    """Wait for the root of the tree and bring it here; an error names the chunk that failed."""
    try:
        dask = need_dask()
        (root,) = dask.compute(dask.delayed(node_alone)(tree.levels[-1][0]))
    except Exception as error:
        raise _naming_chunk(error, tree, parts) from error
    node: Node = root
    return node


def _naming_chunk(error: Exception, tree: Tree, parts: list[Any]) -> Exception:
    """Return an error that says which chunk failed; the error itself if it says so already."""
    if str(error).startswith("chunk "):
        return error
    # a worker that died takes down what else it was doing, so that the chunk that Dask names comes first
    task = str(getattr(error, "task", None))
    order = sorted(range(len(parts)), key=lambda number: str(getattr(parts[number], "key", None)) != task)
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
    dask = need_dask()
    code = dask.delayed(code_chunk)
    leaves = [
        code(part, number, chunks.names, chunks.ids, [column[number] for column in beside])
        for number, part in enumerate(chunks.parts)
    ]
    tree = persisted_tree(leaves, chunks.parts, most_rows)
    root = root_of(tree, chunks.parts)
    if chunks.ids is not None:
        refuse_repeated_ids(tree)
    names = (*chunks.names, *(f"beside {place}" for place in range(len(beside))))
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
            if ids[0] == ids[1]:
                raise ValueError(
                    f"the id {ids[0]} is there twice, in chunk {one} and in chunk {other}; every object needs an id of "
                    f"its own."
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
    numbers = values_of_leaves(tree, sent(row_of))
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

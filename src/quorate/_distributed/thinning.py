"""Merging similar rows on a worker when even the distinct rows are too many, with a bound on what is lost."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._blocks.coding import CodedBlock
from quorate._coarsening.tree import ca_tree
from quorate._types import Ensemble

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
    return Thinned(_widened(coarse, block), row_of, theta)


def _widened(coarse: Ensemble, block: CodedBlock) -> CodedBlock:
    """Return coarse rows with all members of the block; those that label no row that is left are missing."""
    n_members = block.labels.shape[1]
    labels = np.full((coarse.n_rows, n_members), -1, dtype=block.labels.dtype)
    categories = [block.categories[place][:0] for place in range(n_members)]
    for place, name in enumerate(coarse.member_names):
        labels[:, int(name)] = coarse.labels[:, place]
        categories[int(name)] = coarse.categories[place]
    return CodedBlock(labels, coarse.counts, tuple(categories), np.empty(0, dtype=np.uint32))

"""From a tree over distinct rows to a Consensus: what every tree method does last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._types import AnyEnsemble, Consensus, FloatArray
from quorate.solvers.linkage.dendrogram import cut, expand_tree


def tree_consensus(
    ensemble: AnyEnsemble,
    inverse: NDArray[np.intp],
    tree: FloatArray,
    n_clusters: int,
    info: Mapping[str, Any] | None = None,
) -> Consensus:
    """Cut a tree over distinct rows into n_clusters, and give both to the rows of the ensemble.

    Parameters
    ----------
    ensemble : Ensemble or SoftEnsemble
        The rows the method was handed, which need not be distinct.
    inverse : array of shape (n_rows,)
        The distinct row that each of these rows equals, as `compress` returns it.
    tree : array of shape (n_distinct_rows - 1, 4)
        A scipy linkage matrix.
    n_clusters : int
    info : mapping, optional

    Returns
    -------
    Consensus
        `objective` is the height of the last merge within the clusters, 0 if nothing was merged.
    """
    labels = cut(tree, n_clusters)[inverse]
    if len(tree) + 1 < ensemble.n_rows:
        tree = expand_tree(tree, inverse, ensemble.counts)
    objective = float(tree[-n_clusters, 2]) if n_clusters <= len(tree) else 0.0
    return Consensus(labels=labels, objective=objective, tree=tree, info=info or {})

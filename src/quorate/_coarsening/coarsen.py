"""coarsen: the lossy twin of compress, by a cut through the CA-tree; and what consensus(coarsen=...) may be given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._coarsening.tree import N_DES, Threshold, ca_tree
from quorate._data.compression import compress
from quorate._types import NEEDS_LABELS, Ensemble, SoftEnsemble

AUTO = "auto"
MAX_ROWS = 5_000
"""Rows up to which "auto" merges nothing: a matrix over pairs of them takes 200 MB and a second or two."""

_KEYS = ("theta", "keep", "n_des", "weighted", "max_rows")


def coarsen(
    ensemble: Ensemble,
    theta: float = 0.4,
    *,
    keep: float = 1.0,
    n_des: int | None = N_DES,
    weighted: bool = True,
) -> tuple[Ensemble, NDArray[np.intp]]:
    """Few rows that stand for many, by the CA-tree: lossy, with the return shape of `compress`.

    Rows whose labels differ in at most about `theta` of the members are merged if they lie in one branch of the
    tree, so that any method runs on the result; ``labels[inverse]`` brings its labels back to all objects.

    Parameters
    ----------
    ensemble : Ensemble
        Made by `as_ensemble`.
    theta : float in [0, 1], default 0.4
        Largest size of a node, as a fraction of the members (of their weight). 0 merges equal rows alone.
        0.4 is recommended with keep=1, 0.2 with keep=0.9.
    keep : float in [0, 1], default 1
        Keep the largest nodes that hold at least this share of the objects. The objects of the others join the
        kept node found by descending the tree to the most similar child. Below 1 for compact clusters only.
    n_des : int or None, default 32
        How many descendants stand for a node when its size is estimated; None gives exact radii.
    weighted : bool, default True
        Rows carry the number of their objects, those of dropped nodes included. False gives each row a count
        of 1, the paper's form: to the method, nodes are the objects then, and n_objects is their number.

    Returns
    -------
    ensemble : Ensemble
        One row for each kept node: the labels of its representative. In order of the first object.
    inverse : array of shape (n_rows,)
        The coarse row of each given row.

    Notes
    -----
    O(m H (n_des + k)^2) at most for m distinct rows of H members, and in practice a few times `compress`. Every
    object's label row is within theta H of its row's labels with n_des=None and keep=1. Clusters of members in
    which no representative lies are gone from the result, as are members that label no representative.
    The paper gives all nodes the same weight in the method that follows; weighted=True does not.

    References
    ----------
    T. Wang, CA-tree: a hierarchical structure for efficient and scalable coassociation-based cluster ensembles,
    IEEE Transactions on Systems, Man, and Cybernetics B 41(3), 2011, doi:10.1109/TSMCB.2010.2086059.

    Examples
    --------
    >>> from quorate import as_ensemble
    >>> ensemble = as_ensemble([[0, 0, 1, 1, 1], [0, 1, 2, 2, 2], [0, 0, 1, 2, 1]])
    >>> rows, inverse = coarsen(ensemble, theta=1 / 3)
    >>> rows.labels.tolist(), rows.counts.tolist(), inverse.tolist()
    ([[0, 0, 0], [1, 1, 1]], [2, 3], [0, 0, 1, 1, 1])
    """
    if isinstance(ensemble, SoftEnsemble):
        raise TypeError(NEEDS_LABELS)
    rows, inverse = compress(ensemble)
    coarse, joined = ca_tree(rows, n_des).coarsen(theta, keep=keep, weighted=weighted)
    return coarse, joined[inverse]


def coarsen_as_asked(
    ensemble: Ensemble, asked: Any, *, n_clusters: Any = None, max_rows: int = MAX_ROWS
) -> tuple[Ensemble, NDArray[np.intp], dict[str, Any]]:
    """Coarsen as `consensus(coarsen=asked)` says, and tell in words what was done.

    asked: a theta, "auto", or a mapping of options of `coarsen`; one with max_rows and without theta is an
    "auto" with that budget.
    """
    options = _options(asked)
    budget = _check.integer(options.pop("max_rows", max_rows), "max_rows", low=1)
    tree = ca_tree(ensemble, options.pop("n_des", N_DES))
    weighted = options.pop("weighted", True)
    if options.pop(AUTO, False):
        # fewer rows than clusters would help nobody
        choice = tree.choose(max(budget, n_clusters if isinstance(n_clusters, int) else 1))
    else:
        choice = Threshold(options.pop("theta", 0.4), options.pop("keep", 1.0), 0, "as asked")
    rows, inverse = tree.coarsen(choice.theta, keep=choice.keep, weighted=weighted)
    if isinstance(n_clusters, int) and rows.n_rows < n_clusters <= tree.rows.n_rows:
        raise ValueError(
            f"n_clusters = {n_clusters:,} is more than the {rows.n_rows:,} rows that coarsening with "
            f"theta={choice.theta:g}, keep={choice.keep:g} leaves of {tree.rows.n_rows:,}; use a smaller theta, or a "
            f"larger keep."
        )
    told = {"theta": choice.theta, "keep": choice.keep, "n_distinct_rows": tree.rows.n_rows, "why": choice.reason}
    return rows, inverse, {**told, "n_rows": rows.n_rows, "weighted": weighted}


def _options(asked: Any) -> dict[str, Any]:
    """The mapping behind a theta, "auto" or a mapping; "auto" is a key of its own."""
    if isinstance(asked, str):
        _check.choice(asked, "coarsen", (AUTO,), "or give a theta in [0, 1], or a mapping of options")
        return {AUTO: True}
    if not isinstance(asked, Mapping):
        return {"theta": asked}
    unknown = [key for key in asked if key not in _KEYS]
    if unknown:
        raise TypeError(f"coarsen has no option {', '.join(map(repr, unknown))}; its options are {', '.join(_KEYS)}.")
    if "max_rows" not in asked:
        return dict(asked)
    if "theta" in asked or "keep" in asked:
        raise ValueError("coarsen takes max_rows, from which theta and keep are chosen, or theta and keep; not both.")
    return {**asked, AUTO: True}

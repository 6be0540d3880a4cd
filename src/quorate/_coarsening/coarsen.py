"""`coarsen`, which merges similar rows by a cut through the CA-tree, for one table or block by block."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._coarsening.tree import AUTO, CATree, NDes, Threshold, ca_tree
from quorate._data.blocks import join_blocks, with_all_members
from quorate._data.rows import compress, select_members, select_rows
from quorate._data.soft_members import harden, with_mean_memberships
from quorate._types import E, Ensemble, SoftEnsemble

MAX_ROWS = 5_000
""""auto" merges nothing up to this many rows: a matrix over pairs of them takes 200 MB and a second or two."""


def coarsen(
    ensemble: E,
    theta: float = 0.4,
    *,
    keep: float = 1.0,
    n_des: NDes = AUTO,
    weighted: bool = True,
) -> tuple[E, NDArray[np.intp]]:
    """Merge similar rows by the CA-tree: a lossy version of `compress`, with the same return values.

    There are three steps. The distinct rows are split member by member into a tree. The tree is cut into nodes whose
    rows differ from a representative in at most about `theta` of the members. Each node becomes one row, the labels of
    its representative. Any method can run on the result, and ``labels[inverse]`` gives the labels of all rows.

    Parameters
    ----------
    ensemble : Ensemble or SoftEnsemble
        Made by `as_ensemble` or `as_soft_ensemble`. Of soft members the tree is that of the likeliest labels.
    theta : float in [0, 1], default 0.4
        Largest size of a node, as a fraction of the number of members (or of their total weight). 0 merges only equal
        rows. 0.4 is recommended with keep=1, 0.2 with keep=0.9.
    keep : float in [0, 1], default 1
        The largest nodes that together contain at least this share of the objects are kept. The objects of the other
        nodes join a kept node, which is found by descending the tree to the most similar child. Use values below 1
        only if the clusters are compact.
    n_des : int, "auto" or None, default "auto"
        Number of descendants that represent a node when its size is estimated; "auto" grows with the number of members,
        from 32 to 512; None gives exact radii. A warning says if nodes are split only because they are overestimated.
    weighted : bool, default True
        Whether the count of a row is the number of its objects, those of dropped nodes included. False gives each row
        a count of 1, as in the paper: the method then treats nodes as objects, and n_objects is their number.

    Returns
    -------
    ensemble : Ensemble, or SoftEnsemble if one was given
        One row for each kept node, with the labels of its representative, or with the mean memberships of its objects.
        The rows are in the order of their first objects.
    inverse : array of shape (n_rows,)
        The row of the result that each given row belongs to.

    See Also
    --------
    quorate.compress : Merge equal rows only, without any loss.
    quorate.ca_tree : Build the tree once and cut it at several thresholds.

    Notes
    -----
    The cost is O(m H (n_des + k)^2) at most for m distinct rows of H members, and in practice a few times that of
    `compress`. With n_des=None and keep=1 the labels of every object differ from those of its row in at most theta H
    members. Base clusters that contain no representative are missing from the result, and so are members that label no
    representative. In the paper all nodes have the same weight in the method that follows; with weighted=True they
    have not.

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
    if not isinstance(ensemble, SoftEnsemble):
        return _coarsened(cast(Ensemble, ensemble), theta, keep, n_des, weighted)
    rows, inverse = compress(ensemble)
    joined: NDArray[np.intp]
    coarse, joined = _coarsened(harden(rows), theta, keep, n_des, weighted)
    soft: Any = with_mean_memberships(rows, joined, coarse.counts)
    return soft, joined[inverse]


def _coarsened(
    ensemble: Ensemble, theta: float, keep: float, n_des: NDes, weighted: bool
) -> tuple[Any, NDArray[np.intp]]:
    tree = ca_tree(ensemble, n_des)
    _share_overestimated(tree, theta)
    reduced = tree.reduced(theta, keep)
    # the tree takes more memory than its result
    del tree
    return reduced.coarse(weighted)


INEXACT = 0.75
"""A warning says so if more of the nodes above the cut than this share are split because of their estimated size."""


def _share_overestimated(tree: CATree, theta: float) -> float:
    """The share of nodes that were split although they are small enough, with a warning if it is large."""
    share = tree.overestimated(theta)
    if share > INEXACT:
        warnings.warn(
            f"the CA-tree estimates the sizes of its nodes too high: {share:.0%} of those above the cut at "
            f"theta={theta:g} are small enough by their exact size. n_des={tree.n_des} descendants represent a node; "
            f"use a larger n_des, or None for exact sizes, to be left with fewer rows.",
            UserWarning,
            stacklevel=4,
        )
    return share


class Coarsening(NamedTuple):
    """The option `coarsen` of `consensus`: options of the function `coarsen`, or how many rows may be left at most.

    If `is_auto`, theta and keep are chosen from max_rows.
    """

    theta: Any = 0.4
    keep: Any = 1.0
    n_des: Any = AUTO
    weighted: Any = True
    max_rows: Any = MAX_ROWS
    is_auto: bool = False


def coarsen_by_option(
    ensemble: Ensemble, option: Any, *, n_clusters: Any = None, max_rows: int = MAX_ROWS
) -> tuple[Ensemble, NDArray[np.intp], dict[str, Any]]:
    """Coarsen as `consensus(coarsen=option)` requires, and describe what was done.

    `option` is a theta, "auto", or a mapping of options of `coarsen`. A mapping with max_rows and without theta means
    "auto" with that budget.
    """
    options = _options(option, max_rows)
    budget = _check.integer(options.max_rows, "max_rows", low=1)
    tree = ca_tree(ensemble, options.n_des)
    choice = Threshold(options.theta, options.keep, 0, "as asked")
    if options.is_auto:
        # A consensus of n_clusters clusters needs at least as many rows.
        choice = tree.choose(max(budget, n_clusters if isinstance(n_clusters, int) else 1))
    overestimated = _share_overestimated(tree, choice.theta)
    reduced = tree.reduced(choice.theta, choice.keep)
    n_rows, n_distinct = len(reduced.counts), tree.rows.n_rows
    if isinstance(n_clusters, int) and n_rows < n_clusters <= n_distinct:
        raise ValueError(
            f"n_clusters = {n_clusters:,} is more than the {_check.counted(n_rows, 'row')} that coarsening with "
            f"theta={choice.theta:g}, keep={choice.keep:g} leaves of {n_distinct:,}; use a smaller theta, or a larger "
            f"keep."
        )
    info = {"theta": choice.theta, "keep": choice.keep, "n_distinct_rows": n_distinct, "why": choice.reason}
    info |= {"n_rows": n_rows, "weighted": options.weighted, "n_des": tree.n_des}
    info |= {"overestimated": overestimated}
    # the tree takes more memory than its result
    del tree
    return *reduced.coarse(options.weighted), info | ({"max_rows": budget} if options.is_auto else {})


def _options(option: Any, max_rows: int) -> Coarsening:
    """Return the options behind a theta, "auto" or a mapping."""
    if isinstance(option, str):
        _check.choice(option, "coarsen", (AUTO,), "or give a theta in [0, 1], or a mapping of options")
        return Coarsening(max_rows=max_rows, is_auto=True)
    if not isinstance(option, Mapping):
        return Coarsening(option, max_rows=max_rows)
    known = Coarsening._fields[:-1]
    unknown = [key for key in option if key not in known]
    if unknown:
        raise TypeError(f"coarsen has no option {', '.join(map(repr, unknown))}; its options are {', '.join(known)}.")
    if "max_rows" in option and ("theta" in option or "keep" in option):
        raise ValueError("coarsen takes max_rows, from which theta and keep are chosen, or theta and keep; not both.")
    return Coarsening(**{"max_rows": max_rows, **option}, is_auto="max_rows" in option)


logger = logging.getLogger("quorate")
BLOCK = 1_000_000
"""Rows of a block: its tree takes about 60 MB beside the labels. Ensembles of fewer rows fit into any memory."""
LEAST_BYTES = 70
"""Bytes for each row that the most modest of the methods behind "auto" takes, `kmeans`; see docs/scale.md."""


def coarsen_to_fit(ensemble: Ensemble, max_bytes: int) -> tuple[Ensemble, NDArray[np.intp], dict[str, Any]] | None:
    """Merge similar rows if `kmeans` on all rows would take more than `max_bytes`; None if it would not.

    The rows are taken in blocks of a million, because a CA-tree of all rows would take more memory than the method.
    Each block is coarsened as `coarsen="auto"` does, to its share of the rows that fit; then equal rows of different
    blocks are merged. A warning is logged.

    Returns
    -------
    tuple or None
        The merged rows, the merged row of each row, and a description of what was done for ``info["coarsen"]``.
    """
    if ensemble.n_rows <= BLOCK or LEAST_BYTES * ensemble.n_rows <= max_bytes:
        return None
    blocks, joined, thetas = [], [], []
    share = max(1, max_bytes // LEAST_BYTES // -(-ensemble.n_rows // BLOCK))
    for start in range(0, ensemble.n_rows, BLOCK):
        rows = np.arange(start, min(start + BLOCK, ensemble.n_rows))
        block = select_rows(ensemble, rows, ensemble.counts[rows])
        part, inverse, info = coarsen_by_option(block, {"max_rows": share})
        blocks.append(with_all_members(part, ensemble.member_names))
        joined.append(inverse)
        thetas.append(info["theta"])
    whole, numbers = join_blocks(blocks)
    known = np.flatnonzero([len(values) for values in whole.categories])
    n_clusters = np.array([len(values) for values in whole.categories], dtype=np.int64)
    stacked = replace(ensemble, **whole._asdict(), n_clusters=n_clusters, object_ids=None)
    merged = compress(select_members(stacked, known))[0]
    where = np.concatenate([places[inverse] for places, inverse in zip(numbers, joined, strict=True)])
    return merged, where, _described(ensemble, merged, max(thetas), max_bytes)


def _described(ensemble: Ensemble, merged: Ensemble, theta: float, max_bytes: int) -> dict[str, Any]:
    """Describe what was done, and log it as a warning."""
    needed = LEAST_BYTES * ensemble.n_rows
    why = (
        f"kmeans on {ensemble.n_rows:,} distinct rows would take about {needed:,} bytes, more than max_bytes = "
        f"{max_bytes:,}; rows were merged in blocks of {BLOCK:,}"
    )
    logger.warning("%s, and %s rows are left; a larger max_bytes avoids it", why, f"{merged.n_rows:,}")
    info = {"theta": theta, "keep": 1.0, "n_distinct_rows": ensemble.n_rows, "why": why}
    return {**info, "n_rows": merged.n_rows, "weighted": True}

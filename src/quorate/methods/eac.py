"""Evidence accumulation: hierarchical agglomeration of the co-association of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate import _check
from quorate._data.rows import compress
from quorate._types import AnyEnsemble, Consensus, Ensemble, FloatArray, Method, MethodOptions, SoftEnsemble
from quorate.solvers.label_rows import row_norms, weighted_total
from quorate.solvers.linkage.average_link import DENSE_SOFT_CLUSTERS, average_link_tree, soft_average_link_tree
from quorate.solvers.linkage.co_association import (
    NORMALIZATIONS,
    Normalization,
    dense_co_association,
    enhanced_co_association,
    pairwise,
    shared_pairs,
    sparse_bytes,
)
from quorate.solvers.linkage.dendrogram import lifetimes, longest_lifetime, tree_consensus
from quorate.solvers.linkage.trees import LINKAGES, Linkage, dense_tree, single_link_tree, sparse_tree
from quorate.solvers.members import WHOLE_SUMS, missing_shares
from quorate.solvers.sizes import few_tables


def eac(
    ensemble: AnyEnsemble,
    n_clusters: int | None,
    *,
    rng: np.random.Generator,
    linkage: Linkage = "average",
    normalization: Normalization = "ensemble",
    enhanced: bool = False,
    threshold: float | None = None,
) -> Consensus:
    """Agglomerate the objects by 1 - A, where A is the co-association: the share of members that join two objects.

    Parameters
    ----------
    ensemble : Ensemble or SoftEnsemble
    n_clusters : int or None
        Exact number of clusters, also if heights tie; None takes the k >= 2 with the longest lifetime.
    rng : numpy.random.Generator
        Not used.
    linkage : {"average", "single", "complete", "weighted", "ward"}
    normalization : {"ensemble", "pairwise"}
        If labels are missing: divide by the weight of all members, or of those that know both objects.
    enhanced : bool
        If a member separates two objects, count the similarity of their two clusters instead of 0.
    threshold : float, optional
        Run on the sparse co-association matrix: pairs that share no more than this are zeros ("average" and
        "single" only). 0 keeps every pair that shares anything, and gives the result without it.

    Returns
    -------
    Consensus
        `tree` is a scipy linkage matrix over rows, its last column in objects. `objective` is the height of the last
        merge within the clusters, to be minimised. ``info["lifetimes"][k - 1]`` is the lifetime of k clusters.

    Notes
    -----
    Equal rows are one leaf: they join first, at height 0. A cluster is named by its lowest row; of several pairs of
    the least height the one merges whose lower cluster is lowest, then the one whose other cluster is. "single"
    follows a spanning tree grown from row 0, the lowest row first. Rows come sorted by count and content, so that the
    order of the objects does not matter.

    "average" needs no matrix: the mean of A between two clusters is a product of their sums of one-hot rows. "single"
    is a maximum spanning tree found through the rows of each base cluster. Both take O(m H) memory for m rows. The
    other linkages, `enhanced`, and "pairwise" where labels are missing (a mean of ratios, which does not follow from
    sums) take a dense matrix over rows, or with `threshold` the pairs above it. Without missing labels both
    normalisations are the same.

    If the number of clusters is found by lifetime, "every row a cluster" counts only if the first merge comes late: the
    least distance that H members can show, 1 / H, is no lifetime (see `solvers.linkage.dendrogram.longest_lifetime`).

    Ward's linkage takes sqrt(1 - A) as the distance. If no label is missing, this is the distance between one-hot rows
    up to a factor, so that its merges raise the inertia of `kmeans` least.

    Soft members ("average" alone): A of two rows is the product of their memberships, the share of members expected
    to join them if each drew a cluster for each object. It is below 1 also between equal soft rows, which are one leaf
    all the same, because nothing distinguishes them. Beside the rows it takes a matrix between up to 8,192 of them.

    `enhanced` follows [3]_ with the similarity of connected triples: the similarity of two clusters of a
    member is the sum of the overlaps (Jaccard) that clusters of other members have with both, divided by the largest
    such sum, times 0.9.

    References
    ----------
    .. [1] A. Fred and A. K. Jain, "Combining multiple clusterings using evidence accumulation", IEEE TPAMI, 2005.
    .. [2] A. Lourenco, A. Fred and A. K. Jain, "On the scalability of evidence accumulation clustering", ICPR, 2010.
    .. [3] G. Candel, "Linear time Evidence Accumulation Clustering with KMeans", 2023, arXiv:2311.09272.

    Examples
    --------
    >>> from quorate import consensus
    >>> result = consensus([[0, 0, 1, 1, 2], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]], method="eac")
    >>> result.labels.tolist(), result.tree.round(3).tolist()
    ([0, 0, 1, 1, 1], [[1.0, 2.0, 0.333, 3.0], [0.0, 3.0, 1.0, 5.0]])
    """
    linkage = _check.choice(linkage, "linkage", LINKAGES)
    normalization = _check.choice(normalization, "normalization", NORMALIZATIONS)
    enhanced = _check.choice(enhanced, "enhanced", (False, True))
    if threshold is not None:
        threshold = _check.fraction(threshold, "threshold", advice="it is a share of the members.")
        _refuse_threshold(linkage, enhanced)
    rows, inverse = compress(ensemble)
    if isinstance(rows, SoftEnsemble):
        _refuse_soft(rows, linkage, normalization, enhanced, threshold)
        tree = soft_average_link_tree(rows)
    else:
        tree = _tree(rows, linkage, normalization, enhanced, threshold)
    k = n_clusters or longest_lifetime(tree, _floor(rows, normalization))
    return tree_consensus(ensemble, inverse, tree, k, {"linkage": linkage, "lifetimes": lifetimes(tree)})


def _floor(rows: AnyEnsemble, normalization: str) -> float:
    """The distance of two objects that agree as far as they can: above 0 with gaps and with soft members."""
    if normalization == "pairwise":
        return 0.0
    if isinstance(rows, SoftEnsemble):
        agreed = weighted_total(rows.counts, row_norms(rows)) / rows.n_objects
    else:
        agreed = weighted_total(rows.weights, (1.0 - missing_shares(rows)) ** 2)
    return 1.0 - agreed / float(rows.weights.sum())


def _tree(
    rows: Ensemble, linkage: Linkage, normalization: Normalization, enhanced: bool, threshold: float | None
) -> FloatArray:
    """The tree over distinct rows, grown in the way that takes the least memory."""
    if threshold is not None:
        return sparse_tree(shared_pairs(rows, normalization, threshold), rows.counts, linkage)
    if not _is_dense(rows, linkage, normalization, enhanced):
        return average_link_tree(rows) if linkage == "average" else single_link_tree(rows)
    matrix, scale = (enhanced_co_association if enhanced else dense_co_association)(rows, normalization)
    return dense_tree(matrix, scale, rows.counts, linkage)


def _is_dense(rows: Ensemble, linkage: Any, normalization: Any, enhanced: Any) -> bool:
    return bool(enhanced) or linkage not in ("average", "single") or pairwise(rows, normalization)


def _refuse_soft(
    rows: SoftEnsemble, linkage: Linkage, normalization: Normalization, enhanced: bool, threshold: float | None
) -> None:
    if linkage != "average" or enhanced or threshold is not None or (normalization == "pairwise" and rows.has_missing):
        raise ValueError(
            "eac takes soft members with linkage='average' alone, without enhanced and threshold, and with "
            "normalization='ensemble' where memberships are missing; for the rest pass quorate.harden(ensemble)."
        )


def _refuse_threshold(linkage: Linkage, enhanced: bool) -> None:
    if linkage not in ("average", "single"):
        raise ValueError(
            f"threshold must be None with linkage={linkage!r}, which needs the pairs that share nothing as well; "
            f"use linkage='average' or 'single'."
        )
    if enhanced:
        raise ValueError("threshold must be None with enhanced=True, under which hardly a pair shares nothing.")


def _bytes_needed(ensemble: AnyEnsemble, options: MethodOptions) -> int:
    """The bytes of the matrix, or of the pairs above the threshold, whose number is estimated."""
    if isinstance(ensemble, SoftEnsemble):
        return 8 * min(ensemble.n_rows, DENSE_SOFT_CLUSTERS) ** 2
    normalization = options.get("normalization", "ensemble")
    threshold = options.get("threshold")
    if isinstance(threshold, int | float):
        return sparse_bytes(ensemble, normalization, float(threshold))
    dense = _is_dense(ensemble, options.get("linkage", "average"), normalization, options.get("enhanced", False))
    return 8 * ensemble.n_rows**2 if dense else 0


METHOD = Method(
    solve=eac,
    title="evidence accumulation: average, single, complete link, Ward (tree)",
    reference="doi:10.1109/TPAMI.2005.113",
    tables=few_tables,
    time="quadratic",
    finds_k=True,
    soft=True,
    memory_for=_bytes_needed,
    instead="use linkage='average' or 'single' without other options, 'lwgp' or 'kmeans', or coarsen='auto', which "
    "measures what it loses,",
    own_order=WHOLE_SUMS,
)

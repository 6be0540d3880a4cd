"""`co_association`, a sparse matrix of how often two objects are together; `linkage`, `recut` and `splits` of trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.ensemble import as_ensemble
from quorate._types import Consensus, Ensemble, FloatArray
from quorate.ops.coding import canonical
from quorate.solvers.linkage.co_association import NORMALIZATIONS, Normalization, estimated_pairs, shared_pairs
from quorate.solvers.linkage.dendrogram import cut, expand_tree, lifetimes, row_counts

LINEAR_RULE = 50
"""The A of the linear rule, which draws the number of clusters of a member from n / A upwards."""
BYTES_A_PAIR = 32
"""Bytes per stored pair, including what is in memory while blocks are joined."""


@dataclass(frozen=True, eq=False, repr=False)
class CoAssociation:
    """The share of the members that put two rows together, for all pairs that at least one member puts together.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array of shape (n_rows, n_rows)
        The co-association: the upper triangle without the diagonal, or both triangles and the diagonal.
    n_pairs : int
        Number of pairs of different rows that are stored.
    ensemble : Ensemble
        The ensemble that it was computed from.
    """

    matrix: Any
    n_pairs: int
    ensemble: Ensemble

    @property
    def density(self) -> float:
        """The share of the entries of the full matrix, including the diagonal, that are not zero."""
        n = self.ensemble.n_rows
        return (2 * self.n_pairs + n) / n**2

    @cached_property
    def estimates(self) -> dict[str, float]:
        """The expected number of nonzero entries of the full matrix [1]_, to be compared with ``density * n**2``.

        "sqrt" is 4 n sqrt(n), for members of sqrt(n) / 2 to sqrt(n) clusters. "linear" is 2 A n with A = 50, for
        members of n / A to n / B clusters. "members" is 2 n^2 divided by the least number of clusters of a member; the
        other two are special cases of it.

        .. [1] A. Lourenco, A. Fred and A. K. Jain, "On the scalability of evidence accumulation clustering", 2010.
        """
        n = self.ensemble.n_rows
        least = int(self.ensemble.n_clusters.min())
        return {"sqrt": 4 * n * float(np.sqrt(n)), "linear": 2.0 * LINEAR_RULE * n, "members": 2 * n**2 / least}

    def __repr__(self) -> str:
        n = self.ensemble.n_rows
        return f"CoAssociation({n:,} rows, {self.n_pairs:,} pairs, density {self.density:.3g})"


def co_association(
    labels: Any,
    threshold: float | None = None,
    *,
    normalization: Normalization = "ensemble",
    triangle: Literal["upper", "full"] = "upper",
    max_bytes: int = 4_000_000_000,
) -> CoAssociation:
    """Return the co-association of all pairs of rows that at least one member puts together, as a sparse matrix.

    Parameters
    ----------
    labels : Ensemble, or anything `as_ensemble` takes
        One row per object; compress the ensemble first to get one row per distinct row.
    threshold : float, optional
        Only pairs above this share of the members are kept.
    normalization : {"ensemble", "pairwise"}
        If labels are missing, divide by the weight of all members ("ensemble") or by the weight of the members that
        label both objects ("pairwise").
    triangle : {"upper", "full"}
        Store each pair once, or both triangles and a diagonal of ones.
    max_bytes : int
        An error is raised if more memory than this would be needed; the number of pairs is first estimated from a
        sample of rows.

    Returns
    -------
    CoAssociation
        The matrix, its density, the number of pairs, and the estimates of that number from the literature.

    Notes
    -----
    Pairs are found through the rows of each base cluster, in blocks of rows. Besides the result, a few numbers per row
    are kept in memory. The methods `eac` with ``threshold`` and `hne` agglomerate the same pairs.

    Examples
    --------
    >>> shared = co_association([[0, 0, 1, 1], [0, 0, 0, 1]])
    >>> shared, shared.matrix.toarray().tolist()
    (CoAssociation(4 rows, 4 pairs, density 0.75),
     [[0.0, 1.0, 0.5, 0.0], [0.0, 0.0, 0.5, 0.0], [0.0, 0.0, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0]])
    """
    from scipy.sparse import csr_array, eye_array

    if threshold is not None:
        threshold = _check.fraction(threshold, "threshold", advice="it is a share of the members.")
    normalization = _check.choice(normalization, "normalization", NORMALIZATIONS)
    triangle = _check.choice(triangle, "triangle", ("upper", "full"))
    ensemble = as_ensemble(labels)
    expected = estimated_pairs(ensemble, normalization, threshold)
    _check.memory(
        BYTES_A_PAIR * expected * (1 if triangle == "upper" else 2),
        _check.n_bytes(max_bytes),
        f"about {expected:,} pairs",
        "compress the ensemble, set or raise threshold, take members of more clusters",
    )
    pairs = shared_pairs(ensemble, normalization, threshold)
    shape = (ensemble.n_rows, ensemble.n_rows)
    matrix = csr_array((pairs.values / pairs.scale, pairs.columns, pairs.start), shape=shape)
    if triangle == "full":
        matrix = (matrix + matrix.T + eye_array(ensemble.n_rows)).tocsr()
    return CoAssociation(matrix, len(pairs.columns), ensemble)


def linkage(result: Consensus, *, objects: bool = False) -> FloatArray:
    """Return the tree of a consensus as a linkage matrix that SciPy's functions take.

    Parameters
    ----------
    result : Consensus
        The result of a method that gives a tree, such as `eac`.
    objects : bool
        Whether the leaves are the objects, in their order, or the distinct rows (``result.rows`` says which row stands
        for each object). Objects of equal rows merge first, at height 0.

    Returns
    -------
    array of shape (n_leaves - 1, 4)
        For `scipy.cluster.hierarchy`. ``fcluster(result.linkage(objects=True), k, "maxclust")`` gives the clusters of
        the result, unless the heights of the merges around the cut are equal: SciPy then returns fewer clusters, and
        ``cut_tree(result.linkage(objects=True), k)`` as many as asked for.

    Examples
    --------
    >>> from quorate import consensus
    >>> result = consensus([[0, 0, 1, 1, 2], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]], 2, method="eac")
    >>> linkage(result, objects=True).round(3).tolist()
    [[0.0, 1.0, 0.0, 2.0], [2.0, 3.0, 0.0, 2.0], [4.0, 6.0, 0.333, 3.0], [5.0, 7.0, 1.0, 5.0]]
    """
    _check.choice(objects, "objects", (True, False))
    if not isinstance(result, Consensus) or result.tree is None:
        raise ValueError("result must be a Consensus with a tree; method='eac' gives one.")
    rows = np.arange(len(result.tree) + 1) if result.rows is None else result.rows
    if objects and result.rows is None and len(result.tree) and result.tree[-1, 3] != len(rows):
        raise ValueError(
            "the tree of solve is one over rows that stand for several objects, which it does not know; take the "
            "result of consensus, or objects=False."
        )
    if objects and len(rows) > len(result.tree) + 1:
        return expand_tree(result.tree, rows)
    return row_counts(result.tree)


class TreeSplit(NamedTuple):
    """One split of a tree, from the top: the first makes two clusters of all objects.

    `height` and `lifetime` belong to trees of merges: the height at which the two parts merge, and how far the
    threshold can move while there are `n_clusters` clusters. `gain` belongs to `bisecting`: the density that the split
    adds. What does not apply is None.
    """

    n_clusters: int
    size: int
    left: int
    right: int
    height: float | None
    lifetime: float | None
    gain: float | None


NO_TREE = "result must be a Consensus with a tree, as methods eac, lwea, bisecting and ecpcs (variant hc) give one"
KEPT = ("splits", "leaves", "lifetimes", "linkage", "seed", "options", "n_rows", "n_members", "coarsen", "weights")
"""What `info` says of the whole tree, and not of the clusters of one cut."""


def recut(result: Consensus, n_clusters: int) -> Consensus:
    """Return the consensus with another number of clusters, by cutting the tree of the result once more.

    Parameters
    ----------
    result : Consensus
        The result of a method that gives a tree: `eac` with any linkage, `lwea`, `bisecting`, or `ecpcs`
        with ``variant="hc"``.
    n_clusters : int
        Any number up to the number of distinct rows; for `bisecting` up to the clusters to which the tree was grown:
        those of the result, or the option `grow`, or the square root of the number of objects without a number.

    Returns
    -------
    Consensus
        The labels, and the same tree. They are those that the method gives with this number, and clusters of a larger
        number are parts of those of a smaller one. There is no confidence, because that belongs to the clusters of one
        run. For the number of clusters that the result has, the result itself is returned.

    Examples
    --------
    >>> from quorate import consensus
    >>> members = [[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 2, 3]]
    >>> result = consensus(members, 2, method="eac")
    >>> [result.cut(k).labels.tolist() for k in (1, 2, 3)]
    [[0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 2, 2]]
    """
    if not isinstance(result, Consensus) or (result.tree is None and "leaves" not in result.info):
        raise ValueError(f"{NO_TREE}.")
    highest = len(result.info["splits"] if result.tree is None else result.tree) + 1
    advice = "the tree has no more leaves"
    if result.tree is None and highest < len(result.info["leaves"]):
        advice = f"the tree was grown to {highest:,} clusters; make it larger with the option grow of bisecting"
    n_clusters = _check.integer(n_clusters, "n_clusters", low=1, high=highest, advice=advice)
    # a result whose small clusters were joined to others is no cut of the tree
    made = result.info.get("min_size", {}).get("n_clusters_before", result.n_clusters)
    if n_clusters == result.n_clusters == made:
        return result
    labels: NDArray[np.int32]
    if result.tree is not None:
        labels = cut(result.tree, n_clusters)
        objective = float(result.tree[-n_clusters, 2]) if n_clusters <= len(result.tree) else 0.0
    else:
        labels = _nodes_of(result, n_clusters)
        gains = [split[5] for split in grown_splits(result)]
        objective = result.objective + sum(gains[: n_clusters - 1]) - sum(gains[: made - 1])
    rows = np.arange(len(labels)) if result.rows is None else result.rows
    info = {name: result.info[name] for name in KEPT if name in result.info}
    return replace(
        result,
        labels=canonical(labels[rows], int(labels.max()) + 1),
        objective=objective,
        confidence=None,
        runner_up=None,
        cluster_names=None,
        info={**info, "cut_from": result.n_clusters},
    )


def _nodes_of(result: Consensus, n_clusters: int) -> NDArray[np.int32]:
    """The node of each row after the first splits of `bisecting`; split t makes the nodes 2 t + 1 and 2 t + 2."""
    splits = grown_splits(result)
    above = np.arange(2 * len(splits) + 1, dtype=np.int32)
    for split in splits[n_clusters - 1 :]:
        # nodes are made in order, so that the node that is split already knows where it belongs
        above[[int(split[1]), int(split[2])]] = above[int(split[0])]
    nodes: NDArray[np.int32] = above[np.asarray(result.info["leaves"])]
    return nodes


def grown_splits(result: Consensus) -> list[tuple[Any, ...]]:
    """The splits of `bisecting`, which are mappings in a result that was read from a file."""
    return [tuple(split.values() if isinstance(split, Mapping) else split) for split in result.info["splits"]]


def splits(result: Consensus, most: int = 50) -> list[TreeSplit]:
    """Return the splits of a tree from the top: how large the parts are, and what speaks for each number of clusters.

    Parameters
    ----------
    result : Consensus
        As in `recut`.
    most : int
        How many splits to return, at most.

    Returns
    -------
    list of TreeSplit
        The split that leads to 2 clusters, to 3, and so on; ``pandas.DataFrame(splits(result))`` is a table.

    Examples
    --------
    >>> from quorate import consensus
    >>> members = [[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 2, 3]]
    >>> for split in splits(consensus(members, 2, method="eac"), 2):
    ...     print(split.n_clusters, split.size, split.left, split.right, split.lifetime)
    2 6 2 4 0.333333333333
    3 4 2 2 0.333333333333
    """
    most = _check.integer(most, "most", low=1)
    if not isinstance(result, Consensus) or (result.tree is None and "leaves" not in result.info):
        raise ValueError(f"{NO_TREE}.")
    if result.tree is None:
        return [
            TreeSplit(place + 2, int(part[3] + part[4]), int(part[3]), int(part[4]), None, None, float(part[5]))
            for place, part in enumerate(grown_splits(result)[:most])
        ]
    tree, spans = result.tree, lifetimes(result.tree)
    counts = np.ones(len(tree) + 1) if result.rows is None else np.bincount(result.rows, minlength=len(tree) + 1)
    sizes = np.concatenate([counts, tree[:, 3]]).astype(np.int64)
    found = []
    for k in range(2, min(most + 1, len(tree) + 1) + 1):
        left, right, height, size = tree[-(k - 1)]
        parts = int(sizes[int(left)]), int(sizes[int(right)])
        found.append(TreeSplit(k, int(size), *parts, float(height), float(spans[k - 1]), None))
    return found

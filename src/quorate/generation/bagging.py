"""Bagged clustering: k-means on bootstrap samples, both as members of an ensemble and as a clusterer of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._types import FloatArray
from quorate.generation.boosting import feature_rows
from quorate.generation.clusterer import Clusterer
from quorate.generation.similarity import Rows, as_rows
from quorate.generation.similarity_kmeans import assign, cluster_rows, compact

OutOfBag = Literal["nearest", "missing"]
Linkage = Literal["single", "average", "complete", "ward"]


@dataclass(frozen=True)
class Bagging:
    """k-means members, each trained on a bootstrap sample of the objects.

    Parameters
    ----------
    out_of_bag : "nearest" or "missing"
        Objects that were not drawn get the label of the nearest centre ("nearest") or no label, -1 ("missing").
    max_iter : int, default 100
        The largest number of k-means iterations.

    Notes
    -----
    n objects are drawn with replacement, which gives about 0.63 n different ones. With "nearest" the members are those
    of Dudoit & Fridlyand's first procedure; the matching of clusters and the vote, which are part of that procedure,
    are left to the consensus function. With "missing" the members are those of their second procedure, in which two
    objects are compared over the samples that contain both: use the "pairwise" normalisation of evidence accumulation.
    An instance can also be called as (X, k, rng) -> labels, so members can be computed in parallel.

    References
    ----------
    Dudoit, Fridlyand (2003). Bagging to improve the accuracy of a clustering procedure. Bioinformatics 19(9).
    doi:10.1093/bioinformatics/btg038

    Examples
    --------
    >>> X = np.repeat([[0.0], [1.0], [9.0]], 20, axis=0)
    >>> labels = np.column_stack(list(Bagging(out_of_bag="missing").members(X, [3, 3], np.random.default_rng(0))))
    >>> labels.shape, bool((labels == -1).any())
    ((60, 2), True)
    """

    out_of_bag: OutOfBag = "nearest"
    max_iter: int = 100

    def __post_init__(self) -> None:
        _check.choice(self.out_of_bag, "out_of_bag", ("nearest", "missing"))
        _check.integer(self.max_iter, "max_iter", low=1)

    def members(self, X: Any, ks: Iterable[int], rng: np.random.Generator) -> Iterator[NDArray[np.int32]]:
        """Yield one label vector for each number of clusters in `ks`, in the same order."""
        rows = feature_rows(X)
        return (self._member(rows, k, rng) for k in ks)

    def __call__(self, X: Any, k: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """Return the labels of one member."""
        return self._member(feature_rows(X), k, rng)

    def _member(self, rows: Rows, k: int, rng: np.random.Generator) -> NDArray[np.int32]:
        k = _check.integer(k, "k", low=1, high=rows.n_objects, advice="a cluster needs at least one object.")
        drawn, weights = bootstrap(rows.n_objects, k, rng)
        fit = cluster_rows(rows.take(drawn), k, rng, weights=weights, max_iter=self.max_iter)
        if self.out_of_bag == "nearest":
            return assign(rows, fit.prototypes)[0]
        labels = np.full(rows.n_objects, -1, dtype=np.int32)
        labels[drawn] = fit.labels
        return labels


def bagged_labels(
    X: Any, n_members: int, k: int, rng: np.random.Generator, *, out_of_bag: OutOfBag = "nearest"
) -> NDArray[np.int32]:
    """Return labels (n_objects, n_members) of k-means with k clusters on bootstrap samples; see `Bagging`."""
    n_members = _check.integer(n_members, "n_members", low=1)
    return np.column_stack(list(Bagging(out_of_bag).members(X, [k] * n_members, rng)))


def bootstrap(n_objects: int, least: int, rng: np.random.Generator) -> tuple[NDArray[np.intp], FloatArray]:
    """Draw objects with replacement, at least `least` different ones.

    Return the objects and how often each was drawn.
    """
    counts = np.bincount(rng.integers(n_objects, size=n_objects), minlength=n_objects)
    absent = np.flatnonzero(counts == 0)
    short = least - (n_objects - len(absent))
    if short > 0:
        counts[rng.choice(absent, short, replace=False)] = 1
    drawn = np.flatnonzero(counts)
    return drawn, counts[drawn].astype(np.float64)


class BaggedClustering(Clusterer):
    """Leisch's bagged clustering: the centres of k-means on many bootstrap samples are clustered hierarchically.

    Fitting has three steps. k-means runs on each bootstrap sample, and all centres are collected. The centres are
    joined by hierarchical clustering and cut into n_clusters clusters. Each object gets the cluster of the centre
    nearest to it.

    Parameters
    ----------
    n_clusters : int, default 8
    n_centres : int, default 20
        Number of clusters of each k-means, raised to n_clusters and lowered to the number of objects if necessary.
    n_samples : int, default 10
        Number of bootstrap samples.
    linkage : "single", "average", "complete" or "ward"
        The linkage by which the n_samples x n_centres centres are joined.
    random_state : None, int or RandomState

    Attributes
    ----------
    labels_ : int32 array of shape (n_objects,)
        The cluster of each object's nearest centre. A cluster whose centres are nearest to no object is left out.
    centres_ : array of shape (n_samples * n_centres, n_features)
        All centres. For dense X they are relative to the mean of X.

    See Also
    --------
    Bagging : k-means on bootstrap samples as members of an ensemble.

    References
    ----------
    Leisch (1999). Bagged clustering. Working paper 51, SFB Adaptive Information Systems, WU Wien.

    Examples
    --------
    >>> angles = np.linspace(0, 6, 200)
    >>> X = np.concatenate([np.column_stack([np.cos(angles), np.sin(angles)]), np.zeros((50, 2))])
    >>> labels = BaggedClustering(2, linkage="single", random_state=0).fit_predict(X)
    >>> len(set(labels[:200])), len(set(labels))
    (1, 2)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_centres: int = 20,
        n_samples: int = 10,
        linkage: Linkage = "average",
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_centres = n_centres
        self.n_samples = n_samples
        self.linkage = linkage
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> BaggedClustering:
        """Cluster the rows of X; y is ignored."""
        X = self._checked(X)
        n_samples = _check.integer(self.n_samples, "n_samples", low=1)
        n_centres = _check.integer(self.n_centres, "n_centres", low=1)
        _check.choice(self.linkage, "linkage", ("single", "average", "complete", "ward"))
        rows, rng = as_rows(X, "euclidean"), _check.generator(self.random_state)
        width = min(max(n_centres, self.n_clusters), rows.n_objects)
        centres = []
        for _ in range(n_samples):
            drawn, weights = bootstrap(rows.n_objects, width, rng)
            centres.append(cluster_rows(rows.take(drawn), width, rng, weights=weights, max_iter=100).prototypes)
        self.centres_ = np.vstack(centres)
        self.labels_ = compact(self._joined()[assign(rows, self.centres_)[0]])
        return self

    def _joined(self) -> NDArray[np.int32]:
        """Return the cluster of each centre."""
        from scipy.cluster.hierarchy import fcluster, linkage

        if len(self.centres_) == 1:
            return np.zeros(1, dtype=np.int32)
        tree = linkage(self.centres_, self.linkage)
        labels: NDArray[np.int32] = fcluster(tree, self.n_clusters, "maxclust").astype(np.int32)
        return labels

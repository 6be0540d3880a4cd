"""Bagging, boosting and the base classes of our scikit-learn clusterers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from quorate import _check
from quorate._types import FloatArray
from quorate.generation.clusterers.similarity import (
    PrototypeRun,
    SimilarityRows,
    cluster_rows,
    most_similar,
    similarity_rows,
    without_gaps,
)


class Clusterer(ClusterMixin, BaseEstimator):
    """Base class of our clusterers.

    It checks that X holds floats, dense or CSR, and that n_clusters is at most the number of objects.
    """

    n_clusters: int
    random_state: Any

    def _checked(self, X: Any) -> Any:
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        _check.integer(
            self.n_clusters, "n_clusters", low=1, high=X.shape[0], advice="a cluster needs at least one object."
        )
        return X

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int32]:
        """Fit and return labels_."""
        labels: NDArray[np.int32] = self.fit(X, y).labels_
        return labels

    def fit(self, X: Any, y: Any = None) -> Any:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class PrototypeClusterer(Clusterer):
    """Base class of clusterers whose clusters have prototypes, so that they can label new objects."""

    def _keep(self, rows: Any, run: PrototypeRun) -> None:
        self.labels_ = without_gaps(run.labels)
        kept = np.unique(run.labels)
        self.prototypes_ = run.prototypes[kept]
        self.n_iter_ = run.n_iter
        self._shift = rows.shift

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Return the most similar prototype of each object, numbered as in labels_."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        labels, _ = most_similar(
            similarity_rows(X, getattr(self, "similarity", "euclidean"), self._shift), self.prototypes_
        )
        return labels


Quality = Literal["minmax", "entropy"]


class BoostedMember(NamedTuple):
    """One boosted member: its labels (n_objects,), its loss, its vote log((1 - loss) / loss), and its round."""

    labels: NDArray[np.int32]
    loss: float
    vote: float
    round: int


@dataclass(frozen=True)
class Boosting:
    """A sequence of k-means members, each trained mostly on objects that were hard for the members before (Boost-KM).

    For each member, objects are drawn by weight and clustered by k-means, all objects are labelled by the nearest
    centre, and the weights of the objects that were hard to assign are raised.

    Parameters
    ----------
    quality : "minmax" or "entropy"
        The measure of how hard an object is for a member, from 0 to 1; see Notes.
    patience : int or None, default 3
        A round ends when this many members in a row have not raised its largest loss; the next member starts a new
        round from equal weights. With None there is one round without end.
    max_iter : int, default 100
        The largest number of k-means iterations.

    Notes
    -----
    The weights w_i are equal at first. For each member n objects are drawn with replacement by weight and clustered
    with k-means; every object then belongs to cluster c with degree h_ic = (1 / d_ic) / sum_j (1 / d_ij), where d_ic is
    its distance to the centre of c, and gets the label of the nearest centre. Its hardness is
    q_i = 1 - max_c h_ic + min_c h_ic (minmax) or -sum_c h_ic log h_ic / log k (entropy). The member's loss is
    e = sum_i w_i q_i / 2, and w_i becomes proportional to w_i ((1 - e) / e)^q_i.

    There are three differences from the paper. The paper does not divide the entropy by log k, so that with more than
    two clusters a loss above 1/2 would stop it. The paper stops when a round ends, whereas we begin a new round,
    because callers ask for a number of members. The paper's vote, in which members are relabelled to match each other
    and have the weight log((1 - e) / e), is a consensus function of its own: pass `vote` to `as_ensemble` as the
    weights of the members. Members depend on their predecessors, so they cannot be computed in parallel.
    Each member costs a k-means on about 0.63 n distinct objects and one pass over all objects.

    References
    ----------
    Frossyniotis, Likas, Stafylopatis (2004). A clustering method based on boosting. Pattern Recognition Letters
    25(6). doi:10.1016/j.patrec.2003.12.018

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(8, 1, (40, 2))])
    >>> [len(np.unique(labels)) for labels in Boosting().members(X, [2, 3, 2], rng)]
    [2, 3, 2]
    """

    quality: Quality = "minmax"
    patience: int | None = 3
    max_iter: int = 100

    def __post_init__(self) -> None:
        _check.choice(self.quality, "quality", ("minmax", "entropy"))
        if self.patience is not None:
            _check.integer(self.patience, "patience", low=1)
        _check.integer(self.max_iter, "max_iter", low=1)

    def members(self, X: Any, ks: Iterable[int], rng: np.random.Generator) -> Iterator[NDArray[np.int32]]:
        """Yield one label vector for each number of clusters in `ks`, in the same order."""
        return (step.labels for step in self.steps(X, ks, rng))

    def steps(self, X: Any, ks: Iterable[int], rng: np.random.Generator) -> Iterator[BoostedMember]:
        """Yield the members as `members` does, together with the loss, vote and round of each."""
        rows = feature_rows(X)
        n_round, weights, losses = 0, np.full(rows.n_objects, 1.0 / rows.n_objects), [0.0]
        for k in ks:
            k = _check.integer(
                k, "k", low=2, high=rows.n_objects, advice="with one cluster no object is hard to assign."
            )
            if self.patience is not None and len(losses) - 1 - int(np.argmax(losses)) >= self.patience:
                n_round, weights, losses = n_round + 1, np.full(rows.n_objects, 1.0 / rows.n_objects), [0.0]
            centres = trained_centres(rows, rng.multinomial(rows.n_objects, weights), k, rng, self.max_iter)
            labels, hard = self._judge(rows, centres)
            # The loss is 0 if every object is its own centre; then no object is harder than another.
            loss = min(max(float(weights @ hard) / 2, 1e-12), 0.5)
            weights = weights * ((1 - loss) / loss) ** hard
            weights /= weights.sum()
            losses.append(loss)
            yield BoostedMember(labels, loss, float(np.log((1 - loss) / loss)), n_round)

    def _judge(self, rows: SimilarityRows, centres: FloatArray) -> tuple[NDArray[np.int32], FloatArray]:
        """Return the nearest centre and the hardness of all objects, computed in blocks."""
        labels, hard = np.empty(rows.n_objects, dtype=np.int32), np.empty(rows.n_objects)
        for block in rows.blocks(len(centres)):
            distances = np.sqrt(-rows.compare(block, centres))
            labels[block], hard[block] = np.argmin(distances, axis=1), hardness(distances, self.quality)
        return labels, hard


def hardness(distances: FloatArray, quality: Quality) -> FloatArray:
    """Return how undecided each object (row) is between the centres (columns).

    The hardness is 0 at a centre and 1 at equal distances from all centres.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        # Distances are first divided into that of the nearest centre, so that neither tiny nor huge ones overflow.
        pull = distances.min(axis=1, keepdims=True) / distances
    pull = np.where(np.isnan(pull), 1.0, pull)
    degrees = pull / pull.sum(axis=1, keepdims=True)
    if quality == "minmax":
        return np.asarray(1.0 - degrees.max(axis=1) + degrees.min(axis=1))
    logs = np.log(np.where(degrees > 0, degrees, 1.0))
    return np.asarray(-(degrees * logs).sum(axis=1) / np.log(distances.shape[1]))


def feature_rows(X: Any) -> SimilarityRows:
    """Check the features and prepare them for Euclidean distances."""
    from sklearn.utils import check_array

    return similarity_rows(check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32]), "euclidean")


def trained_centres(
    rows: SimilarityRows, counts: NDArray[np.int64], k: int, rng: np.random.Generator, max_iter: int
) -> FloatArray:
    """Return the centres of k-means on a sample in which object i occurs counts[i] times."""
    drawn = np.flatnonzero(counts)
    if len(drawn) < k:
        # Too few different objects were drawn for k clusters: add some of the others, once each.
        others = np.flatnonzero(counts == 0)
        drawn = np.sort(np.concatenate([drawn, rng.choice(others, k - len(drawn), replace=False)]))
    weights = np.maximum(counts[drawn], 1).astype(np.float64)
    return cluster_rows(rows.take(drawn), k, rng, weights=weights, max_iter=max_iter).prototypes


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

    def _member(self, rows: SimilarityRows, k: int, rng: np.random.Generator) -> NDArray[np.int32]:
        k = _check.integer(k, "k", low=1, high=rows.n_objects, advice="a cluster needs at least one object.")
        drawn, weights = bootstrap(rows.n_objects, k, rng)
        fit = cluster_rows(rows.take(drawn), k, rng, weights=weights, max_iter=self.max_iter)
        if self.out_of_bag == "nearest":
            return most_similar(rows, fit.prototypes)[0]
        labels = np.full(rows.n_objects, -1, dtype=np.int32)
        labels[drawn] = fit.labels
        return labels


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


@dataclass(eq=False, repr=False)
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

    n_clusters: int = 8
    _: KW_ONLY
    n_centres: int = 20
    n_samples: int = 10
    linkage: Linkage = "average"
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> BaggedClustering:
        """Cluster the rows of X; y is ignored."""
        X = self._checked(X)
        n_samples = _check.integer(self.n_samples, "n_samples", low=1)
        n_centres = _check.integer(self.n_centres, "n_centres", low=1)
        _check.choice(self.linkage, "linkage", ("single", "average", "complete", "ward"))
        rows, rng = similarity_rows(X, "euclidean"), _check.generator(self.random_state)
        width = min(max(n_centres, self.n_clusters), rows.n_objects)
        centres = []
        for _ in range(n_samples):
            drawn, weights = bootstrap(rows.n_objects, width, rng)
            centres.append(cluster_rows(rows.take(drawn), width, rng, weights=weights, max_iter=100).prototypes)
        self.centres_ = np.vstack(centres)
        self.labels_ = without_gaps(self._joined()[most_similar(rows, self.centres_)[0]])
        return self

    def _joined(self) -> NDArray[np.int32]:
        """Return the cluster of each centre."""
        from scipy.cluster.hierarchy import fcluster, linkage

        if len(self.centres_) == 1:
            return np.zeros(1, dtype=np.int32)
        tree = linkage(self.centres_, self.linkage)
        labels: NDArray[np.int32] = fcluster(tree, self.n_clusters, "maxclust").astype(np.int32)
        return labels

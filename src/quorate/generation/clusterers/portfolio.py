"""A batch self-organising map whose units are the clusters."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._types import FloatArray
from quorate.generation.clusterers.bagging import Clusterer, PrototypeClusterer
from quorate.generation.clusterers.knn_graph import nearest_neighbours, similarity_graph
from quorate.generation.clusterers.similarity import (
    SIMILARITIES,
    PrototypeRun,
    Similarity,
    SimilarityRows,
    cluster_rows,
    most_similar,
    seeds,
    similarity_rows,
    sums,
)
from quorate.solvers.graphs.partition import partition_graph, partition_hypergraph
from quorate.solvers.label_rows import fill_empty


def grid_shape(n_units: int) -> tuple[int, int]:
    """Return the grid of exactly `n_units` units that is as square as possible: (2, 5) for 10, (1, 7) for 7."""
    height = next(h for h in range(int(np.sqrt(n_units)), 0, -1) if n_units % h == 0)
    return height, n_units // height


def train_map(rows: SimilarityRows, n_units: int, rng: np.random.Generator, max_iter: int) -> PrototypeRun:
    """Fit the map: the units begin at objects, and the influence of their grid neighbours decreases.

    In each step every object is assigned to its most similar unit, and unit u becomes the mean of all objects, where an
    object of unit v has the weight exp(-g(u, v)^2 / (2 s^2)) and g is the distance on the grid. The radius s falls
    geometrically from half the grid's length (at least 1) to 0.3; then a neighbour has the weight 0.004, and the map is
    almost k-means.
    """
    height, width = grid_shape(n_units)
    places = np.array([(row, column) for row in range(height) for column in range(width)], dtype=np.float64)
    apart = ((places[:, None] - places) ** 2).sum(axis=2)
    mass = np.ones(rows.n_objects)
    units: FloatArray = seeds(rows, n_units, rng, mass)
    for radius in np.geomspace(max(width / 2, 1.0), 0.3, max_iter):
        total, weight = sums(rows, most_similar(rows, units)[0], mass, n_units)
        pull = np.exp(-apart / (2 * radius**2))
        units = rows.prototypes((pull @ total) / (pull @ weight)[:, None])
    labels, likeness = most_similar(rows, units)
    fill_empty(labels, rows.apart(likeness), n_units, least=0.0)
    return PrototypeRun(units, labels, float(likeness.sum()), max_iter)


Hyperedges = Literal["auto", "neighbours", "features"]


@dataclass(eq=False, repr=False)
class SimilarityKMeans(PrototypeClusterer):
    """k-means under Euclidean distance, cosine, correlation or extended Jaccard.

    Parameters
    ----------
    n_clusters : int, default 8
    similarity : "euclidean", "cosine", "correlation" or "extended_jaccard"
        The similarity by which objects are assigned. Correlation is the cosine of rows minus their means; extended
        Jaccard is x.y / (|x|^2 + |y|^2 - x.y).
    n_init : int, default 3
        Number of k-means++ starts; the one with the largest total similarity is kept.
    max_iter : int, default 100
    random_state : None, int or RandomState

    Attributes
    ----------
    labels_ : int32 array of shape (n_objects,)
    prototypes_ : array of shape (n_clusters, n_features)
        Means of the clusters' rows, scaled to length one for cosine and correlation. Euclidean prototypes of dense X
        are relative to the mean of X.
    n_iter_ : int

    Notes
    -----
    One sweep costs O(n k d) and works in blocks; a copy of X is made. Under cosine and correlation this is spherical
    k-means, which reaches a local optimum of the total similarity. Under extended Jaccard the means are not optimal
    prototypes, as in Strehl et al. (2000), so the sweeps may cycle until max_iter ends them. The result has fewer
    clusters than asked for if fewer objects differ (in two dimensions the correlation of any two objects is 1 or -1).

    References
    ----------
    Strehl, Ghosh, Mooney (2000). Impact of similarity measures on web-page clustering. AAAI workshop on artificial
    intelligence for web search.
    Dhillon, Modha (2001). Concept decompositions for large sparse text data using clustering. Machine Learning 42.
    doi:10.1023/A:1007612920971

    Examples
    --------
    >>> X = np.array([[1.0, 0.1], [5.0, 0.2], [0.1, 1.0], [0.3, 4.0]])
    >>> labels = SimilarityKMeans(2, similarity="cosine", random_state=0).fit_predict(X)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    n_clusters: int = 8
    _: KW_ONLY
    similarity: Similarity = "euclidean"
    n_init: int = 3
    max_iter: int = 100
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> SimilarityKMeans:
        """Cluster the rows of X; y is ignored."""
        X = self._checked(X)
        n_init = _check.integer(self.n_init, "n_init", low=1, high=1_000_000)
        max_iter = _check.integer(self.max_iter, "max_iter", low=1)
        rows, rng = similarity_rows(X, self.similarity), _check.generator(self.random_state)
        self._keep(rows, cluster_rows(rows, self.n_clusters, rng, n_init=n_init, max_iter=max_iter))
        return self


@dataclass(eq=False, repr=False)
class SelfOrganisingMap(PrototypeClusterer):
    """A batch self-organising map; each of its units is a cluster.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of units. They form a grid of exactly this many units that is as square as possible: 2 x 5 for 10, a
        line of 7 for 7.
    max_iter : int, default 40
        Number of sweeps, during which the radius of the neighbourhood falls from half the grid's length to 0.3.
    random_state : None, int or RandomState
        Seed of the start: the units begin at objects drawn as in k-means++.

    Attributes
    ----------
    labels_ : int32 array of shape (n_objects,)
        The unit of each object. Units are numbered row by row of the grid; units without an object are left out.
    prototypes_ : array of shape (n_clusters, n_features)
        The units. For dense X they are relative to the mean of X.
    grid_ : (int, int)
        Rows and columns of the grid.
    n_iter_ : int

    Notes
    -----
    Distances are Euclidean. One sweep costs O(n k d).

    References
    ----------
    Kohonen (1995). Self-organizing maps. Springer. doi:10.1007/978-3-642-97610-0
    """

    n_clusters: int = 8
    _: KW_ONLY
    max_iter: int = 40
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> SelfOrganisingMap:
        """Cluster the rows of X; y is ignored."""
        X = self._checked(X)
        max_iter = _check.integer(self.max_iter, "max_iter", low=1)
        rows, rng = similarity_rows(X, "euclidean"), _check.generator(self.random_state)
        self._keep(rows, train_map(rows, self.n_clusters, rng, max_iter))
        self.grid_ = grid_shape(self.n_clusters)
        return self


@dataclass(eq=False, repr=False)
class GraphPartitioning(Clusterer):
    """Balanced partition of the nearest-neighbour graph by METIS.

    Parameters
    ----------
    n_clusters : int, default 8
    similarity : "euclidean", "cosine", "correlation" or "extended_jaccard"
        See `SimilarityKMeans`. For Euclidean distances the weight of an edge is exp(-d^2 / (s_i s_j)), see
        `similarity_graph`.
    n_neighbors : int, default 15
    imbalance : float, default 0.05
        How much larger than the mean a cluster may be, as a fraction of the mean.
    random_state : None, int or RandomState

    Attributes
    ----------
    labels_ : int32 array of shape (n_objects,)
        Always n_clusters clusters.
    graph_ : csr_array
        The nearest-neighbour graph.
    cut_ : float
        Total weight of the edges between clusters.

    Notes
    -----
    Strehl & Ghosh partition the graph of all n^2 similarities; a graph of nearest neighbours keeps the memory linear in
    n. The clusters are of about equal size: if the true classes are not, large classes are split.

    References
    ----------
    Strehl, Ghosh, Mooney (2000), see `SimilarityKMeans`.

    Examples
    --------
    >>> X = np.vstack([np.arange(8.0), np.arange(20.0, 28.0)]).reshape(-1, 1)
    >>> labels = GraphPartitioning(2, n_neighbors=3, random_state=0).fit_predict(X)
    >>> len(set(labels[:8])), len(set(labels[8:])), len(set(labels))
    (1, 1, 2)
    """

    n_clusters: int = 8
    _: KW_ONLY
    similarity: Similarity = "euclidean"
    n_neighbors: int = 15
    imbalance: float = 0.05
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> GraphPartitioning:
        """Cluster the rows of X; y is ignored."""
        X = self._checked(X)
        n_neighbors = _check.integer(self.n_neighbors, "n_neighbors", low=1)
        _check.choice(self.similarity, "similarity", SIMILARITIES)
        graph = similarity_graph(X, self.similarity, n_neighbors)
        seed = int(_check.generator(self.random_state).integers(2**31 - 1))
        parts = partition_graph(graph.indptr, graph.indices, graph.data, None, self.n_clusters, seed, self.imbalance)
        self.graph_, self.labels_, self.cut_ = graph, parts.labels, parts.cut
        return self


@dataclass(eq=False, repr=False)
class HypergraphPartitioning(Clusterer):
    """Balanced partition of a hypergraph over the objects by Mt-KaHyPar (extra `hypergraph`).

    Parameters
    ----------
    n_clusters : int, default 8
    hyperedges : "auto", "neighbours" or "features"
        "features" makes one hyperedge per feature, which joins the objects for which the feature is not 0 and has the
        weight log(n / number of these objects); it is meant for data such as the words of documents. "neighbours" makes
        one hyperedge per object, which joins it and its nearest neighbours. "auto" takes features for sparse X and
        neighbours for dense X, where a feature would join all objects.
    n_neighbors : int, default 15
    imbalance : float, default 0.05
        How much larger than the mean a cluster may be, as a fraction of the mean.
    random_state : None, int or RandomState

    Attributes
    ----------
    labels_ : int32 array of shape (n_objects,)
        Always n_clusters clusters.
    cut_ : float
        The sum over all hyperedges of the weight times the number of clusters in the hyperedge minus one.

    Notes
    -----
    Strehl & Ghosh always used features, and report that hypergraph partitioning gave poor results on dense data.

    References
    ----------
    Strehl, Ghosh, Mooney (2000), see `SimilarityKMeans`.
    """

    n_clusters: int = 8
    _: KW_ONLY
    hyperedges: Hyperedges = "auto"
    n_neighbors: int = 15
    imbalance: float = 0.05
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> HypergraphPartitioning:
        """Cluster the rows of X; y is ignored."""
        X = self._checked(X)
        n_neighbors = _check.integer(self.n_neighbors, "n_neighbors", low=1)
        kind = _check.choice(self.hyperedges, "hyperedges", ("auto", "neighbours", "features"))
        by_feature = kind == "features" or (kind == "auto" and not isinstance(X, np.ndarray))
        starts, places, weights = _features(X) if by_feature else _neighbours(X, n_neighbors)
        seed = int(_check.generator(self.random_state).integers(2**31 - 1))
        objects = np.ones(X.shape[0])
        parts = partition_hypergraph(
            starts, places, weights, objects, self.n_clusters, seed, self.imbalance, objective="connectivity"
        )
        self.labels_, self.cut_ = parts.labels, parts.cut
        return self


def robust_portfolio(n_clusters: int = 8, random_state: Any = None) -> list[Any]:
    """Return the ten clusterers of robust centralised clustering (RCC), each with a seed of its own.

    Parameters
    ----------
    n_clusters : int
    random_state : None, int or RandomState

    Returns
    -------
    list
        A self-organising map; hypergraph partitioning; k-means with Euclidean, cosine, correlation and extended
        Jaccard; graph partitioning with the same four.

    References
    ----------
    Strehl, Ghosh (2002). Cluster ensembles. Journal of Machine Learning Research 3, section 4.5.

    Examples
    --------
    >>> [type(clusterer).__name__ for clusterer in robust_portfolio(3, random_state=0)][:3]
    ['SelfOrganisingMap', 'HypergraphPartitioning', 'SimilarityKMeans']
    """
    rng = _check.generator(random_state)

    def seed() -> int:
        return int(rng.integers(2**31 - 1))

    return [
        SelfOrganisingMap(n_clusters, random_state=seed()),
        HypergraphPartitioning(n_clusters, random_state=seed()),
        *(SimilarityKMeans(n_clusters, similarity=name, random_state=seed()) for name in SIMILARITIES),
        *(GraphPartitioning(n_clusters, similarity=name, random_state=seed()) for name in SIMILARITIES),
    ]


def _features(X: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
    """Return one hyperedge per feature, which joins the objects for which it is not 0; rarer features weigh more."""
    from scipy.sparse import csc_array

    columns = csc_array(X)
    columns.eliminate_zeros()
    sizes = np.diff(columns.indptr)
    return columns.indptr, columns.indices, np.log(X.shape[0] / np.maximum(sizes, 1))


def _neighbours(X: Any, n_neighbors: int) -> tuple[NDArray[Any], NDArray[Any], None]:
    """Return one hyperedge per object, which joins the object and its nearest neighbours."""
    near = nearest_neighbours(X, "euclidean", min(n_neighbors, X.shape[0] - 1)).places
    hoods = np.column_stack([np.arange(len(near)), near])
    return np.arange(0, hoods.size + 1, hoods.shape[1]), hoods.ravel(), None

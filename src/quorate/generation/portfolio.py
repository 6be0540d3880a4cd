"""The ten clusterers of Strehl & Ghosh's robust portfolio, as scikit-learn estimators usable one by one."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate.generation.clusterer import Clusterer, PrototypeClusterer
from quorate.generation.knn_graph import nearest, similarity_graph
from quorate.generation.similarity import SIMILARITIES, Similarity, as_rows
from quorate.generation.similarity_kmeans import cluster_rows
from quorate.generation.som import grid_shape, train_map
from quorate.solvers.graphs.graph_partition import partition_graph
from quorate.solvers.graphs.hypergraph_partition import partition_hypergraph

Hyperedges = Literal["auto", "neighbours", "features"]


class SimilarityKMeans(PrototypeClusterer):
    """k-means under Euclidean distance, cosine, correlation or extended Jaccard.

    Parameters
    ----------
    n_clusters : int, default 8
    similarity : "euclidean", "cosine", "correlation" or "extended_jaccard"
        What an object is assigned by. Correlation is the cosine of rows less their means, extended Jaccard
        x.y / (|x|^2 + |y|^2 - x.y).
    n_init : int, default 3
        k-means++ starts; the one of the largest total similarity is kept.
    max_iter : int, default 100
    random_state : None, int or RandomState

    Attributes
    ----------
    labels_ : int32 array of shape (n_objects,)
    prototypes_ : array of shape (n_clusters, n_features)
        Means of the clusters' rows; of length one for cosine and correlation. Euclidean ones of dense X are given
        relative to X's mean.
    n_iter_ : int

    Notes
    -----
    O(n k d) a sweep, in blocks; a copy of X is made. Under cosine and correlation this is spherical k-means, which
    climbs to a local optimum of the total similarity. Under extended Jaccard means are not optimal prototypes, as
    in Strehl et al. (2000), so sweeps may cycle: max_iter ends them. Fewer clusters than asked come out where fewer
    objects differ (in two dimensions the correlation of any two objects is 1 or -1).

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

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        similarity: Similarity = "euclidean",
        n_init: int = 3,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.similarity = similarity
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> SimilarityKMeans:
        """Cluster the rows of X; y is ignored."""
        X = self._checked(X)
        n_init = _check.integer(self.n_init, "n_init", low=1)
        max_iter = _check.integer(self.max_iter, "max_iter", low=1)
        rows, rng = as_rows(X, self.similarity), _check.generator(self.random_state)
        self._keep(rows, cluster_rows(rows, self.n_clusters, rng, n_init=n_init, max_iter=max_iter))
        return self


class SelfOrganisingMap(PrototypeClusterer):
    """A batch self-organising map; each of its units is a cluster.

    Parameters
    ----------
    n_clusters : int, default 8
        Units. They form the most square grid of exactly this many: 2 x 5 for 10, a line of 7 for 7.
    max_iter : int, default 40
        Sweeps, over which the radius of the neighbourhood falls from half the grid's length to 0.3.
    random_state : None, int or RandomState
        Units begin at objects drawn as in k-means++.

    Attributes
    ----------
    labels_ : int32 array of shape (n_objects,)
        Numbers of units row by row of the grid; units without an object are left out.
    prototypes_ : array of shape (n_clusters, n_features)
        For dense X relative to X's mean.
    grid_ : (int, int)
    n_iter_ : int

    Notes
    -----
    O(n k d) a sweep. Euclidean distances.

    References
    ----------
    Kohonen (1995). Self-organizing maps. Springer. doi:10.1007/978-3-642-97610-0
    """

    def __init__(self, n_clusters: int = 8, *, max_iter: int = 40, random_state: Any = None) -> None:
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> SelfOrganisingMap:
        """Cluster the rows of X; y is ignored."""
        X = self._checked(X)
        max_iter = _check.integer(self.max_iter, "max_iter", low=1)
        rows, rng = as_rows(X, "euclidean"), _check.generator(self.random_state)
        self._keep(rows, train_map(rows, self.n_clusters, rng, max_iter))
        self.grid_ = grid_shape(self.n_clusters)
        return self


class GraphPartitioning(Clusterer):
    """Balanced partition of the nearest-neighbour graph by METIS.

    Parameters
    ----------
    n_clusters : int, default 8
    similarity : "euclidean", "cosine", "correlation" or "extended_jaccard"
        See `SimilarityKMeans`; for Euclidean the edges weigh exp(-d^2 / (s_i s_j)), see `similarity_graph`.
    n_neighbors : int, default 15
    imbalance : float, default 0.05
        A cluster may be this much larger than the mean.
    random_state : None, int or RandomState

    Attributes
    ----------
    labels_ : int32 array of shape (n_objects,)
        Always n_clusters clusters.
    graph_ : csr_array
    cut_ : float
        Weight of the edges cut.

    Notes
    -----
    Strehl & Ghosh partition the graph of all n^2 similarities; a graph of nearest neighbours keeps memory linear in
    n. Clusters come out about equally large: where classes are not, a cluster of several parts is split.

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

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        similarity: Similarity = "euclidean",
        n_neighbors: int = 15,
        imbalance: float = 0.05,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.similarity = similarity
        self.n_neighbors = n_neighbors
        self.imbalance = imbalance
        self.random_state = random_state

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


class HypergraphPartitioning(Clusterer):
    """Balanced partition of a hypergraph over the objects by Mt-KaHyPar (extra `hypergraph`).

    Parameters
    ----------
    n_clusters : int, default 8
    hyperedges : "auto", "neighbours" or "features"
        "features": a hyperedge for each feature, of the objects where it is not 0, weighing log(n / its size); the
        words of documents. "neighbours": a hyperedge for each object, of itself and its nearest neighbours.
        "auto": features for sparse X, neighbours for dense X, where a feature would hold every object.
    n_neighbors : int, default 15
    imbalance : float, default 0.05
        A cluster may be this much larger than the mean.
    random_state : None, int or RandomState

    Attributes
    ----------
    labels_ : int32 array of shape (n_objects,)
        Always n_clusters clusters.
    cut_ : float
        For each hyperedge its weight times the clusters it reaches beyond the first, summed.

    Notes
    -----
    Strehl & Ghosh used features throughout, and report that hypergraph partitioning did poorly on dense data.

    References
    ----------
    Strehl, Ghosh, Mooney (2000), see `SimilarityKMeans`.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        hyperedges: Hyperedges = "auto",
        n_neighbors: int = 15,
        imbalance: float = 0.05,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.hyperedges = hyperedges
        self.n_neighbors = n_neighbors
        self.imbalance = imbalance
        self.random_state = random_state

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
    """The ten clusterers of robust centralised clustering (RCC), each with a seed of its own.

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
    """A hyperedge for each feature, of the objects where it is not 0; rarer features weigh more."""
    from scipy.sparse import csc_array

    columns = csc_array(X)
    columns.eliminate_zeros()
    sizes = np.diff(columns.indptr)
    return columns.indptr, columns.indices, np.log(X.shape[0] / np.maximum(sizes, 1))


def _neighbours(X: Any, n_neighbors: int) -> tuple[NDArray[Any], NDArray[Any], None]:
    """A hyperedge for each object, of itself and its nearest neighbours."""
    near = nearest(X, "euclidean", min(n_neighbors, X.shape[0] - 1)).places
    hoods = np.column_stack([np.arange(len(near)), near])
    return np.arange(0, hoods.size + 1, hoods.shape[1]), hoods.ravel(), None

"""Sparse graphs of nearest neighbours under a similarity, built without the matrix of all similarities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import FloatArray
from quorate.generation.clusterers.similarity import (
    BLOCK_VALUES,
    Similarity,
    SimilarityRows,
    extended_jaccard,
    similarity_rows,
)

TREE_FEATURES = 15
"""Up to this many features, search trees are faster than comparing all pairs."""


class Neighbours(NamedTuple):
    """The m objects most similar to each object, most similar first, and their similarities.

    Both arrays have the shape (n_objects, m).
    """

    places: NDArray[np.intp]
    values: FloatArray


def similarity_graph(X: Any, similarity: Similarity, n_neighbors: int) -> Any:
    """Return the k-nearest-neighbour graph of X as a symmetric CSR array with positive weights.

    Parameters
    ----------
    X : array or CSR of shape (n_objects, n_features)
        Finite floats.
    similarity : str
        One of SIMILARITIES.
    n_neighbors : int
        Number of neighbours of an object, not counting itself. Two objects are joined by an edge if one of them is
        among the neighbours of the other.

    Returns
    -------
    csr_array of shape (n_objects, n_objects)
        The weight of an edge is the similarity; edges of a similarity of 0 or less are left out. For Euclidean
        distances d it is exp(-d^2 / (s_i s_j)), where s_i is the distance of object i to its last neighbour, so that
        the scale of the features does not matter.

    Notes
    -----
    The memory grows with n_objects x n_neighbors. Dense data of up to 15 features are searched with trees, also for
    extended Jaccard (see `_jaccard_by_tree`); otherwise all pairs are compared, one block at a time.

    References
    ----------
    Zelnik-Manor, Perona (2004). Self-tuning spectral clustering. Advances in Neural Information Processing Systems
    17.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]])
    >>> similarity_graph(X, "cosine", 1).toarray().round(3)
    array([[0.   , 0.999, 0.   , 0.   ],
           [0.999, 0.   , 0.   , 0.   ],
           [0.   , 0.   , 0.   , 0.999],
           [0.   , 0.   , 0.999, 0.   ]])
    """
    from scipy.sparse import csr_array

    places, values = nearest_neighbours(X, similarity, min(n_neighbors, X.shape[0] - 1))
    n_objects, width = places.shape
    if similarity == "euclidean" and width:
        reach = np.sqrt(np.maximum(-values[:, -1], np.finfo(float).tiny))
        values = np.exp(values / (reach[:, None] * reach[places]))
    starts = np.arange(0, n_objects * width + 1, width) if width else np.zeros(n_objects + 1, dtype=int)
    graph = csr_array((np.maximum(values, 0.0).ravel(), places.ravel(), starts), shape=(n_objects, n_objects))
    graph = graph.maximum(graph.T).tocsr()
    graph.eliminate_zeros()
    return graph


def nearest_neighbours(X: Any, similarity: Similarity, n_neighbors: int) -> Neighbours:
    """Return the `n_neighbors` objects most similar to each object, not counting the object itself.

    Euclidean values are negative squared distances. Of equally similar objects the first ones are taken, whatever the
    number of threads.
    """
    rows = similarity_rows(X, similarity)
    if n_neighbors == 0:
        return Neighbours(np.zeros((rows.n_objects, 0), dtype=np.intp), np.zeros((rows.n_objects, 0)))
    if rows.is_sparse or (similarity == "extended_jaccard" and X.shape[1] > TREE_FEATURES):
        return _all_pairs(rows, n_neighbors)
    if similarity == "extended_jaccard":
        return _jaccard_by_tree(rows, n_neighbors)
    from sklearn.neighbors import NearestNeighbors

    # Matrix products are rounded differently for other numbers of threads, and data on a grid have many ties.
    # Therefore a few more candidates than wanted are found and compared again one by one. Rows of length one have
    # |x - y|^2 = 2 - 2 x.y, so Euclidean distances give the right order for all three similarities.
    n_candidates = min(n_neighbors + n_neighbors // 2 + 5, rows.n_objects - 1)
    places = NearestNeighbors(n_neighbors=n_candidates).fit(rows.values).kneighbors(return_distance=False)
    values = _compare_candidates(X if similarity == "euclidean" else rows.values, places, similarity)
    order = np.lexsort((places, -values), axis=1)[:, :n_neighbors]
    return Neighbours(np.take_along_axis(places, order, axis=1), np.take_along_axis(values, order, axis=1))


def _compare_candidates(values: Any, places: NDArray[np.intp], similarity: Similarity) -> FloatArray:
    """Return the similarity (n_objects, m) of each object with its candidates, computed pair by pair, in blocks."""
    result = np.empty(places.shape)
    size = max(1, BLOCK_VALUES // (places.shape[1] * values.shape[1]))
    for block in (slice(start, start + size) for start in range(0, len(places), size)):
        mine, others = values[block][:, None], values[places[block]]
        if similarity == "euclidean":
            apart = (others - mine).astype(np.float64)
            result[block] = -np.einsum("bmd,bmd->bm", apart, apart)
        else:
            result[block] = np.einsum("bmd,bmd->bm", np.broadcast_to(mine, others.shape), others, dtype=np.float64)
    return result


def _all_pairs(rows: SimilarityRows, n_neighbors: int, some: NDArray[np.intp] | None = None) -> Neighbours:
    """Compare some objects, or all if `some` is None, with every other object, one block of rows at a time."""
    numbers = np.arange(rows.n_objects) if some is None else some
    places = np.empty((len(numbers), n_neighbors), dtype=np.intp)
    values = np.empty((len(numbers), n_neighbors))
    size = max(1, BLOCK_VALUES // rows.n_objects)
    for block in (slice(start, start + size) for start in range(0, len(numbers), size)):
        likeness = _compare_objects(rows, numbers[block])
        likeness[np.arange(len(likeness)), numbers[block]] = -np.inf
        least = np.partition(likeness, -n_neighbors, axis=1)[:, -n_neighbors, None]
        owner, other = np.nonzero(likeness >= least)
        _, places[block], values[block] = _first_best(owner, other, likeness[owner, other], n_neighbors)
    return Neighbours(places, values)


def _compare_objects(rows: SimilarityRows, some: NDArray[np.intp]) -> FloatArray:
    products = rows.values[some] @ rows.values.T
    dense = np.asarray(products.toarray() if rows.is_sparse else products, dtype=np.float64)
    if rows.similarity != "correlation":
        return rows.likeness(dense, some, rows.squares)
    # Sparse rows are scaled but not centred, so the part of the means is subtracted from the products.
    means = np.asarray(rows.values.mean(axis=1), dtype=np.float64).ravel()
    centred: FloatArray = dense - rows.values.shape[1] * np.outer(means[some], means)
    return centred


def _jaccard_by_tree(rows: SimilarityRows, n_neighbors: int) -> Neighbours:
    """Find the exact neighbours under extended Jaccard with a search tree for Euclidean distances.

    J(x, y) grows as r = |x - y|^2 / (|x|^2 + |y|^2) falls, and r <= r0 < 1 describes the ball around x / (1 - r0) with
    the squared radius |x|^2 (1 / (1 - r0)^2 - 1). Therefore the Euclidean neighbours give a bound on r, and the ball of
    that bound contains the true neighbours. Objects close to the origin, whose balls would contain too many objects,
    are compared with all objects.
    """
    from scipy.spatial import KDTree

    X, squares = np.asarray(rows.values, dtype=np.float64), rows.squares
    tree = KDTree(X)
    distances, near = tree.query(X, k=n_neighbors + 1)
    lengths = squares[:, None] + squares[near]
    bound = (distances**2 / np.where(lengths > 0, lengths, 1.0)).max(axis=1)
    places = np.empty((rows.n_objects, n_neighbors), dtype=np.intp)
    values = np.empty((rows.n_objects, n_neighbors))
    far = np.flatnonzero(bound <= 0.3)
    enough = np.zeros(rows.n_objects, dtype=bool)
    for some in np.array_split(far, -(-len(far) // 512)) if len(far) else []:
        stretch = 1.0 / (1.0 - bound[some])
        # slightly more than the radius, so that rounding excludes no neighbour
        radius = np.sqrt(squares[some] * np.maximum(stretch**2 - 1.0, 0.0)) * (1 + 1e-6) + 1e-12
        balls = tree.query_ball_point(X[some] * stretch[:, None], radius)
        full, best, likeness = _best_of_balls(rows, some, balls, n_neighbors)
        enough[some[full]] = True
        places[some[full]], values[some[full]] = best, likeness
    rest = np.flatnonzero(~enough)
    if len(rest):
        places[rest], values[rest] = _all_pairs(rows, n_neighbors, rest)
    return Neighbours(places, values)


def _best_of_balls(
    rows: SimilarityRows, some: NDArray[np.intp], balls: Any, n_neighbors: int
) -> tuple[NDArray[np.bool_], NDArray[np.intp], FloatArray]:
    """Return which of `some` have enough other objects in their ball, and the best of these objects.

    The best objects are given by their places and similarities.
    """
    owner = np.repeat(np.arange(len(some)), [len(ball) for ball in balls])
    other = np.concatenate([np.asarray(ball, dtype=np.intp) for ball in balls])
    apart = other != some[owner]
    owner, other = owner[apart], other[apart]
    products = np.einsum("nd,nd->n", rows.values[some[owner]], rows.values[other], dtype=np.float64)
    likeness = extended_jaccard(products, rows.squares[some[owner]] + rows.squares[other])
    return _first_best(owner, other, likeness, n_neighbors, len(some))


def _first_best(
    owner: NDArray[np.intp], other: NDArray[np.intp], likeness: FloatArray, n_neighbors: int, n_owners: int = 0
) -> tuple[NDArray[np.bool_], NDArray[np.intp], FloatArray]:
    """Return which owners have enough candidates, and the most similar of those candidates, the first in a tie."""
    order = np.lexsort((other, -likeness, owner))
    sizes = np.bincount(owner, minlength=n_owners)
    full = sizes >= n_neighbors
    first = (np.cumsum(sizes) - sizes)[full]
    best = order[first[:, None] + np.arange(n_neighbors)]
    return full, other[best], likeness[best]

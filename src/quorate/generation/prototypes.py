"""Prototypes of measurements, the rivals of `coarsen`: fewer objects to make members of, and which stands for which."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate.generation.features import WHOLE, Features, as_features
from quorate.generation.kmeans import KMeans, assign, train
from quorate.ops.coding import canonical
from quorate.ops.threads import Stop

WAYS = ("k-means", "k-medoids", "sample")
MOST_MEDOIDS = 4_000
"""Objects among which medoids are looked for, at most: the distances of all their pairs take 128 MB."""


class Prototypes(NamedTuple):
    """Prototypes, the prototype of each object, and how many objects each prototype stands for."""

    points: Any
    inverse: NDArray[np.intp]
    counts: NDArray[np.int64]


def prototypes(
    X: Any, n_prototypes: int, *, way: str = "k-means", max_iter: int = 100, random_state: Any = None
) -> Prototypes:
    """Reduce measurements to few prototypes, each object going with the nearest: what `coarsen` does without labels.

    Members of the prototypes alone are made and combined as usual, and ``labels[inverse]`` gives the labels of all
    objects. Use it to compare with `coarsen`, which merges objects by the labels that many members give them.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_objects, n_columns)
        The measurements.
    n_prototypes : int
        How many prototypes are looked for. Those that are nearest to no object are left out.
    way : {"k-means", "k-medoids", "sample"}
        Centres of k-means, as `KMeans` finds them from objects drawn at random; medoids, objects of the least sum of
        distances to the objects that are nearest to them, found among at most 4,000 objects drawn at random; or objects
        drawn at random.
    max_iter : int
        Sweeps of k-means and k-medoids at most.
    random_state : None, int, Generator or RandomState
        The same seed gives the same result.

    Returns
    -------
    Prototypes
        A tuple of `points`, `inverse` and `counts`: the prototypes in the units of X and in the order of their first
        objects, the prototype of each object, and the number of objects of each prototype.

    See Also
    --------
    quorate.coarsen : Reduces label rows, needs no measurements, and bounds what is lost.

    Notes
    -----
    These are the three rivals that the paper compares the CA-tree with (section 4.5); docs/papers/ca-tree.md has the
    comparison on six data sets. One pass over the objects costs O(n m d) for m prototypes; a sweep of k-medoids
    compares all pairs of the objects of a cluster.

    References
    ----------
    T. Wang, CA-tree: a hierarchical structure for efficient and scalable coassociation-based cluster ensembles,
    IEEE Transactions on Systems, Man, and Cybernetics B 41(3), 2011, doi:10.1109/TSMCB.2010.2086059.

    Examples
    --------
    >>> import quorate
    >>> X = [[0.0], [0.2], [9.0], [9.2], [9.4]]
    >>> points, inverse, counts = quorate.prototypes(X, 2, way="k-medoids", random_state=0)
    >>> points.tolist(), inverse.tolist(), counts.tolist()
    ([[0.0], [9.2]], [0, 0, 1, 1, 1], [2, 3])
    >>> members = quorate.generate(points, n_members=4, k=2, random_state=0)
    >>> quorate.consensus(members, 2, random_state=0).labels[inverse].tolist()
    [0, 0, 1, 1, 1]
    """
    features = as_features(X)
    m = _check.integer(n_prototypes, "n_prototypes", low=1, high=features.n_objects, advice="X has no more objects")
    _check.choice(way, "way", WAYS)
    max_iter = _check.integer(max_iter, "max_iter", low=1)
    rng = _check.generator(random_state)
    if way == "k-means":
        centres = train(features, (None, WHOLE), m, rng, KMeans(max_iter=max_iter), Stop()).centres
        return _with_nearest(features, centres / features.scale + _shift(features), centres)
    rows = np.sort(rng.choice(features.n_objects, m, replace=False)) if way == "sample" else None
    if rows is None:
        rows = _medoids(features, m, max_iter, rng)
    return _with_nearest(features, features.data[rows], _dense(features.prepared(rows, WHOLE)))


def _shift(features: Features) -> NDArray[np.float64] | float:
    """What was subtracted from the columns, which are not shifted if X is sparse."""
    return 0.0 if features.is_sparse else features.shift


def _dense(rows: Any) -> NDArray[np.float32]:
    return np.ascontiguousarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float32)


def _with_nearest(features: Features, points: Any, centres: NDArray[np.float32]) -> Prototypes:
    """Give each object its nearest prototype, the lowest in a tie, and leave out those that have no object."""
    nearest = assign(features, (None, WHOLE), [centres], Stop())[:, 0].astype(np.int32)
    inverse = canonical(nearest, len(centres))
    kept = np.empty(int(inverse.max()) + 1, dtype=np.intp)
    kept[inverse] = nearest
    return Prototypes(points[kept], inverse.astype(np.intp), np.bincount(inverse).astype(np.int64))


def _medoids(features: Features, m: int, max_iter: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Assign objects to the nearest medoid and move it to the object of the least sum, until no medoid moves."""
    size = min(features.n_objects, max(MOST_MEDOIDS, m))
    pool = np.sort(rng.choice(features.n_objects, size, replace=False))
    distance = _distances(features.prepared(pool, WHOLE))
    medoids = np.sort(rng.choice(size, m, replace=False))
    for _ in range(max_iter):
        owner = distance[:, medoids].argmin(axis=1)
        moved = medoids.copy()
        for cluster in range(m):
            own = np.flatnonzero(owner == cluster)
            if len(own):
                moved[cluster] = own[distance[np.ix_(own, own)].sum(axis=0).argmin()]
        if np.array_equal(moved, medoids):
            break
        medoids = moved
    return pool[np.sort(medoids)]


def _distances(rows: Any) -> NDArray[np.float64]:
    """Euclidean distances of all pairs of rows."""
    if isinstance(rows, np.ndarray):
        from scipy.spatial.distance import cdist

        found: NDArray[np.float64] = cdist(rows.astype(np.float64), rows.astype(np.float64))
        return found
    wide = rows.astype(np.float64)
    products = (wide @ wide.T).toarray()
    norms = products.diagonal()
    distances: NDArray[np.float64] = np.sqrt(np.maximum(norms[:, None] + norms - 2 * products, 0.0))
    return distances

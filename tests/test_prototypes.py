"""Prototypes of measurements: nearest ones, medoids that are medoids, and the comparison with `coarsen`."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from quorate import accuracy, coarsen, consensus, generate, prototypes
from quorate.generation.prototypes import WAYS


def blobs(n: int = 600, k: int = 5, offset: float = 100.0):
    rng = np.random.default_rng(7)
    truth = rng.integers(k, size=n)
    means = 8.0 * rng.normal(size=(k, 3)) + offset
    return means[truth] + rng.normal(size=(n, 3)), truth


@pytest.mark.parametrize("way", WAYS)
def test_each_object_goes_with_the_nearest_prototype(way: str) -> None:
    X, _ = blobs()
    points, inverse, counts = prototypes(X, 40, way=way, random_state=3)
    assert points.shape[1] == 3
    assert 30 <= len(points) <= 40
    distance = cdist(X, points)
    own = distance[np.arange(len(X)), inverse]
    assert np.allclose(own, distance.min(axis=1), atol=1e-3)
    assert np.array_equal(counts, np.bincount(inverse))
    assert counts.min() > 0
    first = [int(np.flatnonzero(inverse == place)[0]) for place in range(len(points))]
    assert first == sorted(first)
    again = prototypes(X, 40, way=way, random_state=3)
    assert np.array_equal(points, again.points)
    assert not np.array_equal(points, prototypes(X, 40, way=way, random_state=4).points)


@pytest.mark.parametrize("way", ["k-medoids", "sample"])
def test_these_prototypes_are_objects(way: str) -> None:
    X, _ = blobs()
    points = prototypes(X, 20, way=way, random_state=0).points
    assert {tuple(point) for point in points} <= {tuple(row) for row in X}


def test_a_medoid_has_the_least_sum_of_distances() -> None:
    """The slow twin: for each prototype all its objects are tried in its place."""
    X, _ = blobs(n=150)
    points, inverse, _ = prototypes(X, 8, way="k-medoids", random_state=1)
    for place, point in enumerate(points):
        own = X[inverse == place]
        sums = [sum(float(np.linalg.norm(row - other)) for other in own) for row in own]
        assert float(np.linalg.norm(own - point, axis=1).sum()) <= min(sums) + 1e-3


def test_centres_are_as_good_as_those_of_another_k_means() -> None:
    X, _ = blobs(n=2000)
    found = prototypes(X, 25, random_state=0)
    inertia = ((X - found.points[found.inverse]) ** 2).sum()
    rivals = [KMeans(25, init="random", n_init=1, random_state=seed).fit(X).inertia_ for seed in range(10)]
    assert inertia < 1.02 * max(rivals)


@pytest.mark.parametrize("way", WAYS)
def test_sparse_measurements_have_the_same_prototypes(way: str) -> None:
    X, _ = blobs(n=200, offset=0.0)
    X[np.abs(X) < 4] = 0.0
    sparse, dense = (prototypes(table, 10, way=way, random_state=0) for table in (csr_array(X), X))
    points = sparse.points if isinstance(sparse.points, np.ndarray) else sparse.points.toarray()
    if way == "sample":
        assert np.array_equal(points, dense.points)
    near = ((X - points[sparse.inverse]) ** 2).sum()
    assert near < 1.6 * ((X - dense.points[dense.inverse]) ** 2).sum()


def test_more_prototypes_than_different_objects() -> None:
    X = np.repeat([[0.0], [1.0], [5.0]], 10, axis=0)
    for way in WAYS:
        points, inverse, counts = prototypes(X, 9, way=way, random_state=0)
        assert len(points) <= 3
        assert counts.sum() == 30
        assert len(inverse) == 30


def test_members_of_prototypes_compare_with_merged_rows() -> None:
    """The comparison of the paper: about as many representatives, members of the prototypes or of all objects."""
    X, truth = blobs(n=2000)
    members = generate(X, n_members=10, k=(4, 10), random_state=0)
    rows, merged = coarsen(members, 0.4)
    found = {"tree": consensus(rows, 5, method="eac", confidence=False).labels[merged]}
    for way in WAYS:
        points, inverse, _ = prototypes(X, 60, way=way, random_state=0)
        few = generate(points, n_members=10, k=(4, 10), random_state=0)
        found[way] = consensus(few, 5, method="eac", confidence=False).labels[inverse]
    assert {way: accuracy(labels, truth) > 0.85 for way, labels in found.items()} == dict.fromkeys(found, True)


def test_what_is_no_number_or_way_is_refused() -> None:
    X, _ = blobs(n=20)
    with pytest.raises(ValueError, match="n_prototypes must be between 1 and 20, got 21; X has no more objects"):
        prototypes(X, 21)
    with pytest.raises(ValueError, match="way must be one of 'k-means', 'k-medoids', 'sample'"):
        prototypes(X, 3, way="kmeans")
    with pytest.raises(ValueError, match="max_iter must be at least 1"):
        prototypes(X, 3, max_iter=0)

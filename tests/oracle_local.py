"""Slow and obvious: local weights, the bipartite graph, random walks and disagreeing pairs, object by object."""

from __future__ import annotations

import itertools
import math

import numpy as np


def clusters(ensemble):
    """(member, cluster) of every base cluster, in order."""
    return [(q, c) for q in range(ensemble.n_members) for c in range(int(ensemble.n_clusters[q]))]


def certainty(ensemble, theta):
    """exp(-E / theta), E the mean over members of the entropy of how they split the objects of a cluster they know."""
    objects = np.repeat(ensemble.labels, ensemble.counts, axis=0)
    found = []
    for member, cluster in clusters(ensemble):
        inside = objects[objects[:, member] == cluster]
        total = weight = 0.0
        for other in range(ensemble.n_members):
            known = [label for label in inside[:, other].tolist() if label >= 0]
            shares = [known.count(label) / len(known) for label in set(known)]
            mass = ensemble.weights[other] * len(known)
            total += mass * -sum(share * math.log2(share) for share in shares)
            weight += mass
        found.append(math.exp(-total / weight / theta))
    return np.array(found)


def bipartite(ensemble, weights):
    """B of the rows."""
    matrix = np.zeros((ensemble.n_rows, len(weights)))
    for place, (member, cluster) in enumerate(clusters(ensemble)):
        matrix[ensemble.labels[:, member] == cluster, place] = weights[place]
    return matrix


def transfer_points(ensemble, weights, k):
    """Points of the rows by the singular vectors of the normalised graph over objects, and squared singular values."""
    rows = np.repeat(np.arange(ensemble.n_rows), ensemble.counts)
    matrix = bipartite(ensemble, weights)[rows]
    left, right = matrix.sum(axis=1), matrix.sum(axis=0)
    _, values, vectors = np.linalg.svd(matrix / np.sqrt(left)[:, None] / np.sqrt(right), full_matrices=False)
    points = (matrix / left[:, None]) @ (vectors[:k].T / np.sqrt(right)[:, None])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    first = np.unique(rows, return_index=True)[1]
    return points[first], values[:k] ** 2


def propagated(ensemble, steps):
    """Cosines of trajectories, step by step from each cluster."""
    objects = np.repeat(ensemble.labels, ensemble.counts, axis=0)
    names = clusters(ensemble)
    inside = [set(np.flatnonzero(objects[:, q] == c).tolist()) for q, c in names]
    step = np.zeros((len(names), len(names)))
    for a, b in itertools.product(range(len(names)), repeat=2):
        if a == b or names[a][0] != names[b][0]:
            jaccard = len(inside[a] & inside[b]) / len(inside[a] | inside[b])
            step[a, b] = ensemble.weights[names[b][0]] * jaccard
    step /= step.sum(axis=1, keepdims=True)
    walks = []
    for start in np.eye(len(names)):
        place, walk = start, []
        for _ in range(steps):
            place = place @ step
            walk.append(place)
        walks.append(np.concatenate(walk))
    return np.array([[a @ b / np.linalg.norm(a) / np.linalg.norm(b) for b in walks] for a in walks])


def pair_weights(ensemble):
    """For every pair of rows the weight of the members that join them and that part them."""
    first, second = ensemble.labels[:, None], ensemble.labels[None]
    known = (first >= 0) & (second >= 0)
    return (known & (first == second)) @ ensemble.weights, (known & (first != second)) @ ensemble.weights


def disagreements(ensemble, labels):
    """Every pair of objects, every member."""
    rows = np.repeat(np.arange(ensemble.n_rows), ensemble.counts)
    joined, parted = pair_weights(ensemble)
    return sum(
        parted[a, b] if labels[a] == labels[b] else joined[a, b] for a, b in itertools.combinations(rows.tolist(), 2)
    )


def lower_bound(ensemble):
    rows = np.repeat(np.arange(ensemble.n_rows), ensemble.counts)
    joined, parted = pair_weights(ensemble)
    return sum(min(joined[a, b], parted[a, b]) for a, b in itertools.combinations(rows.tolist(), 2))


def partitions(n):
    """All canonical labellings of n objects."""
    if n == 1:
        yield [0]
        return
    for rest in partitions(n - 1):
        for label in range(max(rest) + 2):
            yield [*rest, label]

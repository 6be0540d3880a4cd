"""Slow obvious twins of what methods do with memberships: dense matrices of floats, one object a row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate import SoftEnsemble

Matrix = NDArray[np.float64]


def dense(soft: SoftEnsemble) -> Matrix:
    """The rows (n_rows, d) as whole ones."""
    matrix = np.zeros((soft.n_rows, int(soft.offsets[-1])))
    for row in range(soft.n_rows):
        for place in range(soft.starts[row], soft.starts[row + 1]):
            matrix[row, soft.columns[place]] = soft.memberships[place] / soft.unit
    return matrix


def weights(soft: SoftEnsemble) -> Matrix:
    return np.repeat(soft.weights, soft.n_clusters)


def co_association(soft: SoftEnsemble) -> Matrix:
    rows = dense(soft)
    found: Matrix = (rows * weights(soft)) @ rows.T / soft.weights.sum()
    return found


def inertia(soft: SoftEnsemble, labels: NDArray[np.int32]) -> float:
    """Sum of squared distances to the means of the clusters."""
    rows, total = dense(soft), 0.0
    for cluster in np.unique(labels):
        inside, counts = rows[labels == cluster], soft.counts[labels == cluster]
        mean = counts @ inside / counts.sum()
        total += float(counts @ ((inside - mean) ** 2 @ weights(soft)))
    return total


def extended_jaccard(soft: SoftEnsemble) -> Matrix:
    """Between all clusters, by member weight; 0 within a member."""
    rows, d = dense(soft), int(soft.offsets[-1])
    member = np.repeat(np.arange(soft.n_members), soft.n_clusters)
    found = np.zeros((d, d))
    for a in range(d):
        for b in range(d):
            if member[a] != member[b]:
                both = float(soft.counts @ (rows[:, a] * rows[:, b]))
                either = float(soft.counts @ (rows[:, a] ** 2 + rows[:, b] ** 2)) - both
                found[a, b] = soft.weights[member[a]] * soft.weights[member[b]] * both / either
    return found


def average_link_heights(soft: SoftEnsemble) -> Matrix:
    """Heights of all merges of average link on 1 - A, found by looking at every pair each time."""
    similarity = co_association(soft)
    groups = [[row] for row in range(soft.n_rows)]
    heights = []
    while len(groups) > 1:
        best, pair = -1.0, (0, 1)
        for a in range(len(groups)):
            for b in range(a + 1, len(groups)):
                first, second = soft.counts[groups[a]], soft.counts[groups[b]]
                mean = first @ similarity[np.ix_(groups[a], groups[b])] @ second / (first.sum() * second.sum())
                if mean > best + 1e-13:
                    best, pair = float(mean), (a, b)
        heights.append(1 - best)
        groups[pair[0]] += groups.pop(pair[1])
    return np.array(heights)

"""Slow and obvious: co-association matrices, and agglomeration that looks at every pair of clusters every time."""

from __future__ import annotations

import numpy as np


def co_association(ensemble, normalization="ensemble"):
    """A by definition, between rows; the diagonal is what a row shares with another object of the same labels."""
    m = ensemble.n_rows
    matrix = np.zeros((m, m))
    for i in range(m):
        for j in range(m):
            first, second = ensemble.labels[i], ensemble.labels[j]
            both = (first >= 0) & (second >= 0)
            same = both & (first == second)
            total = ensemble.weights.sum() if normalization == "ensemble" else ensemble.weights[both].sum()
            matrix[i, j] = ensemble.weights[same].sum() / total if total else 0.0
    return matrix


def shared_weight(ensemble):
    """Weight of the members in which two rows agree, over the least weight: whole numbers for whole weights."""
    weights = ensemble.weights / ensemble.weights.min()
    same = (ensemble.labels[:, None] == ensemble.labels[None]) & (ensemble.labels[:, None] >= 0)
    return same @ weights, weights.sum()


def agglomerate(similarity, counts, join):
    """Linkage matrix of the greedy agglomeration: all pairs, the most similar first, then the lowest rows.

    similarity(values, a, b, sizes): of two clusters; join(values, a, b, c, sizes): the value of (a with b) and c.
    `values` is a matrix; a cluster is named by its lowest row.
    """
    values, size = similarity[1].astype(float).copy(), counts.astype(float).copy()
    m = len(size)
    node, alive, tree = list(range(m)), list(range(m)), []
    for step in range(m - 1):
        best = None
        for place, a in enumerate(alive):
            for b in alive[place + 1 :]:
                value = similarity[0](values, a, b, size)
                if best is None or value > best[0]:
                    best = (value, a, b)
        value, a, b = best
        for c in alive:
            if c not in (a, b):
                values[a, c] = values[c, a] = join(values, a, b, c, size)
        size[a] += size[b]
        tree.append([min(node[a], node[b]), max(node[a], node[b]), value, size[a]])
        node[a] = m + step
        alive.remove(b)
    return np.array(tree).reshape(m - 1, 4)


def average(sums_of_pairs, counts):
    """Of the matrix of values between rows; the values of pairs of objects are added up and divided once."""
    sums = sums_of_pairs * np.outer(counts, counts)
    return agglomerate(
        (lambda v, a, b, n: v[a, b] / (n[a] * n[b]), sums), counts, lambda v, a, b, c, n: v[a, c] + v[b, c]
    )


def lance_williams(similarity, counts, linkage):
    """Single, complete and weighted link."""
    join = {
        "complete": lambda v, a, b, c, n: min(v[a, c], v[b, c]),
        "single": lambda v, a, b, c, n: max(v[a, c], v[b, c]),
        "weighted": lambda v, a, b, c, n: (v[a, c] + v[b, c]) / 2,
    }[linkage]
    return agglomerate((lambda v, a, b, n: v[a, b], similarity), counts, join)


def ward(distance, counts):
    """Ward's linkage from squared distances between rows: the increase in spread of every pair, every time.

    Heights are squared, and whole numbers are kept whole up to one division.
    """
    clusters = {row: [row] for row in range(len(counts))}
    node, tree = list(range(len(counts))), []
    total = distance * np.outer(counts, counts)
    np.fill_diagonal(total, 0)

    def increase(a, b):
        first, second = clusters[a], clusters[b]
        n, k = float(counts[first].sum()), float(counts[second].sum())
        between, own, other = (
            total[np.ix_(x, y)].sum() for x, y in ((first, second), (first, first), (second, second))
        )
        return (2 * n * k * between - (k * k * own + n * n * other)) / (n * k * (n + k))

    while len(clusters) > 1:
        names = sorted(clusters)
        pairs = [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
        values = [increase(a, b) for a, b in pairs]
        place = int(np.argmin(values))
        a, b = pairs[place]
        clusters[a] = clusters[a] + clusters.pop(b)
        tree.append([min(node[a], node[b]), max(node[a], node[b]), values[place], counts[clusters[a]].sum()])
        node[a] = len(counts) + len(tree) - 1
    return np.array(tree)

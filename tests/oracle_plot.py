"""Slow obvious twins of the numbers behind the pictures: from the full co-association matrix of objects."""

from __future__ import annotations

from collections import Counter

import numpy as np
from oracle import co_association


def index_distribution(labels, weights):
    """Share of pairs of objects with each consensus index, pairs that no member knows left out."""
    matrix = co_association(labels, weights, pairwise=True)
    found = Counter()
    for i in range(len(labels)):
        for j in range(i):
            if any(a >= 0 and b >= 0 for a, b in zip(labels[i], labels[j], strict=True)):
                found[round(float(matrix[i, j]), 12)] += 1
    total = sum(found.values())
    return {value: count / total for value, count in sorted(found.items())}


def item_consensus(labels, members, weights):
    """(n, k) mean co-association of each object with the other objects of each cluster; 0 where there are none."""
    matrix = co_association(members, weights)
    result = np.zeros((len(labels), max(labels) + 1))
    for i in range(len(labels)):
        for cluster in range(max(labels) + 1):
            others = [matrix[i, j] for j in range(len(labels)) if j != i and labels[j] == cluster]
            result[i, cluster] = np.mean(others) if others else 0.0
    return result


def with_clusters(pairs, labels):
    """As `item_consensus`, from a matrix of pairs with zeros on the diagonal; quick enough for hundreds of objects."""
    inside = labels[:, None] == np.arange(labels.max() + 1)
    others = inside.sum(axis=0) - inside
    return pairs @ inside / np.maximum(others, 1)


def silhouettes(labels, members, weights):
    """Rousseeuw's, with the distance 1 - A."""
    closeness = item_consensus(labels, members, weights)
    result = []
    for i, own in enumerate(labels):
        a = 1 - closeness[i, own]
        b = min(1 - closeness[i, c] for c in range(max(labels) + 1) if c != own)
        alone = list(labels).count(own) == 1
        result.append(0.0 if alone or max(a, b) < 1e-12 else (b - a) / max(a, b))
    return np.array(result)


def group_means(groups, members, weights):
    """Mean co-association of two different objects, one of each group; 1 for a group of one object with itself."""
    matrix = co_association(members, weights)
    n_groups = max(groups) + 1
    result = np.ones((n_groups, n_groups))
    for a in range(n_groups):
        for b in range(n_groups):
            values = [
                matrix[i, j]
                for i in range(len(groups))
                for j in range(len(groups))
                if i != j and groups[i] == a and groups[j] == b
            ]
            if values:
                result[a, b] = np.mean(values)
    return result

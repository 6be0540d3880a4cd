"""Slow obvious twins of what the library computes: loops over objects and pairs, straight from the definitions."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np


def distinct_rows(labels):
    """Where each distinct row first stands, and for each row its number among them."""
    seen = {}
    first, inverse = [], []
    for place, row in enumerate(map(tuple, np.asarray(labels).tolist())):
        if row not in seen:
            seen[row] = len(seen)
            first.append(place)
        inverse.append(seen[row])
    return first, inverse


def canonical(labels):
    """Labels renumbered by first appearance; -1 stays."""
    names = {}
    return [-1 if label == -1 else names.setdefault(label, len(names)) for label in labels]


def code_columns(values, missing=(-1,)):
    """Codes by first appearance a column, and the values behind them."""
    codes, categories = [], []
    for column in zip(*np.asarray(values).tolist(), strict=True):
        names = {}
        codes.append([-1 if v in missing else names.setdefault(v, len(names)) for v in column])
        categories.append(list(names))
    return np.array(codes).T, categories


def is_coded(values):
    """Number of codes a column where every column is coded by first appearance already, else None."""
    codes, categories = code_columns(values)
    return [len(found) for found in categories] if np.array_equal(codes, values) else None


def one_hot(labels):
    """(n, d) zeros and ones; a missing label is a block of zeros."""
    labels = np.asarray(labels)
    blocks = [column[:, None] == np.arange(column.max() + 1) for column in labels.T]
    return np.hstack(blocks).astype(int)


def contingency(first, second):
    """Objects for each pair of labels, -1 in either left out."""
    return Counter((a, b) for a, b in zip(first, second, strict=True) if a != -1 and b != -1)


def repeat(values, counts):
    """Each row as often as it counts."""
    return np.repeat(np.asarray(values), counts, axis=0)


def co_association(labels, weights=None, pairwise=False):
    """Weight of the members that put i and j together, over that of all members or of those that know both."""
    labels = np.asarray(labels)
    n_objects, n_members = labels.shape
    weights = np.ones(n_members) if weights is None else weights
    matrix = np.zeros((n_objects, n_objects))
    for i in range(n_objects):
        for j in range(n_objects):
            together = both = 0.0
            for q in range(n_members):
                if labels[i, q] >= 0 and labels[j, q] >= 0:
                    both += weights[q]
                    together += weights[q] * (labels[i, q] == labels[j, q])
            norm = both if pairwise else sum(weights)
            matrix[i, j] = together / norm if norm else 0.0
    return matrix


def _known(first, second):
    return [(a, b) for a, b in zip(first, second, strict=True) if a != -1 and b != -1]


def entropy(labels):
    n = len(labels)
    return -sum(count / n * math.log(count / n) for count in Counter(labels).values())


def nmi(first, second, average="geometric"):
    """I / mean(H, H) on the objects both label; 1 for two trivial labellings, 0 for one."""
    pairs = _known(first, second)
    h1, h2 = entropy([a for a, _ in pairs]), entropy([b for _, b in pairs])
    if h1 == 0 or h2 == 0:
        return 1.0 if h1 == h2 else 0.0
    mean = math.sqrt(h1 * h2) if average == "geometric" else (h1 + h2) / 2
    return (h1 + h2 - entropy(pairs)) / mean


def anmi(labels, members, weights=None, average="geometric"):
    """Members as columns; each NMI by the member's weight times the objects both label."""
    members = np.asarray(members)
    weights = np.ones(members.shape[1]) if weights is None else weights
    top = bottom = 0.0
    for column, weight in zip(members.T.tolist(), weights, strict=True):
        n_known = len(_known(labels, column))
        if n_known:
            top += weight * n_known * nmi(labels, column, average)
            bottom += weight * n_known
    return top / bottom


def ari(first, second):
    """By counting pairs of objects one by one."""
    pairs = _known(first, second)
    both = one = other = every = 0
    for i in range(len(pairs)):
        for j in range(i):
            same_first, same_second = pairs[i][0] == pairs[j][0], pairs[i][1] == pairs[j][1]
            both += same_first and same_second
            one += same_first
            other += same_second
            every += 1
    if (one == other == 0) or (one == other == every):
        return 1.0
    expected = Fraction(one * other, every)
    return float((both - expected) / (Fraction(one + other, 2) - expected))


def accuracy(first, second):
    """By trying every one-to-one matching of clusters."""
    pairs = _known(first, second)
    few, many = sorted(({a for a, _ in pairs}, {b for _, b in pairs}), key=len)
    if few != {a for a, _ in pairs}:
        pairs = [(b, a) for a, b in pairs]
    best = 0
    for partners in permutations(many, len(few)):
        matching = dict(zip(few, partners, strict=True))
        best = max(best, sum(matching[a] == b for a, b in pairs))
    return best / len(pairs)


def cluster_density(labels, members, weights=None):
    """Mean co-association over the pairs of each cluster, from the matrix; 0 for a singleton."""
    matrix = co_association(members, weights)
    result = []
    for cluster in dict.fromkeys(label for label in labels if label != -1):
        objects = [i for i, label in enumerate(labels) if label == cluster]
        values = [matrix[i, j] for i in objects for j in objects if i != j]
        result.append(sum(values) / len(values) if values else 0.0)
    return result


def density(labels, members, weights=None):
    """Mean of the cluster densities by cluster size."""
    clusters = list(dict.fromkeys(label for label in labels if label != -1))
    sizes = [list(labels).count(cluster) for cluster in clusters]
    return float(np.average(cluster_density(labels, members, weights), weights=sizes))


def inter_density(labels, members, weights=None):
    """Mean co-association over pairs of objects of each two clusters, within on the diagonal."""
    matrix = co_association(members, weights)
    clusters = list(dict.fromkeys(label for label in labels if label != -1))
    result = np.diag(cluster_density(labels, members, weights))
    for a, one in enumerate(clusters):
        for b, other in enumerate(clusters):
            if a != b:
                result[a, b] = np.mean(
                    [matrix[i, j] for i, x in enumerate(labels) for j, y in enumerate(labels) if (x, y) == (one, other)]
                )
    return result


def mean_inter_density(labels, members, weights=None):
    """Mean co-association over pairs of labelled objects in different clusters; 0 where there are none."""
    matrix = co_association(members, weights)
    objects = [i for i, label in enumerate(labels) if label != -1]
    values = [matrix[i, j] for i in objects for j in objects if labels[i] != labels[j]]
    return sum(values) / len(values) if values else 0.0

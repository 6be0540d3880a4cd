"""Slow, obvious twins of what results tell: runner-up, profiles, placing. One object at a time, one pair at a time."""

from __future__ import annotations

from collections import Counter

import numpy as np


def co_association(one, other, weights):
    """Share of the members, by weight, that give two rows of labels the same known label."""
    shared = sum(w for a, b, w in zip(one, other, weights, strict=True) if a == b and a >= 0)
    return shared / sum(weights)


def mean_with_clusters(row, table, labels, weights):
    """Mean co-association of a row with the objects of each cluster."""
    return [
        np.mean([co_association(row, other, weights) for other, label in zip(table, labels, strict=True) if label == c])
        for c in range(max(labels) + 1)
    ]


def runner_up(table, labels, weights):
    """For each object the other clusters that nobody beats in mean co-association; empty where none shares anything."""
    found = []
    for row, label in zip(table, labels, strict=True):
        means = mean_with_clusters(row, table, labels, weights)
        others = {c: mean for c, mean in enumerate(means) if c != label}
        best = max(others.values(), default=0.0)
        found.append({c for c, mean in others.items() if mean >= best - 1e-9} if best > 0 else set())
    return found


def profiles(table, labels):
    """{(cluster, member, label): (objects, share of the objects of the cluster that the member knows)}."""
    found = {}
    for cluster in sorted({label for label in labels if label >= 0}):
        inside = [row for row, label in zip(table, labels, strict=True) if label == cluster]
        for member in range(table.shape[1]):
            counts = Counter(int(row[member]) for row in inside if row[member] >= 0)
            for label, objects in counts.items():
                found[cluster, member, label] = (objects, objects / sum(counts.values()))
    return found


def _common(first, second):
    """The objects that both labellings label, as pairs of labels."""
    return [(a, b) for a, b in zip(first, second, strict=True) if a >= 0 and b >= 0]


def pairs_together(first, second):
    """The pairs of objects that are together in the first labelling, in the second one, and in both."""
    both = _common(first, second)
    pairs = [(both[i], both[j]) for i in range(len(both)) for j in range(i)]
    one = {place for place, (x, y) in enumerate(pairs) if x[0] == y[0]}
    other = {place for place, (x, y) in enumerate(pairs) if x[1] == y[1]}
    return len(one), len(other), len(one & other)


def variation(first, second):
    """H(A | B) + H(B | A) in nats, from the joint frequencies."""
    both = _common(first, second)
    joint, one, other = Counter(both), Counter(a for a, _ in both), Counter(b for _, b in both)
    n = len(both)
    return -sum(c / n * (np.log(c / one[a]) + np.log(c / other[b])) for (a, b), c in joint.items())


def element_similarities(first, second, alpha=0.9):
    """1 - |p - q| / (2 alpha) of the walks with restart from each object in the graphs of both labellings (Gates)."""
    both = _common(first, second)
    walks = []
    for side in (0, 1):
        labels = np.array([pair[side] for pair in both])
        step = (labels[:, None] == labels[None, :]).astype(float)
        step /= step.sum(axis=1, keepdims=True)
        walks.append((1 - alpha) * np.linalg.inv(np.eye(len(both)) - alpha * step))
    return 1 - np.abs(walks[0] - walks[1]).sum(axis=1) / (2 * alpha)

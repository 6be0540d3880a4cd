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

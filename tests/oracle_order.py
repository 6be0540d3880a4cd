"""Slow and obvious: colours of rows, which say what tells rows apart whatever the order and the names in the table."""

from __future__ import annotations

from collections import Counter
from math import gcd

import numpy as np


def colours(labels, counts, weights, rounds):
    """Refine colours of rows for so many rounds; equal colours are equal numbers, and the numbers mean nothing else."""
    m, members = np.asarray(labels).shape
    divisor = gcd(*(int(count) for count in counts))
    counts = [int(count) // divisor for count in counts]
    rows = list(counts)
    of_member = [float(weight) / float(min(weights)) for weight in weights]
    for _ in range(rounds):
        held = {}
        for q in range(members):
            for label in set(labels[:, q].tolist()) - {-1}:
                held[q, label] = Counter()
                for i in range(m):
                    if labels[i, q] == label:
                        held[q, label][rows[i]] += counts[i]
        clusters = {place: tuple(sorted(found.items())) for place, found in held.items()}
        of_member = _numbered(
            [(of_member[q], tuple(sorted(own for (p, _), own in clusters.items() if p == q))) for q in range(members)]
        )
        clusters = {(q, label): (own, of_member[q]) for (q, label), own in clusters.items()}
        rows = _numbered(
            [
                (
                    rows[i],
                    counts[i],
                    tuple(sorted(clusters[q, labels[i, q]] for q in range(members) if labels[i, q] >= 0)),
                )
                for i in range(m)
            ]
        )
    return rows


def _numbered(signs):
    places = {sign: number for number, sign in enumerate(sorted(set(signs)))}
    return [places[sign] for sign in signs]


def shape_of_partition(labels, kinds):
    """What remains of a partition if objects of one kind are interchangeable: the kinds of objects in each cluster."""
    return sorted(
        sorted(kind for kind, label in zip(kinds, labels, strict=True) if label == own) for own in set(labels)
    )

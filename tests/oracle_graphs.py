"""Slow obvious twins for the graph methods and the greedy moves."""

from __future__ import annotations

import math

import numpy as np


def anmi(labels, ensemble):
    """sum_q weight_q n_q NMI_q / sum_q weight_q n_q, straight from the definition, on the objects each member knows."""
    total = importance = 0.0
    for member in range(ensemble.n_members):
        known = np.flatnonzero(ensemble.labels[:, member] >= 0)
        joint: dict[tuple[int, int], int] = {}
        for row in known:
            pair = int(ensemble.labels[row, member]), int(labels[row])
            joint[pair] = joint.get(pair, 0) + int(ensemble.counts[row])
        n = sum(joint.values())
        total += ensemble.weights[member] * n * nmi(joint, n)
        importance += ensemble.weights[member] * n
    return total / importance


def nmi(joint, n):
    first: dict[int, int] = {}
    second: dict[int, int] = {}
    for (a, b), count in joint.items():
        first[a] = first.get(a, 0) + count
        second[b] = second.get(b, 0) + count
    if min(len(first), len(second)) == 1:
        return float(len(first) == len(second))
    information = sum(c / n * math.log(c * n / (first[a] * second[b])) for (a, b), c in joint.items())
    entropies = [-sum(c / n * math.log(c / n) for c in sizes.values()) for sizes in (first, second)]
    return information / math.sqrt(entropies[0] * entropies[1])


def greedy(labels, ensemble, n_clusters, tolerance):
    """Sweeps that try every label for every row and recompute the ANMI from nothing each time.

    Returns the labels and the moves made, as (row, label) in order.
    """
    labels = [int(label) for label in labels]
    moves: list[tuple[int, int]] = []
    moved = True
    while moved:
        moved = False
        for row in range(len(labels)):
            own = labels[row]
            if labels.count(own) == 1:
                continue
            scores = [anmi([*labels[:row], other, *labels[row + 1 :]], ensemble) for other in range(n_clusters)]
            if scores[own] >= max(scores) - tolerance:
                continue
            labels[row] = next(c for c in range(n_clusters) if scores[c] >= max(scores) - tolerance)
            moves.append((row, labels[row]))
            moved = True
    return labels, moves


def fold_product(labels, offsets, mass, vector):
    """B' diag(mass) B times a vector, where B holds a one for each label of each row."""
    matrix = np.zeros((len(labels), offsets[-1]))
    for row in range(len(labels)):
        for member in range(labels.shape[1]):
            if labels[row, member] >= 0:
                matrix[row, offsets[member] + labels[row, member]] = 1
    return matrix.T @ (mass * (matrix @ vector))

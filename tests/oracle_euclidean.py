"""Slow obvious twins of the kernels of ops/euclidean.py and ops/coding.py."""

from __future__ import annotations

from itertools import pairwise

import numpy as np


def nearest_centres(rows, centres, starts):
    """For each row and member the nearest of the member's centres; the first of equals."""
    labels = []
    for row in rows.astype(np.float64):
        distances = ((centres.astype(np.float64) - row) ** 2).sum(axis=1)
        labels.append([int(np.argmin(distances[a:b])) for a, b in pairwise(starts)])
    return np.array(labels)


def cluster_sums(rows, labels, n_clusters):
    """Sums and numbers of rows of each cluster; -1 belongs to none."""
    sums, counts = np.zeros((n_clusters, rows.shape[1])), np.zeros(n_clusters, dtype=int)
    for row, label in zip(rows, labels, strict=True):
        if label >= 0:
            sums[label] += row
            counts[label] += 1
    return sums, counts


def prepared(rows, shift, scale, columns=None, matrix=None):
    """Shift, scale, then choose or project columns."""
    values = (np.asarray(rows, dtype=np.float64) - shift) * scale
    if columns is not None:
        values = values[:, columns]
    return (values if matrix is None else values @ matrix).astype(np.float32)


def lloyd(rows, centres, max_iter=100):
    """Lloyd's algorithm with no repair of empty clusters."""
    for _ in range(max_iter):
        labels = nearest_centres(rows, centres, [0, len(centres)])[:, 0]
        means = np.stack([rows[labels == c].astype(np.float64).mean(axis=0) for c in range(len(centres))])
        if np.array_equal(means.astype(np.float32), centres):
            break
        centres = means.astype(np.float32)
    return centres, labels


def hash_words(words, state):
    """Four lanes of 64 bits; Python's integers, cut to 64 bits by hand."""
    state, mask = [int(value) for value in state], 2**64 - 1
    for place, word in enumerate(words):
        lane = place % 4
        mixed = ((state[lane] ^ int(word)) * 0x9E3779B97F4A7C15) & mask
        state[lane] = ((mixed << 29) | (mixed >> 35)) & mask
    return state

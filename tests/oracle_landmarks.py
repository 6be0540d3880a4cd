"""Slow obvious twins of the kernels of ops/landmarks.py."""

from __future__ import annotations

import numpy as np


def squared_distances(rows, others):
    """All squared distances, in float64."""
    return ((rows.astype(np.float64)[:, None, :] - others.astype(np.float64)) ** 2).sum(axis=2)


def nearest(rows, landmarks, n_near):
    """Numbers of the nearest landmarks, nearest first, the lowest number of equals first; and squared distances."""
    squared = squared_distances(rows, landmarks)
    near = np.argsort(squared, axis=1, kind="stable")[:, :n_near]
    return near, np.take_along_axis(squared, near, axis=1)


def nearest_by_groups(rows, landmarks, groups, starts, around, n_near):
    """The nearest group, its nearest landmark, and the nearest of the landmarks around that one."""
    found = []
    for row in rows:
        group = int(np.argmin(squared_distances(row[None], groups)))
        own = np.arange(starts[group], starts[group + 1])
        best = own[np.argmin(squared_distances(row[None], landmarks[own]))]
        candidates = around[best]
        squared = squared_distances(row[None], landmarks[candidates])[0]
        found.append(candidates[np.argsort(squared, kind="stable")[:n_near]])
    return np.array(found)


def weights(squared, width, least):
    """The Gaussian weights of links, none below `least`."""
    return np.maximum(np.exp(-squared.astype(np.float64) / (2 * width**2)), least)


def graph(near, weight, n_landmarks):
    """The dense matrix B of rows and landmarks."""
    matrix = np.zeros((len(near), n_landmarks))
    for row in range(len(near)):
        for landmark, value in zip(near[row], weight[row], strict=True):
            matrix[row, landmark] += value
    return matrix


def folded(near, weight, n_landmarks):
    """B' Dx^-1 B."""
    matrix = graph(near, weight, n_landmarks)
    return matrix.T @ (matrix / matrix.sum(axis=1, keepdims=True))


def points(near, weight, table):
    """B times the table, rows scaled to length 1."""
    found = graph(near, weight, len(table)) @ table
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    return found / np.where(lengths > 0, lengths, 1.0)


def recurrence(matrix, current, previous, factors):
    """One step of the Chebyshev recurrence, with a dense matrix in float64."""
    current, previous = current.astype(np.float64), previous.astype(np.float64)
    return factors[0] * (matrix @ current) - factors[1] * current - factors[2] * previous

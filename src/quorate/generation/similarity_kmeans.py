"""k-means under any similarity: seeding, sweeps, repair of empty clusters, and weights of objects."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import FloatArray
from quorate.generation.similarity import Rows
from quorate.solvers.draws import drawn_by_weight, fill_empty

Labels = NDArray[np.int32]


class Run(NamedTuple):
    """The result of one run; `quality` is the weighted sum of each object's similarity with its prototype."""

    prototypes: FloatArray
    labels: Labels
    quality: float
    n_iter: int


def cluster_rows(
    rows: Rows, k: int, rng: np.random.Generator, *, weights: FloatArray | None = None, n_init: int = 1, max_iter: int
) -> Run:
    """Return the best of `n_init` seeded runs.

    Objects of weight 0 are labelled but do not influence the prototypes.
    """
    mass = np.ones(rows.n_objects) if weights is None else weights
    runs = [lloyd(rows, seeds(rows, k, rng, mass), mass, max_iter) for _ in range(n_init)]
    return max(runs, key=lambda run: run.quality)


def seeds(rows: Rows, k: int, rng: np.random.Generator, mass: FloatArray) -> FloatArray:
    """Choose prototypes by k-means++.

    Each next prototype is an object drawn by weight times dissimilarity to the nearest prototype so far.
    """
    chosen = drawn_by_weight(mass, rng.random(1)).tolist()
    apart = _apart(rows, chosen[0])
    while len(chosen) < k:
        pull = mass * apart
        # If all objects equal a seed already, any object is taken; its cluster is left out later.
        chosen += drawn_by_weight(pull if pull.sum() > 0 else mass, rng.random(1)).tolist()
        apart = np.minimum(apart, _apart(rows, chosen[-1]))
    return rows.prototypes(rows.dense(np.array(chosen)))


def _apart(rows: Rows, place: int) -> FloatArray:
    """Return the dissimilarity of all objects to one of them."""
    prototype = rows.prototypes(rows.dense(np.array([place])))
    blocks = rows.blocks(rows.values.shape[1])
    return rows.apart(np.concatenate([rows.compare(block, prototype)[:, 0] for block in blocks]))


def lloyd(rows: Rows, prototypes: FloatArray, mass: FloatArray, max_iter: int) -> Run:
    """Assign and average until no label changes; no prototype remains without an object while objects differ."""
    k, labels = len(prototypes), np.full(rows.n_objects, -1, dtype=np.int32)
    n_iter = 0
    while True:
        old = labels
        labels, likeness = assign(rows, prototypes)
        fill_empty(labels, mass * rows.apart(likeness), k, least=0.0)
        if n_iter == max_iter or np.array_equal(labels, old):
            return Run(prototypes, labels, float(mass @ likeness), n_iter)
        prototypes = averages(rows, labels, mass, prototypes)
        n_iter += 1


def assign(rows: Rows, prototypes: FloatArray) -> tuple[Labels, FloatArray]:
    """Return each object's most similar prototype, the first in a tie, and the similarity to it; computed in blocks."""
    labels, likeness = np.empty(rows.n_objects, dtype=np.int32), np.empty(rows.n_objects)
    for block in rows.blocks(len(prototypes)):
        values = rows.compare(block, prototypes)
        labels[block] = np.argmax(values, axis=1)
        likeness[block] = values[np.arange(len(values)), labels[block]]
    return labels, likeness


def sums(rows: Rows, labels: Labels, mass: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Return the weighted sums (k, n_features) of the rows of each cluster, and the weight of each cluster."""
    from scipy.sparse import csr_array

    members = csr_array((mass, labels, np.arange(rows.n_objects + 1)), shape=(rows.n_objects, k))
    total: Any = members.T @ rows.values
    dense: FloatArray = np.asarray(total.toarray() if rows.is_sparse else total, dtype=np.float64)
    weight: FloatArray = np.bincount(labels, mass, minlength=k).astype(np.float64)
    return dense, weight


def averages(rows: Rows, labels: Labels, mass: FloatArray, old: FloatArray) -> FloatArray:
    """Return prototypes from the means of the clusters; a cluster without weight keeps its old prototype."""
    total, weight = sums(rows, labels, mass, len(old))
    means = total / np.where(weight > 0, weight, 1.0)[:, None]
    return np.where(weight[:, None] > 0, rows.prototypes(means), old)


def compact(labels: Labels) -> Labels:
    """Renumber labels without gaps, in their old order."""
    codes: Labels = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    return codes

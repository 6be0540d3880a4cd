"""Labels permuted among the objects, which keeps the sizes of clusters and destroys what members have in common."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from quorate._types import Ensemble


def as_objects(ensemble: Ensemble) -> Ensemble:
    """Return one row per object, because objects of the same row are permuted apart."""
    rows = np.repeat(np.arange(ensemble.n_rows), ensemble.counts)
    return replace(ensemble, labels=ensemble.labels[rows], counts=np.ones(len(rows), dtype=np.int64))


def permuted(ensemble: Ensemble, rng: np.random.Generator) -> Ensemble:
    """Permute each member's labels among the objects that it labels; missing labels stay where they are."""
    if not ensemble.has_missing:
        return replace(ensemble, labels=rng.permuted(ensemble.labels, axis=0))
    labels = ensemble.labels.copy()
    for column in labels.T:
        known = column >= 0
        column[known] = rng.permutation(column[known])
    return replace(ensemble, labels=labels)

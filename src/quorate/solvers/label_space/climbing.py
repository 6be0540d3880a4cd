"""Greedy optimisation of a labelling's ANMI: rows move one at a time until no move raises it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import Ensemble, FloatArray
from quorate.ops.moves import sweep_rows
from quorate.ops.tables import cluster_counts
from quorate.solvers.label_rows import in_host_memory

LOGARITHMS = 2**18
"""Below this x log x is looked up in a table; above, it is computed."""


class Climb(NamedTuple):
    """Where the moves ended: labels 0..k-1; a cluster is empty only if it was empty at the start."""

    labels: NDArray[np.int32]
    n_moves: int
    n_iter: int
    converged: bool


def climb(ensemble: Ensemble, labels: NDArray[np.int32], n_clusters: int, max_iter: int) -> Climb:
    """Sweep over the rows, moving each to the cluster that raises the ANMI most, until a sweep moves none.

    A row moves with all its objects. It stays if no move gains more than `ops.moves.TOLERANCE`; ties between moves go
    to the lowest cluster; a cluster keeps its last row. A sweep costs O(m H k) for m rows.
    """
    # moves one by one are made in host memory, wherever the labels were found
    assignment = in_host_memory(ensemble, labels).astype(np.int32)
    table = cluster_counts(ensemble.labels, ensemble.offsets, ensemble.counts, assignment, n_clusters)
    margin, group = _margins(ensemble, table)
    logs = _x_log_x(np.arange(min(ensemble.n_objects + 1, LOGARITHMS)))
    entropy, importance = _fixed_terms(ensemble, table)
    held = np.bincount(assignment, minlength=n_clusters)
    n_iter, n_moves, moved = 0, 0, 1
    while moved and n_iter < max_iter:
        # anew for every sweep, so that rounding errors of the moves do not add up
        joint, spread = _member_sums(ensemble, _x_log_x(table).sum(axis=1)), _x_log_x(margin).sum(axis=1)
        moved = sweep_rows(
            ensemble.labels, ensemble.offsets, ensemble.counts, logs, entropy, importance, group,
            table, margin, joint, spread, held, assignment,
        )  # fmt: skip
        n_moves += moved
        n_iter += 1
    return Climb(assignment, n_moves, n_iter, moved == 0)


def _margins(ensemble: Ensemble, table: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sizes of the clusters among the objects each member knows; once for all members where none is missing."""
    if not ensemble.has_missing:
        return table[: ensemble.offsets[1]].sum(axis=0, keepdims=True), np.zeros(ensemble.n_members, dtype=np.int64)
    return np.add.reduceat(table, ensemble.offsets[:-1], axis=0), np.arange(ensemble.n_members)


def _fixed_terms(ensemble: Ensemble, table: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    """Each member's entropy times the objects it knows, and its share in the ANMI."""
    sizes = table.sum(axis=1)
    known = np.add.reduceat(sizes, ensemble.offsets[:-1])
    entropy = _x_log_x(known) - _member_sums(ensemble, _x_log_x(sizes))
    entropy[np.add.reduceat(sizes > 0, ensemble.offsets[:-1]) <= 1] = 0.0
    importance = ensemble.weights * known
    return entropy, importance / importance.sum()


def _member_sums(ensemble: Ensemble, values: FloatArray) -> FloatArray:
    sums: FloatArray = np.add.reduceat(values, ensemble.offsets[:-1])
    return sums


def _x_log_x(counts: NDArray[np.int64]) -> FloatArray:
    whole = counts.astype(np.float64)
    values: FloatArray = whole * np.log(np.maximum(whole, 1.0))
    return values

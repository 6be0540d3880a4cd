"""Expectation-maximisation for a mixture of products of multinomials over label rows."""

from __future__ import annotations

from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import Ensemble, FloatArray, IntArray, read_only
from quorate.ops.tables import expect
from quorate.ops.threads import map_blocks
from quorate.solvers.label_rows import fill_empty, look_up, weighted_total
from quorate.solvers.label_space.lookup import count, means_rule, row_sums, sample, seed_rows
from quorate.solvers.weights import TABLE_UNIT, cluster_weights, whole

MANY = 2**40
SHIFT = 26
"""Bits of a count that are added up apart from the others if there are more than MANY objects."""
TOLERANCE = 1e-6
"""A run has converged when the log-likelihood gains no more than this per object."""


class Mixture(NamedTuple):
    """A fitted mixture; `value` is the penalised log-likelihood, `likelihood` the plain one."""

    expected: FloatArray
    mass: FloatArray
    labels: NDArray[np.int32]
    sure: FloatArray
    likelihood: float
    value: float
    n_iter: int
    converged: bool


def best_mixture(
    ensemble: Ensemble,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    n_init: int,
    max_iter: int,
    smoothing: float,
    start: NDArray[np.int32] | None = None,
) -> Mixture:
    """The run of the highest penalised likelihood out of `n_init` runs, finished on all rows if these saw a sample.

    With labels to `start` from there is one run, on all rows.
    """
    part = sample(ensemble, n_clusters, rng) if start is None else None
    seen = ensemble if part is None else part
    if start is None:
        runs = (_seeded(seen, n_clusters, rng, max_iter, smoothing) for _ in range(n_init))
        best = max(runs, key=lambda run: run.value)
    else:
        best = _from_labels(ensemble, start, n_clusters, max_iter, smoothing)
    if part is not None:
        best = maximise(ensemble, best.expected, best.mass, max_iter, smoothing)
    fill_empty(best.labels, ensemble.counts * (1.0 - best.sure), n_clusters)
    return best


def _seeded(ensemble: Ensemble, n_clusters: int, rng: np.random.Generator, max_iter: int, smoothing: float) -> Mixture:
    """A run that starts from clusters around k-means++ seeds."""
    seeds = row_sums(ensemble, seed_rows(ensemble, n_clusters, rng))
    labels, score = np.empty(ensemble.n_rows, dtype=np.int32), np.empty(ensemble.n_rows)
    look_up(ensemble, means_rule(ensemble, seeds), np.ones(1), labels, score)
    return _from_labels(ensemble, labels, n_clusters, max_iter, smoothing)


def _from_labels(
    ensemble: Ensemble, labels: NDArray[np.int32], n_clusters: int, max_iter: int, smoothing: float
) -> Mixture:
    """A run that starts from these clusters; rows with -1 belong to none."""
    sums = count(ensemble, labels, n_clusters)
    table, mass = sums.table[:, :n_clusters].astype(np.float64), sums.mass.astype(np.float64)
    return maximise(ensemble, table, mass, max_iter, smoothing)


def maximise(ensemble: Ensemble, expected: FloatArray, mass: FloatArray, max_iter: int, smoothing: float) -> Mixture:
    """Sweeps, starting from expected counts, until the penalised log-likelihood gains no more."""
    labels, sure = np.empty(ensemble.n_rows, dtype=np.int32), np.empty(ensemble.n_rows)
    value, likelihood, n_iter, converged = -np.inf, -np.inf, 0, False
    while not converged and n_iter < max_iter:
        logarithms, bias = parameters(ensemble, expected, mass, smoothing)
        expected, mass, likelihood = _expectation(ensemble, logarithms, bias, labels, sure)
        before, value = value, likelihood + smoothing * float((cluster_weights(ensemble)[:, None] * logarithms).sum())
        converged = value - before <= TOLERANCE * ensemble.n_objects
        n_iter += 1
    return Mixture(expected, mass, labels, sure, likelihood, value, n_iter, converged)


def parameters(
    ensemble: Ensemble, expected: FloatArray, mass: FloatArray, smoothing: float
) -> tuple[FloatArray, FloatArray]:
    """Logarithms of the label probabilities (d, K) and of the components' shares (K,)."""
    known = np.repeat(np.add.reduceat(expected, ensemble.offsets[:-1], axis=0), ensemble.n_clusters, axis=0)
    n_labels = np.repeat(ensemble.n_clusters, ensemble.n_clusters)[:, None]
    logarithms: FloatArray = np.log((expected + smoothing) / (known + smoothing * n_labels))
    with np.errstate(divide="ignore"):
        bias: FloatArray = np.log(mass / mass.sum())
    # a component that died keeps a share no object will notice, so that nothing is infinite
    return logarithms, np.maximum(bias, -700.0)


def _expectation(
    ensemble: Ensemble, logarithms: FloatArray, bias: FloatArray, labels: NDArray[np.int32], sure: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Expected counts and masses in objects, and the log-likelihood; labels and their posteriors are written."""
    table = whole(logarithms * cluster_weights(ensemble)[:, None])
    height = np.empty(ensemble.n_rows)
    expected, mass, lock = np.zeros(table.shape), np.zeros(len(bias)), Lock()
    for counts, factor in _summable(ensemble.counts, ensemble.n_objects):
        # as fine as 63 bits allow for this many objects
        share_unit = 2.0 ** min(40, 61 - int(counts.sum()).bit_length())

        totals = np.zeros_like(table), np.zeros(len(bias), dtype=np.int64)

        def block(
            start: int, stop: int, counts: IntArray = counts, unit: float = share_unit, totals: Any = totals
        ) -> None:
            sums = np.zeros_like(table), np.zeros(len(bias), dtype=np.int64)
            rows = (ensemble.labels, ensemble.offsets, counts, table)
            expect(*rows, TABLE_UNIT, bias, unit, start, stop, *sums, labels, sure, height)
            # integers, whose sum is the same in whichever order the blocks end
            with lock:
                for total, part in zip(totals, sums, strict=True):
                    total += part

        map_blocks(block, ensemble.n_rows)
        expected += totals[0] / share_unit * factor
        mass += totals[1] / share_unit * factor
    return expected, mass, _total(ensemble, height)


def _summable(counts: IntArray, n_objects: int) -> list[tuple[IntArray, float]]:
    """Counts, and what one of them is worth: beyond 2^40 objects in two parts, or shares of them would be coarse."""
    if n_objects <= MANY:
        return [(counts, 1.0)]
    return [(read_only(counts >> SHIFT), 2.0**SHIFT), (read_only(counts & (2**SHIFT - 1)), 1.0)]


def _total(ensemble: Ensemble, height: FloatArray) -> float:
    """The log-likelihood of all objects: in integers, which no order and no count can change, while they are fine."""
    n_bits = int(ensemble.n_objects).bit_length()
    if n_bits > 30:
        return weighted_total(ensemble.counts, height)
    unit = 2.0 ** min(30, 50 - n_bits)
    return int((ensemble.counts * np.rint(height * unit).astype(np.int64)).sum()) / unit

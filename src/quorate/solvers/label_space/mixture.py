"""Expectation-maximisation for a mixture of products of multinomials over label rows."""

from __future__ import annotations

from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import Ensemble, FloatArray, IntArray, read_only
from quorate.ops.tables import expect
from quorate.ops.threads import map_blocks
from quorate.solvers.label_rows import look_up, weighted_total
from quorate.solvers.label_space.lookup import count, means_rule, row_sums, sample, seed_rows
from quorate.solvers.label_space.moving import refilled
from quorate.solvers.parts import added_up, beside, row_by_row
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
    seen = ensemble.on_host() if part is None else part
    if start is None:
        runs = (_seeded(seen, n_clusters, rng, max_iter, smoothing) for _ in range(n_init))
        best = max(runs, key=lambda run: run.value)
    else:
        best = _from_labels(ensemble, start, n_clusters, max_iter, smoothing)
    if part is not None:
        best = maximise(ensemble, best.expected, best.mass, max_iter, smoothing)
    best = best._replace(labels=beside(ensemble, best.labels), sure=beside(ensemble, best.sure))
    return best._replace(labels=refilled(best.labels, lambda: _doubts(ensemble.counts, best.sure), n_clusters)[0])


@row_by_row()
def _doubts(counts: IntArray, sure: FloatArray) -> FloatArray:
    doubts: FloatArray = counts * (1.0 - sure)
    return doubts


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
    value, likelihood, n_iter, converged = -np.inf, -np.inf, 0, False
    labels, sure, units = np.empty(0, dtype=np.int32), np.empty(0), _units(ensemble)
    while not converged and n_iter < max_iter:
        logarithms, bias = parameters(ensemble, expected, mass, smoothing)
        labels, sure, expected, mass, likelihood = _expectation(ensemble, logarithms, bias, units)
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


class Units(NamedTuple):
    """What the shares of objects and the log-likelihood are added up in, as whole numbers.

    `shares` holds, for each part that counts are divided into, what one of it is worth and the unit of its shares;
    `height` is that of the log-likelihood, None if there are so many objects that floats are added up.
    """

    shares: tuple[tuple[float, float], ...]
    height: float | None


def _units(ensemble: Ensemble) -> Units:
    n_bits = int(ensemble.n_objects).bit_length()
    height = None if n_bits > 30 else 2.0 ** min(30, 50 - n_bits)
    worths = (1.0,) if ensemble.n_objects <= MANY else (2.0**SHIFT, 1.0)
    # as fine as 63 bits allow for this many objects
    sums = (ensemble.n_objects,) if len(worths) == 1 else _sums_of_counts(ensemble.counts)
    units = (2.0 ** min(40, 61 - int(total).bit_length()) for total in sums)
    return Units(tuple(zip(worths, units, strict=True)), height)


@added_up
def _sums_of_counts(counts: IntArray) -> tuple[int, int]:
    high, low = _summable(counts, 2)
    return int(high.sum()), int(low.sum())


def _expectation(
    ensemble: Ensemble, logarithms: FloatArray, bias: FloatArray, units: Units
) -> tuple[NDArray[np.int32], FloatArray, FloatArray, FloatArray, float]:
    """Labels and their posteriors, expected counts and masses in objects, and the log-likelihood."""
    table = whole(logarithms * cluster_weights(ensemble)[:, None])
    labels, sure, height, *sums = _posteriors(ensemble, table, bias, units)
    expected, mass = np.zeros(table.shape), np.zeros(len(bias))
    for place, (worth, unit) in enumerate(units.shares):
        expected += sums[2 * place] / unit * worth
        mass += sums[2 * place + 1] / unit * worth
    return labels, sure, expected, mass, height / (units.height or 1.0)


@row_by_row(2, and_sums=True)
def _posteriors(ensemble: Ensemble, table: NDArray[np.int64], bias: FloatArray, units: Units) -> tuple[Any, ...]:
    """The component of each row and its posterior; the log-likelihood, expected counts and masses, whole."""
    labels = np.empty(ensemble.n_rows, dtype=np.int32)
    sure, height = np.empty(ensemble.n_rows), np.empty(ensemble.n_rows)
    found: list[IntArray] = []
    lock = Lock()
    for counts, (_, unit) in zip(_summable(ensemble.counts, len(units.shares)), units.shares, strict=True):
        totals = np.zeros_like(table), np.zeros(len(bias), dtype=np.int64)

        def block(start: int, stop: int, counts: IntArray = counts, unit: float = unit, totals: Any = totals) -> None:
            sums = np.zeros_like(table), np.zeros(len(bias), dtype=np.int64)
            rows = (ensemble.labels, ensemble.offsets, counts, table)
            expect(*rows, TABLE_UNIT, bias, unit, start, stop, *sums, labels, sure, height)
            # integers, whose sum is the same in whichever order the blocks end
            with lock:
                for total, part in zip(totals, sums, strict=True):
                    total += part

        map_blocks(block, ensemble.n_rows)
        found += totals
    return labels, sure, _total(ensemble, height, units.height), *found


def _summable(counts: IntArray, n_parts: int) -> list[IntArray]:
    """Counts, beyond 2^40 objects in two parts, or shares of them would be coarse."""
    return [counts] if n_parts == 1 else [read_only(counts >> SHIFT), read_only(counts & (2**SHIFT - 1))]


def _total(ensemble: Ensemble, height: FloatArray, unit: float | None) -> float:
    """The log-likelihood of all objects: in integers, which no order and no count can change, while they are fine."""
    if unit is None:
        return weighted_total(ensemble.counts, height)
    return int((ensemble.counts * np.rint(height * unit).astype(np.int64)).sum())

"""The one loop of the label-space methods: look rows up in a table, count them by cluster, make a new table.

Every method here assigns row i to argmin_c [ factor_i b_c - s_c sum_q T[q, label_iq, c] ] and makes T, s and b from
the counts of base clusters in each cluster. A `Model` says how; seeding, sweeps, repair and restarts are shared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import AnyEnsemble, Consensus, E, FloatArray, IntArray
from quorate.ops.threads import map_tasks
from quorate.solvers.label_rows import (
    canonical_labels,
    drawn_by_weight,
    move,
    row_norms,
    rows_of_drawn_objects,
    shared_with,
    take,
    weighted_total,
)
from quorate.solvers.label_space.moving import moving
from quorate.solvers.parts import beside
from quorate.solvers.weights import cluster_weights, with_relative_weights


class Sums(NamedTuple):
    """Sums over the rows of each cluster: `table` (d, width) counts base clusters, `mass` (K,) adds up the rows.

    For soft members the table adds up memberships, in units of the ensemble.
    """

    table: IntArray
    mass: IntArray


class Rule(NamedTuple):
    """What rows are looked up in: a row takes the c with the least factor * bias[c] - scale[c] * sum of table[., c]."""

    table: IntArray | FloatArray
    scale: FloatArray
    bias: FloatArray


@dataclass(frozen=True)
class Model:
    """How a method turns sums into a rule, and what it minimises.

    `rule` maps sums to the next rule; `cost` maps sums to the objective, to be minimised. `norms` (m,) is the cost of a
    row before anything is looked up, `factor` (m,) or (1,) multiplies the bias for a row, and `masses` (m,) is what a
    row adds to the mass of its cluster: integers, or floats if their sum would not fit into 64 bits.
    """

    rule: Callable[[Sums], Rule]
    cost: Callable[[Sums], float]
    norms: FloatArray
    factor: FloatArray
    masses: IntArray


class LookupRun(NamedTuple):
    """Where a run ended."""

    labels: NDArray[np.int32]
    sums: Sums
    cost: float
    n_iter: int
    converged: bool


def width(n_clusters: int) -> int:
    """The number of columns of a table for so many clusters, which fills whole vector registers from 12 clusters on."""
    return n_clusters if n_clusters < 12 else -(-n_clusters // 32) * 32


SAMPLE_ROWS = 32_768
"""Above this many rows restarts run on a sample of so many objects (or 64 k), and the best is finished on all."""


WHOLE: np.dtype[Any] = np.dtype(np.int64)


def best_of_restarts(
    ensemble: E,
    make: Callable[[E], Model],
    n_clusters: int,
    rng: np.random.Generator,
    *,
    n_init: int,
    max_iter: int,
    most_rows: int | None = None,
    start: NDArray[np.int32] | None = None,
) -> LookupRun:
    """The run of the least cost out of `n_init` seeded runs of the model that `make` builds for an ensemble.

    If there are many rows, the runs see a sample of the objects, and the best of them is finished on all rows. With
    labels to `start` from there is one run, on all rows.
    """
    if start is not None:
        model = make(ensemble)
        return sweep(ensemble, model, model.rule(sums_from(ensemble, model, start, n_clusters)), max_iter, model.factor)
    part = sample(ensemble, n_clusters, rng, most_rows)
    if part is None:
        in_memory: Any = ensemble.on_host()
        few = _best_run(in_memory, make, n_clusters, rng, n_init, max_iter)
        return few._replace(labels=beside(ensemble, few.labels))
    run = _best_run(part, make, n_clusters, rng, n_init, max_iter)
    return sweep(ensemble, make(ensemble), means_rule(part, count(part, run.labels, n_clusters)), max_iter)


def _best_run(
    ensemble: E, make: Callable[[E], Model], n_clusters: int, rng: np.random.Generator, n_init: int, max_iter: int
) -> LookupRun:
    model = make(ensemble)
    starts = [row_sums(ensemble, seed_rows(ensemble, n_clusters, rng)) for _ in range(n_init)]
    runs = map_tasks(
        lambda start: sweep(ensemble, model, means_rule(ensemble, start), max_iter), starts, ensemble.n_rows
    )
    return min(runs, key=lambda run: run.cost)


def sample(ensemble: E, n_clusters: int, rng: np.random.Generator, most_rows: int | None = None) -> E | None:
    """Objects drawn with replacement, as rows with counts; None if there are so few rows that all are taken."""
    size = max(SAMPLE_ROWS if most_rows is None else most_rows, 64 * n_clusters)
    if ensemble.n_rows <= size:
        return None
    rows, counts = rows_of_drawn_objects(ensemble, size, rng)
    if len(rows) < n_clusters:
        return None
    return take(ensemble, rows, counts.astype(np.int64))


def sums_from(ensemble: AnyEnsemble, model: Model, labels: NDArray[np.int32], n_clusters: int) -> Sums:
    """The sums of labels to start from; rows with -1 belong to no cluster yet."""
    mass = np.zeros(n_clusters, dtype=model.masses.dtype)
    known = labels >= 0
    np.add.at(mass, labels[known], model.masses[known])
    return count(ensemble, labels, n_clusters)._replace(mass=mass)


def sweep(
    ensemble: AnyEnsemble, model: Model, rule: Rule, max_iter: int, factor: FloatArray | None = None
) -> LookupRun:
    """Assign by the rule and make the model's next one until no row moves; no cluster is left empty."""
    rows = moving(ensemble, _no_sums(ensemble, len(rule.bias), model.masses.dtype), model.masses)
    if factor is None:
        # the first rule compares with means, whatever the model: rows have no pull of their own on it
        factor = np.ones(1)
    converged, n_iter, repaired = False, 0, np.inf
    sums = Sums(*rows.sums())
    while not converged and n_iter < max_iter:
        moved, filled = rows.assign(rule, factor, model.norms)
        sums = Sums(*rows.sums())
        rule, factor = model.rule(sums), model.factor
        converged = moved == 0
        n_iter += 1
        if filled and not converged:
            # clusters that empty again each time would go on for ever; they must pay for it
            before, repaired = repaired, model.cost(sums)
            converged = repaired >= before
    return LookupRun(rows.old, sums, model.cost(sums), n_iter, converged)


def _no_sums(ensemble: AnyEnsemble, n_clusters: int, mass: np.dtype[Any] = WHOLE) -> Sums:
    """Sums of zero, of 32 bits if nothing that is added up for a row can overflow them.

    64 bits always suffice: a row adds up at most the labels of all objects, which `proof.MAX_LABELS` limits.
    """
    narrow = ensemble.n_members * ensemble.n_objects * ensemble.unit**2 < 2**31
    table = np.zeros((int(ensemble.offsets[-1]), width(n_clusters)), dtype=np.int32 if narrow else np.int64)
    return Sums(table, np.zeros(n_clusters, dtype=mass))


def count(ensemble: AnyEnsemble, labels: NDArray[np.int32], n_clusters: int) -> Sums:
    """The sums of a partition, with masses in objects."""
    return _add(_no_sums(ensemble, n_clusters), ensemble, labels)


def row_sums(ensemble: AnyEnsemble, rows: NDArray[np.intp]) -> Sums:
    """The sums of clusters that hold one of the given rows each."""
    one_each = take(ensemble, rows, np.ones(len(rows), dtype=np.int64))
    return _add(_no_sums(ensemble, len(rows)), one_each, np.arange(len(rows), dtype=np.int32))


def _add(sums: Sums, ensemble: AnyEnsemble, labels: NDArray[np.int32]) -> Sums:
    move(ensemble, ensemble.counts, np.full(ensemble.n_rows, -1, dtype=np.int32), labels, sums)
    return sums


def means_rule(ensemble: AnyEnsemble, sums: Sums) -> Rule:
    """The rule whose value is the squared Euclidean distance to the mean of a cluster, less the norm of the row."""
    table = sums.table if ensemble.unit_weights else sums.table * cluster_weights(ensemble)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 2.0 / sums.mass / ensemble.unit**2
        bias = squares(ensemble, sums) / sums.mass / sums.mass
    bias[sums.mass == 0] = np.inf
    scale[sums.mass == 0] = 0.0
    return Rule(table, scale, bias)


def squares(ensemble: AnyEnsemble, sums: Sums) -> FloatArray:
    """For each cluster the weighted sum of squared counts, in float64: the square of 10^8 objects is past 2^53."""
    counts = sums.table[:, : len(sums.mass)] / ensemble.unit
    squared: FloatArray = np.einsum("f,fc,fc->c", cluster_weights(ensemble), counts, counts)
    return squared


def seed_rows(ensemble: AnyEnsemble, n_clusters: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Greedy k-means++: each next seed is the best of a few rows drawn by count times squared distance."""
    n_trials = 2 + int(np.log(n_clusters))
    norms = row_norms(ensemble)
    seeds = drawn_by_weight(ensemble.counts, rng.random(1)).tolist()
    closest = _distances(ensemble, norms, seeds[0])
    while len(seeds) < n_clusters:
        pull = ensemble.counts * closest
        if not pull.any():
            # every row equals a seed: take any row that is not a seed itself
            pull = np.ones(ensemble.n_rows)
            pull[seeds] = 0
        candidates = drawn_by_weight(pull, rng.random(n_trials)).tolist()
        nearer = [np.minimum(closest, _distances(ensemble, norms, candidate)) for candidate in candidates]
        best = int(np.argmin([weighted_total(ensemble.counts, distances) for distances in nearer]))
        seeds.append(candidates[best])
        closest = nearer[best]
    return np.array(seeds, dtype=np.intp)


def _distances(ensemble: AnyEnsemble, norms: FloatArray, row: int) -> FloatArray:
    """Squared distances of all rows to one row."""
    # weights that are no integers may leave a rounding error where the distance is zero
    distances: FloatArray = np.maximum(norms + norms[row] - 2 * shared_with(ensemble, row), 0.0)
    return distances


def restarted(
    ensemble: E,
    make: Callable[[E], Model],
    n_clusters: int,
    rng: np.random.Generator,
    n_init: int,
    max_iter: int,
    start: NDArray[np.int32] | None = None,
) -> Consensus:
    """The best of `n_init` seeded runs of the model that `make` builds for an ensemble, or one from `start`.

    The models' costs are proportional to the weights of the members. The runs see weights relative to the least one,
    because the models' tables are rounded to a fixed unit.
    """
    light = with_relative_weights(ensemble)
    run = best_of_restarts(light, make, n_clusters, rng, n_init=n_init, max_iter=max_iter, start=start)
    result = as_consensus(run)
    return replace(result, objective=result.objective * float(ensemble.weights.min()))


def as_consensus(run: LookupRun, info: Mapping[str, Any] | None = None) -> Consensus:
    """A run of the look-up loop as a Consensus with canonical labels; its objective is the run's cost."""
    labels = canonical_labels(run.labels, len(run.sums.mass))
    return Consensus(labels=labels, objective=run.cost, n_iter=run.n_iter, converged=run.converged, info=info or {})

"""The models of the look-up loop: what each label-space method compares rows with, and what it minimises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._types import AnyEnsemble, Ensemble, FloatArray
from quorate.solvers.label_rows import objects_in, row_norms, summed_sizes, total_of
from quorate.solvers.label_space.lookup import Model, Rule, Sums, means_rule, squares, width
from quorate.solvers.weights import TABLE_UNIT, cluster_weights, integer_member_weights, whole


def euclidean(ensemble: AnyEnsemble) -> Model:
    """k-means: squared distance of one-hot or soft rows to their mean; a missing label is a block of zeros."""
    norms = row_norms(ensemble)
    total = total_of(ensemble, norms)

    def cost(sums: Sums) -> float:
        filled = sums.mass > 0
        return total - float((squares(ensemble, sums)[filled] / sums.mass[filled]).sum())

    return Model(lambda sums: means_rule(ensemble, sums), cost, norms, np.ones(1), ensemble.counts_beside_rows())


def spectral_model(ensemble: Ensemble) -> Model:
    """SEC: weighted k-means of h_i / w_i with weight w_i, the sizes of i's base clusters times member weights."""
    member_weights, unit = integer_member_weights(ensemble)
    weights = summed_sizes(ensemble, member_weights)
    norms: FloatArray = row_norms(ensemble) / weights
    total = total_of(ensemble, norms)

    def cost(sums: Sums) -> float:
        filled = sums.mass > 0
        return (total - float((squares(ensemble, sums)[filled] / sums.mass[filled]).sum())) / unit

    # their sum is at most the objects times the labels of all objects, which soon is beyond 64 bits
    fits = ensemble.n_objects**2 * int(member_weights.sum()) < 2**62
    masses = ensemble.counts * (weights if fits else weights.astype(np.float64))
    return Model(lambda sums: means_rule(ensemble, sums), cost, norms, weights.astype(np.float64), masses)


def modes(ensemble: Ensemble) -> Model:
    """k-modes: the number of known labels that differ from the cluster's most frequent one."""

    def gain(counts: FloatArray) -> FloatArray:
        result = np.zeros_like(counts)
        for start, stop in zip(ensemble.offsets[:-1], ensemble.offsets[1:], strict=True):
            result[start + np.argmax(counts[start:stop], axis=0), np.arange(counts.shape[1])] = 1.0
        return result

    return additive(ensemble, gain)


def centred(ensemble: Ensemble) -> Model:
    """QMI: k-means of rows centred by the base clusters' frequencies, so that a missing label is the mean."""
    norms = row_norms(ensemble)
    table = _totals(ensemble)
    shares: FloatArray = table / _by_column(ensemble, _by_member(ensemble, table))
    weights = cluster_weights(ensemble)[:, None]

    def means(sums: Sums) -> FloatArray:
        counts = sums.table[:, : len(sums.mass)].astype(np.float64)
        expected = shares * _by_column(ensemble, _by_member(ensemble, counts))
        result: FloatArray = (counts - expected) / np.maximum(sums.mass, 1)
        return result

    def rule(sums: Sums) -> Rule:
        mean = means(sums)
        pull = 2 * weights * (mean - _by_column(ensemble, _by_member(ensemble, shares * mean)))
        bias = np.where(sums.mass > 0, (weights * mean**2).sum(axis=0), np.inf)
        return _whole(pull, bias)

    spread = float((weights * table * (1 - shares)).sum())

    def cost(sums: Sums) -> float:
        return spread - float(((weights * means(sums) ** 2).sum(axis=0) * sums.mass).sum())

    return Model(rule, cost, norms, np.ones(1), ensemble.counts_beside_rows())


def additive(ensemble: Ensemble, gain: Callable[[FloatArray], FloatArray], prior: float = 0.0) -> Model:
    """A model in which each known label gains something in a cluster, and the gains are added up over members.

    `gain` maps counts (d, K) of base clusters in clusters to the gains (d, K). The cost is the weight of all known
    labels less what they gain. With a prior, each base cluster counts that many labels more in every cluster, so that
    smoothed gains are those of the least cost.
    """
    norms = row_norms(ensemble)
    total = total_of(ensemble, norms)
    weights = cluster_weights(ensemble)[:, None]

    def rule(sums: Sums) -> Rule:
        counts = sums.table[:, : len(sums.mass)].astype(np.float64)
        return _whole(weights * gain(counts), np.where(sums.mass > 0, 0.0, np.inf))

    def cost(sums: Sums) -> float:
        counts = sums.table[:, : len(sums.mass)].astype(np.float64)
        return total - float((weights * (counts + prior) * gain(counts)).sum())

    return Model(rule, cost, norms, np.ones(1), ensemble.counts_beside_rows())


def utility_gain(
    ensemble: Ensemble, utility: str, *, power: float, smoothing: float, normalised: bool
) -> Callable[[FloatArray], FloatArray]:
    """The gain of a known label under a KCC utility: minus its divergence from the cluster's mean, up to a constant."""
    factor = _normaliser(ensemble, utility, power) if normalised else 1.0

    def gain(counts: FloatArray) -> FloatArray:
        known = _by_column(ensemble, _by_member(ensemble, counts))
        if utility == "entropy":
            n_labels = np.repeat(ensemble.n_clusters, ensemble.n_clusters)[:, None]
            return factor * np.log((counts + smoothing) / (known + smoothing * n_labels))
        shares = counts / np.maximum(known, 1)
        if utility == "category":
            return factor * (2 * shares - _by_column(ensemble, _by_member(ensemble, shares**2)))
        length = _by_column(ensemble, _by_member(ensemble, shares**power)) ** (1 / power)
        return factor * (shares / np.where(length > 0, length, 1.0)) ** (power - 1)

    return gain


def _normaliser(ensemble: Ensemble, utility: str, power: float) -> NDArray[Any]:
    """1 / utility of each member's own frequencies, so that members of many clusters do not dominate."""
    table = _totals(ensemble)
    shares = table / _by_column(ensemble, _by_member(ensemble, table))
    if utility == "entropy":
        values = -_by_member(ensemble, shares * np.log(shares))
    elif utility == "category":
        values = _by_member(ensemble, shares**2)
    else:
        values = _by_member(ensemble, shares**power) ** (1 / power)
    # a member of one cluster has no entropy, and gains nothing whatever the factor
    factor: NDArray[Any] = _by_column(ensemble, 1 / np.where(values > 0, values, 1.0))
    return factor


def _totals(ensemble: Ensemble) -> FloatArray:
    """The number of objects of each base cluster, (d, 1)."""
    return objects_in(ensemble).astype(np.float64)[:, None]


def _by_member(ensemble: Ensemble, table: FloatArray) -> FloatArray:
    """Sums over the base clusters of each member: (d, K) to (H, K)."""
    return np.add.reduceat(table, ensemble.offsets[:-1], axis=0)


def _by_column(ensemble: Ensemble, values: FloatArray) -> FloatArray:
    """The value of the member each base cluster belongs to: (H, K) to (d, K)."""
    return np.repeat(values, ensemble.n_clusters, axis=0)


def _whole(gain: FloatArray, bias: FloatArray) -> Rule:
    """A rule that adds integers: gains in units of 2^-36, with columns padded to the width of a table."""
    n_clusters = gain.shape[1]
    table = np.zeros((len(gain), width(n_clusters)), dtype=np.int64)
    table[:, :n_clusters] = whole(gain)
    return Rule(table, np.full(n_clusters, 1 / TABLE_UNIT), bias)

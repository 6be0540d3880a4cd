"""Moves of single rows that raise the mutual information with the members: the kernel of greedy optimisation."""

from __future__ import annotations

import numpy as np
from numba import njit

TOLERANCE = 1e-11
"""Scores (sums of NMI with weights that add up to 1) closer than this are a tie: rounding must not decide a move."""


@njit(cache=True, nogil=True)
def _xlogx(value, table):
    """x log x from a table of the first integers, computed beyond."""
    if value < table.size:
        return table[value]
    return value * np.log(value)


@njit(cache=True, nogil=True)
def _margin_terms(margin, spread, total, source, weight, logs, new_spread, rate):
    """What a move of `weight` objects from `source` makes of one labelling's marginal, for every target.

    margin (K,) sizes of the clusters; spread = sum of x log x over them; total objects. Written: new_spread (K,)
    and rate (K,) = 1 / sqrt(n entropy), 0 where all objects would be in one cluster.
    """
    lost = _xlogx(margin[source] - weight, logs) - _xlogx(margin[source], logs)
    whole = _xlogx(total, logs)
    for target in range(margin.size):
        after = margin[target]
        new_spread[target] = spread
        if target != source:
            after += weight
            new_spread[target] += lost + _xlogx(after, logs) - _xlogx(margin[target], logs)
        rate[target] = 1.0 / np.sqrt(whole - new_spread[target]) if after < total else 0.0


@njit(cache=True, nogil=True)
def _add_member(cells, joint, entropy, importance, source, weight, logs, spread, rate, score):
    """Add to score (K,) the importance times the NMI one member would have after the move, for every target.

    cells (K,) is the row of the member's contingency table that the moved objects are in; joint the sum of
    x log x over the table; entropy the member's own, times its objects; spread, rate (K,) from _margin_terms.
    """
    if entropy == 0.0:  # one cluster: it agrees with one cluster and tells nothing about several
        for target in range(cells.size):
            if rate[target] == 0.0:
                score[target] += importance
        return
    scale = importance / np.sqrt(entropy)
    lost = _xlogx(cells[source] - weight, logs) - _xlogx(cells[source], logs)
    for target in range(cells.size):
        change = 0.0
        if target != source:
            change = lost + _xlogx(cells[target] + weight, logs) - _xlogx(cells[target], logs)
        score[target] += scale * (entropy + joint + change - spread[target]) * rate[target]


@njit(cache=True, nogil=True)
def _best_target(score, source, tolerance):
    """The lowest cluster within the tolerance of the highest score; `source` where it is among them."""
    bar = score.max() - tolerance
    if score[source] >= bar:
        return source
    for target in range(score.size):
        if score[target] >= bar:
            return target
    return source


@njit(cache=True, nogil=True)
def _move(labels, offsets, row, weight, source, target, logs, table, margin, joint, spread, group):
    """Bring the tables and their sums of x log x up to date; a marginal shared by members is moved once."""
    last = -1
    for member in range(labels.shape[1]):
        label = labels[row, member]
        if label < 0:
            continue
        cells = table[offsets[member] + label]
        joint[member] += _transfer(cells, source, target, weight, logs)
        if group[member] != last:
            last = group[member]
            spread[last] += _transfer(margin[last], source, target, weight, logs)


@njit(cache=True, nogil=True)
def _transfer(cells, source, target, weight, logs):
    before = _xlogx(cells[source], logs) + _xlogx(cells[target], logs)
    cells[source] -= weight
    cells[target] += weight
    return _xlogx(cells[source], logs) + _xlogx(cells[target], logs) - before


@njit(cache=True, nogil=True)
def sweep(labels, offsets, counts, logs, entropy, importance, group, table, margin, joint, spread, held, assignment):
    """Move each row in turn to the cluster of the highest ANMI; returns how many moved.

    labels (m, H); counts (m,); logs: x log x of 0, 1, 2, ...; entropy, importance, group (H,): each member's n
    times entropy, its share in the score, and the number of its marginal. Kept up to date: table (d, K), margin
    (G, K), joint (H,), spread (G,), held (K,) rows in each cluster, assignment (m,). No cluster loses its last row.
    """
    new_spread, rate = np.empty(margin.shape), np.empty(margin.shape)
    total = margin.sum(axis=1)
    score = np.empty(margin.shape[1])
    moved = 0
    for row in range(labels.shape[0]):
        source, weight = assignment[row], counts[row]
        if held[source] == 1:
            continue
        score[:] = 0.0
        last = -1
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label < 0:  # its NMI does not depend on this row
                continue
            g = group[member]
            if g != last:
                last = g
                _margin_terms(margin[g], spread[g], total[g], source, weight, logs, new_spread[g], rate[g])
            cells = table[offsets[member] + label]
            _add_member(
                cells, joint[member], entropy[member], importance[member], source, weight, logs,
                new_spread[g], rate[g], score,
            )  # fmt: skip
        target = _best_target(score, source, TOLERANCE)
        if target != source:
            _move(labels, offsets, row, weight, source, target, logs, table, margin, joint, spread, group)
            held[source] -= 1
            held[target] += 1
            assignment[row] = target
            moved += 1
    return moved

"""Moves of single rows that increase the mutual information with the members: the kernel of greedy optimisation."""

from __future__ import annotations

import numpy as np

from quorate.ops.compiling import njit

TOLERANCE = 1e-11
"""Scores (sums of NMI with weights that add up to 1) closer than this count as tied, so that rounding does not
decide a move."""


@njit(cache=True, nogil=True)
def _xlogx(value, table):
    """Return x log x, looked up in a table for small integers and computed for larger ones."""
    if value < table.size:
        return table[value]
    return value * np.log(value)


@njit(cache=True, nogil=True)
def _margin_terms(margin, spread, total, source, weight, logs, new_spread, rate):
    """Compute how a move of `weight` objects from `source` changes one labelling's marginal, for every target.

    margin (K,) holds the sizes of the clusters; spread is the sum of x log x over them; total is the number of objects.
    Written are new_spread (K,) and rate (K,) = 1 / sqrt(n entropy), which is 0 if all objects would be in one cluster.
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
    """Add to score (K,) the importance times the NMI that one member would have after the move, for every target.

    cells (K,) is the row of the member's contingency table to which the moved objects belong; joint is the sum of x log
    x over the table; entropy is that of the member, times its number of objects; spread and rate (K,) come from
    _margin_terms.
    """
    if entropy == 0.0:  # a member of one cluster agrees only with a labelling of one cluster
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
    """Return the lowest cluster whose score is within the tolerance of the highest, preferably `source`."""
    bar = score.max() - tolerance
    if score[source] >= bar:
        return source
    for target in range(score.size):
        if score[target] >= bar:
            return target
    return source


@njit(cache=True, nogil=True)
def _move(labels, offsets, row, weight, source, target, logs, table, margin, joint, spread, group):
    """Update the tables and their sums of x log x after a move.

    A marginal that several members share is updated once.
    """
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
    """Move `weight` from one cell to another and return the change in the sum of x log x."""
    before = _xlogx(cells[source], logs) + _xlogx(cells[target], logs)
    cells[source] -= weight
    cells[target] += weight
    return _xlogx(cells[source], logs) + _xlogx(cells[target], logs) - before


@njit(cache=True, nogil=True)
def sweep(labels, offsets, counts, logs, entropy, importance, group, table, margin, joint, spread, held, assignment):
    """Move each row in turn to the cluster with the highest ANMI; return the number of rows moved.

    labels is (m, H); counts (m,); logs holds x log x of 0, 1, 2, ... entropy, importance and group are (H,): for each
    member n times its entropy, its share in the score, and the number of its marginal. These arrays are kept up to
    date: table (d, K), margin (G, K), joint (H,), spread (G,), held (K,), which is the number of rows in each cluster,
    and assignment (m,). No cluster loses its last row.
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
            if label < 0:  # the NMI with this member does not depend on this row
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

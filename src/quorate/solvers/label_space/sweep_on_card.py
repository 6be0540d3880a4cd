"""The look-up loop over rows on a card: the rule is made in host memory, rows and their sums stay on the card."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate._device.card_tables import Moving
from quorate._device.card_tables import look_up as look_up_on_card
from quorate.solvers.draws import fill_empty
from quorate.solvers.label_space.rules import Model, Partition, Rule, Sums, width


def sweep_on_card(ensemble: Any, model: Model, rule: Rule, max_iter: int) -> Partition:
    """Do what `lookup.sweep` does; all sums are of integers, so the answer is the same bit for bit."""
    xp, k = ensemble.card.xp, len(rule.bias)
    # masses in host memory are those of a model of its own; others are the counts, which are on the card already
    moving = Moving(ensemble, k, model.masses if isinstance(model.masses, np.ndarray) else None)
    fresh, score = xp.empty(ensemble.n_rows, dtype=xp.int32), xp.empty(ensemble.n_rows)
    # the first rule compares with means, whatever the model: rows have no pull of their own on it
    factor, own_factor = np.ones(1), xp.asarray(model.factor)
    converged, n_iter, repaired = False, 0, np.inf
    sums = _sums(moving, k)
    while not converged and n_iter < max_iter:
        look_up_on_card(ensemble, rule, factor, fresh, score)
        before, filled = moving.old, 0
        moved = moving.move(fresh)
        sums = _sums(moving, k)
        if not sums.mass.all():
            filled, labels = _filled(ensemble, model, fresh, score, k)
            moving.move(labels)
            moved, sums = int((moving.old != before).sum()), _sums(moving, k)
        fresh = before
        rule, factor = model.rule(sums), own_factor
        converged = moved == 0
        n_iter += 1
        if filled and not converged:
            earlier, repaired = repaired, model.cost(sums)
            converged = repaired >= earlier
    return Partition(moving.old, sums, model.cost(sums), n_iter, converged)


def _sums(moving: Moving, n_clusters: int) -> Sums:
    """The sums in host memory, with columns added as the rules expect them."""
    table, mass = moving.sums()
    wide = np.zeros((len(table), width(n_clusters)), dtype=np.int64)
    wide[:, :n_clusters] = table
    return Sums(wide, mass)


def _filled(ensemble: Any, model: Model, fresh: Any, score: Any, n_clusters: int) -> tuple[int, Any]:
    """Fill empty clusters in host memory, which happens rarely; return how many there were, and the new labels."""
    card = ensemble.card
    labels = card.to_host(fresh).copy()
    filled = fill_empty(labels, ensemble.counts * (model.norms + card.to_host(score)), n_clusters)
    return filled, card.to_card(labels)

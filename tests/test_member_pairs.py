"""Agreement of pairs of members: the kernel, the way for many clusters, and the choice among very many members."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from hypothesis import given
from strategies import labelled_tables

from quorate import as_ensemble, compress, consensus, evaluate
from quorate.solvers import cluster_means, members
from quorate.solvers.members import member_pairs, some_members


@given(labelled_tables())
def test_pairs_are_those_of_the_oracle(case: tuple) -> None:
    table, _, weights, _ = case
    ensemble = as_ensemble(table, weights=weights, orientation="objects")
    for average in ("geometric", "arithmetic"):
        values, shared = member_pairs(ensemble, average)
        for first in range(ensemble.n_members):
            for second in range(ensemble.n_members):
                both = (table[:, first] >= 0) & (table[:, second] >= 0)
                assert shared[first, second] == both.sum()
                if not both.any():
                    assert np.isnan(values[first, second])
                    continue
                wanted = oracle.nmi(table[both, first].tolist(), table[both, second].tolist(), average)
                assert values[first, second] == pytest.approx(wanted, abs=1e-9)


@given(labelled_tables())
def test_few_and_many_clusters_are_counted_alike(case: tuple) -> None:
    table, labels, weights, _ = case
    rows, inverse = compress(as_ensemble(table, weights=weights, orientation="objects"))
    with pytest.MonkeyPatch.context() as patch:
        dense = member_pairs(rows, "geometric")
        patch.setattr(members, "SMALL_TABLE", 0)
        assert all(
            np.allclose(a, b, equal_nan=True) for a, b in zip(dense, member_pairs(rows, "geometric"), strict=True)
        )
        row_labels = np.array(labels, dtype=np.int32)[np.unique(inverse, return_index=True)[1]]
        known = np.maximum(row_labels, 0)
        before = (*cluster_means.standing(rows, known, 5), cluster_means.completed(rows, row_labels, 5))
        patch.setattr(cluster_means, "DENSE_ENTRIES", 0)
        after = (*cluster_means.standing(rows, known, 5), cluster_means.completed(rows, row_labels, 5))
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))


def test_of_very_many_members_some_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = np.random.default_rng(0).integers(3, size=(40, 30))
    ensemble = as_ensemble(labels, orientation="objects")
    order = np.random.default_rng(1).permutation(30)
    permuted = as_ensemble(labels[:, order], orientation="objects")
    assert some_members(ensemble).tolist() == list(range(30))
    result = consensus(ensemble, 3, random_state=0)
    whole = evaluate(result, ensemble)
    monkeypatch.setattr(members, "MOST_MEMBERS", 10)
    chosen = some_members(ensemble)
    assert len(set(chosen.tolist())) == 10
    assert set(chosen.tolist()) == {int(order[place]) for place in some_members(permuted)}
    part = evaluate(result, ensemble)
    assert part.anmi == whole.anmi
    assert part.mean_member == pytest.approx(whole.mean_member, abs=0.1)
    assert part.mean_member == pytest.approx(evaluate(result, permuted).mean_member)
    assert part.agreement == whole.agreement
    assert part.agreement_mean_member != whole.agreement_mean_member


def test_members_that_are_compared_are_not_all_left_out_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """With five times as many members as are compared, every fifth of them was taken, and so was every fifth judge."""
    ensemble = as_ensemble(np.random.default_rng(0).integers(2, size=(12, 50)), orientation="objects")
    monkeypatch.setattr(members, "MOST_MEMBERS", 10)
    scores = evaluate(consensus(ensemble, 2, random_state=0), ensemble)
    assert scores.agreement_best_member is not None
    assert 0 <= scores.agreement_best_member <= 1

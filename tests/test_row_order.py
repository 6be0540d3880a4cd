"""Rows in the order of their content: what tells them apart, and the way back to the given order."""

from __future__ import annotations

import numpy as np
import oracle
import oracle_order
import pytest
from ensembles import noisy
from random_tables import random_case

from quorate import as_ensemble, compress, consensus
from quorate._solve.run_method import in_row_order, row_colours
from quorate.ops.coding import refine_colours
from quorate.solvers.linkage.dendrogram import cut
from quorate.solvers.weights import relative_weights


def classes(colours: object) -> list[int]:
    """Number equal colours by first appearance."""
    return oracle.canonical(list(colours))  # type: ignore[call-overload]


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("rounds", [1, 3])
def test_colours_tell_apart_what_the_oracle_tells_apart(seed: int, rounds: int) -> None:
    case = random_case(seed)
    rows, _ = compress(as_ensemble(case.labels, weights=case.weights, orientation="objects"))
    counts = (rows.counts // np.gcd.reduce(rows.counts)).astype(np.uint64)
    members, found = relative_weights(rows).view(np.uint64).copy(), counts.copy()
    for _ in range(rounds):
        refine_colours(rows.labels, rows.offsets, counts, members, found)
    wanted = oracle_order.colours(rows.labels, rows.counts, rows.weights, rounds)
    assert classes(found.tolist()) == classes(wanted)


def test_colours_follow_from_the_content_alone() -> None:
    labels = noisy(3, missing=0.2)
    rng = np.random.default_rng(0)
    objects, members, names = rng.permutation(60), rng.permutation(6), rng.permutation(9)
    weights = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 2.0])
    plain = as_ensemble(labels, weights=weights)
    other = np.where(labels < 0, -1, names[labels])[objects][:, members]
    changed = as_ensemble(other, weights=4 * weights[members], orientation="objects")
    assert np.array_equal(row_colours(plain)[objects], row_colours(changed))


def test_rows_are_sorted_by_count_and_clusters_by_first_appearance() -> None:
    rows, _ = compress(as_ensemble(noisy(1, n=80, members=4)))
    ordered = in_row_order(rows)
    assert np.array_equal(ordered.ensemble.counts, np.sort(rows.counts)[::-1])
    for member in range(rows.n_members):
        codes = ordered.ensemble.labels[:, member]
        assert np.array_equal(oracle.canonical(codes.tolist()), codes)
        assert np.array_equal(ordered.codes[member][codes], rows.labels[ordered.rows, member])
        assert np.array_equal(ordered.ensemble.categories[member], rows.categories[member][ordered.codes[member]])


@pytest.mark.parametrize("method", ["eac", "lwea"])
@pytest.mark.parametrize("seed", range(5))
def test_trees_cut_at_the_labels(method: str, seed: int) -> None:
    rows, _ = compress(as_ensemble(noisy(seed, n=70, missing=0.1)))
    result = consensus(rows, 4, method=method)
    assert result.tree is not None
    assert np.array_equal(cut(result.tree, 4), result.labels)
    assert np.array_equal(result.tree[-1, 3], rows.n_objects)
    assert (np.diff(result.tree[:, 2]) >= 0).all()


def test_facts_about_clusters_are_those_of_the_given_codes() -> None:
    labels = noisy(5, n=50, missing=0.1)
    order = np.random.default_rng(0).permutation(50)
    one, other = (
        consensus(as_ensemble(table, orientation="objects"), 3, method="lwea") for table in (labels, labels[order])
    )
    first = as_ensemble(labels, orientation="objects")
    second = as_ensemble(labels[order], orientation="objects")
    for place, name in enumerate(first.member_names):
        there = dict(zip(second.categories[place].tolist(), other.info["certainty"][name], strict=True))
        here = dict(zip(first.categories[place].tolist(), one.info["certainty"][name], strict=True))
        assert here == pytest.approx(there)

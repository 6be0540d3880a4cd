"""Soft members at the door: what is taken, refused and told."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracle_soft
import pandas as pd
import polars as pl
import pytest
from ensembles import noisy, one_hot_members, random_members
from scipy.sparse import csr_array
from test_soft import SOFT, same

from quorate import (
    METHODS,
    Consensus,
    Ensemble,
    as_ensemble,
    as_soft_ensemble,
    ca_tree,
    co_association,
    coarsen,
    consensus,
    harden,
    solve,
)
from quorate.solvers.label_rows import one_hot
from quorate.solvers.members import in_content_order

# --- the door


def test_the_door_codes_clusters_by_the_first_object_that_tells_them_apart() -> None:
    matrix = np.array([[0.25, 0.5, 0.25, 0.0], [0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
    soft = as_soft_ensemble({"a": matrix})
    assert [c.tolist() for c in soft.categories] == [[1, 2, 0]]
    assert oracle_soft.dense(soft).tolist() == matrix[:, [1, 2, 0]].tolist()
    assert soft.member_names == ("a",)
    assert repr(soft) == "SoftEnsemble(3 objects, 1 member, 3 clusters)"


def test_prefixes_come_after_what_they_begin() -> None:
    matrix = np.array([[0.5, 0.5], [0.0, 0.0], [1.0, 0.0]])
    other = np.array([0, 0, 1])
    assert as_soft_ensemble([matrix, other]).categories[0].tolist() == [0, 1]
    assert as_soft_ensemble([matrix[:, ::-1], other]).categories[0].tolist() == [1, 0]


@pytest.mark.parametrize(
    "kind",
    [np.array, csr_array, np.ndarray.tolist, pd.DataFrame, lambda m: pl.DataFrame(m, schema=["x", "y", "z"])],
    ids=["array", "sparse", "lists", "pandas", "polars"],
)
def test_every_kind_of_matrix(kind: Any) -> None:
    matrix = np.array([[0.25, 0.5, 0.25], [0.25, 0.0, 0.75], [0.5, 0.5, 0.0]])
    soft = as_soft_ensemble([kind(matrix), ["x", "x", None]])
    assert oracle_soft.dense(soft)[:, :3].tolist() == matrix[:, [1, 2, 0]].tolist()
    assert soft.has_missing
    assert isinstance(consensus([kind(matrix), ["x", "x", None]], 2, random_state=0), Consensus)


def test_labels_and_memberships_side_by_side() -> None:
    labels = noisy(2, missing=0.2)
    matrices = one_hot_members(labels)
    mixed: list[Any] = [column.astype(str) if q % 2 else matrices[q] for q, column in enumerate(labels.T)]
    mixed = [[None if v == "-1" else v for v in m.tolist()] if q % 2 else m for q, m in enumerate(mixed)]
    same(consensus(mixed, 3, random_state=0), consensus(labels, 3, method="kmeans", random_state=0))


def test_memberships_near_one_are_normalised_and_rounded() -> None:
    soft = as_soft_ensemble([np.array([[0.333, 0.333, 0.3335], [1e-7, 1 - 1e-7, 0.0]])])
    rows = oracle_soft.dense(soft)
    assert rows[0] == pytest.approx([1 / 3] * 3, abs=5e-4)
    assert sorted(rows[1].tolist()) == [0.0, 0.0, 1.0]


def test_ids_and_weights_and_counts() -> None:
    soft = as_soft_ensemble(random_members(0, 5), weights=[1, 2, 3], ids=list("abcde"), counts=[1, 2, 3, 4, 5])
    assert (soft.n_objects, soft.weights.tolist()) == (15, [1.0, 2.0, 3.0])
    assert consensus(soft, 2, random_state=0).object_ids.tolist() == list("abcde")
    hard = harden(soft)
    assert isinstance(hard, Ensemble)
    assert (hard.n_objects, hard.object_ids.tolist()) == (15, list("abcde"))


@pytest.mark.parametrize(
    ("members", "told"),
    [
        (
            [[[0.5, 0.6], [1.0, 0.0]]],
            r"member 0: memberships of 1 object do not add up to 1 \(rows 0.*Divide each row",
        ),
        ([[[1.5, -0.5], [1.0, 0.0]]], r"values outside of \[0, 1\] \(rows 0, counted from 0\).*1-D vectors"),
        ([np.array([[3], [1]])], r"values outside of \[0, 1\]"),
        ([[[np.nan, 0.5], [1.0, 0.0]]], "mix NaN and memberships"),
        ([[[0.0, 0.0], [1.0, 0.0]]], r"1 of 2 objects has no membership in any member \(rows 0"),
        ([[[0.0, 0.0], [0.0, 0.0]], [0, 1]], "'member 0' labels no object at all"),
        ([[[1.0, 0.0], [1.0, 0.0]], [0, 1, 1]], "member 0 has 2 and member 1 has 3"),
        ([[[1.0, 0.0], [1.0]]], "member 0 must be a matrix of memberships"),
        ([[["a", "b"], ["c", "d"]]], "member 0 must be a matrix of memberships"),
        ([np.full((2, 200_000), 5e-6)], "are all below"),
    ],
)
def test_what_is_no_membership_is_refused(members: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        consensus(members, 2)


def test_other_wrong_input_is_refused() -> None:
    with pytest.raises(TypeError, match="put a single matrix into a list"):
        as_soft_ensemble(np.eye(3))
    with pytest.raises(ValueError, match="at least one"):
        as_soft_ensemble([])
    with pytest.raises(ValueError, match="too many"):
        as_soft_ensemble([np.eye(3)], counts=np.full(3, 2**30))


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(SOFT)))
def test_solve_refuses_other_methods(method: str) -> None:
    members = random_members(0, 10)
    told = f"solve runs '{method}' on labels alone; methods that it runs on soft members: cspa, eac, hbgf, kmeans, mcla"
    with pytest.raises(ValueError, match=told):
        solve(as_soft_ensemble(members), 2, method=method)
    if method != "best":
        assert consensus(harden(members), 2, method=method, random_state=0).n_clusters == 2


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"method": "eac", "linkage": "single"}, "linkage='average' alone"),
        ({"method": "eac", "threshold": 0.1}, "linkage='average' alone"),
        ({"method": "eac", "enhanced": True}, "linkage='average' alone"),
        ({"n_clusters": 2, "method": "cspa", "max_bytes": 100}, "would need"),
    ],
)
def test_options_that_need_labels_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises((ValueError, MemoryError), match=told):
        consensus(random_members(0, 10), **options)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"n_clusters": "auto"}, "n_clusters must be a number"),
        ({"n_clusters": 2, "refine": True}, "refine must be False"),
    ],
)
def test_options_that_solve_refuses(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        solve(as_soft_ensemble(random_members(0, 10)), **options)


@pytest.mark.parametrize("options", [{"refine": True}, {"coarsen": 0.4}, {"n_clusters": (2, 3)}])
def test_options_that_need_labels_have_drawn_ones(options: dict[str, Any]) -> None:
    result = consensus(random_members(0, 30), **{"n_clusters": 2, **options}, random_state=0)
    assert len(result.labels) == 30
    assert ("drawn_labels" in result.info) == ("n_clusters" not in options)


def test_pairwise_is_the_same_only_without_gaps() -> None:
    members = random_members(0, 10)
    same(consensus(members, 2, method="eac", normalization="pairwise"), consensus(members, 2, method="eac"))
    members[0][3] = 0.0
    with pytest.raises(ValueError, match="normalization='ensemble'"):
        consensus(members, 2, method="eac", normalization="pairwise")


@pytest.mark.parametrize(
    "ask",
    [
        as_ensemble,
        co_association,
    ],
)
def test_what_needs_labels_names_harden(ask: Any) -> None:
    members = random_members(0, 10)
    for given in (members, as_soft_ensemble(members)):
        with pytest.raises(TypeError, match=r"quorate\.harden\(members\)"):
            ask(given)


@pytest.mark.parametrize("ask", [ca_tree, METHODS["sec"].solve])
def test_what_takes_ensembles_alone_names_harden(ask: Any) -> None:
    soft = as_soft_ensemble(random_members(0, 10))
    arguments = (soft, 2) if ask is METHODS["sec"].solve else (soft,)
    options = {"rng": np.random.default_rng(0)} if ask is METHODS["sec"].solve else {}
    with pytest.raises((AttributeError, TypeError), match=r"quorate\.harden\(members\)"):
        ask(*arguments, **options)


def test_members_in_content_order_keep_their_memberships() -> None:
    soft = as_soft_ensemble(random_members(5, 20, (3, 4, 3)), weights=[1.0, 2.0, 3.0])
    ordered = in_content_order(soft)
    place = [ordered.member_names.index(name) for name in soft.member_names]
    blocks = np.split(oracle_soft.dense(ordered), ordered.offsets[1:-1], axis=1)
    assert np.array_equal(np.hstack([blocks[q] for q in place]), oracle_soft.dense(soft))
    assert ordered.weights[place].tolist() == [1.0, 2.0, 3.0]


def test_copies_and_pickles() -> None:
    import copy
    import pickle

    soft = as_soft_ensemble(random_members(0, 10))
    for twin in (copy.deepcopy(soft), pickle.loads(pickle.dumps(soft))):
        assert np.array_equal(oracle_soft.dense(twin), oracle_soft.dense(soft))
    assert not hasattr(soft, "labels")


def test_coarsened_soft_rows_are_the_means_of_their_objects() -> None:
    """The slow twin adds up the memberships of the objects of each row, object by object."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=60)
    members = [rng.dirichlet(np.full(3, 0.3), size=60) * 0.5 + np.eye(3)[truth] * 0.5 for _ in range(4)]
    members[1][:5] = 0.0
    soft = as_soft_ensemble(members, weights=[1.0, 2.0, 1.0, 1.0])
    for theta, keep in ((0.0, 1.0), (0.3, 1.0), (0.3, 0.8)):
        rows, inverse = coarsen(soft, theta, keep=keep)
        assert rows.n_rows < 60
        assert np.array_equal(rows.counts, np.bincount(inverse))
        table = one_hot(rows).toarray()
        for place in range(rows.n_rows):
            own = one_hot(soft).toarray()[inverse == place]
            for start, stop in zip(soft.offsets[:-1], soft.offsets[1:], strict=True):
                part = own[:, start:stop]
                known = part[part.sum(axis=1) > 0.5]
                wanted = known.mean(axis=0) if len(known) else np.zeros(stop - start)
                assert sorted(table[place, start:stop]) == pytest.approx(sorted(wanted), abs=1e-4)
        assert np.array_equal(coarsen(harden(soft), theta, keep=keep)[1], inverse)
        assert consensus(rows, 3, random_state=0, confidence=False).labels[inverse].shape == (60,)


def test_overlapping_clusters_share_an_object() -> None:
    """Memberships of 1 in several clusters, as of communities that overlap, count for equal shares."""
    both = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.9, 0.3, 0.0]])
    shared = both / np.maximum(both.sum(axis=1), 1.0)[:, None]
    found = as_soft_ensemble([both, [0, 0, 1, 1, 0]], overlaps=True)
    wanted = oracle_soft.dense(as_soft_ensemble([shared, [0, 0, 1, 1, 0]]))
    assert np.array_equal(oracle_soft.dense(found), wanted)
    with pytest.raises(ValueError, match="overlaps=True of as_soft_ensemble is for clusters that overlap"):
        as_soft_ensemble([both])
    with pytest.raises(ValueError, match="do not add up to 1"):
        as_soft_ensemble([both * 0.4], overlaps=True)
    with pytest.raises((TypeError, ValueError), match="overlaps must be"):
        as_soft_ensemble([shared], overlaps="yes")

"""Growing: objects inserted into a CA-tree, and a consensus that starts from an earlier one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from ensembles import noisy
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import label_tables
from test_tree import assert_same_tree

from quorate import METHODS, as_ensemble, ca_tree, compress, consensus, nmi, solve, stream

WEIGHTS = (1.0, 0.5, 2.0, 1.25, 3.0, 0.75, 1.5)


def table(labels, weighted=False):
    weights = np.resize(WEIGHTS, labels.shape[1]) if weighted else None
    return as_ensemble(labels, weights=weights, orientation="objects")


@given(label_tables(max_objects=40, max_members=6, min_objects=3), st.data(), st.sampled_from([2, 3, None, "auto"]))
@settings(max_examples=120)
def test_inserting_equals_building(labels, data, n_des):
    """In one step or object by object, with labels that no object had, missing ones and weights."""
    first = data.draw(st.integers(1, len(labels) - 1))
    known = (labels[:first] >= 0).any(axis=0)
    labels = labels[:, known]
    if not labels.shape[1] or not ((labels >= 0).any(axis=1)).all():
        return
    weighted = data.draw(st.booleans())
    whole = ca_tree(table(labels, weighted), n_des)
    tree = ca_tree(table(labels[:first], weighted), n_des)
    assert_same_tree(tree.insert(labels[first:]), whole)
    for row in labels[first:]:
        tree = tree.insert(row[None, :])
    assert_same_tree(tree, whole)
    for one, other in zip(tree.rows.categories, whole.rows.categories, strict=True):
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize("n_des", [4, 32])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_inserting_into_a_larger_tree_equals_building(n_des: int, missing: float) -> None:
    labels = noisy(3, n=900, k=5, members=9, missing=missing)
    tree = ca_tree(table(labels[:700]), n_des).insert(labels[700:])
    whole = ca_tree(table(labels), n_des)
    assert_same_tree(tree, whole)
    rows, inverse = tree.coarsen(0.3, keep=0.9)
    wanted, places = whole.coarsen(0.3, keep=0.9)
    assert np.array_equal(rows.labels, wanted.labels)
    assert np.array_equal(inverse, places)


def test_inserted_columns_are_matched_by_name() -> None:
    tree = ca_tree(as_ensemble({"a": ["x", "x", "y"], "b": [1, 2, 2]}))
    grown = tree.insert({"b": [2, 3, 1], "a": ["y", "z", None]})
    whole = ca_tree(as_ensemble({"a": ["x", "x", "y", "y", "z", None], "b": [1, 2, 2, 2, 3, 1]}))
    assert_same_tree(grown, whole)
    assert [values.tolist() for values in grown.rows.categories] == [["x", "y", "z"], [1, 2, 3]]
    alone = tree.insert({"b": [2, 2]})
    assert alone.rows.labels.tolist() == [[0, 0], [0, 1], [1, 1], [-1, 1]]
    assert alone.counts[0] == 5
    with pytest.raises(ValueError, match="1 column that is no member"):
        tree.insert({"a": ["x"], "c": [1]})


WARM = [name for name, entry in METHODS.items() if entry.warm]


def grown_table(n: int = 600, more: int = 60):
    """A table of objects in 4 planted clusters, the first `n` of them apart."""
    whole = noisy(5, n=n + more, k=4, members=8, noise=0.25)
    return whole, whole[:n]


@pytest.mark.parametrize("method", WARM)
def test_a_result_is_where_it_starts_from(method: str) -> None:
    """A method that starts from its own answer stays there, and takes new objects and members into it."""
    whole, part = grown_table()
    cold = consensus(part, 4, method=method, random_state=0, confidence=False)
    again = consensus(part, method=method, start=cold, random_state=1, confidence=False)
    assert again.info["n_started"] == 600
    if method in ("kmodes", "voting", "mixture"):
        # ties go to the lowest of clusters that are numbered anew, and a mixture starts without its posteriors
        assert again.objective == pytest.approx(cold.objective, rel=1e-3)
        assert nmi(again.labels, cold.labels) > 0.97
    else:
        assert np.array_equal(again.labels, cold.labels)
        assert again.n_iter <= 2
    grown = consensus(whole, start=cold, method=method, random_state=0, confidence=False)
    new = consensus(whole, 4, method=method, random_state=0, confidence=False)
    assert nmi(grown.labels, new.labels) > 0.95
    assert grown.info["n_started"] == 600
    wide = np.column_stack([part, part[:, 0]])
    assert nmi(consensus(wide, start=cold, method=method, confidence=False).labels, cold.labels) > 0.95


def test_more_clusters_than_the_start_has_are_filled() -> None:
    whole, part = grown_table()
    two = consensus(part, 2, method="kmeans", random_state=0, confidence=False)
    for method in WARM:
        assert consensus(whole, 5, method=method, start=two, confidence=False).n_clusters == 5, method
    with pytest.raises(ValueError, match="n_clusters must be at least 2, the clusters of start, got 1"):
        consensus(whole, 1, start=two)


def test_objects_to_start_from_are_matched_by_id_or_by_order() -> None:
    names = [f"o{number}" for number in range(8)]
    members = {"a": [0, 0, 0, 0, 1, 1, 1, 1], "b": [0, 0, 0, 1, 1, 1, 1, 1]}
    table = pd.DataFrame(members, index=names)
    first = consensus(table, 2, method="kmeans", random_state=0)
    shuffled = table.iloc[[7, 3, 0, 5, 1, 6, 2, 4]]
    result = consensus(pd.concat([shuffled, pd.DataFrame({"a": [1], "b": [0]}, index=["new"])]), start=first)
    assert result.method == "kmeans"
    assert result.info["n_started"] == 8
    together = dict(zip(result.object_ids.tolist(), result.labels.tolist(), strict=True))
    assert [together[name] == together["o0"] for name in names] == [label == 0 for label in first.labels.tolist()]
    assert consensus(members, start=[0, 0, 0], method="kmodes", n_clusters=2).info["n_started"] == 3


def test_a_start_meets_merged_rows_soft_members_and_weights() -> None:
    whole, part = grown_table()
    cold = consensus(part, 4, method="kmeans", random_state=0, confidence=False)
    merged = consensus(whole, start=cold, coarsen=0.2, confidence=False)
    assert nmi(merged.labels[:600], cold.labels) > 0.9
    soft = [np.eye(4)[column] * 0.8 + 0.05 for column in part.T]
    for method in ("kmeans", "voting"):
        assert nmi(consensus(soft, start=cold, method=method, confidence=False).labels, cold.labels) > 0.95
    heavy = consensus(whole, start=cold, method="sec", weights=np.arange(1, 9), confidence=False)
    assert nmi(heavy.labels[:600], cold.labels) > 0.9


def test_starts_that_cannot_be_used_are_refused(tmp_path) -> None:
    members = [[0, 0, 1, 1], [0, 1, 1, 1]]
    with pytest.raises(ValueError, match="method 'eac' cannot start from labels; methods that can: ecc, greedy"):
        consensus(members, method="eac", start=[0, 0, 1, 1])
    with pytest.raises(ValueError, match="start must have at most one label per row of the ensemble, 4 in all, got 5"):
        consensus(members, start=[0, 0, 1, 1, 1])
    with pytest.raises(TypeError, match="n_clusters must be an integer"):
        consensus(members, range(2, 4), start=[0, 0, 1, 1])
    with pytest.raises(ValueError, match="start must be None on a card"):
        consensus(members, start=[0, 0, 1, 1], device="cuda")
    pd.DataFrame({"a": [0, 0, 1], "b": [0, 1, 1]}).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(TypeError, match="no option 'start'"):
        stream.consensus(tmp_path / "t.csv", 2, method="kmeans", out=tmp_path / "o.csv", start=[0])
    table = pd.DataFrame({"a": [0, 1], "b": [0, 1]}, index=["x", "y"])
    with pytest.raises(ValueError, match="none of its ids is one of theirs"):
        consensus(table, start=pd.Series([0, 1], index=["p", "q"]))


def test_solve_starts_from_labels_of_rows() -> None:
    rows, inverse = compress(as_ensemble(grown_table()[1], orientation="objects"))
    cold = solve(rows, 4, method="kmeans", random_state=0, confidence=False)
    warm = solve(rows, method="kmeans", start=cold.labels, confidence=False)
    assert np.array_equal(warm.labels, cold.labels)
    assert len(inverse) == 600

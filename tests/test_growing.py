"""Growing: objects inserted into a CA-tree, and a consensus that starts from an earlier one."""

from __future__ import annotations

import numpy as np
import pytest
from ensembles import noisy
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import label_tables
from test_tree import assert_same_tree

from quorate import as_ensemble, ca_tree

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

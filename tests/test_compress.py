"""How labels are stored, compressed and merged."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import label_tables
from test_ensemble import INTEGERS, _categories

from quorate import as_ensemble, compress, merge

# storage


def test_coded_narrow_labels_are_not_copied():
    labels = np.array([[0, 0], [1, 0], [0, -1]], dtype=np.int8)
    assert np.shares_memory(as_ensemble(labels).labels, labels)
    assert not np.shares_memory(as_ensemble(labels.astype(np.int64)).labels, labels)


@given(label_tables())
def test_any_layout_gives_c_order_and_leaves_the_input_alone(table):
    before = table.copy()
    expected = as_ensemble(table, orientation="objects").labels
    for layout in (np.asfortranarray(table), np.repeat(table, 2, axis=0)[::2], table[::-1][::-1]):
        found = as_ensemble(layout, orientation="objects").labels
        assert found.flags.c_contiguous
        assert np.array_equal(found, expected)
    assert np.array_equal(table, before)
    assert table.flags.writeable


def test_arrays_are_read_only():
    for ensemble in (as_ensemble([[3, 0, 3]]), compress(as_ensemble([[3, 0, 3]]))[0]):
        for array in (ensemble.labels, ensemble.counts, ensemble.n_clusters, ensemble.weights, ensemble.offsets):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


def test_properties_and_repr():
    ensemble = as_ensemble([[0, 0, 1, None], [5, 6, 7, 8]], counts=[1, 2, 3, 4], weights=[1, 2])
    assert (ensemble.n_rows, ensemble.n_members, ensemble.n_objects) == (4, 2, 10)
    assert ensemble.offsets.tolist() == [0, 2, 6]
    assert ensemble.has_missing
    assert not ensemble.unit_weights
    assert repr(ensemble) == "Ensemble(10 objects in 4 rows, 2 members, 2 to 4 clusters, labels missing)"
    assert repr(as_ensemble([0, 1])) == "Ensemble(2 objects, 1 member, 2 clusters)"


def test_weights_and_counts_are_checked():
    for weights, message in (([1], "one value per member"), ([1, 0], "positive"), ([1, np.nan], "positive and finite")):
        with pytest.raises(ValueError, match=message):
            as_ensemble([[0, 1], [0, 1]], weights=weights)
    for counts, message in (([1], "one value per row"), ([1, 0], "at least 1"), ([1.5, 1], "integers of at least 1")):
        with pytest.raises(ValueError, match=message):
            as_ensemble([[0, 1], [0, 1]], counts=counts)
    changed = as_ensemble(as_ensemble([[0, 1], [0, 1]]), weights=[2, 3], counts=[4, 5])
    assert changed.weights.tolist() == [2, 3]
    assert changed.counts.tolist() == [4, 5]


@given(label_tables(), st.randoms(use_true_random=False))
def test_renaming_changes_no_code(table, random):
    expected = as_ensemble(table, orientation="objects", check=False).labels
    columns = []
    for column in table.T.tolist():
        pool = random.choice([range(50), range(10**12, 10**12 + 50), "abcdefgh", [0.5, 1.5, 2.5, 3.5], "xyzw"])
        names = random.sample(list(pool), 4)
        columns.append([None if label == -1 else names[label] for label in column])
    renamed = as_ensemble(columns, orientation="members", check=False)
    assert np.array_equal(renamed.labels, expected)
    assert renamed.labels.dtype == expected.dtype


@given(label_tables(), st.sampled_from([*INTEGERS[:4], "float32", "float64", "object"]))
def test_codes_against_oracle(table, dtype):
    ensemble = as_ensemble(table.astype(dtype), orientation="objects", check=False)
    codes, categories = oracle.code_columns(table)
    assert np.array_equal(ensemble.labels, codes)
    assert _categories(ensemble) == categories


# compress and merge


@given(label_tables(), st.data())
def test_compress(table, data):
    counts = data.draw(st.lists(st.integers(1, 10**9), min_size=len(table), max_size=len(table)))
    ensemble = as_ensemble(table, orientation="objects", counts=counts)
    rows, inverse = compress(ensemble)
    first, expected = oracle.distinct_rows(table)
    assert np.array_equal(rows.labels, ensemble.labels[first])
    assert inverse.tolist() == expected
    assert np.array_equal(rows.labels[inverse], ensemble.labels)
    sums = [sum(c for c, place in zip(counts, expected, strict=True) if place == row) for row in range(rows.n_rows)]
    assert rows.counts.tolist() == sums
    assert rows.n_objects == ensemble.n_objects
    assert rows.object_ids is None
    again, same = compress(rows)
    assert np.array_equal(again.labels, rows.labels)
    assert same.tolist() == list(range(rows.n_rows))


def _chunks(table, data):
    """Cuts of a table such that every member labels something in every chunk."""
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(table) - 1)))))
    chunks = []
    start = 0
    for stop in [*cuts, len(table)]:
        if (table[start:stop].max(axis=0, initial=-1) >= 0).all() and (table[stop:].max(axis=0, initial=-1) >= 0).all():
            chunks.append(table[start:stop])
            start = stop
    return [*chunks, table[start:]] if start < len(table) else chunks


def _assert_same(found, expected):
    assert np.array_equal(found.labels, expected.labels)
    assert found.labels.dtype == expected.labels.dtype
    assert np.array_equal(found.counts, expected.counts)
    assert np.array_equal(found.n_clusters, expected.n_clusters)
    assert _categories(found) == _categories(expected)
    assert found.member_names == expected.member_names


@given(label_tables(max_objects=12, max_members=3), st.data())
def test_merge_of_chunks_equals_compressing_the_whole(table, data):
    names = data.draw(st.sampled_from([(3, 1, 4, 15), "wxyz", (10**12, 1, 2, 3), (0.5, 1, 2, 3), (2**63, 5, 7, "t")]))
    named = np.full(table.shape, None, dtype=object)
    for label, name in enumerate(names):
        named[table == label] = name
    whole, inverse = compress(as_ensemble(named, orientation="objects", check=False))
    edges = np.cumsum([0, *map(len, _chunks(table, data))])
    parts, inverses = zip(
        *(compress(as_ensemble(named[a:b], orientation="objects", check=False)) for a, b in pairwise(edges)),
        strict=True,
    )
    merged, where = merge(parts)
    _assert_same(merged, whole)
    placed = np.concatenate([place[back] for place, back in zip(where, inverses, strict=True)])
    assert np.array_equal(placed, inverse)


@pytest.mark.parametrize(
    "labels",
    [
        [1, 2, "a", 1],
        [0.5, 1.5, 1, 2],
        [2**63, 5, 2**63 + 1, 5],
        [True, False, None, True],
        np.array(["1960-01-01", "2020-01-01T12", "NaT", "1960-01-01"], dtype="M8[ns]"),
        np.array(["a", "bb", "ccc", "a"]),
    ],
    ids=["mixed", "fractions", "huge", "booleans", "dates", "texts"],
)
def test_merge_of_chunks_whose_categories_differ_in_type(labels):
    other = [1, 1, 2, 2]
    whole, _ = compress(as_ensemble([labels, other]))
    merged, _ = merge(as_ensemble([labels[part], other[part]]) for part in (slice(0, 2), slice(2, 4)))
    _assert_same(merged, whole)


def test_merge_of_dates_in_different_units():
    days, nanoseconds = (
        as_ensemble(np.array(["2020-01-01", "2020-01-02"], dtype=unit)) for unit in ("M8[D]", "M8[ns]")
    )
    merged, where = merge([days, nanoseconds])
    assert merged.counts.tolist() == [2, 2]
    assert [place.tolist() for place in where] == [[0, 1], [0, 1]]


def test_merge_widens_codes():
    low, high = as_ensemble(np.arange(100), check=False), as_ensemble(np.arange(100, 200), check=False)
    merged, where = merge([low, high])
    assert merged.labels.dtype == np.int16
    assert merged.labels[:, 0].tolist() == list(range(200))
    assert np.array_equal(where[1], np.arange(100, 200))


def test_merge_keeps_weights_and_drops_ids():
    parts = [as_ensemble([[0, 1], [0, 0]], weights=[1, 3], ids=["x", "y"]) for _ in range(2)]
    merged, _ = merge(parts)
    assert merged.weights.tolist() == [1, 3]
    assert merged.object_ids is None
    assert merged.counts.tolist() == [2, 2]


def test_parts_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="at least one ensemble"):
        merge([])
    with pytest.raises(ValueError, match=r"same members, but part 0 has \['a'\] and part 1 has \['b'\]"):
        merge([as_ensemble({"a": [0]}), as_ensemble({"b": [0]})])
    with pytest.raises(ValueError, match="same member weights; part 1 differs"):
        merge([as_ensemble([0], weights=[1]), as_ensemble([0], weights=[2])])


@pytest.mark.parametrize("labels", [[[[1, 2], [3, 4]], [[1, 2], [3, 4]]], [np.zeros((2, 2)), np.zeros((2, 2))]])
def test_matrices_are_soft_members_and_no_labels(labels):
    with pytest.raises(TypeError, match=r"members are soft .* and labels are needed here"):
        as_ensemble(labels)

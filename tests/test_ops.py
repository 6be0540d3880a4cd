"""Kernels against their slow obvious twins, on ragged, tiny, tied and missing-laden tables."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import label_tables, labelled_tables

from quorate._types import read_only
from quorate.ops import coding
from quorate.ops.coding import MISSING, UNSEEN, canonical, code_columns, is_coded
from quorate.ops.distinct_rows import (
    _MULTIPLIER,
    PARTED_FROM,
    added_counts,
    as_words,
    distinct_rows,
    distinct_rows_in_parts,
    hash_row,
    one_table,
    taken_rows,
)
from quorate.ops.tables import cluster_counts


def _distinct_rows(labels, way):
    inverse = np.empty(len(labels), dtype=np.intp)
    first = way(as_words(labels, 1 if way is one_table else None), inverse)
    return first, inverse


WAYS = pytest.mark.parametrize("way", [one_table, distinct_rows_in_parts])


@WAYS
@given(labels=label_tables())
def test_distinct_rows(labels, way):
    first, inverse = _distinct_rows(labels.astype(np.int8), way)
    expected_first, expected_inverse = oracle.distinct_rows(labels)
    assert first.tolist() == expected_first
    assert inverse.tolist() == expected_inverse


@WAYS
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_distinct_rows_beyond_the_first_table(dtype, way):
    """More rows than the hash table starts with, each twice, so that it grows and still finds them."""
    labels = np.stack([np.arange(3000) % 128, np.arange(3000) // 128], axis=1).astype(dtype)
    first, inverse = _distinct_rows(np.concatenate([labels, labels[::-1]]), way)
    assert np.array_equal(first, np.arange(3000))
    assert np.array_equal(inverse, np.concatenate([np.arange(3000), np.arange(3000)[::-1]]))


@WAYS
@pytest.mark.parametrize("scale", [1, 2**16, 2**32, 2**50])
def test_distinct_rows_of_labels_that_share_low_bits(scale, way):
    labels = (np.arange(2000) * scale)[:, None]
    first, inverse = _distinct_rows(labels, way)
    assert len(first) == 2000
    assert np.array_equal(inverse, np.arange(2000))


@WAYS
@pytest.mark.parametrize("n_columns", [0, 1, 3, 7, 8, 20, 33])
def test_distinct_rows_of_any_width(n_columns, way):
    """Rows whose bytes are packed into one to five words of 64 bits, the last of which may be only partly filled."""
    labels = np.random.default_rng(n_columns).integers(-1, 2, size=(500, n_columns)).astype(np.int8)
    labels[250:, max(0, n_columns - 4) :] = labels[:250, max(0, n_columns - 4) :]
    first, inverse = _distinct_rows(labels, way)
    expected_first, expected_inverse = oracle.distinct_rows(labels)
    assert first.tolist() == expected_first
    assert inverse.tolist() == expected_inverse


@WAYS
def test_distinct_rows_of_one_hash(way):
    """The second word is chosen to undo what the first did to the hash."""

    def after_first(word):
        multiplier = int(_MULTIPLIER)
        value = (multiplier ^ word) * multiplier % 2**64
        return ((value << 29) | (value >> 35)) % 2**64

    twin = after_first(0) ^ after_first(1)
    labels = np.array([[0, 0], [1, twin], [0, 0], [1, twin], [2, 0]], dtype=np.uint64)
    assert hash_row(labels, 0) == hash_row(labels, 1) != hash_row(labels, 4)
    first, inverse = _distinct_rows(labels, way)
    assert first.tolist() == [0, 1, 4]
    assert inverse.tolist() == [0, 1, 0, 1, 2]


@pytest.mark.parametrize("threads", [1, 2, 3, 16])
def test_distinct_rows_on_any_number_of_threads(threads, monkeypatch):
    """Rows of which some are very frequent and others occur once, so that parts and references to rows are both used.

    The slow twin of a large table is the table with one hash table, which is compared with loops above.
    """
    monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", threads)
    rng = np.random.default_rng(0)
    labels = rng.geometric(0.5, size=(PARTED_FROM, 12)).astype(np.int8)
    labels[rng.random(PARTED_FROM) < 0.3] = 1
    expected_first, expected = _distinct_rows(labels, one_table)
    assert 1000 < len(expected_first) < 0.8 * PARTED_FROM
    inverse = np.empty(len(labels), dtype=np.intp)
    assert np.array_equal(distinct_rows(labels, inverse), expected_first)
    assert np.array_equal(inverse, expected)


@pytest.mark.parametrize("n_rows", [PARTED_FROM - 1, PARTED_FROM])
def test_distinct_rows_takes_tables_in_any_memory_order(n_rows):
    labels = np.asfortranarray(np.random.default_rng(1).integers(0, 50, size=(n_rows, 3)))
    inverse = np.empty(n_rows, dtype=np.intp)
    first = distinct_rows(labels, inverse)
    assert np.array_equal(labels[first][inverse], labels)
    assert np.array_equal(first, np.sort(np.unique(labels, axis=0, return_index=True)[1]))


def _code(values, missing=(-1,)):
    """`code_columns` with the tables its caller makes."""
    low = values.min(axis=0).astype(np.int64)
    spans = values.max(axis=0) - low + 1
    starts = np.concatenate([[0], np.cumsum(spans)]).astype(np.int64)
    lookup = np.full(starts[-1], UNSEEN, dtype=np.int32)
    for column, span in enumerate(spans):
        for value in missing:
            if 0 <= value - low[column] < span:
                lookup[starts[column] + value - low[column]] = MISSING
    seen = np.zeros(values.shape[1], dtype=np.int64)
    codes = np.empty(values.shape, dtype=np.int8)
    code_columns(read_only(values), low, starts, lookup, seen, codes)
    return codes, seen


@given(label_tables(), st.integers(-3, 3), st.sampled_from([(-1,), (0,), (-1, 2), ()]))
def test_code_columns(labels, shift, missing):
    values = labels * 2 + shift
    codes, seen = _code(values, missing)
    expected, categories = oracle.code_columns(values, missing)
    assert np.array_equal(codes, expected)
    assert seen.tolist() == [len(found) for found in categories]


@pytest.mark.parametrize("block", [1, 2, 5])
@given(labels=label_tables(), missing=st.sampled_from([(-1,), (0,), ()]))
def test_codes_do_not_depend_on_blocks(block, labels, missing):
    """Blocks that stop at a new value, and the rows after it, which are taken in order."""
    expected, seen = _code(labels, missing)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coding, "BLOCK", block)
        codes, found = _code(labels, missing)
        assert np.array_equal(codes, expected)
        assert np.array_equal(found, seen)
        nothing = np.zeros(labels.shape[1], dtype=np.int64)
        told = is_coded(read_only(labels), nothing.copy())
        assert (told.tolist() if told.min() >= 0 else None) == oracle.is_coded(labels)
        assert is_coded(read_only(codes), nothing.copy()).tolist() == seen.tolist()
        in_place = labels.astype(np.int64)
        low = np.full(labels.shape[1], -1, dtype=np.int64)
        spans = labels.max(axis=0) + 2
        starts = np.concatenate([[0], np.cumsum(spans)]).astype(np.int64)
        lookup = np.full(starts[-1], UNSEEN, dtype=np.int32)
        lookup[starts[:-1]] = MISSING
        code_columns(in_place, low, starts, lookup, nothing.copy(), in_place)
    assert np.array_equal(in_place, oracle.code_columns(labels)[0])


@pytest.mark.parametrize("n_rows", [1, 1_000, 700_000])
def test_added_counts_and_taken_rows(n_rows):
    rng = np.random.default_rng(n_rows)
    inverse, counts = rng.integers(0, 9, n_rows), rng.integers(1, 2**40, n_rows)
    sums = [0] * 9
    for number, count in zip(inverse.tolist(), counts.tolist(), strict=True):
        sums[number] += count
    assert added_counts(inverse, read_only(counts), 9).tolist() == sums
    labels = rng.integers(-1, 5, size=(n_rows, 3)).astype(np.int16)
    rows = rng.integers(0, n_rows, size=min(n_rows, 100_000))
    assert np.array_equal(taken_rows(read_only(labels), rows), labels[rows])


def test_counts_beyond_float64_are_exact():
    counts = np.array([2**53, 1, 2], dtype=np.int64)
    assert added_counts(np.array([0, 0, 1]), counts, 2).tolist() == [2**53 + 1, 2]


@given(label_tables())
def test_code_columns_is_idempotent(labels):
    codes, seen = _code(labels)
    assert is_coded(read_only(codes), np.zeros(labels.shape[1], dtype=np.int64)).tolist() == seen.tolist()
    assert np.array_equal(_code(codes.astype(np.int64))[0], codes)


@given(label_tables(max_clusters=3))
def test_is_coded(labels):
    found = is_coded(read_only(labels), np.zeros(labels.shape[1], dtype=np.int64))
    expected = oracle.is_coded(labels)
    assert (found.tolist() if found.min() >= 0 else None) == expected


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_canonical(labels):
    result = canonical(np.array(labels, dtype=np.int32), 6)
    assert result.dtype == np.int32
    assert result.tolist() == oracle.canonical(labels)


@given(labelled_tables())
def test_cluster_counts(case):
    table, labels, _, counts = case
    codes = _code(table)[0]
    assignment = np.array(oracle.canonical(labels), dtype=np.int32)
    n_clusters = int(assignment.max()) + 1
    offsets = np.concatenate([[0], np.cumsum(codes.max(axis=0) + 1)]).astype(np.int64)
    found = cluster_counts(read_only(codes), offsets, counts, assignment, n_clusters)
    objects, clusters = oracle.repeat(codes, counts), oracle.repeat(assignment, counts)
    indicator = clusters[:, None] == np.arange(n_clusters)
    assert np.array_equal(found, oracle.one_hot(objects).T @ indicator)
    for member, start in enumerate(offsets[:-1]):
        for (label, cluster), count in oracle.contingency(objects[:, member], clusters).items():
            assert found[start + label, cluster] == count

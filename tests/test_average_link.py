"""Average link: against brute force with the same tie rule, and against scipy and fastcluster where nothing ties."""

from __future__ import annotations

import signal
from dataclasses import replace

import fastcluster
import numba
import numpy as np
import oracle_link
import pytest
from ensembles import noisy, rows_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from quorate import as_ensemble, compress
from quorate.ops import average_link as kernels
from quorate.ops.neighbours import inverted_lists, nearest_rows
from quorate.solvers.linkage import average_link
from quorate.solvers.linkage.average_link import average_link_tree, by_member, nearest


@pytest.fixture(params=["lists", "dense"])
def stage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Small inputs go straight to the matrix; here they also take the way of large ones, with lists soon used up."""
    if request.param == "lists":
        monkeypatch.setattr(average_link, "DENSE_CLUSTERS", 1)
        monkeypatch.setattr(average_link, "CANDIDATES", 3)
        monkeypatch.setattr(average_link, "LIST_WIDTH", 4)
    return str(request.param)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_brute_force_with_its_tie_rule(seed: int, weighted: bool, stage: str) -> None:
    weights = np.arange(1, 7) if weighted else None
    rows = rows_of(seed, weights=weights, missing=0.15 * (seed % 2), k=3 + seed % 3)
    shared, total = oracle_link.shared_weight(rows)
    expected = oracle_link.average(shared, rows.counts)
    tree = average_link_tree(rows)
    assert np.array_equal(tree[:, [0, 1, 3]], expected[:, [0, 1, 3]])
    np.testing.assert_allclose(tree[:, 2], 1 - expected[:, 2] / total, atol=1e-14)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), largest=st.sampled_from([1, 3, 300, 40_000, 1_500_000]), width=st.integers(1, 6))
def test_lists_of_any_width_and_counts_of_any_size_equal_brute_force(seed: int, largest: int, width: int) -> None:
    """Dot products are added up in single precision below 2^24 and joined without sums below 2^50; both are crossed."""
    rng = np.random.default_rng(seed)
    rows = rows_of(seed, 40, members=int(rng.integers(2, 7)), k=int(rng.integers(2, 6)), missing=0.2 * rng.random())
    rows = replace(rows, counts=rng.integers(1, largest + 1, size=rows.n_rows))
    shared, total = oracle_link.shared_weight(rows)
    expected = oracle_link.average(shared, rows.counts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(average_link, "DENSE_CLUSTERS", 1)
        patch.setattr(average_link, "CANDIDATES", width)
        patch.setattr(average_link, "LIST_WIDTH", width + 1)
        tree = average_link_tree(rows)
    assert np.array_equal(tree[:, [0, 1, 3]], expected[:, [0, 1, 3]])
    np.testing.assert_allclose(tree[:, 2], 1 - expected[:, 2] / total, atol=1e-14)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), threads=st.integers(1, 4), batch=st.integers(1, 9), whole=st.booleans())
def test_any_number_of_threads_and_of_clusters_looked_up_early_equals_brute_force(
    seed: int, threads: int, batch: int, whole: bool
) -> None:
    """Weights are whole numbers or halves, whose sums are exact; halves are treated as if they were not."""
    rng = np.random.default_rng(seed)
    n_members = int(rng.integers(2, 7))
    weights = 1 + rng.integers(1, 4, size=n_members) / (1 if whole else 2)
    weights[0] = 1
    rows = rows_of(seed, 60, members=n_members, k=int(rng.integers(2, 6)), missing=0.2 * rng.random(), weights=weights)
    shared, total = oracle_link.shared_weight(rows)
    expected = oracle_link.average(shared, rows.counts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("numba.config.NUMBA_NUM_THREADS", threads)
        patch.setattr(kernels, "SHARED_FROM", 1)
        patch.setattr(kernels, "BATCH", batch)
        patch.setattr(average_link, "DENSE_CLUSTERS", 1)
        patch.setattr(average_link, "CANDIDATES", 2)
        patch.setattr(average_link, "LIST_WIDTH", 3)
        tree = average_link_tree(rows)
    assert np.array_equal(tree[:, [0, 1, 3]], expected[:, [0, 1, 3]])
    np.testing.assert_allclose(tree[:, 2], 1 - expected[:, 2] / total, atol=1e-14)


def test_more_equally_similar_rows_than_a_list_holds_and_weights_that_are_rounded(stage: str) -> None:
    """All rows share one label and nothing else; the lowest rows merge first. This did not end before."""
    labels = np.column_stack([np.zeros(30, dtype=np.int64), np.arange(30)])
    tree = average_link_tree(compress(as_ensemble(labels, weights=[0.3, 0.7], check=False))[0])
    assert np.array_equal(tree[:, 3], np.arange(2, 31))
    np.testing.assert_allclose(tree[:, 2], 0.7)


@pytest.mark.parametrize("seed", range(4))
def test_equals_scipy_and_fastcluster_where_nothing_ties(seed: int, stage: str) -> None:
    weights = np.random.default_rng(seed).uniform(0.5, 2, size=40)
    rows = rows_of(seed, 120, weights=weights, members=40, k=3, noise=0.6)
    rows = replace(rows, counts=np.random.default_rng(seed).integers(1, 4, size=rows.n_rows))
    objects = np.repeat(np.arange(rows.n_rows), rows.counts)
    distance = 1 - oracle_link.co_association(rows)[np.ix_(objects, objects)]
    np.fill_diagonal(distance, 0)
    for peer in (linkage, fastcluster.linkage):
        expected = peer(squareform(distance, checks=False), "average")
        # equal objects merge first, at height 0
        above = expected[expected[:, 2] > 1e-9]
        tree = average_link_tree(rows)
        np.testing.assert_allclose(tree[:, 2], above[:, 2], atol=1e-12)
        assert np.array_equal(tree[:, 3], above[:, 3])


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="NUMBA_DISABLE_JIT: takes minutes as plain Python")
@pytest.mark.parametrize("seed", range(3))
def test_long_lists_equal_the_matrix(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """1,500 rows with the lists as they are, against the matrix from the start."""
    rows = rows_of(seed, 1600, members=12, k=6, noise=0.6, missing=0.05)
    monkeypatch.setattr(average_link, "DENSE_CLUSTERS", 30)
    lists = average_link_tree(rows)
    monkeypatch.setattr(average_link, "DENSE_CLUSTERS", 10**6)
    assert np.array_equal(lists, average_link_tree(rows))


def test_groups_that_share_nothing_join_last(stage: str) -> None:
    labels = np.repeat(np.arange(6), 5)[:, None] * 2 + np.random.default_rng(0).integers(2, size=(30, 4))
    rows = compress(as_ensemble(labels))[0]
    shared, _ = oracle_link.shared_weight(rows)
    expected = oracle_link.average(shared, rows.counts)
    tree = average_link_tree(rows)
    assert np.array_equal(tree[:, [0, 1, 3]], expected[:, [0, 1, 3]])
    assert (tree[-5:, 2] == 1).all()


def test_raw_objects_equal_rows_with_counts() -> None:
    """Without any compression, heights above zero are those of the rows, bit for bit, and so are the sizes."""
    for seed in range(12):
        raw = as_ensemble(noisy(seed, 90))
        rows, _ = compress(raw)
        plain = average_link_tree(raw)
        assert np.array_equal(plain[plain[:, 2] > 0, 2:], average_link_tree(rows)[:, 2:])


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("members", [3, 6, 17])
def test_neighbours_by_bits_equal_lists_and_sorting(members: int, missing: float) -> None:
    rows = rows_of(1, 400, members=members, k=4, noise=0.6, missing=missing)
    weights = by_member(rows).columns
    near, value = nearest(rows, weights, 7)
    other, other_value = np.empty_like(near), np.empty_like(value)
    lists = inverted_lists(rows.labels, rows.offsets)
    nearest_rows(rows.labels, rows.offsets, lists, weights, np.arange(rows.n_rows), other, other_value)
    shared, _ = oracle_link.shared_weight(rows)
    np.fill_diagonal(shared, 0)
    order = np.argsort(-shared, axis=1, kind="stable")[:, :7]
    expected = np.take_along_axis(shared, order, axis=1)
    for found, amount in ((near, value), (other, other_value)):
        assert np.array_equal(amount, expected)
        assert np.array_equal(found, np.where(expected > 0, order, -1))


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="NUMBA_DISABLE_JIT: takes minutes as plain Python")
def test_many_tiles() -> None:
    rows = compress(as_ensemble(np.random.default_rng(0).integers(8, size=(11_000, 5))))[0]
    assert rows.n_rows > 9000
    weights = by_member(rows).columns
    near, value = nearest(rows, weights, 5)
    lists = inverted_lists(rows.labels, rows.offsets)
    other, other_value = np.empty_like(near), np.empty_like(value)
    nearest_rows(rows.labels, rows.offsets, lists, weights, np.arange(rows.n_rows), other, other_value)
    assert np.array_equal(near, other)
    assert np.array_equal(value, other_value)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no such timer")
@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="NUMBA_DISABLE_JIT: takes minutes as plain Python")
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_while_clusters_merge(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It arrives while kernels run. Before, the whole process then ended with a segmentation fault."""
    monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", threads)
    average_link_tree(rows_of(0, 600, members=12, k=6, noise=0.9))
    rows = rows_of(0, 12_000, members=12, k=6, noise=0.9)
    # nothing is known at first, so that every row is compared with all others, which takes seconds
    lists, clusters = average_link._empty_lists(rows.n_rows), average_link.first_clusters(rows)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            average_link.tree_down_to(2, by_member(rows), clusters, lists)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

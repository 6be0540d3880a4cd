"""generate: k rules, bases, rows, columns, the built-in k-means, and one seed for any way of running."""

from __future__ import annotations

import logging
from functools import partial

import joblib
import numpy as np
import oracle_euclidean as oracle
import pandas as pd
import polars as pl
import pytest
from benchmarks.papers.sparse_eac_sets import TABLE
from scipy.sparse import csr_array, csr_matrix
from sklearn.cluster import Birch
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.metrics import adjusted_rand_score

import quorate
from quorate import consensus
from quorate.generation import KMeans, Parts, Projection, Share, kmeans
from quorate.generation.features import WHOLE, as_features
from quorate.generation.k_rules import number_of_gaussians, numbers_by_rule
from quorate.generation.kmeans import train
from quorate.ops.threads import Stop

# the members of this file are those of the built-in k-means, where a test names no other base
generate = partial(quorate.generate, base="kmeans")

RNG = np.random.default_rng(0)
TRUTH = np.repeat(np.arange(4), 75)
BLOBS = (np.array([[0, 0, 0], [8, 0, 0], [0, 8, 0], [0, 0, 8]])[TRUTH] + RNG.normal(size=(300, 3))).astype(np.float32)


def same(first, second):
    return np.array_equal(first.labels, second.labels) and first.info == second.info


# ---------------------------------------------------------------------------------------------- k


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (7, 300, 7, 7),
        (range(3, 9), 300, 3, 8),
        (range(8, 2, -1), 300, 3, 8),
        ((3, 8), 300, 3, 8),
        ([3, 8], 300, 3, 8),
        ("sqrt", 1000, 16, 32),
        ("sqrt", 2000, 22, 45),
        ("sqrt", 25, 3, 5),
        ("linear", 1000, 20, 50),
        ("linear", 351, 7, 18),
        (("linear", 100, 10), 250, 3, 25),
        (("linear", 100, 10), 1000, 10, 100),
        ({"rule": "linear", "A": 100, "B": 10}, 1000, 10, 100),
        ("candel", 400, 2, 20),
        ("candel", 10**6, 2, 100),
        (("candel", 7), 10**6, 7, 100),
        (("candel", 30), 400, 30, 30),
        ("linear", 10, 1, 1),
    ],
)
def test_k_rules(k, n, low, high):
    choice = numbers_by_rule(k, as_features(np.zeros((n, 1), dtype=np.float32)), np.random.default_rng(0))
    assert (choice.values[0], choice.values[-1]) == (low, high)
    draws = {choice.draw(np.random.default_rng(seed)) for seed in range(1000)}
    assert (min(draws), max(draws)) == (low, high)


@pytest.mark.parametrize(("rule", "others"), [("sqrt", {"chart-synthetic-control", "mfeat-fou"}), ("linear", set())])
def test_the_rules_give_the_ranges_that_the_sparse_paper_prints(rule, others):
    rng, missed = np.random.default_rng(0), set()
    for name, row in TABLE.items():
        values = numbers_by_rule(rule, as_features(np.zeros((row.n, 1), dtype=np.float32)), rng).values
        if (values[0], values[-1]) != getattr(row, rule)[:2]:
            missed.add(name)
    assert missed == others


def test_a_range_with_a_step_is_honoured():
    choice = numbers_by_rule(range(2, 20, 5), as_features(BLOBS), np.random.default_rng(0))
    assert {choice.draw(np.random.default_rng(seed)) for seed in range(100)} == {2, 7, 12, 17}


def test_mixture_rule_counts_gaussians():
    """SPARSE's ten Gaussians, means [0, 12 i]."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 2)) + 12 * np.stack([np.zeros(1500), rng.integers(10, size=1500)], axis=1)
    assert number_of_gaussians(as_features(X), np.random.default_rng(0)) in (10, 11, 12)
    with pytest.warns(UserWarning, match="differ in scale"):
        made = generate(X, 3, k="mixture", random_state=0)
    assert made.info["k"].startswith("k = 10 to 30 (rule mixture with 10 Gauss")
    assert number_of_gaussians(as_features(np.zeros((5, 2))), np.random.default_rng(0)) == 1


@pytest.mark.parametrize(
    ("k", "words"),
    [
        (0, "k must be between 1 and 300, got 0"),
        (301, "k must be between 1 and 300"),
        (True, "k must be an integer"),
        ((8, 3), "the upper k must be between 8 and 300, got 3"),
        (range(5, 5), "k must be a range within 1 to 300"),
        ("cube", "k must be one of 'sqrt', 'linear'"),
        (("linear", 10), "k must be an integer, a range"),
        (("linear", 10, 20), "needs numbers A >= B > 0"),
        ({"rule": "sqrt", "A": 3}, "takes nothing"),
        (2.5, "k must be an integer, a range"),
    ],
)
def test_k_refuses(k, words):
    with pytest.raises((ValueError, TypeError), match=words):
        generate(BLOBS, 2, k=k)


def test_the_rule_tells_what_it_chose(caplog):
    with caplog.at_level(logging.INFO, logger="quorate"):
        ensemble = generate(BLOBS, 4, k="sqrt", random_state=0)
    assert ensemble.info["k"] == "k = 9 to 17 (rule sqrt, 300 objects)"
    assert "k = 9 to 17 (rule sqrt, 300 objects)" in caplog.text
    assert [facts["k"] for facts in ensemble.info["members"]] == ensemble.n_clusters.tolist()


# ---------------------------------------------------------------------------------------------- built-in k-means


def test_small_work_is_lloyd_to_the_end():
    features = as_features(BLOBS)
    found = train(features, (None, WHOLE), 6, np.random.default_rng(5), KMeans(), Stop())
    rows = features.prepared(slice(None), WHOLE)
    centres, labels = oracle.lloyd(rows, found.centres)
    assert np.allclose(centres, found.centres, atol=1e-7)
    assert found.converged
    assert found.n_sample == 300
    assert set(labels.tolist()) == set(range(6))


@pytest.mark.parametrize("init", ["random", "k-means++"])
@pytest.mark.parametrize("sparse", [False, True])
def test_blobs_are_found(init, sparse):
    X = csr_array(BLOBS) if sparse else BLOBS
    ensemble = generate(X, 10, k=(6, 10), base=KMeans(init=init), random_state=0)
    assert adjusted_rand_score(TRUTH, consensus(ensemble, 4, random_state=0).labels) > 0.98


def test_sample_sizes():
    assert KMeans().sample_size(10**6, 20, 16) == 8192
    assert KMeans().sample_size(10**6, 1000, 16) == 64_000
    assert KMeans().sample_size(5000, 20, 16) == 5000
    assert KMeans(sample=None).sample_size(10**6, 20, 16) == 10**6
    assert KMeans().sample_size(10**6, 1000, 10_000) == 32_000


def test_training_on_a_sample(monkeypatch):
    monkeypatch.setattr(kmeans, "SMALLEST_SAMPLE", 100)
    ensemble = generate(BLOBS, 6, k=4, base=KMeans("k-means++", sample=10), random_state=1)
    assert [facts["n_trained"] for facts in ensemble.info["members"]] == [100] * 6
    assert ensemble.labels.min() == 0
    assert adjusted_rand_score(TRUTH, consensus(ensemble, 4, random_state=0).labels) > 0.98


@pytest.mark.parametrize("k", [1, 5, 12, 40])
def test_no_cluster_is_empty_and_none_too_many(k):
    """Twelve distinct points, many times each: at most twelve clusters, and as many as asked for up to there."""
    points = np.random.default_rng(2).normal(size=(12, 2))
    X = points[np.random.default_rng(3).integers(12, size=400)]
    ensemble = generate(X, 8, k=k, random_state=0)
    assert ensemble.n_clusters.tolist() == [min(k, 12)] * 8
    for place in range(8):
        assert np.bincount(ensemble.labels[:, place]).min() > 0
        assert ensemble.info["members"][place]["n_clusters"] == min(k, 12)


def test_neither_offset_nor_unit_matter():
    """float32 alone would see one value in all of these columns."""
    plain = generate(BLOBS.astype(np.float64), 5, k=6, random_state=0)
    for X in (BLOBS.astype(np.float64) + 1.6e9, BLOBS * 2.0**90, BLOBS * 2.0**-100):
        assert adjusted_rand_score(plain.labels[:, 0], generate(X, 5, k=6, random_state=0).labels[:, 0]) > 0.99


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"init": "best"}, "init must be one of 'random', 'k-means\\+\\+'"),
        ({"sample": 0}, "sample must be at least 1"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
    ],
)
def test_kmeans_refuses(options, words):
    with pytest.raises(ValueError, match=words):
        KMeans(**options)


# ---------------------------------------------------------------------------------------------- input


def test_input_kinds_agree(tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, BLOBS)
    expected = generate(BLOBS, 6, k=(3, 9), random_state=7)
    frame = pd.DataFrame(BLOBS, columns=["a", "b", "c"])
    for X in (
        np.load(path, mmap_mode="r"),
        np.asfortranarray(BLOBS),
        BLOBS.astype(np.float64),
        BLOBS.tolist(),
        frame,
        pl.DataFrame(frame),
        BLOBS.astype(">f4"),
    ):
        assert np.array_equal(generate(X, 6, k=(3, 9), random_state=7).labels, expected.labels)


@pytest.mark.parametrize("kind", [csr_array, csr_matrix])
def test_sparse_input(kind):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(200, 30)) * (rng.random((200, 30)) < 0.2)
    ensemble = generate(kind(X), 5, k=(4, 8), random_state=0)
    assert ensemble.n_clusters.min() >= 4
    assert same(ensemble, generate(kind(X), 5, k=(4, 8), random_state=0, n_jobs=1))


def test_ids_of_a_frame_are_kept():
    frame = pd.DataFrame(BLOBS, index=[f"id{place}" for place in range(300)])
    assert generate(frame, 2, k=3).object_ids.tolist()[:2] == ["id0", "id1"]


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (pd.DataFrame({"a": [1.0, 2.0], "name": ["x", "y"]}), "column 'name' does not"),
        (pd.DataFrame({"a": [1.0, 2.0], "b": [np.nan, 1.0]}), "X holds (a null|NaN) in column 'b'"),
        (np.array([[1.0, 2.0], [np.nan, 3.0]]), "X holds NaN in column 0 in row 1"),
        (np.array([[1.0, 2.0], [1.0, np.inf]]), "X holds infinity in column 1"),
        (csr_array(np.array([[1.0, np.nan]])), "in column 1"),
        (np.zeros(5), "Reshape your data"),
        (np.zeros((0, 3)), "0 sample"),
        (np.zeros((3, 0)), "0 feature"),
        (np.array([["a", "b"]]), "X must hold numbers"),
        (np.array([[1j]]), "Complex data not supported"),
        (np.array([[object()]]), "X must hold numbers"),
    ],
)
def test_input_refused(X, words):
    with pytest.raises(ValueError, match=words):
        generate(X, 2, k=1)


def test_input_is_left_alone():
    X = BLOBS.copy()
    X.setflags(write=False)
    generate(X, 3, k=5, rows=0.5, columns=2)
    assert np.array_equal(X, BLOBS)


def test_one_object_one_column():
    assert generate(np.ones((1, 1)), 3).labels.tolist() == [[0, 0, 0]]


# ---------------------------------------------------------------------------------------------- seeds and workers


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rows": 0.6},
        {"columns": 2},
        {"rows": Parts(), "columns": Projection(1)},
        {"base": SklearnKMeans(n_init=1), "k": (2, 5)},
    ],
    ids=str,
)
def test_one_seed_one_ensemble(options):
    first = generate(BLOBS, 9, random_state=3, n_jobs=1, **options)
    assert same(first, generate(BLOBS, 9, random_state=3, **options))
    with joblib.parallel_config(backend="threading", n_jobs=3):
        assert same(first, generate(BLOBS, 9, random_state=3, **options))
    assert not np.array_equal(first.labels, generate(BLOBS, 9, random_state=4, **options).labels)
    assert same(first, generate(BLOBS, 9, random_state=first.info["seed"], **options))


def test_processes_give_the_same():
    expected = generate(BLOBS, 6, k=(3, 9), rows=0.7, random_state=3, n_jobs=1)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert same(expected, generate(BLOBS, 6, k=(3, 9), rows=0.7, random_state=3))


def test_members_do_not_depend_on_their_number():
    few, many = (generate(BLOBS, n, k=(3, 9), random_state=3) for n in (4, 11))
    assert np.array_equal(few.labels, many.labels[:, :4])


def test_no_seed_can_be_had_again():
    first = generate(BLOBS, 5)
    assert same(first, generate(BLOBS, 5, random_state=first.info["seed"]))
    assert not np.array_equal(first.labels, generate(BLOBS, 5).labels)


def test_generators_and_random_states():
    for make in (np.random.default_rng, np.random.RandomState):
        assert same(generate(BLOBS, 3, random_state=make(1)), generate(BLOBS, 3, random_state=make(1)))
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    generate(BLOBS, 2)
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002


def test_members_of_a_clusterer_without_chance_differ_by_the_order_of_the_objects():
    X = np.random.default_rng(0).normal(size=(200, 2))
    options = {"k": 4, "base": Birch(threshold=0.8), "random_state": 0}
    same_order = generate(X, 3, **options)
    assert (same_order.labels == same_order.labels[:, :1]).all()
    shuffled = generate(X, 3, rows=Share(1.0, shuffle=True), **options)
    assert max(adjusted_rand_score(shuffled.labels[:, 0], labels) for labels in shuffled.labels.T[1:]) < 0.9
    assert same(generate(X, 3, rows=Share(1.0, shuffle=True), **options), shuffled)
    seen = []
    generate(X, 1, k=2, base=lambda own, k, rng: seen.append(own) or np.arange(200) % 2, rows=Share(1.0, shuffle=True))
    assert not np.array_equal(seen[0], X)
    assert np.array_equal(np.sort(seen[0], axis=0), np.sort(X, axis=0))


def test_shuffled_members_have_the_labels_of_their_objects():
    def sign(X, k, rng):
        return (X[:, 0] > 0).astype(int)

    X = np.random.default_rng(1).normal(size=(50, 2))
    for rows in (Share(1.0, shuffle=True), Share(0.5, shuffle=True)):
        members = generate(X, 4, k=2, base=sign, rows=rows, random_state=0)
        for labels in members.labels.T:
            known = labels >= 0
            assert adjusted_rand_score(X[known, 0] > 0, labels[known]) == 1

"""generate: k rules, bases, rows, columns, the built-in k-means, and one seed for any way of running."""

from __future__ import annotations

import logging
import math

import joblib
import numpy as np
import oracle_euclidean as oracle
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.cluster import DBSCAN, AgglomerativeClustering
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from quorate import consensus, generate
from quorate.generation import KMeans, Parts, Projection, Share, Views, kmeans
from quorate.generation.features import WHOLE, as_features
from quorate.generation.k_rules import choose_k
from quorate.generation.kmeans import train
from quorate.generation.mixture import number_of_gaussians
from quorate.generation.stop import Stop

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
        ("sqrt", 1000, math.ceil(math.sqrt(1000) / 2), 32),
        ("linear", 1000, 20, 50),
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
    choice = choose_k(k, as_features(np.zeros((n, 1), dtype=np.float32)), np.random.default_rng(0))
    assert (choice.values[0], choice.values[-1]) == (low, high)
    draws = {choice.draw(np.random.default_rng(seed)) for seed in range(200)}
    assert min(draws) == low
    assert max(draws) == high or high - low > 30


def test_a_range_with_a_step_is_honoured():
    choice = choose_k(range(2, 20, 5), as_features(BLOBS), np.random.default_rng(0))
    assert {choice.draw(np.random.default_rng(seed)) for seed in range(100)} == {2, 7, 12, 17}


def test_mixture_rule_counts_gaussians():
    """SPARSE's ten Gaussians, means [0, 12 i]."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 2)) + 12 * np.stack([np.zeros(1500), rng.integers(10, size=1500)], axis=1)
    assert number_of_gaussians(as_features(X), np.random.default_rng(0)) in (10, 11, 12)
    assert generate(X, 3, k="mixture", random_state=0).info["k"].startswith("k = 10 to 30 (rule mixture with 10 Gauss")
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
    assert ensemble.info["k"] == "k = 9 to 18 (rule sqrt, 300 objects)"
    assert "k = 9 to 18 (rule sqrt, 300 objects)" in caplog.text
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


# ---------------------------------------------------------------------------------------------- bases


def test_a_clusterer_keeps_its_own_k_unless_told():
    assert generate(BLOBS, 3, base=SklearnKMeans(5, n_init=1)).n_clusters.tolist() == [5, 5, 5]
    assert generate(BLOBS, 3, k=7, base=SklearnKMeans(5, n_init=1)).n_clusters.tolist() == [7, 7, 7]
    pipeline = make_pipeline(StandardScaler(), SklearnKMeans(5, n_init=1))
    assert generate(BLOBS, 2, k=6, base=pipeline).n_clusters.tolist() == [6, 6]
    assert generate(BLOBS, 2, k=4, base=GaussianMixture()).n_clusters.tolist() == [4, 4]


def test_clusterers_are_cloned_and_seeded():
    base = SklearnKMeans(9, n_init=1, init="random", max_iter=1)
    ensemble = generate(BLOBS, 4, base=base, random_state=0)
    assert not hasattr(base, "labels_")
    assert len({tuple(column) for column in ensemble.labels.T}) > 1


def test_portfolio_takes_turns():
    bases = [SklearnKMeans(4, n_init=1), AgglomerativeClustering(3), KMeans(), "kmeans"]
    ensemble = generate(BLOBS, 6, base=bases, random_state=0)
    names = [facts["base"] for facts in ensemble.info["members"]]
    assert names == ["KMeans", "AgglomerativeClustering", "kmeans", "kmeans", "KMeans", "AgglomerativeClustering"]
    assert ensemble.n_clusters[[0, 1, 4, 5]].tolist() == [4, 3, 4, 3]


def test_noise_is_missing():
    X = np.concatenate([BLOBS, [[100.0, 100.0, 100.0]]])
    ensemble = generate(X, 2, base=[DBSCAN(eps=2.5), KMeans()], k=None, random_state=0)
    assert ensemble.labels[-1, 0] == -1
    assert ensemble.has_missing
    with pytest.raises(ValueError, match="objects have no label in any member"):
        generate(X, 2, base=DBSCAN(eps=2.5))


def test_callables():
    def halves(X, k, rng):
        return (X[:, 0] > np.median(X[:, 0])).astype(int) * 10 + int(rng.integers(2))

    ensemble = generate(BLOBS, 3, base=halves)
    assert ensemble.n_clusters.tolist() == [2, 2, 2]
    assert ensemble.info["members"][0]["base"] == "halves"


class Chain:
    """Each member is the one before it with one object moved."""

    def members(self, X, ks, rng):
        labels = rng.integers(2, size=len(X))
        for k in ks:
            labels = labels.copy()
            labels[rng.integers(len(X))] = k
            yield labels


def test_members_that_depend_on_one_another(tmp_path):
    ensemble = generate(BLOBS, 5, k=(3, 9), base=Chain(), random_state=0, checkpoint=tmp_path)
    alike = [adjusted_rand_score(*ensemble.labels[:, [place, place + 1]].T) for place in range(4)]
    assert min(alike) > 0.95
    for number in (1, 3):
        (tmp_path / f"member-{number:06d}.npy").unlink()
    assert same(ensemble, generate(BLOBS, 5, k=(3, 9), base=Chain(), random_state=0, checkpoint=tmp_path))
    mixed = generate(BLOBS, 5, k=4, base=[Chain(), KMeans()], random_state=0)
    assert [facts["base"] for facts in mixed.info["members"]] == ["Chain", "kmeans", "Chain", "kmeans", "Chain"]
    with pytest.raises(ValueError, match="must see the same rows and columns"):
        generate(BLOBS, 2, base=Chain(), rows=0.5)


@pytest.mark.parametrize(
    ("base", "error", "words"),
    [
        ("nonsense", ValueError, "base must be one of 'kmeans'"),
        ([], ValueError, "must not be an empty list"),
        (SklearnKMeans, TypeError, "not its class"),
        (3, TypeError, "base must be a clusterer"),
        (lambda X, k, rng: X, ValueError, r"member 0 \(<lambda>\) failed: .* one label an object"),
        (lambda X, k, rng: np.full(len(X), 0.5), ValueError, "integer labels"),
        (lambda X, k, rng: np.full(len(X), -1), ValueError, "labelled no object"),
    ],
)
def test_base_refused(base, error, words):
    with pytest.raises(error, match=words):
        generate(BLOBS, 2, base=base)


def test_k_that_nobody_takes_is_refused():
    with pytest.raises(ValueError, match="DBSCAN has no parameter for the number of clusters"):
        generate(BLOBS, 2, base=DBSCAN(), k=3)


# ---------------------------------------------------------------------------------------------- rows


@pytest.mark.parametrize("base", [None, SklearnKMeans(4, n_init=1)])
def test_shares(base):
    ensemble = generate(BLOBS, 5, base=base, rows=0.4, random_state=0)
    assert ((ensemble.labels >= 0).sum(axis=0) >= 120).all()
    assert ((ensemble.labels >= 0).sum(axis=0) < 140).all()
    assert (ensemble.labels.max(axis=1) >= 0).all()
    filled = generate(BLOBS, 5, base=base, rows=Share(0.4, fill=True), random_state=0)
    known = ensemble.labels >= 0
    assert filled.labels.min() == 0
    for member in range(5):
        seen = known[:, member]
        assert adjusted_rand_score(ensemble.labels[seen, member], filled.labels[seen, member]) == 1.0


def test_every_object_is_seen_by_somebody():
    ensemble = generate(BLOBS, 2, k=3, rows=0.1, random_state=0)
    assert (ensemble.labels.max(axis=1) >= 0).all()
    assert [facts["n_objects"] for facts in ensemble.info["members"]] == (ensemble.labels >= 0).sum(axis=0).tolist()


@pytest.mark.parametrize(("n_members", "n_parts"), [(6, None), (6, 3), (1, None), (7, 7)])
def test_parts_cover_everything_in_every_round(n_members, n_parts):
    ensemble = generate(BLOBS, n_members, k=3, rows=Parts(n_parts), random_state=0)
    size = n_parts or n_members
    known = ensemble.labels >= 0
    assert known.sum(axis=0).tolist() == [min(300, math.ceil(2 * 300 / size))] * n_members
    for first in range(0, n_members, size):
        assert known[:, first : first + size].any(axis=1).all()


def test_parts_of_one_repetition_are_a_partition():
    known = generate(BLOBS, 4, k=3, rows=Parts(repetition=1.0), random_state=0).labels >= 0
    assert (known.sum(axis=1) == 1).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rows": 0.0}, "share must be above 0"),
        ({"rows": 1.5}, r"rows must lie in \[0, 1\]"),
        ({"rows": "half"}, "rows must be a number"),
        ({"rows": Parts(4), "n_members": 6}, "must be a multiple of n_parts = 4"),
        ({"rows": 0.5, "k": 290}, "sees [0-9]+ objects and is to make 290 clusters"),
        ({"n_members": 0}, "n_members must be at least 1"),
    ],
)
def test_rows_refused(options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        generate(BLOBS, **{"n_members": 4, **options})
    with pytest.raises(ValueError, match="repetition must lie"):
        Parts(repetition=0.5)


# ---------------------------------------------------------------------------------------------- columns


def test_column_subsets_are_what_the_member_sees():
    ensemble = generate(BLOBS, 6, k=4, columns=1, random_state=0)
    for place, facts in enumerate(ensemble.info["members"]):
        (column,) = facts["columns"]
        order = np.argsort(BLOBS[:, column], kind="stable")
        # in one dimension clusters are intervals
        assert np.count_nonzero(np.diff(ensemble.labels[order, place])) == 3
    assert [len(f["columns"]) for f in generate(BLOBS, 3, columns=0.5).info["members"]] == [2, 2, 2]
    assert "columns" not in generate(BLOBS, 1, columns=3).info["members"][0]


def test_projections():
    ensemble = generate(BLOBS, 12, k=6, columns=Projection(2), random_state=0)
    assert ensemble.info["members"][0]["n_dims"] == 2
    assert adjusted_rand_score(TRUTH, consensus(ensemble, 4, random_state=0).labels) > 0.9
    line = generate(BLOBS, 4, k=2, columns=Projection(), base=SklearnKMeans(n_init=1), random_state=0)
    assert line.n_clusters.tolist() == [2] * 4


def test_views_take_turns():
    frame = pd.DataFrame(BLOBS, columns=["x", "y", "z"])
    ensemble = generate(frame, 4, k=4, columns=Views([["x", "z"], [1]]), random_state=0)
    assert [facts["columns"] for facts in ensemble.info["members"]] == [[0, 2], [1], [0, 2], [1]]
    sparse = generate(csr_array(BLOBS), 4, k=4, columns=Views([[0, 2], [1]]), random_state=0)
    assert sparse.n_clusters.tolist() == [4] * 4


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (0, "columns must be between 1 and 3"),
        (4, "columns must be between 1 and 3"),
        (2.0, r"columns must lie in \[0, 1\]"),
        (Views([[5]]), "a column of a view must be between 0 and 2"),
        (Views([["a"]]), "X has no column names"),
    ],
)
def test_columns_refused(columns, words):
    with pytest.raises(ValueError, match=words):
        generate(BLOBS, 2, columns=columns)
    with pytest.raises(ValueError, match="Views needs at least one group"):
        Views([])
    with pytest.raises(ValueError, match="it has a, b"):
        generate(pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}), 1, k=1, columns=Views([["c"]]))


def test_more_clusters_than_planned_widen_the_labels():
    many = np.arange(300)
    ensemble = generate(BLOBS, 2, k=3, base=[KMeans(), lambda X, k, rng: many], random_state=0)
    assert ensemble.labels.dtype == np.int16
    assert ensemble.n_clusters.tolist() == [3, 300]


def test_progress_goes_to_standard_error(capsys):
    generate(BLOBS, 4, k=(3, 5), progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "4/4" in err
    assert "k = 3 to 5" in err

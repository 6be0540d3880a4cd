"""The landmark-spectral base: shapes, edge cases, inputs, seeds and workers, checkpoints, new objects."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_info, threadpool_limits

from quorate import EnsembleClustering, consensus, generate
from quorate.generation import Parts, Projection, Share, Spectral, spectral
from quorate.generation.features import WHOLE, as_features
from quorate.generation.runner import run_members
from quorate.generation.spectral import train_and_label
from quorate.ops.threads import Stop, StoppedError


def rings(n_objects, seed=0):
    """Two rings, one inside the other: k-means sees sectors."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n_objects) % 2
    angle, radius = rng.uniform(0, 2 * np.pi, n_objects), 1 + 2 * truth + rng.normal(0, 0.1, n_objects)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), truth


X, TRUTH = rings(600)


def same(first, second):
    return np.array_equal(first.labels, second.labels) and first.info["members"] == second.info["members"]


def test_rings_are_found():
    ensemble = generate(X, 10, base="spectral", random_state=0)
    assert adjusted_rand_score(TRUTH, consensus(ensemble, 2, random_state=0).labels) == 1
    members = [facts["base"] for facts in ensemble.info["members"]]
    assert members == ["spectral"] * 10
    assert ensemble.info["k"] == "k = 20 to 60 (rule spectral with k0 = 2, 600 objects)"
    assert {facts["n_landmarks"] for facts in ensemble.info["members"]} <= set(range(290, 301))


def test_members_differ():
    ensemble = generate(X, 4, k=20, base="spectral", random_state=0)
    assert len({column.tobytes() for column in ensemble.labels.T}) == 4


def test_a_sample_builds_the_graph_and_all_objects_are_labelled():
    big, truth = rings(4000)
    ensemble = generate(big, 8, k=12, base=Spectral(landmarks=60, sample=8), random_state=0)
    assert [facts["n_trained"] for facts in ensemble.info["members"]] == [480] * 8
    assert ensemble.labels.min() == 0
    assert adjusted_rand_score(truth, consensus(ensemble, 2, random_state=0).labels) > 0.99


def test_the_graphs_own_objects_are_labelled_as_new_ones_are():
    features = as_features(X)
    member, labels = train_and_label(features, (None, WHOLE), 20, np.random.default_rng(0), Spectral(), Stop())
    assert labels is not None
    assert np.array_equal(labels, member.labels(features))


@pytest.mark.parametrize("n_objects", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_few_objects(n_objects, k):
    ensemble = generate(X[:n_objects], 5, k=min(k, n_objects), base="spectral", random_state=0)
    assert ensemble.labels.min() == 0
    assert ensemble.n_clusters.max() <= min(k, n_objects)


def test_two_objects_are_two_clusters():
    assert generate(X[:2], 3, k=2, base="spectral", random_state=0).n_clusters.tolist() == [2, 2, 2]


def test_more_clusters_than_landmarks():
    ensemble = generate(X, 3, k=100, base=Spectral(landmarks=30), random_state=0)
    assert ensemble.n_clusters.tolist() == [100] * 3


def test_duplicates_share_their_cluster():
    points = np.random.default_rng(2).normal(size=(12, 2))
    which = np.random.default_rng(3).integers(12, size=400)
    ensemble = generate(points[which], 6, k=20, base="spectral", random_state=0)
    for column in ensemble.labels.T:
        assert all(len(set(column[which == point])) == 1 for point in range(12))


def test_all_objects_equal():
    ensemble = generate(np.full((50, 3), 7.5), 3, k=4, base="spectral", random_state=0)
    assert ensemble.n_clusters.tolist() == [1, 1, 1]


def test_constant_columns_change_nothing():
    wide = np.column_stack([X[:, 0], np.full(600, 3.0), X[:, 1]])
    first, second = (generate(data, 4, base="spectral", random_state=0) for data in (X, wide))
    assert np.array_equal(first.labels, second.labels)


def test_more_components_than_clusters():
    """Thirty clumps far from one another fall into thirty components of the graph."""
    truth = np.arange(900) % 30
    clumps = np.random.default_rng(0).normal(0, 0.01, size=(900, 2)) + 100 * truth[:, None]
    ensemble = generate(clumps, 5, k=6, base="spectral", random_state=0)
    assert ensemble.labels.min() == 0
    assert ensemble.n_clusters.min() >= 2
    finer = generate(clumps, 10, k=40, base="spectral", random_state=0)
    assert adjusted_rand_score(truth, consensus(finer, 30, random_state=0).labels) > 0.95


def test_neither_offset_nor_unit_matter():
    plain = generate(X, 5, k=20, base="spectral", random_state=0)
    for data in (X + 1.6e9, X * 2.0**90, X * 2.0**-100):
        other = generate(data, 5, k=20, base="spectral", random_state=0)
        pairs = zip(plain.labels.T, other.labels.T, strict=True)
        # the last digits of an offset are lost in X itself, and some objects lie between two clusters
        assert np.mean([adjusted_rand_score(*pair) for pair in pairs]) > 0.95


def test_input_kinds_agree(tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, X)
    expected = generate(X, 4, base="spectral", random_state=7)
    for data in (np.load(path, mmap_mode="r"), np.asfortranarray(X), X.tolist(), pd.DataFrame(X)):
        assert np.array_equal(generate(data, 4, base="spectral", random_state=7).labels, expected.labels)


def test_sparse_rows_are_compared_by_cosine():
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 3
    words = rng.poisson(0.1 + 2.0 * (np.arange(30) // 10 == truth[:, None])) * rng.integers(1, 20, size=(300, 1))
    ensemble = generate(csr_array(words.astype(float)), 8, k=(6, 12), base="spectral", random_state=0)
    assert adjusted_rand_score(truth, consensus(ensemble, 3, random_state=0).labels) > 0.95


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rows": 0.6},
        {"rows": Share(0.6, fill=True)},
        {"columns": 1},
        {"rows": Parts(), "columns": Projection(1)},
    ],
    ids=str,
)
def test_one_seed_one_ensemble(options):
    first = generate(X, 6, k=(5, 12), base="spectral", random_state=3, n_jobs=1, **options)
    assert same(first, generate(X, 6, k=(5, 12), base="spectral", random_state=3, n_jobs=3, **options))
    assert not np.array_equal(
        first.labels, generate(X, 6, k=(5, 12), base="spectral", random_state=4, **options).labels
    )
    if "fill" in str(options.get("rows", "")) and options["rows"].fill:
        assert first.labels.min() == 0


def test_processes_and_blas_threads_give_the_same():
    expected = generate(X, 4, base="spectral", random_state=3, n_jobs=1)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert same(expected, generate(X, 4, base="spectral", random_state=3))
    with threadpool_limits(2, user_api="blas"):
        assert same(expected, generate(X, 4, base="spectral", random_state=3, n_jobs=1))


def test_blas_has_its_threads_back():
    before = [pool["num_threads"] for pool in threadpool_info()]
    generate(X, 4, base="spectral", random_state=3, n_jobs=2)
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_members_do_not_depend_on_their_number():
    few, many = (generate(X, n, base="spectral", random_state=3) for n in (3, 6))
    assert np.array_equal(few.labels, many.labels[:, :3])


def test_resume_is_exact(tmp_path):
    expected = generate(X, 5, base="spectral", random_state=1)
    generate(X, 5, base="spectral", random_state=1, checkpoint=tmp_path / "run")
    for number in (1, 3):
        (tmp_path / "run" / f"member-{number:06d}.npy").unlink()
    assert same(expected, generate(X, 5, base="spectral", random_state=1, checkpoint=tmp_path / "run"))
    with pytest.raises(ValueError, match="base was"):
        generate(X, 5, base=Spectral(neighbours=4), random_state=1, checkpoint=tmp_path / "run")


def test_asked_to_stop_it_stops():
    from quorate.generation.plans import Request, make_plans

    features = as_features(X)
    plans = make_plans(Request(1, 20, "spectral", 1.0, 1.0), features, 0).members
    stop = Stop()
    stop.set()
    with pytest.raises(StoppedError):
        run_members(features, plans, keep_models=False, stop=stop)


def test_bases_in_turn_have_rules_of_their_own():
    ensemble = generate(X, 4, base=["kmeans", "spectral"], random_state=0)
    assert [facts["base"] for facts in ensemble.info["members"]] == ["kmeans", "spectral"] * 2
    assert "rule candel" in ensemble.info["k"]
    assert "rule spectral" in ensemble.info["k"]


def test_new_objects():
    model = EnsembleClustering(2, base="spectral", n_members=10, random_state=0).fit(X)
    assert adjusted_rand_score(TRUTH, model.labels_) == 1
    assert np.array_equal(model.predict(X), model.labels_)
    new, truth = rings(300, seed=5)
    assert adjusted_rand_score(truth, model.predict(new)) == 1
    shares = model.transform(new)
    assert shares.shape == (300, 2)
    assert np.array_equal(shares.argmax(axis=1), model.predict(new))


def test_new_sparse_objects():
    data = csr_array(np.random.default_rng(0).poisson(0.5, size=(120, 20)).astype(float))
    model = EnsembleClustering(3, base="spectral", n_members=5, random_state=0).fit(data)
    assert np.array_equal(model.predict(data), model.labels_)


@pytest.mark.parametrize("name", ["landmarks", "neighbours", "sample", "n_sweeps", "max_iter"])
def test_settings_are_checked(name):
    with pytest.raises(ValueError, match=f"{name} must be at least 1"):
        Spectral(**{name: 0})


def test_eigenvectors_solve_the_cut():
    """The landmarks' points span the space of the eigenvectors of Dy^-1 B' Dx^-1 B with the largest eigenvalues."""
    import oracle_landmarks as oracle

    rng = np.random.default_rng(0)
    near = np.argsort(rng.random((200, 15)), axis=1)[:, :4].astype(np.int32)
    squared = rng.uniform(0, 1, size=near.shape).astype(np.float32)
    table = spectral._eigenvectors((near, squared), 0.5, 15, 6, rng)
    folded = oracle.folded(near, oracle.weights(squared, 0.5, 0), 15)
    walk = folded / folded.sum(axis=1, keepdims=True)
    within = np.linalg.pinv(table) @ walk @ table
    assert np.allclose(walk @ table, table @ within, atol=1e-10)
    largest = np.sort(np.linalg.eigvals(walk).real)[::-1][:6]
    assert np.sort(np.linalg.eigvals(within).real)[::-1] == pytest.approx(largest, abs=1e-10)


def test_sparse_and_dense_eigenvectors_span_the_same_points(monkeypatch):
    """The solver for many landmarks and LAPACK find the same space, up to the tolerance of the former."""
    features = as_features(rings(2000)[0])
    tables = []
    for least in (10, 10_000):
        monkeypatch.setattr(spectral, "SPARSE_LANDMARKS", least)
        member, _ = train_and_label(features, (None, WHOLE), 12, np.random.default_rng(0), Spectral(), Stop())
        tables.append(np.linalg.qr(member.table)[0])
    assert np.linalg.svd(tables[0].T @ tables[1])[1].min() > 0.99


def test_numbers_of_landmarks():
    """Half of the objects up to 1,000 landmarks, then a tenth of them, up to the number given."""
    sizes = (3, 600, 2000, 9000, 15_000, 20_000, 10**7)
    assert [Spectral().n_landmarks(n, 2) for n in sizes] == [2, 300, 1000, 1000, 1500, 2000, 2000]
    assert [Spectral(landmarks=50).n_landmarks(n, 2) for n in sizes] == [2, 50, 50, 50, 50, 50, 50]
    assert Spectral().n_landmarks(100, 80) == 80


def wide(n_objects=400, n_columns=300):
    """Three Gaussians in many columns."""
    rng = np.random.default_rng(0)
    truth = np.arange(n_objects) % 3
    return rng.normal(size=(n_objects, n_columns)) + 0.6 * rng.normal(size=(3, n_columns))[truth], truth


def test_wide_rows_are_projected_on_principal_directions():
    data, truth = wide()
    model = EnsembleClustering(3, base="spectral", n_members=6, random_state=0).fit(data)
    assert adjusted_rand_score(truth, model.labels_) > 0.95
    assert model._models[0].landmarks.directions.shape == (64, 304)
    assert model._models[0].landmarks.points.shape[1] == 64
    # the points of a row do not depend on the rows beside it
    assert np.array_equal(model.predict(data), model.labels_)
    assert np.array_equal(np.concatenate([model.predict(data[i : i + 1]) for i in range(9)]), model.labels_[:9])


def test_few_wide_rows():
    data, _ = wide(5)
    assert generate(data, 3, k=2, base="spectral", random_state=0).n_clusters.max() <= 2


def test_narrow_rows_are_not_projected():
    model = EnsembleClustering(2, base="spectral", n_members=2, random_state=0).fit(wide(100, 128)[0])
    assert model._models[0].landmarks.directions is None

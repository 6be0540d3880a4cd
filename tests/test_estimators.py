"""scikit-learn's own checks on our estimators, and what they do not ask."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from ensembles import noisy
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from quorate import METHODS, ConsensusClustering, EnsembleClustering, as_ensemble, consensus, generate, over_k
from quorate.generation import Projection, Share, Views, runner

NOT_FOR_LABELS = {
    "check_clustering": "clusters standardised measurements; X is a table of labels, where negative ones are errors",
}

CHECKED_WITHOUT_NUMBER = {
    "check_clustering",
    "check_estimators_pickle",
    "check_fit2d_1sample",
    "check_fit2d_1feature",
    "check_methods_subset_invariance",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
}


@parametrize_with_checks([ConsensusClustering(random_state=0)], expected_failed_checks=lambda estimator: NOT_FOR_LABELS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@parametrize_with_checks([EnsembleClustering(3, random_state=0, n_members=5)])
def test_scikit_learn_checks_on_features(estimator, check):
    check(estimator)


CHOOSING = [
    check
    for _, check in estimator_checks_generator(EnsembleClustering(random_state=0, n_members=5))
    if check.func.__name__ in CHECKED_WITHOUT_NUMBER
]


@pytest.mark.parametrize("check", CHOOSING, ids=lambda check: check.func.__name__)
def test_scikit_learn_checks_where_the_number_is_chosen(check):
    """Choosing takes ten times as long, so that only the checks run that look at the result or fit unusual data."""
    check(EnsembleClustering(random_state=0, n_members=5))


@pytest.mark.parametrize("method", sorted(METHODS))
def test_equals_the_function(method: str) -> None:
    labels = noisy(0, missing=0.1)
    k = None if METHODS[method].finds_k else 3
    estimator = ConsensusClustering(k, method=method, random_state=4).fit(labels)
    expected = consensus(labels, k, method=method, random_state=4)
    assert np.array_equal(estimator.labels_, expected.labels)
    assert estimator.n_features_in_ == 6
    assert np.array_equal(estimator.confidence_, expected.confidence)


def test_options_weights_and_missing_reach_the_method() -> None:
    labels = noisy(1) + 1
    estimator = ConsensusClustering(
        3, method="kmeans", method_options={"max_iter": 1}, missing=0, weights=np.ones(6), random_state=0
    )
    assert clone(estimator).fit(labels).consensus_.n_iter == 1
    with pytest.raises(ValueError, match="weights must have one value per member"):
        ConsensusClustering(3, weights=[1, 2]).fit(labels)


def test_takes_data_frames_of_text() -> None:
    frame = pd.DataFrame({"a": ["x", "x", "y", "y"], "b": ["u", "u", "v", None]})
    estimator = ConsensusClustering(2, random_state=0)
    assert estimator.fit_predict(frame).tolist() == [0, 0, 1, 1]
    assert list(estimator.feature_names_in_) == ["a", "b"]


BLOBS = np.concatenate([np.random.default_rng(0).normal(m, 1, size=(80, 3)) for m in (0, 7, 14)])
TRUTH = np.repeat(np.arange(3), 80)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"base": KMeans(8, n_init=1)},
        {"base": AgglomerativeClustering(3), "columns": 2},
        {"base": [KMeans(5, n_init=1), AgglomerativeClustering(4)], "k": (4, 7)},
        {"columns": Projection(2)},
        {"rows": Share(0.5, fill=True)},
        {"method": "bisecting", "n_clusters": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("sparse", [False, True])
def test_features_to_labels_and_back(options: dict[str, object], sparse: bool) -> None:
    if sparse and "AgglomerativeClustering" in str(options):
        pytest.skip("scikit-learn's AgglomerativeClustering takes no sparse X")
    X = csr_matrix(BLOBS) if sparse else BLOBS
    model = EnsembleClustering(**{"n_clusters": 3, "n_members": 8, "random_state": 0, **options}).fit(X)
    assert adjusted_rand_score(TRUTH, model.labels_) > 0.98
    assert np.array_equal(model.predict(X), model.labels_)
    new = np.random.default_rng(1).normal(7, 1, size=(50, 3))
    placed = model.predict(csr_matrix(new) if sparse else new)
    assert (placed == model.labels_[100]).mean() > 0.95
    memberships = model.transform(X)
    assert memberships.shape == (240, 3)
    assert (memberships.argmax(axis=1) == model.labels_).mean() > 0.95
    assert memberships.min() >= 0
    assert memberships.max() <= 1 + 1e-12


def test_equals_generate_and_consensus() -> None:
    model = EnsembleClustering(3, n_members=6, k=(4, 8), random_state=5).fit(BLOBS)
    assert np.array_equal(model.ensemble_.labels, generate(BLOBS, 6, k=(4, 8), random_state=5).labels)
    assert model.ensemble_.info["k"] == "k = 4 to 8 (given)"
    assert model.consensus_.method == "lwgp"
    assert model.confidence_.shape == (240,)
    default = EnsembleClustering(3, random_state=5).fit(BLOBS)
    assert default.ensemble_.info["base"].startswith("gaussian: the judge of labellings rates their consensus by lwgp ")
    assert default.ensemble_.info["k"] == "k = 3 to 8 (rule gaussian with k0 = 3, 240 objects)"
    spectral = EnsembleClustering(3, base="spectral", random_state=5).fit(BLOBS)
    assert spectral.ensemble_.info["k"] == "k = 20 to 48 (rule spectral with k0 = 3, 240 objects)"
    plain = EnsembleClustering(3, base="kmeans", random_state=5).fit(BLOBS)
    assert plain.ensemble_.info["k"] == "k = 3 to 15 (rule candel with k0 = 3, 240 objects)"


def test_partial_rows_and_unknown_rows_are_placed() -> None:
    """Members that saw half leave gaps; an object without gaps has a row nobody had."""
    model = EnsembleClustering(3, n_members=12, rows=0.5, random_state=0).fit(BLOBS)
    assert model.ensemble_.has_missing
    assert (model.predict(BLOBS) == model.labels_).mean() > 0.98


def test_transform_is_the_mean_co_association() -> None:
    model = EnsembleClustering(3, n_members=5, k=6, random_state=0).fit(BLOBS[::4])
    labels = model.ensemble_.labels
    together = (labels[:, None] == labels[None]).mean(axis=2)
    expected = np.stack([together[:, model.labels_ == c].mean(axis=1) for c in range(3)], axis=1)
    assert np.allclose(model.transform(BLOBS[::4]), expected)


def test_in_pipelines_with_names_and_set_output() -> None:
    frame = pd.DataFrame(BLOBS, columns=["x", "y", "z"])
    views = EnsembleClustering(3, n_members=4, columns=Views([["x", "y"], ["z"]]), random_state=0)
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), views).fit(frame)
    assert adjusted_rand_score(TRUTH, pipeline.predict(frame)) > 0.95
    out = pipeline.set_output(transform="pandas").transform(frame)
    assert list(out.columns) == [f"ensembleclustering{c}" for c in range(3)]
    assert list(pipeline[-1].feature_names_in_) == ["x", "y", "z"]


def test_float32_and_large_offsets_are_predicted_alike() -> None:
    X = (BLOBS + 1e7).astype(np.float64)
    model = EnsembleClustering(3, random_state=0).fit(X)
    assert np.array_equal(model.predict(X[::-1]), model.labels_[::-1])
    assert pickle.loads(pickle.dumps(model)).predict(X[:5]).tolist() == model.labels_[:5].tolist()


def test_estimators_choose_the_number_unless_one_is_given() -> None:
    noise = np.random.default_rng(3).normal(size=(150, 3))
    assert EnsembleClustering(random_state=0).fit(noise).n_clusters_ == 1
    model = EnsembleClustering(random_state=0).fit(BLOBS)
    assert np.array_equal(model.labels_, EnsembleClustering("auto", random_state=0).fit(BLOBS).labels_)
    labels = noisy(0)
    chosen = ConsensusClustering(random_state=0).fit(labels)
    assert np.array_equal(chosen.labels_, consensus(labels, random_state=0).labels)
    assert chosen.consensus_.info["choice"].n_clusters == chosen.n_clusters_


def test_no_member_is_made_twice_to_choose_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[object, ...]] = []

    def counted(features, plans, *others):
        if features.n_objects == len(BLOBS) and features.n_columns == 3 and np.array_equal(features.data, BLOBS):
            made.extend((plan.base.name, plan.number, plan.k) for plan in plans)
        return run_members(features, plans, *others)

    run_members = runner.run_members
    monkeypatch.setattr(runner, "run_members", counted)
    model = EnsembleClustering(random_state=0).fit(BLOBS)
    assert len(made) == len(set(made)) >= 40
    monkeypatch.undo()
    assert np.array_equal(EnsembleClustering(3, random_state=0).fit(BLOBS).ensemble_.labels, model.ensemble_.labels)
    assert np.array_equal(model.predict(BLOBS), model.labels_)


def test_columns_on_other_scales_are_reported_once_and_scaled() -> None:
    X, truth = load_wine(return_X_y=True)
    with pytest.warns(UserWarning, match="columns differ in scale: column 12 varies 388 times") as seen:
        plain = EnsembleClustering(3, random_state=0).fit(X)
    assert len(seen) == 1
    with pytest.warns(UserWarning, match="columns differ in scale: column 12") as seen:
        over_k(X, [2, 3, 4], n_members=3, random_state=0)
    assert len(seen) == 1
    with pytest.warns(UserWarning, match="columns differ in scale: column 'a'"):
        generate(pd.DataFrame({"a": X[:, 12], "b": X[:, 0], "c": X[:, 2]}), 2, random_state=0)
    model = EnsembleClustering(3, scale="z", random_state=0).fit(X)
    before = EnsembleClustering(3, random_state=0).fit((X - X.mean(axis=0)) / X.std(axis=0))
    assert adjusted_rand_score(before.labels_, model.labels_) > 0.95
    assert adjusted_rand_score(truth, model.labels_) > adjusted_rand_score(truth, plain.labels_) + 0.3
    assert np.array_equal(model.predict(X), model.labels_)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X[:1]), model.labels_[:1])
    made = generate(X, scale="z", random_state=0, k=("default", 3))
    assert np.array_equal(made.labels, model.ensemble_.labels)


@pytest.mark.parametrize("X", [load_iris().data, load_digits().data[:300], np.eye(4).repeat(20, axis=0)], ids=str)
def test_ordinary_measurements_do_not_warn(X: np.ndarray) -> None:
    generate(X, 2, k=3, base="kmeans", random_state=0)


def test_scaled_and_sparse_measurements_do_not_warn() -> None:
    X = load_breast_cancer().data
    generate(StandardScaler().fit_transform(X), 2, k=3, base="kmeans", random_state=0)
    generate(csr_matrix(X), 2, k=3, base="kmeans", random_state=0)
    generate(X - X.mean(axis=0), 2, k=3, base="kmeans", random_state=0)


def test_a_scale_that_cannot_be_applied_is_refused() -> None:
    with pytest.raises(ValueError, match="scale must be one of 'z'"):
        EnsembleClustering(3, scale="minmax").fit(BLOBS)
    with pytest.raises(ValueError, match="scale must be None for sparse"):
        EnsembleClustering(3, scale="z").fit(csr_matrix(BLOBS))
    with pytest.raises(ValueError, match="scale must be one of 'z'"):
        generate(BLOBS, 2, scale="max")


def test_an_ensemble_is_refused_with_the_way_out() -> None:
    with pytest.raises(TypeError, match=r"call consensus\(ensemble\) instead"):
        ConsensusClustering(2).fit(as_ensemble(np.array([[0, 0], [0, 1], [1, 1]])))

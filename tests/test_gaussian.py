"""The Gaussian base: ellipses, EM beside a slow twin and scikit-learn, inputs, seeds, new objects, cards."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from quorate import EnsembleClustering, consensus, generate
from quorate.generation import Gaussian, Parts, Projection, Share, gaussian
from quorate.generation.features import WHOLE, as_features
from quorate.generation.gaussian import train_gaussians
from quorate.generation.runner import run_members
from quorate.ops.threads import Stop, StoppedError


def ellipses(n_objects=450, n_columns=2, seed=0):
    """Three crossing, long ellipses in two columns, and further columns that are alike in all of them."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n_objects) % 3
    X = rng.normal(0, 0.3, (n_objects, n_columns))
    along, angle = rng.normal(0, 4, n_objects), np.pi * truth / 3
    X[:, 0] += along * np.cos(angle)
    X[:, 1] += along * np.sin(angle) + 2 * truth
    return X, truth


X, TRUTH = ellipses()


def slow_densities(points, share, prior):
    """Weight times density of each Gaussian at each point, one Gaussian at a time; the twin of `_densities`."""
    n, d = points.shape
    mass, k = share.sum(axis=0), share.shape[1]
    means = [np.average(points, axis=0, weights=share[:, j]) for j in range(k)]
    scatters = [
        sum(share[i, j] * np.outer(points[i] - means[j], points[i] - means[j]) for i in range(n)) for j in range(k)
    ]
    pooled = sum(scatters) / n
    result = np.empty((n, k))
    for j in range(k):
        covariance = (scatters[j] + prior * d * pooled) / (mass[j] + prior * d) + gaussian.LEAST_VARIANCE * np.eye(d)
        away = points - means[j]
        distance = np.einsum("ni,ij,nj->n", away, np.linalg.inv(covariance), away)
        result[:, j] = np.log(mass[j] / n) - 0.5 * (distance + np.log(np.linalg.det(covariance)))
    return result


@pytest.mark.parametrize(("d", "prior"), [(1, 2.0), (3, 0.0), (4, 5.0)])
def test_a_step_equals_its_slow_twin(d, prior):
    rng = np.random.default_rng(d)
    points = rng.normal(size=(40, d))
    share = rng.dirichlet(np.ones(3), 40)
    found = gaussian._densities((gaussian._products(points), points), share, prior)
    logarithm = gaussian._products(points) @ found.quadratic + points @ found.linear + found.constant
    np.testing.assert_allclose(logarithm, slow_densities(points, share, prior), rtol=1e-9, atol=1e-9)


def test_a_mixture_is_as_likely_as_that_of_scikit_learn():
    """Without a prior, on unit variances, both maximise the same likelihood."""
    features = as_features(X)
    model = train_gaussians(
        features, (None, WHOLE), 3, np.random.default_rng(0), Gaussian(prior=0.0, max_iter=500), Stop()
    )
    peer = GaussianMixture(3, n_init=5, random_state=0, max_iter=500, tol=1e-6).fit(X)
    assert adjusted_rand_score(model.labels(features), peer.predict(X)) > 0.97


def test_ellipses_are_found():
    ensemble = generate(X, 20, k=("default", 3), base="gaussian", random_state=0)
    found = consensus(ensemble, 3, random_state=0).labels
    by_kmeans = consensus(generate(X, 20, k=("default", 3), base="kmeans", random_state=0), 3, random_state=0).labels
    assert adjusted_rand_score(TRUTH, found) > adjusted_rand_score(TRUTH, by_kmeans) + 0.2
    assert ensemble.info["k"] == "k = 3 to 8 (rule gaussian with k0 = 3, 450 objects)"
    assert {facts["base"] for facts in ensemble.info["members"]} == {"gaussian"}


def test_the_trial_takes_gaussian_members_where_they_suit():
    """Overlapping sheets of two directions each in a space of ten, which no gaps divide."""
    rng, truth = np.random.default_rng(1), np.arange(450) % 3
    turns = [np.linalg.qr(rng.normal(size=(10, 10)))[0] for _ in range(3)]
    middle, spread = 0.7 * rng.normal(size=(3, 10)), np.array([3, 2] + [0.7] * 8)
    sheets = np.array([middle[place] + turns[place] @ (spread * rng.normal(size=10)) for place in truth])
    model = EnsembleClustering(3, random_state=0).fit(sheets)
    assert model.ensemble_.info["base"].startswith("gaussian: ")
    compact = EnsembleClustering(3, base="kmeans", random_state=0).fit(sheets)
    assert adjusted_rand_score(truth, model.labels_) > adjusted_rand_score(truth, compact.labels_) + 0.3


def test_units_of_columns_change_nothing():
    """Covariances follow any unit; only the first clusters, of k-means, look at distances."""
    first = generate(X, 3, k=3, base="gaussian", random_state=0).labels
    assert np.array_equal(first, generate(1024 * X + 4096, 3, k=3, base="gaussian", random_state=0).labels)


@pytest.mark.parametrize(
    "options",
    [
        {"rows": 0.6},
        {"rows": Share(0.6, fill=True)},
        {"rows": Parts(repetition=2)},
        {"columns": 0.5},
        {"columns": Projection(2)},
    ],
)
def test_parts_of_rows_and_columns(options):
    wide = ellipses(300, 4)[0]
    first, second = (generate(wide, 5, k=3, base="gaussian", random_state=1, n_jobs=jobs, **options) for jobs in (1, 2))
    assert np.array_equal(first.labels, second.labels)
    assert ((first.labels < 0).any()) == ("rows" in options and not getattr(options["rows"], "fill", False))


@pytest.mark.parametrize(
    "made",
    [
        np.repeat(np.arange(3.0), 5)[:, None],  # three values
        np.ones((9, 2)),  # nothing varies
        np.column_stack([X[:30], np.ones(30)]),  # a constant column
        np.column_stack([X[:30], X[:30]]),  # columns that repeat others
        np.eye(12),
        X[:4],
        1e30 * X[:50],
    ],
)
def test_odd_measurements(made):
    ensemble = generate(made, 4, k=2, base="gaussian", random_state=0)
    assert ensemble.labels.shape == (len(made), 4)
    assert (ensemble.labels >= 0).all()
    assert ensemble.labels.max() <= 1


def test_wide_and_sparse_rows():
    rng = np.random.default_rng(0)
    truth = np.arange(240) % 3
    wide = rng.normal(size=(240, 400)) + 1.5 * rng.normal(size=(3, 400))[truth]
    words = rng.poisson(0.05 + 1.5 * (np.arange(60) // 20 == truth[:, None])).astype(float)
    for made in (wide, csr_array(words), csr_array(words[:, :15] + np.eye(15)[np.arange(240) % 15])):
        ensemble = generate(made, 5, k=3, base="gaussian", random_state=0)
        again = generate(made, 5, k=3, base="gaussian", random_state=0)
        assert np.array_equal(ensemble.labels, again.labels)
    assert (
        adjusted_rand_score(truth, generate(csr_array(words), 1, k=3, base="gaussian", random_state=0).labels[:, 0])
        > 0.9
    )


def test_a_sample_trains_the_mixture_and_all_objects_are_labelled():
    many, truth = ellipses(6_000)
    ensemble = generate(many, 1, k=3, base="gaussian", random_state=0)
    assert ensemble.info["members"][0]["n_trained"] == 2_000
    assert adjusted_rand_score(truth, ensemble.labels[:, 0]) > 0.7


def test_new_objects_are_labelled_as_those_of_the_fit():
    model = EnsembleClustering(3, base="gaussian", random_state=0).fit(X)
    assert np.array_equal(model.predict(X), model.labels_)
    new, truth = ellipses(seed=9)
    assert adjusted_rand_score(truth, model.predict(new)) > 0.7


@pytest.mark.parametrize("sparse", [False, True])
def test_a_saved_model_labels_as_before(tmp_path, sparse):
    from quorate import load_model, save_model

    made = csr_array(np.abs(X)) if sparse else X
    model = EnsembleClustering(3, base="gaussian", random_state=0, n_members=4).fit(made)
    save_model(tmp_path / "model.npz", model)
    assert np.array_equal(load_model(tmp_path / "model.npz").predict(made), model.predict(made))


def test_any_backend_of_joblib_and_a_stop():
    with joblib.parallel_config("threading", n_jobs=2):
        threads = generate(X, 4, k=4, base="gaussian", random_state=2)
    assert np.array_equal(threads.labels, generate(X, 4, k=4, base="gaussian", random_state=2, n_jobs=1).labels)
    from quorate.generation.plans import Request, make_plans

    stop, features = Stop(), as_features(X)
    stop.set()
    with pytest.raises(StoppedError):
        run_members(features, make_plans(Request(1, 3, "gaussian"), features, 0).members, False, stop)


def test_members_of_a_card_equal_those_of_the_processor(card):
    made = ellipses(700, 3)[0].astype(np.float32)
    settings = {"k": (3, 6), "base": "gaussian", "random_state": 0}
    for options in ({}, {"columns": Projection(2)}, {"rows": 0.7}):
        there, here = (generate(made, 4, **settings, device=device, **options) for device in ("cuda", None))
        assert there.info["device"] == card.name
        assert np.array_equal(there.labels, here.labels)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"directions": 0}, "directions must be"),
        ({"prior": -1.0}, "prior must lie"),
        ({"max_iter": 2.5}, "max_iter must"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Gaussian(**settings)

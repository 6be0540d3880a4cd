"""base="auto": which kind of members is taken, that it says why, and that it changes nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score

from quorate import EnsembleClustering, anmi, as_ensemble, compress, generate
from quorate._trust.separation import normalised_cut
from quorate.datasets import two_spirals
from quorate.generation import Share, judge, trial
from quorate.generation.features import as_features
from quorate.generation.k_rules import first_k, k_within


def spirals(n_objects=500):
    data = two_spirals(n_objects, random_state=0)
    return np.asarray(data.X), data.y


@pytest.fixture(scope="module")
def overlapping():
    """Three Gaussians in many dimensions that overlap: compact clusters without gaps between them."""
    truth = np.arange(240) % 3
    rng = np.random.default_rng(0)
    return rng.normal(size=(240, 13)) + 1.6 * rng.normal(size=(3, 13))[truth], truth


def favouring(method):
    """A judge who gives the consensus by one method a clearly higher mark than any other, though all cuts are equal."""
    return lambda *given: trial.Judged(*given[-1][1:], 1.1 * (given[-1][2] == method), 0.1)


def test_spirals_get_spectral_members():
    X, truth = spirals()
    model = EnsembleClustering(2, random_state=0).fit(X)
    assert model.ensemble_.info["base"].startswith("spectral: the judge of labellings rates their consensus by lwgp ")
    assert model.consensus_.method == model.ensemble_.info["method"] == "lwgp"
    assert "(all objects, 2 clusters)" in model.ensemble_.info["base"]
    assert adjusted_rand_score(truth, model.labels_) == 1


def test_compact_clusters_are_found(overlapping):
    X, truth = overlapping
    model = EnsembleClustering(3, random_state=0).fit(X)
    compact = EnsembleClustering(3, base="kmeans", random_state=0).fit(X)
    assert adjusted_rand_score(truth, model.labels_) > adjusted_rand_score(truth, compact.labels_) - 0.05


@pytest.mark.parametrize("kind", ["kmeans", "spectral"])
def test_members_are_those_of_the_kind_taken(monkeypatch, kind):
    """The trial's own members are used where they saw everything, and give the same ensemble."""
    X, _ = spirals()
    # of equals the first is taken
    monkeypatch.setattr(trial, "KINDS", (kind, "kmeans" if kind == "spectral" else "spectral"))
    monkeypatch.setattr(trial, "_judged", lambda *given: trial.Judged(*given[-1][1:], 0.5, 0.1))
    for options in ({}, {"n_members": 25}, {"n_members": 4, "rows": 0.7}, {"columns": 1}, {"k": ("candel", 3)}):
        settings = {"n_members": 10, "k": ("default", 2), "random_state": 3, **options}
        found, expected = generate(X, **settings), generate(X, **settings, base=kind)
        assert found.info["base"].startswith(
            f"{kind}: the judge of labellings rates their consensus by lwgp as high as"
        )
        assert np.array_equal(found.labels, expected.labels)
        assert found.info["members"] == expected.info["members"]


@pytest.mark.parametrize("wanted", ["lwgp", "transfer", "lwea"])
def test_the_method_with_the_highest_mark_is_taken(monkeypatch, wanted):
    X, _ = spirals()
    monkeypatch.setattr(trial, "_judged", favouring(wanted))
    model = EnsembleClustering(2, random_state=0).fit(X)
    assert model.consensus_.method == model.ensemble_.info["method"] == wanted
    named = EnsembleClustering(2, method=wanted, random_state=0).fit(X)
    assert np.array_equal(model.labels_, named.labels_)
    # what the caller names, or gives options for, is not replaced
    assert EnsembleClustering(2, method="kmeans", random_state=0).fit(X).consensus_.method == "kmeans"
    assert EnsembleClustering(2, base="spectral", random_state=0).fit(X).consensus_.method == "lwgp"


def test_a_part_of_the_objects_does_not_choose_the_method(monkeypatch):
    monkeypatch.setattr(trial, "WHOLE_TRIAL", 100)
    monkeypatch.setattr(trial, "TRIAL_OBJECTS", 100)
    monkeypatch.setattr(trial, "MOST_COMPARED", 499)
    tried = []
    monkeypatch.setattr(trial, "_judged", lambda *given: tried.append(given[-1][2]) or favouring("lwgp")(*given))
    ensemble = generate(spirals()[0], 3, k=("default", 2), random_state=0)
    assert tried == ["lwgp"] * 3
    assert "method" not in ensemble.info


@pytest.mark.parametrize(("right", "cut_by_lwgp"), [("transfer", True), ("lwgp", False)])
def test_the_members_of_all_objects_choose_the_method_after_a_trial_of_a_part(monkeypatch, right, cut_by_lwgp):
    """One consensus of all objects is made wrong; the cut at the 100 objects on trial must notice it."""
    monkeypatch.setattr(trial, "WHOLE_TRIAL", 100)
    monkeypatch.setattr(trial, "TRIAL_OBJECTS", 100)
    solved = trial._solved

    def spoilt(rows, method, *how):
        labels = solved(rows, method, *how)
        wrong = (method == "lwgp") == cut_by_lwgp
        return np.arange(len(labels), dtype=labels.dtype) % 2 if wrong and rows.n_objects == 500 else labels

    monkeypatch.setattr(trial, "_solved", spoilt)
    model = EnsembleClustering(2, random_state=0).fit(spirals()[0])
    assert "(100 of the objects, 2 clusters)" in model.ensemble_.info["base"]
    assert model.consensus_.method == model.ensemble_.info["method"] == right


def test_where_auto_takes_another_method_none_is_chosen_after_the_trial(monkeypatch):
    """With very many clusters in all members `auto` takes `transfer`, which is then not compared with anything."""
    monkeypatch.setattr(trial, "WHOLE_TRIAL", 100)
    monkeypatch.setattr(trial, "TRIAL_OBJECTS", 100)
    model = EnsembleClustering(2, n_members=60, random_state=0).fit(spirals()[0])
    assert int(model.ensemble_.n_clusters.sum()) > 2000
    assert "method" not in model.ensemble_.info
    assert model.consensus_.method == "transfer"


def test_wide_objects_are_tried_in_their_principal_directions(monkeypatch):
    rng = np.random.default_rng(0)
    X, truth = rng.normal(size=(400, 200)), np.arange(400) % 2
    X += 0.8 * rng.normal(size=(2, 200))[truth]
    monkeypatch.setattr(trial, "TRIAL_OBJECTS", 200)
    model = EnsembleClustering(2, random_state=0).fit(X)
    assert "(200 of the objects, 2 clusters)" in model.ensemble_.info["base"]
    assert adjusted_rand_score(truth, model.labels_) == 1


def test_auto_keeps_its_own_choice_where_it_would_take_another_method(monkeypatch):
    """With very many clusters in all members `auto` takes `transfer`, whatever the trial found."""
    X, _ = spirals()
    monkeypatch.setattr(trial, "_judged", favouring("lwea"))
    model = EnsembleClustering(2, n_members=60, random_state=0).fit(X)
    assert model.ensemble_.info["method"] == "lwea"
    assert int(model.ensemble_.n_clusters.sum()) > 2000
    assert model.consensus_.method == "transfer"


def test_the_kind_does_not_depend_on_members_rows_or_workers():
    X, _ = spirals()
    cases = ({"n_members": 8, "n_jobs": 2}, {"rows": Share(0.5)}, {"columns": 1})
    expected = generate(X, 3, k=("default", 2), random_state=1).info["base"]
    for case in cases:
        settings = {"n_members": 3, "k": ("default", 2), "random_state": 1, **case}
        assert generate(X, **settings).info["base"] == expected


def test_a_sample_is_on_trial_where_objects_are_many(monkeypatch):
    monkeypatch.setattr(trial, "WHOLE_TRIAL", 300)
    monkeypatch.setattr(trial, "TRIAL_OBJECTS", 300)
    X, _ = spirals(900)
    found = generate(X, 3, k=("default", 2), random_state=0)
    assert "(300 of the objects, 2 clusters)" in found.info["base"]
    expected = generate(X, 3, base="spectral", random_state=0)
    assert np.array_equal(found.labels, expected.labels)


def test_resume_is_exact(tmp_path):
    X, _ = spirals()
    options = {"n_members": 24, "k": ("default", 2), "random_state": 1}
    expected = generate(X, **options)
    generate(X, **options, checkpoint=tmp_path / "run")
    assert len(list((tmp_path / "run").glob("member-*.npy"))) == 24
    for number in (1, 22):
        (tmp_path / "run" / f"member-{number:06d}.npy").unlink()
    again = generate(X, **options, checkpoint=tmp_path / "run")
    assert np.array_equal(again.labels, expected.labels)
    assert again.info == expected.info


def test_predict_works_with_the_trials_members():
    X, _ = spirals()
    model = EnsembleClustering(2, random_state=0).fit(X)
    assert np.array_equal(model.predict(X), model.labels_)


def test_sparse_rows():
    X = csr_array(np.random.default_rng(0).poisson(0.5, size=(150, 20)).astype(float))
    ensemble = generate(X, 4, k=("default", 3), random_state=0)
    assert ensemble.info["base"].split(":")[0] in ("kmeans", "spectral")
    assert "(all objects, 3 clusters)" in ensemble.info["base"]


@pytest.mark.parametrize("n_objects", [1, 2, 3, 4, 10])
def test_few_objects(n_objects):
    X, _ = spirals()
    ensemble = generate(X[:n_objects], 3, k=("default", 2), random_state=0)
    assert ensemble.n_objects == n_objects
    if n_objects < 4:
        assert ensemble.info["base"] == "kmeans: too few objects to try kinds of members"


def test_without_a_number_of_clusters_members_are_spectral():
    X, _ = spirals()
    ensemble = generate(X, 3, random_state=0)
    assert (
        ensemble.info["base"]
        == "spectral: no kinds were tried, because the number of clusters wanted in the end is not known"
    )
    assert np.array_equal(ensemble.labels, generate(X, 3, base="spectral", random_state=0).labels)


def test_equal_objects():
    assert generate(np.ones((40, 2)), 3, k=("default", 2), random_state=0).n_clusters.tolist() == [1, 1, 1]


def test_a_number_of_clusters_that_is_to_be_found_wants_kmeans_members():
    X, _ = spirals()
    model = EnsembleClustering(None, method="bisecting", random_state=0).fit(X)
    assert model.ensemble_.info["base"] == "kmeans"


def test_given_bases_say_so():
    X, _ = spirals()
    assert generate(X, 2, base=["kmeans", "spectral"], random_state=0).info["base"] == "kmeans, spectral"
    assert generate(X, 2, base=None, random_state=0).info["base"] == "kmeans"


def test_normalised_cut():
    """Two pairs and an object that hangs on the second: links 0-1, 1-0, 2-3, 3-2, 4-3."""
    near = np.array([[1], [0], [3], [2], [3]], dtype=np.int32)
    assert normalised_cut(np.array([0, 0, 1, 1, 1]), near) == 0
    # the third cluster's only link is cut, and one of the second's five link ends
    assert normalised_cut(np.array([0, 0, 1, 1, 2]), near) == pytest.approx((0 + 1 / 5 + 1) / 3)


def test_what_a_rule_starts_from():
    assert [first_k(k) for k in (None, 5, (3, 9), "sqrt", ("default", 7), ("candel", 4), ("linear", 50, 20))] == [
        *[None] * 4,
        7,
        4,
        None,
    ]
    assert k_within(50, 40) == "default"
    assert k_within((5, 50), 40) == "default"
    assert k_within(range(3, 9), 40) == range(3, 9)
    assert k_within("sqrt", 40) == "sqrt"


def test_members_that_agree_with_their_consensus_count_only_where_objects_extend_in_many_dimensions():
    rng = np.random.default_rng(0)
    truth = np.arange(120) % 3
    members = np.where(rng.random((120, 9)) < 0.2, rng.integers(3, size=(120, 9)), truth[:, None])
    for columns, many in ((1, 0.0), (8, 1.0)):
        X = rng.normal(size=(120, columns)) + 3 * truth[:, None]
        scene = judge.scene_of(as_features(X), ours=True)
        assert scene.many == many
        ensemble = as_ensemble(members)
        found = trial._judged(ensemble, 3, scene, (0, "kmeans", "lwgp"))
        labels = trial._solved(compress(ensemble)[0], "lwgp", 0, 3)[compress(ensemble)[1]]
        added = found.mark - judge.mark(judge.terms(labels, scene))
        assert added == pytest.approx(many * trial.AGREEMENT * anmi(labels, ensemble))

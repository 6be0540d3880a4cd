"""New objects among the clusters of a consensus, in Python, as an estimator, and in grid search."""

from __future__ import annotations

import pickle

import numpy as np
import oracle_results as oracle
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from strategies import label_tables
from test_laws import noisy

import quorate
from quorate import ConsensusClustering, EnsembleClustering, as_ensemble, consensus, place, scorer
from quorate._consensus.confidence import kept_scale

SEGMENTS = {"legacy": ["a", "a", "b", "b"], "web": ["x", "x", "y", "y"], "region": [7, 7, 8, 8]}


@given(label_tables(min_objects=3, max_members=4), st.integers(1, 3), st.data())
def test_new_objects_go_where_the_slow_twin_puts_them(table: np.ndarray, k: int, data: st.DataObject) -> None:
    ensemble = as_ensemble(table, orientation="objects")
    result = consensus(ensemble, min(k, quorate.compress(ensemble)[0].n_rows), method="kmeans", random_state=0)
    cell = st.integers(0, max(table.max(), 0))
    new = np.array([[data.draw(cell) for _ in range(table.shape[1])] for _ in range(4)])
    seen = [set(column[column >= 0].tolist()) for column in table.T]
    known = np.array([[label if label in seen[m] else -1 for m, label in enumerate(row)] for row in new.tolist()])
    if (known.max(axis=1) < 0).any():
        return
    placed = place(result, ensemble, new)
    assert sum(placed.unknown_labels.values()) == int((known < 0).sum())
    labels, weights = result.labels.tolist(), [1.0] * table.shape[1]
    scale, sure = kept_scale(result), placed.confidence
    assert (scale is None) == (sure is None)
    for row, label, was_known, confidence in zip(
        known, placed.labels.tolist(), placed.known.tolist(), [0.0] * 4 if sure is None else sure, strict=True
    ):
        twins = [labels[i] for i, other in enumerate(table) if (other == row).all()]
        assert was_known == bool(twins)
        means = oracle.mean_with_clusters(row, table, labels, weights)
        assert label == twins[0] if twins else means[label] >= max(means) - 1e-9
        rival = max((mean for c, mean in enumerate(means) if c != label), default=0.0)
        if scale is not None:
            share = np.array([means[label] / (means[label] + rival)])
            of_row = np.array([(row >= 0).mean()])
            assert confidence == pytest.approx(scale.confidence(share, np.array([label]), of_row))


def test_the_objects_themselves_keep_their_clusters_confidence_and_runner_up() -> None:
    labels = noisy(2, missing=0.2)
    result = consensus(labels, 3, method="kmeans", random_state=0)
    placed = place(result, labels, labels)
    assert placed.known.all()
    assert np.array_equal(placed.labels, result.labels)
    assert np.allclose(placed.confidence, result.confidence)
    assert np.array_equal(placed.runner_up, result.runner_up)
    one_by_one = [place(result, labels, labels[[row]]).labels[0] for row in range(10)]
    assert one_by_one == result.labels[:10].tolist()


def test_a_row_in_two_clusters_goes_with_most_of_its_objects() -> None:
    placed = place([0, 1, 1, 0, 0], [[0, 0, 0, 1, 1]] * 2, [[0], [0]])
    assert placed.labels.tolist() == [1]


def test_columns_are_matched_by_name_and_labels_by_what_they_are() -> None:
    result = consensus(SEGMENTS, 2, random_state=0).renamed({0: "old"})
    frame = pd.DataFrame({"region": [8.0, 7.0], "legacy": ["b", "zz"]}, index=["new1", "new2"])
    placed = result.place(frame, SEGMENTS)
    assert placed.labels.tolist() == [1, 0]
    assert placed.absent_members == ("web",)
    assert dict(placed.unknown_labels) == {"legacy": 1}
    assert placed.to_frame().index.tolist() == ["new1", "new2"]
    assert placed.to_frame()["label"].tolist() == ["1", "old"]
    assert placed.sizes.tolist() == [1, 1]
    assert place(result, SEGMENTS, {"region": ["7", "8"]}).labels.tolist() == [0, 1]
    assert place(result, SEGMENTS, [["b"], ["y"], [8]]).labels.tolist() == [1]
    assert place(result, SEGMENTS, as_ensemble(SEGMENTS)).known.all()


def test_what_cannot_be_matched_is_refused() -> None:
    result = consensus(SEGMENTS, 2, random_state=0)
    with pytest.raises(ValueError, match=r"1 column that is no member \('color'\); the members are 'legacy'"):
        place(result, SEGMENTS, {"color": ["red"]})
    with pytest.raises(ValueError, match="one column per member, 3 in all, got 2 without names"):
        place(result, SEGMENTS, [["a"], ["x"]])
    with pytest.raises(ValueError, match="one label per row of the ensemble"):
        place([0, 1], SEGMENTS, {"web": ["x"]})


def test_an_object_without_a_known_label_is_not_placed() -> None:
    result = consensus(SEGMENTS, 2, random_state=0)
    with pytest.warns(UserWarning, match="1 of 2 objects has no label that the ensemble knows"):
        placed = place(result, SEGMENTS, {"web": ["x", "new"]})
    assert placed.labels.tolist() == [0, -1]
    assert placed.confidence[1] == 0
    assert placed.runner_up.tolist() == [-1, -1]
    assert placed.to_frame()["label"].tolist() == [0, pd.NA]
    assert "not placed: 1" in repr(placed)


def test_placed_objects_are_written_with_the_names_of_clusters(tmp_path) -> None:
    result = consensus(SEGMENTS, 2, random_state=0).renamed({0: "old"})
    placed = result.place({"web": ["y", "x"]}, SEGMENTS)
    quorate.save_labels(tmp_path / "new.csv", placed)
    lines = [line.split(",") for line in (tmp_path / "new.csv").read_text().splitlines()]
    assert [line[0] for line in lines] == ["label", "1", "old"]
    assert [float(line[1]) for line in lines[1:]] == pytest.approx(placed.confidence, abs=1e-5)
    assert placed.confidence.max() < result.confidence.min(), "one label of three says less than all three"


def test_the_estimator_predicts_what_place_says() -> None:
    labels = noisy(0, missing=0.1)
    model = ConsensusClustering(3, method="kmeans", random_state=0).fit(labels[:40])
    result = consensus(labels[:40], 3, method="kmeans", random_state=0)
    assert np.array_equal(model.predict(labels[40:]), place(result, labels[:40], labels[40:]).labels)
    assert np.array_equal(model.predict(labels[:40]), model.labels_)
    assert model.n_clusters_ == 3
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(labels), model.predict(labels))
    assert EnsembleClustering(2, n_members=4, random_state=0).fit(np.arange(20.0)[:, None]).n_clusters_ == 2


def test_the_estimator_matches_frames_by_name_and_warns_of_new_labels() -> None:
    frame = pd.DataFrame(SEGMENTS)
    model = ConsensusClustering(2, random_state=0).fit(frame)
    assert model.predict(frame).tolist() == [0, 0, 1, 1]
    new = frame.iloc[[2, 0]].assign(web=["new", "x"])
    with pytest.warns(UserWarning, match=r"labels not seen in training count as missing \(web: 1\)"):
        assert model.predict(new).tolist() == [1, 0]


@pytest.mark.parametrize("name", ["anmi", "density", "nmi", "ari", "accuracy"])
def test_grid_search_finds_the_planted_number(name: str) -> None:
    labels = noisy(1)
    truth = consensus(labels, 3, random_state=0).labels
    grid = {"method": ["kmeans", "transfer"], "n_clusters": [2, 3]}
    search = GridSearchCV(ConsensusClustering(random_state=0), grid, scoring=scorer(name), cv=3).fit(labels, truth)
    assert search.best_params_["n_clusters"] == 3
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_the_scorer_agrees_with_the_score() -> None:
    labels = noisy(1)
    model = ConsensusClustering(3, random_state=0).fit(labels)
    assert scorer("anmi")(model, labels) == pytest.approx(quorate.anmi(model.labels_, labels))
    assert scorer("density")(model, labels) == pytest.approx(quorate.density(model.labels_, labels))
    with pytest.raises(ValueError, match="compares with known classes; pass them as y"):
        scorer("ari")(model, labels)
    with pytest.raises(ValueError, match="name must be one of 'anmi'"):
        scorer("silhouette")


def test_the_scorer_takes_features_and_pipelines() -> None:
    X = np.concatenate([np.random.default_rng(0).normal(m, 1, size=(40, 2)) for m in (0, 8, 16)])
    model = EnsembleClustering(3, n_members=6, random_state=0)
    alone = scorer()(model.fit(X), X)
    assert alone == pytest.approx(quorate.anmi(model.labels_, model.ensemble_))
    pipeline = make_pipeline(StandardScaler(), model).fit(X)
    assert 0.5 < scorer()(pipeline, X) <= 1
    assert scorer("ari")(pipeline, X, np.repeat([0, 1, 2], 40)) == 1

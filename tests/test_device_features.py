"""Measurements on a card of NumPy: members, the estimator and the number of clusters are those of the processor."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_twin import CardArray, TwinCard, blobs
from sklearn.cluster import AgglomerativeClustering

import quorate
from quorate import EnsembleClustering, evaluate, generate
from quorate._device import card_features
from quorate._device.device_ensemble import DeviceEnsemble
from quorate._stream import measurements
from quorate.generation import KMeans, Projection, Share, Spectral


@pytest.mark.parametrize(
    "options",
    [
        {"base": "kmeans", "k": (3, 12)},
        {"base": KMeans(init="k-means++", sample=None), "k": 4},
        {"base": "kmeans", "k": (3, 12), "rows": 0.5, "columns": 0.5},
        {"base": "kmeans", "k": 5, "rows": Share(0.4, fill=True), "columns": Projection(3)},
        {"base": "spectral", "k": (3, 9)},
        {"base": Spectral(landmarks=60, sample=8), "k": (3, 9)},
        {"base": Spectral(landmarks=300, sample=3), "k": (3, 9), "rows": 0.8},
        {"k": ("candel", 3)},
    ],
)
def test_members_are_those_of_the_processor(card: TwinCard, options: dict[str, Any]) -> None:
    X = blobs(0)
    wanted = generate(X, 4, random_state=1, **options)
    for given, device in ((X, "cuda"), (CardArray(X), None), (X.astype(np.float64), "auto")):
        found = generate(given, 4, random_state=1, device=device, **options)
        assert isinstance(found, DeviceEnsemble)
        assert (wanted.labels != found.labels).mean() <= 1e-5
        assert found.info["members"] == wanted.info["members"]
        assert found.info["device"] == card.name
        assert [c.tolist() for c in found.categories] == [c.tolist() for c in wanted.categories]


def test_data_larger_than_the_card_go_through_it_in_blocks(card: TwinCard, monkeypatch: pytest.MonkeyPatch) -> None:
    X = blobs(0)
    wanted = generate(X, 3, base="kmeans", k=(3, 9), random_state=0)
    card.free = X.nbytes
    monkeypatch.setattr(card_features, "BLOCK_BYTES", 1 << 13)
    found = generate(X, 3, base="kmeans", k=(3, 9), random_state=0, device="cuda")
    assert card.launched.count("nearest_centres") > 2
    assert np.array_equal(wanted.labels, found.labels)


def test_members_that_a_card_cannot_make_are_made_by_the_processor(card: TwinCard, tmp_path: Path) -> None:
    X = blobs(0, n=200)
    for options, why in (
        ({"base": AgglomerativeClustering(3)}, "their own library"),
        ({"base": "kmeans", "k": 3, "checkpoint": tmp_path}, "checkpoint"),
    ):
        found = generate(CardArray(X), 2, random_state=0, **options)
        assert why in found.info["device"]
        assert np.array_equal(found.labels, generate(X, 2, random_state=0, **options).labels)


@pytest.mark.parametrize("base", ["kmeans", "auto"])
def test_the_estimator_gives_the_answer_of_the_processor_in_kind(card: TwinCard, base: str) -> None:
    X = blobs(1)
    settings: dict[str, Any] = {"n_members": 6, "base": base, "random_state": 0}
    wanted = EnsembleClustering(3, **settings).fit(X)
    found = EnsembleClustering(3, device="cuda", **settings).fit(X)
    there = EnsembleClustering(3, **settings).fit(CardArray(X))
    assert np.array_equal(found.labels_, wanted.labels_)
    assert isinstance(there.labels_, CardArray)
    assert np.array_equal(there.labels_.get(), wanted.labels_)
    assert np.array_equal(found.predict(X), wanted.labels_)
    elsewhere = pickle.loads(pickle.dumps(found))
    assert np.array_equal(elsewhere.predict(X[:40]), wanted.labels_[:40])
    scores, wanted_scores = (evaluate(fit.consensus_, fit.ensemble_).as_dict() for fit in (found, wanted))
    # the logarithm of numpy 1 depends in its last bit on the place of a number in memory
    is_exact = np.lib.NumpyVersion(np.__version__) >= "2.0.0"
    assert scores == wanted_scores if is_exact else scores == pytest.approx(wanted_scores, rel=1e-14, nan_ok=True)
    assert quorate.anmi(there.consensus_, there.ensemble_) == quorate.anmi(wanted.consensus_, wanted.ensemble_)


def test_the_number_is_chosen_for_features_on_the_card_as_on_the_processor(card: TwinCard) -> None:
    X = np.concatenate([blobs(1), 9 + blobs(2)])
    settings: dict[str, Any] = {"n_members": 6, "base": "kmeans", "random_state": 0, "reference": 2}
    wanted = EnsembleClustering(**settings).fit(X)
    there = EnsembleClustering(**settings).fit(CardArray(X))
    assert there.n_clusters_ == wanted.n_clusters_ > 1
    assert np.array_equal(there.labels_.get(), wanted.labels_)
    assert there.consensus_.info["choice"].reason == wanted.consensus_.info["choice"].reason
    given = EnsembleClustering(2, **settings).fit(CardArray(X))
    assert given.consensus_.info["reference_test"] == pytest.approx(
        EnsembleClustering(2, **settings).fit(X).consensus_.info["reference_test"]
    )


def test_of_very_many_features_on_the_card_a_sample_decides_the_number(
    card: TwinCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measurements, "SAMPLE", 60)
    X = np.concatenate([blobs(1), 9 + blobs(2)])
    there = EnsembleClustering(n_members=6, base="kmeans", random_state=0).fit(CardArray(X))
    assert there.ensemble_.n_objects == len(X)
    assert len(there.labels_) == len(X)
    drawn = measurements.drawn_numbers(len(X), 0)
    few = EnsembleClustering(n_members=6, base="kmeans", random_state=0).fit(X[drawn])
    assert there.n_clusters_ == few.n_clusters_


@pytest.mark.parametrize("name", ["NaN", "infinity"])
def test_holes_in_features_on_the_card_are_refused(card: TwinCard, name: str) -> None:
    X = blobs(0, n=50)
    X[7, 2] = np.nan if name == "NaN" else np.inf
    with pytest.raises(ValueError, match=f"{name} in column 2 in row 7"):
        generate(CardArray(X), 2, k=2, base="kmeans")


@pytest.mark.parametrize("shape", [(5,), (0, 3), (3, 0)])
def test_features_of_a_wrong_shape_are_refused(card: TwinCard, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="X must"):
        generate(CardArray(np.zeros(shape)), 2, k=2, base="kmeans")

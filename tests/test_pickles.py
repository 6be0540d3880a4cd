"""Pickles that versions 0.1 and 0.2 wrote are read by this version, and say the same."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn

from quorate import datasets

FOLDER = Path(__file__).with_name("pickles")
pytestmark = pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="numpy 2 wrote the pickles")
NAMES = sorted(f"{path.parent.name}/{path.stem}" for path in FOLDER.glob("*/*.pickle"))


def load(name: str) -> Any:
    """Read a pickle; one that holds estimators of scikit-learn is for the version that wrote them, and later ones."""
    version = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
    if name.endswith("/mixed") and version < (1, 9):
        pytest.skip("it holds estimators of scikit-learn 1.9, which an older scikit-learn does not read")
    return pickle.loads((FOLDER / f"{name}.pickle").read_bytes())


@pytest.mark.parametrize("name", NAMES)
def test_a_pickle_of_an_earlier_version_is_read(name: str) -> None:
    assert repr(load(name))


@pytest.mark.parametrize("name", ["0.1/consensus", "0.2/consensus", "0.2/auto"])
def test_a_pickled_consensus_keeps_its_choice(name: str) -> None:
    result = load(name)
    result = getattr(result, "consensus_", result)
    assert result.info["choice"].n_clusters == result.n_clusters
    assert "clusters" in str(result.info["choice"])


@pytest.mark.parametrize(
    "name",
    ["0.1/kmeans", "0.1/mixed", "0.2/kmeans", "0.2/mixed", "0.2/spectral", "0.2/bagging", "0.2/robust", "0.2/auto"],
)
def test_a_pickled_estimator_places_the_objects_it_was_fitted_to(name: str) -> None:
    X = datasets.eight_d_five_k(60, random_state=0).X
    model = load(name)
    assert np.array_equal(model.predict(X), model.labels_)
    assert model.transform(X).shape == (60, model.labels_.max() + 1)

"""scikit-learn's own checks on our estimators, and what they do not ask."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_laws import noisy

from quorate import METHODS, ConsensusClustering, consensus

NOT_FOR_LABELS = {
    "check_clustering": "clusters standardised measurements; X is a table of labels, where negative ones are errors",
}


@parametrize_with_checks([ConsensusClustering(random_state=0)], expected_failed_checks=lambda estimator: NOT_FOR_LABELS)
def test_scikit_learn_checks(estimator, check):  # type: ignore[no-untyped-def]
    check(estimator)


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
    estimator = ConsensusClustering(3, method_options={"max_iter": 1}, missing=0, weights=np.ones(6), random_state=0)
    assert clone(estimator).fit(labels).consensus_.n_iter == 1
    with pytest.raises(ValueError, match="weights must have one value a member"):
        ConsensusClustering(3, weights=[1, 2]).fit(labels)


def test_takes_data_frames_of_text() -> None:
    frame = pd.DataFrame({"a": ["x", "x", "y", "y"], "b": ["u", "u", "v", None]})
    estimator = ConsensusClustering(2, random_state=0)
    assert estimator.fit_predict(frame).tolist() == [0, 0, 1, 1]
    assert list(estimator.feature_names_in_) == ["a", "b"]

"""scikit-learn estimators: thin wrappers around the verbs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import validate_data

from quorate._consensus import DEFAULT_METHOD, MAX_BYTES, consensus
from quorate._ensemble import as_ensemble
from quorate._missing import DEFAULT
from quorate._types import Consensus


class ConsensusClustering(ClusterMixin, BaseEstimator):
    """One labelling out of many, as a scikit-learn clusterer whose X is a table of labels.

    Parameters
    ----------
    n_clusters : int, "auto", (low, high) or None, default 2
        None where the method finds the number itself; "auto" or a range leaves the choice to `quorate.choose_k`.
    method : str, default "kmeans"
        A name in METHODS.
    method_options : dict, optional
        The method's own options.
    missing : value or list of values, default -1
        What stands for a missing label, beside nulls.
    weights : array of shape (n_members,), optional
        Member weights.
    random_state : None, int or RandomState
        One seed, one answer.
    max_bytes : int
        A quadratic method is refused above this.

    Attributes
    ----------
    labels_ : int32 array of shape (n_objects,)
    confidence_ : float64 array of shape (n_objects,) or None
    consensus_ : Consensus
    n_features_in_ : int
        Number of members.

    Notes
    -----
    X is always (n_objects, n_members), also where members are more than objects: an estimator cannot ask back.
    X may be a data frame with text columns. Floats are labels like any others.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 1, 0], [0, 1, 0], [1, 0, 2], [1, 0, -1]])
    >>> ConsensusClustering(n_clusters=2, random_state=0).fit_predict(X)
    array([0, 0, 1, 1], dtype=int32)
    """

    def __init__(
        self,
        n_clusters: int | str | tuple[int, int] | None = 2,
        *,
        method: str = DEFAULT_METHOD,
        method_options: Mapping[str, Any] | None = None,
        missing: Any = DEFAULT,
        weights: Any = None,
        random_state: Any = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.method_options = method_options
        self.missing = missing
        self.weights = weights
        self.random_state = random_state
        self.max_bytes = max_bytes

    def fit(self, X: Any, y: Any = None) -> ConsensusClustering:
        """Find the consensus of the labels in X, one column a member; y is ignored, as scikit-learn wants it."""
        # records n_features_in_ and feature names; the labels themselves are checked by as_ensemble
        validate_data(self, X, skip_check_array=True)
        shape = getattr(X, "shape", (1, 1))
        if len(shape) != 2:
            raise ValueError(f"X must be (n_objects, n_members), got shape {shape}; one labelling: reshape(-1, 1).")
        if shape[1] == 0:
            raise ValueError(f"X has no member: 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
        ensemble = as_ensemble(X, missing=self.missing, weights=self.weights, orientation="objects")
        self.consensus_: Consensus = consensus(
            ensemble,
            self.n_clusters,
            method=self.method,
            random_state=self.random_state,
            max_bytes=self.max_bytes,
            **(self.method_options or {}),
        )
        self.labels_ = self.consensus_.labels
        self.confidence_ = self.consensus_.confidence
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.positive_only = True
        return tags

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray[Any, np.dtype[np.int32]]:
        """Fit and return labels_."""
        labels: np.ndarray[Any, np.dtype[np.int32]] = self.fit(X, y).labels_
        return labels

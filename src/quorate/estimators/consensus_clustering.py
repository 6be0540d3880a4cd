"""ConsensusClustering, a scikit-learn estimator whose X is a table of labels."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from quorate import _check
from quorate._check import brief
from quorate._consensus.confidence import kept_scale
from quorate._consensus.consensus import consensus
from quorate._consensus.place import Places, cluster_profiles, ensemble_of_rows, match_rows, place_new, unplaced_words
from quorate._data.coding import DEFAULT
from quorate._data.ensemble import as_ensemble
from quorate._data.rows import compress
from quorate._solve.run_method import DEFAULT_METHOD
from quorate._types import MAX_BYTES, Consensus, Ensemble


class ConsensusClustering(ClusterMixin, BaseEstimator):
    """Consensus of many labellings, as a scikit-learn clusterer whose X is a table of labels.

    Parameters
    ----------
    n_clusters : int, "auto", (low, high) or None, default None
        With "auto", None or a range, `quorate.choose_k` chooses the number, as `quorate.consensus` does; None leaves it
        to a method that was named and finds the number itself, such as "eac". Until version 0.2 the default was 2.
    method : str, default "auto"
        A name in METHODS.
    method_options : dict, optional
        Further options of the method; ``{"confidence": False}`` leaves the confidence out.
    missing : value or list of values, default -1
        The values that stand for a missing label, beside nulls.
    weights : array of shape (n_members,) or "auto", optional
        Positive weights of the members; 1 each by default; "auto" learns them, as `as_ensemble` says.
    random_state : None, int or RandomState
        The same seed gives the same result.
    max_bytes : int
        A method that would need more memory than this raises a MemoryError before it starts.
    progress : bool
        Whether to show the step and the time left on standard error.
    min_size : int, default 1
        The least number of objects in a cluster; smaller ones are joined to the most similar one, as in `consensus`.
    max_clusters : int, optional
        The highest number of clusters, as in `consensus`.

    Attributes
    ----------
    labels_ : int32 array of shape (n_objects,)
        The cluster of each object.
    confidence_ : float64 array of shape (n_objects,) or None
        The estimated probability that the same procedure would place the object in the same cluster on a fresh
        ensemble.
    n_clusters_ : int
        Number of clusters found.
    consensus_ : Consensus
        The whole result.
    n_features_in_ : int
        Number of members.

    See Also
    --------
    consensus : The same without scikit-learn.
    EnsembleClustering : Takes measurements instead of labels.

    Notes
    -----
    X always has the shape (n_objects, n_members), also if there are more members than objects, which `as_ensemble`
    would refuse. X may be a data frame with text columns. Floats are labels like any others, as scikit-learn expects;
    use `EnsembleClustering` for measurements.

    `predict` places new objects as `quorate.place` does: a new object takes the cluster of the training objects that
    have the same labels; if there are none, the cluster with which it has the highest mean co-association. Columns are
    matched by name in data frames, otherwise by place. Labels that were not seen in training count as missing, with a
    warning. An object without any label seen in training gets -1.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 1, 0], [0, 1, 0], [1, 0, 2], [1, 0, -1]])
    >>> ConsensusClustering(n_clusters=2, random_state=0).fit_predict(X)
    array([0, 0, 1, 1], dtype=int32)
    """

    # estimators that were pickled before these existed have no values of their own for them
    progress: bool = False
    min_size: int = 1
    max_clusters: int | None = None

    def __init__(
        self,
        n_clusters: int | str | tuple[int, int] | None = None,
        *,
        method: str = DEFAULT_METHOD,
        method_options: Mapping[str, Any] | None = None,
        missing: Any = DEFAULT,
        weights: Any = None,
        random_state: Any = None,
        max_bytes: int = MAX_BYTES,
        progress: bool = False,
        min_size: int = 1,
        max_clusters: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.method_options = method_options
        self.missing = missing
        self.weights = weights
        self.random_state = random_state
        self.max_bytes = max_bytes
        self.progress = progress
        self.min_size = min_size
        self.max_clusters = max_clusters

    def fit(self, X: Any, y: Any = None) -> ConsensusClustering:
        """Find the consensus of the labels in X, one column per member; y is ignored, as scikit-learn expects."""
        _check.no_anndata(X, "X")
        if isinstance(X, Ensemble):
            raise TypeError("X must be a table of labels, got an Ensemble; call consensus(ensemble) instead.")
        # records n_features_in_ and feature names; the labels themselves are checked by as_ensemble
        try:
            validate_data(self, X, skip_check_array=True)
        except (IndexError, KeyError):
            raise ValueError(f"X must be a table of labels, (n_objects, n_members), got {brief(X)}.") from None
        shape = getattr(X, "shape", (1, 1))
        if len(shape) != 2:
            raise ValueError(f"X must be (n_objects, n_members), got shape {shape}; one labelling: reshape(-1, 1).")
        if shape[1] == 0:
            raise ValueError(f"X has no member: 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
        index = getattr(X, "index", None)
        if not getattr(index, "is_unique", True):
            # a bootstrap sample of a data frame repeats its index; labels_ follow the rows, as in scikit-learn
            X = X.reset_index(drop=True)
        ensemble = as_ensemble(X, missing=self.missing, weights=self.weights, orientation="objects", check=False)
        self.consensus_: Consensus = consensus(
            ensemble,
            self.n_clusters,
            method=self.method,
            random_state=self.random_state,
            max_bytes=self.max_bytes,
            progress=self.progress,
            min_size=self.min_size,
            max_clusters=self.max_clusters,
            **(self.method_options or {}),
        )
        self.labels_ = self.consensus_.labels
        self.confidence_ = self.consensus_.confidence
        self.n_clusters_ = self.consensus_.n_clusters
        # the columns that count; all of them unless weights are learnt
        names = list(ensemble.info.get("weights", ensemble.member_names))
        self._columns = [names.index(name) for name in ensemble.member_names]
        rows, inverse = compress(ensemble)
        labels = np.empty(rows.n_rows, dtype=np.int32)
        labels[inverse] = self.labels_
        self._places = Places(rows, labels, cluster_profiles(rows, labels), kept_scale(self.consensus_))
        return self

    def predict(self, X: Any) -> np.ndarray[Any, np.dtype[np.int32]]:
        """Return the cluster of each object of X, new or known; -1 for an object without any label seen in training."""
        check_is_fitted(self)
        shape = np.shape(X)
        if len(shape) != 2:
            raise ValueError(f"X must be (n_objects, n_members), got shape {shape}. Reshape your data: reshape(-1, 1).")
        validate_data(self, X, skip_check_array=True, reset=False)
        names = getattr(self, "feature_names_in_", None)
        table = X if hasattr(X, "columns") and names is not None else np.asarray(X)
        new = match_rows(self._places.rows, self._counted(table), self.missing)
        placement = place_new(self._places, new, None)
        if new.unknown:
            counts = ", ".join(f"{name}: {count:,}" for name, count in new.unknown.items())
            warnings.warn(f"labels not seen in training count as missing ({counts}).", UserWarning, stacklevel=2)
        if placement.n_unplaced:
            warnings.warn(unplaced_words(placement.n_unplaced, len(placement.labels)), UserWarning, stacklevel=2)
        return placement.labels

    def ensemble_of(self, X: Any) -> Ensemble:
        """Return the labels of X as an Ensemble, read as `fit` reads them, without members that label nothing in X."""
        table = self._counted(X if hasattr(X, "columns") else np.asarray(X))
        return ensemble_of_rows(table, self.missing, self._places.rows.weights)

    def _counted(self, table: Any) -> Any:
        """Return the table without the columns that learnt weights left out."""
        if len(self._columns) == self.n_features_in_:
            return table
        if hasattr(table, "columns"):
            names = list(table.columns)
            return table[[names[place] for place in self._columns]]
        return table[:, self._columns]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.positive_only = True
        return tags

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray[Any, np.dtype[np.int32]]:
        """Fit and return `labels_`."""
        labels: np.ndarray[Any, np.dtype[np.int32]] = self.fit(X, y).labels_
        return labels

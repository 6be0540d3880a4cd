"""scikit-learn estimators: thin wrappers around `consensus`, `generate` and `place`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from quorate import _check
from quorate._check import brief
from quorate._consensus.auto import DEFAULT_METHOD
from quorate._consensus.confidence import kept_scale
from quorate._consensus.consensus import consensus, solve_objects
from quorate._consensus.placement import cluster_profiles, memberships, place_rows, recode
from quorate._consensus.placing import Places, ensemble_of_rows, match_rows, place_new, unplaced_words
from quorate._consensus.run_method import MAX_BYTES
from quorate._data.compression import compress
from quorate._data.ensemble import as_ensemble
from quorate._data.missing import DEFAULT
from quorate._data.sparse import prove_sparse
from quorate._device.device_arrays import copied_in_kind, lives_on_card
from quorate._types import Consensus, Ensemble
from quorate.generation.features import Features, as_features
from quorate.generation.generating import features_for, generate_with_models
from quorate.generation.plans import Request, base_towards, entropy_of, k_towards
from quorate.generation.runner import Options
from quorate.generation.trial import method_towards


class ConsensusClustering(ClusterMixin, BaseEstimator):
    """Consensus of many labellings, as a scikit-learn clusterer whose X is a table of labels.

    Parameters
    ----------
    n_clusters : int, "auto", (low, high) or None, default 2
        None if the method finds the number itself; with "auto" or a range, `quorate.choose_k` chooses the number.
    method : str, default "auto"
        A name in METHODS.
    method_options : dict, optional
        Further options of the method; ``{"confidence": False}`` leaves the confidence out.
    missing : value or list of values, default -1
        The values that stand for a missing label, beside nulls.
    weights : array of shape (n_members,), optional
        Positive weights of the members; 1 each by default.
    random_state : None, int or RandomState
        The same seed gives the same result.
    max_bytes : int
        A method that would need more memory than this raises a MemoryError before it starts.

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
        """Find the consensus of the labels in X, one column per member; y is ignored, as scikit-learn expects."""
        _check.no_anndata(X, "X")
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
            **(self.method_options or {}),
        )
        self.labels_ = self.consensus_.labels
        self.confidence_ = self.consensus_.confidence
        self.n_clusters_ = self.consensus_.n_clusters
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
        new = match_rows(self._places.rows, table, self.missing)
        placement = place_new(self._places, new, None)
        if new.unknown:
            counts = ", ".join(f"{name}: {count:,}" for name, count in new.unknown.items())
            warnings.warn(f"labels not seen in training count as missing ({counts}).", UserWarning, stacklevel=2)
        if placement.n_unplaced:
            warnings.warn(unplaced_words(placement), UserWarning, stacklevel=2)
        return placement.labels

    def ensemble_of(self, X: Any) -> Ensemble:
        """Return the labels of X as an Ensemble, read as `fit` reads them, without members that label nothing in X."""
        return ensemble_of_rows(X if hasattr(X, "columns") else np.asarray(X), self.missing, self.weights)

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


class EnsembleClustering(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Cluster measurements X many times, and find the consensus of these clusterings.

    Parameters
    ----------
    n_clusters : int or None, default 2
        None if the method finds the number itself.
    n_members : int, default 20
        Number of clusterings.
    k, base, rows, columns
        As for `generate`: the number of clusters of each member, the clusterer, and the share of the objects and
        columns that each member gets. By default the members are k-means or spectral clusterings, whichever suit the
        data (``ensemble_.info["base"]`` gives the reason), and their numbers of clusters are derived from n_clusters.
        Without n_clusters the members are k-means clusterings.
    method : str, default "auto"
        The consensus function, a name in METHODS. By default the trial that chooses the members also chooses among
        "lwgp", "transfer" and "lwea" (``ensemble_.info["base"]`` gives the reason); without a trial it is chosen as
        in `consensus`.
    method_options : dict, optional
        Further options of the method; ``{"confidence": False}`` leaves the confidence out.
    random_state : None, int or RandomState
        The same seed gives the same result.
    n_jobs, device
        As for `generate`. If X lives on a card, `labels_` and `confidence_` are arrays of the same library.

    Attributes
    ----------
    labels_ : int32 array of shape (n_objects,)
        The cluster of each object.
    confidence_ : float64 array of shape (n_objects,) or None
        The estimated probability that the same procedure would place the object in the same cluster on a fresh
        ensemble.
    n_clusters_ : int
        Number of clusters found.
    ensemble_ : Ensemble
        The clusterings; ``ensemble_.info`` says how each was made.
    consensus_ : Consensus
        The whole result.
    n_features_in_ : int
        Number of columns of X.

    See Also
    --------
    generate : Makes the clusterings alone.
    ConsensusClustering : Takes labels instead of measurements.

    Notes
    -----
    `predict` works in two steps. First each member labels the new objects: a k-means member by the nearest centre; a
    spectral member links the object with its nearest landmarks and takes the centre nearest to their points; any
    other clusterer by its own `predict`, or if it has none by the nearest mean of its clusters. Then an object takes
    the cluster of the training objects that have the same row of labels; if there are none, the cluster with which
    it has the highest mean co-association. So `predict` of the training objects returns `labels_` again, unless the
    members were made from a share of the objects.

    `transform` returns the mean co-association of each object with each cluster, from 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.concatenate([np.random.default_rng(0).normal(m, 1, size=(100, 2)) for m in (0, 6, 12)])
    >>> model = EnsembleClustering(3, random_state=0).fit(X)
    >>> np.bincount(model.labels_).tolist(), model.predict([[12.0, 11.0], [0.5, 0.0]]).tolist()
    ([100, 100, 100], [2, 0])
    """

    def __init__(
        self,
        n_clusters: int | None = 2,
        *,
        n_members: int = 20,
        k: Any = None,
        base: Any = "auto",
        rows: Any = 1.0,
        columns: Any = 1.0,
        method: str = DEFAULT_METHOD,
        method_options: Mapping[str, Any] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_members = n_members
        self.k = k
        self.base = base
        self.rows = rows
        self.columns = columns
        self.method = method
        self.method_options = method_options
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device

    def fit(self, X: Any, y: Any = None) -> EnsembleClustering:
        """Cluster X many times and find the consensus; y is ignored, as scikit-learn expects."""
        entropy = entropy_of(self.random_state)
        k = k_towards(self.k, self.base, self.n_clusters)
        base = base_towards(self.base, self.n_clusters)
        request = Request(self.n_members, k, base, self.rows, self.columns)
        options = Options(self.n_jobs, False, "", None, keep_models=True, or_processor=self.device == "auto")
        features, card = self._features_and_card(X)
        self.ensemble_, self._models = generate_with_models(features, request, entropy, options, card=card)
        seed = np.random.SeedSequence(entropy, spawn_key=(2**32 - 2,))
        chosen = self.method_options or {}
        method = self.method if chosen else method_towards(self.method, self.ensemble_, self.n_clusters)
        solved = solve_objects(self.ensemble_, self.n_clusters, method=method, random_state=seed, **chosen)
        self.consensus_: Consensus = solved.objects
        self.labels_ = self.consensus_.labels
        self.confidence_ = self.consensus_.confidence
        self.n_clusters_ = self.consensus_.n_clusters
        self._rows, row_labels = cast(Ensemble, solved.ensemble), solved.rows.labels
        self._row_labels = row_labels if isinstance(row_labels, np.ndarray) else self._rows.card.to_host(row_labels)
        self._profiles = cluster_profiles(self._rows, self._row_labels)
        self._n_features_out = solved.rows.n_clusters
        return self

    def predict(self, X: Any) -> np.ndarray[Any, np.dtype[np.int32]]:
        """Return the cluster of each object of X, new or known."""
        check_is_fitted(self)
        placed = place_rows(self._rows, self._row_labels, self._profiles, self._codes(X))
        return placed if not lives_on_card(X) else copied_in_kind(placed, X)

    def transform(self, X: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the mean co-association of each object of X with each cluster, of shape (n_objects, n_clusters)."""
        check_is_fitted(self)
        return memberships(self._profiles, self._rows.offsets, self._codes(X))

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray[Any, np.dtype[np.int32]]:
        """Fit and return `labels_`."""
        labels: np.ndarray[Any, np.dtype[np.int32]] = self.fit(X, y).labels_
        return labels

    def ensemble_of(self, X: Any) -> Ensemble:
        """Return the labels that the fitted members give the objects of X, as an Ensemble."""
        check_is_fitted(self)
        return ensemble_of_rows(self._codes(X), DEFAULT)

    def _codes(self, X: Any) -> Any:
        """Return the labels that the members give each object of X, one row per object, as codes of the ensemble."""
        shift, scale = self._units
        features = replace(self._features(X, reset=False), shift=shift, scale=scale)
        raw = np.stack([model.labels(features) for model in self._models], axis=1)
        return recode(self._rows, raw)

    def _features_and_card(self, X: Any) -> tuple[Features, Any]:
        """Return the features to fit, and the card that members are made on; None is the processor."""
        if lives_on_card(X):
            features, card = features_for(X, self.device)
            self._units = features.shift, features.scale
            self.n_features_in_ = features.n_columns
            return features, card
        features = self._features(X, reset=True)
        if self.device in (None, "cpu"):
            return features, None
        return features_for(features, self.device)

    def _features(self, X: Any, *, reset: bool) -> Features:
        _check.no_anndata(X, "X")
        if lives_on_card(X):
            features = features_for(X, None)[0]
            if features.n_columns != self.n_features_in_:
                raise ValueError(f"X must have {self.n_features_in_} columns as in fit, got {features.n_columns}.")
            return features
        if hasattr(X, "tocsr"):
            prove_sparse(X)
        data = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset)
        features = as_features(data)
        if reset:
            # the centres of the members are in these units, and new objects must be converted to them
            self._units = features.shift, features.scale
        names = getattr(self, "feature_names_in_", None)
        return features if names is None else replace(features, names=tuple(str(name) for name in names))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

"""scikit-learn estimators: thin wrappers around the verbs."""

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
from quorate._consensus.consensus import consensus, solve_objects
from quorate._consensus.placement import cluster_profiles, memberships, place_rows, recode
from quorate._consensus.placing import Places, ensemble_of_rows, match_rows, place_new, unplaced_words
from quorate._consensus.run_method import MAX_BYTES
from quorate._data.compression import compress
from quorate._data.ensemble import as_ensemble
from quorate._data.missing import DEFAULT
from quorate._data.sparse import prove_sparse
from quorate._types import Consensus, Ensemble
from quorate.generation.features import Features, as_features
from quorate.generation.generating import generate_with_models
from quorate.generation.plans import Request, base_towards, entropy_of, k_towards
from quorate.generation.runner import Options


class ConsensusClustering(ClusterMixin, BaseEstimator):
    """One labelling out of many, as a scikit-learn clusterer whose X is a table of labels.

    Parameters
    ----------
    n_clusters : int, "auto", (low, high) or None, default 2
        None where the method finds the number itself; "auto" or a range leaves the choice to `quorate.choose_k`.
    method : str, default "auto"
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
    n_clusters_ : int
        Number of clusters found.
    consensus_ : Consensus
    n_features_in_ : int
        Number of members.

    Notes
    -----
    X is always (n_objects, n_members), also where members are more than objects: an estimator cannot ask back.
    X may be a data frame with text columns. Floats are labels like any others, as scikit-learn wants it: measurements
    belong into `EnsembleClustering`.

    `predict` places new objects as `quorate.place` does: by the cluster of training objects with the same labels, else
    by the highest mean co-association. Columns are matched by name in data frames, by place otherwise; labels that
    were not seen in training count as missing, with a warning. An object without any label seen in training gets -1.

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
            # a bootstrap sample of a data frame: scikit-learn goes by rows, and so do labels_
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
        self._places = Places(rows, labels, cluster_profiles(rows, labels))
        return self

    def predict(self, X: Any) -> np.ndarray[Any, np.dtype[np.int32]]:
        """The cluster of each object of X, new or known; -1 for one without any label seen in training."""
        check_is_fitted(self)
        shape = np.shape(X)
        if len(shape) != 2:
            raise ValueError(f"X must be (n_objects, n_members), got shape {shape}. Reshape your data: reshape(-1, 1).")
        validate_data(self, X, skip_check_array=True, reset=False)
        names = getattr(self, "feature_names_in_", None)
        table = X if hasattr(X, "columns") and names is not None else np.asarray(X)
        new = match_rows(self._places.rows, table, self.missing)
        found = place_new(self._places, new, None)
        if new.unknown:
            told = ", ".join(f"{name}: {count:,}" for name, count in new.unknown.items())
            warnings.warn(f"labels not seen in training count as missing ({told}).", UserWarning, stacklevel=2)
        if found.n_unplaced:
            warnings.warn(unplaced_words(found), UserWarning, stacklevel=2)
        return found.labels

    def ensemble_of(self, X: Any) -> Ensemble:
        """The labels of X as an Ensemble, read as `fit` reads them; members that label nothing in X are left out."""
        return ensemble_of_rows(X if hasattr(X, "columns") else np.asarray(X), self.missing, self.weights)

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


class EnsembleClustering(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Features in, one labelling out: many clusterings of X, and their consensus.

    Parameters
    ----------
    n_clusters : int or None, default 2
        None where the method finds the number itself.
    n_members : int, default 20
        Number of clusterings.
    k, base, rows, columns
        As for `generate`: how many clusters each member has, what clusters, what each member sees. By default k-means
        or spectral members are taken, whichever suit the data (``ensemble_.info["base"]`` says why), and the rule of k
        that goes with them starts from n_clusters; without n_clusters, k-means members.
    method : str, default "auto"
        The consensus function, a name in METHODS.
    method_options : dict, optional
        Its own options.
    random_state : None, int or RandomState
        One seed, one answer.
    n_jobs : int, optional
        As for `generate`.

    Attributes
    ----------
    labels_ : int32 array of shape (n_objects,)
    confidence_ : float64 array of shape (n_objects,) or None
    n_clusters_ : int
        Number of clusters found.
    ensemble_ : Ensemble
        The clusterings; ``ensemble_.info`` says how each was made.
    consensus_ : Consensus
    n_features_in_ : int

    Notes
    -----
    `predict` lets each member label the new objects and takes the consensus of that row of labels: its label
    where a training object has the same row, else the cluster with the highest mean co-association. A member of
    the built-in k-means takes the nearest centre; a spectral member links the object with its nearest landmarks and
    takes the nearest centre among their points; another clusterer its own `predict` where it has one, else the
    nearest mean of its clusters. So `predict` of the training objects gives `labels_` again, unless members saw
    only a share of them.

    `transform` gives each object's mean co-association with each cluster, from 0 to 1.

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

    def fit(self, X: Any, y: Any = None) -> EnsembleClustering:
        """Cluster X many times and find the consensus; y is ignored, as scikit-learn wants it."""
        entropy = entropy_of(self.random_state)
        k = k_towards(self.k, self.base, self.n_clusters)
        base = base_towards(self.base, self.n_clusters)
        request = Request(self.n_members, k, base, self.rows, self.columns)
        options = Options(self.n_jobs, progress=False, title="", checkpoint=None, keep_models=True)
        self.ensemble_, self._models = generate_with_models(self._features(X, reset=True), request, entropy, options)
        seed = np.random.SeedSequence(entropy, spawn_key=(2**32 - 2,))
        chosen = self.method_options or {}
        solved = solve_objects(self.ensemble_, self.n_clusters, method=self.method, random_state=seed, **chosen)
        self.consensus_: Consensus = solved.objects
        self.labels_ = self.consensus_.labels
        self.confidence_ = self.consensus_.confidence
        self.n_clusters_ = self.consensus_.n_clusters
        self._rows, self._row_labels = cast(Ensemble, solved.ensemble), solved.rows.labels
        self._profiles = cluster_profiles(self._rows, self._row_labels)
        self._n_features_out = solved.rows.n_clusters
        return self

    def predict(self, X: Any) -> np.ndarray[Any, np.dtype[np.int32]]:
        """The cluster of each object of X, new or known."""
        check_is_fitted(self)
        return place_rows(self._rows, self._row_labels, self._profiles, self._codes(X))

    def transform(self, X: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Mean co-association of each object of X with each cluster, (n_objects, n_clusters)."""
        check_is_fitted(self)
        return memberships(self._profiles, self._rows.offsets, self._codes(X))

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray[Any, np.dtype[np.int32]]:
        """Fit and return labels_."""
        labels: np.ndarray[Any, np.dtype[np.int32]] = self.fit(X, y).labels_
        return labels

    def ensemble_of(self, X: Any) -> Ensemble:
        """The labels that the fitted members give the objects of X, as an Ensemble."""
        check_is_fitted(self)
        return ensemble_of_rows(self._codes(X), DEFAULT)

    def _codes(self, X: Any) -> Any:
        """The row of labels the members give each object of X, in the ensemble's codes."""
        shift, scale = self._units
        features = replace(self._features(X, reset=False), shift=shift, scale=scale)
        raw = np.stack([model.labels(features) for model in self._models], axis=1)
        return recode(self._rows, raw)

    def _features(self, X: Any, *, reset: bool) -> Features:
        _check.no_anndata(X, "X")
        if hasattr(X, "tocsr"):
            prove_sparse(X)
        data = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset)
        features = as_features(data)
        if reset:
            # centres are kept in these units, and new objects must come to them
            self._units = features.shift, features.scale
        names = getattr(self, "feature_names_in_", None)
        return features if names is None else replace(features, names=tuple(str(name) for name in names))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

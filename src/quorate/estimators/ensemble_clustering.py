"""EnsembleClustering, a scikit-learn estimator that makes clusterings of measurements and combines them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from quorate import _check
from quorate._choose_k.choose_k import within_limit
from quorate._choose_k.explore import chooses_number, explore
from quorate._consensus.consensus import solve_objects
from quorate._consensus.place import cluster_profiles, ensemble_of_rows, place_rows, recode, shared_with_clusters
from quorate._data.coding import DEFAULT
from quorate._data.labelling import Labelling
from quorate._data.mixed_columns import MixedColumns, mixed_columns
from quorate._data.proof import prove_sparse
from quorate._data.rows import expand
from quorate._data.tables import in_memory
from quorate._data.typed_columns import TypedTable, typed_table
from quorate._device.choose import copied_in_kind, lives_on_card, on_host
from quorate._evaluation.explanation import Explanation, explained
from quorate._progress import steps
from quorate._solve.run_method import DEFAULT_METHOD
from quorate._stream.measurements import drawn_numbers, fit_blocks, holds_blocks, is_dask, sample_blocks
from quorate._trust.agreement import checked_draws
from quorate._trust.reference import judging, reference_of
from quorate._types import Consensus, Ensemble, Solving
from quorate.generation.features import SCALES, WHOLE, Features, Standard, as_features, standardised, warn_of_scales
from quorate.generation.generating import features_for, generate_with_models
from quorate.generation.plans import Request, entropy_of
from quorate.generation.runner import Options
from quorate.generation.trial import method_towards
from quorate.solvers.label_rows import in_host_memory

LIMITS = {"min_size": 1, "max_clusters": None}
"""The options that limit the clusters, as estimators have them that were pickled before these existed."""


class EnsembleClustering(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Cluster measurements X many times, and find the consensus of these clusterings.

    Parameters
    ----------
    n_clusters : int, "auto", (low, high) or None, default None
        With "auto", None or a range the number of clusters is chosen, as described in Notes; with "auto" and None it is
        1 if the measurements have no clusters. None leaves the number to a method that was named and finds it itself.
        Until version 0.2 the default was 2.
        For measurements in blocks or on a card and Dask collections it is chosen on 20,000 objects drawn at random.
    n_members : int, default 20
        Number of clusterings.
    k, base, rows, columns
        As for `generate`: the number of clusters of each member, the clusterer, and the share of the objects and
        columns that each member gets. By default the members are k-means, spectral or Gaussian clusterings, whichever
        suit the data (``ensemble_.info["base"]`` gives the reason), and their numbers of clusters are derived from
        n_clusters. With ``columns="auto"`` X may be a table of columns of any kind in memory: numbers, dates, yes or
        no, categories, with gaps; `columns_` says how they became numbers.
    scale : None or "z", default None
        Whether to standardise the columns of X to mean 0 and standard deviation 1; those of new objects are scaled by
        the means and standard deviations of X. With None a warning says so if one column varies more than 15 times as
        much as the median column. Must be None for sparse X and X in blocks, on a card or of Dask.
    method : str, default "auto"
        The consensus function, a name in METHODS. By default the trial that chooses the members also chooses among
        "lwgp", "transfer" and "lwea" (``ensemble_.info["base"]`` gives the reason); without a trial it is chosen as
        in `consensus`.
    method_options : dict, optional
        Further options of the method; ``{"confidence": False}`` leaves the confidence out.
    reference : "auto", int or None, default "auto"
        Whether to compare the clusters with those of measurements without clusters. An int is a number of draws.
        "auto" draws 1 to 19 times until the answer is clear, but only if the number of clusters is to be chosen.
        ``consensus_.info["reference_test"]`` is the result, and `evaluate` takes it into account.
    random_state : None, int or RandomState
        The same seed gives the same result.
    n_jobs, device, progress
        As for `generate`; progress shows all steps. If X lives on a card, `labels_` and `confidence_` are arrays of
        the same library.
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
    ensemble_ : Ensemble
        The clusterings; ``ensemble_.info`` says how each was made.
    consensus_ : Consensus
        The whole result; if the number of clusters was chosen, ``consensus_.info["choice"]`` says why.
    columns_ : MixedColumns
        With ``columns="auto"``: how the columns of X became numbers, and which were left out; it prints one line.
    profiles_ : Explanation
        The columns of X in which each cluster differs most, at most 50; see `explain`. For X in memory alone.
    n_features_in_ : int
        Number of columns of X.

    See Also
    --------
    generate : Makes the clusterings alone.
    ConsensusClustering : Takes labels instead of measurements.

    Notes
    -----
    `predict` works in two steps. First each member labels the new objects: a k-means member by the nearest centre; a
    spectral member links the object with its nearest landmarks and takes the centre nearest to their points; a
    Gaussian member takes the Gaussian that it most probably comes from; any other clusterer by its own `predict`, or if
    it has none by the nearest mean of its clusters. Then an object takes the cluster of the training objects that have
    the same row of labels; if there are none, the cluster with which it has the highest mean co-association. So
    `predict` of the training objects returns `labels_` again, unless the members were made from a share of the objects.

    `transform` returns the mean co-association of each object with each cluster, from 0 to 1.

    If the number of clusters is to be chosen, spectral members of 20 to 60 clusters are made first (or members as k and
    base say), and numbers are compared by the criteria of `choose_k` and by links between nearest neighbours. The
    clusters of the chosen number are compared with those that the same procedure finds in measurements of the same
    covariance without clusters; if they are separated no better, the answer is 1 cluster. Otherwise the result is the
    same as if this number had been asked for. docs/trust.md says how often this is right.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.concatenate([np.random.default_rng(0).normal(m, 1, size=(100, 2)) for m in (0, 6, 12)])
    >>> model = EnsembleClustering(3, random_state=0).fit(X)
    >>> np.bincount(model.labels_).tolist(), model.predict([[12.0, 11.0], [0.5, 0.0]]).tolist()
    ([100, 100, 100], [2, 0])
    """

    # estimators that were pickled before these existed have no values of their own for them
    reference: Any = "auto"
    scale: str | None = None
    progress: bool = False
    min_size: int = 1
    max_clusters: int | None = None
    _standard: Standard | None = None

    def __init__(
        self,
        n_clusters: int | str | tuple[int, int] | None = None,
        *,
        n_members: int = 20,
        k: Any = None,
        base: Any = "auto",
        rows: Any = 1.0,
        columns: Any = 1.0,
        scale: str | None = None,
        method: str = DEFAULT_METHOD,
        method_options: Mapping[str, Any] | None = None,
        reference: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        device: str | None = None,
        progress: bool = False,
        min_size: int = 1,
        max_clusters: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_members = n_members
        self.k = k
        self.base = base
        self.rows = rows
        self.columns = columns
        self.scale = scale
        self.method = method
        self.method_options = method_options
        self.reference = reference
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.progress = progress
        self.min_size = min_size
        self.max_clusters = max_clusters

    def fit(self, X: Any, y: Any = None) -> EnsembleClustering:
        """Cluster X many times and find the consensus; y is ignored, as scikit-learn expects.

        X may also be measurements that are larger than memory: a path, a pattern such as ``"x/*.parquet"``, a pyarrow
        Dataset or a Zarr array; or a Dask array or data frame, for which `labels_` and `confidence_` are lazy. In both
        cases `ensemble_` holds the distinct rows of labels with counts, and `consensus_` of a Dask collection is that
        of these rows.
        """
        with steps(is_shown=self.progress)("clustering"):
            return self._fit(X, entropy_of(self.random_state))

    def _fit(self, X: Any, entropy: int) -> EnsembleClustering:
        """Do what `fit` does, with this seed."""
        self._check_scale(X)
        X = in_memory(X)
        if is_dask(X) or holds_blocks(X):
            return self._fit_blocks(X, entropy)
        features, card = self._features_and_card(X)
        if self.scale is None and self.columns != "auto":
            warn_of_scales(features, 2)
        n_clusters, info, made = self._number(lambda: features if card is None else _drawn(features, entropy), entropy)
        if made is None or card is not None or self._request(n_clusters) != self._request():
            options = Options(self.n_jobs, keep_models=True, or_processor=self.device == "auto")
            request = self._request(n_clusters).towards(n_clusters)
            made = generate_with_models(features, request, entropy, options, card=card)
        self.ensemble_, self._models = made
        self._solve(self.ensemble_, n_clusters, entropy)
        info |= self._compared(features, info)
        self.consensus_: Consensus = replace(self.consensus_, info={**self.consensus_.info, **info})
        self.labels_: Any = self.consensus_.labels
        self.confidence_: Any = self.consensus_.confidence
        self.profiles_ = None if lives_on_card(X) else self._profiled(X)
        return self

    def _profiled(self, X: Any) -> Explanation:
        """Return what is typical of each cluster, in the units of X."""
        labelling = Labelling(self.labels_, np.arange(self.n_clusters_))
        if self.columns == "auto":
            return explained(labelling, typed_table(X), 50)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"column {place}" for place in range(self.n_features_in_)]
        matrix = X if hasattr(X, "tocsr") else np.asarray(X)
        table = TypedTable((), {}, len(self.labels_), matrix=matrix, matrix_names=tuple(map(str, names)))
        return explained(labelling, table)

    def _check_scale(self, X: Any) -> None:
        """Refuse a scale that is not known, or that cannot be applied to X; likewise columns="auto"."""
        self._standard = None
        if self.columns == "auto":
            if self.scale is not None:
                raise ValueError("scale must be None with columns='auto', which scales each column by itself.")
            if is_dask(X) or holds_blocks(X) or lives_on_card(X) or hasattr(X, "tocsr"):
                raise ValueError(
                    "columns='auto' takes a table or an array in memory; X is in blocks, sparse or on a card."
                )
        if self.scale is None:
            return
        _check.choice(self.scale, "scale", SCALES, "or None")
        if is_dask(X) or holds_blocks(X) or lives_on_card(X):
            raise ValueError("scale must be None for X in blocks, on a card or of Dask; scale the columns of X first.")

    def _request(self, n_clusters: int | None = None) -> Request:
        """Return what members are made of; those of a table with categories depend on the number of clusters."""
        if self.columns != "auto":
            return Request(self.n_members, self.k, self.base, self.rows, self.columns)
        base, k = self.columns_.members(self.base, self.k, n_clusters)
        return Request(self.n_members, k, base, self.rows, 1.0)

    def _fit_blocks(self, X: Any, entropy: int) -> EnsembleClustering:
        """Do what `fit` does for measurements that are read in blocks, or that a Dask collection holds."""
        n_clusters, info, _ = self._number(lambda: as_features(_sample(X, entropy)), entropy)
        if is_dask(X):
            self._fit_dask(X, n_clusters, entropy)
            self.consensus_ = replace(self.consensus_, info={**self.consensus_.info, **info})
            return self
        read = fit_blocks(X, self._request().towards(n_clusters), entropy)
        self.ensemble_, self._models = read.ensemble, read.members.models
        seen = read.members.features
        self._units, self.n_features_in_ = (seen.shift, seen.scale), seen.n_columns
        self._solve(read.ensemble, n_clusters, entropy)
        expanded = expand(self.consensus_, read.rows)
        self.consensus_ = replace(expanded, info={**expanded.info, **info})
        self.labels_, self.confidence_ = self.consensus_.labels, self.consensus_.confidence
        return self

    def _fit_dask(self, X: Any, n_clusters: int | None, entropy: int) -> None:
        """Do what `fit` does for a Dask collection."""
        from quorate.dask import fit_members

        made, members = fit_members(X, self._request().towards(n_clusters), entropy)
        self.ensemble_, self._models = made.ensemble, members.models
        self._units, self.n_features_in_ = (members.features.shift, members.features.scale), members.features.n_columns
        self._solve(made.ensemble, n_clusters, entropy)
        self.labels_ = made.spread.array(self.consensus_.labels)
        self.confidence_ = None
        if self.consensus_.confidence is not None:
            self.confidence_ = made.spread.array(self.consensus_.confidence)

    def _solve(self, ensemble: Ensemble, n_clusters: int | None, entropy: int) -> None:
        """Find the consensus of an ensemble, and keep what `predict` and `transform` need."""
        seed = np.random.SeedSequence(entropy, spawn_key=(2**32 - 2,))
        # options belong to the method that was named
        method = self.method if self.method_options else method_towards(self.method, ensemble, n_clusters)
        solved = solve_objects(ensemble, n_clusters, replace(self._solving(), method=method, random_state=seed))
        self.consensus_ = solved.objects
        self.n_clusters_ = self.consensus_.n_clusters
        self._rows, row_labels = cast(Ensemble, solved.ensemble), solved.rows.labels
        self._row_labels = in_host_memory(self._rows, row_labels)
        self._profiles = cluster_profiles(self._rows, self._row_labels)
        self._n_features_out = solved.rows.n_clusters

    def _solving(self) -> Solving:
        """Return the consensus function with its options."""
        limits = Solving(self.method, min_size=self.min_size, max_clusters=self.max_clusters)
        return limits.with_options(self.method_options or {})

    def _number(
        self, read: Callable[[], Features], entropy: int
    ) -> tuple[int | None, dict[str, Any], tuple[Ensemble, list[Any]] | None]:
        """Return the number of clusters, chosen if it is to be chosen, and what the result tells about the choice.

        Last come the members of all objects, with their models, if they were made to choose the number.
        """
        draws = checked_draws(self.reference)
        within_limit(self.n_clusters, self._solving().max_clusters)
        if not chooses_number(self.n_clusters, self.method):
            return None if self.n_clusters is None else _check.integer(self.n_clusters, "n_clusters", low=1), {}, None
        explored = explore(
            read(),
            self._request(),
            self.n_clusters,
            entropy=entropy,
            solving=self._solving(),
            n_jobs=self.n_jobs,
            judge=judging(draws),
        )
        return explored.choice.n_clusters, explored.info(), explored.made()

    def _compared(self, features: Features, info: Mapping[str, Any]) -> dict[str, Any]:
        """Return the comparison with measurements without clusters if it was asked for and is not in the info yet."""
        draws = checked_draws(self.reference)
        if draws is None or self.reference == "auto" or "reference_test" in info:
            return {}
        reference = reference_of(self.consensus_, on_host(self.consensus_.labels), self.ensemble_, features, draws)
        return {} if reference is None else {"reference_test": dict(reference._asdict())}

    def predict(self, X: Any) -> np.ndarray[Any, np.dtype[np.int32]]:
        """Return the cluster of each object of X, new or known; lazily if X is a Dask array."""
        check_is_fitted(self)
        if is_dask(X):
            lazy: Any = X.map_blocks(self.predict, dtype=np.int32, drop_axis=1, meta=np.empty(0, dtype=np.int32))
            return cast("np.ndarray[Any, np.dtype[np.int32]]", lazy)
        placed = place_rows(self._rows, self._row_labels, self._profiles, self._codes(X))
        return cast("np.ndarray[Any, np.dtype[np.int32]]", copied_in_kind(placed, X))

    def transform(self, X: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the mean co-association of each object of X with each cluster, of shape (n_objects, n_clusters)."""
        check_is_fitted(self)
        return shared_with_clusters(self._profiles, self._rows.offsets, self._codes(X))

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
        _check.no_mask(X, "X")
        if lives_on_card(X):
            features = features_for(X, None)[0]
            if features.n_columns != self.n_features_in_:
                raise ValueError(
                    f"X must have {_check.counted(self.n_features_in_, 'column')} as in fit, got {features.n_columns}."
                )
            return features
        if self.columns == "auto":
            return self._mixed_features(X, reset=reset)
        if hasattr(X, "tocsr"):
            prove_sparse(X)
        X = in_memory(X)
        try:
            data = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset)
        except ValueError as error:
            if "could not convert string" in str(error) or "contains NaN" in str(error):
                raise ValueError(f"{error}\nPass columns='auto' for texts, dates and missing values.") from error
            raise
        if self._standard is not None:
            data = self._standard.scaled(data.toarray() if hasattr(data, "toarray") else data)
        features = as_features(data)
        if reset:
            if self.scale is not None:
                features, self._standard = standardised(features)
            # the centres of the members are in these units, and new objects must be converted to them
            self._units = features.shift, features.scale
        names = getattr(self, "feature_names_in_", None)
        return features if names is None else replace(features, names=tuple(str(name) for name in names))

    def _mixed_features(self, X: Any, *, reset: bool) -> Features:
        """Return columns of any kind as numbers, learnt from X if `reset` is true."""
        table = typed_table(X, kinds=None if reset else self.columns_.kinds)
        if reset:
            self.columns_: MixedColumns = mixed_columns(table)
            self.n_features_in_ = len(self.columns_.columns) + len(self.columns_.left_out)
        features = as_features(self.columns_.encoded(table))
        if reset:
            self._units = features.shift, features.scale
        return replace(features, names=self.columns_.names)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled estimator; one that version 0.1 pickled lacks the options that are new since then."""
        super().__setstate__({"reference": "auto", "device": None, "scale": None, "progress": False, **LIMITS, **state})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _sample(X: Any, entropy: int) -> Any:
    """Return the measurements of a sample of the objects, which the number of clusters is chosen on."""
    if is_dask(X):
        from quorate.dask import sample_measurements

        return sample_measurements(X, entropy)
    return sample_blocks(X, entropy)


def _drawn(features: Features, entropy: int) -> Features:
    """Return a sample of the objects in host memory, whose number of clusters is chosen there for all on a card."""
    return as_features(features.raw(drawn_numbers(features.n_objects, entropy), WHOLE))

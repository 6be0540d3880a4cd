"""Base classes of our scikit-learn clusterers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from quorate import _check
from quorate.generation.similarity import as_rows
from quorate.generation.similarity_kmeans import Run, assign, compact


class Clusterer(ClusterMixin, BaseEstimator):
    """Base class of our clusterers.

    It checks that X holds floats, dense or CSR, and that n_clusters is at most the number of objects.
    """

    n_clusters: int
    random_state: Any

    def _checked(self, X: Any) -> Any:
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        _check.integer(
            self.n_clusters, "n_clusters", low=1, high=X.shape[0], advice="a cluster needs at least one object."
        )
        return X

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int32]:
        """Fit and return labels_."""
        labels: NDArray[np.int32] = self.fit(X, y).labels_
        return labels

    def fit(self, X: Any, y: Any = None) -> Any:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class PrototypeClusterer(Clusterer):
    """Base class of clusterers whose clusters have prototypes, so that they can label new objects."""

    def _keep(self, rows: Any, run: Run) -> None:
        self.labels_ = compact(run.labels)
        kept = np.unique(run.labels)
        self.prototypes_ = run.prototypes[kept]
        self.n_iter_ = run.n_iter
        self._shift = rows.shift

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Return the most similar prototype of each object, numbered as in labels_."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        labels, _ = assign(as_rows(X, getattr(self, "similarity", "euclidean"), self._shift), self.prototypes_)
        return labels

"""scorer: scores of a consensus for scikit-learn's grid search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quorate import _check
from quorate._evaluation.scores import accuracy, anmi, ari, density, nmi

WITH_MEMBERS = {"agreement": anmi, "density": density}
WITH_TRUTH = {"nmi": nmi, "ari": ari, "accuracy": accuracy}


@dataclass(frozen=True)
class Scorer:
    """What `scorer` returns: call it with a fitted estimator and X, as scikit-learn does; higher is better."""

    name: str

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        if hasattr(estimator, "steps"):
            # a pipeline: the clusterer comes last, and sees what the steps before it make of X
            if len(estimator.steps) > 1:
                X = estimator[:-1].transform(X)
            estimator = estimator.steps[-1][1]
        labels = estimator.predict(X)
        if self.name in WITH_MEMBERS:
            return float(WITH_MEMBERS[self.name](labels, estimator.ensemble_of(X)))
        if y is None:
            raise ValueError(f"the scorer {self.name!r} compares with known classes; pass them as y to fit.")
        return float(WITH_TRUTH[self.name](labels, y))


def scorer(name: str = "agreement") -> Scorer:
    """A scorer of consensus clusterings for `GridSearchCV` and `cross_val_score`.

    In each fold the estimator is fitted to one part of the objects and places the other part, which is then scored.

    Parameters
    ----------
    name : {"agreement", "density", "nmi", "ari", "accuracy"}
        "agreement": the ANMI of the placed objects with the labels that the members give them. "density": their mean
        co-association within clusters. The others compare with known classes, the y of ``fit(X, y)``.

    Returns
    -------
    Scorer
        To be passed as ``scoring=``. It works with `ConsensusClustering`, with `EnsembleClustering`, and with a
        pipeline that ends in one of them.

    Notes
    -----
    What it can tell: which method, or which option, carries over best to objects of the same kind, for the same members
    and the same number of clusters. What it cannot tell: whether the members are right, which only known classes
    can. Agreement leans to the members' own numbers of clusters and density grows with the number, so neither should
    choose the number by itself: `choose_k` compares several criteria. With `EnsembleClustering`, options that change
    the members (k, base, n_members, and n_clusters where k is left alone) change what is agreed with.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from quorate import ConsensusClustering
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(3, size=200)
    >>> noise = rng.random((200, 8)) < 0.2
    >>> X = np.where(noise, rng.integers(3, size=(200, 8)), truth[:, None])
    >>> search = GridSearchCV(
    ...     ConsensusClustering(random_state=0),
    ...     {"method": ["kmeans", "transfer"], "n_clusters": [2, 3]},
    ...     scoring=scorer("agreement"),
    ...     cv=4,
    ... )
    >>> search.fit(X).best_params_["n_clusters"]
    3
    """
    return Scorer(_check.choice(name, "name", (*WITH_MEMBERS, *WITH_TRUTH)))

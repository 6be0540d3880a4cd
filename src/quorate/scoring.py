"""scorer: scores of consensus clusterings for scikit-learn's grid search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quorate import _check
from quorate._evaluation.scores import accuracy, anmi, ari, density, nmi

WITH_MEMBERS = {"anmi": anmi, "density": density}
WITH_TRUTH = {"nmi": nmi, "ari": ari, "accuracy": accuracy}


@dataclass(frozen=True)
class Scorer:
    """The function that `scorer` returns: scikit-learn calls it with a fitted estimator and X; higher is better."""

    name: str

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        if hasattr(estimator, "steps"):
            # in a pipeline the clusterer comes last, and gets X as the steps before it transform it
            if len(estimator.steps) > 1:
                X = estimator[:-1].transform(X)
            estimator = estimator.steps[-1][1]
        labels = estimator.predict(X)
        if self.name in WITH_MEMBERS:
            return float(WITH_MEMBERS[self.name](labels, estimator.ensemble_of(X)))
        if y is None:
            raise ValueError(f"the scorer {self.name!r} compares with known classes; pass them as y to fit.")
        return float(WITH_TRUTH[self.name](labels, y))


def scorer(name: str = "anmi") -> Scorer:
    """Return a scorer of consensus clusterings for `GridSearchCV` and `cross_val_score`.

    In each fold the estimator is fitted to one part of the objects. It then assigns the other part to clusters, and
    these labels are scored.

    Parameters
    ----------
    name : {"anmi", "density", "nmi", "ari", "accuracy"}
        "anmi" is the ANMI of the assigned clusters with the labels that the members give the objects, and
        "density" is the mean co-association within these clusters. The others compare with known classes, the y of
        ``fit(X, y)``.

    Returns
    -------
    Scorer
        To be passed as ``scoring=``. It works with `ConsensusClustering`, with `EnsembleClustering`, and with a
        pipeline that ends in one of them.

    Notes
    -----
    The scores show which method or option generalises best to new objects, for the same members and the same number of
    clusters. They do not show whether the members are right; only known classes can. ANMI favours the numbers of
    clusters that the members have, and density grows with the number of clusters, so neither should choose it alone:
    `choose_k` compares several criteria. With `EnsembleClustering`, options that change the members (k, base,
    n_members, and n_clusters if k is not given) also change what the result is compared with.

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
    ...     scoring=scorer("anmi"),
    ...     cv=4,
    ... )
    >>> search.fit(X).best_params_["n_clusters"]
    3
    """
    return Scorer(_check.choice(name, "name", (*WITH_MEMBERS, *WITH_TRUTH)))

"""A mixture of products of multinomials, fitted by expectation-maximisation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._types import Consensus, Ensemble, FloatArray, Method
from quorate.solvers.label_rows import canonical_labels, reweighted, weighted_total
from quorate.solvers.label_space.mixture import Mixture, best_mixture
from quorate.solvers.parts import added_up, row_by_row
from quorate.solvers.sizes import label_space

PATIENCE = 3
"""So many numbers of clusters in a row must be worse than the best before the search for k ends."""


def mixture(
    ensemble: Ensemble,
    n_clusters: int | None,
    *,
    rng: np.random.Generator,
    n_init: int = 5,
    max_iter: int = 500,
    smoothing: float = 0.1,
    criterion: str = "bic",
    start: NDArray[np.int32] | None = None,
) -> Consensus:
    """Fit a latent class to every object, from which its labels follow independently.

    Parameters
    ----------
    ensemble : Ensemble
    n_clusters : int or None
        None takes the number with the best `criterion`.
    rng : numpy.random.Generator
    n_init, max_iter : int
        Number of seeded runs, of which the likeliest wins, and the largest number of sweeps of each.
    smoothing : float
        Labels that every base cluster is given for free in every component.
    criterion : {"bic", "icl"}
        With ``n_clusters=None``: the Bayesian information criterion, or the integrated completed likelihood, which
        also rewards objects that are sure of their component.
    start : array, optional
        A label for each row, -1 where there is none, to begin from; `consensus` makes it of its own option `start`.

    Returns
    -------
    Consensus
        `objective` is the log-likelihood, to be maximised; ``info["method_confidence"]`` is the posterior of the label.
        If k was searched, ``info["criterion"]`` maps each k that was tried to its criterion (higher is better).

    Notes
    -----
    A missing label is marginalised: it adds nothing [1]_. Weights are divided by their mean, because they multiply the
    evidence; a member of weight 2 then counts as two. The smoothed log-likelihood never falls from one sweep to the
    next. Posteriors are added as integers (in units of 2^-40 objects or as fine as fits), so the result does not depend
    on how rows are counted, ordered or spread over threads. A sweep costs O(m H k) for m rows. k is tried from 1 on
    until three in a row are worse than the best, at most up to the largest member's number of clusters (or the number
    of rows). A component that ends without a row takes the row that is least sure of its own.

    References
    ----------
    .. [1] A. Topchy, A. K. Jain, W. Punch, "A Mixture Model for Clustering Ensembles", SIAM SDM 2004,
       doi:10.1137/1.9781611972740.35.

    Examples
    --------
    >>> from quorate import consensus
    >>> members = [[0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1], [1, 1, 0, 0, 0, 0]]
    >>> consensus(members, 2, method="mixture", random_state=0).labels.tolist()
    [0, 0, 0, 1, 1, 1]
    """
    smoothing = _check.fraction(smoothing, "smoothing", low=1e-9, high=100.0)
    _check.choice(criterion, "criterion", ("bic", "icl"))

    # weights multiply the evidence, so that only their proportions may count
    light = reweighted(ensemble, ensemble.weights / ensemble.weights.mean())

    def fit(k: int) -> Mixture:
        return best_mixture(light, k, rng, n_init=n_init, max_iter=max_iter, smoothing=smoothing, start=start)

    if n_clusters is not None:
        return _consensus(fit(n_clusters), {})
    fits: dict[int, Mixture] = {}
    scores: dict[int, float] = {}
    for k in range(1, min(ensemble.n_rows, int(ensemble.n_clusters.max())) + 1):
        fits[k] = fit(k)
        scores[k] = _score(ensemble, fits[k], criterion)
        if k - max(scores, key=lambda tried: scores[tried]) >= PATIENCE:
            break
    best = max(scores, key=lambda tried: scores[tried])
    return _consensus(fits[best], {"criterion": scores})


def _score(ensemble: Ensemble, run: Mixture, criterion: str) -> float:
    """Twice the log-likelihood less the price of the parameters; with "icl" also less twice the lost certainty."""
    n_parameters = len(run.mass) - 1 + len(run.mass) * int((ensemble.n_clusters - 1).sum())
    score = 2 * run.likelihood - n_parameters * float(np.log(ensemble.n_objects))
    if criterion == "icl":
        score += 2 * _log_certainty(ensemble.counts, run.sure)
    return score


def _consensus(run: Mixture, info: dict[str, Any]) -> Consensus:
    return Consensus(
        labels=canonical_labels(run.labels, len(run.mass)),
        objective=run.likelihood,
        n_iter=run.n_iter,
        converged=run.converged,
        confidence=_at_most_one(run.sure),
        info=info,
    )


@added_up
def _log_certainty(counts: NDArray[np.int64], sure: FloatArray) -> float:
    return weighted_total(counts, np.log(np.maximum(sure, 1e-300)))


@row_by_row()
def _at_most_one(sure: FloatArray) -> FloatArray:
    return np.minimum(sure, 1.0)


METHOD = Method(
    solve=mixture,
    title="mixture of multinomials (latent class EM)",
    reference="doi:10.1137/1.9781611972740.35",
    tables=label_space,
    finds_k=True,
    stochastic=True,
    warm=True,
    in_parts=True,
)

"""generate, the door: features in, an ensemble out."""

from __future__ import annotations

import logging
from contextlib import closing
from typing import Any

from quorate import _check
from quorate._types import Ensemble
from quorate.generation.bases import as_bases, is_auto
from quorate.generation.checkpoint import open_checkpoint
from quorate.generation.coded import as_coded
from quorate.generation.features import Features, as_features
from quorate.generation.plans import Request, entropy_of, make_plans
from quorate.generation.runner import Options, run_plans
from quorate.generation.trial import Trial

logger = logging.getLogger("quorate")


def generate(
    X: Any,
    n_members: int = 20,
    *,
    k: Any = None,
    base: Any = "auto",
    rows: Any = 1.0,
    columns: Any = 1.0,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
    checkpoint: Any = None,
) -> Ensemble:
    """Many diverse clusterings of the same features.

    Parameters
    ----------
    X : array, memory map, CSR matrix or data frame of shape (n_objects, n_columns)
        Real and finite. A memory map is read in blocks, never copied whole.
    n_members : int
        Number of clusterings.
    k : int, range, (low, high), or rule, optional
        Number of clusters; of a range each member draws its own, both ends of a pair included. Rules:
        "sqrt", [sqrt(n)/2, sqrt(n)]; "linear" or ("linear", A, B), [n/A, n/B] with A = 50, B = 20;
        "candel" or ("candel", k0), [k0, min(sqrt(n), 100)] with k0 = 2; "spectral" or ("spectral", k0),
        [min(20, n/10), min(60, n/5)], not below k0; "mixture", [g, g + 20] for g Gaussians found in the data, at
        least 10. "default" or ("default", k0), where k is left out: "spectral" for spectral members, "candel" for
        others, and a scikit-learn clusterer keeps its own number.
    base : None, str, KMeans, Spectral, clusterer, callable, or a list of these
        "auto": "kmeans" or "spectral", by a trial on at most 3,000 objects; ``info["base"]`` says which and why.
        "kmeans" or None: the built-in k-means; ``quorate.generation.KMeans(...)`` changes its settings. "spectral": the
        landmark-spectral clusterer, which finds clusters of any shape; ``quorate.generation.Spectral(...)``. A
        scikit-learn clusterer is cloned for each member and given the member's k and seed; its label -1 means
        missing. A callable takes (X, k, rng) and gives labels. An object with ``members(X, ks, rng)`` gives
        members that depend on one another, one after the other. Members take the items of a list in turn.
        ``quorate.generation.BASES`` holds the names.
    rows : float, Share or Parts
        Share of the objects each member sees, drawn at random; what it did not see is missing, or filled by
        the nearest centre with ``Share(0.8, fill=True)``. ``Parts(...)``: overlapping parts that cover everything.
    columns : float, int, Projection or Views
        Share (float) or number (int) of columns each member sees, drawn at random; ``Projection(n_dims)``: a
        random projection of its own; ``Views([[0, 1], ["age"]])``: the columns you say, in turn.
    random_state : None, int, Generator or RandomState
        One seed, one ensemble, for any number of workers.
    n_jobs : int, optional
        Workers of joblib; ``joblib.parallel_config`` chooses another backend, such as Dask. None: all threads
        for the built-in k-means, one process for other bases.
    progress : bool
        Show a bar with members done and time left, on standard error.
    checkpoint : path, optional
        Folder in which finished members are stored at once. The same call, after a crash or Ctrl-C, makes only
        what is missing and gives the ensemble of a run without interruption.

    Returns
    -------
    Ensemble
        ``info`` tells how it was made: "seed" (pass it as random_state to have the ensemble again), "base" (what
        clustered, and why), "k" (what the rule chose, in words), and "members", for each of them what it drew: k, how
        many objects it saw and trained on, its columns, how many clusters it has.

    Notes
    -----
    With base="auto" the trial costs the clustering of at most 3,000 objects by 20 members of both kinds; members that
    it made of all objects are not made again. The built-in k-means costs one pass over X for each member, O(n k d),
    shared among members that see all of X, plus training on a sample whose size does not depend on n; for spectral
    members see `quorate.generation.Spectral`. Memory beyond X and the labels: a few blocks of rows, the samples, and
    the labels of the members under way.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.concatenate([np.random.default_rng(0).normal(m, 1, size=(100, 2)) for m in (0, 6, 12)])
    >>> ensemble = generate(X, 5, k=(3, 8), random_state=0)
    >>> ensemble
    Ensemble(300 objects, 5 members, 3 to 5 clusters)
    >>> ensemble.info["k"], ensemble.info["members"][0]["k"]
    ('k = 3 to 8 (given)', 3)
    """
    request = Request(n_members, k, base, rows, columns)
    options = Options(n_jobs, bool(progress), "", None, keep_models=False)
    return generate_with_models(as_features(X), request, random_state, options, checkpoint)[0]


def generate_with_models(
    features: Features, request: Request, random_state: Any, options: Options, checkpoint: Any = None
) -> tuple[Ensemble, list[Any]]:
    """As `generate`, with how each member labels new objects where ``options.keep_models`` asks for it."""
    if options.n_jobs is not None:
        _check.integer(options.n_jobs, "n_jobs", low=-(2**31), high=2**31, advice="-1 takes all processors.")
    if checkpoint is None:
        return _generated(features, request, entropy_of(random_state), options)
    with closing(open_checkpoint(checkpoint, features, request, random_state)) as store:
        return _generated(features, request, store.entropy, options._replace(checkpoint=store))


def _generated(features: Features, request: Request, entropy: int, options: Options) -> tuple[Ensemble, list[Any]]:
    trial = None
    if is_auto(request.base):
        trial = Trial(features, request, entropy, options)
        request, reason = trial.decided()
    else:
        reason = ", ".join(dict.fromkeys(base.name for base in as_bases(request.base)))
    plans = make_plans(request, features, entropy)
    logger.info("generate: %d members of %d objects, %s, %s", request.n_members, features.n_objects, plans.k, reason)
    known = {} if trial is None else trial.kept(plans.members)
    finished = run_plans(features, plans.members, options._replace(title=plans.title), known)
    info = {"seed": entropy, "base": reason, "k": plans.k, "members": tuple(finished.facts)}
    return as_coded(finished, features, info), finished.models

"""generate: an ensemble of many clusterings of the same features."""

from __future__ import annotations

import logging
from contextlib import closing
from dataclasses import replace
from typing import Any

from quorate import _check
from quorate._device.choose import card_for, lives_on_card
from quorate._progress import steps
from quorate._types import Ensemble
from quorate.generation.bases import as_bases, is_auto
from quorate.generation.checkpoint import open_checkpoint
from quorate.generation.features import (
    SCALES,
    Features,
    as_features,
    features_and_warning,
    standardised,
    warn_of_scales,
)
from quorate.generation.plans import Request, entropy_of, make_plans
from quorate.generation.runner import Options, as_coded, run_plans
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
    scale: str | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
    checkpoint: Any = None,
    device: str | None = None,
) -> Ensemble:
    """Make an ensemble of many diverse clusterings of the same features.

    The work has three phases. First the base clusterer is chosen, by a trial if ``base="auto"``. Then it is drawn from
    the seed, for every member, how many clusters it makes and which objects and columns it gets. Last, the members are
    computed, on several workers if asked for, and coded as an Ensemble.

    Parameters
    ----------
    X : array, memory map, CSR matrix or data frame of shape (n_objects, n_columns)
        Real and finite values. A memory map is read in blocks and never copied whole.
    n_members : int
        Number of clusterings.
    k : int, range, (low, high), or rule, optional
        Number of clusters. From a range or a rule each member draws its own number; both ends of a pair are included.

        - "sqrt": [sqrt(n)/2, sqrt(n)], where n is the number of objects;
        - "linear" or ("linear", A, B): [n/A, n/B], with A = 50 and B = 20 by default (ends rounded, halves up);
        - "candel" or ("candel", k0): [k0, min(sqrt(n), 100)], with k0 = 2 by default;
        - "spectral" or ("spectral", k0): [min(20, n/10), min(60, n/5)], but not below k0;
        - "mixture": [g, g + 20], where g is the number of Gaussians found in the data, but at least 10;
        - "gaussian" or ("gaussian", k0): [k0, 2 k0 + 2], with k0 = 2 by default, but at most n/4;
        - "default" or ("default", k0), also if k is None: "spectral" for spectral members, "gaussian" for Gaussian
          ones, "candel" for others.

        If k is None, a scikit-learn clusterer keeps its own number of clusters.
    base : None, str, KMeans, Spectral, Gaussian, clusterer, callable, or a list of these
        The clusterer of the members, or a list of clusterers that members take in turn.

        - "auto": "kmeans", "spectral" or "gaussian", chosen by a trial of them; ``info["base"]`` gives the reason, and
          ``info["method"]``, for at most 100,000 objects, the consensus function that suited them best;
        - "kmeans" or None: the built-in k-means; ``quorate.generation.KMeans(...)`` changes its settings;
        - "spectral": the landmark-spectral clusterer, which finds clusters of any shape;
          ``quorate.generation.Spectral(...)`` changes its settings;
        - "gaussian": mixtures of Gaussians, which find overlapping ellipses of unequal size and shape;
          ``quorate.generation.Gaussian(...)`` changes its settings;
        - another name in ``quorate.generation.BASES``;
        - a scikit-learn clusterer: it is cloned for each member, with the member's k and seed; its label -1 means
          missing;
        - a callable that takes (X, k, rng) and returns labels;
        - an object with a method ``members(X, ks, rng)``, which yields members that depend on those before them.
    rows : float, Share or Parts
        The share of the objects that each member gets, drawn at random. The labels of other objects are missing, or
        those of the nearest centre with ``Share(0.8, fill=True)``. ``Parts(...)`` gives members overlapping parts that
        together contain all objects.
    columns : float, int, Projection or Views
        The share (float) or number (int) of columns that each member gets, drawn at random. ``Projection(n_dims)``
        gives each member a random projection of its own, and ``Views([[0, 1], ["age"]])`` the named columns in turn.
    scale : None or "z"
        Whether to standardise the columns of X to mean 0 and standard deviation 1. With None a warning says so if one
        column varies more than 15 times as much as the median column.
    random_state : None, int, Generator or RandomState
        The same seed gives the same ensemble, for any number of workers.
    n_jobs : int, optional
        Number of workers of joblib; ``joblib.parallel_config`` chooses another backend, such as Dask. By default the
        built-in clusterers use all threads, and other bases run in one process.
    progress : bool
        Whether to show the finished members and the time left on standard error, as `progress` does.
    checkpoint : path, optional
        Folder in which each member is stored as soon as it is finished. After a crash or Ctrl-C the same call computes
        only the missing members, and returns the same ensemble as a run without interruption.

    device : None, "auto", "cpu" or "cuda"
        Where objects are labelled: "cuda" on a CUDA card, which needs CuPy; "auto" there if a card works and its
        memory suffices; by default on the processor, or on the card if X lives there (CuPy or PyTorch arrays).
        The labels then stay on the card for `consensus`, and ``ensemble.labels`` is a copy in host memory that is made
        when it is first read. ``info["device"]`` says where the members were made; see docs/gpu.md.

    Returns
    -------
    Ensemble
        Its ``info`` says how it was made: "seed" (pass it as random_state to get the same ensemble again), "base" (the
        clusterer and why it was chosen), "method" (the consensus function that suited the objects of base="auto" best;
        `EnsembleClustering` uses it), "k" (the numbers of clusters that the rule chose), and "members": for each member
        its k, its numbers of objects and of training objects, its columns and its number of clusters.

    See Also
    --------
    EnsembleClustering : Makes the members and their consensus, as a scikit-learn estimator.
    consensus : Finds the consensus of an ensemble.

    Notes
    -----
    With base="auto" up to 10,000 objects (3,000 if they have more than 128 columns or are sparse) are clustered on
    trial by 20 members of each kind, and the members of the chosen kind are used in the ensemble; of more objects,
    3,000 are drawn for the trial, and up to 100,000 objects get the better of two consensus functions, judged at these
    3,000. The built-in k-means costs one pass over X for each member, O(n k d), which members that get all of X share,
    plus training on a sample whose size does not depend on n. For the others see `quorate.generation.Spectral` and
    `quorate.generation.Gaussian`. The memory needed beyond X and the labels is a few blocks of rows, the samples, and
    the labels of the members that are being computed.

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
    options = Options(n_jobs, or_processor=device == "auto")
    with steps(is_shown=progress)(f"making {n_members} members"):
        features, card = _scaled_for(X, scale, device)
        return generate_with_models(features, request, random_state, options, checkpoint, card=card)[0]


def _scaled_for(X: Any, scale: str | None, device: str | None) -> tuple[Features, Any]:
    """Do what `features_for` does for measurements that are to be standardised, or warn if they should be."""
    if scale is None:
        features, card = features_for(X, device)
        if not isinstance(X, Features):  # who checked them has warned
            warn_of_scales(features, 3)
        return features, card
    _check.choice(scale, "scale", SCALES, "or None")
    return features_for(standardised(features_for(X, None)[0])[0], device)


def checked_once(X: Any, scale: str | None) -> Any:
    """Return the measurements checked, so that several calls of `generate` warn of their scales once."""
    return X if scale is not None or lives_on_card(X) else features_and_warning(X, stacklevel=4)


def features_for(X: Any, device: str | None) -> tuple[Features, Any]:
    """Return the checked features and the card that the members are made on, which is None for the processor.

    X may be checked features already. The features are on the card if they live or fit there.
    """
    if lives_on_card(X):
        from quorate.generation.on_card import resident_features

        return resident_features(X, device)
    card = card_for(device)
    checked = X if isinstance(X, Features) else as_features(X)
    if card is None:
        return checked, None
    from quorate.generation.on_card import moved_to_card

    return moved_to_card(card, checked), card


def generate_with_models(
    features: Features,
    request: Request,
    random_state: Any,
    options: Options,
    checkpoint: Any = None,
    *,
    card: Any = None,
) -> tuple[Ensemble, list[Any]]:
    """Do what `generate` does, and also return the models of the members if ``options.keep_models`` is true.

    A model labels new objects as its member would.
    """
    if options.n_jobs is not None:
        _check.integer(options.n_jobs, "n_jobs", low=-(2**31), high=2**31, advice="-1 takes all processors.")
    if checkpoint is None:
        return _generated(features, request, entropy_of(random_state), options, card)
    # members are stored one by one as the processor makes them, wherever X lives
    features = features.on_host()
    with closing(open_checkpoint(checkpoint, features, request, random_state)) as store:
        return _generated(features, request, store.entropy, options._replace(checkpoint=store), card)


def _generated(
    features: Features, request: Request, entropy: int, options: Options, card: Any
) -> tuple[Ensemble, list[Any]]:
    trial, method = None, None
    if is_auto(request.base):
        trial = Trial(features, request, entropy, options)
        request, reason, method = trial.decided()
    else:
        reason = ", ".join(dict.fromkeys(base.name for base in as_bases(request.base)))
    plans = make_plans(request, features, entropy)
    logger.info("generate: %d members of %d objects, %s, %s", request.n_members, features.n_objects, plans.k, reason)
    known = {} if trial is None else trial.kept(plans.members)
    told = {}
    if card is not None:
        from quorate.generation.on_card import try_on_card

        facts = {"seed": entropy, "base": reason, "k": plans.k, **({} if method is None else {"method": method})}
        made = try_on_card(card, features, plans.members, options._replace(title=plans.title), facts)
        if not isinstance(made, str):
            return made
        told = {"device": f"the processor: {made}"}
        features = features.on_host()
    finished = run_plans(features, plans.members, options._replace(title=plans.title), known)
    info = {"seed": entropy, "base": reason, "k": plans.k, "members": tuple(finished.facts), **told}
    ensemble = as_coded(finished, features, info)
    if method is None and trial is not None:
        method = trial.method_of_all(ensemble)
    return (ensemble if method is None else replace(ensemble, info=info | {"method": method})), finished.models

"""Base clusterers: the built-in ones, those with a name, scikit-learn clusterers, callables and sequences."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._check import did_you_mean
from quorate.generation.gaussian import Gaussian
from quorate.generation.kmeans import KMeans
from quorate.generation.spectral import Spectral


def _robust() -> Any:
    from quorate.generation.clusterers.portfolio import robust_portfolio

    # A new seed is drawn for each member; the fixed seeds here keep checkpoints comparable.
    return robust_portfolio(random_state=0)


def _boosting() -> Any:
    from quorate.generation.clusterers.bagging import Boosting

    return Boosting()


def _bagging() -> Any:
    from quorate.generation.clusterers.bagging import Bagging

    return Bagging()


SOURCES: dict[str, Callable[[], Any]] = {"robust": _robust, "boosting": _boosting, "bagging": _bagging}
"""Functions that return a base or a list of bases for `generate`, by name."""


Array = NDArray[Any]

BUILT_IN: dict[str, type] = {"kmeans": KMeans, "spectral": Spectral, "gaussian": Gaussian}
"""Settings of the built-in clusterers by the name of a base."""

BASES: dict[str, Callable[[], Any]] = {**BUILT_IN, **SOURCES}
"""Functions by the name of a base; each returns a base or a list of bases."""

AUTO = "auto"
"""The name of the base that is chosen by a trial; see `quorate.generation.trial`."""

_K_NAMES = ("n_clusters", "n_components")


@dataclass(frozen=True, eq=False)
class Base:
    """A base clusterer.

    `source` is one of: settings of a built-in clusterer; a clusterer; a callable (X, k, rng) -> labels; or a sequence,
    whose method ``members(X, ks, rng)`` yields label vectors, each of which depends on those before it, as in boosting.
    """

    source: Any

    @property
    def is_built_in(self) -> bool:
        return isinstance(self.source, tuple(BUILT_IN.values()))

    @property
    def is_kmeans(self) -> bool:
        return isinstance(self.source, KMeans)

    @property
    def is_clusterer(self) -> bool:
        return not self.is_built_in and _is_clusterer(self.source)

    @property
    def is_sequence(self) -> bool:
        return not (self.is_built_in or callable(self.source) or self.is_clusterer)

    @property
    def name(self) -> str:
        if self.is_built_in:
            return next(name for name, kind in BUILT_IN.items() if isinstance(self.source, kind))
        return str(getattr(self.source, "__name__", type(self.source).__name__))

    @property
    def k_parameter(self) -> str | None:
        """The parameter of a clusterer for the number of clusters; None if it has none."""
        return _parameter(self.source, _K_NAMES) if self.is_clusterer else None

    @property
    def default_rule(self) -> str:
        """The rule for k if the caller names none."""
        return "candel" if self.is_kmeans or not self.is_built_in else self.name

    @property
    def takes_k(self) -> bool:
        return not self.is_clusterer or self.k_parameter is not None


def is_auto(base: Any) -> bool:
    """Whether the base is to be chosen by a trial."""
    return isinstance(base, str) and base == AUTO


def as_bases(base: Any) -> list[Base]:
    """Return `base` as a list of bases; it is None, a name in BASES, settings, a clusterer, a callable, or a list."""
    if base is None:
        return [Base(KMeans())]
    if isinstance(base, str):
        if base not in BASES:
            raise ValueError(
                f"base must be one of {', '.join(map(repr, (*BASES, AUTO)))} or a clusterer, got {base!r}"
                f"{did_you_mean(base, (*BASES, AUTO))}."
            )
        return as_bases(BASES[base]())
    if isinstance(base, list | tuple):
        if not base:
            raise ValueError("base must not be an empty list; leave it out for members that suit the data.")
        return [part for item in base for part in as_bases(item)]
    if inspect.isclass(base):
        raise TypeError(f"base must be a clusterer, not its class; pass {base.__name__}(...).")
    if isinstance(base, tuple(BUILT_IN.values())) or _is_clusterer(base) or callable(base) or hasattr(base, "members"):
        return [Base(base)]
    raise TypeError(
        f"base must be a clusterer (with fit_predict, or fit and labels_), a callable (X, k, rng) -> labels, a name of "
        f"{', '.join(map(repr, BASES))}, or a list of these, got {type(base).__name__}."
    )


class Clustered(NamedTuple):
    """The result of a base: codes (-1 for no label), the label of each code, and the fitted clusterer or None."""

    codes: Array
    labels: Array
    fitted: Any


def cluster_by(base: Base, X: Any, k: int | None, rng: np.random.Generator) -> Clustered:
    """Cluster X with a clusterer or a callable."""
    fitted = None
    if base.is_clusterer:
        fitted = _copy(base.source, base.k_parameter, k, rng)
        labels = fitted.fit_predict(X) if hasattr(fitted, "fit_predict") else fitted.fit(X).labels_
    else:
        labels = base.source(X, k, rng)
    return coded(labels, X.shape[0], base.name, fitted)


def coded(labels: Any, n_rows: int, name: str, fitted: Any = None) -> Clustered:
    """Check and code the labels that a base returned."""
    distinct, codes = np.unique(_checked(labels, n_rows, name), return_inverse=True)
    n_missing = int(distinct[0] == -1)
    return Clustered(codes.astype(np.int64) - n_missing, distinct[n_missing:], fitted)


def _copy(source: Any, k_parameter: str | None, k: int | None, rng: np.random.Generator) -> Any:
    """Return a copy of a clusterer with this member's k and seed; the user's own is left unchanged."""
    if not hasattr(source, "get_params"):
        return copy.deepcopy(source)
    from sklearn.base import clone

    changes = {name: int(rng.integers(2**31 - 1)) for name in _parameters(source, ("random_state",))}
    if k is not None and k_parameter is not None:
        changes[k_parameter] = k
    return clone(source).set_params(**changes)


def _checked(labels: Any, n_rows: int, name: str) -> Array:
    values = np.asarray(labels)
    if values.shape != (n_rows,):
        raise ValueError(f"{name} must give one label per object, {n_rows:,} in all, got shape {values.shape}.")
    if values.dtype.kind not in "iu" or values.min() < -1:
        raise ValueError(f"{name} must give integer labels, -1 for an object without one, got {values.dtype} labels.")
    return values


def _is_clusterer(source: Any) -> bool:
    return hasattr(source, "fit_predict") or hasattr(source, "fit")


def _parameter(source: Any, wanted: tuple[str, ...]) -> str | None:
    names = _parameters(source, wanted)
    if len(names) > 1:
        raise ValueError(
            f"{type(source).__name__} has several parameters for the number of clusters ({', '.join(names)}), so k "
            f"cannot be passed to it; wrap it in a callable (X, k, rng) -> labels."
        )
    return names[0] if names else None


def _parameters(source: Any, wanted: tuple[str, ...]) -> list[str]:
    """Return the parameters of a scikit-learn object that have one of these names.

    If the object itself has such a parameter, it is returned. Otherwise the parameters of the objects inside it are
    looked at: for the number of clusters those of the last step of a pipeline, else those of all its parts.
    """
    if not hasattr(source, "get_params"):
        return []
    own = [name for name in wanted if name in source.get_params(deep=False)]
    if own:
        return own[:1] if wanted == _K_NAMES else own
    if wanted == _K_NAMES and hasattr(source, "steps"):
        step, last = source.steps[-1]
        return [f"{step}__{name}" for name in _parameters(last, wanted)]
    return [name for name in source.get_params(deep=True) if name.split("__")[-1] in wanted]

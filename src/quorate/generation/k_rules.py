"""The number of Gaussians in the data, by minimum message length: the k rule "mixture" starts from it."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate.generation.features import WHOLE, Features, View

Matrix = NDArray[np.float64]

OBJECTS = 2_000
MOST = 64
WIDEST = 32
PROJECTED = 16
FULL = 8
FEWEST = 12
"""The least number of objects of a component; with fewer the message length would reward having it."""

_TINY = 1e-300


def number_of_gaussians(features: Features, rng: np.random.Generator) -> int:
    """Return the number of Gaussians of the mixture with the shortest message, on a sample of 2,000 objects.

    The search has three steps. A mixture of 64 components is fitted by component-wise EM, in which a component is
    removed as soon as it shortens the message by less than its parameters cost. When the others have converged, the
    component whose removal harms the likelihood least is removed, and EM continues, down to one component. The number
    of components with the shortest message is returned.

    Notes
    -----
    The criterion and the component-wise EM are those of [1]_. Covariances are full up to 8 columns and diagonal above.
    More than 32 columns are first projected to 16 at random, which makes mixtures look more Gaussian, not less. One
    sweep costs O(sample x components), whatever the number of objects is.

    References
    ----------
    .. [1] M. Figueiredo and A. Jain, "Unsupervised learning of finite mixture models", PAMI 24 (2002), 381-396.
    """
    sample = _sample(features, rng)
    if len(sample) < 4 or sample.shape[1] == 0:
        return 1
    mixture = _Mixture(sample, min(MOST, len(sample) // 2), rng)
    shortest, best = np.inf, 1
    while mixture.n_components:
        length = mixture.settle()
        if length < shortest:
            shortest, best = length, mixture.n_components
        mixture.remove(mixture.least_missed())
    return best


def _sample(features: Features, rng: np.random.Generator) -> Matrix:
    """Draw objects at random and scale every column to standard deviation 1; constant columns are left out."""
    n_objects, n_columns = features.n_objects, features.n_columns
    drawn = np.sort(rng.choice(n_objects, min(n_objects, OBJECTS), replace=False))
    view = WHOLE if n_columns <= WIDEST else View(matrix=rng.standard_normal((n_columns, PROJECTED)))
    block: Any = features.prepared(drawn, view)
    values = np.asarray(block if isinstance(block, np.ndarray) else block.toarray(), dtype=np.float64)
    spread = values.std(axis=0)
    kept = values[:, spread > 0]
    scaled: Matrix = (kept - kept.mean(axis=0)) / spread[spread > 0]
    return scaled


class _Mixture:
    """A mixture during the search.

    density (components, n) holds weight times density; total is its sum over the components.
    """

    def __init__(self, sample: Matrix, n_components: int, rng: np.random.Generator) -> None:
        self.sample = sample
        n_columns = sample.shape[1]
        self.full = n_columns <= FULL
        self.n_parameters = n_columns + (n_columns * (n_columns + 1) // 2 if self.full else n_columns)
        self.weights = np.full(n_components, 1.0 / n_components)
        starts = sample[rng.choice(len(sample), n_components, replace=False)]
        spread = np.full(n_columns, 0.1)
        covariance = np.diag(spread) if self.full else spread
        self.density = np.stack([self._density(start, covariance) / n_components for start in starts])
        self.total = self.density.sum(axis=0)

    @property
    def n_components(self) -> int:
        return len(self.weights)

    def settle(self) -> float:
        """Sweep over the components until the message no longer gets shorter; return its length."""
        old, length = np.inf, self._length()
        while not abs(old - length) <= 1e-5 * abs(length):
            component = 0
            while component < self.n_components:
                component += self._update(component)
            if not self.n_components:
                return np.inf
            old, length = length, self._length()
        return length

    def _update(self, component: int) -> int:
        """Do one EM step for one component.

        Return 0 if the component was removed, so that the next one has its place, else 1.
        """
        shares = self.density[component] / np.maximum(self.total, _TINY)
        mass = float(shares.sum()) - self.n_parameters / 2
        if mass <= 0 or shares.sum() < FEWEST:
            self.remove(component)
            return 0
        others = (self.density / np.maximum(self.total, _TINY)).sum(axis=1) - self.n_parameters / 2
        weight = mass / np.maximum(others, 0).sum()
        mean = shares @ self.sample / shares.sum()
        away = self.sample - mean
        if self.full:
            covariance = (shares[:, None] * away).T @ away / shares.sum() + 1e-6 * np.eye(len(mean))
        else:
            covariance = shares @ away**2 / shares.sum() + 1e-6
        fresh = self._density(mean, covariance)
        # The other components keep their proportions and share the rest of the weight.
        rest = (1 - weight) / max(1 - self.weights[component], _TINY)
        self.weights *= rest
        self.density *= rest
        self.weights[component] = weight
        self.density[component] = weight * fresh
        self.total = self.density.sum(axis=0)
        return 1

    def least_missed(self) -> int:
        """Return the component without which the data are most likely.

        The paper removes the component with the least weight instead. That one may be the only one of a small group,
        while two others share a larger group.
        """
        left = (self.total - self.density) / np.maximum(1 - self.weights, _TINY)[:, None]
        return int(np.argmax(np.log(np.maximum(left, _TINY)).sum(axis=1)))

    def remove(self, component: int) -> None:
        self.weights = np.delete(self.weights, component)
        self.density = np.delete(self.density, component, axis=0) / max(self.weights.sum(), _TINY)
        self.weights = self.weights / max(self.weights.sum(), _TINY)
        self.total = self.density.sum(axis=0)

    def _density(self, mean: Matrix, covariance: Matrix) -> Matrix:
        away = self.sample - mean
        if self.full:
            root = np.linalg.cholesky(covariance)
            squares = (np.linalg.solve(root, away.T) ** 2).sum(axis=0)
            logdet = 2 * np.log(np.diag(root)).sum()
        else:
            squares, logdet = (away**2 / covariance).sum(axis=1), np.log(covariance).sum()
        density: Matrix = np.exp(-0.5 * (squares + logdet + len(mean) * np.log(2 * np.pi)))
        return density

    def _length(self) -> float:
        """Return the message length: that of the parameters, of the weights, and of the data given both."""
        n = len(self.sample)
        parameters = self.n_parameters / 2 * np.log(np.maximum(n * self.weights / 12, _TINY)).sum()
        rest = self.n_components / 2 * (np.log(n / 12) + self.n_parameters + 1)
        return float(parameters + rest - np.log(np.maximum(self.total, _TINY)).sum())


RULES = ("sqrt", "linear", "mixture", "candel", "spectral", "gaussian", "default")
FROM_K0 = ("default", "candel", "spectral", "gaussian")
"""Rules that accept k0, the lowest number of clusters."""


class KChoice(NamedTuple):
    """The numbers from which a member's k is drawn, and the rule that they come from."""

    values: range
    rule: str

    def draw(self, rng: np.random.Generator) -> int:
        return self.values[int(rng.integers(len(self.values)))]

    def __str__(self) -> str:
        low, high = self.values[0], self.values[-1]
        return f"k = {low:,}" if low == high else f"k = {low:,} to {high:,}"


def numbers_by_rule(k: Any, features: Features, rng: np.random.Generator, default: str = "candel") -> KChoice:
    """Return what the option `k` means for these features; `default` names the rule that suits the base.

    `k` is one of: an int; a range; a pair (low, high), both included; "sqrt"; "linear" or ("linear", A, B); "mixture";
    or "candel", "spectral", "gaussian" or "default", alone or with the lowest number of clusters, as in ("candel", k0).
    Rules never ask for more clusters than there are objects.
    """
    n_objects = features.n_objects
    if isinstance(k, numbers.Integral):
        value = _check.integer(k, "k", low=1, high=n_objects)
        return KChoice(range(value, value + 1), "given")
    if isinstance(k, range):
        return _from_range(k, n_objects)
    name, arguments = _parse(k)
    name = default if name == "default" else name
    if name is None:
        low = _check.integer(arguments[0], "the lower k", low=1, high=n_objects)
        high = _check.integer(arguments[1], "the upper k", low=low, high=n_objects)
        return KChoice(range(low, high + 1), "given")
    low, high, why = _by_rule(name, arguments, features, rng)
    low = max(1, min(low, n_objects))
    return KChoice(range(low, max(low, min(high, n_objects)) + 1), f"rule {why}, {n_objects:,} objects")


def first_k(k: Any) -> int | None:
    """Return the number k0 from which a rule starts, or None if the caller gave none.

    It is the number of clusters wanted in the end.
    """
    if k is None or isinstance(k, numbers.Integral | range):
        return None
    name, arguments = _parse(k)
    return int(arguments[0]) if name in FROM_K0 and arguments else None


def k_within(k: Any, n_objects: int) -> Any:
    """Return `k` if a part of the objects can be clustered with it, otherwise the rule that suits the base."""
    highest: Any = max(k, default=0) if isinstance(k, range) else k
    if isinstance(k, tuple | list) and len(k) == 2 and not isinstance(k[0], str):
        highest = k[1]
    return "default" if isinstance(highest, numbers.Integral) and int(highest) > n_objects else k


def _parse(k: Any) -> tuple[str | None, tuple[Any, ...]]:
    """Return (rule, arguments), or (None, (low, high)) if no rule is named."""
    if isinstance(k, str):
        return _check.choice(k, "k", RULES, "or an integer, a range, or a pair (low, high)."), ()
    if isinstance(k, Mapping):
        wanted = dict(k)
        rule = _check.choice(wanted.pop("rule", None), "the rule of k", RULES)
        names = {"linear": ("A", "B"), **dict.fromkeys(FROM_K0, ("k0",))}.get(rule, ())
        if set(wanted) - set(names):
            raise ValueError(f"rule {rule!r} of k takes {' and '.join(names) or 'nothing'}, got {sorted(wanted)}.")
        defaults = {"A": 50, "B": 20, "k0": 2}
        return rule, tuple(wanted.get(name, defaults[name]) for name in names)
    if isinstance(k, tuple | list) and len(k) == 2 and not isinstance(k[0], str):
        return None, tuple(k)
    if isinstance(k, tuple | list) and k and isinstance(k[0], str):
        rule = _check.choice(k[0], "the rule of k", RULES)
        allowed = {"linear": (1, 3), **dict.fromkeys(FROM_K0, (1, 2))}.get(rule, (1,))
        if len(k) in allowed:
            return rule, tuple(k[1:])
    raise ValueError(
        f"k must be an integer, a range, a pair (low, high), a rule of {', '.join(RULES)}, ('linear', A, B) or "
        f"('candel', k0), got {k!r}."
    )


def _from_range(k: range, n_objects: int) -> KChoice:
    if not k or min(k) < 1 or max(k) > n_objects:
        raise ValueError(f"k must be a range within 1 to {n_objects:,}, the number of objects, got {k!r}.")
    return KChoice(k if k.step > 0 else k[::-1], "given")


def _by_rule(name: str, arguments: tuple[Any, ...], features: Features, rng: Any) -> tuple[int, int, str]:
    n_objects = features.n_objects
    if name == "sqrt":
        root = math.sqrt(n_objects)
        return _rounded(root / 2), _rounded(root), "sqrt"
    if name == "linear":
        a, b = arguments or (50, 20)
        if not (_is_number(a) and _is_number(b) and a >= b > 0):
            raise ValueError(f"('linear', A, B) needs numbers A >= B > 0: k lies in [n/A, n/B], got {(a, b)!r}.")
        return _rounded(n_objects / a), _rounded(n_objects / b), f"linear with A = {a:g}, B = {b:g}"
    first = _check.integer((arguments or (2,))[0], "k0", low=1) if name in FROM_K0 else 2
    if name == "spectral":
        low = max(first, min(20, n_objects // 10))
        return low, max(low, min(60, n_objects // 5)), f"spectral with k0 = {first}"
    if name == "gaussian":
        return first, max(first, min(2 * first + 2, n_objects // 4)), f"gaussian with k0 = {first}"
    if name == "candel":
        return first, max(first, min(math.isqrt(n_objects), 100)), f"candel with k0 = {first}"
    components = number_of_gaussians(features, rng)
    low = max(components, 10)
    return low, low + 20, f"mixture with {components} Gaussians"


def _rounded(value: float) -> int:
    """Round to the nearest, halves up, as Table I of the sparse paper does; its text has ceiling signs."""
    return math.floor(value + 0.5)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and math.isfinite(value)

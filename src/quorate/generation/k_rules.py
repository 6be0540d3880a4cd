"""The number of clusters of each member: a number, a range, or a rule, and what the rule chose."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from quorate import _check
from quorate.generation.features import Features
from quorate.generation.gaussian_count import number_of_gaussians

RULES = ("sqrt", "linear", "mixture", "candel", "spectral", "default")
FROM_K0 = ("default", "candel", "spectral")
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


def choose_k(k: Any, features: Features, rng: np.random.Generator, default: str = "candel") -> KChoice:
    """Return what the option `k` means for these features; `default` names the rule that suits the base.

    `k` is one of: an int; a range; a pair (low, high), both included; "sqrt"; "linear" or ("linear", A, B); "mixture";
    or "candel", "spectral" or "default", alone or with the lowest number of clusters, as in ("candel", k0). Rules never
    ask for more clusters than there are objects.
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
        return math.ceil(root / 2), math.ceil(root), "sqrt"
    if name == "linear":
        a, b = arguments or (50, 20)
        if not (_is_number(a) and _is_number(b) and a >= b > 0):
            raise ValueError(f"('linear', A, B) needs numbers A >= B > 0: k lies in [n/A, n/B], got {(a, b)!r}.")
        return math.ceil(n_objects / a), math.ceil(n_objects / b), f"linear with A = {a:g}, B = {b:g}"
    first = _check.integer((arguments or (2,))[0], "k0", low=1) if name in FROM_K0 else 2
    if name == "spectral":
        low = max(first, min(20, n_objects // 10))
        return low, max(low, min(60, n_objects // 5)), f"spectral with k0 = {first}"
    if name == "candel":
        return first, max(first, min(math.isqrt(n_objects), 100)), f"candel with k0 = {first}"
    components = number_of_gaussians(features, rng)
    low = max(components, 10)
    return low, low + 20, f"mixture with {components} Gaussians"


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and math.isfinite(value)

"""Methods of the user: a function that labels the rows of an ensemble becomes an entry beside the register."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quorate import _check
from quorate._data.coding import code_values, missing_rule
from quorate._types import Consensus, Ensemble, Method
from quorate.methods import METHODS, OWN
from quorate.ops.coding import canonical
from quorate.solvers.contingency import anmi


def method_name(method: Any) -> str:
    """Return the name of a method; a function gets a name of its own, by which results know it in this process."""
    if not callable(method):
        return str(_check.choice(method, "method", ("auto", *METHODS)))
    known = next((name for name, entry in OWN.items() if getattr(entry.solve, "function", None) is method), None)
    if known is not None:
        return known
    plain = str(getattr(method, "__name__", type(method).__name__))
    taken = (*METHODS, *OWN, "auto", "refine")
    name = next(name for name in (plain, *(f"{plain} {number}" for number in range(2, 10**6))) if name not in taken)
    OWN[name] = Method(_Solved(name, method), f"own method {name}", "", finds_k=True, stochastic=_draws(method))
    return name


def method_names(methods: Any) -> Any:
    """Return names for functions among several methods; what is no list is returned as it is."""
    if isinstance(methods, str) or not isinstance(methods, Sequence):
        return methods
    return [method_name(method) if callable(method) else method for method in methods]


def _draws(function: Callable[..., Any]) -> bool:
    """Whether a function takes `rng`."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return "rng" in parameters or any(entry.kind is inspect.Parameter.VAR_KEYWORD for entry in parameters.values())


class _Solved:
    """Calls a function of the user as a method of the register, and checks what it returns."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name, self.function, self.draws = name, function, _draws(function)

    def __call__(self, ensemble: Ensemble, n_clusters: int | None, *, rng: Any) -> Consensus:
        found = self.function(ensemble, n_clusters, **({"rng": rng} if self.draws else {}))
        values = np.asarray(found)
        if values.shape != (ensemble.n_rows,):
            raise ValueError(
                f"method {self.name!r} must return one label for each row of the ensemble, {ensemble.n_rows:,} in all "
                f"(distinct rows with counts), got shape {values.shape}."
            )
        codes, names = code_values(values, f"the labels of method {self.name!r}", missing_rule([]))
        if codes.min() < 0:
            raise ValueError(f"method {self.name!r} must label every row, and left {int((codes < 0).sum()):,} out.")
        if n_clusters is not None and len(names) != n_clusters:
            raise ValueError(f"method {self.name!r} must return {n_clusters} clusters, got {len(names)}.")
        labels = canonical(codes.astype(np.int32), len(names))
        return Consensus(labels, anmi(ensemble, labels, len(names)))

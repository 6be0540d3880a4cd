"""One named method on the rows of an ensemble: what is checked before, the order of members, runners-up after."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from quorate import _check
from quorate._consensus.duration import tell_duration, tell_linear_duration
from quorate._consensus.refining import refined
from quorate._consensus.row_order import in_row_order
from quorate._device.device_arrays import lives_on_card
from quorate._types import AnyEnsemble, Consensus, Ensemble, Method
from quorate.methods import METHODS
from quorate.solvers.member_order import in_content_order
from quorate.solvers.own_shares import with_standing
from quorate.solvers.sizes import linear_bytes, size_of

MAX_BYTES = 4_000_000_000
"""Memory beyond the linear that a method may ask for unless the caller says otherwise."""
SHARED_OPTIONS = ("n_init", "max_iter")
"""Options that mean the same in every method that has them: a number of runs or sweeps, at least 1."""


def checked_options(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a method of the register, refused if it has no such option; those all methods share are checked.

    Options that only one method has are checked by that method.
    """
    known = {
        parameter.name
        for parameter in inspect.signature(METHODS[method].solve).parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and parameter.name not in ("rng", "runs")
    }
    unknown = [option for option in options if option not in known]
    if unknown:
        has = f"its options are {', '.join(sorted(known))}" if known else "it has none"
        meant = _check.did_you_mean(unknown[0], known)
        raise TypeError(f"method {method!r} has no option {', '.join(map(repr, unknown))}{meant}; {has}.")
    shared = {name: _check.integer(options[name], name, low=1) for name in SHARED_OPTIONS if name in options}
    return {**options, **shared}


def run_method(
    ensemble: AnyEnsemble,
    n_clusters: Any,
    method: str,
    *,
    random_state: Any,
    max_bytes: int,
    refine: bool,
    options: Mapping[str, Any],
) -> Consensus:
    """Run one method for one number of clusters; labels are those of the rows, confidence their own shares.

    `options` have been through `checked_options`. A method that combines others is handed functions that run those
    on the same rows; with `refine` the result is improved by greedy moves afterwards.
    """
    runs = _runs(ensemble, max_bytes) if METHODS[method].combines else {}
    seed = _check.known_seed(random_state)
    rng = _check.generator(random_state if seed is None else seed)
    result = _run(ensemble, method, max_bytes, n_clusters, rng, options, {"runs": runs} if runs else {})
    result = replace(result, info={**result.info, "seed": seed})
    return refined(ensemble, result) if refine and isinstance(ensemble, Ensemble) else result


def _runs(ensemble: AnyEnsemble, max_bytes: int) -> dict[str, Callable[[int, np.random.Generator], Consensus]]:
    """Every method that does not combine others, ready to run on this ensemble."""
    return {name: partial(_run, ensemble, name, max_bytes) for name, entry in METHODS.items() if not entry.combines}


def _run(
    ensemble: AnyEnsemble,
    method: str,
    max_bytes: int,
    n_clusters: Any,
    rng: np.random.Generator,
    options: Mapping[str, Any] | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Consensus:
    """Check the number of clusters and the memory, sort the members, run, and fill in what all methods share."""
    entry, options = METHODS[method], options or {}
    k = _cluster_number(n_clusters, ensemble, method, entry)
    _refuse_memory(method, entry, ensemble, options, max_bytes, k)
    given = ensemble if entry.own_order else in_content_order(ensemble)
    ordered = in_row_order(ensemble) if by_content(entry) else None
    seen = given
    if ordered is not None:
        seen = ordered.ensemble if entry.own_order else in_content_order(ordered.ensemble)
    if isinstance(seen, Ensemble) and seen.card is None and not entry.combines:
        tell = tell_duration if entry.time == "quadratic" else tell_linear_duration
        tell(method, seen, partial(_try_rows, entry, k, options))
    result = entry.solve(seen, k, rng=rng, **options, **(extra or {}))
    where = _where(ensemble, method, result)
    if ordered is not None:
        result = ordered.restored(result, entry.by_member)
    result = with_standing(given, result)
    info = {**result.info, "n_rows": ensemble.n_rows, "n_members": ensemble.n_members, **where}
    for name in entry.by_member:
        if info.get(name) is not None:
            info[name] = {member: info[name][member] for member in ensemble.member_names}
    return replace(result, method=method, info=info)


def _where(ensemble: AnyEnsemble, method: str, solved: Consensus) -> dict[str, str]:
    """Where a method ran, if the rows live on a card: its labels are on the card if it ran there."""
    if ensemble.card is None:
        return {}
    if lives_on_card(solved.labels):
        return {"device": ensemble.card.name}
    return {
        "device": f"the processor: method {method!r} took {ensemble.n_rows:,} compressed rows from the card, because "
        f"it has no code for a card or they are few"
    }


def by_content(method: Method) -> bool:
    """Whether a method gets the rows in the order of their content.

    A method that draws at random draws other rows in another order anyway, and one that combines others runs them
    through this module.
    """
    return not (method.stochastic or method.combines)


def _try_rows(method: Method, k: int | None, options: Mapping[str, Any], part: Ensemble) -> Consensus:
    """Run a method on a part of the rows, only to see how long it takes."""
    return method.solve(part, k and min(k, part.n_rows), rng=np.random.default_rng(0), **options)


def _cluster_number(n_clusters: Any, ensemble: AnyEnsemble, name: str, method: Method) -> int | None:
    if n_clusters is None:
        if not method.finds_k:
            finding = ", ".join(name for name, entry in METHODS.items() if entry.finds_k)
            raise ValueError(f"method {name!r} needs n_clusters; methods that find it themselves: {finding}.")
        return None
    k = _check.integer(n_clusters, "n_clusters", low=1)
    if k > ensemble.n_rows:
        raise ValueError(
            f"n_clusters = {k:,} is more than the {ensemble.n_rows:,} distinct label rows of {ensemble.n_objects:,} "
            f"objects, and equal rows cannot be told apart; ask for at most {ensemble.n_rows:,}, or add members."
        )
    return k


def bytes_beyond_linear(
    method: Method, ensemble: AnyEnsemble, options: Mapping[str, Any], n_clusters: int | None
) -> int:
    """The bytes that a method says it needs, without what every method takes in proportion to the ensemble."""
    size = size_of(ensemble, n_clusters)
    tables = max(method.tables(size) - linear_bytes(size), 0)
    if method.memory_for is not None:
        return tables + method.memory_for(ensemble, options)
    return tables + (8 * ensemble.n_rows**2 if method.memory == "quadratic" else 0)


def _refuse_memory(
    name: str,
    method: Method,
    ensemble: AnyEnsemble,
    options: Mapping[str, Any],
    max_bytes: int,
    n_clusters: int | None,
) -> None:
    needed = bytes_beyond_linear(method, ensemble, options, n_clusters)
    if needed <= max_bytes:
        return
    usable = {entry: other for entry, other in METHODS.items() if other.soft or isinstance(ensemble, Ensemble)}
    fitting = [entry for entry in usable if bytes_beyond_linear(usable[entry], ensemble, {}, n_clusters) <= max_bytes]
    others = f" or use a method that needs less ({', '.join(fitting)})" if fitting else ""
    chosen = ", ".join([repr(name), *(f"{option}={value!r}" for option, value in options.items())])
    _check.memory(
        needed,
        max_bytes,
        f"method {chosen} on {ensemble.n_rows:,} distinct rows and {int(ensemble.offsets[-1]):,} clusters of members",
        method.instead or f"coarsen the rows (coarsen='auto'){others}",
    )

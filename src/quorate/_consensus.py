"""consensus, the door: code, compress, solve, expand; and solve, the same without the two ends."""

from __future__ import annotations

import inspect
import math
from dataclasses import replace
from typing import Any

from quorate import _check
from quorate._coarsen import MAX_ROWS, coarsen_as_asked
from quorate._ensemble import as_ensemble, compress
from quorate._types import Consensus, Ensemble, Method
from quorate.methods import METHODS

DEFAULT_METHOD = "kmeans"
MAX_BYTES = 4_000_000_000


def consensus(
    labels: Any,
    n_clusters: int | None = None,
    *,
    method: str = DEFAULT_METHOD,
    coarsen: Any = None,
    random_state: Any = None,
    max_bytes: int = MAX_BYTES,
    **options: Any,
) -> Consensus:
    """One labelling out of many.

    Parameters
    ----------
    labels : Ensemble, or anything `as_ensemble` takes
        One row an object, one column a member.
    n_clusters : int, optional
        Number of clusters wanted; exactly that many come back. Methods that find it themselves take None.
    method : str
        A name in METHODS; `quorate methods` lists them.
    coarsen : float, mapping or "auto", optional
        Merge similar rows first, by `coarsen`: a theta; its options, such as ``dict(theta=0.2, keep=0.9)``; or
        "auto" for as little merging as leaves 5,000 rows (``dict(max_rows=...)``: so many).
        ``info["coarsen"]`` tells what was done and why.
    random_state : None, int, Generator or RandomState
        One seed, one answer. The global random state is never touched.
    max_bytes : int
        A method that needs a matrix over pairs of distinct rows is refused above this.
    **options
        The method's own options.

    Returns
    -------
    Consensus
        Labels of all objects, in their order, and what the method knows about them.
        ``info["n_rows"]`` is the number of distinct rows the method worked on.

    Examples
    --------
    >>> segments = {"legacy": ["a", "a", "b", "b", "c"], "web": [1, 1, 2, 2, None], "region": [7, 7, 8, 8, 8]}
    >>> consensus(segments, 2, random_state=0).labels
    array([0, 0, 1, 1, 1], dtype=int32)
    """
    ensemble = as_ensemble(labels)
    rows, inverse = compress(ensemble)
    told = {}
    if coarsen is not None:
        budget = min(MAX_ROWS, max(1, math.isqrt(max_bytes // 8)))
        rows, joined, told["coarsen"] = coarsen_as_asked(rows, coarsen, n_clusters=n_clusters, max_rows=budget)
        inverse = joined[inverse]
    result = solve(rows, n_clusters, method=method, random_state=random_state, max_bytes=max_bytes, **options)
    return expand(replace(result, info={**result.info, **told}), inverse, ensemble.object_ids)


def solve(
    ensemble: Ensemble,
    n_clusters: int | None = None,
    *,
    method: str = DEFAULT_METHOD,
    random_state: Any = None,
    max_bytes: int = MAX_BYTES,
    **options: Any,
) -> Consensus:
    """Run a method on the rows of a compressed or coarsened ensemble; labels and confidence are those of rows.

    Rows are expected to be distinct, as `compress` and `merge` leave them.

    Examples
    --------
    >>> rows, inverse = compress(as_ensemble([[0, 0, 1, 1], [0, 0, 1, 1]]))
    >>> solve(rows, 2).labels[inverse].tolist()
    [0, 0, 1, 1]
    """
    chosen = METHODS[_check.choice(method, "method", tuple(METHODS))]
    _refuse_options(method, chosen, options)
    k = _cluster_number(n_clusters, ensemble, method, chosen)
    _refuse_memory(method, chosen, ensemble, options, max_bytes)
    result = chosen.solve(ensemble, k, rng=_check.generator(random_state), **options)
    info = {**result.info, "n_rows": ensemble.n_rows, "n_members": ensemble.n_members}
    return replace(result, method=method, info=info)


def expand(result: Consensus, inverse: Any, object_ids: Any = None) -> Consensus:
    """From rows to objects: rows are in order of first appearance, so canonical labels stay canonical."""
    confidence = None if result.confidence is None else result.confidence[inverse]
    return replace(result, labels=result.labels[inverse], confidence=confidence, rows=inverse, object_ids=object_ids)


def _cluster_number(n_clusters: Any, ensemble: Ensemble, name: str, method: Method) -> int | None:
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


def _refuse_memory(name: str, method: Method, ensemble: Ensemble, options: dict[str, Any], max_bytes: int) -> None:
    if method.memory_for is not None:
        needed = method.memory_for(ensemble, options)
    else:
        needed = 8 * ensemble.n_rows**2 if method.memory == "quadratic" else 0
    linear = ", ".join(entry for entry in METHODS if METHODS[entry].memory == "linear")
    chosen = ", ".join([repr(name), *(f"{option}={value!r}" for option, value in options.items())])
    _check.memory(
        needed,
        max_bytes,
        f"method {chosen} on {ensemble.n_rows:,} distinct rows",
        method.instead or f"coarsen the rows (coarsen='auto') or use a method of linear memory ({linear})",
    )


def _refuse_options(name: str, method: Method, options: dict[str, Any]) -> None:
    known = {
        parameter.name
        for parameter in inspect.signature(method.solve).parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and parameter.name != "rng"
    }
    unknown = [option for option in options if option not in known]
    if unknown:
        has = f"its options are {', '.join(sorted(known))}" if known else "it has none"
        raise TypeError(f"method {name!r} has no option {', '.join(map(repr, unknown))}; {has}.")

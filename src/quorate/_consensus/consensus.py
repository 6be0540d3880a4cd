"""consensus, the door: code, compress, solve, expand; solve, the same without the two ends; choose_k."""

from __future__ import annotations

import inspect
import logging
import math
import numbers
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from quorate import _check
from quorate._coarsening.coarsen import MAX_ROWS, coarsen_as_asked
from quorate._consensus import choose_k as _choose
from quorate._consensus import refine as _refine
from quorate._consensus.auto import AUTO, Pick, pick
from quorate._consensus.duration import tell_duration
from quorate._data.compression import compress
from quorate._data.ensemble import as_ensemble
from quorate._data.missing import DEFAULT
from quorate._data.soft_members import as_soft_ensemble
from quorate._data.tables import holds_matrices
from quorate._types import AnyEnsemble, Consensus, Ensemble, Method, SoftEnsemble
from quorate.methods import METHODS

logger = logging.getLogger("quorate")
DEFAULT_METHOD = AUTO
MAX_BYTES = 4_000_000_000
Numbers = int | str | tuple[int, int] | range | None
"""What may be asked for as n_clusters."""
_HARDEN = "Or pass quorate.harden(members): the labels of the likeliest clusters."


def consensus(
    labels: Any,
    n_clusters: Numbers = None,
    *,
    method: str = DEFAULT_METHOD,
    coarsen: Any = None,
    random_state: Any = None,
    max_bytes: int = MAX_BYTES,
    refine: bool = False,
    weights: Any = None,
    missing: Any = DEFAULT,
    orientation: str | None = None,
    ids: Any = None,
    check: bool = True,
    **options: Any,
) -> Consensus:
    """One labelling out of many.

    Parameters
    ----------
    labels : Ensemble, SoftEnsemble, or anything `as_ensemble` takes
        One row an object, one column a member. A list (or mapping) in which a member is a matrix of memberships goes
        through `as_soft_ensemble`; methods that take labels alone refuse it.
    n_clusters : int, "auto", (low, high) or range, optional
        Number of clusters wanted; exactly that many come back. Methods that find it themselves take None ("auto" then
        takes one of those).
        "auto" (2 to 20) or a range of numbers leaves the choice to `choose_k`, whose table and reason are in
        ``info["choice"]``.
    method : str
        A name in METHODS; `quorate methods` lists them. "auto" takes one by the number of distinct rows, by what is
        missing and by whether `n_clusters` is given; ``info["auto"]`` tells why, the result's `method` which.
    coarsen : float, mapping or "auto", optional
        Merge similar rows first, by `coarsen`: a theta; its options, such as ``dict(theta=0.2, keep=0.9)``; or
        "auto" for as little merging as leaves 5,000 rows (``dict(max_rows=...)``: so many).
        ``info["coarsen"]`` tells what was done and why.
    random_state : None, int, Generator or RandomState
        One seed, one answer. The global random state is never touched.
    max_bytes : int
        A method that needs a matrix over pairs of distinct rows is refused above this.
    refine : bool
        Afterwards move rows to raise the ANMI, as `quorate.refine` does. `objective` is then the ANMI, and
        ``info["refine"]`` tells the ANMI and the objective before, and how many rows moved.
    weights, missing, orientation, ids, check
        How to read `labels`, as for `as_ensemble`.
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
    reading = {"weights": weights, "missing": missing, "ids": ids}
    ensemble = _as_any_ensemble(labels, {**reading, "orientation": orientation, "check": check})
    rows, inverse = compress(ensemble)
    told = {}
    if coarsen is not None:
        if isinstance(rows, SoftEnsemble):
            raise ValueError(f"coarsen must be None with soft members: it compares labels. {_HARDEN}")
        budget = min(MAX_ROWS, max(1, math.isqrt(max_bytes // 8)))
        rows, joined, told["coarsen"] = coarsen_as_asked(rows, coarsen, n_clusters=n_clusters, max_rows=budget)
        inverse = joined[inverse]
    result = solve(
        rows, n_clusters, method=method, random_state=random_state, max_bytes=max_bytes, refine=refine, **options
    )
    return expand(replace(result, info={**result.info, **told}), inverse, ensemble.object_ids, ensemble.id_name)


def _as_any_ensemble(labels: Any, reading: dict[str, Any]) -> AnyEnsemble:
    """Labels or soft members, read as the options of `as_ensemble` say."""
    if not (isinstance(labels, SoftEnsemble) or holds_matrices(labels)):
        return as_ensemble(labels, **reading)
    if reading["orientation"] is not None:
        raise ValueError("orientation must be None with soft members, each of which is a matrix with objects as rows.")
    return as_soft_ensemble(labels, **{name: reading[name] for name in ("weights", "missing", "ids")})


def solve(
    ensemble: AnyEnsemble,
    n_clusters: Numbers = None,
    *,
    method: str = DEFAULT_METHOD,
    random_state: Any = None,
    max_bytes: int = MAX_BYTES,
    refine: bool = False,
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
    if method == AUTO:
        taken = _taken(ensemble, n_clusters, max_bytes, options)
        result = solve(
            ensemble, n_clusters, method=taken.method, random_state=random_state, max_bytes=max_bytes, refine=refine
        )
        return replace(result, info={**result.info, "auto": taken.reason})
    chosen = METHODS[_check.choice(method, "method", (AUTO, *METHODS))]
    _refuse_options(method, chosen, options)
    _check.choice(refine, "refine", (True, False))
    numbers_wanted = _choose.candidates(n_clusters, ensemble.n_rows)
    if isinstance(ensemble, SoftEnsemble):
        _refuse_soft(method, chosen, numbers_wanted is not None, refine)
        return _solve_rows(ensemble, n_clusters, method, random_state, max_bytes, options)
    if numbers_wanted is not None:
        shared = {"max_bytes": max_bytes, "refine": refine}
        choice, result = _choose_rows(ensemble, numbers_wanted, method, random_state, shared, options)
        return replace(result, info={**result.info, "choice": choice})
    result = _solve_rows(ensemble, n_clusters, method, random_state, max_bytes, options)
    return _refined(ensemble, result) if refine else result


def _taken(ensemble: AnyEnsemble, n_clusters: Any, max_bytes: int, options: dict[str, Any]) -> Pick:
    """What "auto" stands for here. Options are those of one method, so that must be named."""
    if options:
        given = ", ".join(map(repr, options))
        raise TypeError(f"method 'auto' has no option {given}: options belong to a method; name the one you mean.")
    return pick(ensemble, n_clusters, max_bytes)


def _solve_rows(
    ensemble: AnyEnsemble, n_clusters: Any, method: str, random_state: Any, max_bytes: int, options: dict[str, Any]
) -> Consensus:
    """Run a method whose options are known to exist for one number of clusters."""
    chosen = METHODS[method]
    k = _cluster_number(n_clusters, ensemble, method, chosen)
    _refuse_memory(method, chosen, ensemble, options, max_bytes)
    extra = {"runs": _runs(ensemble, max_bytes)} if chosen.combines and isinstance(ensemble, Ensemble) else {}
    if chosen.time == "quadratic" and not chosen.combines and isinstance(ensemble, Ensemble):
        tell_duration(method, ensemble, partial(_try_rows, chosen, k, options))
    result = chosen.solve(ensemble, k, rng=_check.generator(random_state), **options, **extra)
    info = {**result.info, "n_rows": ensemble.n_rows, "n_members": ensemble.n_members}
    return replace(result, method=method, info=info)


def _try_rows(method: Method, k: int | None, options: dict[str, Any], part: Ensemble) -> Consensus:
    """Run a method on a part of the rows, only to see how long it takes."""
    return method.solve(part, k and min(k, part.n_rows), rng=np.random.default_rng(0), **options)


def choose_k(
    labels: Any,
    n_clusters: Numbers = "auto",
    *,
    method: str = DEFAULT_METHOD,
    random_state: Any = None,
    max_bytes: int = MAX_BYTES,
    **options: Any,
) -> _choose.Choice:
    """Compare numbers of clusters by several criteria and recommend one, with the reason.

    Parameters
    ----------
    labels : Ensemble, or anything `as_ensemble` takes
    n_clusters : "auto", (low, high) or range
        The numbers to compare, both ends included; "auto" tries 2 to 20.
    method : str
        A name in METHODS, or "auto"; its labellings are scored by ANMI.
    random_state : None, int, Generator or RandomState
    max_bytes : int
    **options
        The method's own options.

    Returns
    -------
    Choice
        ``n_clusters``, ``reason``, ``votes`` of the criteria and the ``table``; prints as a table.

    Notes
    -----
    ANMI speaks for its highest value [1]_. Density gain is that of bisecting k-means [2]_; it speaks for the number
    after which the gain falls most. Lifetime needs a tree: the method's own, or that of `eac` on up to 20,000 distinct
    rows. PAC [3]_, bounds 0.1 and 0.9, compares members: at least five must have the number of clusters in question,
    and it speaks only where two numbers have it, for it falls with the number of clusters by itself. It counts all
    pairs on up to 3,000 distinct rows and a million drawn pairs of objects above. The number named by most criteria is
    recommended; in a tie the lifetime decides where it is at least 1.5 times the next one; else ANMI where members have
    as few clusters as the lowest number compared, the density gain otherwise, for ANMI leans to the members' own
    numbers. No criterion is right always: look at the table.
    Costs one run of the method a number, and one of bisecting k-means.

    References
    ----------
    .. [1] A. Strehl, J. Ghosh, "Cluster Ensembles", JMLR 3, 2002, doi:10.1162/153244303321897735.
    .. [2] G. Candel, "Linear time Evidence Accumulation Clustering with KMeans", 2023, arXiv:2311.09272.
    .. [3] Y. Senbabaoglu, G. Michailidis, J. Z. Li, "Critical limitations of consensus clustering in class
       discovery", Scientific Reports 4, 2014, doi:10.1038/srep06207.

    Examples
    --------
    >>> members = [[0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1, 2, 2]]
    >>> choice = choose_k(members, (2, 4), random_state=0)
    >>> choice.n_clusters, choice.votes["anmi"]
    (3, 3)
    """
    rows, _ = compress(as_ensemble(labels))
    wanted = _choose.candidates(n_clusters, rows.n_rows)
    if wanted is None:
        raise ValueError(f"n_clusters must be 'auto', (lowest, highest) or a range to choose from, got {n_clusters!r}.")
    if method == AUTO:
        method = _taken(rows, wanted, max_bytes, options).method
    _refuse_options(method, METHODS[_check.choice(method, "method", (AUTO, *METHODS))], options)
    return _choose_rows(rows, wanted, method, random_state, {"max_bytes": max_bytes}, options)[0]


def _choose_rows(
    ensemble: Ensemble, wanted: range, method: str, random_state: Any, shared: dict[str, Any], options: dict[str, Any]
) -> tuple[_choose.Choice, Consensus]:
    # one seed for every number, so that the answer for the chosen one is the answer one gets by asking for it
    known = isinstance(random_state, numbers.Integral)
    seed = random_state if known else int(_check.generator(random_state).integers(2**62))

    done: list[int] = []

    def run(name: str, k: int) -> Consensus:
        own = {**shared, **options} if name == method else {"max_bytes": shared["max_bytes"]}
        result = solve(ensemble, k, method=name, random_state=seed, **own)
        if name == method:
            done.append(k)
            share = len(done) / len(wanted)
            logger.info("%d of %d numbers of clusters tried", len(done), len(wanted), extra={"share": share})
        return result

    return _choose.choose(ensemble, wanted, method, run, tuple(METHODS), np.random.default_rng(seed))


def _runs(ensemble: Ensemble, max_bytes: int) -> dict[str, Callable[[int, np.random.Generator], Consensus]]:
    """Every method that does not combine others, ready to run on this ensemble."""

    def run(name: str, n_clusters: int, rng: np.random.Generator) -> Consensus:
        return solve(ensemble, n_clusters, method=name, random_state=rng, max_bytes=max_bytes)

    return {name: partial(run, name) for name, entry in METHODS.items() if not entry.combines}


def _refined(ensemble: Ensemble, result: Consensus) -> Consensus:
    better = _refine.refine_rows(ensemble, result.labels, result.n_clusters)
    told = {**better.info, "objective_before": result.objective}
    return replace(
        result,
        labels=better.labels,
        objective=better.objective,
        converged=result.converged and better.converged,
        confidence=better.confidence,
        info={**result.info, "refine": told},
    )


def expand(result: Consensus, inverse: Any, object_ids: Any = None, id_name: str = "id") -> Consensus:
    """From rows to objects: rows are in order of first appearance, so canonical labels stay canonical."""
    confidence = None if result.confidence is None else result.confidence[inverse]
    named = {"object_ids": object_ids, "id_name": id_name}
    return replace(result, labels=result.labels[inverse], confidence=confidence, rows=inverse, **named)


def _refuse_soft(name: str, method: Method, chooses: bool, refine: bool) -> None:
    if not method.soft:
        taking = ", ".join(name for name, entry in METHODS.items() if entry.soft)
        raise ValueError(f"method {name!r} takes labels alone; methods that take soft members: {taking}. {_HARDEN}")
    if chooses:
        raise ValueError(f"n_clusters must be a number with soft members: criteria for it compare labels. {_HARDEN}")
    if refine:
        raise ValueError(f"refine must be False with soft members: it raises the ANMI with labels. {_HARDEN}")


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


def _refuse_memory(name: str, method: Method, ensemble: AnyEnsemble, options: dict[str, Any], max_bytes: int) -> None:
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
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and parameter.name not in ("rng", "runs")
    }
    unknown = [option for option in options if option not in known]
    if unknown:
        has = f"its options are {', '.join(sorted(known))}" if known else "it has none"
        raise TypeError(f"method {name!r} has no option {', '.join(map(repr, unknown))}; {has}.")

"""One method on the rows of an ensemble: "auto" picks it; checks, order of rows and members, duration, moves after it.

The figures behind "auto" are in docs/default-method.md.
"""

from __future__ import annotations

import inspect
import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.coding import DEFAULT, code_integers, missing_rule
from quorate._data.rows import compress, select_rows
from quorate._device.choose import lives_on_card
from quorate._types import AnyEnsemble, Consensus, E, Ensemble, FloatArray, Method, MethodOptions, SoftEnsemble, Solving
from quorate.methods import METHODS
from quorate.ops.coding import canonical, refine_colours
from quorate.solvers.cluster_means import completed, with_standing
from quorate.solvers.contingency import anmi
from quorate.solvers.label_rows import likeliest_labels, objects_in, take
from quorate.solvers.label_space.climbing import climb
from quorate.solvers.members import in_content_order, missing_shares
from quorate.solvers.sizes import linear_bytes, size_of
from quorate.solvers.weights import in_proportion, relative_weights

MOST_ROUNDS = 12
"""Rounds of colouring; rows that are not told apart after so many hardly ever differ in anything."""

# an ensemble never changes, and is run for several numbers of clusters
_ordered: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_in_proportion: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


@dataclass(frozen=True)
class Ordered(Generic[E]):
    """An ensemble with its rows in the order of their content, and the way back.

    Row i is row `rows[i]` of the given ensemble, and cluster f of a member is the cluster `codes[member][f]` there.
    """

    ensemble: E
    rows: NDArray[np.intp]
    codes: tuple[NDArray[np.intp], ...]

    def restored(self, result: Consensus, by_member: tuple[str, ...], by_row: tuple[str, ...] = ()) -> Consensus:
        """The result with its labels, confidence, tree and facts about clusters as the given ensemble has them."""
        labels = np.empty_like(result.labels)
        labels[self.rows] = result.labels
        confidence = result.confidence
        if confidence is not None:
            confidence = np.empty(len(labels))
            confidence[self.rows] = result.confidence
        return replace(
            result,
            labels=canonical(labels, int(labels.max()) + 1),
            confidence=confidence,
            tree=None if result.tree is None else self._named_leaves(result.tree),
            info=self._own_codes(result.info, by_member) | {name: self._own_rows(result.info[name]) for name in by_row},
        )

    def _named_leaves(self, tree: FloatArray) -> FloatArray:
        """The merges stay in their order, because clusters of equal height were cut in it; only leaves are renamed."""
        names = np.concatenate([self.rows, np.arange(len(self.rows), len(self.rows) + len(tree))])
        named = tree.copy()
        named[:, :2] = np.sort(names[tree[:, :2].astype(np.intp)], axis=1)
        return named

    def _own_rows(self, values: NDArray[Any]) -> NDArray[Any]:
        restored = np.empty_like(values)
        restored[self.rows] = values
        return restored

    def _own_codes(self, info: Mapping[str, Any], by_member: tuple[str, ...]) -> dict[str, Any]:
        restored = dict(info)
        for name in by_member:
            if restored.get(name) is not None:
                restored[name] = {
                    member: _scattered(values, self.codes[self.ensemble.member_names.index(member)])
                    for member, values in restored[name].items()
                }
        return restored


def in_row_order(ensemble: E) -> Ordered[E]:
    """Sort rows by count, the largest first, then by colour, and number the clusters of members by first appearance.

    Only rows that nothing tells apart, each the image of the other under a symmetry of the whole table, stay in their
    order. Rows are expected to be distinct. Soft rows are sorted by their likeliest labels, and their clusters keep
    their numbers, so that soft members that are labels come in the order of these labels.
    """
    known: Ordered[E] | None = _ordered.get(ensemble)
    if known is None:
        known = _ordered[ensemble] = _sorted_rows(ensemble)
    return known


def _sorted_rows(ensemble: E) -> Ordered[E]:
    colours = row_colours(ensemble)
    rows = np.lexsort((colours, -ensemble.counts)).astype(np.intp)
    sorted_rows = take(ensemble, rows, ensemble.counts[rows])
    if not isinstance(sorted_rows, Ensemble):
        return Ordered(sorted_rows, rows, tuple(np.arange(k) for k in ensemble.n_clusters))
    labels, codes = code_integers(sorted_rows.labels.astype(np.int64), ensemble.member_names, missing_rule(DEFAULT))
    categories = tuple(names[own] for names, own in zip(ensemble.categories, codes, strict=True))
    ordered = replace(sorted_rows, labels=labels, categories=categories)
    ordered.remember(is_distinct=ensemble.is_distinct)
    return Ordered(ordered, rows, tuple(own.astype(np.intp) for own in codes))


def row_colours(ensemble: AnyEnsemble) -> NDArray[np.uint64]:
    """A number for each row that follows from the content of the table alone.

    Twice as many objects of each row or larger weights in the same proportions are the same content.
    """
    counts = (ensemble.counts // np.gcd.reduce(ensemble.counts)).astype(np.uint64)
    members = relative_weights(ensemble).view(np.uint64).copy()
    rows: NDArray[np.uint64] = counts.copy()
    labels, n_colours = likeliest_labels(ensemble), 0
    for _ in range(MOST_ROUNDS):
        refine_colours(labels, ensemble.offsets, counts, members, rows)
        n_before, n_colours = n_colours, len(np.unique(rows))
        if n_colours in (n_before, ensemble.n_rows):
            break
    return rows


def _scattered(values: Any, places: NDArray[np.intp]) -> NDArray[Any]:
    own: NDArray[Any] = np.empty_like(values)
    own[places] = values
    return own


logger = logging.getLogger("quorate")
TRIED_FROM = 10_000
"""Rows from which a method whose time grows faster than the rows is tried on a part of them first."""
LINEAR_TRIED_FROM = 1_000_000
"""Rows from which a method whose time grows as the rows do is tried on parts of them first."""
LINEAR_PARTS = 10_000, 20_000
"""Rows of the two parts; the difference tells apart what a row costs and what a run costs for any number of rows."""
PART = 8
"""The larger of the two trials has at most the n-th part of the rows, so that trying costs little beside the work."""
MOST_TRIED = 16_000
WARM_UP = 500
SHORT = 0.3
"""Seconds below which a trial is run twice, because other work on the machine shows in it."""
LEAST_POWER, MOST_POWER = 1.5, 2.5
SLOW = 60.0
"""Seconds from which the estimate is a warning, so that it is seen where nobody listens to information."""

# an ensemble never changes, and a second run of the same method on it, for another number of clusters, needs no trial
_tried: WeakKeyDictionary[Ensemble, set[str]] = WeakKeyDictionary()


def log_duration(name: str, ensemble: Ensemble, run: Callable[[Ensemble], object]) -> None:
    """Estimate how long `run` will take on all rows and log it, as information or, above a minute, as a warning.

    `run` is called with three small samples of the rows: the first one compiles and warms up, and the other two show
    how the time grows with the number of rows. The record has the estimate as its attribute ``seconds``.
    """
    tried = _tried.setdefault(ensemble, set())
    if ensemble.n_rows < TRIED_FROM or name in tried:
        return
    tried.add(name)
    large = min(ensemble.n_rows // PART, MOST_TRIED)
    _seconds(ensemble, WARM_UP, run)
    first, second = _seconds(ensemble, large // 2, run), _seconds(ensemble, large, run)
    _log(name, ensemble, extrapolate(first, second, ensemble.n_rows / large))


def log_linear_duration(name: str, ensemble: Ensemble, run: Callable[[Ensemble], object]) -> None:
    """Estimate and log, as `log_duration` does, how long a method will take whose time grows as the rows do.

    Such a method rarely takes so long that a warning is due, so that it is tried only if somebody listens.
    """
    tried = _tried.setdefault(ensemble, set())
    if ensemble.n_rows < LINEAR_TRIED_FROM or name in tried or not logger.isEnabledFor(logging.INFO):
        return
    tried.add(name)
    _seconds(ensemble, WARM_UP, run)
    small, large = LINEAR_PARTS
    first, second = _seconds(ensemble, small, run), _seconds(ensemble, large, run)
    per_row = max(second - first, 0.0) / (large - small)
    _log(name, ensemble, second + per_row * (ensemble.n_rows - large))


def _log(name: str, ensemble: Ensemble, estimate: float) -> None:
    level = logging.WARNING if estimate >= SLOW else logging.INFO
    logger.log(
        level,
        "%s on %s distinct rows will take about %s",
        name,
        f"{ensemble.n_rows:,}",
        _check.duration(estimate),
        extra={"seconds": estimate},
    )


def extrapolate(first: float, second: float, times: float) -> float:
    """The time for `times` as many rows, where `second` was for twice as many rows as `first`; a power law."""
    power = math.log2(max(second, 1e-6) / max(first, 1e-6))
    # other work on the machine may make the powers of two short runs absurd
    return float(second * times ** min(max(power, LEAST_POWER), MOST_POWER))


def _seconds(ensemble: Ensemble, n_rows: int, run: Callable[[Ensemble], object]) -> float:
    rows = np.sort(np.random.default_rng(0).choice(ensemble.n_rows, size=n_rows, replace=False))
    part = select_rows(ensemble, rows, ensemble.counts[rows])
    part.remember(is_distinct=True)
    start = time.perf_counter()
    run(part)
    seconds = time.perf_counter() - start
    if seconds < SHORT:
        start = time.perf_counter()
        run(part)
        seconds = min(seconds, time.perf_counter() - start)
    return seconds


MAX_SWEEPS = 100


def refined(ensemble: Ensemble, result: Consensus) -> Consensus:
    """A method's result on rows, improved by moves; ``info["refine"]`` tells what they changed."""
    better = refine_rows(ensemble, result.labels, result.n_clusters, MAX_SWEEPS)
    return replace(
        result,
        labels=better.labels,
        objective=better.objective,
        converged=result.converged and better.converged,
        confidence=better.confidence,
        runner_up=better.runner_up,
        info={**result.info, "refine": {**better.info, "objective_before": result.objective}},
    )


def refine_rows(ensemble: Ensemble, labels: NDArray[np.int32], k: int, max_iter: int) -> Consensus:
    """Move whole rows; `labels` holds one of 0..k-1 per row, or -1 for a row that is still without a cluster."""
    start = completed(ensemble, labels, k)
    run = climb(ensemble, start, k, max_iter)
    moved = canonical(run.labels, k)
    result = Consensus(
        labels=moved,
        objective=anmi(ensemble, moved, k),
        n_iter=run.n_iter,
        converged=run.converged,
        info={"start_anmi": anmi(ensemble, start, k), "n_moves": run.n_moves},
        method="refine",
    )
    return with_standing(ensemble, result)


SHARED_OPTIONS = {"n_init": 1_000_000, "max_iter": None}
"""Options that mean the same in every method that has them: a number of runs or sweeps, from 1 to this number. Sweeps
end when nothing changes any more, but runs would never end."""


def resolve(ensemble: AnyEnsemble, n_clusters: object, solving: Solving) -> tuple[Solving, str]:
    """Return how to solve with a method of the register instead of "auto" and options checked, and why it was taken.

    The reason is empty if the method was named.
    """
    if solving.method != AUTO:
        name = (
            solving.method if solving.method in METHODS else _check.choice(solving.method, "method", (AUTO, *METHODS))
        )
        return replace(solving, options=_checked_options(name, solving.options)), ""
    if solving.options:
        given = ", ".join(map(repr, solving.options))
        raise TypeError(f"method 'auto' has no option {given}: options belong to a method; name the one you mean.")
    name, reason = pick(ensemble, n_clusters, solving.max_bytes)
    return replace(solving, method=name), reason


def known_options(method: str, options: MethodOptions) -> MethodOptions:
    """The options that a result says it was made with; none if its method has no such options, as in a forged file."""
    try:
        return _checked_options(method, options)
    except (TypeError, ValueError):
        return {}


def _checked_options(method: str, options: MethodOptions) -> MethodOptions:
    """The options of a method of the register, refused if it has no such option; those all methods share are checked.

    Options that only one method has are checked by that method.
    """
    known = {
        parameter.name
        for parameter in inspect.signature(METHODS[method].solve).parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and parameter.name not in ("rng", "runs", "start")
    }
    unknown = [option for option in options if option not in known]
    if unknown:
        has = f"its options are {', '.join(sorted(known))}" if known else "it has none"
        meant = _check.did_you_mean(unknown[0], known)
        raise TypeError(f"method {method!r} has no option {', '.join(map(repr, unknown))}{meant}; {has}.")
    shared = {
        name: _check.integer(options[name], name, low=1, high=most)
        for name, most in SHARED_OPTIONS.items()
        if name in options
    }
    return {**options, **shared}


FEWEST_OBJECTS = 50
"""With fewer objects a cluster of one or two is nothing unusual."""
NEARLY_ALL, TINY, SPREAD_OUT = 0.8, 0.02, 0.6
"""Labels have collapsed if so large a share of the objects is in one cluster, and half of the clusters are smaller than
this share of n / k, although the members' largest clusters hold no more than the last share of their objects."""


def collapsed(sizes: NDArray[Any], ensemble: AnyEnsemble) -> str | None:
    """Say that nearly all objects are in one cluster although the members divide them; None if that is not so."""
    n_objects, n_clusters = int(sizes.sum()), len(sizes)
    tiny = sizes <= max(2.0, TINY * n_objects / n_clusters)
    if n_objects < FEWEST_OBJECTS or 2 * tiny.sum() < n_clusters or sizes.max() < NEARLY_ALL * n_objects:
        return None
    if isinstance(ensemble, SoftEnsemble) or np.median(_largest_shares(ensemble)) > SPREAD_OUT:
        return None
    return (
        f"Nearly all objects are in one cluster ({int(sizes.max()):,} of {n_objects:,}), and {int(tiny.sum())} of "
        f"{n_clusters} clusters hold at most {int(sizes[tiny].max()):,} each, although the members divide the objects."
    )


def _largest_shares(ensemble: Ensemble) -> FloatArray:
    """The share of the objects that a member labels in its largest cluster, for each member."""
    sizes, starts = objects_in(ensemble), ensemble.offsets[:-1]
    shares: FloatArray = np.maximum.reduceat(sizes, starts) / np.maximum(np.add.reduceat(sizes, starts), 1)
    return shares


Runs = Mapping[str, Callable[[int, np.random.Generator], Consensus]]
"""Methods that are ready to run on an ensemble, by name."""


def run_method(ensemble: AnyEnsemble, n_clusters: Any, solving: Solving) -> Consensus:
    """Run one method for one number of clusters; labels are those of the rows, confidence their own shares.

    `solving` has been through `resolve`. The method gets weights of which the least is 1, because only proportions
    count; its objective is that of the weights as they were given.
    """
    light = _light(ensemble)
    result = _run_method(light, n_clusters, solving)
    degree = METHODS[solving.method].weighs
    if light is ensemble or not degree:
        return result
    return replace(result, objective=result.objective * float(ensemble.weights.min()) ** degree)


def _light(ensemble: E) -> E:
    """The ensemble with its weights `in_proportion`; the same one each time, because facts are stored with it."""
    light: E | None = _in_proportion.get(ensemble)
    if light is None:
        light = in_proportion(ensemble)
        if light is ensemble:
            return ensemble
        light.remember(is_distinct=ensemble.is_distinct, is_proven=ensemble.is_proven)
        _in_proportion[ensemble] = light
    return light


def _run_method(ensemble: AnyEnsemble, n_clusters: Any, solving: Solving) -> Consensus:
    """Run a method on weights that are in proportion.

    First the number of clusters and the memory are checked. Then rows and members
    are sorted, as far as the method wants it, and the method runs; a method that combines others is handed functions
    that run those on the same rows. Last comes what all methods share, and greedy moves if `refine` asks for them.
    """
    method, entry = solving.method, METHODS[solving.method]
    seed = _check.known_seed(solving.random_state)
    rng = _check.generator(solving.random_state if seed is None else seed)
    k = _cluster_number(n_clusters, ensemble, method, entry)
    _refuse_memory(ensemble, k, solving)
    given = ensemble if entry.own_order else in_content_order(ensemble)
    ordered = in_row_order(ensemble) if by_content(entry) else None
    seen = given
    if ordered is not None:
        seen = ordered.ensemble if entry.own_order else in_content_order(ordered.ensemble)
    is_here = seen.card is None and seen.pieces is None
    if isinstance(seen, Ensemble) and is_here and not entry.combines:
        estimate = log_duration if entry.time == "quadratic" else log_linear_duration
        estimate(method, seen, partial(_try_rows, entry, k, solving.options))
    runs: dict[str, Any] = {"runs": _runs(ensemble, solving.max_bytes)} if entry.combines else {}
    if solving.start is not None:
        runs["start"] = solving.start.codes if ordered is None else solving.start.codes[ordered.rows]
    result = entry.solve(seen, k, rng=rng, **solving.options, **runs)
    where = _where(ensemble, method, result)
    if ordered is not None:
        result = ordered.restored(result, entry.by_member, entry.by_row)
    result = with_standing(given, result)
    info = {**result.info, "n_rows": ensemble.n_rows, "n_members": ensemble.n_members, **where, "seed": seed}
    for name in entry.by_member:
        if info.get(name) is not None:
            info[name] = {member: info[name][member] for member in ensemble.member_names}
    result = replace(result, method=method, info=info)
    return refined(ensemble, result) if solving.refine and isinstance(ensemble, Ensemble) else result


def _runs(ensemble: AnyEnsemble, max_bytes: int) -> Runs:
    """Every method that does not combine others, ready to run on this ensemble."""

    def run(name: str, k: int, rng: np.random.Generator) -> Consensus:
        return _run_method(ensemble, k, Solving(name, random_state=rng, max_bytes=max_bytes))

    return {name: partial(run, name) for name, entry in METHODS.items() if not entry.combines}


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


def _try_rows(method: Method, k: int | None, options: MethodOptions, part: Ensemble) -> Consensus:
    """Run a method on a part of the rows, only to see how long it takes."""
    return method.solve(part, k and min(k, part.n_rows), rng=np.random.default_rng(0), **options)


def _cluster_number(n_clusters: Any, ensemble: AnyEnsemble, name: str, method: Method) -> int | None:
    if n_clusters is None:
        if not method.finds_k:
            finding = ", ".join(name for name, entry in METHODS.items() if entry.finds_k)
            raise ValueError(f"method {name!r} needs n_clusters; methods that find it themselves: {finding}.")
        return None
    k = _check.integer(n_clusters, "n_clusters", low=1)
    # rows of which it is not known whether they are distinct are compared only if there are enough of them
    n_distinct = ensemble.n_rows if ensemble.is_distinct or k > ensemble.n_rows else compress(ensemble)[0].n_rows
    if k > n_distinct:
        raise ValueError(
            f"n_clusters = {k:,} is more than the {n_distinct:,} distinct label rows of {ensemble.n_objects:,} "
            f"objects, and equal rows cannot be told apart; ask for at most {n_distinct:,}, or add members."
        )
    return k


def bytes_beyond_linear(method: Method, ensemble: AnyEnsemble, options: MethodOptions, n_clusters: int | None) -> int:
    """The bytes that a method says it needs, without what every method takes in proportion to the ensemble."""
    size = size_of(ensemble, n_clusters)
    tables = max(method.tables(size) - linear_bytes(size), 0)
    if method.memory_for is not None:
        return tables + method.memory_for(ensemble, options)
    return tables + (8 * ensemble.n_rows**2 if method.memory == "quadratic" else 0)


def _refuse_memory(ensemble: AnyEnsemble, n_clusters: int | None, solving: Solving) -> None:
    entry, max_bytes = METHODS[solving.method], solving.max_bytes
    needed = bytes_beyond_linear(entry, ensemble, solving.options, n_clusters)
    if needed <= max_bytes:
        return
    usable = {name: other for name, other in METHODS.items() if other.soft or isinstance(ensemble, Ensemble)}
    fitting = [name for name in usable if bytes_beyond_linear(usable[name], ensemble, {}, n_clusters) <= max_bytes]
    others = f"use a method that needs less ({', '.join(fitting)}), or " if fitting else ""
    chosen = ", ".join([repr(solving.method), *(f"{option}={value!r}" for option, value in solving.options.items())])
    _check.memory(
        needed,
        max_bytes,
        f"method {chosen} on {ensemble.n_rows:,} distinct rows and {int(ensemble.offsets[-1]):,} clusters of members",
        entry.instead or f"{others}coarsen='auto', which measures what it loses,",
    )


AUTO = "auto"
DEFAULT_METHOD = AUTO
TREE_ROWS = 20_000
"""Distinct rows up to which methods whose time grows with pairs of rows are taken."""
MANY_GAPS = 0.78
"""Share of missing labels above which small clusters fall apart into pieces that no member joins."""
FEW_LABELS = 6
"""Known labels per cluster of a member below which this happens."""
FOLDED_CLUSTERS = 2_000
"""Clusters of all members up to which a spectral cut is solved by a dense matrix over them, whatever it holds."""
MANY_CLUSTERS = 20_000
"""Clusters of all members above which Lanczos iterations may need minutes."""
GRAPH_BYTES = 240
"""Bytes that a balanced cut of the graph of rows and clusters takes for each label."""


class Pick(NamedTuple):
    """A method's name and the reason it was taken."""

    method: str
    reason: str


def pick(ensemble: AnyEnsemble, n_clusters: object, max_bytes: int) -> Pick:
    """The method that suits these rows and the number of clusters asked for, which may be still to be chosen."""
    rows = f"{ensemble.n_rows:,} distinct rows"
    if isinstance(ensemble, SoftEnsemble):
        return Pick("kmeans", "members are soft, and of the methods that take memberships it is the fastest")
    wanted = n_clusters if isinstance(n_clusters, int | np.integer) else 20
    n_clusters_of_members = int(ensemble.offsets[-1])
    if n_clusters_of_members > FOLDED_CLUSTERS:
        return _for_many_clusters(ensemble, n_clusters_of_members, max_bytes)
    needed = bytes_beyond_linear(METHODS["lwgp"], ensemble, {}, int(wanted))
    if needed > max_bytes:
        clusters = f"{n_clusters_of_members:,} clusters of members"
        return Pick("kmeans", f"the tables of a spectral cut for {rows} and {clusters} would take {needed:,} bytes")
    missing = float(missing_shares(ensemble).mean())
    known = (1 - missing) * ensemble.n_objects * ensemble.n_members / n_clusters_of_members
    if missing > MANY_GAPS and known < FEW_LABELS and ensemble.n_rows <= TREE_ROWS:
        return Pick(
            "supra",
            f"{missing:.0%} of the labels are missing and {known:.1f} are left per cluster: "
            f"several methods ran, the best ANMI was kept",
        )
    return Pick("lwgp", "linear in rows, the best mean NMI on 60 data sets")


def _for_many_clusters(ensemble: Ensemble, n_clusters: int, max_bytes: int) -> Pick:
    """Members of very many clusters: what still finishes, and does not break as k-means does there."""
    clusters = f"the members have {n_clusters:,} clusters in all"
    if n_clusters <= MANY_CLUSTERS:
        return Pick("transfer", f"{clusters}: a spectral cut without learnt weights is as good there, and quicker")
    most = ensemble.n_members - ensemble.n_members // 4
    if np.sort(ensemble.n_clusters)[:most].sum() <= FOLDED_CLUSTERS:
        # clusters of three objects say little against the large ones, whose eigenvalues then stand apart
        return Pick("transfer", f"{clusters}, nearly all of them in a few members: a spectral cut follows the others")
    needed = GRAPH_BYTES * ensemble.n_rows * ensemble.n_members
    if needed > max_bytes:
        return Pick("kmeans", f"{clusters}, too many for a spectral cut, and their graph would take {needed:,} bytes")
    return Pick("hbgf", f"{clusters}, too many for a spectral cut: their graph is cut into parts of about equal size")

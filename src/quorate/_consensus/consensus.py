"""consensus and solve: code, compress, coarsen, choose the number, solve, expand; in memory or on a card."""

from __future__ import annotations

import logging
import math
import numbers
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._choose_k.choose_k import Numbers, Wanted, candidates, choose, limit_info
from quorate._coarsening.coarsen import MAX_ROWS, coarsen_by_option, coarsen_to_fit
from quorate._consensus.confidence import with_confidence
from quorate._consensus.limits import limited, refuse_limits
from quorate._consensus.warm_start import carried, started
from quorate._data.coding import DEFAULT
from quorate._data.ensemble import ensemble_as, with_evident_weights
from quorate._data.labelling import matched_labels
from quorate._data.outside import inside_rows, noise_values, part_inside, with_noise
from quorate._data.proof import proven
from quorate._data.rows import ARRAYS, at_places, compress, expand, expand_on_card, select_rows
from quorate._data.soft_members import as_soft_ensemble, drawn_labels, harden
from quorate._data.tables import holds_matrices
from quorate._device.choose import DEVICES, card_for, is_out_of_memory, kind_of, lives_on_card
from quorate._progress import steps
from quorate._solve.procedure import Procedure, some_rows
from quorate._solve.run_method import AUTO, DEFAULT_METHOD, collapsed, refined, resolve, run_method
from quorate._types import MAX_BYTES, AnyEnsemble, Consensus, Ensemble, Reading, SoftEnsemble, Solving, read_only
from quorate.methods import METHODS
from quorate.ops.coding import canonical
from quorate.ops.distinct_rows import taken_rows
from quorate.solvers.cluster_means import with_standing
from quorate.solvers.contingency import anmi
from quorate.solvers.label_rows import cluster_sizes
from quorate.solvers.members import agree_little, in_content_order, with_members

HARDEN = "Or pass quorate.harden(members): the labels of the likeliest clusters."
"""The advice that ends every refusal of soft members."""


def solve(
    ensemble: AnyEnsemble,
    n_clusters: Numbers = None,
    *,
    method: str | Callable[..., Any] = DEFAULT_METHOD,
    random_state: Any = None,
    max_bytes: int = MAX_BYTES,
    refine: bool = False,
    confidence: bool = True,
    start: Any = None,
    min_size: int = 1,
    max_clusters: int | None = None,
    **options: Any,
) -> Consensus:
    """Run a method on the rows of a compressed or coarsened ensemble; labels and confidence are those of rows.

    First "auto" is replaced by a named method, then options and the number of clusters are checked, then the method
    runs: once, or once for each number of clusters if these are to be compared.

    Parameters
    ----------
    ensemble : Ensemble or SoftEnsemble
        Rows are expected to be distinct, as `compress` and `merge` leave them.
    n_clusters, method, random_state, max_bytes, refine, confidence, start, min_size, max_clusters, **options
        As in `consensus`.

    Returns
    -------
    Consensus
        One label per row; ``result.labels[inverse]`` are the labels of the objects.

    See Also
    --------
    consensus : the same from any label table, with labels of objects.
    compress, merge : where distinct rows come from.

    Examples
    --------
    >>> from quorate import as_ensemble, compress
    >>> rows, inverse = compress(as_ensemble([[0, 0, 1, 1], [0, 0, 1, 1]]))
    >>> solve(rows, 2).labels[inverse].tolist()
    [0, 0, 1, 1]
    """
    proven(ensemble)
    solving = Solving(
        _named(method), options, None, random_state, max_bytes, refine, confidence, None, start, min_size, max_clusters
    )
    if solving.start is not None:
        n_clusters, solving = started(ensemble, n_clusters, solving)
    return solve_rows(ensemble, n_clusters, solving)


def solve_rows(ensemble: AnyEnsemble, n_clusters: Numbers, given: Solving) -> Consensus:
    """Run a method on distinct rows: what `solve` and `consensus` have in common."""
    solving, reason = resolve(ensemble, n_clusters, given)
    method = METHODS[solving.method]
    if n_clusters is None and not (given.method == solving.method and method.finds_k):
        # only a method that finds the number itself, and that was asked for by name, is left to find it
        n_clusters = AUTO
    if solving.is_limited:
        refuse_limits(ensemble, n_clusters, solving)
    compared = None if isinstance(n_clusters, int) else candidates(n_clusters, ensemble, solving.max_clusters)
    info: dict[str, Any] = {"auto": reason} if reason else {}
    if isinstance(ensemble, SoftEnsemble):
        _refuse_soft(solving, compared is not None)
    if method.needs_moves and isinstance(ensemble, Ensemble) and agree_little(ensemble):
        solving = replace(solving, refine=True)
    several = compared is not None or solving.refine or method.combines or solving.is_limited
    _refuse_parts(ensemble, needs_rows=several or not method.in_parts)
    if ensemble.card is not None and several:
        ensemble = ensemble.on_host()
        why = (
            "numbers of clusters are compared" if compared is not None else "several methods, moves or joins are tried"
        )
        info["device"] = f"the processor: {why}, on rows that the card compressed"
    # a method that was named gets the weights that were given
    weighed = with_evident_weights(ensemble) if reason else ensemble
    result, choice = _of_number(ensemble, weighed, n_clusters, compared, solving)
    ensemble, info = weighed, info | choice
    result = limited(ensemble, result, solving) if solving.is_limited else result
    if solving.options:
        info["options"] = dict(solving.options)
    if solving.start is not None:
        info["n_started"] = solving.start.n_labelled
    if "weights" in ensemble.info:
        info["weights"] = ensemble.info["weights"]
    sizes = None if ensemble.card is not None else cluster_sizes(result.labels, ensemble.counts, result.n_clusters)
    problem = None if sizes is None else collapsed(sizes, ensemble)
    if problem:
        info["collapsed"] = problem
        warnings.warn(f"{problem} Try another method, option or number of clusters.", UserWarning, stacklevel=4)
    result = replace(result, info={**result.info, **info})
    return confident(ensemble, result, solving) if solving.confidence else replace(result, confidence=None)


def _of_number(
    ensemble: AnyEnsemble, weighed: AnyEnsemble, n_clusters: Numbers, compared: Any, solving: Solving
) -> tuple[Consensus, dict[str, Any]]:
    """Run a method once, or once for each number that is compared, and say how the number was chosen.

    Numbers are compared with the weights that were given, and the method runs with those of `weighed`.
    """
    if compared is None or not isinstance(ensemble, Ensemble):
        return run_method(weighed, n_clusters, solving), {}
    choice, result = choose(ensemble, Wanted(compared, isinstance(n_clusters, str)), solving)
    info = {"choice": choice, **limit_info(n_clusters, ensemble, solving.max_clusters)}
    return (result if weighed is ensemble else run_method(weighed, result.n_clusters, solving)), info


def confident(ensemble: AnyEnsemble, result: Consensus, solving: Solving) -> Consensus:
    """Estimate the confidence of labels of these rows, which a method of these options made."""
    # confidence has a seed in any case, so that a deterministic method without a seed stays deterministic
    seed = 0 if solving.random_state is None else abs(_check.known_seed(solving.random_state) or 0)
    procedure = Procedure(
        result.method,
        result.n_clusters,
        solving.refine or "refine" in result.info,
        seed,
        True,
        solving.options,
        solving.max_bytes,
    )
    return with_confidence(ensemble, result, procedure)


def _refuse_parts(ensemble: AnyEnsemble, *, needs_rows: bool) -> None:
    if ensemble.pieces is None or not needs_rows:
        return
    able = ", ".join(name for name, entry in METHODS.items() if entry.in_parts)
    raise ValueError(
        f"the {ensemble.n_rows:,} distinct rows are divided into parts, where only a method with a given number of "
        f"clusters can work ({able}), without refine or limits; use on_host() of the ensemble."
    )


def _refuse_soft(solving: Solving, chooses: bool) -> None:
    if not METHODS[solving.method].soft:
        taking = ", ".join(name for name, entry in METHODS.items() if entry.soft)
        raise ValueError(
            f"solve runs {solving.method!r} on labels alone; methods that it runs on soft members: {taking}. "
            f"quorate.consensus runs any method on them. {HARDEN}"
        )
    if chooses:
        raise ValueError(
            f"n_clusters must be a number with soft members: criteria for it compare labels. quorate.consensus chooses "
            f"it. {HARDEN}"
        )
    if solving.refine:
        raise ValueError(f"refine must be False with soft members: it raises the ANMI with labels. {HARDEN}")


def consensus(
    labels: Any,
    n_clusters: Numbers = None,
    *,
    method: str | Callable[..., Any] = DEFAULT_METHOD,
    coarsen: Any = None,
    random_state: Any = None,
    max_bytes: int = MAX_BYTES,
    refine: bool = False,
    confidence: bool = True,
    weights: Any = None,
    missing: Any = DEFAULT,
    orientation: str | None = None,
    ids: Any = None,
    check: bool = True,
    device: str | None = None,
    features: Any = None,
    progress: bool = False,
    start: Any = None,
    noise: Any = None,
    skip_empty: bool | str = False,
    min_size: int = 1,
    max_clusters: int | None = None,
    **options: Any,
) -> Consensus:
    """Combine many labellings of the same objects into one.

    There are four steps. The labels are checked and coded, and objects with equal labels become one row with a count.
    Similar rows are merged if `coarsen` asks for it. A method finds the consensus of the rows. Last, its labels are
    carried back to all objects.

    Parameters
    ----------
    labels : Ensemble, SoftEnsemble, or anything `as_ensemble` takes
        One row per object, one column per member. A list (or mapping) in which a member is a matrix of memberships goes
        through `as_soft_ensemble`. Methods that take labels alone get 10 labels of each soft member, drawn as often as
        its memberships say, which share its weight; ``info["drawn_labels"]`` is then the number of these members.
    n_clusters : int, "auto", (low, high) or range, optional
        Number of clusters; the result has exactly that many. With "auto" (the same as None) or a range of numbers
        `choose_k` chooses it, and ``info["choice"]`` is its result; with "auto" the answer is 1 if the members have no
        more in common than permuted labels. If the method is named and finds the number itself, None leaves it to
        the method.
    method : str or function
        A name in METHODS, or a function of your own: it gets an Ensemble of distinct rows with counts, the number of
        clusters (None if it is left to the function) and, if it takes one, a generator `rng`, and returns one label for
        each row. ``quorate methods`` lists the names. "auto" chooses one by the number of distinct rows and by the
        share of missing labels: the attribute `method` of the result says which, and ``info["auto"]`` says why.
    coarsen : float, mapping or "auto", optional
        Whether to merge similar rows first, as the function `coarsen` does. A number is its theta, and a mapping such
        as ``dict(theta=0.2, keep=0.9)`` holds its options. "auto" merges as little as leaves 5,000 rows;
        ``dict(max_rows=...)`` sets another number. What merging loses is measured: the method is run on 2,000 objects
        whose rows are not merged, and the others are placed into its clusters. If the merged rows' mean NMI with the
        members is more than 2% lower, "auto" takes this labelling instead (whose objective is that mean NMI), and a
        warning says so of a theta that was given. ``info["coarsen"]`` says what was done and why: theta, keep,
        n_distinct_rows, n_rows, "loss" (the measured share) and "way" (merged or a sample). Without this
        option rows are merged only if `method` is "auto" and even k-means on more than a million distinct rows would
        need more than `max_bytes`; a warning says so.
    random_state : None, int, Generator or RandomState
        The same seed gives the same result. The global random state is never used.
    max_bytes : int
        The memory that the method may use beside the rows, for a matrix over pairs of distinct rows or for tables
        between the clusters of members and those of the result. A method that needs more raises a MemoryError before
        it starts. Copies of the rows and lists beside them, at most 240 bytes per label and 1,200 per distinct row,
        do not count.
    refine : bool
        Whether to move rows afterwards in order to raise the ANMI, as `quorate.refine` does. `objective` is then the
        ANMI, and ``info["refine"]`` gives the ANMI and the objective before, and how many rows moved.
    confidence : bool
        Whether to estimate the confidence of each object, by repeating the method on halves of the members, four times
        on at most 2,000 objects. With False it is None.
    weights, missing, orientation, ids, check
        How to read `labels`, as for `as_ensemble`. Without weights and with method "auto", members that agree nearly
        exactly decide if the others disagree with them and do not err independently; ``info["weights"]`` then has the
        weights of all members and the reasons (docs/how-to/weights.md).
    device : None, "auto", "cpu" or "cuda"
        Where the work is done: "cuda" on a CUDA card, which needs CuPy; "auto" there if a card works and its memory
        suffices; by default on the processor, or on the card if the labels live there (CuPy or PyTorch arrays).
        Results are arrays of the same library, and ``info["device"]`` says where the method ran; see docs/gpu.md.
    features : array or sparse matrix of shape (n_objects, n_columns), optional
        Measurements of the same objects in the same order, which judge the members: how few links between nearest
        neighbours a member's clusters cut, how compact they are, and so on (docs/judge.md). Members with a low mark
        count less, and members that say the same count once. The answer is the weighted consensus, unless that
        without measurements, that of a camp or a single member has a much higher mark. ``info["judge"]`` says which and
        why, ``info["weights"]`` gives each member's mark, weight and reason, and ``info["camps"]`` the names of the
        members of each camp, if there are several. Only on the processor.
    progress : bool
        Whether to show the step and the time left on standard error, as `progress` does.
    start : Consensus or labels, optional
        An earlier result to begin from, for methods that move objects between clusters: greedy, kmeans and its kin
        (ecc, kcc, kmodes, qmi, sec), mixture and voting; with "auto" the method that made it, or kmeans. Use it if
        objects or members were added since. Objects are matched by their ids; without ids the labels are those of the
        first objects, and the others are new. There is one run, and as many clusters as in `start` unless more are
        asked for. ``info["n_started"]`` is the number of objects that had a label.
    noise : value or list of values, optional
        The values with which a member says that an object belongs to no cluster, such as -1 of HDBSCAN. An object
        stays outside (label -1) if members of at least half of the weight of those that know it say so; otherwise
        noise counts as a missing label. ``info["outside"]`` is the number of objects that stay outside.
    skip_empty : bool or "keep", default False
        What to do with objects without any label: refuse the table, leave them out (they need ids), or keep them with
        the label -1.
    min_size : int
        The least number of objects in a cluster. While a cluster is smaller, the smallest one is joined to the cluster
        with which it has the highest mean co-association, so that there are fewer clusters than were asked for or
        chosen. ``info["min_size"]`` then says how many there were before; `objective` and the tree are those before.
    max_clusters : int, optional
        The highest number of clusters. It bounds the numbers that are compared, and a method that finds more by itself
        is run again with this number; a larger number that is given is refused. ``info["max_clusters"]`` says how many
        clusters the method found, or up to which number would have been compared.
    **options
        The method's own options.

    Returns
    -------
    Consensus
        The labels of all objects, in the given order, and what the method reports about them.
        ``info["n_rows"]`` is the number of distinct rows that the method worked on.

    See Also
    --------
    solve : Does the same on rows that are compressed already.
    choose_k : Compares numbers of clusters.
    evaluate : Scores the result, and says how far to believe it.

    Examples
    --------
    >>> segments = {"legacy": ["a", "a", "b", "b", "c"], "web": [1, 1, 2, 2, None], "region": [7, 7, 8, 8, 8]}
    >>> consensus(segments, 2, random_state=0).labels
    array([0, 0, 1, 1, 1], dtype=int32)
    """
    if features is not None:
        _check.choice(device, "device with features", ("cpu", None))
        if start is not None:
            raise ValueError("start must be None with features, which weigh the members anew.")
    reading = Reading(missing, weights, skip_empty, check=check, orientation=orientation, ids=ids, noise=noise)
    if start is not None:
        if device == "cuda" or lives_on_card(labels):
            raise ValueError("start must be None on a card; pass labels in host memory, and device='cpu'.")
        device = None
    solving = Solving(
        _named(method),
        options,
        coarsen,
        random_state,
        max_bytes,
        refine,
        confidence,
        device,
        start,
        min_size,
        max_clusters,
    )
    with steps(is_shown=progress)("finding the consensus"):
        if features is not None:
            on_host = labels.on_host() if isinstance(labels, Ensemble) else labels
            return _judged_consensus(_read(on_host, reading), n_clusters, solving, features)
        return _consensus(labels, n_clusters, reading, solving)


def _named(method: str | Callable[..., Any]) -> str:
    """Return the name of a method, which a function of the user gets now."""
    if isinstance(method, str):
        return method
    from quorate._solve.own_method import method_name

    return method_name(method)


def _consensus(labels: Any, n_clusters: Numbers, reading: Reading, solving: Solving) -> Consensus:
    """Find the consensus on the card if it is asked for or the labels live there, otherwise on the processor."""
    if solving.device == "cpu" and isinstance(labels, Ensemble):
        labels = labels.on_host()
    if solving.device not in (None, "cpu") or lives_on_card(labels):
        if noise_values(reading.noise) or reading.skip_empty:
            raise ValueError(
                "noise and skip_empty must be left out on a card; pass labels in host memory, device=None."
            )
        result = consensus_on_card(labels, n_clusters, reading, solving)
        if result is not None:
            return result
    _check.choice(solving.device, "device", DEVICES)
    return solve_objects(_read(labels, reading), n_clusters, solving).objects


def _judged_consensus(ensemble: AnyEnsemble, n_clusters: Numbers, solving: Solving, features: Any) -> Consensus:
    """Do what `consensus` does with `features`: judge the weighted consensus, that of each camp and the best member."""
    # only this needs measurements, and what reads them
    from quorate._consensus.judged import ALIKE, ALL, judging_of

    members = harden(ensemble) if isinstance(ensemble, SoftEnsemble) else ensemble
    info: dict[str, Any] = {}
    if not isinstance(n_clusters, numbers.Integral):
        open_number = solve_objects(members, n_clusters, replace(solving, confidence=False)).objects
        n_clusters, info = open_number.n_clusters, {"choice": open_number.info.get("choice")}
    k, seed = int(n_clusters), 0 if solving.random_state is None else abs(_check.known_seed(solving.random_state) or 0)
    judging = judging_of(members, k, features, seed)
    if judging is None:
        return solve_objects(members, n_clusters, solving).objects
    quick = replace(solving, confidence=False)
    whole = solve_objects(judging.weighted(), k, solving)
    found = {ALL: whole.objects.labels, ALIKE: solve_objects(members, k, quick).objects.labels}
    for name, camp in judging.named_camps().items():
        labels = camp_consensus(members, camp, k, quick).labels
        found |= {name: labels} if labels.min() >= 0 else {}
    chosen, told = judging.answer({**found, **judging.best_member()})
    result = whole.objects if chosen.name != ALIKE else solve_objects(members, k, solving).objects
    if chosen.name not in (ALL, ALIKE):
        result = _with_labels(result, judging.everyone(), chosen.labels, solving)
    return replace(result, info={**result.info, **told, **{key: value for key, value in info.items() if value}})


def _with_labels(whole: Consensus, members: Ensemble, labels: NDArray[np.int32], solving: Solving) -> Consensus:
    """Return the result with other labels, whose objective is the mean NMI with the weighted members.

    Equal rows of labels have equal labels, because these follow from the members. Confidence is that of these labels
    when the weighted consensus is repeated.
    """
    rows, inverse = compress(members)
    first = np.zeros(rows.n_rows, dtype=np.intp)
    first[inverse[::-1]] = np.arange(len(inverse))[::-1]
    kept = {name: value for name, value in whole.info.items() if name not in ("confidence", "method_confidence")}
    k = int(labels.max()) + 1
    objective = anmi(rows, labels[first], k)
    result = Consensus(labels[first], objective, info={**kept, "n_rows": rows.n_rows}, method=whole.method)
    result = confident(rows, result, solving) if solving.confidence else result
    return replace(expand(result, inverse, members.object_ids), id_name=members.id_name)


def camp_consensus(
    ensemble: Ensemble, members: NDArray[np.intp], n_clusters: int | None, solving: Solving
) -> Consensus:
    """Return the consensus of some members; objects that none knows, or that they call noise, have the label -1."""
    noise = None if ensemble.noise is None else ensemble.noise[:, members]
    return solve_objects(with_noise(with_members(ensemble, members), noise), n_clusters, solving).objects


def _read(labels: Any, reading: Reading) -> AnyEnsemble:
    """Labels or soft members, read as the options of `as_ensemble` say."""
    if not (isinstance(labels, SoftEnsemble) or holds_matrices(labels)):
        return ensemble_as(labels, reading)
    if noise_values(reading.noise) or reading.skip_empty:
        raise ValueError("noise and skip_empty must be left out with soft members; noise is a membership in nothing.")
    if reading.orientation is not None:
        raise ValueError("orientation must be None with soft members, each of which is a matrix with objects as rows.")
    return as_soft_ensemble(labels, weights=reading.weights, missing=reading.missing, ids=reading.ids)


class Solved(NamedTuple):
    """A consensus twice: of the rows the method worked on, and of the objects those rows stand for."""

    ensemble: AnyEnsemble
    rows: Consensus
    objects: Consensus


def solve_objects(ensemble: AnyEnsemble, n_clusters: Numbers, solving: Solving) -> Solved:
    """Compress an ensemble, coarsen it if asked to, solve, and carry the labels back to the objects.

    This is `consensus` on data that has been through the door already. On a card, rows are coarsened in host memory,
    and too little memory on the card is an error of one line.
    """
    if ensemble.card is not None:
        return _solve_on_card(ensemble, n_clusters, solving)
    inside = inside_rows(ensemble) if isinstance(ensemble, Ensemble) else None
    if inside is not None:
        return _solve_inside(cast(Ensemble, ensemble), inside, n_clusters, solving)
    if solving.start is not None:
        n_clusters, solving = started(ensemble, n_clusters, solving)
    rows, inverse = compress(ensemble)
    if isinstance(rows, SoftEnsemble) and (_is_open(n_clusters, solving) or _needs_labels(solving)):
        return _solve_soft(cast(SoftEnsemble, ensemble), n_clusters, solving)
    if solving.start is not None:
        solving = carried(solving, inverse, ensemble.counts, rows.n_rows)
    merged = coarsened(rows, n_clusters, solving)
    if merged is None:
        result = solve_rows(rows, n_clusters, solving)
        objects = expand(result, inverse, ensemble.object_ids)
        return Solved(rows, result, replace(objects, id_name=ensemble.id_name))
    few, joined, done = merged
    begun = solving if solving.start is None else carried(solving, joined, rows.counts, few.n_rows)
    result = solve_rows(few, n_clusters, replace(begun, confidence=False))
    if solving.coarsen is not None and few.n_rows < rows.n_rows:
        sampled, done = _measured(cast(Ensemble, rows), expand(result, joined), n_clusters, solving, done)
        if sampled is not None:
            few, result, joined = rows, limited(rows, sampled, solving), np.arange(rows.n_rows)
    result = replace(result, info={**result.info, "coarsen": done})
    objects = expand(result, joined[inverse], ensemble.object_ids)
    if solving.confidence:
        # of the rows as they were before they were merged, so that confidence says what merging lost
        sure = confident(rows, expand(result, joined), solving)
        confidence = None if sure.confidence is None else taken_rows(sure.confidence, inverse)
        objects = replace(objects, confidence=confidence, info=sure.info)
    return Solved(few, result, replace(objects, id_name=ensemble.id_name))


def _solve_inside(ensemble: Ensemble, inside: NDArray[np.intp], n_clusters: Numbers, solving: Solving) -> Solved:
    """Solve the objects that belong to some cluster; the others get the label -1. There is no tree of all objects."""
    if solving.start is not None:
        codes = matched_labels(solving.start, "start", ensemble)[0][inside]
        solving = replace(solving, start=codes)
    solved = solve_objects(part_inside(ensemble, inside), n_clusters, solving)
    found, n_rows = solved.objects, ensemble.n_rows
    n_outside = int(ensemble.counts.sum() - ensemble.counts[inside].sum())
    gaps = {"labels": -1, "confidence": np.nan, "runner_up": -1, "rows": -1}
    arrays = {name: at_places(getattr(found, name), inside, n_rows, fill) for name, fill in gaps.items()}
    info = {**found.info, "outside": n_outside}
    objects = replace(found, **arrays, tree=None, object_ids=ensemble.object_ids, info=info)
    return solved._replace(objects=objects)


def _needs_labels(solving: Solving) -> bool:
    """Whether soft members must become labels for a method or an option."""
    method = METHODS.get(solving.method)
    return solving.refine or solving.coarsen is not None or (method is not None and not method.soft)


def _is_open(n_clusters: Numbers, solving: Solving) -> bool:
    """Whether the number of clusters is to be chosen, not given and not found by the method itself."""
    finds = n_clusters is None and solving.method in METHODS and METHODS[solving.method].finds_k
    return not (isinstance(n_clusters, numbers.Integral) or finds)


def _solve_soft(soft: SoftEnsemble, n_clusters: Numbers, solving: Solving) -> Solved:
    """Choose the number by the likeliest labels, and let a method that takes labels alone have labels that are drawn
    from the memberships. Confidence and the best other cluster are those of the memberships.
    """
    if _is_open(n_clusters, solving):
        labels = compress(harden(soft))[0]
        asked_for = AUTO if n_clusters is None else n_clusters
        compared = candidates(asked_for, labels, solving.max_clusters)
        assert compared is not None, "a number that is open has candidates"
        wanted = Wanted(compared, n_clusters is None or isinstance(n_clusters, str))
        plain = replace(solving, refine=False, coarsen=None)
        choice = choose(labels, wanted, resolve(labels, compared, plain)[0])[0]
        solved = solve_objects(soft, choice.n_clusters, solving)
        told = {"choice": choice, **limit_info(asked_for, labels, solving.max_clusters)}
        return solved._replace(objects=replace(solved.objects, info={**solved.objects.info, **told}))
    rows, inverse = compress(soft)
    drawn = drawn_labels(in_content_order(rows))
    if solving.start is not None:
        solving = carried(solving, inverse, soft.counts, rows.n_rows)
    whole = solve_objects(drawn, n_clusters, replace(solving, confidence=False))
    assert whole.objects.rows is not None, "the rows of the labels that were drawn"
    result = with_standing(rows, replace(whole.objects, rows=None))
    result = replace(result, info={**result.info, "drawn_labels": drawn.n_members})
    result = confident(rows, result, solving) if solving.confidence else replace(result, confidence=None)
    objects = expand(result, inverse, soft.object_ids)
    return Solved(whole.ensemble, whole.rows, replace(objects, rows=whole.objects.rows[inverse], id_name=soft.id_name))


SAMPLE = 2_000
"""Objects on which a method is run without merging, at most, to measure what merging loses."""
LOSS = 0.02
"""Merging may lose this share of the mean NMI with the members. If it loses more, "auto" takes the sample instead, and
a warning says so of a theta that was given."""


def _measured(
    rows: Ensemble, merged: Consensus, n_clusters: Numbers, solving: Solving, info: Mapping[str, Any]
) -> tuple[Consensus | None, dict[str, Any]]:
    """Measure what merging rows lost, and return a better result if "auto" finds one, and what was done.

    The method is run on a sample of the objects, whose rows are not merged, and the other objects are placed into its
    clusters. The loss is the share by which the merged rows' mean NMI with the members is below that of this labelling.
    If it is too large, "auto" takes this labelling, and a theta that was given leads to a warning.
    """
    is_found = n_clusters is None and METHODS[merged.method].finds_k and solving.max_clusters is None
    k = None if is_found else merged.n_clusters
    plain = replace(solving, method=merged.method, refine=False, start=None)
    sampled = _sampled(rows, k, plain, min(SAMPLE, info.get("max_rows", SAMPLE)))
    if sampled is None:
        return None, dict(info)
    loss = 1 - anmi(rows, merged.labels, merged.n_clusters) / max(sampled.objective, 1e-300)
    told = {**info, "loss": max(0.0, loss), "way": "merged"}
    if loss <= LOSS:
        return None, told
    if "max_rows" in info:
        way = f"sample of {sampled.info['n_sampled']:,} objects"
        told |= {"way": way, "n_rows": sampled.info["n_rows"]}
        return refined(rows, sampled) if solving.refine else sampled, told
    warnings.warn(
        f"merging rows with theta={info['theta']:g}, keep={info['keep']:g} lost {loss:.0%} of the agreement with the "
        f"members, because {merged.method} on a sample of the objects agrees better. Use a method that needs no "
        f"merging, such as 'lwgp' or 'kmeans', or coarsen='auto', or a smaller theta.",
        UserWarning,
        stacklevel=4,
    )
    return None, told


def _sampled(rows: Ensemble, k: int | None, solving: Solving, most: int) -> Consensus | None:
    """Run a method on some of the objects, and place the others; the objective is the mean NMI with the members.

    None if the sample has too few rows for the method or it needs too much memory.
    """
    from quorate._consensus.place import cluster_profiles, place_rows

    drawn, counts = some_rows(rows, most, np.random.default_rng(0))
    part = replace(rows, labels=read_only(rows.labels[drawn]), counts=counts)
    try:
        result = run_method(select_rows(rows, drawn, counts), k, solving)
    except (ValueError, MemoryError):
        return None
    placed = place_rows(part, result.labels, cluster_profiles(part, result.labels), rows.labels)
    labels = canonical(placed, result.n_clusters)
    value = anmi(rows, labels, result.n_clusters)
    info = {**result.info, "n_sampled": int(counts.sum())}
    return Consensus(labels, value, result.n_iter, result.converged, info=info, method=result.method)


def coarsened(rows: Any, n_clusters: Numbers, solving: Solving) -> Any:
    """The rows merged as the option `coarsen` says, the merged row of each row, and what was done.

    None if nothing is to be merged. Without the option, rows are merged only if the method is "auto" and none that it
    may take fits into `max_bytes`.
    """
    if solving.coarsen is None:
        fits = solving.method != AUTO or not isinstance(rows, Ensemble)
        return None if fits else coarsen_to_fit(rows, solving.max_bytes)
    budget = min(MAX_ROWS, max(1, math.isqrt(solving.max_bytes // 8)))
    return coarsen_by_option(rows, solving.coarsen, n_clusters=n_clusters, max_rows=budget)


logger = logging.getLogger("quorate")


def consensus_on_card(labels: Any, n_clusters: Numbers, reading: Reading, solving: Solving) -> Consensus | None:
    """Return the consensus of labels that live on a card or are to go there; None if the processor is to make it."""
    device = solving.device
    if device == "cpu":
        raise ValueError("device must not be 'cpu' for labels on a card; copy them to host memory first.")
    if isinstance(labels, SoftEnsemble) or (kind_of(labels) == "numpy" and holds_matrices(labels)):
        if device == "cuda":
            raise ValueError("device must be 'cpu' with soft members: a card works on labels alone.")
        return None
    card = card_for(device, labels)
    if card is None:
        return None
    from quorate._data.rows_on_card import compress_in_blocks, ensemble_on_card, is_plain_table, is_too_large

    try:
        if isinstance(labels, np.ndarray) and is_plain_table(labels, reading) and is_too_large(card, labels):
            compressed = compress_in_blocks(card, labels, reading)
            if compressed is not None:
                return _solved_in_blocks(*compressed, n_clusters, solving)
        return solve_objects(ensemble_on_card(card, labels, reading), n_clusters, solving).objects
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        if device != "auto" or lives_on_card(labels):
            raise
        logger.info("device: the processor, because the card's memory does not suffice (%s)", error)
        return None


def _solved_in_blocks(rows: Any, inverse: NDArray[np.int32], n_clusters: Numbers, solving: Solving) -> Consensus:
    """Solve rows on the card, and carry the result to objects whose rows are known in host memory, in blocks."""
    result = solve_objects(rows, n_clusters, solving).rows
    card, size = rows.card, max(1024, int(0.02 * rows.card.free_bytes()) // 8)
    arrays: dict[str, Any] = {}
    for name in ARRAYS:
        array = getattr(result, name)
        if array is None:
            continue
        source = card.to_card(array) if isinstance(array, np.ndarray) else array
        arrays[name] = np.empty(len(inverse), dtype=source.dtype)
        for start, stop, block in card.row_blocks(inverse, min(size, len(inverse))):
            arrays[name][start:stop] = card.to_host(source[block])
    return replace(result, **arrays, rows=inverse.astype(np.intp))


def _solve_on_card(ensemble: Any, n_clusters: Numbers, solving: Solving) -> Solved:
    """Do what `solve_objects` does for an ensemble on a card."""
    from quorate._data.rows_on_card import compress_on_card

    try:
        rows: Any
        rows, inverse = compress_on_card(ensemble)
        info = {}
        if solving.coarsen is not None:
            rows, joined, info["coarsen"] = coarsened(rows.on_host(), n_clusters, solving)
            inverse = ensemble.card.to_card(joined.astype(np.int32))[inverse]
            info["device"] = "the processor: rows were merged first, which a card cannot do"
        result = solve_rows(rows, n_clusters, solving)
        result = replace(result, info={**result.info, **info})
        objects = expand_on_card(result, inverse, ensemble)
    except Exception as error:
        if not is_out_of_memory(error) or isinstance(error, MemoryError):
            raise
        raise MemoryError(f"the card's memory does not suffice: {' '.join(str(error).split())}") from error
    return Solved(rows, result, replace(objects, id_name=ensemble.id_name))

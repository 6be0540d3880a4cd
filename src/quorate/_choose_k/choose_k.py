"""choose_k: numbers of clusters are compared by several criteria, and one is recommended; stability of halves."""

from __future__ import annotations

import logging
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from quorate import _check
from quorate._choose_k.criteria import (
    Decision,
    Run,
    ambiguities,
    decide,
    density_gains,
    eigengaps,
    falls,
    highest_number,
    link_gaps,
    merge_gaps,
    modularities,
    shortlist,
    supports,
    tree_lifetimes,
    voted,
)
from quorate._data.ensemble import as_ensemble
from quorate._data.rows import as_objects, compress, permuted, select_members, side_by_side
from quorate._data.soft_members import harden, soft_or_labels
from quorate._solve.procedure import some_objects, two_halves, until_clear
from quorate._solve.run_method import DEFAULT_METHOD, MANY_CLUSTERS, resolve, run_method
from quorate._summaries import Candidate, Choice
from quorate._types import MAX_BYTES, AnyEnsemble, Consensus, Ensemble, FloatArray, Solving
from quorate.solvers.contingency import anmi, ari, contingency
from quorate.solvers.members import in_content_order
from quorate.solvers.spectral.transfer_cut import leading_values
from quorate.solvers.weights import cluster_weights

MOST_OBJECTS = 1_000
"""Objects that are drawn for the comparison at most."""
FEWEST, MOST = 5, 19
"""Permutations before a clear answer may end the comparison, and after which it ends in any case."""
BEYOND = 3.0
"""From this z on, members have something in common, provided that no permutation had as much."""
CLEAR = (1.0, 8.0)
"""Below the first or above the second z the answer is clear, and no further permutations are made."""
LEAST_SPREAD = 1e-3
"""The least standard deviation: few permutations may be alike by chance."""


class Shared(NamedTuple):
    """The second eigenvalue of the graph of objects and clusters, observed and expected by chance."""

    observed: float
    expected: float
    z: float
    p_value: float
    n_permutations: int

    @property
    def is_beyond(self) -> bool:
        """Whether permuted labels hardly ever have as much in common."""
        return self.z >= BEYOND and self.p_value <= 1 / (1 + self.n_permutations)


def shared_structure(ensemble: Ensemble, seed: int) -> Shared | None:
    """Compare the second eigenvalue of the graph of objects and clusters with that of permuted labels.

    The eigenvalue is 1 if the objects can be divided into two parts that no member mixes, and small if the members
    have nothing in common. No number of clusters is needed. None is returned if there is nothing to compare: fewer
    than two members that divide the objects, or members that are all the same partition.
    """
    dividing = ensemble.n_clusters > 1
    if dividing.sum() < 2 or _are_alike(ensemble):
        return None
    objects = as_objects(some_objects(ensemble, MOST_OBJECTS, np.random.default_rng((seed, 0))))
    if objects.n_members < 2 or objects.n_rows < 4:
        return None
    observed = _second_value(objects, seed)
    values = until_clear(
        lambda number: _second_value(permuted(objects, np.random.default_rng((seed, number))), seed),
        lambda values: not CLEAR[0] < _z(observed, values) < CLEAR[1],
        limits=(FEWEST, MOST),
    )
    above = sum(value >= observed - 1e-12 for value in values)
    expected = float(np.mean(values))
    return Shared(observed, expected, _z(observed, values), (1 + above) / (1 + len(values)), len(values))


def _are_alike(ensemble: Ensemble) -> bool:
    """Whether all members are the same partition: then there are as many rows as any of them has clusters."""
    return not ensemble.has_missing and bool((ensemble.n_clusters == ensemble.n_rows).all())


def _second_value(objects: Ensemble, seed: int) -> float:
    rng = np.random.default_rng(seed)
    values = leading_values(objects, cluster_weights(objects), 2, rng, dense=False)
    return float(values[1]) if len(values) > 1 else 0.0


def _z(observed: float, values: list[float]) -> float:
    return (observed - float(np.mean(values))) / max(float(np.std(values, ddof=1)), LEAST_SPREAD)


FEWEST_MEMBERS = 4
"""With fewer members a half is a single member, which says nothing about a consensus."""


def halves_agree(ensemble: Ensemble, numbers: Sequence[int], solving: Solving) -> dict[int, float]:
    """Return the ARI of the consensuses of two halves of the members for each number of clusters.

    Objects are drawn at random, so that both members and objects are resampled. Numbers for which a half has no answer
    are left out, for example because the method would need more memory than it may take. The random state is a number.
    """
    if ensemble.n_members < FEWEST_MEMBERS:
        return {}
    rng = np.random.default_rng((solving.random_state, 1))
    seen = some_objects(in_content_order(ensemble), MOST_OBJECTS, rng)
    order = rng.permutation(seen.n_members)
    parts = [select_members(seen, half) for half in two_halves(order)]
    if len(order) < FEWEST_MEMBERS or any((part.labels.max(axis=1) < 0).any() for part in parts):
        return {}
    rows = [compress(part) for part in parts]
    plain, likeness = replace(solving, refine=False), {}
    for k in numbers:
        try:
            one, other = (run_method(part, k, plain).labels[inverse] for part, inverse in rows)
        except (ValueError, MemoryError):
            continue
        table = contingency(one, other, int(one.max()) + 1, int(other.max()) + 1, seen.counts)
        likeness[k] = float(ari(table))
    return likeness


logger = logging.getLogger("quorate")

BOUNDS = (0.1, 0.9)
"""A pair of objects is ambiguous if its consensus index lies between these values."""
FINE, FEW_STARTS = "transfer", {"n_init": 3}
"""The method whose many clusters are merged, and its options: it need not find the best of all cuts."""
COMPARED_OBJECTS, COMPARED_PER_CLUSTER = 2_000, 40
"""Objects on which numbers of clusters are compared at most, so that the cost of a choice does not grow with them."""
ALL_TRIED = 6
"""Up to so many numbers the method runs for all of them; of more, it runs for those that have most support."""
Numbers = int | str | tuple[int, int] | range | None
"""What may be asked for as n_clusters."""

__all__ = ["Candidate", "Choice", "Numbers", "candidates", "choose", "choose_k"]


def choose_k(
    labels: Any,
    n_clusters: Numbers = "auto",
    *,
    method: str = DEFAULT_METHOD,
    bounds: tuple[float, float] = BOUNDS,
    null: bool = True,
    random_state: Any = None,
    max_bytes: int = MAX_BYTES,
    **options: Any,
) -> Choice:
    """Compare numbers of clusters by several criteria, name up to three candidates, and recommend one of them.

    First the members are compared with permuted labels: if they have nothing in common, the answer is 1. Then the
    criteria that do not need a consensus are computed for all numbers. The method runs for the numbers that have most
    support, and their consensuses are compared with the members. Last, the criteria are weighed.

    Parameters
    ----------
    labels : Ensemble, SoftEnsemble, anything `as_ensemble` or `as_soft_ensemble` takes, or mapping {k: members}
        Of soft members the likeliest labels are compared.
        A mapping from numbers of clusters to members of so many clusters each, as for `over_k` and
        `plot.consensus_cdf`; then the numbers of the mapping are compared.
    n_clusters : "auto", None, (low, high) or range
        The numbers to compare, both ends included. "auto" and None try 2 to 20, or more if a quarter of the members
        have more clusters, and only then may the answer be 1.
    method : str
        A name in METHODS, or "auto"; its labellings are scored by ANMI and by stability.
    bounds : (low, high)
        The bounds of PAC: a pair of objects is ambiguous if the share of members that put it together lies between.
    null : bool
        Whether to compare the members with permuted labels first.
    random_state : None, int, Generator or RandomState
    max_bytes : int
    **options
        The method's own options.

    Returns
    -------
    Choice
        ``n_clusters``, ``candidates``, ``undecided``, ``reason``, ``votes`` and the ``table``; prints as a table.

    See Also
    --------
    consensus : Calls this function if no number of clusters is given.
    EnsembleClustering : Starts from measurements, which tell more about the number of clusters than labels do.
    over_k : The criteria of Monti et al. for members that were made for one number each.

    Notes
    -----
    The eigengap speaks for the number after which the eigenvalues of the graph of objects and clusters fall most, on
    a scale of cuts. The merge gap merges clusters of a fine consensus two by two, and speaks for the number at which
    the next merge costs most compared with the last one. The density gain is that of bisecting k-means [2]_; it speaks
    for the number after which the gain falls most. The lifetime needs a tree: the method's own, or that of `eac` on up
    to 20,000 distinct rows. ANMI [1]_ and stability (the ARI of the consensuses of two halves of the members, on a
    part of the objects) are computed for the numbers that have most support by the other criteria. PAC [3]_ compares
    members: at least five must have the number of clusters in question. It falls with the number of clusters by
    itself, so that it is shown and has no weight. Links between nearest neighbours (link gap, modularity) count only
    where measurements are known, which is not so here.

    Each criterion gives the best number a support of 1 and the others their share of its value. These are weighted;
    the weights were chosen by measurement, which docs/trust.md reports. A criterion whose values are the same for all
    numbers abstains. From the supports follow probabilities that a number is right, on a scale that was fitted to sets
    whose number is known; below 75% the choice is called undecided.

    Members that were made from the same measurements always have something in common. Whether these measurements have
    clusters at all can be seen only with the measurements themselves; see `EnsembleClustering`.

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
    solving = Solving(method, options, random_state=random_state, max_bytes=max_bytes)
    low = _check.fraction(bounds[0], "the lower bound of PAC")
    bounds = low, _check.fraction(bounds[1], "the upper bound of PAC", low=low)
    _check.choice(null, "null", (True, False))
    parts = None
    if isinstance(labels, Mapping) and labels and all(isinstance(key, numbers.Integral) for key in labels):
        parts, labels, n_clusters = _members_by_number(labels, n_clusters)
    members = soft_or_labels(labels)
    # labels drawn of one member agree with one another, which members without clusters must not
    rows, _ = compress(members if isinstance(members, Ensemble) else harden(members))
    compared = candidates("auto" if n_clusters is None else n_clusters, rows)
    if compared is None:
        raise ValueError(f"n_clusters must be 'auto', (lowest, highest) or a range to choose from, got {n_clusters!r}.")
    wanted = Wanted(compared, _is_open(n_clusters), bounds, null, parts)
    return choose(rows, wanted, resolve(rows, compared, solving)[0])[0]


class Wanted(NamedTuple):
    """The numbers of clusters that `choose` compares, and how it compares them.

    `is_open` says whether the answer may be 1, `parts` holds the members for each number, if they were given so, and
    `links` holds the links between nearest neighbours of any two small cells, for several divisions into cells, and
    `more_links` those between more neighbours. They are empty if there are no measurements, the latter also where
    modularity says nothing.
    """

    numbers: Sequence[int]
    is_open: bool
    bounds: tuple[float, float] = BOUNDS
    null: bool = True
    parts: Mapping[int, Ensemble] | None = None
    links: Sequence[FloatArray] = ()
    more_links: Sequence[FloatArray] = ()


def _is_open(wanted: Any) -> bool:
    return wanted is None or isinstance(wanted, str)


def _members_by_number(labels: Mapping[Any, Any], n_clusters: Numbers) -> tuple[dict[int, Ensemble], Ensemble, Numbers]:
    """Return the members for each number, all of them as one ensemble, and the numbers to compare."""
    keys = {k: _check.integer(k, "a key of the mapping, a number of clusters,", low=2) for k in labels}
    parts = {keys[k]: as_ensemble(labels[k]) for k in sorted(labels)}
    lengths = {k: part.n_rows for k, part in parts.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"members must have the same number of objects for every number of clusters, got {lengths}.")
    joined = side_by_side(list(parts.values()))
    if _is_open(n_clusters):
        low, high = min(parts), min(max(parts), compress(joined)[0].n_rows)
        return parts, joined, (low, max(low, high))
    return parts, joined, n_clusters


def candidates(wanted: Any, ensemble: AnyEnsemble, most: int | None = None) -> range | None:
    """The numbers of clusters that "auto", (low, high) or a range asks for, up to `most`; None if `wanted` is none."""
    n_rows = ensemble.n_rows
    if isinstance(wanted, str) and wanted == "auto":
        highest = highest_number(ensemble)
        highest = highest if most is None else min(highest, most)
        return range(min(2, n_rows, highest), highest + 1)
    if not isinstance(wanted, tuple | range) and not (isinstance(wanted, list) and len(wanted) == 2):
        return None
    if isinstance(wanted, range):
        if not wanted or wanted.step != 1:
            raise ValueError(f"n_clusters must be a range that is not empty and has step 1, got {wanted}.")
        wanted = (wanted.start, wanted.stop - 1)
    if len(wanted) != 2:
        raise ValueError(f"n_clusters must be a number, 'auto', or (lowest, highest), got {wanted!r}.")
    low = _check.integer(wanted[0], "the lowest n_clusters", low=2, advice="one cluster has nothing to compare.")
    high = _check.integer(wanted[1], "the highest n_clusters", low=low)
    if high > n_rows:
        raise ValueError(
            f"n_clusters up to {high:,} were asked for, but there are only {n_rows:,} distinct label rows, and equal "
            f"rows cannot be told apart; ask for at most {n_rows:,}, or for 'auto'."
        )
    within_limit(low, most)
    return range(low, (high if most is None else min(high, most)) + 1)


def limit_info(wanted: Any, ensemble: AnyEnsemble, most: int | None) -> dict[str, Any]:
    """Return what `info` says of `max_clusters` if it left out numbers to choose from; nothing if it did not."""
    free = None if most is None else candidates(wanted, ensemble)
    if free is None or most is None or free.stop - 1 <= most:
        return {}
    return {"max_clusters": {"max_clusters": most, "highest_compared_before": free.stop - 1}}


def within_limit(n_clusters: Any, most: int | None) -> None:
    """Refuse a number of clusters that is given and larger than `max_clusters`."""
    if most is not None and isinstance(n_clusters, numbers.Integral) and int(n_clusters) > most:
        raise ValueError(
            f"n_clusters must be at most max_clusters={most:,}, got {int(n_clusters):,}; ask for fewer clusters."
        )


def choose(ensemble: Ensemble, wanted: Wanted, solving: Solving) -> tuple[Choice, Consensus]:
    """Return the recommended number among those wanted, and the answer for it of the method that `resolve` named."""
    # one seed for every number, so that the answer for the chosen one is the answer one gets by asking for it
    given = solving.random_state
    seed = int(given if isinstance(given, numbers.Integral) else _check.generator(given).integers(2**62))
    solving = replace(solving, random_state=seed)
    run: Run = partial(_run, ensemble, solving)
    part = _compared_part(ensemble, max(wanted.numbers), seed)
    trial: Run = run if part is ensemble else partial(_run, part, solving)
    shared = shared_structure(in_content_order(ensemble), seed % 2**32) if wanted.null else None
    if wanted.is_open and shared is not None and not shared.is_beyond:
        return _nothing_shared(shared, solving.method), run(solving.method, 1)
    values, drawn = _profiles(ensemble, part, wanted, trial, solving)
    tried = list(wanted.numbers)
    if len(tried) > ALL_TRIED:
        tried = shortlist(supports(values), ALL_TRIED)
    answers, failed = _answers(wanted.numbers, tried, solving.method, trial)
    values["anmi"] = {k: anmi(part, found.labels, found.n_clusters) for k, found in answers.items()}
    values["stability"] = halves_agree(ensemble, list(answers), solving)
    decision = decide(values, list(answers), failed, list(wanted.numbers))
    while part is not ensemble:
        try:
            answers[decision.n_clusters] = run(solving.method, decision.n_clusters)
            break
        except (ValueError, MemoryError) as error:
            failed[decision.n_clusters] = str(error)
            del answers[decision.n_clusters]
            _refuse_without_answer(answers, failed, solving.method)
            decision = decide(values, list(answers), failed, list(wanted.numbers))
    table = tuple(_row(k, values, decision) for k in wanted.numbers if k not in failed)
    choice = Choice(
        decision.n_clusters,
        decision.reason + _doubt(shared),
        voted(values),
        table,
        solving.method,
        failed,
        drawn,
        decision.candidates,
        decision.undecided,
        _as_facts(shared),
    )
    return choice, answers[choice.n_clusters]


def _run(ensemble: Ensemble, solving: Solving, method: str, k: int) -> Consensus:
    """Run the method that was asked for, or another one that a criterion needs."""
    if method != solving.method:
        solving = replace(solving, method=method, options=FEW_STARTS if method == FINE else {}, refine=False)
    return run_method(ensemble, k, solving)


def _compared_part(ensemble: Ensemble, most: int, seed: int) -> Ensemble:
    """Draw the objects on which numbers of clusters are compared: all of them, unless they are very many."""
    size = max(COMPARED_OBJECTS, COMPARED_PER_CLUSTER * most)
    rng = np.random.default_rng((seed, 2))
    part = some_objects(in_content_order(ensemble), size, rng) if ensemble.n_objects > size else ensemble
    if part is ensemble:
        return ensemble
    rows, _ = compress(part)
    return rows if rows.n_rows > most else ensemble


def _profiles(
    ensemble: Ensemble, part: Ensemble, wanted: Wanted, run: Run, solving: Solving
) -> tuple[dict[str, dict[int, float]], int]:
    """The values of the criteria that need no consensus for each number, and the number of pairs drawn for PAC.

    `run` runs methods on the part of the objects on which numbers are compared.
    """
    compared, parts, rng = wanted.numbers, wanted.parts, np.random.default_rng(solving.random_state)
    most = max(compared)
    fine = _fine(part, most, run, solving.max_bytes) if most > 1 else None
    gains = density_gains(part, most, run)
    if parts is None:
        same = {k: np.flatnonzero(ensemble.n_clusters == k) for k in compared}
        parts = {k: select_members(ensemble, members) for k, members in same.items() if len(members)}
    pac, drawn = ambiguities({k: part for k, part in parts.items() if k in compared}, rng, wanted.bounds)
    lasting = tree_lifetimes(part, None, run)
    values = {
        "eigengap": eigengaps(ensemble, compared, rng) if most > 1 else {},
        "merge_gap": {} if fine is None else merge_gaps(part, fine.labels, compared),
        "link_gap": link_gaps(wanted.links, compared),
        "modularity": modularities(wanted.more_links, compared),
        "density_gain": {k: gains[k] for k in compared if k in gains},
        "density_fall": falls(gains, compared),
        "lifetime": {k: lasting[k] for k in compared if k in lasting},
        "pac": pac,
    }
    return values, drawn


def _fine(ensemble: Ensemble, most: int, run: Run, max_bytes: int) -> Consensus | None:
    """A consensus of many clusters, which merges start from; None if its vectors would need too much memory or time."""
    size = min(max(most + 1, highest_number(ensemble)), ensemble.n_rows)
    if 3 * 8 * ensemble.n_rows * size > max_bytes or int(ensemble.offsets[-1]) > MANY_CLUSTERS:
        return None
    return run(FINE, size)


def _answers(
    compared: Sequence[int], tried: Sequence[int], method: str, run: Run
) -> tuple[dict[int, Consensus], dict[int, str]]:
    """The method's answer for each number, and for the numbers without one the reason."""
    answers: dict[int, Consensus] = {}
    failed: dict[int, str] = {}
    left = [k for k in compared if k not in tried]
    for done, k in enumerate([*sorted(tried), *left], start=1):
        if k in left and answers:
            break
        try:
            answers[k] = run(method, k)
        except (ValueError, MemoryError) as error:
            failed[k] = str(error)
        share = done / max(len(tried), done)
        logger.info("choose_k: %d of %d numbers of clusters tried", done, len(tried), extra={"share": share})
    _refuse_without_answer(answers, failed, method)
    return answers, failed


def _refuse_without_answer(answers: Mapping[int, Consensus], failed: Mapping[int, str], method: str) -> None:
    if not answers:
        first = min(failed)
        raise ValueError(f"method {method!r} answered for no n_clusters from {first} to {max(failed)}: {failed[first]}")


def _row(k: int, values: Mapping[str, Mapping[int, float]], decision: Decision) -> Candidate:
    shown = {name: part.get(k) for name, part in values.items() if name != "density_fall"}
    return Candidate(k, **shown, support=decision.support.get(k, 0.0), probability=decision.probability.get(k))


def _nothing_shared(shared: Shared, method: str) -> Choice:
    reason = (
        "1 cluster: the members have no more in common than permuted labels have "
        f"(second eigenvalue {shared.observed:.2f}, expected {shared.expected:.2f})."
    )
    return Choice(1, reason, {}, (), method, chance=_as_facts(shared))


def _doubt(shared: Shared | None) -> str:
    if shared is None or shared.is_beyond:
        return ""
    return " But the members agree no more than shuffled labels do, so there may be no clusters at all."


def _as_facts(shared: Shared | None) -> dict[str, float]:
    return {} if shared is None else dict(shared._asdict())

"""choose_k: several criteria for the number of clusters side by side, and a recommendation with its reason."""

from __future__ import annotations

import logging
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from quorate import _check
from quorate._consensus.auto import DEFAULT_METHOD, TREE_ROWS, resolve
from quorate._consensus.run_method import MAX_BYTES, checked_options, run_method
from quorate._data.compression import compress
from quorate._data.ensemble import as_ensemble
from quorate._evaluation.ambiguity import ambiguity
from quorate._types import Consensus, Ensemble, FloatArray
from quorate.solvers.anmi import anmi
from quorate.solvers.linkage.dendrogram import lifetimes

logger = logging.getLogger("quorate")

MOST = 20
"""The largest number of clusters that "auto" tries."""
PAC_MEMBERS = 5
"""At least so many members must have one number of clusters for its proportion of ambiguous pairs."""
CLEAR_LIFETIME = 1.5
"""A lifetime decides between criteria that disagree if it is at least so many times the next one."""
TIED = 1e-12
"""Values of a criterion that differ by no more than this are equal: the difference is rounding."""
Numbers = int | str | tuple[int, int] | range | None
"""What may be asked for as n_clusters."""


@dataclass(frozen=True)
class Candidate:
    """One number of clusters and the values of the criteria for it; None if a criterion does not apply.

    `anmi` is that of the method's labelling; `density_gain` is the density won by the split of bisecting k-means that
    makes so many clusters; `lifetime` is the length of the interval of thresholds at which the tree has so many
    clusters; `pac` is the proportion of ambiguous pairs among the members of that many clusters.
    """

    n_clusters: int
    anmi: float
    density_gain: float | None = None
    lifetime: float | None = None
    pac: float | None = None


@dataclass(frozen=True, repr=False)
class Choice:
    """A recommended number of clusters, why, and the table behind it; made by `choose_k`, prints as a table.

    `votes` holds the number that each criterion speaks for; a criterion that is tied over all numbers abstains and is
    not in it. `failed` holds the reason why the method gave no answer for a number, and `pairs_drawn` the number of
    drawn pairs of objects behind each PAC, 0 if all pairs were counted.
    """

    n_clusters: int
    reason: str
    votes: Mapping[str, int]
    table: tuple[Candidate, ...]
    method: str
    failed: Mapping[int, str] = field(default_factory=dict)
    pairs_drawn: int = 0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        others = ("density_gain", "lifetime", "pac")
        names = ["anmi", *(n for n in others if any(getattr(entry, n) is not None for entry in self.table))]
        lines = [f"{'k':>4}" + "".join(f"{name.replace('_', ' '):>14}" for name in names)]
        for entry in self.table:
            values = [getattr(entry, name) for name in names]
            cells = "".join(f"{'-':>14}" if value is None else f"{value:>14.4f}" for value in values)
            lines.append(f"{entry.n_clusters:>4}{cells}{'  *' if entry.n_clusters == self.n_clusters else ''}")
        return "\n".join([*lines, self.reason])

    __repr__ = __str__


def choose_k(
    labels: Any,
    n_clusters: Numbers = "auto",
    *,
    method: str = DEFAULT_METHOD,
    random_state: Any = None,
    max_bytes: int = MAX_BYTES,
    **options: Any,
) -> Choice:
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
    numbers. A criterion whose values are the same for all numbers compared abstains: it is not in ``votes``. If all
    abstain, the smallest number is recommended. No criterion is right always: look at the table.
    The cost is one run of the method for each number, and one run of bisecting k-means.

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
    max_bytes = _check.n_bytes(max_bytes)
    rows, _ = compress(as_ensemble(labels))
    wanted = candidates(n_clusters, rows.n_rows)
    if wanted is None:
        raise ValueError(f"n_clusters must be 'auto', (lowest, highest) or a range to choose from, got {n_clusters!r}.")
    name, _ = resolve(method, rows, wanted, max_bytes, options)
    options = checked_options(name, options)
    choice, _ = choose(
        rows, wanted, name, random_state=random_state, max_bytes=max_bytes, refine=False, options=options
    )
    return choice


def candidates(wanted: Any, n_rows: int) -> range | None:
    """The numbers of clusters that "auto", (low, high) or a range asks for; None if `wanted` is none of these."""
    if isinstance(wanted, str) and wanted == "auto":
        return range(min(2, n_rows), min(MOST, n_rows) + 1)
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
    return range(low, high + 1)


def choose(
    ensemble: Ensemble,
    wanted: Sequence[int],
    method: str,
    *,
    random_state: Any,
    max_bytes: int,
    refine: bool,
    options: Mapping[str, Any],
) -> tuple[Choice, Consensus]:
    """The recommended number among those wanted, and the method's answer for it.

    The method runs once for each number; then the criteria are computed, each votes, and the votes are counted.
    """
    # one seed for every number, so that the answer for the chosen one is the answer one gets by asking for it
    known = isinstance(random_state, numbers.Integral)
    seed = random_state if known else int(_check.generator(random_state).integers(2**62))

    def run(name: str, k: int) -> Consensus:
        own: dict[str, Any] = {"refine": False, "options": {}}
        if name == method:
            own = {"refine": refine, "options": options}
        return run_method(ensemble, k, name, random_state=seed, max_bytes=max_bytes, **own)

    answers, failed = _answers(method, wanted, run)
    gains = _density_gains(ensemble, max(wanted), run)
    lasting = _lifetimes(_tree(ensemble, answers, run))
    pac, drawn = _ambiguities(ensemble, wanted, np.random.default_rng(seed))
    table = tuple(
        Candidate(k, anmi(ensemble, answer.labels, answer.n_clusters), gains.get(k), lasting.get(k), pac.get(k))
        for k, answer in answers.items()
    )
    votes = _votes(table, gains)
    best, reason = _recommend(votes, table, ensemble, failed)
    return Choice(best, reason, votes, table, method, failed, drawn), answers[best]


def _answers(
    method: str, wanted: Sequence[int], run: Callable[[str, int], Consensus]
) -> tuple[dict[int, Consensus], dict[int, str]]:
    """The method's answer for each number, and for the numbers without one the reason."""
    answers: dict[int, Consensus] = {}
    failed: dict[int, str] = {}
    for done, k in enumerate(wanted, start=1):
        try:
            answers[k] = run(method, k)
        except (ValueError, MemoryError) as error:
            failed[k] = str(error)
        share = done / len(wanted)
        logger.info("choose_k: %d of %d numbers of clusters tried", done, len(wanted), extra={"share": share})
    if not answers:
        raise ValueError(f"method {method!r} answered for no n_clusters in {wanted}: {failed[wanted[0]]}")
    return answers, failed


def _density_gains(ensemble: Ensemble, most: int, run: Callable[[str, int], Consensus]) -> dict[int, float]:
    """The density won by the split that leads to each number of clusters, up to one number beyond the candidates."""
    splits = run("bisecting", min(most + 1, ensemble.n_rows)).info["splits"]
    return {place + 2: split.gain for place, split in enumerate(splits)}


def _tree(
    ensemble: Ensemble, answers: Mapping[int, Consensus], run: Callable[[str, int], Consensus]
) -> FloatArray | None:
    """The method's own tree, or that of average-link evidence accumulation if there are few enough rows."""
    first = next(iter(answers.values()))
    if first.tree is None and 1 < ensemble.n_rows <= TREE_ROWS:
        first = run("eac", min(2, ensemble.n_rows))
    return first.tree if first.tree is not None and len(first.tree) == ensemble.n_rows - 1 else None


def _lifetimes(tree: FloatArray | None) -> dict[int, float]:
    """The lifetime of each number of clusters from 2 on."""
    if tree is None:
        return {}
    return {k: float(length) for k, length in enumerate(lifetimes(tree)[1:], start=2)}


def _ambiguities(ensemble: Ensemble, numbers: Sequence[int], rng: np.random.Generator) -> tuple[dict[int, float], int]:
    """The PAC of each number of clusters that enough members have, and the number of pairs drawn for it."""
    proportions, drawn = {}, 0
    for k in numbers:
        members = np.flatnonzero(ensemble.n_clusters == k)
        if len(members) >= PAC_MEMBERS:
            result = ambiguity(ensemble, members, rng)
            proportions[k], drawn = result.proportion, result.n_drawn
    return proportions, drawn


def _votes(table: tuple[Candidate, ...], gains: Mapping[int, float]) -> dict[str, int]:
    """The number each criterion speaks for; ties go to the smaller number, and a criterion tied everywhere abstains."""
    numbers = [entry.n_clusters for entry in table]
    worth = {
        "anmi": {entry.n_clusters: entry.anmi for entry in table},
        "density_gain": {k: gains.get(k, 0.0) - gains.get(k + 1, 0.0) for k in numbers},
        "lifetime": {entry.n_clusters: entry.lifetime for entry in table if entry.lifetime is not None},
        "pac": {entry.n_clusters: -entry.pac for entry in table if entry.pac is not None},
    }
    return {
        name: max(values, key=lambda k: values[k])
        for name, values in worth.items()
        if values and max(values.values()) - min(values.values()) > TIED
    }


WORDS = {
    "anmi": "ANMI is highest",
    "density_gain": "the density gained by a further split falls most",
    "lifetime": "the tree's lifetime is longest",
    "pac": "the fewest pairs are ambiguous",
}


def _leader(votes: Mapping[str, int], table: tuple[Candidate, ...], ensemble: Ensemble) -> tuple[str, str]:
    """The criterion that breaks ties between candidate numbers, and the words that say so."""
    lasting = sorted((entry.lifetime or 0.0 for entry in table), reverse=True)
    if "lifetime" in votes and len(lasting) > 1 and lasting[0] >= CLEAR_LIFETIME * lasting[1]:
        return "lifetime", f"the lifetime, at least {CLEAR_LIFETIME:g} times the next one,"
    # ANMI leans to the members' own numbers of clusters: it judges small numbers fairly only beside small members
    fair = int(ensemble.n_clusters.min()) <= table[0].n_clusters
    if "anmi" in votes and (fair or "density_gain" not in votes):
        return "anmi", "ANMI"
    if "density_gain" in votes:
        why = "is tied" if "anmi" not in votes else "leans to the members' own larger numbers"
        return "density_gain", f"the density gain, for ANMI {why},"
    return "lifetime", "the lifetime, for ANMI and the density gain are tied,"


def _recommend(
    votes: Mapping[str, int], table: tuple[Candidate, ...], ensemble: Ensemble, failed: Mapping[int, str]
) -> tuple[int, str]:
    """The number with most votes, and the reason; ties go to the number of the leading criterion."""
    if votes:
        best, reason = _most_votes(votes, table, ensemble)
    elif len(table) > 1:
        best = table[0].n_clusters
        reason = f"{best} clusters: no criterion tells the numbers apart, so the smallest is taken."
    else:
        best = table[0].n_clusters
        reason = f"{best} clusters: it is the only number to choose from."
    if best in (table[0].n_clusters, table[-1].n_clusters) and len(table) > 2:
        reason += " It is the end of the range tried."
    if failed:
        reason += f" No answer for {', '.join(map(str, failed))}."
    return best, reason


def _most_votes(votes: Mapping[str, int], table: tuple[Candidate, ...], ensemble: Ensemble) -> tuple[int, str]:
    """The number that most criteria speak for, and what they say."""
    leader, why = _leader(votes, table, ensemble)
    lead = votes.get(leader)
    tally = {k: sum(vote == k for vote in votes.values()) for k in votes.values()}
    most = max(tally.values())
    best = lead if lead is not None and tally[lead] == most else min(k for k, n in tally.items() if n == most)
    told = {k: " and ".join(WORDS[name] for name, vote in votes.items() if vote == k) for k in tally}
    reason = f"{best} clusters: {told.pop(best)} there."
    if told:
        reason += " Against it: " + "; ".join(f"{text} at {k}" for k, text in sorted(told.items())) + "."
        if most == 1:
            reason += f" The criteria disagree, so {why} decides: look at the table."
    return best, reason

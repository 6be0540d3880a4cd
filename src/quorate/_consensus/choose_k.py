"""Which number of clusters: several criteria side by side, and a recommendation that gives its reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from quorate import _check
from quorate._evaluation.ambiguity import ambiguity
from quorate._types import Consensus, Ensemble, FloatArray
from quorate.solvers.labellings import anmi
from quorate.solvers.linkage.dendrogram import lifetimes

MOST = 20
"""The largest number of clusters that "auto" tries."""
PAC_MEMBERS = 5
"""Members of one size that it takes for a proportion of ambiguous pairs."""
CLEAR_LIFETIME = 1.5
"""How many times the next one a lifetime must last to decide between criteria that disagree."""
TIED = 1e-12
"""Values of a criterion that differ by no more than this are equal: the difference is rounding."""
TREE_ROWS = 20_000
"""Distinct rows up to which a tree is grown only for the sake of its lifetimes."""


@dataclass(frozen=True)
class Candidate:
    """One number of clusters and what the criteria say about it; None where a criterion does not apply.

    `anmi`: of the method's labelling; `density_gain`: density won by the split that makes so many clusters, in
    bisecting k-means; `lifetime`: length of the interval of thresholds at which the tree has so many clusters; `pac`:
    proportion of ambiguous pairs among the members of that many clusters.
    """

    n_clusters: int
    anmi: float
    density_gain: float | None = None
    lifetime: float | None = None
    pac: float | None = None


@dataclass(frozen=True, repr=False)
class Choice:
    """A recommended number of clusters, why, and the table behind it; made by `choose_k`, prints as a table.

    `votes` says which number each criterion speaks for (a criterion that is tied over all numbers abstains and is not
    in it), `failed` why the method gave no answer for a number, and `pairs_drawn` on how many drawn pairs of objects
    each PAC rests (0: all pairs were counted).
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


def candidates(wanted: Any, n_rows: int) -> range | None:
    """The numbers of clusters a user's "auto", (low, high) or range asks for; None where it is no such thing."""
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
    numbers: Sequence[int],
    method: str,
    run: Callable[[str, int], Consensus],
    others: Sequence[str],
    rng: np.random.Generator,
) -> tuple[Choice, Consensus]:
    """The recommended number and the method's answer for it; `others` are the methods there are for criteria."""
    answers: dict[int, Consensus] = {}
    failed: dict[int, str] = {}
    for k in numbers:
        try:
            answers[k] = run(method, k)
        except (ValueError, MemoryError) as error:
            failed[k] = str(error)
    if not answers:
        raise ValueError(f"method {method!r} answered for no n_clusters in {numbers}: {failed[numbers[0]]}")
    gains = _density_gains(ensemble, max(numbers), run)
    lasting = _lifetimes(_tree(ensemble, answers, run, others))
    pac, drawn = _ambiguities(ensemble, numbers, rng)
    table = tuple(
        Candidate(k, anmi(ensemble, answer.labels, answer.n_clusters), gains.get(k), lasting.get(k), pac.get(k))
        for k, answer in answers.items()
    )
    votes = _votes(table, gains)
    best, reason = _recommend(votes, table, ensemble, failed)
    return Choice(best, reason, votes, table, method, failed, drawn), answers[best]


def _density_gains(ensemble: Ensemble, most: int, run: Callable[[str, int], Consensus]) -> dict[int, float]:
    """Density won on the way to each number of clusters, one number beyond the candidates included."""
    splits = run("bisecting", min(most + 1, ensemble.n_rows)).info["splits"]
    return {place + 2: split.gain for place, split in enumerate(splits)}


def _tree(
    ensemble: Ensemble, answers: Mapping[int, Consensus], run: Callable[[str, int], Consensus], others: Sequence[str]
) -> FloatArray | None:
    """The method's own tree, or that of average-link evidence accumulation where rows are few enough."""
    first = next(iter(answers.values()))
    if first.tree is None and "eac" in others and 1 < ensemble.n_rows <= TREE_ROWS:
        first = run("eac", min(2, ensemble.n_rows))
    return first.tree if first.tree is not None and len(first.tree) == ensemble.n_rows - 1 else None


def _lifetimes(tree: FloatArray | None) -> dict[int, float]:
    """For each number of clusters from 2, how long it lasts while the threshold rises."""
    if tree is None:
        return {}
    return {k: float(length) for k, length in enumerate(lifetimes(tree)[1:], start=2)}


def _ambiguities(ensemble: Ensemble, numbers: Sequence[int], rng: np.random.Generator) -> tuple[dict[int, float], int]:
    """PAC of the members of each size that has enough of them, and on how many drawn pairs it rests."""
    found, drawn = {}, 0
    for k in numbers:
        members = np.flatnonzero(ensemble.n_clusters == k)
        if len(members) >= PAC_MEMBERS:
            result = ambiguity(ensemble, members, rng)
            found[k], drawn = result.proportion, result.n_drawn
    return found, drawn


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
    """The criterion that decides between numbers with equally many votes, and how the reason names it."""
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
    """The number with most votes; where two have as many, the one of the criterion that leads."""
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

"""How the criteria for the number of clusters are weighed, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from quorate._consensus.choice import WORDS
from quorate._consensus.criteria import shares_of_best

WEIGHTS = {
    "eigengap": 1.0,
    "merge_gap": 0.5,
    "link_gap": 1.5,
    "density_fall": 0.1,
    "lifetime": 0.1,
    "anmi": 0.1,
    "stability": 0.1,
}
"""What each criterion counts; docs/decisions/0067 and docs/trust.md tell how the weights were chosen."""
FROM_LOWEST = ("anmi", "stability")
"""Criteria that are high for every number, so that only differences count."""
NEARLY = 0.85
"""A choice is undecided if the next candidate has at least this share of the support of the recommended number."""
MOST_CANDIDATES = 3
LEAST_SHARE = 1 / 3
"""A number is a candidate if it has more than this share of the support of the recommended one."""
TIED = 1e-12
"""Values of a criterion that differ by no more than this are equal: the difference is rounding."""
SHOWN_AS = {"density_fall": "density_gain"}
"""Under which name the number that a criterion speaks for is reported, if it is not its own."""

Values = Mapping[str, Mapping[int, float]]
"""For each criterion, its value for each number of clusters."""


class Decision(NamedTuple):
    """The recommended number, the candidates, whether they are close, the support of each number, and the reason."""

    n_clusters: int
    candidates: tuple[int, ...]
    undecided: bool
    support: Mapping[int, float]
    reason: str


def speaking(values: Values) -> dict[str, dict[int, float]]:
    """Return the criteria that distinguish between the numbers; the others abstain."""
    known = {name: dict(part) for name, part in values.items() if name in WEIGHTS and part}
    return {name: part for name, part in known.items() if max(part.values()) - min(part.values()) > TIED}


def supports(values: Values) -> dict[int, float]:
    """Return the weighted mean of the shares that each number has of the best value of each criterion, from 0 to 1."""
    shares = {name: shares_of_best(part, from_lowest=name in FROM_LOWEST) for name, part in speaking(values).items()}
    total = sum(WEIGHTS[name] for name, part in shares.items() if part)
    numbers = sorted({k for part in values.values() for k in part})
    return {
        k: sum(WEIGHTS[name] * part.get(k, 0.0) for name, part in shares.items()) / total if total else 0.0
        for k in numbers
    }


def voted(values: Values) -> dict[str, int]:
    """Return the number each criterion speaks for; ties go to the smaller number."""
    votes = {SHOWN_AS.get(name, name): _best(part) for name, part in speaking(values).items()}
    pac = values.get("pac", {})
    if pac and max(pac.values()) - min(pac.values()) > TIED:
        votes["pac"] = _best({k: -value for k, value in pac.items()})
    return votes


def _best(part: Mapping[int, float]) -> int:
    return max(sorted(part), key=lambda k: part[k])


def shortlist(support: Mapping[int, float], size: int) -> list[int]:
    """Return the numbers with most support, in increasing order; ties go to the smaller number."""
    return sorted(sorted(support, key=lambda k: (-support[k], k))[:size])


def decide(values: Values, answered: Sequence[int], failed: Mapping[int, str], wanted: Sequence[int]) -> Decision:
    """Weigh the criteria, and choose among the numbers for which the method gave an answer."""
    every = supports(values)
    support = {k: every.get(k, 0.0) for k in answered}
    ranked = sorted(support, key=lambda k: (-support[k], k))
    best = ranked[0]
    others = [k for k in ranked[1:] if support[k] > LEAST_SHARE * support[best]][: MOST_CANDIDATES - 1]
    votes = voted(values)
    undecided = bool(others) and support[others[0]] >= NEARLY * support[best]
    reason = _reason(best, others, votes, undecided, len(answered))
    if best in (wanted[0], wanted[-1]) and len(wanted) > 2:
        reason += " It is the end of the range tried."
    if failed:
        reason += f" No answer for {', '.join(map(str, failed))}."
    return Decision(best, (best, *others), undecided, every, reason)


def _reason(best: int, others: Sequence[int], votes: Mapping[str, int], undecided: bool, n_tried: int) -> str:
    told = {k: " and ".join(WORDS[name] for name in WORDS if votes.get(name) == k) for k in (best, *others)}
    if not votes:
        only = "it is the only number to choose from"
        return f"{best} clusters: {only if n_tried == 1 else 'no criterion tells the numbers apart'}."
    why = f"{told[best]} there" if told[best] else "no criterion is best there, but together they speak most for it"
    reason = f"{best} clusters: {why}."
    if others:
        parts = [f"{k} ({told[k]})" if told[k] else f"{k}" for k in others]
        reason += f" Other candidates: {'; '.join(parts)}."
    if undecided:
        reason += f" Undecided: {others[0]} has nearly as much support."
    return reason

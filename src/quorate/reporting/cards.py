"""The four cards at the top of the page: a number, what it is, and in words whether it is good or bad."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

import numpy as np

from quorate._evaluation.subject import Subject
from quorate._verdict import CLEAR as CLEAR_GRADE
from quorate._verdict import GRADES, NO_STRUCTURE, STRONG
from quorate.reporting.html_tables import NONE
from quorate.reporting.verdict import CLEAR, FAIR, SAME

GOOD, MIDDLING, BAD, OPEN = "good", "middling", "bad", "open"
"""The tones of a card; "open" where nothing can be said."""
MARKS = {GOOD: "▲", MIDDLING: "●", BAD: "▼", OPEN: "○"}
"""The shapes beside the words, so that nobody depends on the colour."""
FEW, MANY = 0.1, 0.3
"""Ambiguous objects are few below the first share, and many from the second on."""
NOT_TESTED = "not compared with chance"


class Card(NamedTuple):
    """A number, what it is, and what it says, with a tone."""

    value: str
    name: str
    cue: str
    tone: str


def cards(subject: Subject) -> list[Card]:
    """Return the cards; none of them praises a labelling that is no better than chance."""
    found = [_agreement(subject), _beyond_chance(subject), _clusters(subject), _ambiguous(subject)]
    if subject.verdict.grade != NO_STRUCTURE:
        return found
    return [card._replace(tone=BAD) if card.tone in (GOOD, MIDDLING) else card for card in found]


def cards_html(subject: Subject) -> str:
    """Return the cards as the entries of a definition list."""
    return "".join(
        f'<div class="{card.tone}"><dd>{escape(card.value)}</dd><dt>{escape(card.name)}</dt>'
        f'<dd class="cue"><span aria-hidden="true">{MARKS[card.tone]}</span> {escape(card.cue)}</dd></div>'
        for card in cards(subject)
    )


def _agreement(subject: Subject) -> Card:
    name = "agreement with members left out"
    agreement, best = subject.trust.agreement, subject.trust.agreement_best_member
    if agreement is None or best is None:
        return Card(NONE, name, "not known how the labelling was made", OPEN)
    if subject.verdict.grade == NO_STRUCTURE:
        return Card(f"{agreement:.2f}", name, "no evidence of structure", BAD)
    if agreement > best + SAME:
        return Card(f"{agreement:.2f}", name, f"better than the best member, {best:.2f}", GOOD)
    if agreement >= best - SAME:
        return Card(f"{agreement:.2f}", name, "as good as the best member", MIDDLING)
    return Card(f"{agreement:.2f}", name, f"below the best member, {best:.2f}", BAD)


def _beyond_chance(subject: Subject) -> Card:
    name = "agreement beyond chance, 0 to 1"
    grade, adjusted = subject.verdict.grade, subject.trust.adjusted
    value = NONE if adjusted is None else f"{adjusted:.2f}"
    if grade not in GRADES:
        return Card(value, name, NOT_TESTED, OPEN)
    return Card(value, name, grade, GOOD if grade == STRONG else MIDDLING if grade == CLEAR_GRADE else BAD)


def _clusters(subject: Subject) -> Card:
    name = "cluster" if subject.n_clusters == 1 else "clusters"
    if subject.n_clusters == 1:
        return Card("1", name, "no borders to judge", OPEN)
    values = subject.cluster_confidence
    counts = {
        "clear": int(np.sum(values >= CLEAR)),
        "fair": int(np.sum((values >= FAIR) & (values < CLEAR))),
        "doubtful": int(np.sum(values < FAIR)),
    }
    told = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)
    tone = BAD if counts["doubtful"] else MIDDLING if counts["fair"] else GOOD
    return Card(f"{subject.n_clusters:,}", name, told, tone)


def _ambiguous(subject: Subject) -> Card:
    low = subject.confidence[subject.known] < subject.ambiguous
    counts = subject.ensemble.counts[subject.known]
    n_low, n_known = int(counts[low].sum()), int(counts.sum())
    name = "ambiguous object" if n_low == 1 else "ambiguous objects"
    if subject.n_clusters == 1:
        return Card(f"{n_low:,}", name, "there is no other cluster", OPEN)
    share = n_low / max(n_known, 1)
    tone, word = (GOOD, "few") if share < FEW else (MIDDLING, "some") if share < MANY else (BAD, "many")
    percentage = "none" if not n_low else f"{word}: {share:.0%} of all" if share >= 0.01 else f"{word}: below 1%"
    return Card(f"{n_low:,}", name, percentage, tone)

"""The verdict in plain words, chosen from numbers by limits that the page states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from quorate._evaluation.member_table import APART, standing_apart
from quorate._evaluation.subject import Subject
from quorate._result_table import AMBIGUOUS

AGREEMENT = ((0.8, "agree closely"), (0.5, "agree in the main"), (0.25, "agree in part"), (0.0, "hardly agree"))
"""The mean NMI of two members from which each phrase is used."""
CLEAR, FAIR = 0.8, 0.65
"""A cluster is called clear or fair if its mean confidence is at least this, and doubtful below."""
SAME = 5e-3
"""Values of NMI that differ by less are called equal, because the page shows two digits."""
OTHER_SIZE = 1.5
"""A lower NMI is explained by the number of clusters if members have more or fewer clusters by this factor."""
NAMES_TOLD = 6


class Point(NamedTuple):
    """One or two sentences of the verdict under a short heading."""

    heading: str
    text: str


def headline(subject: Subject) -> str:
    """Return the verdict in one sentence."""
    if subject.ensemble.n_members == 1:
        return "There is only one member, so agreement cannot be measured."
    if subject.member_scores[0] is None:
        return "No two members label the same objects, so their agreement cannot be measured."
    return subject.verdict.text


def points(subject: Subject) -> list[Point]:
    """Return the verdict point by point; points that do not apply are left out."""
    first = [*_verdict(subject), _agreement(subject), _clusters(subject), _objects(subject), _members(subject)]
    return [point for point in (*first, _gaps(subject), _truth(subject)) if point is not None]


def _verdict(subject: Subject) -> list[Point]:
    """Return why the headline says what it says, what follows, and what it cannot tell."""
    verdict = subject.verdict
    told = {"Why": verdict.reason, "What to do": verdict.next_step, "What this cannot tell": verdict.cannot_tell}
    return [Point(heading, text) for heading, text in told.items() if text]


def _agreement(subject: Subject) -> Point | None:
    mean, trust = subject.member_scores[0], subject.trust
    if mean is None:
        return None
    word = next(word for least, word in AGREEMENT if mean >= least)
    text = (
        f"The members {word}: two members have a normalized mutual information (NMI) of {mean:.2f} on average. The "
        f"labelling has an average NMI (ANMI) of {subject.anmi:.2f} with all members."
    )
    agreement, best = trust.agreement, trust.agreement_best_member
    if agreement is None or best is None:
        return Point(
            "Agreement",
            f"{text} How it was made is not known. It may have been fitted to them, so they are not compared with it.",
        )
    text += (
        f" It was fitted to them. With members that had no part in it, the consensus has a mean NMI of "
        f"{agreement:.2f}, the best single member one of {best:.2f}, and the average member one of "
        f"{trust.agreement_mean_member or 0.0:.2f}."
    )
    size = float(subject.ensemble.n_clusters @ subject.ensemble.weights / subject.ensemble.weights.sum())
    if agreement < best - SAME and not 1 / OTHER_SIZE <= size / subject.n_clusters <= OTHER_SIZE:
        text += (
            f" Members have {size:.3g} clusters on average, and NMI favours labellings with equal numbers of clusters, "
            f"so compare these values with care."
        )
    elif agreement < best - SAME:
        text += " Another method or another number of clusters may give a better consensus."
    return Point("Agreement", text)


def _clusters(subject: Subject) -> Point:
    values = subject.cluster_confidence
    groups = {
        "clear": np.flatnonzero(values >= CLEAR),
        "fair": np.flatnonzero((values >= FAIR) & (values < CLEAR)),
        "doubtful": np.flatnonzero(values < FAIR),
    }
    if subject.n_clusters == 1:
        return Point("Clusters", "There is one cluster, so nothing can be said about borders between clusters.")
    parts = [
        f"{len(group):,} {'is' if len(group) == 1 else 'are'} {word} ({_few([subject.names[k] for k in group])})"
        for word, group in groups.items()
        if len(group)
    ]
    return Point("Clusters", f"Of {subject.n_clusters:,} clusters, {_and(parts)}.")


def _objects(subject: Subject) -> Point:
    counts, known = subject.ensemble.counts, subject.known
    low = subject.confidence[known] < AMBIGUOUS
    n_low, n_known = int(counts[known][low].sum()), int(counts[known].sum())
    if subject.n_clusters == 1:
        return Point("Objects", "No object is ambiguous, because there is no other cluster.")
    if not n_low:
        return Point("Objects", f"None of {n_known:,} objects is ambiguous: every confidence is {AMBIGUOUS} or higher.")
    text = f"{n_low:,} of {n_known:,} objects ({_share(n_low / n_known)}) are ambiguous: confidence below {AMBIGUOUS}."
    labels = subject.labels[known][low]
    shares = np.bincount(labels, weights=counts[known][low], minlength=subject.n_clusters) / subject.labelled.sizes
    worst = int(shares.argmax())
    return Point("Objects", f"{text} The share is largest in cluster {subject.names[worst]}: {_share(shares[worst])}.")


def _members(subject: Subject) -> Point | None:
    if subject.ensemble.n_members == 1:
        return None
    nmi = subject.member_nmi
    median = float(np.nanmedian(nmi))
    distance = standing_apart(nmi)
    apart = [member for member in np.argsort(nmi, kind="stable").tolist() if distance[member] > 1 - APART]
    names = subject.ensemble.member_names
    if apart:
        listed = _few([f"{names[member]} ({nmi[member]:.2f})" for member in apart])
        verb, whose = ("stands", "its") if len(apart) == 1 else ("stand", "their")
        return Point(
            "Members",
            f"{listed} {verb} apart: {whose} NMI with the consensus is below half the median of all members "
            f"({median:.2f}).",
        )
    low, high = int(np.nanargmin(nmi)), int(np.nanargmax(nmi))
    return Point(
        "Members",
        f"No member stands apart. {names[high]} is closest to the consensus (NMI {nmi[high]:.2f}), {names[low]} "
        f"farthest from it ({nmi[low]:.2f}).",
    )


def _gaps(subject: Subject) -> Point | None:
    share = float(subject.missing.mean())
    if share == 0:
        return None
    worst = int(subject.missing.argmax())
    return Point(
        "Gaps",
        f"{_share(share)} of all labels are missing. Most are missing from {subject.ensemble.member_names[worst]}, "
        f"{_share(float(subject.missing[worst]))} of its labels.",
    )


def _truth(subject: Subject) -> Point | None:
    if not subject.truth:
        return None
    scores = subject.truth
    return Point(
        "Truth",
        f"Compared with the known classes, {_share(scores['accuracy'])} of the objects are placed right; "
        f"the NMI is {scores['nmi']:.2f} and the ARI {scores['ari']:.2f}.",
    )


def _share(value: float) -> str:
    """Return a percentage that is never rounded to 0% or to 100%."""
    if 0 < value < 0.01:
        return "less than 1%"
    return "more than 99%" if 0.99 < value < 1 else f"{value:.0%}"


def _few(names: Sequence[str]) -> str:
    shown = [name if len(name) <= 40 else name[:39] + "…" for name in names[:NAMES_TOLD]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def _and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]

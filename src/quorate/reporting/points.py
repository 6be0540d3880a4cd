"""The points below the verdict: sentences in plain words, chosen from numbers by limits that the page states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._evaluation.member_table import APART, standing_apart
from quorate._summaries import STABILITY_LIMITS, STABILITY_WORDS, in_words
from quorate._trust.subject import Subject
from quorate._verdict import rounded_down

AGREEMENT = ((0.8, "agree closely"), (0.5, "agree in the main"), (0.25, "agree in part"), (0.0, "hardly agree"))
"""The mean NMI of two members from which each phrase is used."""
CLEAR, FAIR = 0.8, 0.65
"""A cluster is called clear or fair if its mean confidence is at least this, and doubtful below."""
SAME = 5e-3
"""Values of NMI that differ by less are called equal, because the page shows two digits."""
OTHER_SIZE = 1.5
"""A lower NMI is explained by the number of clusters if members have more or fewer clusters by this factor."""
NAMES_TOLD = 6


class Named(NamedTuple):
    """A cluster that a sentence names, so that the page can name it anew."""

    cluster: int
    name: str


class Point(NamedTuple):
    """One or two sentences of the verdict under a short heading.

    `parts` are the same text in pieces if it names clusters.
    """

    heading: str
    text: str
    parts: tuple[str | Named, ...] = ()


def _point(heading: str, parts: Sequence[str | Named]) -> Point:
    return Point(heading, "".join(part if isinstance(part, str) else part.name for part in parts), tuple(parts))


def headline(subject: Subject) -> str:
    """Return the verdict in one sentence."""
    if subject.ensemble.n_members == 1:
        return "There is only one member, so agreement cannot be measured."
    if subject.member_scores[0] is None:
        return "No two members label the same objects, so their agreement cannot be measured."
    return subject.verdict.text


def points(subject: Subject) -> list[Point]:
    """Return the verdict point by point; points that do not apply are left out."""
    first = [*_verdict(subject), _agreement(subject), _clusters(subject), _stability(subject)]
    first += [_objects(subject), _members(subject)]
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
        f"The members {word}: two members have a normalised mutual information (NMI) of {mean:.2f} on average. The "
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
    return _point("Clusters", [*_in_groups(subject, groups), "."])


def _stability(subject: Subject) -> Point | None:
    """Say which clusters are found again when the consensus is repeated; nothing if that is not known."""
    values = subject.cluster_stability
    if np.isnan(values).all():
        return None
    words = np.array([in_words(value) for value in values.tolist()])
    names = dict(zip(reversed(STABILITY_WORDS), ("highly stable", "stable", "uncertain", "unstable"), strict=True))
    groups = {name: np.flatnonzero((words == word) & ~np.isnan(values)) for word, name in names.items()}
    told = (
        f". Stability is how alike a cluster and the nearest one are when the consensus is repeated on halves of the "
        f"members and of the objects (mean Jaccard similarity); the lowest is {rounded_down(np.nanmin(values))}. "
        f"Clusters from {STABILITY_LIMITS[1]:g} on are mostly found again, those below {STABILITY_LIMITS[0]:g} "
        f"hardly ever."
    )
    return _point("Stability", [*_in_groups(subject, groups), told])


def _in_groups(subject: Subject, groups: Mapping[str, NDArray[np.intp]]) -> list[str | Named]:
    """Say which clusters are of which kind."""
    told = [(word, group.tolist()) for word, group in groups.items() if len(group)]
    parts: list[str | Named] = [f"Of {subject.n_clusters:,} clusters, "]
    for place, (word, group) in enumerate(told):
        joint = "" if place == 0 else " and " if place == len(told) - 1 else ", "
        all_of_them = "both are" if len(group) == 2 else f"all {len(group):,} are"
        number = all_of_them if len(told) == 1 else f"{len(group):,} {_is(len(group))}"
        parts += [f"{joint}{number} {word} (", *_few_clusters(subject, group), ")"]
    return parts


def _objects(subject: Subject) -> Point:
    counts, known = subject.ensemble.counts, subject.known
    low = subject.confidence[known] < subject.ambiguous
    n_low, n_known = int(counts[known][low].sum()), int(counts[known].sum())
    if subject.n_clusters == 1:
        return Point("Objects", "No object is ambiguous, because there is no other cluster.")
    if not n_low:
        return Point(
            "Objects", f"None of {n_known:,} objects is ambiguous: every confidence is {subject.ambiguous:g} or higher."
        )
    text = (
        f"{n_low:,} of {n_known:,} objects ({_share(n_low / n_known)}) {_is(n_low)} ambiguous: confidence below "
        f"{subject.ambiguous:g}."
    )
    labels = subject.labels[known][low]
    shares = np.bincount(labels, weights=counts[known][low], minlength=subject.n_clusters) / subject.labelled.sizes
    worst = int(shares.argmax())
    named = Named(worst, _shortened(subject.names[worst]))
    parts: list[str | Named] = [f"{text} The share is largest in cluster ", named, f": {_share(shares[worst])}."]
    return _point("Objects", [*parts, *_although_clear(subject, worst)])


def _although_clear(subject: Subject, cluster: int) -> list[str]:
    """Say why a cluster can be clear although no other has a larger share of ambiguous objects."""
    mean = subject.cluster_confidence[cluster]
    if mean < CLEAR:
        return []
    return [
        f" It is clear all the same: that word goes by the mean confidence of all its objects, which is {mean:.2f}."
    ]


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
    if f"{nmi[low]:.2f}" == f"{nmi[high]:.2f}":
        return Point("Members", f"No member stands apart: each has an NMI of {nmi[low]:.2f} with the consensus.")
    return Point(
        "Members",
        f"No member stands apart. The closest to the consensus is {names[high]} (NMI {nmi[high]:.2f}), the farthest "
        f"from it is {names[low]} ({nmi[low]:.2f}).",
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
    shown = [_shortened(name) for name in names[:NAMES_TOLD]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def _few_clusters(subject: Subject, clusters: Sequence[int]) -> list[str | Named]:
    parts: list[str | Named] = []
    for place, cluster in enumerate(clusters[:NAMES_TOLD]):
        parts += [", "] * (place > 0) + [Named(cluster, _shortened(subject.names[cluster]))]
    more = len(clusters) - NAMES_TOLD
    return [*parts, *([f" and {more:,} more"] if more > 0 else [])]


def _shortened(name: str) -> str:
    return name if len(name) <= 40 else name[:39] + "…"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"

"""The verdict in plain words, written from numbers by thresholds that the page states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from quorate._evaluation.member_table import APART, standing_apart
from quorate._evaluation.subject import Subject
from quorate._result_table import AMBIGUOUS

AGREEMENT = ((0.8, "agree closely"), (0.5, "agree in the main"), (0.25, "agree in part"), (0.0, "hardly agree"))
"""Mean NMI of two members from which these words are used."""
CLEAR, FAIR = 0.8, 0.65
"""Mean confidence from which a cluster is called clear, or fair; below it is called doubtful."""
SAME = 5e-4
"""ANMI that differ by less are called equal: the page shows three digits."""
OTHER_SIZE = 1.5
"""How many times more or fewer clusters members must have for a lower ANMI to be put down to that."""
NAMES_TOLD = 6


class Point(NamedTuple):
    """One sentence or two of the verdict under a short heading."""

    heading: str
    text: str


def headline(subject: Subject) -> str:
    """The verdict in one sentence."""
    mean, best = subject.member_scores
    if subject.ensemble.n_members == 1:
        return "There is a single member, so there is nothing it could agree with."
    if mean is None or best is None:
        return "No two members know the same objects, so their agreement cannot be told."
    word = next(word for least, word in AGREEMENT if mean >= least)
    standing = _standing(subject.anmi, mean, best)
    joint = "and" if (mean >= AGREEMENT[1][0]) == (subject.anmi >= mean) else "but"
    return f"The members {word}, {joint} the consensus {standing}."


def _standing(anmi: float, mean: float, best: float) -> str:
    if anmi > best + SAME:
        return "speaks for them better than any single one of them"
    if anmi >= best - SAME:
        return "speaks for them as well as the best single one"
    if anmi >= mean:
        return "speaks for them better than most single ones, though not better than the best"
    return "speaks for them less well than a member taken at random"


def points(subject: Subject) -> list[Point]:
    """The verdict point by point; those that do not apply are left out."""
    told = [_agreement(subject), _clusters(subject), _objects(subject), _members(subject)]
    return [point for point in (*told, _gaps(subject), _truth(subject)) if point is not None]


def _agreement(subject: Subject) -> Point | None:
    mean, best = subject.member_scores
    if mean is None or best is None:
        return None
    text = (
        f"Two members share an NMI of {mean:.2f} on average; the consensus has an average NMI (ANMI) of "
        f"{subject.anmi:.2f} with the members, the best single member {best:.2f} with the others."
    )
    size = float(subject.ensemble.n_clusters @ subject.ensemble.weights / subject.ensemble.weights.sum())
    if subject.anmi < best and not 1 / OTHER_SIZE <= size / subject.n_clusters <= OTHER_SIZE:
        text += f" Members have {size:.3g} clusters on average, and NMI leans to equal numbers: compare with care."
    elif subject.anmi < mean:
        text += " Another method, or another number of clusters, may do better."
    return Point("Agreement", text)


def _clusters(subject: Subject) -> Point:
    values = subject.cluster_confidence
    groups = {
        "clear": np.flatnonzero(values >= CLEAR),
        "fair": np.flatnonzero((values >= FAIR) & (values < CLEAR)),
        "doubtful": np.flatnonzero(values < FAIR),
    }
    if subject.n_clusters == 1:
        return Point(
            "Clusters", "There is one cluster; it holds all objects, and nothing can be said about its borders."
        )
    parts = [
        f"{len(found):,} {'is' if len(found) == 1 else 'are'} {word} ({_few([subject.names[k] for k in found])})"
        for word, found in groups.items()
        if len(found)
    ]
    return Point("Clusters", f"Of {subject.n_clusters:,} clusters, {_and(parts)}.")


def _objects(subject: Subject) -> Point:
    counts, known = subject.ensemble.counts, subject.known
    low = subject.confidence[known] < AMBIGUOUS
    n_low, n_known = int(counts[known][low].sum()), int(counts[known].sum())
    if subject.n_clusters == 1:
        return Point("Objects", "No object is ambiguous, for there is no other cluster it could be in.")
    if not n_low:
        return Point("Objects", f"None of {n_known:,} objects is ambiguous: every confidence is {AMBIGUOUS} or higher.")
    text = f"{n_low:,} of {n_known:,} objects ({_share(n_low / n_known)}) are ambiguous: confidence below {AMBIGUOUS}."
    labels = subject.labels[known][low]
    shares = np.bincount(labels, weights=counts[known][low], minlength=subject.n_clusters) / subject.labelled.sizes
    worst = int(shares.argmax())
    return Point("Objects", f"{text} Cluster {subject.names[worst]} has most for its size, {_share(shares[worst])}.")


def _members(subject: Subject) -> Point | None:
    if subject.ensemble.n_members == 1:
        return None
    nmi = subject.member_nmi
    median = float(np.nanmedian(nmi))
    distance = standing_apart(nmi)
    apart = [member for member in np.argsort(nmi, kind="stable").tolist() if distance[member] > 1 - APART]
    names = subject.ensemble.member_names
    if apart:
        told = _few([f"{names[member]} ({nmi[member]:.2f})" for member in apart])
        verb = "stands" if len(apart) == 1 else "stand"
        return Point(
            "Members", f"{told} {verb} apart: an NMI with the consensus below half the median's ({median:.2f})."
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
        f"{_share(share)} of all labels are missing; {subject.ensemble.member_names[worst]} leaves out most, "
        f"{_share(float(subject.missing[worst]))} of the objects.",
    )


def _truth(subject: Subject) -> Point | None:
    if not subject.truth:
        return None
    scores = subject.truth
    return Point(
        "Truth",
        f"Beside the classes known to be true: {_share(scores['accuracy'])} of the objects placed right, "
        f"NMI {scores['nmi']:.2f}, ARI {scores['ari']:.2f}.",
    )


def _share(value: float) -> str:
    """A percentage that is never rounded to nothing, nor to everything."""
    if 0 < value < 0.01:
        return "less than 1%"
    return "more than 99%" if 0.99 < value < 1 else f"{value:.0%}"


def _few(names: Sequence[str]) -> str:
    shown = [name if len(name) <= 40 else name[:39] + "…" for name in names[:NAMES_TOLD]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def _and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]

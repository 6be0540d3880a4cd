"""How far a result can be believed: four grades in words, chosen by limits that the documentation states."""

from __future__ import annotations

import math
from typing import NamedTuple

NO_STRUCTURE, WEAK, CLEAR, STRONG = GRADES = (
    "no structure beyond chance",
    "weak structure",
    "clear structure",
    "strong structure",
)
SIGNIFICANT = 0.01
"""Agreement is beyond chance if its p-value is at most this, or its z at least `FAR_BEYOND`."""
FAR_BEYOND = 6.0
BEYOND_FEW = 3.0
"""The z that is beyond chance if none of the permutations agreed as well, and they are too few for `SIGNIFICANT`."""
FEWEST_FOR_Z = 19
"""With fewer permutations a z below `FAR_BEYOND` says nothing."""
SEVERAL, SEVERAL_SHARE = 3, 0.1
"""Several permutations agreed as well if they are so many, or if the p-value is above this share."""
CLEAR_FROM, STRONG_FROM = 0.2, 0.5
"""The reproducibility from which structure is called clear, and strong."""

MANY_MORE = 1.5
"""Members have many more clusters than the consensus if they have this many times as many on average."""

CANNOT_TELL = (
    "Chance means that the labels of each clustering are shuffled. Clusterings of the same measurements agree more "
    "than that even if the measurements have no clusters, and this was not tested."
)
REFERENCE_TELLS = (
    "The measurements without clusters are random points of one round or elongated cloud, as wide as the data in each "
    "direction. Clusters that touch without a gap can be missed; values in coarse steps, and parts of one curved "
    "cloud, can be taken for clusters."
)
NO_CLUSTERS = (
    "The clusters are separated no better than those of measurements without clusters: there is no evidence of "
    "structure beyond chance."
)
"""The verdict if the comparison with measurements without clusters finds no difference."""
NO_DIVISION = "No clusters were found: random measurements without clusters can be divided as clearly as these."
"""The same if the answer is one cluster, whose separation nobody can speak of."""
SAME_MEASUREMENTS = (
    "The members agree more than by chance, but all were made from the same measurements, so this does not show that "
    "there are clusters."
)
TRY_MEASUREMENTS = (
    "Compare with measurements without clusters before you use the clusters: evaluate(..., features=X) does it, and "
    "so do quorate score --features FILE and quorate cluster of a table in memory."
)
"""The verdict on members that `generate` made, if they were not compared with a reference without clusters."""
BEYOND_REFERENCE = 3.0
"""From this z on, clusters are separated better than those of measurements without clusters."""
NOT_TESTED = "The agreement was not compared with chance, so nothing can be said about how reliable the clusters are."

MEND = (
    "Do not use these clusters. Make them again without coarsening, with another method or linkage, or with another "
    "number of clusters, and compare."
)
"""What to do about labels that are much worse than a repetition, or nearly all in one cluster."""
ASK_FOR_CHANCE = 'To compare it with chance, call evaluate(..., null="auto").'
SEPARATED = (
    "The clusters are separated better than those of measurements without clusters. How well the members agree on "
    "them was not measured."
)


class Verdict(NamedTuple):
    """The verdict on a result.

    Attributes
    ----------
    grade : str or None
        One of `GRADES`; None if the agreement was not, or could not be, compared with chance.
    text : str
        The verdict in one sentence.
    reason : str
        The numbers that it follows from.
    next_step : str
        What to do now.
    cannot_tell : str
        What the numbers cannot tell.
    """

    grade: str | None
    text: str
    reason: str
    next_step: str
    cannot_tell: str

    def __str__(self) -> str:
        return " ".join(part for part in (self.text, self.reason, self.next_step, self.cannot_tell) if part)


class Evidence(NamedTuple):
    """The numbers that a verdict is made from; see `Scores` for their meaning. `problem` is said in words."""

    mean_member: float | None
    agreement: float | None
    agreement_best_member: float | None
    expected: float | None
    z: float | None
    p_value: float | None
    adjusted: float | None
    reproducibility: float | None
    n_permutations: int | None
    from_measurements: bool
    valley: float | None = None
    expected_valley: float | None = None
    reference_z: float | None = None
    n_draws: int | None = None
    problem: str | None = None
    more_clusters: float | None = None
    camps: tuple[tuple[str, ...], ...] | None = None
    dissolving: float | None = None
    n_clusters: int | None = None


MOST_DISSOLVE = 0.5
"""If this share of the objects is in clusters that dissolve when the consensus is repeated, structure is weak."""
DISSOLVING = "Most objects are in clusters that are not found again when the consensus is repeated."
NOT_THOSE = (
    "But do not rely on the clusters that dissolve ({share:.0%} of the objects): they are not found again when the "
    "consensus is repeated."
)
"""What to do if fewer objects are in such clusters."""
NAMES_SHOWN = 5
"""The number of members of a camp that are named."""
LOOK_AT_CAMPS = (
    "The members disagree in groups, so look at the clusters of each group before you use these: result.camps(members)."
)
TEXTS = {
    NO_STRUCTURE: "Random labels would agree about as well: there is no evidence of structure beyond chance.",
    WEAK: "The members agree more than by chance, but weakly: other members would give other clusters.",
    CLEAR: "The members agree clearly, though other members would change parts of the clusters.",
    STRONG: "The members agree strongly: half of them are enough to find much the same clusters.",
}
TOO_FEW = (
    "Shuffled labels never agreed as well, but too few shuffles were tried: so far there is no evidence of structure "
    "beyond chance."
)
RARELY = "Random labels seldom agree as well, but too often for this to be evidence of structure beyond chance."
ASK_FOR_MORE = "Do not rely on these clusters yet. Try more permutations: evaluate(..., null=999), or --null 999."
NEXT_STEPS = {
    NO_STRUCTURE: "Do not rely on these clusters. More objects, more members or better members may show more.",
    WEAK: "Use the clusters as a hint only. More members, better members or another number of clusters may help.",
    CLEAR: "Use the clusters, and check the objects of low confidence; more members may make the rest clearer.",
    STRONG: "Use the clusters; look at the few objects of low confidence.",
}
AS_ONE = "Treat the objects as one group. More objects, or other measurements, may show clusters."


def verdict_of(evidence: Evidence) -> Verdict:
    """Return the verdict that follows from the numbers, which also says whether members fall into camps."""
    verdict = _verdict_without_camps(evidence)
    if not evidence.camps:
        return verdict
    advice = f"{LOOK_AT_CAMPS} {verdict.next_step}".strip()
    return verdict._replace(reason=f"{camps_text(evidence.camps)} {verdict.reason}".strip(), next_step=advice)


def camps_text(camps: tuple[tuple[str, ...], ...]) -> str:
    """Say which members disagree with which others."""
    shown = [
        ", ".join(camp[:NAMES_SHOWN]) + (f" and {len(camp) - NAMES_SHOWN:,} more" if len(camp) > NAMES_SHOWN else "")
        for camp in camps
    ]
    groups = "; ".join(f"({place}) {names}" for place, names in enumerate(shown, start=1))
    return f"The members form {len(camps)} groups (camps) that disagree more than by random errors: {groups}."


def _verdict_without_camps(evidence: Evidence) -> Verdict:
    if evidence.reference_z is not None and evidence.reference_z < BEYOND_REFERENCE:
        is_one = evidence.n_clusters == 1
        text, next_step = (NO_DIVISION, AS_ONE) if is_one else (NO_CLUSTERS, NEXT_STEPS[NO_STRUCTURE])
        return Verdict(NO_STRUCTURE, text, _reference(evidence), next_step, REFERENCE_TELLS)
    if evidence.mean_member is None:
        return Verdict(None, "There are no two members to compare, so agreement cannot be measured.", "", "", "")
    if evidence.p_value is None or evidence.z is None or evidence.adjusted is None or evidence.expected is None:
        if evidence.reference_z is not None:
            return Verdict(None, SEPARATED, _reference(evidence), ASK_FOR_CHANCE, REFERENCE_TELLS)
        return Verdict(None, evidence.problem or NOT_TESTED, "", MEND if evidence.problem else ASK_FOR_CHANCE, "")
    is_beyond = beyond_chance(evidence.z, evidence.p_value, evidence.n_permutations)
    grade = grade_of(evidence.z, evidence.p_value, evidence.adjusted, evidence.reproducibility, evidence.n_permutations)
    if evidence.problem and grade != NO_STRUCTURE:
        about = f"For the members and the method, rather than these labels: {_reason(evidence)}"
        return Verdict(WEAK, evidence.problem, about, MEND, CANNOT_TELL)
    if grade in (CLEAR, STRONG) and (evidence.dissolving or 0.0) > MOST_DISSOLVE:
        return Verdict(WEAK, DISSOLVING, _reason(evidence), NEXT_STEPS[WEAK], CANNOT_TELL)
    text, next_step = TEXTS[grade], NEXT_STEPS[grade]
    if grade in (CLEAR, STRONG) and evidence.dissolving:
        next_step = f"{next_step} {NOT_THOSE.format(share=evidence.dissolving)}"
    if grade == NO_STRUCTURE and is_beyond:
        text = "The members agree with one another, but these labels agree with them no more than by chance."
    elif grade == NO_STRUCTURE and not _above(evidence) and evidence.n_permutations:
        text, next_step = TOO_FEW, ASK_FOR_MORE
    elif grade == NO_STRUCTURE and _above(evidence) < SEVERAL and evidence.p_value <= SEVERAL_SHARE:
        text = RARELY
    if evidence.reference_z is not None:
        reason = f"{_reference(evidence)} {_reason(evidence)}"
        return Verdict(grade, text, reason, next_step, REFERENCE_TELLS)
    if is_beyond and grade != NO_STRUCTURE and evidence.from_measurements:
        return Verdict(grade, SAME_MEASUREMENTS, _reason(evidence), TRY_MEASUREMENTS, CANNOT_TELL)
    return Verdict(grade, text, _reason(evidence), next_step, CANNOT_TELL)


def beyond_chance(z: float, p_value: float, n_permutations: int | None = None) -> bool:
    """Whether permuted labels hardly ever agree as well.

    The least p-value of n permutations is 1 / (n + 1). If they are too few for `SIGNIFICANT`, and none of them agreed
    as well, z decides.
    """
    least = 1 / (1 + n_permutations) if n_permutations else 0.0
    if least > SIGNIFICANT and p_value <= least * (1 + 1e-9) and z >= BEYOND_FEW:
        # the standard deviation of a handful of values says little
        return bool(n_permutations and n_permutations >= FEWEST_FOR_Z) or z >= FAR_BEYOND
    return p_value <= SIGNIFICANT or z >= FAR_BEYOND


def grade_of(
    z: float, p_value: float, adjusted: float, reproducibility: float | None, n_permutations: int | None = None
) -> str:
    """Return the grade; without a reproducibility nothing better than weak structure can be shown."""
    if not beyond_chance(z, p_value, n_permutations) or adjusted <= 0:
        return NO_STRUCTURE
    if reproducibility is None or reproducibility < CLEAR_FROM:
        return WEAK
    return CLEAR if reproducibility < STRONG_FROM else STRONG


def _reason(evidence: Evidence) -> str:
    parts = [
        f"Agreement with the members, from 0 (chance) to 1 (all members the same), is {_rounded(evidence.adjusted)} "
        f"(z = {evidence.z:.1f}). {_permutations(evidence)}"
    ]
    if evidence.reproducibility is not None:
        parts.append(
            f"Two halves of the members lead to clusters with an ARI of {_rounded(evidence.reproducibility)} "
            f"(1 if they are the same)."
        )
    if evidence.agreement is not None and evidence.agreement_best_member is not None:
        parts.append(
            f"With members that were left out, the consensus agrees by {evidence.agreement:.2f} (mean NMI), and the "
            f"best single member by {evidence.agreement_best_member:.2f}."
        )
        if is_unfair(evidence.agreement, evidence.agreement_best_member, evidence.more_clusters):
            parts.append(
                f"This does not show that a member is better: members have {evidence.more_clusters:.2g} times as many "
                f"clusters as the consensus, and NMI is higher between labellings with equally many clusters."
            )
    return " ".join(parts)


def is_unfair(agreement: float, best_member: float, more_clusters: float | None) -> bool:
    """Whether a member agrees better with the others than the consensus does, but members have many more clusters."""
    return best_member > agreement and (more_clusters or 1.0) > MANY_MORE


def _reference(evidence: Evidence) -> str:
    n_draws = evidence.n_draws or 0
    return (
        f"The gaps between the clusters have a mean depth of {evidence.valley or 0.0:.1f} standard errors; in "
        f"{n_draws} random {'set' if n_draws == 1 else 'sets'} of measurements without clusters it is "
        f"{evidence.expected_valley or 0.0:.1f}. By gaps, links between neighbours or sparse borders, whichever "
        f"is clearest, z = {evidence.reference_z:.1f}; {BEYOND_REFERENCE:g} or more is evidence of clusters."
    )


def _permutations(evidence: Evidence) -> str:
    """Give the p-value as a number of permutations, because after few of them it cannot be small."""
    number = _above(evidence) or "none"
    return f"Of {evidence.n_permutations or 0:,} random shuffles of the labels, {number} agreed as well."


def _above(evidence: Evidence) -> int:
    """The number of permutations that agreed as well."""
    return round((evidence.p_value or 0.0) * ((evidence.n_permutations or 0) + 1)) - 1


def rounded_down(value: float) -> str:
    """Return two digits that look no larger than the value: what is below a limit must not seem to have reached it."""
    return f"{math.floor(value * 100 + 1e-9) / 100:.2f}"


def _rounded(value: float | None) -> str:
    """Return two digits, without the minus sign of a rounded zero."""
    return f"{round(value or 0.0, 2) + 0.0:.2f}"
